//! Learns to read handwritten digits:
//! `cargo run --release --features safetensors --example digits [-- --net conv --type f16 …]`.
//!
//! A network is trained by a frozen step, with parameters in single precision; what it computes is in the chosen type.
//! A second run goes on where the first one stopped, with the same bits as one run of all epochs.
#![allow(clippy::print_stdout, reason = "this program prints its report")]

#[path = "digits/data.rs"]
mod data;
#[path = "digits/nets.rs"]
mod nets;
#[path = "digits/pictures.rs"]
mod pictures;
#[path = "shared/mod.rs"]
mod shared;
#[cfg(test)]
#[path = "digits/tests.rs"]
mod tests;
#[path = "digits/training.rs"]
mod training;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use half::{bf16, f16};
use indicatif::{ProgressBar, ProgressStyle};
use jit::FloatElement;
use jit::optim::LossScaler;
use shared::arguments;

use data::Digits;
use nets::{Net, conv, mlp};
use training::Training;

const USAGE: &str = "usage: digits [--net mlp|conv] [--type f32|bf16|f16] [--epochs N] [--seed N] [--out DIR]

  --net NAME   the network: linear layers, or convolutions (default: mlp)
  --type NAME  the element type of what it computes; f16 with loss scaling (default: f32)
  --epochs N   how many times each digit is seen in this run, 1 to 10000 (default: 30)
  --seed N     the seed of initial values and of the order, 0 to 4294967295 (default: 1)
  --out DIR    where the state and the pictures go, and where an earlier state is (default: out)";

/// What the command line says.
struct Options {
    name: String,
    epochs: u64,
    seed: u64,
    out: PathBuf,
}

fn main() -> ExitCode {
    arguments::run(USAGE, |mut arguments| {
        let net = arguments.choice("--net", &["mlp", "conv"])?;
        let element = arguments.choice("--type", &["f32", "bf16", "f16"])?;
        let options = Options {
            name: format!("digits-{net}-{element}"),
            epochs: arguments.number("--epochs", 1..=10000, 30)?,
            seed: arguments.number("--seed", 0..=u64::from(u32::MAX), 1)?,
            out: arguments.path("--out").unwrap_or_else(|| PathBuf::from("out")),
        };
        arguments.finish()?;
        shared::picture::make_folder(&options.out)?;
        let mut rng = jit::random::rng(options.seed);
        match net {
            "mlp" => run_in(element, mlp(&mut rng), &options),
            _ => run_in(element, conv(&mut rng), &options),
        }
    })
}

fn run_in<M: Net<f32> + Net<bf16> + Net<f16>>(element: &str, net: M, options: &Options) -> Result<(), String> {
    match element {
        "f16" => run::<M, f16>(net, LossScaler::new(), options),
        "bf16" => run::<M, bf16>(net, LossScaler::with_factor(1.0), options),
        _ => run::<M, f32>(net, LossScaler::with_factor(1.0), options),
    }
    .map_err(|error| error.to_string())
}

fn run<M: Net<H>, H: FloatElement>(
    net: M,
    scaler: LossScaler,
    options: &Options,
) -> Result<(), Box<dyn std::error::Error>> {
    let digits = Digits::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/digits.csv.gz").as_path())?;
    let state = options.out.join(format!("{}.safetensors", options.name));
    let mut training = Training::new(net, scaler, options.seed);
    if state.exists() {
        training.load(&state)?;
        println!("goes on after epoch {} of {}", training.epoch(), state.display());
    }
    let bar = ProgressBar::new(options.epochs);
    bar.set_style(ProgressStyle::with_template("{bar:40} epoch {pos}/{len}, loss {msg}, {eta} left")?);
    for _ in 0..options.epochs {
        let loss = training.train_epoch::<H>(&digits.train)?;
        bar.set_message(format!("{loss:.4}"));
        bar.inc(1);
    }
    bar.finish_and_clear();
    training.save(&state)?;
    let answers = training.answers::<H>(&digits.test)?;
    let mistakes: Vec<_> = digits.test.iter().zip(answers).filter(|(sample, answer)| sample.digit != *answer).collect();
    let right = 1.0 - mistakes.len() as f64 / digits.test.len() as f64;
    println!("{:.2} % of {} digits that it has not seen are right", 100.0 * right, digits.test.len());
    println!("{} recordings, {} steps left out", training::recordings(), training.skipped()?);
    println!("wrote {}", state.display());
    shared::picture::write(
        &shared::curve::draw(training.losses()),
        &options.out,
        &format!("{}-loss.png", options.name),
    )?;
    shared::picture::write(&pictures::mistakes(&mistakes), &options.out, &format!("{}-mistakes.png", options.name))?;
    Ok(())
}
