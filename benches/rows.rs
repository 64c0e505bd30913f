//! The benchmark rows:
//! `cargo bench --bench rows -- [--smoke] [--report FILE [--rounds N] [--peer NAME=COMMAND]…] [ROW…]`.
//!
//! Prints one JSON object per line, `{"workload", "metric", "value", "unit", "checksum"}`, so that the rows can be
//! compared with those of other systems; times also have `clean`, `reps` and `warm_up_ms`. A time runs from "inputs
//! resident, kernel compiled" to "result resident, all threads idle", including tracing and launch. Each row computes
//! its checksum from the results of the kernels after the last sample; a wrong one ends the program with an error.
//! `--smoke` takes a single sample per row, which checks results and measures nothing. `--report` measures the rows
//! alternately with those of other systems, and writes a page of results.
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
//! | `rows/report.rs` | runs this program and those of other systems by turns, and writes a page |
#![allow(clippy::print_stdout, reason = "this program prints its rows")]

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
#[path = "rows/report.rs"]
mod report;
#[path = "rows/tensors.rs"]
mod tensors;
#[path = "rows/throughput.rs"]
mod throughput;
#[path = "rows/tiers.rs"]
mod tiers;

use std::process::ExitCode;

use measure::{Bench, RowError};

/// A row of the benchmark.
struct Row {
    name: &'static str,
    what: &'static str,
    run: fn(&Bench) -> Result<(), RowError>,
}

/// Every row there is, in the order in which they run.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { name: "W01", what: "saxpy, 2^24", run: throughput::saxpy },
    Row { name: "W02", what: "Black-Scholes, 2^22", run: throughput::black_scholes },
    Row { name: "W02.fast", what: "the same under `fast_math`", run: throughput::fast_black_scholes },
    Row { name: "W03", what: "Mandelbrot set, 1024²", run: throughput::mandelbrot },
    Row { name: "W04", what: "n-body, 4096", run: throughput::n_body },
    Row { name: "W06", what: "Monte-Carlo π, PCG32, 2^20 × 64", run: throughput::monte_carlo_pi },
    Row { name: "W07a", what: "histogram, 2^24 into 256", run: memory::small_histogram },
    Row { name: "W07b", what: "histogram, 2^24 into 2^20", run: memory::large_histogram },
    Row { name: "W08", what: "gather by a permutation, 2^24", run: memory::permutation },
    Row { name: "W09a", what: "sum, 2^24", run: throughput::sum },
    Row { name: "W09b", what: "maximum, 2^24", run: throughput::max },
    Row { name: "W09c", what: "exclusive prefix sum, 2^24", run: order::prefix_sum },
    Row { name: "W09d", what: "list the true lanes, 2^24", run: order::compress },
    Row { name: "W10", what: "5-point stencil, 2048², 100 steps", run: memory::stencil },
    Row { name: "W11", what: "matrix product, 512³, traced loop", run: products::traced },
    Row { name: "W11.lib", what: "matrix product, 512³, `Tensor::matmul`", run: products::library },
    Row { name: "W12", what: "one of eight functions on each lane, 2^22", run: calls::mixed },
    Row { name: "W12.coherent", what: "the same, lanes sorted by function", run: calls::coherent },
    Row { name: "L01", what: "record and free an operation", run: latency::tracing_rate },
    Row { name: "L02a", what: "compile 50 operations and run", run: latency::compile_50 },
    Row { name: "L02b", what: "compile 500", run: latency::compile_500 },
    Row { name: "L02c", what: "compile 5000", run: latency::compile_5000 },
    Row { name: "L03", what: "trace 50 operations again, launch, wait", run: latency::cached_launch },
    Row { name: "L04a", what: "replay the same, frozen", run: latency::replay },
    Row { name: "L04b", what: "replay 100 such kernels, each on the output of the previous one",
        run: latency::replay_chain },
    Row { name: "L04c", what: "`x + 1` of width 16", run: latency::smallest },
    Row { name: "T01", what: "functions of matrices of 1000 × 1024, frozen and not", run: tensors::large },
    Row { name: "T02", what: "functions of matrices of 100 × 124, frozen and not", run: tensors::small },
    Row { name: "T03", what: "first code and better code, one thread, 2^14 lanes", run: tiers::gains },
];

/// The options of the command line.
struct Arguments {
    smoke: bool,
    report: Option<report::Request>,
    rows: Vec<&'static Row>,
}

impl Arguments {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
        // Cargo passes `--bench` to every benchmark.
        let mut arguments = arguments.filter(|argument| argument != "--bench");
        let (mut smoke, mut file, mut names) = (false, None, Vec::new());
        let (mut rounds, mut peers) = (report::ROUNDS, Vec::new());
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} takes a value"));
            match argument.as_str() {
                "--smoke" => smoke = true,
                "--report" => file = Some(value()?.into()),
                "--rounds" => rounds = value()?.parse().map_err(|_| "--rounds takes a number".to_owned())?,
                "--peer" => peers.push(report::Peer::parse(&value()?)?),
                _ => names.push(argument),
            }
        }
        let report = file.map(|file| report::Request { file, rounds, peers });
        Ok(Arguments { smoke, report, rows: selected(&names)? })
    }
}

fn main() -> ExitCode {
    let outcome = Arguments::parse(std::env::args().skip(1)).and_then(|arguments| match &arguments.report {
        Some(request) => report::write(request, &arguments.rows),
        None => run(&arguments.rows, &Bench { smoke: arguments.smoke }),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The rows whose names begin with one of the arguments; all of them without an argument.
fn selected(arguments: &[String]) -> Result<Vec<&'static Row>, String> {
    for argument in arguments {
        if !ROWS.iter().any(|row| row.name.starts_with(argument.as_str())) {
            let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
            return Err(format!("there is no row `{argument}`; the rows are {}", names.join(" ")));
        }
    }
    let wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|a| name.starts_with(a.as_str()));
    Ok(ROWS.iter().filter(|row| wanted(row.name)).collect())
}

/// Runs all rows, even after one has failed.
fn run(rows: &[&Row], bench: &Bench) -> Result<(), String> {
    let mut failures = Vec::new();
    for row in rows {
        if let Err(error) = (row.run)(bench) {
            failures.push(format!("row {}: {error}", row.name));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}
