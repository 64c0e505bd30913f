//! An inviscid, incompressible fluid on a square grid of cells with a wall around it.
//!
//! Each step adds the jets, restores vortices that the grid has damped (R. Fedkiw, J. Stam and H. W. Jensen, “Visual
//! Simulation of Smoke”, 2001), removes the divergence of the velocity by the gradient of a pressure, and advects
//! velocity and dye.

use jit::color::linear_to_srgb;
use jit::linalg::{Vec2, Vec3};
use jit::prelude::*;

/// The number of passes over the grid for the pressure, which begins with that of the last step.
pub(crate) const PASSES: u32 = 40;
/// The fraction of the lost rotation that is restored.
pub(crate) const SWIRL: f32 = 0.12;
/// The fraction of the dye that remains after a step.
pub(crate) const FADE: f32 = 0.997;

/// Where dyed water comes in. Places and speeds are in sides of the grid.
pub(crate) struct Jet {
    pub(crate) centre: [f32; 2],
    pub(crate) velocity: [f32; 2],
    pub(crate) colour: [f32; 3],
    /// How fast it swings, in radians per step.
    pub(crate) swing: f32,
}

pub(crate) const RADIUS: f32 = 0.045;
pub(crate) const JETS: [Jet; 2] = [
    Jet { centre: [0.09, 0.62], velocity: [0.0085, -0.0015], colour: [1.6, 0.42, 0.05], swing: 0.031 },
    Jet { centre: [0.91, 0.38], velocity: [-0.0085, 0.0015], colour: [0.05, 0.42, 1.6], swing: 0.023 },
];

/// The fluid, cell by cell in rows.
#[derive(Clone, Traverse)]
pub(crate) struct Fluid {
    /// Cells along each side.
    pub(crate) size: u32,
    /// In cells per step.
    pub(crate) velocity: Vec2<f32>,
    pub(crate) pressure: Float,
    /// Red, green and blue light.
    pub(crate) dye: Vec3<f32>,
    /// The number of steps so far.
    pub(crate) time: Float,
}

/// The cells and their neighbours; a cell at the wall is its own neighbour there.
struct Grid {
    x: Float,
    y: Float,
    left: UInt,
    right: UInt,
    above: UInt,
    below: UInt,
    is_inside: Mask,
}

impl Fluid {
    /// Water at rest.
    pub(crate) fn new(size: u32) -> Fluid {
        // In memory, as after each step, so that one recording serves all of them.
        let zeros = || Float::from(vec![0.0; (size * size) as usize]);
        Fluid {
            size,
            velocity: Vec2::new(zeros(), zeros()),
            pressure: zeros(),
            dye: Vec3::new(zeros(), zeros(), zeros()),
            time: Float::from([0.0]),
        }
    }

    /// Advances the simulation.
    #[freeze]
    pub(crate) fn step(&mut self) {
        let grid = Grid::new(self.size);
        self.pour(&grid);
        self.swirl(&grid);
        self.project(&grid);
        self.flow(&grid);
        self.time += 1.0;
    }
}

#[jit]
impl Grid {
    fn new(size: u32) -> Grid {
        let cell = UInt::arange((size * size) as usize);
        let (x, y) = (cell % size, cell / size);
        let at = |x: UInt, y: &UInt| x + y * size;
        let last = size - 1;
        Grid {
            left: at(x.max(1) - 1, &y),
            right: at((x + 1).min(last), &y),
            above: at(x.clone(), &(y.max(1) - 1)),
            below: at(x.clone(), &(y + 1).min(last)),
            is_inside: x > 0 && x < last && y > 0 && y < last,
            x: x.cast(),
            y: y.cast(),
        }
    }

    /// Returns the gradient of a field, to the right and downwards.
    fn gradient(&self, field: &Float) -> Vec2<f32> {
        let across = field.gather(&self.right) - field.gather(&self.left);
        let down = field.gather(&self.below) - field.gather(&self.above);
        Vec2::new(across * 0.5, down * 0.5)
    }
}

#[jit]
impl Fluid {
    /// Adds the jets: near a jet, water and dye become those of the jet.
    fn pour(&mut self, grid: &Grid) {
        let size = self.size as f32;
        for jet in &JETS {
            let [x, y] = jet.centre.map(|place| place * size);
            let (across, down) = (grid.x + (0.5 - x), grid.y + (0.5 - y));
            let near = (1.0 - (across * across + down * down) * (1.0 / (RADIUS * size * RADIUS * size))).max(0.0);
            let share = near * near;
            let swing = (self.time * jet.swing).sin() * (0.35 * jet.velocity[0].abs());
            let wanted = Vec2::new(jet.velocity[0] * size, (swing + jet.velocity[1]) * size);
            self.velocity += (wanted - self.velocity) * share;
            self.dye += (Vec3::from(jet.colour) - self.dye) * share;
        }
        // Values that other lanes will read are computed together, in one launch.
        jit::schedule(&(&self.velocity, &self.dye));
    }

    /// Restores vortices that the grid has damped.
    fn swirl(&mut self, grid: &Grid) {
        let (across, down) = (grid.gradient(&self.velocity.x), grid.gradient(&self.velocity.y));
        let rotation = down.x - across.y;
        jit::schedule(&rotation);
        let towards = grid.gradient(&rotation.abs());
        let length = (towards.x * towards.x + towards.y * towards.y).sqrt() + 1e-5;
        let force = rotation * SWIRL / length;
        self.velocity += Vec2::new(towards.y * force, -(towards.x * force));
        jit::schedule(&self.velocity);
    }

    /// Removes the divergence of the velocity, and lets no water through the walls.
    fn project(&mut self, grid: &Grid) {
        let divergence = grid.gradient(&self.velocity.x).x + grid.gradient(&self.velocity.y).y;
        jit::schedule(&divergence);
        for _ in 0..PASSES {
            let beside = self.pressure.gather(&grid.left) + self.pressure.gather(&grid.right);
            let around = beside + self.pressure.gather(&grid.above) + self.pressure.gather(&grid.below);
            self.pressure = (around - divergence) * 0.25;
        }
        let push = grid.gradient(&self.pressure);
        let inside = if grid.is_inside { Float::from(1.0) } else { Float::from(0.0) };
        self.velocity = (self.velocity - push) * inside;
        jit::schedule(&self.velocity);
    }

    /// Advects velocity and dye: each cell gets the value upstream, interpolated between the four cells around that
    /// place.
    fn flow(&mut self, grid: &Grid) {
        let end = self.size as f32 - 1.001;
        let (x, y) = ((grid.x - self.velocity.x).clamp(0.0, end), (grid.y - self.velocity.y).clamp(0.0, end));
        let corner = x.cast::<u32>() + y.cast::<u32>() * self.size;
        let (right, down) = (x - x.floor(), y - y.floor());
        let upstream = |field: &Float| {
            let row = |begin: &UInt| {
                let (near, far) = (field.gather(begin), field.gather(&(begin + 1)));
                near + (far - near) * &right
            };
            let (near, far) = (row(&corner), row(&(&corner + self.size)));
            near + (far - near) * &down
        };
        let velocity = self.velocity.map(upstream);
        self.dye = self.dye.map(upstream) * FADE;
        self.velocity = velocity;
    }
}

/// Returns the dye as red, green and blue bytes of a picture.
pub(crate) fn develop(fluid: &Fluid) -> Result<Vec<u8>, String> {
    let light = fluid.dye.map(|light| 1.0 - (-1.4 * light).exp());
    let pixels = (light.map(linear_to_srgb) * 255.0 + 0.5).cast::<u8>();
    let pixels = pixels.to_vec().map_err(|error| error.to_string())?;
    Ok(pixels.into_iter().flatten().collect())
}
