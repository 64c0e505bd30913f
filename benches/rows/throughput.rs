//! Rows `W…`: operations on large arrays. The functions are written as a user would write them.

use jit::Element;
use jit::prelude::*;

use crate::inputs::{checksum, u01s};
use crate::measure::{Bench, RowError};

/// The number of elements of most rows.
pub(crate) const LARGE: usize = 1 << 24;

/// An input in memory.
pub(crate) fn resident<T: Element>(values: Vec<T>) -> Result<Array<T>, RowError> {
    let array = Array::from(values);
    jit::eval(&array)?;
    jit::sync()?;
    Ok(array)
}

/// W01: `2.5 x + y` over 2^24 elements; bound by memory.
pub(crate) fn saxpy(bench: &Bench) -> Result<(), RowError> {
    let (x, y) = (resident(u01s(LARGE, 1, |u| u))?, resident(u01s(LARGE, 2, |u| u))?);
    bench.throughput("W01", (249_576_898.299, 1e-6), || x.mul_add(2.5, &y), |o| Ok(checksum(&o.to_vec()?)))
}

/// The normal distribution function by the polynomial 26.2.17 of Abramowitz and Stegun.
#[jit]
fn normal_distribution(d: &Float) -> Float {
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let p = k.mul_add(1.330_274_5, -1.821_255_9);
    let p = k.mul_add(p, 1.781_477_9);
    let p = k.mul_add(p, -0.356_563_78);
    let p = k * k.mul_add(p, 0.319_381_54);
    let w = 0.398_942_3 * (-0.5 * d * d).exp() * p;
    if d > 0.0 { 1.0 - w } else { w }
}

/// Prices of a European call and put (Black and Scholes 1973) for a stock price, strike and time to expiry.
#[jit]
fn black_scholes_prices(stock: &Float, strike: &Float, years: &Float) -> (Float, Float) {
    let (rate, volatility) = (0.02, 0.30);
    let deviation = volatility * years.sqrt();
    let d1 = ((stock / strike).ln() + (rate + 0.5 * volatility * volatility) * years) / deviation;
    let d2 = d1 - deviation;
    let (c1, c2) = (normal_distribution(&d1), normal_distribution(&d2));
    let discounted = strike * (-rate * years).exp();
    (stock * c1 - discounted * c2, discounted * (1.0 - c2) - stock * (1.0 - c1))
}

/// W02: Black-Scholes over 2^22 options; bound by arithmetic.
pub(crate) fn black_scholes(bench: &Bench) -> Result<(), RowError> {
    options(bench, "W02", black_scholes_prices)
}

/// W02.fast: the same with fast math.
pub(crate) fn fast_black_scholes(bench: &Bench) -> Result<(), RowError> {
    options(bench, "W02.fast", |stock, strike, years| jit::fast_math(|| black_scholes_prices(stock, strike, years)))
}

/// A row that prices options by a function of stock prices, strikes and times.
fn options(
    bench: &Bench,
    workload: &'static str,
    prices: impl Fn(&Float, &Float, &Float) -> (Float, Float),
) -> Result<(), RowError> {
    let n = 1 << 22;
    let stock = resident(u01s(n, 1, |u| 5.0 + 25.0 * u))?;
    let strike = resident(u01s(n, 2, |u| 1.0 + 99.0 * u))?;
    let years = resident(u01s(n, 3, |u| 0.25 + 9.75 * u))?;
    bench.throughput(
        workload,
        (1_217_418_028.0, 1e-6),
        || prices(&stock, &strike, &years),
        |(call, put)| Ok(checksum(&call.to_vec()?) + checksum(&put.to_vec()?)),
    )
}

/// Iterations until a point of the plane escapes, for 1024 x 1024 points.
#[jit]
fn escape_times() -> UInt {
    let pixel = UInt::arange(1 << 20);
    let cr = 3.0 * ((pixel & 1023).cast::<f32>() + 0.5) * (1.0 / 1024.0) - 2.0;
    let ci = 3.0 * ((pixel >> 10).cast::<f32>() + 0.5) * (1.0 / 1024.0) - 1.5;
    let (mut zr, mut zi, mut n) = (Float::from(0.0), Float::from(0.0), UInt::from(0));
    while zr * zr + zi * zi <= 4.0 && n < 1000 {
        (zr, zi) = (zr * zr - zi * zi + cr, (zr + zr).mul_add(&zi, &ci));
        n += 1;
    }
    n
}

/// W03: the Mandelbrot set; bound by the latency of a loop.
pub(crate) fn mandelbrot(bench: &Bench) -> Result<(), RowError> {
    bench.throughput("W03", (1_534_773_256.0, 1e-3), escape_times, |o| Ok(checksum(&o.to_vec()?)))
}

/// The accelerations that bodies with given masses exert on one another.
#[jit]
fn accelerations(x: &Float, y: &Float, z: &Float, mass: &Float, bodies: u32) -> (Float, Float, Float) {
    let (mut ax, mut ay, mut az) = (Float::from(0.0), Float::from(0.0), Float::from(0.0));
    let mut j = UInt::from(0);
    while j < bodies {
        let (dx, dy, dz) = (x.gather(&j) - x, y.gather(&j) - y, z.gather(&j) - z);
        let r2 = dx.mul_add(&dx, dy.mul_add(&dy, dz.mul_add(&dz, 1e-3)));
        let q = r2.rsqrt();
        let f = mass.gather(&j) * q * q * q;
        ax = f.mul_add(&dx, &ax);
        ay = f.mul_add(&dy, &ay);
        az = f.mul_add(&dz, &az);
        j += 1;
    }
    (ax, ay, az)
}

/// W04: all pairs of 4096 bodies; bound by arithmetic if gathers at equal indices are cheap.
pub(crate) fn n_body(bench: &Bench) -> Result<(), RowError> {
    let n = 4096;
    let (x, y) = (resident(u01s(n, 1, |u| u))?, resident(u01s(n, 2, |u| u))?);
    let (z, mass) = (resident(u01s(n, 3, |u| u))?, resident(u01s(n, 4, |u| u + 0.5))?);
    bench.throughput(
        "W04",
        (394_014_980.0, 1e-5),
        || accelerations(&x, &y, &z, &mass, n as u32),
        |(ax, ay, az)| Ok(checksum(&(ax.abs() + ay.abs() + az.abs()).to_vec()?)),
    )
}

const PCG_MULTIPLIER: u64 = 0x5851_f42d_4c95_7f2d;

/// The next number in [0, 1) of a PCG32 generator (O'Neill 2014), and its next state.
#[jit]
fn pcg32(state: &UInt64, increment: &UInt64) -> (Float, UInt64) {
    let shifted = (((state >> 18) ^ state) >> 27).cast::<u32>();
    let bits = shifted.rotate_right((state >> 59).cast::<u32>());
    let number = ((bits >> 9) | 0x3f80_0000).bitcast::<f32>() - 1.0;
    (number, state * PCG_MULTIPLIER + increment)
}

/// The number of 64 random points in each of 2^20 lanes that are inside the unit circle.
#[jit]
fn points_in_circle() -> UInt {
    let lane = UInt::arange(1 << 20).cast::<u64>();
    let increment = ((lane + 0xda3e_39cb_94b9_5bdb) << 1) | 1;
    let mut state = (increment + 0x853c_49e6_748f_ea9b) * PCG_MULTIPLIER + increment;
    let (mut inside, mut i) = (UInt::from(0), UInt::from(0));
    while i < 64 {
        let (a, next) = pcg32(&state, &increment);
        let (b, next) = pcg32(&next, &increment);
        inside += (a * a + b * b < 1.0).cast::<u32>();
        state = next;
        i += 1;
    }
    inside.sum()
}

/// W06: Monte-Carlo pi; 64-bit integer arithmetic in a loop.
pub(crate) fn monte_carlo_pi(bench: &Bench) -> Result<(), RowError> {
    bench.throughput("W06", (52_707_458.0, 1e-6), points_in_circle, |o| Ok(f64::from(o.item()?)))
}

/// W09a: the sum of 2^24 elements; bound by memory.
pub(crate) fn sum(bench: &Bench) -> Result<(), RowError> {
    let x = resident(u01s(LARGE, 1, |u| u))?;
    bench.throughput("W09a", (8_389_354.5, 1e-5), || x.sum(), |o| Ok(f64::from(o.item()?)))
}

/// W09b: the largest of 2^24 elements; bound by memory.
pub(crate) fn max(bench: &Bench) -> Result<(), RowError> {
    let x = resident(u01s(LARGE, 1, |u| u))?;
    bench.throughput("W09b", (0.999_999_940_395_355_2, 0.0), || x.reduce_max(), |o| Ok(f64::from(o.item()?)))
}
