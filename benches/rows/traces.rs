//! Row `L06`: programs with loops and branches that are traced again, unfrozen, whose kernels are found by their trace,
//! beside the same with that level of the cache emptied before each call, so that they are built.

use jit::cache::{CacheLevel, clear_level};
use jit::prelude::*;
use jit::tensor::keep_dims;

use crate::inputs::{checksum, u01s};
use crate::measure::{Bench, RowError, check, print};

const SHAPE: [usize; 2] = [100, 124];
/// Calls between two readings of the clock.
const CALLS: usize = 50;

/// A function of a matrix.
type Function = fn(&Tensor<f32>) -> Float;

const FUNCTIONS: [(&str, Function); 5] = [
    ("sum of rows", |x| x.sum(1).into_array()),
    ("sum of columns", |x| x.sum(0).into_array()),
    ("softmax", softmax),
    ("Newton's method", |x| root(x.array())),
    ("branches", |x| branched(x.array())),
];

fn softmax(x: &Tensor<f32>) -> Float {
    let exponentials = (x - x.reduce_max(keep_dims(1))).exp();
    (&exponentials / exponentials.sum(keep_dims(1))).into_array()
}

#[jit]
fn root(x: &Float) -> Float {
    let mut y = x + 1.0;
    while (&y * &y - x).abs() > 1e-3 {
        y = (&y + x / &y) * 0.5;
    }
    y
}

#[jit]
fn branched(x: &Float) -> Float {
    let y = if x < 0.5 { x.sqrt() } else { x * 0.5 };
    match UInt::arange(x.width()) % 4 {
        0 => y.sin(),
        1 => y + 1.0,
        _ => y * 2.0,
    }
}

/// L06: microseconds of a call with its trace known, and with its kernels built, and the ratio.
pub(crate) fn known(bench: &Bench) -> Result<(), RowError> {
    let elements: Vec<f32> = u01s(SHAPE[0] * SHAPE[1], 1, |u| u);
    let x = Tensor::from_array(elements, SHAPE);
    jit::eval(x.array())?;
    for (name, function) in FUNCTIONS {
        let calls = if bench.smoke { 2 } else { CALLS };
        let micros = |before: fn()| -> Result<f64, RowError> {
            let time = bench.median(|| {
                for _ in 0..calls {
                    before();
                    jit::eval(&function(&x))?;
                    jit::sync()?;
                }
                Ok(())
            })?;
            Ok(time.part(calls).seconds * 1e6)
        };
        let value = checksum(&function(&x).to_vec()?);
        let (found, built) = (micros(|| {})?, micros(|| clear_level(CacheLevel::Traces))?);
        check("L06", checksum(&function(&x).to_vec()?), (value, 0.0))?;
        print("L06", &format!("{name}, found"), found, "us", Some(value));
        print("L06", &format!("{name}, built"), built, "us", Some(value));
        print("L06", &format!("{name}, built/found"), built / found, "x", Some(value));
    }
    Ok(())
}
