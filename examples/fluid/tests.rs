//! Compares the fluid with plain Rust, cell by cell.

use jit::prelude::*;

use crate::solver::{self, FADE, Fluid, JETS, PASSES, RADIUS, SWIRL};

/// The same fluid in plain Rust.
struct Plain {
    size: usize,
    velocity: [Vec<f32>; 2],
    pressure: Vec<f32>,
    dye: [Vec<f32>; 3],
    time: f32,
}

impl Plain {
    fn new(size: usize) -> Plain {
        let zeros = || vec![0.0; size * size];
        Plain { size, velocity: [zeros(), zeros()], pressure: zeros(), dye: [zeros(), zeros(), zeros()], time: 0.0 }
    }

    fn cells(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let size = self.size;
        (0..size * size).map(move |cell| (cell % size, cell / size))
    }

    /// Returns the neighbours to the left, right, above and below.
    fn beside(&self, field: &[f32], x: usize, y: usize) -> [f32; 4] {
        let last = self.size - 1;
        [(x.max(1) - 1, y), ((x + 1).min(last), y), (x, y.max(1) - 1), (x, (y + 1).min(last))]
            .map(|(x, y)| field[y * self.size + x])
    }

    fn gradient(&self, field: &[f32]) -> [Vec<f32>; 2] {
        let pairs = self.cells().map(|(x, y)| self.beside(field, x, y));
        pairs
            .map(|[left, right, above, below]| ((right - left) * 0.5, (below - above) * 0.5))
            .collect::<(Vec<_>, Vec<_>)>()
            .into()
    }

    fn step(&mut self) {
        self.pour();
        self.swirl();
        self.project();
        self.flow();
        self.time += 1.0;
    }

    fn pour(&mut self) {
        let size = self.size as f32;
        for jet in &JETS {
            let swing = (self.time * jet.swing).sin() * 0.35 * jet.velocity[0].abs();
            let velocity = [jet.velocity[0] * size, (swing + jet.velocity[1]) * size];
            for (cell, (x, y)) in self.cells().enumerate() {
                let across = x as f32 + 0.5 - jet.centre[0] * size;
                let down = y as f32 + 0.5 - jet.centre[1] * size;
                let near = (1.0 - (across * across + down * down) / (RADIUS * size).powi(2)).max(0.0);
                let wanted = velocity.iter().chain(&jet.colour);
                for (field, wanted) in self.velocity.iter_mut().chain(&mut self.dye).zip(wanted) {
                    field[cell] += (wanted - field[cell]) * near * near;
                }
            }
        }
    }

    fn swirl(&mut self) {
        let [across, down] = [0, 1].map(|axis: usize| self.gradient(&self.velocity[axis]));
        let rotation: Vec<f32> = down[0].iter().zip(&across[1]).map(|(a, b)| a - b).collect();
        let [right, below] = self.gradient(&rotation.iter().map(|rotation| rotation.abs()).collect::<Vec<f32>>());
        for cell in 0..rotation.len() {
            let (right, below) = (right[cell], below[cell]);
            let force = rotation[cell] * SWIRL / ((right * right + below * below).sqrt() + 1e-5);
            self.velocity[0][cell] += below * force;
            self.velocity[1][cell] -= right * force;
        }
    }

    fn project(&mut self) {
        let [across, down] = [0, 1].map(|axis| self.gradient(&self.velocity[axis])[axis].clone());
        for _ in 0..PASSES {
            let around = self.cells().map(|(x, y)| self.beside(&self.pressure, x, y).iter().sum::<f32>());
            let relaxed = around.zip(across.iter().zip(&down)).map(|(sum, (a, b))| (sum - (a + b)) * 0.25);
            self.pressure = relaxed.collect();
        }
        let push = self.gradient(&self.pressure);
        let last = self.size - 1;
        for (cell, (x, y)) in self.cells().enumerate() {
            let is_inside = x > 0 && x < last && y > 0 && y < last;
            for (velocity, push) in self.velocity.iter_mut().zip(&push) {
                velocity[cell] = if is_inside { velocity[cell] - push[cell] } else { 0.0 };
            }
        }
    }

    fn flow(&mut self) {
        let end = self.size as f32 - 1.001;
        let upstream = |field: &[f32]| -> Vec<f32> {
            let place = |place: usize, velocity: f32| (place as f32 - velocity).clamp(0.0, end);
            let cells = self.cells().enumerate().map(|(cell, (x, y))| {
                let (x, y) = (place(x, self.velocity[0][cell]), place(y, self.velocity[1][cell]));
                let corner = y as usize * self.size + x as usize;
                let row = |begin: usize| field[begin] + (field[begin + 1] - field[begin]) * x.fract();
                let (near, far) = (row(corner), row(corner + self.size));
                near + (far - near) * y.fract()
            });
            cells.collect()
        };
        let velocity = [0, 1].map(|axis| upstream(&self.velocity[axis]));
        let dye = [0, 1, 2].map(|colour| upstream(&self.dye[colour]).iter().map(|dye| dye * FADE).collect());
        (self.velocity, self.dye) = (velocity, dye);
    }
}

const SIZE: u32 = 24;

fn after(steps: usize) -> Fluid {
    let mut fluid = Fluid::new(SIZE);
    (0..steps).for_each(|_| fluid.step());
    fluid
}

fn fields(fluid: &Fluid) -> Vec<Vec<f32>> {
    let leaves = [&fluid.velocity.x, &fluid.velocity.y, &fluid.pressure, &fluid.dye.x, &fluid.dye.y, &fluid.dye.z];
    leaves.map(|field| field.to_vec().unwrap()).to_vec()
}

#[test]
fn plain_rust_computes_the_same_fluid() {
    let mut plain = Plain::new(SIZE as usize);
    (0..30).for_each(|_| plain.step());
    let fluid = fields(&after(30));
    let [a, b] = plain.velocity;
    let [red, green, blue] = plain.dye;
    for (field, wanted) in fluid.iter().zip([a, b, plain.pressure, red, green, blue]) {
        let largest = wanted.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        assert!(largest > 0.01, "something happens in each field");
        for (value, wanted) in field.iter().zip(&wanted) {
            assert!((value - wanted).abs() < 1e-4 * largest, "{value} instead of {wanted}");
        }
    }
}

#[test]
fn every_device_sees_the_same_fluid() {
    assert_eq!(fields(&after(5)), jit::with_device(Device::Interpreter, || fields(&after(5))));
}

#[test]
fn the_pressure_takes_out_divergence_and_walls_hold() {
    let fluid = after(20);
    let size = SIZE as usize;
    let [x, y] = [&fluid.velocity.x, &fluid.velocity.y].map(|field| field.to_vec().unwrap());
    assert!((0..size).all(|i| y[i] == 0.0 && x[i * size] == 0.0), "water goes along the walls, not through them");
    assert!(x.iter().chain(&y).any(|velocity| velocity.abs() > 0.05));
}

#[test]
fn pictures_have_a_pixel_for_each_cell() {
    let fluid = after(3);
    let picture = solver::develop(&fluid).unwrap();
    assert_eq!(picture.len(), (3 * SIZE * SIZE) as usize);
    let left = picture.chunks(3).max_by_key(|pixel| pixel[0]).unwrap();
    let right = picture.chunks(3).max_by_key(|pixel| pixel[2]).unwrap();
    assert!(left[0] > left[2] && right[2] > right[0], "{left:?} {right:?}");
}
