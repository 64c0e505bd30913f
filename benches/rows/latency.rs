//! Rows `L…`: how long it takes to trace, to compile and to launch.

use std::time::Instant;

use jit::prelude::*;

use crate::inputs::{checksum, u01s};
use crate::measure::{Bench, RowError, check, print, quantile};
use crate::program::Program;

/// The width on which the programs run.
const WIDTH: usize = 1024;
/// Operations that L01 traces.
const CHAIN: usize = 100_000;
/// Calls of L03 between two looks at the clock.
const CALLS: usize = 200;

fn argument() -> Result<Float, RowError> {
    let x = Float::from(u01s(WIDTH, 1, |u| u));
    jit::eval(&x)?;
    jit::sync()?;
    Ok(x)
}

/// L01: nanoseconds to record one addition, and to release it again.
pub(crate) fn tracing_rate(bench: &Bench) -> Result<(), RowError> {
    let x = Float::opaque(0.5) + Float::zeros(16);
    jit::eval(&x)?;
    let build = || {
        let mut a = x.clone();
        for _ in 0..CHAIN {
            a = &a + &x;
        }
        a
    };
    let slot = std::cell::RefCell::new(None);
    let per_operation = 1e9 / CHAIN as f64;
    let traced = bench.median_after(
        || drop(slot.replace(None)),
        || {
            slot.replace(Some(build()));
            Ok(())
        },
    )?;
    print("L01", "trace", traced * per_operation, "ns/op", None);
    let freed = bench.median_after(
        || drop(slot.replace(Some(build()))),
        || {
            slot.replace(None);
            Ok(())
        },
    )?;
    print("L01", "free", freed * per_operation, "ns/op", None);
    Ok(())
}

/// L02a: a program of 50 operations that no cache has seen.
pub(crate) fn compile_50(bench: &Bench) -> Result<(), RowError> {
    cold_compile(bench, "L02a", 50, 15, (19748.52, 1e-4))
}

/// L02b: one of 500 operations.
pub(crate) fn compile_500(bench: &Bench) -> Result<(), RowError> {
    cold_compile(bench, "L02b", 500, 9, (5614.346, 1e-4))
}

/// L02c: one of 5000 operations.
pub(crate) fn compile_5000(bench: &Bench) -> Result<(), RowError> {
    cold_compile(bench, "L02c", 5000, 5, (21194.11, 1e-4))
}

/// Milliseconds to trace, compile and run a program that is new each time. The one of seed 1 gives the checksum.
fn cold_compile(
    bench: &Bench,
    workload: &'static str,
    operations: u32,
    repeats: u32,
    expected: (f64, f64),
) -> Result<(), RowError> {
    let x = argument()?;
    let first_seed: u32 = std::env::var("SEED0").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1000);
    let result = Program::new(operations, 1).trace(&x);
    let value = checksum(&result.to_vec()?);
    check(workload, value, expected)?;
    let mut samples = Vec::new();
    for repeat in 1..=if bench.smoke { 1 } else { repeats } {
        let program = Program::new(operations, first_seed + repeat);
        let compiles_before = jit::stats().compiles;
        let begin = Instant::now();
        let result = program.trace(&x);
        jit::eval(&result)?;
        jit::sync()?;
        samples.push(begin.elapsed().as_secs_f64());
        if jit::stats().compiles == compiles_before {
            return Err(RowError::Invalid(format!("the program of seed {} came from a cache", first_seed + repeat)));
        }
    }
    print(workload, "time", quantile(&mut samples, 0.5) * 1e3, "ms", Some(value));
    Ok(())
}

/// L03: microseconds to trace a program that is in the cache, launch it and wait for it; "async" waits once in 200 calls.
pub(crate) fn cached_launch(bench: &Bench) -> Result<(), RowError> {
    let program = Program::new(50, 1);
    let x = argument()?;
    let value = checksum(&program.trace(&x).to_vec()?);
    check("L03", value, (19748.52, 1e-4))?;
    let calls = if bench.smoke { 2 } else { CALLS };
    let microseconds = |seconds: f64| seconds * 1e6 / calls as f64;
    let launch = |x: &Float| -> Result<(), RowError> { Ok(jit::eval(&program.trace(x))?) };
    let waited = bench.median(|| {
        for _ in 0..calls {
            launch(&x)?;
            jit::sync()?;
        }
        Ok(())
    })?;
    print("L03", "time", microseconds(waited), "us", Some(value));
    let queued = bench.median(|| {
        for _ in 0..calls {
            launch(&x)?;
        }
        Ok(jit::sync()?)
    })?;
    print("L03", "async", microseconds(queued), "us", Some(value));
    let traced = bench.median(|| {
        for _ in 0..calls {
            drop(program.trace(&x));
        }
        Ok(())
    })?;
    print("L03", "trace+free only", microseconds(traced), "us", Some(value));
    Ok(())
}
