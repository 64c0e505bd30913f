//! Rows `L…`: how long it takes to trace, to compile, to launch and to replay.

use std::sync::LazyLock;
use std::time::Instant;

use jit::prelude::*;

use crate::inputs::{checksum, u01s};
use crate::measure::{Bench, RowError, check, print, quantile};
use crate::program::Program;

/// The width on which the programs run.
const WIDTH: usize = 1024;
/// Operations that L01 traces.
const CHAIN: usize = 100_000;
/// Calls of L03 and L04 between two looks at the clock.
const CALLS: usize = 200;
/// Kernels of L04b, each of which reads what the one before it wrote.
const CHAINED: usize = 100;

/// The program of L03 and L04.
static SHORT: LazyLock<Program> = LazyLock::new(|| Program::new(50, 1));

#[freeze]
fn frozen(x: &Float) -> Float {
    SHORT.trace(x)
}

#[freeze]
fn frozen_chain(x: &Float) -> Float {
    chain(x)
}

#[freeze]
fn frozen_increment(x: &Float) -> Float {
    x + 1.0
}

fn chain(x: &Float) -> Float {
    let mut x = x.clone();
    for _ in 0..CHAINED {
        x = SHORT.trace(&x);
        // What keeps it from being computed is found by whoever reads the result.
        let _ = jit::eval(&x);
    }
    x
}

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

/// L04a: microseconds to replay the program of L03; "async" waits once in 200 calls.
pub(crate) fn replay(bench: &Bench) -> Result<(), RowError> {
    let x = argument()?;
    let call = || frozen(&x);
    let value = replayed("L04a", (19748.52, 1e-4), call)?;
    calls(bench, "L04a", ["time", "async"], Some(value), || {
        call();
        Ok(())
    })
}

/// L04b: microseconds to replay a function that launches a hundred kernels, one after another; "unfrozen" launches them.
pub(crate) fn replay_chain(bench: &Bench) -> Result<(), RowError> {
    let x = argument()?;
    let value = replayed("L04b", (23706.436, 1e-4), || frozen_chain(&x))?;
    let micros = |call: &dyn Fn() -> Float| -> Result<f64, RowError> {
        let seconds = bench.median(|| {
            drop(call());
            Ok(jit::sync()?)
        })?;
        Ok(seconds * 1e6)
    };
    print("L04b", "time", micros(&|| frozen_chain(&x))?, "us", Some(value));
    print("L04b", "unfrozen", micros(&|| chain(&x))?, "us", Some(value));
    Ok(())
}

/// L04c: microseconds to trace and launch `x + 1` of width 16, and to replay it.
pub(crate) fn smallest(bench: &Bench) -> Result<(), RowError> {
    let x = Float::from(u01s(16, 1, |u| u));
    jit::eval(&x)?;
    let wanted = checksum(&(&x + 1.0).to_vec()?);
    let value = replayed("L04c", (wanted, 0.0), || frozen_increment(&x))?;
    let names = ["y=x+1 width 16, trace+eval+sync", "y=x+1 width 16, async"];
    calls(bench, "L04c", names, Some(value), || Ok(jit::eval(&(&x + 1.0))?))?;
    let names = ["frozen y=x+1 width 16", "frozen y=x+1 width 16, async"];
    calls(bench, "L04c", names, Some(value), || {
        frozen_increment(&x);
        Ok(())
    })
}

/// The checksum of a frozen function's result, which recorded and replayed calls alike must give.
fn replayed(workload: &'static str, expected: (f64, f64), call: impl Fn() -> Float) -> Result<f64, RowError> {
    let mut value = f64::NAN;
    for _ in 0..8 {
        value = checksum(&call().to_vec()?);
        check(workload, value, expected)?;
    }
    Ok(value)
}

/// Microseconds of a call: where each is waited for, and where only one in 200 is.
fn calls(
    bench: &Bench,
    workload: &str,
    [waited, queued]: [&str; 2],
    value: Option<f64>,
    call: impl Fn() -> Result<(), RowError>,
) -> Result<(), RowError> {
    let count = if bench.smoke { 2 } else { CALLS };
    for (metric, waits) in [(waited, true), (queued, false)] {
        let seconds = bench.median(|| {
            for _ in 0..count {
                call()?;
                if waits {
                    jit::sync()?;
                }
            }
            Ok(jit::sync()?)
        })?;
        print(workload, metric, seconds * 1e6 / count as f64, "us", value);
    }
    Ok(())
}
