//! What finding a kernel costs at each level of the cache: `cargo bench --bench cache`.
//!
//! Prints one JSON object per line, as `--bench rows` does. The programs are those of its latency rows, on 1024 lanes.
//!
//! | level | measured |
//! |---|---|
//! | `recording` | a call of a frozen function, with its launch |
//! | `memory` | finding the code of a kernel that was scheduled, as each launch of a `#[jit]` function does |
//! | `disk` | finding the file, checking it, and loading its code |
//! | `compile` | for comparison: compiling the kernel |
#![allow(clippy::print_stdout, reason = "this program prints its results")]

#[path = "rows/inputs.rs"]
mod inputs;
#[path = "rows/program.rs"]
mod program;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use jit::prelude::*;
use jit::{CacheOutcome, KernelRecord};

use program::Program;

/// Launches for a median.
const LAUNCHES: usize = 400;
/// The variable with which the program runs itself, with a folder of its own on disk.
const CHILD: &str = "JIT_BENCH_CACHE_FOLDER";

#[freeze]
fn frozen(x: &Float) -> Float {
    Program::new(50, 1).trace(x)
}

fn main() -> ExitCode {
    let outcome = if std::env::var_os(CHILD).is_some() { measure() } else { in_a_process_with_a_folder() };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The settings of the cache are those of a process.
fn in_a_process_with_a_folder() -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("jit-bench-cache-{}", std::process::id()));
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = std::process::Command::new(program);
    command.env("JIT_CACHE", "on").env("JIT_CACHE_DIR", &folder).env(CHILD, "1").env("JIT_TIER", "quick");
    let status = command.status().map_err(|error| error.to_string());
    let _ = std::fs::remove_dir_all(&folder);
    if status?.success() { Ok(()) } else { Err("the process that measures failed".to_owned()) }
}

fn measure() -> Result<(), String> {
    for (operations, expected) in [(50, 19748.52), (500, 5614.346), (5000, 21194.11)] {
        let checksum = levels(operations).map_err(|error| error.to_string())?;
        if (checksum - expected).abs() > 1e-4 * expected {
            return Err(format!("{operations} operations: checksum {checksum} instead of {expected}"));
        }
    }
    replay().map_err(|error| error.to_string())
}

fn argument() -> jit::Result<Float> {
    let x = Float::from(inputs::u01s(1024, 1, |u| u));
    jit::eval(&x)?;
    jit::sync()?;
    Ok(x)
}

/// The launches of a program, which is called several times.
fn records(times: usize, mut call: impl FnMut() -> jit::Result<()>) -> jit::Result<Vec<KernelRecord>> {
    let mut records = Vec::new();
    for _ in 0..times {
        drop(jit::kernel_history());
        call()?;
        jit::sync()?;
        records.extend(jit::kernel_history());
    }
    Ok(records)
}

/// Measures a program. Returns the checksum of its result.
fn levels(operations: u32) -> jit::Result<f64> {
    let (x, program) = (argument()?, Program::new(operations, 1));
    let launch = || jit::eval(&program.trace(&x));
    let launches = LAUNCHES / (operations as usize / 50).clamp(1, 10);
    let [mut disk, mut memory] = [Vec::new(), Vec::new()];
    let first = records(1, launch)?;
    let compile: Duration = first.iter().map(|record| record.compile_time).sum();
    print("compile", operations, compile, first.len());
    for record in records(launches, launch)?.iter().filter(|record| record.outcome == CacheOutcome::Memory) {
        memory.push(record.look_up_time);
    }
    let again = || {
        jit::cache::clear();
        launch()
    };
    for record in records(launches, again)?.iter().filter(|record| record.outcome == CacheOutcome::Disk) {
        disk.push(record.look_up_time + record.load_time.unwrap_or_default());
    }
    for (level, times) in [("memory", memory), ("disk", disk)] {
        let count = times.len();
        print(level, operations, median(times), count);
    }
    Ok(inputs::checksum(&program.trace(&x).to_vec()?))
}

/// A replay, with the launch of its kernel.
fn replay() -> jit::Result<()> {
    let x = argument()?;
    drop(frozen(&x));
    let mut times = Vec::new();
    for _ in 0..LAUNCHES {
        jit::sync()?;
        let begin = Instant::now();
        drop(frozen(&x));
        times.push(begin.elapsed());
    }
    let count = times.len();
    print("recording", 50, median(times), count);
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn print(level: &str, operations: u32, time: Duration, samples: usize) {
    let micros = time.as_secs_f64() * 1e6;
    println!(
        r#"{{"workload":"cache.{operations}","metric":"{level}","value":{micros:.3},"unit":"us","reps":{samples}}}"#
    );
}
