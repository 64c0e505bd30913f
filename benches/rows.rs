//! The benchmark rows: `cargo bench --bench rows -- [--smoke] [ROW…]`.
//!
//! Prints one JSON object a line, `{"workload", "metric", "value", "unit", "checksum"}`, so that the rows can be set
//! beside those of other systems. A time runs from "inputs resident, kernel compiled" to "result resident, all threads
//! idle", tracing and launch included. Each row computes its checksum from what the kernels wrote; one that is off ends
//! the program with an error. `--smoke` takes a single sample a row, which checks results and measures nothing.
//!
//! | file | what |
//! |---|---|
//! | `rows/inputs.rs` | the inputs, made by a hash of the index, and the checksum of a result |
//! | `rows/measure.rs` | sampling, and how a row is printed |
//! | `rows/program.rs` | the random straight-line programs of the latency rows |
//! | `rows/throughput.rs` | rows `W…`: large arrays |
//! | `rows/memory.rs` | rows `W…` that gather and scatter |
//! | `rows/order.rs` | rows `W…`: prefix sums, positions of true lanes |
//! | `rows/calls.rs` | rows `W12…`: calls whose target depends on the lane |
//! | `rows/products.rs` | rows `W…` that multiply matrices |
//! | `rows/tensors.rs` | rows `T…`: functions of tensors, frozen and not |
//! | `rows/tiers.rs` | row `T03`: the gain by better code for kernels that run much |
//! | `rows/latency.rs` | rows `L…`: tracing, compiling, launching, replaying |
#![allow(clippy::print_stdout, reason = "the rows are what this program prints")]

#[path = "rows/calls.rs"]
mod calls;
#[path = "rows/inputs.rs"]
mod inputs;
#[path = "rows/latency.rs"]
mod latency;
#[path = "rows/measure.rs"]
mod measure;
#[path = "rows/memory.rs"]
mod memory;
#[path = "rows/order.rs"]
mod order;
#[path = "rows/products.rs"]
mod products;
#[path = "rows/program.rs"]
mod program;
#[path = "rows/tensors.rs"]
mod tensors;
#[path = "rows/throughput.rs"]
mod throughput;
#[path = "rows/tiers.rs"]
mod tiers;

use std::process::ExitCode;

use measure::{Bench, RowError};

/// A row: its name and the function that measures it.
type Row = (&'static str, fn(&Bench) -> Result<(), RowError>);

/// Every row there is, in the order in which they run.
const ROWS: &[Row] = &[
    ("W01", throughput::saxpy),
    ("W02", throughput::black_scholes),
    ("W02.fast", throughput::fast_black_scholes),
    ("W03", throughput::mandelbrot),
    ("W04", throughput::n_body),
    ("W06", throughput::monte_carlo_pi),
    ("W07a", memory::small_histogram),
    ("W07b", memory::large_histogram),
    ("W08", memory::permutation),
    ("W09a", throughput::sum),
    ("W09b", throughput::max),
    ("W09c", order::prefix_sum),
    ("W09d", order::compress),
    ("W10", memory::stencil),
    ("W11", products::traced),
    ("W11.lib", products::library),
    ("W12", calls::mixed),
    ("W12.coherent", calls::coherent),
    ("L01", latency::tracing_rate),
    ("L02a", latency::compile_50),
    ("L02b", latency::compile_500),
    ("L02c", latency::compile_5000),
    ("L03", latency::cached_launch),
    ("L04a", latency::replay),
    ("L04b", latency::replay_chain),
    ("L04c", latency::smallest),
    ("T01", tensors::large),
    ("T02", tensors::small),
    ("T03", tiers::gains),
];

fn main() -> ExitCode {
    // Cargo passes `--bench` to every benchmark.
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let smoke = arguments.iter().any(|argument| argument == "--smoke");
    arguments.retain(|argument| argument != "--smoke");
    match selected(&arguments).and_then(|rows| run(&rows, &Bench { smoke })) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The rows whose names begin with one of the arguments; all of them without an argument.
fn selected(arguments: &[String]) -> Result<Vec<Row>, String> {
    for argument in arguments {
        if !ROWS.iter().any(|(name, _)| name.starts_with(argument.as_str())) {
            let names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
            return Err(format!("there is no row `{argument}`; the rows are {}", names.join(" ")));
        }
    }
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|a| name.starts_with(a.as_str()));
    Ok(ROWS.iter().filter(|(name, _)| wanted(name)).copied().collect())
}

/// Runs all rows, also after one has failed.
fn run(rows: &[Row], bench: &Bench) -> Result<(), String> {
    let mut failures = Vec::new();
    for (name, row) in rows {
        if let Err(error) = row(bench) {
            failures.push(format!("row {name}: {error}"));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}
