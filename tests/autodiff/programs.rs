//! Whole programs, as users write them, against central differences or closed forms.

use jit::ad::{self, CustomOp};
use jit::freeze::Frozen;
use jit::linalg::{Complex, Mat2, Quaternion, Vec2, Vec3};
use jit::optim::{Adam, Sgd};
use jit::prelude::*;

use crate::{assert_close, on_each_device};

/// Returns the central differences of a function of some numbers.
fn differences(f: impl Fn(&[f64]) -> f64, x: &[f64]) -> Vec<f64> {
    let at = |position: usize, by: f64| {
        let mut moved = x.to_vec();
        moved[position] += by;
        f(&moved)
    };
    (0..x.len()).map(|position| (at(position, 1e-6) - at(position, -1e-6)) / 2e-6).collect()
}

/// A ball that is thrown, with drag, and bounces: `while` in all lanes, with a branch.
#[jit]
fn landing(speed: &Float64, drag: &Float64) -> Float64 {
    let (mut x, mut y) = (Float64::from(0.0), Float64::from(1.0));
    let (mut vx, mut vy) = (speed * 0.8, speed * 0.6);
    let mut bounces = UInt::from(0);
    let mut steps = UInt::from(0);
    while bounces < 2 && steps < 400 {
        let v = (&vx * &vx + &vy * &vy).sqrt();
        vx -= drag * &v * &vx * 0.01;
        vy -= drag * &v * &vy * 0.01 + 0.0981;
        x += &vx * 0.01;
        y += &vy * 0.01;
        if y < 0.0 {
            y = -y;
            vy = vy.abs() * 0.7;
            bounces += 1;
        }
        steps += 1;
    }
    x
}

#[test]
fn a_simulation_with_a_loop_and_branches() {
    on_each_device(|| {
        let speeds = [3.0, 5.0, 4.0];
        let loss = |x: &Float64| landing(&Float64::from(speeds), x).sum();
        let (value, slope) = ad::value_and_grad(loss)(&Float64::from(0.1)).unwrap();
        let plain = |x: &[f64]| loss(&Float64::from(x[0])).item().unwrap();
        assert_eq!(value.item().unwrap(), plain(&[0.1]));
        assert_close(&slope.to_vec().unwrap(), &differences(plain, &[0.1]), 1e-6);
        // Aim at three places.
        let goal = Float64::from([1.5, 3.0, 2.2]);
        let miss = |speed: &Float64| (landing(speed, &Float64::from(0.1)) - &goal).square().sum();
        let mut speed = Float64::from([3.0, 3.0, 3.0]);
        let mut sgd = Sgd::new(&speed, 0.2);
        for _ in 0..60 {
            let gradient = ad::grad(miss)(&speed).unwrap();
            sgd.step(&mut speed, &gradient);
            jit::eval(&(&speed, &sgd)).unwrap();
        }
        assert!(miss(&speed).item().unwrap() < 1e-3, "{:?}", speed.to_vec());
    });
}

/// The root of `z³ + a·z = b`, by Newton's method; its derivative is that of the implicit function.
struct Root;

impl CustomOp for Root {
    type Input = (Float64, Float64);
    type Output = Float64;
    type Saved = (Float64, Float64);

    fn name(&self) -> &str {
        "root"
    }

    fn forward(&self, (a, b): &(Float64, Float64)) -> (Float64, (Float64, Float64)) {
        let z = newton(a, b);
        (z.clone(), (a.clone(), z))
    }

    fn backward(&self, (a, z): &(Float64, Float64), gradient: &Float64) -> jit::Result<(Float64, Float64)> {
        let of_b = gradient / (3.0 * z * z + a);
        Ok((-z * &of_b, of_b))
    }

    fn jvp(&self, (a, z): &(Float64, Float64), (of_a, of_b): &(Float64, Float64)) -> jit::Result<Float64> {
        Ok((of_b - z * of_a) / (3.0 * z * z + a))
    }
}

#[jit]
fn newton(a: &Float64, b: &Float64) -> Float64 {
    let mut z = Float64::from(1.0);
    let mut step = Float64::from(1.0);
    while step.abs() > 1e-13 {
        step = (&z * &z * &z + a * &z - b) / (3.0 * &z * &z + a);
        z -= &step;
    }
    z
}

#[test]
fn an_implicit_function() {
    on_each_device(|| {
        let (a, b) = (Float64::from([1.0, 2.0, 0.5]), Float64::from([3.0, -1.0, 10.0]));
        let by_rule = |(a, b): &(Float64, Float64)| ad::custom(Root, &(a.clone(), b.clone())).sin().sum();
        let by_loop = |(a, b): &(Float64, Float64)| newton(a, b).sin().sum();
        let x = (a.clone(), b.clone());
        let [of_rule, of_loop] = [ad::grad(by_rule)(&x).unwrap(), ad::grad(by_loop)(&x).unwrap()];
        for (rule, through) in [(&of_rule.0, &of_loop.0), (&of_rule.1, &of_loop.1)] {
            assert_close(&rule.to_vec().unwrap(), &through.to_vec().unwrap(), 1e-9);
        }
        let plain = |b: &[f64]| by_rule(&(a.clone(), Float64::from(b))).item().unwrap();
        assert_close(&of_rule.1.to_vec().unwrap(), &differences(plain, &[3.0, -1.0, 10.0]), 1e-7);
        let tangent = ad::jvp(by_rule, &x, &(Float64::from(0.0), Float64::from([0.0, 0.0, 1.0]))).unwrap().1;
        assert_close(&tangent.to_vec().unwrap(), &of_rule.1.to_vec().unwrap()[2..], 1e-12);
    });
}

/// Newton's method of optimisation, with a whole Hessian from Hessian-vector products.
#[test]
fn a_hessian_column_by_column() {
    on_each_device(|| {
        let rosenbrock = |x: &Float64| {
            let (a, b) = (x.slice(0..3), x.slice(1..4));
            (100.0 * (&b - &a * &a).square() + (1.0 - &a).square()).sum()
        };
        let x = Float64::from([-1.2, 1.0, 0.7, -0.4]);
        let columns: Vec<Vec<f64>> = (0..4)
            .map(|i| {
                let unit = UInt::arange(4).eq(i).select(Float64::from(1.0), Float64::from(0.0));
                ad::hvp(rosenbrock, &x, &unit).unwrap().to_vec().unwrap()
            })
            .collect();
        let v = x.to_vec().unwrap();
        for i in 0..4 {
            for j in 0..4 {
                let diagonal = if i < 3 { 1200.0 * v[i] * v[i] - 400.0 * v[(i + 1) % 4] + 2.0 } else { 0.0 };
                let wanted = match i.abs_diff(j) {
                    0 => diagonal + if i > 0 { 200.0 } else { 0.0 },
                    1 => -400.0 * v[i.min(j)],
                    _ => 0.0,
                };
                assert_close(&[columns[i][j]], &[wanted], 1e-12);
            }
        }
    });
}

/// An embedding whose rows are read by many, through an optimiser that skips rows that no one reads.
#[test]
fn gathers_of_repeated_rows_and_an_optimiser_with_masks() {
    on_each_device(|| {
        const ROWS: usize = 50;
        let words = UInt::from((0..400_u32).map(|i| i * i % 23).collect::<Vec<_>>());
        let goal = words.cast::<f32>() * 0.1 - 1.0;
        let mut table = Float::zeros(ROWS);
        let mut adam = Adam::new(&table, 0.1);
        let used = {
            let mut used = Mask::full(false, ROWS);
            used.scatter(Mask::from(true), &words);
            used
        };
        let mut step = |table: &mut Float| {
            let loss = |table: &Float| (table.gather(&words) - &goal).square().mean();
            let (loss, gradient) = ad::value_and_grad(loss)(table).unwrap();
            adam.step_masked(table, &gradient, &used);
            jit::eval(&(&*table, &loss, &adam)).unwrap();
            loss.item().unwrap()
        };
        let first = step(&mut table);
        let last = (0..150).map(|_| step(&mut table)).last().unwrap();
        assert!(last < first * 1e-3, "{first} {last}");
        let (found, used) = (table.to_vec().unwrap(), used.to_vec().unwrap());
        for row in 0..ROWS {
            let wanted = if used[row] { row as f32 * 0.1 - 1.0 } else { 0.0 };
            assert!((found[row] - wanted).abs() < 0.05, "row {row}: {} {wanted}", found[row]);
        }
    });
}

/// The distance of two distributions in one dimension: both are sorted.
#[test]
fn a_loss_of_sorted_samples() {
    on_each_device(|| {
        let goal = Float64::linspace(-1.0, 1.0, 9).sort();
        let loss = |x: &Float64| (x.sort() - &goal).square().sum() + x.sort_descending().slice(0..2).sum();
        let x = [0.3, -2.0, 0.9, 0.1, 5.0, -0.4, 0.25, 0.7, -0.9];
        let gradient = ad::grad(loss)(&Float64::from(x)).unwrap();
        let plain = |x: &[f64]| loss(&Float64::from(x)).item().unwrap();
        assert_close(&gradient.to_vec().unwrap(), &differences(plain, &x), 1e-7);
    });
}

/// Weights in half precision, a loss in single precision, scaled so that small gradients do not vanish.
#[test]
fn halves_with_a_scaled_loss() {
    on_each_device(|| {
        let x = Float::linspace(-1.0, 1.0, 200);
        let goal = 3.0 * &x - 0.5;
        let mut master = (Float::from(0.0), Float::from(0.0));
        for _ in 0..150 {
            let loss = |(a, b): &(Half, Half)| {
                let half = x.cast::<half::f16>();
                let y = a * half + b;
                (y.cast::<f32>() - &goal).square().mean() * 256.0
            };
            let halves = (master.0.cast::<half::f16>(), master.1.cast::<half::f16>());
            let (a, b) = ad::grad(loss)(&halves).unwrap();
            master.0 -= a.cast::<f32>() / 256.0 * 0.3;
            master.1 -= b.cast::<f32>() / 256.0 * 0.3;
            jit::eval(&master).unwrap();
        }
        assert!((master.0.item().unwrap() - 3.0).abs() < 0.02, "{:?}", master.0.item());
        assert!((master.1.item().unwrap() + 0.5).abs() < 0.02, "{:?}", master.1.item());
    });
}

/// A filter, a rotation and a linear system, in complex numbers, quaternions and matrices.
#[test]
fn complex_numbers_rotations_and_systems() {
    on_each_device(|| {
        // |1 / (1 + i·w·r·c)|² falls with r: the derivative is −2 w² c² r / (1 + (w r c)²)².
        let (w, c) = (Float64::from([1.0, 2.0, 5.0]), 0.3);
        let gain = |r: &Float64| {
            let z = Complex::new(Float64::from(1.0), &w * r * c);
            z.recip().squared_abs().sum()
        };
        let slope = ad::grad(gain)(&Float64::from(1.5)).unwrap().item().unwrap();
        let wanted: f64 = [1.0, 2.0, 5.0_f64]
            .iter()
            .map(|w| -2.0 * w * w * c * c * 1.5 / (1.0 + (w * 1.5 * c).powi(2)).powi(2))
            .sum();
        assert_close(&[slope], &[wanted], 1e-12);
        // The angle that turns one vector onto another.
        let height = |angle: &Float64| {
            let axis = Vec3::new(Float64::from(0.0), Float64::from(0.0), Float64::from(1.0));
            let turned = Quaternion::from_axis_angle(axis, angle.clone()).rotate(Vec3::new(
                Float64::from(1.0),
                Float64::from(0.0),
                Float64::from(0.0),
            ));
            turned.y
        };
        let slope = ad::grad(|x: &Float64| height(x).sum())(&Float64::from([0.3, 1.2])).unwrap();
        assert_close(&slope.to_vec().unwrap(), &[0.3_f64.cos(), 1.2_f64.cos()], 1e-12);
        // The solution of a system of equations, by its matrix.
        let solution = |x: &Float64| {
            let part = |i: usize| x.slice(i..i + 1);
            let matrix = Mat2::from_rows([[part(0), part(1)], [part(2), part(3)]]);
            let solution = matrix.inverse() * Vec2::new(part(4), part(5));
            (&solution.x * &solution.y).sum()
        };
        let x = [2.0, 0.5, -1.0, 3.0, 1.0, -2.0];
        let gradient = ad::grad(solution)(&Float64::from(x)).unwrap();
        let plain = |x: &[f64]| solution(&Float64::from(x)).item().unwrap();
        assert_close(&gradient.to_vec().unwrap(), &differences(plain, &x), 1e-7);
    });
}

#[jit]
fn relaxed(start: &Float64, rate: &Float64) -> Float64 {
    let mut x = start.clone();
    let mut steps = UInt::from(0);
    #[evaluated]
    while (&x * &x - 2.0).abs() > 1e-3 && steps < 40 {
        x -= rate * (&x * &x - 2.0);
        steps += 1;
    }
    x
}

#[test]
fn a_loop_that_is_evaluated_step_by_step() {
    on_each_device(|| {
        let starts = [1.0, 2.0, 1.4, 0.4];
        let loss = |x: &Float64| relaxed(&Float64::from(starts), x).square().sum();
        let gradient = ad::grad(loss)(&Float64::from(0.17)).unwrap();
        let plain = |x: &[f64]| loss(&Float64::from(x)).item().unwrap();
        assert_close(&gradient.to_vec().unwrap(), &differences(plain, &[0.17]), 1e-6);
        let tangent = ad::jvp(loss, &Float64::from(0.17), &Float64::from(1.0)).unwrap().1;
        assert_close(&tangent.to_vec().unwrap(), &gradient.to_vec().unwrap(), 1e-12);
    });
}

/// Two threads with halves of the data; their gradients are added on the host.
#[test]
fn data_of_two_threads() {
    let part = |from: f64| {
        let x = Float64::linspace(from, from + 1.0, 500);
        move |w: f64| {
            let x = &x;
            let loss = move |w: &Float64| (w * x).sin().square().sum();
            ad::grad(loss)(&Float64::from(w)).unwrap().item().unwrap()
        }
    };
    let alone: f64 = [0.0, 1.0].map(|from| part(from)(1.3)).iter().sum();
    for _ in 0..5 {
        let threads = [0.0, 1.0].map(|from| std::thread::spawn(move || part(from)(1.3)));
        let sum: f64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(sum, alone);
    }
}

#[jit]
fn decayed(x: &Float64, rate: &Float64, #[constexpr] steps: u32) -> Float64 {
    let mut y = x.clone();
    #[symbolic]
    for _ in 0..steps {
        y = &y - rate * y.sin();
    }
    y
}

/// A layer that is compiled ahead, in a frozen step of training, and in a function that is differentiated twice.
#[test]
fn an_executor_in_a_program_of_training() {
    on_each_device(|| {
        let layer = decayed::compile(&Float64::placeholder(100), &Float64::placeholder(1), 20).unwrap();
        let x = Float64::linspace(0.1, 2.0, 100);
        let goal = layer.call(&x, &Float64::from(0.03)).unwrap();
        let loss = |rate: &Float64| (layer.call(&x, rate).unwrap() - &goal).square().mean();
        let mut rate = Float64::from(0.1);
        for _ in 0..30 {
            let (slope, curvature) = (ad::grad(loss)(&rate).unwrap(), ad::hvp(loss, &rate, &Float64::from(1.0)));
            rate -= slope / curvature.unwrap().abs();
            jit::eval(&rate).unwrap();
        }
        assert_close(&rate.to_vec().unwrap(), &[0.03], 1e-8);
        let frozen = Frozen::new(|rate: &Float64, x: &Float64| decayed(x, rate, 20).square().sum());
        let both = |rate: &Float64| frozen.call((rate, &x)) + layer.call(&x, rate).unwrap().sum();
        let plain = |rate: &[f64]| both(&Float64::from(rate)).item().unwrap();
        let slope = ad::grad(both)(&Float64::from(0.2)).unwrap();
        assert_close(&slope.to_vec().unwrap(), &differences(plain, &[0.2]), 1e-6);
    });
}
