//! Rows `P…`: from the start of a process to the result that it prints, with an empty cache on disk and with a full
//! one.
//!
//! The program runs itself. A process that ends at once is measured by turns with the others: what is above it is the
//! cost of this library.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use jit::prelude::*;

use crate::inputs::{checksum, u01s};
use crate::measure::{Bench, RowError, Unit, check, print, print_time};
use crate::program::Program;

/// The argument with which the program runs itself, followed by a number of operations. Without operations it ends at
/// once.
pub(crate) const CHILD: &str = "--print-checksum";

/// The width on which the programs run.
const WIDTH: usize = 1024;

/// Runs what a process of these rows runs.
pub(crate) fn child(operations: u32) -> Result<(), String> {
    if operations == 0 {
        return Ok(());
    }
    let x = Float::from(u01s(WIDTH, 1, |u| u));
    let result = Program::new(operations, 1).trace(&x).to_vec().map_err(|error| error.to_string())?;
    println!("{:?}", checksum(&result));
    if std::env::var_os("JIT_BENCH_TIMES").is_some() {
        jit::kernel_history().iter().for_each(|record| eprintln!("{record:?}"));
    }
    Ok(())
}

/// A folder for kernels that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        Folder(std::env::temp_dir().join(format!("jit-rows-{}", std::process::id())))
    }

    fn clear(&self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }

    /// Runs a process with this folder: how long it takes, and what it prints.
    fn run(&self, operations: u32) -> Result<(f64, Option<f64>), RowError> {
        let failed = |why: String| RowError::Invalid(format!("a process with {operations} operations: {why}"));
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(program);
        command.args([CHILD, &operations.to_string()]).env("JIT_CACHE", "on").env("JIT_CACHE_DIR", &self.0);
        let begin = Instant::now();
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        let seconds = begin.elapsed().as_secs_f64();
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok((seconds, String::from_utf8_lossy(&output.stdout).trim().parse().ok()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.clear();
    }
}

/// P01 with 50 operations.
pub(crate) fn start_50(bench: &Bench) -> Result<(), RowError> {
    start(bench, "P01.50", 50, 15, (19748.52, 1e-4))
}

/// P01 with 500 operations.
pub(crate) fn start_500(bench: &Bench) -> Result<(), RowError> {
    start(bench, "P01.500", 500, 11, (5614.346, 1e-4))
}

/// P01 with 5000 operations.
pub(crate) fn start_5000(bench: &Bench) -> Result<(), RowError> {
    start(bench, "P01.5000", 5000, 7, (21194.11, 1e-4))
}

/// Milliseconds from the start of a process to its end, after it has printed the checksum: "cold" with an empty folder,
/// "warm" with the kernel in it, "empty" for a process that does nothing.
fn start(
    bench: &Bench,
    workload: &'static str,
    operations: u32,
    repeats: usize,
    expected: (f64, f64),
) -> Result<(), RowError> {
    let (folder, mut value) = (Folder::new(), 0.0);
    let mut seconds = |operations: u32, is_cold: bool| {
        if is_cold {
            folder.clear();
        }
        let (seconds, printed) = folder.run(operations)?;
        if operations > 0 {
            value = printed.ok_or_else(|| RowError::Invalid("a process printed no checksum".into()))?;
            check(workload, value, expected)?;
        }
        Ok::<f64, RowError>(seconds)
    };
    let cold = bench.median_of(repeats, || seconds(operations, true))?;
    // By turns, so that other load affects both.
    let (mut warm, mut empty) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    while warm.is_empty() || !bench.smoke && (warm.len() < 4 * repeats && begin.elapsed() < Duration::from_secs(10)) {
        empty.push(seconds(0, false)?);
        warm.push(seconds(operations, false)?);
    }
    let [warm, empty] = [warm, empty].map(|mut samples| crate::measure::quantile(&mut samples, 0.5));
    print_time(workload, "cold", cold, Unit::Milliseconds, Some(value));
    print(workload, "warm", warm * 1e3, "ms", Some(value));
    print(workload, "empty", empty * 1e3, "ms", None);
    print(workload, "warm over empty", (warm - empty) * 1e3, "ms", Some(value));
    Ok(())
}
