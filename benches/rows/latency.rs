//! Rows `L…`: how long it takes to trace, to compile, to launch and to replay.

use std::sync::LazyLock;
use std::time::Instant;

use jit::prelude::*;

use crate::inputs::{checksum, u01s};
use crate::measure::{Bench, RowError, Unit, check, print_time};
use crate::program::Program;

/// The width on which the programs run.
const WIDTH: usize = 1024;
/// Operations that L01 traces.
const CHAIN: usize = 100_000;
/// Calls of L03 and L04 between two readings of the clock.
const CALLS: usize = 200;
/// Kernels of L04b, each of which reads the result of the one before.
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
        // A failed evaluation is reported when the result is read.
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
    let traced = bench.median_after(
        || drop(slot.replace(None)),
        || {
            slot.replace(Some(build()));
            Ok(())
        },
    )?;
    print_time("L01", "trace", traced.part(CHAIN), Unit::NanosecondsPerOperation, None);
    let freed = bench.median_after(
        || drop(slot.replace(Some(build()))),
        || {
            slot.replace(None);
            Ok(())
        },
    )?;
    print_time("L01", "free", freed.part(CHAIN), Unit::NanosecondsPerOperation, None);
    Ok(())
}

/// L02a: a program of 50 operations that is not in any cache.
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

/// The tier of code that the rows are measured with once they are warm.
const THOROUGH: (&str, &str) = ("JIT_TIER", "thorough");

/// Milliseconds to trace, compile and run a program that is new each time. The one with seed 1 determines the checksum.
///
/// "time" is the first code, which the first launch waits for; "thorough" is the code that hot kernels get in the
/// background. The tier is a setting of the process, so another process measures that.
fn cold_compile(
    bench: &Bench,
    workload: &'static str,
    operations: u32,
    repeats: usize,
    expected: (f64, f64),
) -> Result<(), RowError> {
    let is_thorough = std::env::var(THOROUGH.0).is_ok_and(|tier| tier == THOROUGH.1);
    let x = argument()?;
    let first_seed: u32 = std::env::var("SEED0").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1000);
    let result = Program::new(operations, 1).trace(&x);
    let value = checksum(&result.to_vec()?);
    check(workload, value, expected)?;
    let seed = std::cell::Cell::new(first_seed);
    let time = bench.median_of(repeats, || {
        seed.set(seed.get() + 1);
        let program = Program::new(operations, seed.get());
        let compiles_before = jit::stats().compiles;
        let begin = Instant::now();
        let result = program.trace(&x);
        jit::eval(&result)?;
        jit::sync()?;
        let seconds = begin.elapsed().as_secs_f64();
        match jit::stats().compiles == compiles_before {
            true => Err(RowError::Invalid(format!("the program of seed {} came from a cache", seed.get()))),
            false => Ok(seconds),
        }
    })?;
    print_time(workload, if is_thorough { "thorough" } else { "time" }, time, Unit::Milliseconds, Some(value));
    if is_thorough || bench.smoke { Ok(()) } else { repeat_in_another_process(workload) }
}

/// Measures a row again in a process where launches wait for the better code.
fn repeat_in_another_process(workload: &str) -> Result<(), RowError> {
    let failed = |why: String| RowError::Invalid(format!("{workload}, {}={}: {why}", THOROUGH.0, THOROUGH.1));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let status = std::process::Command::new(program).arg(workload).env(THOROUGH.0, THOROUGH.1).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// L03: microseconds to trace a program that is in the cache, launch it and wait for it; "async" waits once in 200
/// calls.
pub(crate) fn cached_launch(bench: &Bench) -> Result<(), RowError> {
    let program = Program::new(50, 1);
    let x = argument()?;
    let calls = if bench.smoke { 2 } else { CALLS };
    let launch = |x: &Float| -> Result<(), RowError> { Ok(jit::eval(&program.trace(x))?) };
    let waited = bench.median(|| {
        for _ in 0..calls {
            launch(&x)?;
            jit::sync()?;
        }
        Ok(())
    })?;
    let queued = bench.median(|| {
        for _ in 0..calls {
            launch(&x)?;
        }
        Ok(jit::sync()?)
    })?;
    let value = checksum(&program.trace(&x).to_vec()?);
    check("L03", value, (19748.52, 1e-4))?;
    print_time("L03", "time", waited.part(calls), Unit::Microseconds, Some(value));
    print_time("L03", "async", queued.part(calls), Unit::Microseconds, Some(value));
    let traced = bench.median(|| {
        for _ in 0..calls {
            drop(program.trace(&x));
        }
        Ok(())
    })?;
    print_time("L03", "trace+free only", traced.part(calls), Unit::Microseconds, Some(value));
    Ok(())
}

/// L04a: microseconds to replay the program of L03, and `x + 1` of the same width; "async" waits once in 200 calls.
pub(crate) fn replay(bench: &Bench) -> Result<(), RowError> {
    let x = argument()?;
    let wanted = replayed("L04a", (19748.52, 1e-4), || frozen(&x))?;
    calls(bench, "L04a", ["time", "async"], (wanted, 0.0), &|| Ok(frozen(&x)))?;
    let wanted = checksum(&(&x + 1.0).to_vec()?);
    replayed("L04a", (wanted, 0.0), || frozen_increment(&x))?;
    let names = ["frozen y=x+1", "frozen y=x+1 async"];
    calls(bench, "L04a", names, (wanted, 0.0), &|| Ok(frozen_increment(&x)))
}

/// L04b: microseconds to replay a function that launches a hundred kernels, one after another; "unfrozen" launches
/// them.
pub(crate) fn replay_chain(bench: &Bench) -> Result<(), RowError> {
    let x = argument()?;
    let wanted = replayed("L04b", (23706.436, 1e-4), || frozen_chain(&x))?;
    type Function = fn(&Float) -> Float;
    let functions: [(&str, Function); 2] = [("time", |x| frozen_chain(x)), ("unfrozen", chain)];
    for (metric, function) in functions {
        let time = bench.median(|| {
            drop(function(&x));
            Ok(jit::sync()?)
        })?;
        check("L04b", checksum(&function(&x).to_vec()?), (wanted, 0.0))?;
        print_time("L04b", metric, time, Unit::Microseconds, Some(wanted));
    }
    Ok(())
}

/// L04c: microseconds to trace and launch `x + 1` of width 16, and to replay it.
pub(crate) fn smallest(bench: &Bench) -> Result<(), RowError> {
    let x = Float::from(u01s(16, 1, |u| u));
    jit::eval(&x)?;
    let wanted = checksum(&(&x + 1.0).to_vec()?);
    let names = ["y=x+1 width 16, trace+eval+sync", "y=x+1 width 16, async"];
    calls(bench, "L04c", names, (wanted, 0.0), &|| {
        let y = &x + 1.0;
        jit::eval(&y)?;
        Ok(y)
    })?;
    replayed("L04c", (wanted, 0.0), || frozen_increment(&x))?;
    let names = ["frozen y=x+1 width 16", "frozen y=x+1 width 16, async"];
    calls(bench, "L04c", names, (wanted, 0.0), &|| Ok(frozen_increment(&x)))
}

/// L05: microseconds for each of a hundred launches of `y + 1`, one after another on the result of the one before,
/// waited for at the end: for arrays of several widths, frozen and not, and for a plain loop on one thread.
pub(crate) fn dependent(bench: &Bench) -> Result<(), RowError> {
    let count = if bench.smoke { 2 } else { 100 };
    type Step = fn(&Float) -> Result<Float, RowError>;
    let steps: [(&str, Step); 2] = [
        ("", |y| {
            let y = y + 1.0;
            jit::eval(&y)?;
            Ok(y)
        }),
        ("frozen, ", |y| Ok(frozen_increment(y))),
    ];
    for width in (10..=22).step_by(2).map(|log2| 1_usize << log2) {
        let x = Float::zeros(width).make_opaque();
        for (name, step) in steps {
            let steps = || (0..count).try_fold(x.clone(), |y, _| step(&y));
            let time = bench.median(|| {
                drop(steps()?);
                Ok(jit::sync()?)
            })?;
            let value = checksum(&steps()?.to_vec()?);
            check("L05", value, (checksum(&vec![count as f32; width]), 0.0))?;
            let metric = format!("{name}width {width}");
            print_time("L05", &metric, time.part(count), Unit::Microseconds, Some(value));
        }
        let mut y = vec![0.0_f32; width];
        let time = bench.median(|| {
            for _ in 0..count {
                y.iter_mut().for_each(|y| *y += 1.0);
                std::hint::black_box(&mut y);
            }
            Ok(())
        })?;
        print_time("L05", &format!("plain loop, width {width}"), time.part(count), Unit::Microseconds, None);
    }
    Ok(())
}

/// The checksum of a frozen function's result, which must be the same for recorded and replayed calls.
fn replayed(workload: &'static str, expected: (f64, f64), call: impl Fn() -> Float) -> Result<f64, RowError> {
    let mut value = f64::NAN;
    for _ in 0..8 {
        value = checksum(&call().to_vec()?);
        check(workload, value, expected)?;
    }
    Ok(value)
}

/// Microseconds per call: if each is waited for, and if only one in 200 is. Checks the results of the calls after the
/// measurement.
fn calls(
    bench: &Bench,
    workload: &'static str,
    [waited, queued]: [&str; 2],
    (wanted, tolerance): (f64, f64),
    call: &dyn Fn() -> Result<Float, RowError>,
) -> Result<(), RowError> {
    let count = if bench.smoke { 2 } else { CALLS };
    for (metric, waits) in [(waited, true), (queued, false)] {
        let time = bench.median(|| {
            for _ in 0..count {
                drop(call()?);
                if waits {
                    jit::sync()?;
                }
            }
            Ok(jit::sync()?)
        })?;
        let value = checksum(&call()?.to_vec()?);
        check(workload, value, (wanted, tolerance))?;
        print_time(workload, metric, time.part(count), Unit::Microseconds, Some(value));
    }
    Ok(())
}
