//! Programs whose lanes run for different times.

use jit::linalg::Complex;
use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::u01s;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// Iterations until each point of the plane is near a cube root of one, by Newton's method.
#[jit]
fn newton_times(side: u32) -> UInt {
    let i = UInt::arange((side * side) as usize);
    let mut x = (i % side).cast::<f32>() / side as f32 * 4.0 - 1.99;
    let mut y = (i / side).cast::<f32>() / side as f32 * 4.0 - 1.99;
    let mut n = UInt::from(0);
    while n < 60 {
        // z - (z³ - 1) / 3z²
        let (x2, y2) = (x * x - y * y, 2.0 * x * y);
        let (re, im) = (x2 * x - y2 * y - 1.0, x2 * y + y2 * x);
        if re * re + im * im < 1e-8 {
            break;
        }
        let scale = 1.0 / (3.0 * (x2 * x2 + y2 * y2));
        (x, y) = (x - (re * x2 + im * y2) * scale, y - (im * x2 - re * y2) * scale);
        n += 1;
    }
    n
}

fn plain_newton_time(i: usize, side: usize) -> u32 {
    let mut x = (i % side) as f32 / side as f32 * 4.0 - 1.99;
    let mut y = (i / side) as f32 / side as f32 * 4.0 - 1.99;
    for n in 0..60 {
        let (x2, y2) = (x * x - y * y, 2.0 * x * y);
        let (re, im) = (x2 * x - y2 * y - 1.0, x2 * y + y2 * x);
        if re * re + im * im < 1e-8 {
            return n;
        }
        let scale = 1.0 / (3.0 * (x2 * x2 + y2 * y2));
        (x, y) = (x - (re * x2 + im * y2) * scale, y - (im * x2 - re * y2) * scale);
    }
    60
}

/// G26: Newton's fractal, 1200 × 1200 points.
pub(crate) fn newton_fractal(bench: &Bench) -> Result<(), RowError> {
    const SIDE: usize = 1200;
    let rust = |threads: Threads| threads.map(SIDE * SIDE, |i| plain_newton_time(i, SIDE));
    Program { workload: "G26", tolerance: 0.0, jit: &|| newton_times(SIDE as u32), frozen: None, rust: &rust }
        .run(bench)
}

/// The lengths of Collatz sequences.
#[jit]
fn collatz(start: UInt64) -> UInt {
    let mut n = start;
    let mut steps = UInt::from(0);
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn plain_collatz(mut n: u64) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

/// G27: the lengths of the Collatz sequences from 1 to 400 000.
pub(crate) fn collatz_lengths(bench: &Bench) -> Result<(), RowError> {
    const N: usize = 400_000;
    let rust = |threads: Threads| threads.map(N, |i| plain_collatz(i as u64 + 1));
    let jit = || collatz(UInt64::arange(N) + 1);
    Program { workload: "G27", tolerance: 0.0, jit: &jit, frozen: None, rust: &rust }.run(bench)
}

/// The degree of the polynomials.
const DEGREE: usize = 5;

/// The largest absolute value of a root of each polynomial, by the iteration of Durand (1960) and Kerner (1966).
#[jit]
fn largest_roots(coefficients: &[Float]) -> Float {
    let mut roots = Vec::new();
    for k in 0..DEGREE {
        roots.push(Complex::from_polar(1.2, 0.4 + k as f32 * std::f32::consts::TAU / DEGREE as f32));
    }
    let mut change = Float::from(1.0);
    let mut iterations = UInt::from(0);
    while change > 1e-6 && iterations < 40 {
        change = Float::from(0.0);
        for k in 0..DEGREE {
            let z = roots[k].clone();
            let mut value = Complex::from(1.0);
            for coefficient in coefficients {
                value = value * z + coefficient;
            }
            for j in 0..DEGREE {
                if j != k {
                    value = value / (z - roots[j]);
                }
            }
            roots[k] = z - value;
            change += value.squared_abs();
        }
        iterations += 1;
    }
    let mut largest = Float::from(0.0);
    for root in &roots {
        largest = largest.max(root.abs());
    }
    largest
}

fn plain_largest_root(coefficients: [f32; DEGREE]) -> f32 {
    let mut roots: [(f32, f32); DEGREE] = std::array::from_fn(|k| {
        let angle = 0.4 + k as f32 * std::f32::consts::TAU / DEGREE as f32;
        (1.2 * angle.cos(), 1.2 * angle.sin())
    });
    for _ in 0..40 {
        let mut change = 0.0;
        for k in 0..DEGREE {
            let (x, y) = roots[k];
            let (mut re, mut im) = (1.0, 0.0);
            for c in coefficients {
                (re, im) = (re * x - im * y + c, re * y + im * x);
            }
            for j in (0..DEGREE).filter(|&j| j != k) {
                let (dx, dy) = (x - roots[j].0, y - roots[j].1);
                let scale = 1.0 / (dx * dx + dy * dy);
                (re, im) = ((re * dx + im * dy) * scale, (im * dx - re * dy) * scale);
            }
            roots[k] = (x - re, y - im);
            change += re * re + im * im;
        }
        if change <= 1e-6 {
            break;
        }
    }
    roots.iter().map(|(x, y)| (x * x + y * y).sqrt()).fold(0.0, f32::max)
}

/// G28: the largest roots of 50 000 polynomials of degree five.
pub(crate) fn polynomial_roots(bench: &Bench) -> Result<(), RowError> {
    const N: usize = 50_000;
    let coefficients: [Vec<f32>; DEGREE] = std::array::from_fn(|k| u01s(N, k as u32 + 1, |u| 2.0 * u - 1.0));
    let ours = coefficients.iter().map(|list| resident(list.clone())).collect::<Result<Vec<Float>, RowError>>()?;
    let rust = |threads: Threads| {
        let roots = threads.map(N, |i| plain_largest_root(coefficients.each_ref().map(|list| list[i])));
        vec![roots.iter().map(|&root| f64::from(root)).sum::<f64>()]
    };
    let jit = || largest_roots(&ours).cast::<f64>().sum();
    Program { workload: "G28", tolerance: 1e-4, jit: &jit, frozen: None, rust: &rust }.run(bench)
}
