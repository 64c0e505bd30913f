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
//! | `rows/processes.rs` | rows `P…`: from the start of a process to its result, cold and warm |
//! | `rows/derivatives.rs` | rows `A…`: derivatives in reverse mode |
//! | `rows/training.rs` | rows `N…`: steps of training of networks, as in the examples |
//! | `rows/general/` | rows `G…`: programs of many kinds, beside the same in plain Rust, on one thread and on all |
//! | `rows/report.rs` | runs this program and those of other systems by turns, and writes a page |
#![allow(clippy::print_stdout, reason = "this program prints its rows")]

#[path = "rows/calls.rs"]
mod calls;
#[path = "rows/derivatives.rs"]
mod derivatives;
#[path = "rows/general/mod.rs"]
mod general;
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
#[path = "rows/processes.rs"]
mod processes;
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
#[path = "rows/traces.rs"]
mod traces;
#[path = "rows/training.rs"]
mod training;

use std::cell::RefCell;
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
    Row { name: "L05", what: "`y + 1` of several widths, each on the result before", run: latency::dependent },
    Row { name: "L06", what: "trace loops and branches again, with their kernels found and built", run: traces::known },
    Row { name: "A01.unroll", what: "gradient of a thousand products, 2^20", run: derivatives::unrolled },
    Row { name: "A01.loop", what: "the same by a recorded loop", run: derivatives::recorded },
    Row { name: "A01.evaluated", what: "the same, each product evaluated", run: derivatives::evaluated },
    Row { name: "A02", what: "training a network of 64-64-64-1 on 2^14 rows, frozen", run: derivatives::trained },
    Row { name: "A02.unfrozen", what: "the same, not frozen", run: derivatives::trained_unfrozen },
    Row { name: "N01", what: "training a convolutional network on 32 digits, frozen", run: training::digits },
    Row { name: "N02", what: "training a transformer on 32 × 64 characters, frozen", run: training::transformer },
    Row { name: "P01.50", what: "process start to printed result, 50 operations", run: processes::start_50 },
    Row { name: "P01.500", what: "the same, 500 operations", run: processes::start_500 },
    Row { name: "P01.5000", what: "the same, 5000 operations", run: processes::start_5000 },
    Row { name: "T01", what: "functions of matrices of 1000 × 1024, frozen and not", run: tensors::large },
    Row { name: "T02", what: "functions of matrices of 100 × 124, frozen and not", run: tensors::small },
    Row { name: "T03", what: "first code and better code, one thread, 2^14 lanes", run: tiers::gains },
    Row { name: "G01", what: "heat, clamped borders, 1000², 60 steps", run: general::grids::heat },
    Row { name: "G02", what: "waves, periodic borders, 1000², 60 steps", run: general::grids::waves },
    Row { name: "G03", what: "reaction and diffusion, reflecting borders, 1200 × 900, 40 steps",
        run: general::grids::reaction },
    Row { name: "G04", what: "shallow water by tensors, 800², 30 steps", run: general::grids::shallow_water },
    Row { name: "G05", what: "particles with neighbours in cells, 200 000", run: general::bodies::neighbours },
    Row { name: "G06", what: "forces of all pairs with a cut-off, 8000", run: general::bodies::pairs },
    Row { name: "G07a", what: "sparse matrix, 5 entries in each of 1 200 000 rows, times a vector",
        run: general::sparse::short_rows },
    Row { name: "G07b", what: "the same, 30 entries in each of 200 000 rows", run: general::sparse::long_rows },
    Row { name: "G08", what: "conjugate gradients, 500² unknowns, 40 iterations",
        run: general::sparse::conjugate_gradients },
    Row { name: "G09", what: "k-means, 10^6 points, 12 clusters, 8 iterations", run: general::learning::k_means },
    Row { name: "G10", what: "logistic regression, 200 000 × 32, 10 steps",
        run: general::learning::logistic_regression },
    Row { name: "G11a", what: "layer normalisation, 8000 rows of 1000", run: general::learning::layer_norm },
    Row { name: "G11b", what: "softmax, 8000 rows of 1000", run: general::learning::soft_max },
    Row { name: "G12", what: "binary search of 2^20 keys in a table of 4 000 000", run: general::tables::search },
    Row { name: "G13", what: "histogram equalisation, 4000²", run: general::tables::equalisation },
    Row { name: "G14", what: "means of 8 000 000 values by 10 000 keys", run: general::tables::groups },
    Row { name: "G15", what: "Fourier transform, 2^20", run: general::fourier::transform },
    Row { name: "G16", what: "Gaussian blur, 11 + 11 taps, 1920 × 1080", run: general::images::blur },
    Row { name: "G17", what: "median of 3 × 3, 1920 × 1080", run: general::images::median },
    Row { name: "G18", what: "bilateral filter, 7 × 7 taps, 640 × 480", run: general::images::bilateral },
    Row { name: "G19", what: "barrier option, 100 000 paths of up to 100 steps", run: general::chance::barrier_option },
    Row { name: "G20", what: "10 000 Markov chains of 300 steps", run: general::chance::markov_chains },
    Row { name: "G21a", what: "FNV-1a of 500 000 blocks of 64 bytes", run: general::bytes::hashes },
    Row { name: "G21b", what: "CRC-32 of the same by a table", run: general::bytes::checksums },
    Row { name: "G22", what: "knapsack, capacity 10^6, 80 items", run: general::tabulation::knapsack },
    Row { name: "G23", what: "edit distance, 5000 × 5000", run: general::tabulation::edit_distance },
    Row { name: "G24", what: "sphere tracing, 1280 × 960", run: general::scenes::balls },
    Row { name: "G25", what: "game of life, 3000 × 2000, 20 generations", run: general::automata::life },
    Row { name: "G26", what: "Newton's fractal, 1200²", run: general::lengths::newton_fractal },
    Row { name: "G27", what: "lengths of 400 000 Collatz sequences", run: general::lengths::collatz_lengths },
    Row { name: "G28", what: "roots of 50 000 polynomials of degree 5", run: general::lengths::polynomial_roots },
    Row { name: "G29", what: "moving mean by prefix sums, 4 000 000", run: general::series::moving_means },
    Row { name: "G30", what: "exponential smoothing, 5000 series of 1600", run: general::series::smoothing },
    Row { name: "G31a", what: "means and variances of columns, 10^6 × 16", run: general::columns::tall },
    Row { name: "G31b", what: "the same, 16 × 10^6", run: general::columns::wide },
    Row { name: "G31c", what: "transpose of 10^6 × 10, times a column", run: general::columns::weighted_sums },
    Row { name: "G32a", what: "convolution of 32 images of 28², 3 × 3, 32 to 64 channels",
        run: general::layers::convolution },
    Row { name: "G32b", what: "its derivatives by images and kernels", run: general::layers::derivatives },
    Row { name: "G33a", what: "product of 32 × 784 and the transpose of 128 × 784", run: general::layers::linear },
    Row { name: "G33b", what: "product of `bf16`, 256 × 512 and the transpose of 384 × 512",
        run: general::layers::halves },
    Row { name: "G33c", what: "100 000 rows by a layer of 16 × 16 with bias and ReLU", run: general::layers::narrow },
    Row { name: "G34", what: "sums along both axes, 1500 × 2000", run: general::arrangements::integral_image },
    Row { name: "G35", what: "Cholesky's factors of 300 000 matrices, 4 × 4",
        run: general::arrangements::small_matrices },
    Row { name: "G36a", what: "base64 of 6 000 000 bytes", run: general::arrangements::base64 },
    Row { name: "G36b", what: "a picture of 1000² pixels, enlarged twice", run: general::arrangements::enlargement },
    Row { name: "G37a", what: "transposition of 3000 × 2000", run: general::arrangements::transposition },
    Row { name: "G37b", what: "transposition of 2048 × 4096", run: general::arrangements::transposition_of_powers },
    Row { name: "G37c", what: "transposition of 33 333 × 30, by an index",
        run: general::arrangements::transposition_by_index },
    Row { name: "G38a", what: "sparse matrix, 10 entries in each of 40 000 rows, times 8 columns",
        run: general::sparse::few_columns },
    Row { name: "G38b", what: "the same, times 20 columns", run: general::sparse::more_columns },
    Row { name: "G39a", what: "300 000 rows of 10 normalised, columns scaled and moved",
        run: general::arrangements::narrow_rows },
    Row { name: "G39b", what: "colours of 1000² pixels as planes, and as pixels again",
        run: general::arrangements::planes },
    Row { name: "G40a", what: "colours of 10^6 pixels in another order, by a choice of indices",
        run: general::exchanges::colours },
    Row { name: "G40b", what: "4 000 000 bytes by a table of 256", run: general::exchanges::table_of_bytes },
    Row { name: "G41a", what: "votes of 20 000 points for lines at 90 angles", run: general::collections::lines },
    Row { name: "G41b", what: "100 arrays of 20 000 numbers, one after another", run: general::collections::history },
    Row { name: "G42a", what: "a recursive filter of 256 signals of 4096 samples", run: general::series::filters },
    Row { name: "G42b", what: "a layer for 4 inputs: 4 × 1000 by 1000 × 1000", run: general::layers::few_inputs },
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
    let outcome = match std::env::args().skip_while(|argument| argument != processes::CHILD).nth(1) {
        Some(operations) => processes::child(operations.parse().unwrap_or_default()),
        None => measure(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), String> {
    Arguments::parse(std::env::args().skip(1)).and_then(|arguments| match &arguments.report {
        Some(request) => report::write(request, &arguments.rows),
        None => run(&arguments.rows, &Bench { smoke: arguments.smoke, ratios: RefCell::default() }),
    })
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
    general::print_mean(bench);
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}
