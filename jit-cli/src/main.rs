//! The command `jit`: what of `jit` works on this machine, and what is in the kernel cache.
//!
//! | part | file |
//! |---|---|
//! | the command line | `arguments` |
//! | writing tables, lines and JSON; how it ends | `output` |
//! | durations, sizes and ages as text | `text` |
//! | `jit doctor` | `doctor/` |
//! | `jit cache …` | `cache/` |
//!
//! Everything it reports comes from public functions of `jit-runtime`, so programs can report the same.

mod arguments;
mod cache;
mod doctor;
mod output;
mod text;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser as _;
use output::{Failure, Output};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // What the library would warn of is what this command reports.
    if std::env::var_os("JIT_LOG").is_none() {
        jit_runtime::log::set_log_level(jit_runtime::log::Level::Off);
    }
    let mut output = Output::to_stdout(arguments.is_json());
    let outcome = match &arguments.command {
        Command::Doctor => doctor::run(&mut output),
        Command::Cache(command) => cache::run(command, &mut output),
    };
    match outcome.and_then(|status| output.finish().map(|()| status)) {
        Ok(status) => status.into(),
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
