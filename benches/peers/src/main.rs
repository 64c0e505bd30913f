//! Steps of training in other systems: `peers candle|burn [--only ROW]`.
//!
//! Prints the rows `N…` as the benchmark `rows` does, with the same networks, initial values and inputs; the checksum
//! is the loss of the tenth step.
#![allow(clippy::print_stdout, reason = "this program prints its rows")]

mod burn_rows;
mod candle_rows;
#[path = "../../rows/inputs.rs"]
#[allow(dead_code, reason = "the rows use more of it")]
mod inputs;
mod measure;
mod sizes;

use std::error::Error;
use std::process::ExitCode;

/// A row: its name, and what makes its step.
type Row = (&'static str, fn() -> Result<Step, Box<dyn Error>>);
/// Takes a step; returns the loss.
type Step = Box<dyn FnMut() -> Result<f32, Box<dyn Error>>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only = arguments.iter().position(|text| text == "--only").and_then(|at| arguments.get(at + 1));
    let rows: [Row; 2] = match arguments.first().map(String::as_str) {
        Some("candle") => [("N01", candle_rows::digits), ("N02", candle_rows::transformer)],
        Some("burn") => [("N01", burn_rows::digits), ("N02", burn_rows::transformer)],
        _ => {
            eprintln!("usage: peers candle|burn [--only ROW]");
            return ExitCode::FAILURE;
        }
    };
    for (name, make) in rows {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        if let Err(error) = make().and_then(|step| measure::row(name, step)) {
            eprintln!("{name}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
