//! Generates arguments and measures errors.

use std::fmt;
use std::num::NonZero;
use std::ops::Range;

use jit_runtime::Error;

use crate::functions::{Domain, Exact, Function};
use crate::machine::Operation;

/// How many arguments to test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thoroughness {
    /// All of them, or dense samples.
    Full,
    /// A sample.
    Quick,
}

/// The errors of a function over a domain.
pub(crate) struct Measured {
    pub(crate) function: &'static str,
    pub(crate) domain: Domain,
    pub(crate) errors: Errors,
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Errors { worst: (worst, x, y), sum, count, rounded } = self.errors;
        let place = if self.domain.second.is_some() { format!("{x:.6e}, {y:.6e}") } else { format!("{x:.6e}") };
        let (mean, share) = (sum / count as f64, 100.0 * rounded as f64 / count as f64);
        let peer = self.domain.peer;
        let (function, domain) = (self.function, self.domain.name);
        write!(f, "| `{function}` | {domain} | {worst:.3} | {place} | {mean:.3} | {share:.1} % | {peer} |")
    }
}

/// A summary of errors, which are counted in units in the last place.
#[derive(Clone, Copy, Default)]
pub(crate) struct Errors {
    /// The largest error, and its arguments.
    pub(crate) worst: (f64, f64, f64),
    sum: f64,
    count: u64,
    rounded: u64,
}

impl Errors {
    fn add(&mut self, error: f64, is_rounded: bool, x: f64, y: f64) {
        if error > self.worst.0 {
            self.worst = (error, x, y);
        }
        self.sum += error;
        self.count += 1;
        self.rounded += u64::from(is_rounded);
    }

    fn merge(&mut self, other: Errors) {
        if other.worst.0 > self.worst.0 {
            self.worst = other.worst;
        }
        self.sum += other.sum;
        self.count += other.count;
        self.rounded += other.rounded;
    }
}

/// The number of arguments that are computed together.
const BLOCK: u64 = 1 << 20;

/// One in this many arguments is compared with a reference that is independent of the measured functions.
const STEP: u64 = 10_007;

/// The errors of a function of `f32` on each of its domains, computed by an operation.
///
/// All arguments of a function of one argument are compared with the same function in `f64`, which the next table
/// measures. Each [`STEP`]th one, and functions of two arguments, are compared with an independent reference.
pub(crate) fn single(
    function: &Function,
    op: Operation,
    domains: &[Domain],
    thoroughness: Thoroughness,
) -> Result<Vec<Measured>, Error> {
    let mut all = vec![Errors::default(); domains.len()];
    if let Operation::Binary(_) = op {
        for (domain, errors) in domains.iter().zip(&mut all) {
            let count = if thoroughness == Thoroughness::Full { 1 << 24 } else { 1 << 18 };
            let (x, y) = samples(domain, count, 1);
            let (x, y): (Vec<f32>, Vec<f32>) = x.iter().zip(&y).map(|(&x, &y)| (x as f32, y as f32)).unzip();
            *errors = compare_singles(function, op, &x, &y, &[*domain])?[0];
        }
        return Ok(measured(function, domains, all));
    }
    if thoroughness == Thoroughness::Full {
        for (domain, errors) in domains.iter().zip(&mut all) {
            *errors = sweep(op, domain)?;
        }
    }
    for first in (0..1 << 32).step_by((STEP * BLOCK) as usize) {
        let bits = (first..(first + STEP * BLOCK).min(1 << 32)).step_by(STEP as usize);
        let x: Vec<f32> = bits.map(|bits| f32::from_bits(bits as u32)).collect();
        for (errors, more) in all.iter_mut().zip(compare_singles(function, op, &x, &[], domains)?) {
            errors.merge(more);
        }
    }
    Ok(measured(function, domains, all))
}

/// The errors on every `f32` of a domain.
fn sweep(op: Operation, domain: &Domain) -> Result<Errors, Error> {
    let mut sum = Errors::default();
    for range in ranges(domain) {
        for first in range.clone().step_by(BLOCK as usize) {
            let count = BLOCK.min(range.end - first);
            let errors = op.errors_of_singles(first as u32, count as usize, domain.absolute_unit)?;
            sum.merge(in_parallel(errors.len(), |index, collected| {
                let error = f64::from(errors[index]);
                collected.add(error, error <= 0.5, f32::from_bits(first as u32 + index as u32).into(), 0.0);
            }));
        }
    }
    Ok(sum)
}

/// The bits of the floats of a domain; NaN belongs to infinite domains.
fn ranges(domain: &Domain) -> Vec<Range<u64>> {
    const SIGN: u64 = 1 << 31;
    let (low, high) = domain.first;
    let positive = (high >= 0.0).then(|| magnitudes(low.max(0.0), high));
    let negative = (low <= 0.0).then(|| magnitudes((-high).max(0.0), -low));
    let negative = negative.map(|range| range.start + SIGN..range.end + SIGN);
    positive.into_iter().chain(negative).collect()
}

/// The bits of the floats between two non-negative numbers, and of NaN if the second is infinite.
fn magnitudes(low: f64, high: f64) -> Range<u64> {
    let [first, last] = [low, high].map(|bound| u64::from((bound as f32).to_bits()));
    let first = first + u64::from(f64::from(low as f32) < low);
    let end = last + u64::from(f64::from(high as f32) <= high);
    if high == f64::INFINITY { first..1 << 31 } else { first..end }
}

/// The errors of a function of `f64` on each of its domains.
pub(crate) fn double(function: &Function, thoroughness: Thoroughness) -> Result<Vec<Measured>, Error> {
    let count = if thoroughness == Thoroughness::Full { 60_000 } else { 3_000 };
    let mut all = Vec::new();
    for domain in function.double_domains {
        let (x, y) = samples(domain, count, 2);
        let results = function.op.of_doubles(&x, &y)?;
        let compare = |index: usize, errors: &mut Errors| {
            let (x, y) = (x[index], y[index]);
            if let Some(exact) = (function.double)(x, y) {
                let error = error_in_ulp(results[index], exact, 52, f64::MIN_POSITIVE, domain.absolute_unit);
                errors.add(error, results[index] == exact.high, x, y);
            }
        };
        all.push(in_parallel(x.len(), compare));
    }
    Ok(measured(function, function.double_domains, all))
}

fn measured(function: &Function, domains: &[Domain], all: Vec<Errors>) -> Vec<Measured> {
    let row = |(&domain, errors)| Measured { function: function.name, domain, errors };
    domains.iter().zip(all).map(row).filter(|row| row.errors.count > 0).collect()
}

fn compare_singles(
    function: &Function,
    op: Operation,
    x: &[f32],
    y: &[f32],
    domains: &[Domain],
) -> Result<Vec<Errors>, Error> {
    let results = op.of_singles(x, y)?;
    let compare = |index: usize, all: &mut Vec<Errors>| {
        all.resize(domains.len(), Errors::default());
        let x = f64::from(x[index]);
        let y = y.get(index).map_or(0.0, |&y| f64::from(y));
        if !domains.iter().any(|domain| domain.contains(x)) {
            return;
        }
        let exact = Exact { high: (function.single)(x, y), low: 0.0 };
        let result = f64::from(results[index]);
        for (domain, errors) in domains.iter().zip(all) {
            if domain.contains(x) {
                let error = error_in_ulp(result, exact, 23, f32::MIN_POSITIVE.into(), domain.absolute_unit);
                errors.add(error, results[index] == exact.high as f32 || error == 0.0, x, y);
            }
        }
    };
    let mut parts = in_parallel_parts(x.len(), compare);
    let mut sum = parts.pop().unwrap_or_default();
    sum.resize(domains.len(), Errors::default());
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, part)| sum.merge(part));
    }
    Ok(sum)
}

fn in_parallel(count: usize, compare: impl Fn(usize, &mut Errors) + Sync) -> Errors {
    let mut sum = Errors::default();
    in_parallel_parts(count, compare).into_iter().for_each(|part| sum.merge(part));
    sum
}

/// Calls a function for each index, on all cores. Returns the collected results of each core.
fn in_parallel_parts<T: Default + Send>(count: usize, each: impl Fn(usize, &mut T) + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let part = count.div_ceil(cores).max(1);
    let run = |first: usize| {
        let mut collected = T::default();
        (first..count.min(first + part)).for_each(|index| each(index, &mut collected));
        collected
    };
    let run = &run;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).step_by(part).map(|first| scope.spawn(move || run(first))).collect();
        threads.into_iter().map(|thread| thread.join().expect("references do not panic")).collect()
    })
}

/// The distance from an exact result, in units in the last place of the latter. These are at least those of the
/// smallest normal number, and at least the absolute unit if the domain has one.
fn error_in_ulp(result: f64, exact: Exact, mantissa_bits: i32, least: f64, absolute_unit: f64) -> f64 {
    let Exact { high, low } = exact;
    let is_single = mantissa_bits == 23;
    let rounded = if is_single { f64::from(high as f32) } else { high };
    if result == rounded || (result.is_nan() && high.is_nan()) {
        if !rounded.is_finite() {
            return 0.0;
        }
    } else if !rounded.is_finite() || !result.is_finite() {
        // An infinity or a NaN on only one side exceeds any bound.
        return f64::INFINITY;
    }
    let exponent = (high.abs().max(least).to_bits() >> 52) as i32 - 1023;
    let unit = power_of_two(exponent - mantissa_bits).max(absolute_unit * power_of_two(-mantissa_bits));
    ((result - high) - low).abs() / unit
}

/// 2^n for n above -1075.
fn power_of_two(n: i32) -> f64 {
    if n < -1022 { f64::from_bits(1 << (n + 1074)) } else { f64::from_bits(((n + 1023) as u64) << 52) }
}

/// Pseudo-random arguments in a domain: half of them evenly spread, half over the bit patterns.
fn samples(domain: &Domain, count: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut state = seed;
    let mut draw = |(low, high): (f64, f64), even: bool| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let unit = ((state ^ (state >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64;
        if even { low * (1.0 - unit) + high * unit } else { between(low, high, unit) }
    };
    let pairs = (0..count).map(|index| {
        let x = draw(domain.first, index % 2 == 0);
        let y = domain.second.map_or(0.0, |second| draw(second, index % 4 < 2));
        (x, y)
    });
    pairs.unzip()
}

/// The float at a fraction of the distance between two others, counted in floats.
fn between(low: f64, high: f64, part: f64) -> f64 {
    // Floats of one sign are ordered like their bits; those of the other sign in reverse.
    let position = |x: f64| if x.is_sign_negative() { -((x.to_bits() << 1 >> 1) as i128) } else { x.to_bits() as i128 };
    let (low, high) = (position(low), position(high));
    let at = low + ((high - low) as f64 * part) as i128;
    let magnitude = f64::from_bits(at.unsigned_abs() as u64);
    if at < 0 { -magnitude } else { magnitude }
}
