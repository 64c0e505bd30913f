//! The instruction-count guard: `cargo bench --bench instructions -- [PROGRAM…]`.
//!
//! Runs fixed small programs under valgrind, on one thread, and counts the instructions that each executes after
//! warm-up: tracing, freeing, scheduling, look-up, launching, replay. Unlike times, counts are the same in every run,
//! whatever else the machine does. They are compared with those in `benches/instructions.txt`. A program that takes
//! over 3 % more is an error that names it. `BLESS=1` writes the counts of this run to the file instead.
//!
//! Counts are valid for one instruction set, one toolchain, and the processor that valgrind emulates (x86-64 with
//! AVX2). On others, nothing is compared.
//!
//! | file | what |
//! |---|---|
//! | `instructions/programs.rs` | the programs |
//! | `instructions/callgrind.rs` | this executable under valgrind, and what it counts |
//! | `instructions/clock.rs` | a clock that gives the same times in every run |
//! | `instructions/allocator.rs` | an allocator whose work does not depend on what was allocated before |
//! | `instructions/baseline.rs` | the file of counts, and comparison with it |
#![allow(clippy::print_stdout, reason = "this program prints its counts")]

#[path = "instructions/allocator.rs"]
mod allocator;
#[path = "instructions/baseline.rs"]
mod baseline;
#[path = "instructions/callgrind.rs"]
mod callgrind;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "instructions/clock.rs"]
mod clock;
#[path = "instructions/programs.rs"]
mod programs;

use std::hint::black_box;
use std::process::ExitCode;

use programs::{PROGRAMS, Program};

/// The argument with which the executable runs itself under valgrind.
const CHILD: &str = "--under-valgrind";
/// Runs of a program before the first that is counted: kernels are compiled, functions recorded, and tables grown.
const WARM_UP: usize = 4;
/// Runs of a program that are counted.
const REPEATS: u64 = 4;

fn main() -> ExitCode {
    // Cargo passes `--bench` to every benchmark.
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let is_child = arguments.iter().any(|argument| argument == CHILD);
    arguments.retain(|argument| argument != CHILD);
    let outcome = selected(&arguments).and_then(|programs| match is_child {
        true => run(&programs),
        false => guard(&programs),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The programs with these names; all of them without an argument.
fn selected(arguments: &[String]) -> Result<Vec<&'static Program>, String> {
    if let Some(unknown) = arguments.iter().find(|name| !PROGRAMS.iter().any(|program| program.name == **name)) {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        return Err(format!("there is no program `{unknown}`; the programs are {}", names.join(" ")));
    }
    let is_wanted = |program: &&Program| arguments.is_empty() || arguments.iter().any(|name| name == program.name);
    Ok(PROGRAMS.iter().filter(is_wanted).collect())
}

/// Counts the programs and compares the counts with those of the file.
fn guard(programs: &[&Program]) -> Result<(), String> {
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        println!("instruction counts exist only for Linux on x86-64; nothing is compared");
        return Ok(());
    }
    let names: Vec<&str> = programs.iter().map(|program| program.name).collect();
    baseline::compare(&callgrind::count(&names)?)
}

/// Runs the programs, each within [`counted`] after warm-up; [`finished`] ends a program.
fn run(programs: &[&Program]) -> Result<(), String> {
    jit_runtime::stats::stop_clock();
    if let Some(reason) = jit::devices().into_iter().find_map(|info| info.unavailable) {
        return Err(format!("the counts are of generated code, which is not available: {reason}"));
    }
    for program in programs {
        let mut parts = (program.prepare)().map_err(|error| format!("program `{}`: {error}", program.name))?;
        for repeat in 0..WARM_UP + REPEATS as usize {
            let mut outcome = (parts.before)();
            if outcome.is_ok() {
                let part = &mut || outcome = (parts.run)();
                if repeat < WARM_UP { part() } else { counted(part) }
            }
            outcome.map_err(|error| format!("program `{}`: {error}", program.name))?;
        }
        finished();
    }
    Ok(())
}

/// Instructions that execute in here are counted. Valgrind finds the function by its name.
#[inline(never)]
fn counted(part: &mut dyn FnMut()) {
    black_box(part)();
}

/// Makes valgrind write its counts. It finds the function by its name.
#[inline(never)]
fn finished() {
    black_box(());
}
