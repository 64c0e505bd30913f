//! Measures the errors of the transcendental functions: `cargo run --release -p jit-runtime --example accuracy`.
//!
//! Sweeps every `f32` for functions of one argument, and takes dense samples for functions of two arguments and in
//! `f64`, on the CPU backend, against references of higher precision. Prints the tables of `docs/accuracy.md`. With
//! LLVM the sweep takes a minute or two per function on two cores. `--quick` takes a sample of the arguments, `--fast`
//! only the fast variants, `--exact` only the exact ones; names of functions restrict the tables to them.
//!
//! | file | what |
//! |---|---|
//! | `functions.rs` | the functions, their references and the domains that are distinguished |
//! | `reference.rs` | error function and gamma function of higher precision |
//! | `machine.rs` | applying an operation to arrays |
//! | `measure.rs` | arguments, errors, and what is kept of them |
#![allow(clippy::print_stdout, reason = "this program prints its tables")]

mod functions;
mod machine;
mod measure;
mod reference;

use std::process::ExitCode;

use functions::{FUNCTIONS, Function};
use measure::{Measured, Thoroughness};

/// The options of the command line.
struct Wish {
    thoroughness: Thoroughness,
    exact: bool,
    fast: bool,
    names: Vec<String>,
}

fn main() -> ExitCode {
    let mut wish = Wish { thoroughness: Thoroughness::Full, exact: true, fast: true, names: Vec::new() };
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => wish.thoroughness = Thoroughness::Quick,
            "--fast" => wish.exact = false,
            "--exact" => wish.fast = false,
            name if FUNCTIONS.iter().any(|function| function.name == name) => wish.names.push(argument),
            _ => {
                let names: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
                eprintln!("error: `{argument}` is neither --quick, --fast nor --exact, nor one of {}", names.join(" "));
                return ExitCode::FAILURE;
            }
        }
    }
    match tables(&wish) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn tables(wish: &Wish) -> Result<(), jit_runtime::Error> {
    let wanted = |function: &&Function| wish.names.is_empty() || wish.names.iter().any(|name| name == function.name);
    let functions: Vec<&Function> = FUNCTIONS.iter().filter(wanted).collect();
    if wish.exact {
        println!("## `f32`\n\n{HEADER}");
        functions.iter().try_for_each(|function| {
            rows(measure::single(function, function.op, function.domains, wish.thoroughness)?)
        })?;
        println!("\n## `f64`\n\n{HEADER}");
        functions.iter().try_for_each(|function| rows(measure::double(function, wish.thoroughness)?))?;
    }
    if wish.fast {
        println!("\n## Fast math, `f32`\n\n{HEADER}");
        for function in &functions {
            if let Some(fast) = function.fast {
                rows(measure::single(function, fast, function.fast_domains, wish.thoroughness)?)?;
            }
        }
    }
    Ok(())
}

const HEADER: &str = "\
| function | domain | max ulp | at | mean ulp | correctly rounded | peer's max ulp |
|---|---|---|---|---|---|---|";

fn rows(rows: Vec<Measured>) -> Result<(), jit_runtime::Error> {
    for row in rows {
        println!("{row}");
    }
    Ok(())
}
