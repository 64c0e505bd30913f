//! Random programs: reverse mode against forward mode, and against dual numbers.

use jit::ad;
use jit::prelude::*;

use crate::tested_devices;

/// A small generator of numbers (Steele, Lea, Flood: SplitMix).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// A number with its derivative.
#[derive(Clone, Copy)]
struct Dual(f64, f64);

/// A step of a program: an operation on values before it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    Div(usize, usize),
    Sin(usize),
    Exp(usize),
    Select(usize, usize, usize),
    Roll(usize, usize),
    BlockSum(usize),
    Sum(usize),
    Scatter(usize),
    Evaluate(usize),
}

const WIDTH: usize = 12;

fn program(numbers: &mut Numbers) -> Vec<Step> {
    let mut steps = Vec::new();
    for count in 0..14 {
        let values = 2 + count;
        let mut any = || numbers.below(values);
        let (a, b, c) = (any(), any(), any());
        steps.push(match numbers.below(13) {
            0 | 1 => Step::Add(a, b),
            2 => Step::Sub(a, b),
            3 | 4 => Step::Mul(a, b),
            5 => Step::Div(a, b),
            6 => Step::Sin(a),
            7 => Step::Exp(a),
            8 => Step::Select(a, b, c),
            9 => Step::Roll(a, 1 + c % 5),
            10 => Step::BlockSum(a),
            11 if c % 2 == 0 => Step::Scatter(a),
            11 => Step::Sum(a),
            _ => Step::Evaluate(a),
        });
    }
    steps
}

fn traced(steps: &[Step], inputs: &(Float64, Float64)) -> Float64 {
    let mut values = vec![inputs.0.clone(), inputs.1.clone()];
    for step in steps {
        let v = |at: usize| &values[at];
        let next = match *step {
            Step::Add(a, b) => v(a) + v(b),
            Step::Sub(a, b) => v(a) - v(b),
            Step::Mul(a, b) => v(a) * v(b),
            Step::Div(a, b) => v(a) / (v(b) * v(b) + 1.0),
            Step::Sin(a) => v(a).sin(),
            Step::Exp(a) => (v(a).sin() * 0.5).exp(),
            Step::Select(a, b, c) => v(a).gt(v(b)).select(v(b), v(c)),
            Step::Roll(a, by) => v(a).roll(by as isize),
            Step::BlockSum(a) => v(a).block_sum(3).repeat(3),
            Step::Sum(a) => v(a) + v(a).sum() * 0.1,
            Step::Scatter(a) => {
                let mut target = Float64::zeros(WIDTH);
                target.scatter_add(v(a), &(UInt::arange(WIDTH) / 2));
                target
            }
            Step::Evaluate(a) => {
                jit::eval(v(a)).unwrap();
                v(a) * 1.5
            }
        };
        values.push(next);
    }
    values.swap_remove(values.len() - 1)
}

fn dual(steps: &[Step], inputs: &[Vec<Dual>; 2]) -> Vec<Dual> {
    let mut values = inputs.to_vec();
    let sum_of = |lanes: &[Dual]| lanes.iter().fold(Dual(0.0, 0.0), |sum, lane| Dual(sum.0 + lane.0, sum.1 + lane.1));
    for step in steps {
        let of = |a: usize, f: fn(Dual) -> Dual| values[a].iter().map(|&a| f(a)).collect::<Vec<_>>();
        let of_two = |a: usize, b: usize, f: fn(Dual, Dual) -> Dual| {
            values[a].iter().zip(&values[b]).map(|(&a, &b)| f(a, b)).collect::<Vec<_>>()
        };
        let next = match *step {
            Step::Add(a, b) => of_two(a, b, |a, b| Dual(a.0 + b.0, a.1 + b.1)),
            Step::Sub(a, b) => of_two(a, b, |a, b| Dual(a.0 - b.0, a.1 - b.1)),
            Step::Mul(a, b) => of_two(a, b, |a, b| Dual(a.0 * b.0, a.1 * b.0 + a.0 * b.1)),
            Step::Div(a, b) => of_two(a, b, |a, b| {
                let (d, dd) = (b.0 * b.0 + 1.0, 2.0 * b.0 * b.1);
                Dual(a.0 / d, a.1 / d - a.0 / d / d * dd)
            }),
            Step::Sin(a) => of(a, |a| Dual(a.0.sin(), a.1 * a.0.cos())),
            Step::Exp(a) => of(a, |a| {
                let y = (a.0.sin() * 0.5).exp();
                Dual(y, y * 0.5 * a.0.cos() * a.1)
            }),
            Step::Select(a, b, c) => {
                (0..WIDTH).map(|i| if values[a][i].0 > values[b][i].0 { values[b][i] } else { values[c][i] }).collect()
            }
            Step::Roll(a, by) => (0..WIDTH).map(|i| values[a][(i + WIDTH - by) % WIDTH]).collect(),
            Step::BlockSum(a) => (0..WIDTH).map(|i| sum_of(&values[a][i / 3 * 3..i / 3 * 3 + 3])).collect(),
            Step::Sum(a) => {
                let sum = sum_of(&values[a]);
                values[a].iter().map(|a| Dual(a.0 + sum.0 * 0.1, a.1 + sum.1 * 0.1)).collect()
            }
            Step::Scatter(a) => {
                let pair = |i: usize| if 2 * i < WIDTH { sum_of(&values[a][2 * i..2 * i + 2]) } else { Dual(0.0, 0.0) };
                (0..WIDTH).map(pair).collect()
            }
            Step::Evaluate(a) => of(a, |a| Dual(a.0 * 1.5, a.1 * 1.5)),
        };
        values.push(next);
    }
    values.swap_remove(values.len() - 1)
}

// rows: A207
#[test]
fn random_programs_agree_with_dual_numbers() {
    for device in tested_devices::all() {
        // Graphs of derivatives are the same on every device, and machine code for them takes long to compile.
        let programs = if device == Device::Interpreter { 150 } else { 50 };
        jit::with_device(device, || agree_with_dual_numbers(programs));
    }
}

fn agree_with_dual_numbers(programs: usize) {
    let mut numbers = Numbers(2026);
    let mut checked = 0;
    for seed in 0..programs {
        let steps = program(&mut numbers);
        let mut list = || (0..WIDTH).map(|_| numbers.below(1000) as f64 / 250.0 - 2.0).collect::<Vec<f64>>();
        let (x, y, direction) = (list(), list(), list());
        let with = |values: &[f64], seed: &[f64]| values.iter().zip(seed).map(|(&v, &s)| Dual(v, s)).collect();
        let wanted = dual(&steps, &[with(&x, &direction), with(&y, &[0.0; WIDTH])]);
        let inputs = (Float64::from(&x[..]), Float64::from(&y[..]));
        let seeds = (Float64::from(&direction[..]), Float64::zeros(WIDTH));
        let (value, tangent) = ad::jvp(|inputs: &(Float64, Float64)| traced(&steps, inputs), &inputs, &seeds).unwrap();
        let (value, tangent) = (value.to_vec().unwrap(), tangent.to_vec().unwrap());
        let scale = wanted.iter().fold(1.0_f64, |scale, lane| scale.max(lane.0.abs()).max(lane.1.abs()));
        if !scale.is_finite() || scale > 1e6 {
            continue;
        }
        checked += 1;
        for lane in 0..WIDTH {
            assert!((value[lane] - wanted[lane].0).abs() < 1e-9 * scale, "{seed} {steps:?}");
            assert!((tangent[lane] - wanted[lane].1).abs() < 1e-9 * scale, "{seed} {steps:?}: {tangent:?}");
        }
        // ⟨gradient of the sum, direction⟩ = the sum of the tangents
        let gradient = ad::grad(|inputs: &(Float64, Float64)| traced(&steps, inputs).sum())(&inputs).unwrap();
        let product: f64 = gradient.0.to_vec().unwrap().iter().zip(&direction).map(|(g, d)| g * d).sum();
        let sum: f64 = wanted.iter().map(|lane| lane.1).sum();
        assert!((product - sum).abs() < 1e-8 * scale * WIDTH as f64, "{seed} {steps:?}: {product} {sum}");
    }
    assert!(3 * checked > 2 * programs, "{checked} of {programs}");
}
