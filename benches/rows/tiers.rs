//! Row `T03`: the speed-up of hot kernels by better code, on arrays that fit into the cache.

use std::time::{Duration, Instant};

use jit::prelude::*;

use crate::inputs::{checksum, u01s};
use crate::measure::{Bench, RowError, check, print, quantile};

const WIDTH: usize = 1 << 14;
/// Calls are measured for this long before their kernel has run enough to be recompiled...
const FIRST: Duration = Duration::from_millis(5);
/// ...and this long afterwards.
const LATER: Duration = Duration::from_millis(50);
/// The maximum time until better code is available.
const PATIENCE: Duration = Duration::from_secs(5);

/// A function of three arrays.
type Function = fn(&Float, &Float, &Float) -> Float;

const FUNCTIONS: &[(&str, Function)] = &[
    ("price of an option", option_price),
    ("polynomial of degree 30", polynomial),
    ("eight roots", roots),
    ("a x + y", axpy),
    ("three quotients", quotients),
    ("two gathers", gathers),
    ("hash", hash),
    ("24 values alive", wide),
];

/// The price of a call by Black and Scholes (1973), with the normal distribution of Abramowitz and Stegun 26.2.17.
#[freeze]
fn option_price(spot: &Float, strike: &Float, time: &Float) -> Float {
    let cumulative = |d: &Float| {
        let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
        let coefficients = [1.330_274_4, -1.821_256, 1.781_477_9, -0.356_563_78, 0.319_381_53_f32];
        let sum = coefficients.iter().fold(Float::from(0.0), |sum, &c| sum * &k + c) * &k;
        let tail = 0.398_942_3 * (-0.5 * d * d).exp() * sum;
        jit::select(&d.gt(0.0), 1.0 - &tail, tail)
    };
    let deviation = time.sqrt() * 0.3;
    let first = ((spot / strike).ln() + 0.065 * time) / &deviation;
    let second = &first - &deviation;
    spot * cumulative(&first) - strike * (-0.02 * time).exp() * cumulative(&second)
}

#[freeze]
fn polynomial(x: &Float, _: &Float, _: &Float) -> Float {
    (0..30).fold(x * 0.1, |sum, power| sum.mul_add(x * 0.02, 0.1 * power as f32))
}

#[freeze]
fn roots(x: &Float, _: &Float, _: &Float) -> Float {
    (0..8).fold(x * 0.1, |sum, step| (sum + 0.1 * step as f32).sqrt() * x + 1.0)
}

#[freeze]
fn axpy(x: &Float, y: &Float, _: &Float) -> Float {
    2.5 * x + y
}

#[freeze]
fn quotients(x: &Float, y: &Float, z: &Float) -> Float {
    x / y + y / z + z / x
}

#[freeze]
fn gathers(x: &Float, y: &Float, _: &Float) -> Float {
    let index = (y * 40.0).cast::<u32>();
    x.gather(&index) * 2.0 + x.gather(&(&index + 1_u32))
}

#[freeze]
fn hash(x: &Float, _: &Float, _: &Float) -> Float {
    let bits = (0..6).fold(x.bitcast::<u32>(), |h, _| (&h ^ (&h >> 15_u32)) * 0x7feb_352d_u32);
    bits.cast::<f32>()
}

#[freeze]
fn wide(x: &Float, y: &Float, z: &Float) -> Float {
    let lines: Vec<Float> = (0..24).map(|slope| x * (0.001 * slope as f32) + y * 0.01).collect();
    let highest = lines.iter().fold(z.clone(), |highest, line| highest.max(line));
    lines.iter().fold(highest, |sum, line| sum.mul_add(line, 0.5))
}

/// T03: microseconds of each function on one thread with its first code and with its better one, and their ratio.
pub(crate) fn gains(bench: &Bench) -> Result<(), RowError> {
    let array = |seed: u32, from: f32, to: f32| Float::from(u01s(WIDTH, seed, |u| from + (to - from) * u));
    let arguments = [array(1, 5.0, 30.0), array(2, 1.0, 100.0), array(3, 0.25, 10.0)];
    jit::eval(&arguments)?;
    jit::set_threads(1);
    let outcome = FUNCTIONS.iter().try_for_each(|&(name, function)| gain(bench, name, function, &arguments));
    jit::set_threads(std::thread::available_parallelism().map_or(1, usize::from));
    outcome
}

fn gain(bench: &Bench, name: &str, function: Function, [x, y, z]: &[Float; 3]) -> Result<(), RowError> {
    let call = || function(x, y, z);
    let micros = |time: Duration| {
        let (begin, mut samples) = (Instant::now(), Vec::new());
        while samples.is_empty() || begin.elapsed() < time {
            let start = Instant::now();
            drop(call());
            samples.push(start.elapsed().as_secs_f64() * 1e6);
        }
        quantile(&mut samples, 0.5)
    };
    let wanted = checksum(&call().to_vec()?);
    if bench.smoke {
        return Ok(());
    }
    let recompiles = || jit::stats().recompiles;
    let before = recompiles();
    let first = micros(FIRST);
    if recompiles() > before {
        return Err(RowError::Invalid(format!("{name}: the first code was replaced while it was measured")));
    }
    let begin = Instant::now();
    while recompiles() == before {
        drop(call());
        if begin.elapsed() > PATIENCE {
            return Err(RowError::Invalid(format!("{name}: there is no better code")));
        }
    }
    let better = micros(LATER);
    check("T03", checksum(&call().to_vec()?), (wanted, 0.0))?;
    print("T03", &format!("{name}, first code"), first, "us", Some(wanted));
    print("T03", &format!("{name}, better code"), better, "us", Some(wanted));
    print("T03", &format!("{name}, first/better"), first / better, "x", Some(wanted));
    Ok(())
}
