//! Learns to write like a book, character by character:
//! `cargo run --release --features safetensors --example language_model [-- --steps N …]`.
//!
//! A small transformer is trained by a frozen step, which also chooses the parts of the book that it sees. Then it
//! writes a page. A second run goes on where the first one stopped, with the same bits as one run of all steps.
#![allow(clippy::print_stdout, reason = "this program prints its report")]

#[path = "language_model/book.rs"]
mod book;
#[path = "language_model/net.rs"]
mod net;
#[path = "shared/mod.rs"]
mod shared;
#[cfg(test)]
#[path = "language_model/tests.rs"]
mod tests;
#[path = "language_model/training.rs"]
mod training;
#[path = "language_model/writing.rs"]
mod writing;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use shared::arguments;

use book::Book;
use net::{Dimensions, Net};
use training::{BATCH, Training};
use writing::Writer;

const USAGE: &str = "usage: language_model [--steps N] [--seed N] [--prompt TEXT] [--length N] [--out DIR]

  --steps N      how many steps of training this run takes, 0 to 1000000 (default: 600)
  --seed N       the seed of initial values and of the order, 0 to 4294967295 (default: 1)
  --prompt TEXT  how the page begins (default: \"Alice \")
  --length N     how many characters it writes, 0 to 100000 (default: 600)
  --out DIR      where the state and the curve go, and where an earlier state is (default: out)";

/// The number of steps between two readings of the loss.
const REPORT: u64 = 20;

/// How the page begins, unless the command line says it.
const PROMPT: &str = "Alice ";

/// 0.6 million parameters.
const DIMENSIONS: Dimensions = Dimensions { width: 128, heads: 4, blocks: 3 };

/// What the command line says.
struct Options {
    steps: u64,
    seed: u64,
    prompt: String,
    length: usize,
    out: PathBuf,
}

fn main() -> ExitCode {
    arguments::run(USAGE, |mut arguments| {
        let options = Options {
            steps: arguments.number("--steps", 0..=1_000_000, 600)?,
            seed: arguments.number("--seed", 0..=u64::from(u32::MAX), 1)?,
            prompt: arguments.text("--prompt").unwrap_or_else(|| PROMPT.to_owned()),
            length: arguments.number("--length", 0..=100_000, 600)?,
            out: arguments.path("--out").unwrap_or_else(|| PathBuf::from("out")),
        };
        arguments.finish()?;
        if options.prompt.is_empty() {
            return Err("--prompt takes a text of one character or more".to_owned());
        }
        shared::picture::make_folder(&options.out)?;
        run(&options).map_err(|error| error.to_string())
    })
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let book = Book::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/alice.txt.gz"))?;
    let prompt = book.tokens_of(&options.prompt)?;
    let net = Net::new(book.characters(), DIMENSIONS, &mut jit::random::rng(options.seed));
    let mut training = Training::new(net, options.seed);
    let state = options.out.join("language_model.safetensors");
    if state.exists() {
        training.load(&state)?;
        println!("goes on after step {} of {}", training.steps()?, state.display());
    }
    train(&mut training, &book, options.steps)?;
    training.save(&state)?;
    println!("loss on pages that it has not seen: {:.3} nats a character", training.loss_on(&book.unseen)?);
    println!("wrote {}\n", state.display());
    let mut writer = Writer::new(training.net().clone(), &prompt, options.seed);
    println!("{}{}", options.prompt, book.text_of(&writer.write(options.length)?));
    let curve = shared::curve::draw(training.losses());
    shared::picture::write(&curve, &options.out, "language_model-loss.png")?;
    Ok(())
}

/// Trains for so many steps, and reports how fast that was.
fn train(training: &mut Training, book: &Book, steps: u64) -> Result<(), Box<dyn std::error::Error>> {
    let bar = ProgressBar::new(steps);
    bar.set_style(ProgressStyle::with_template("{bar:40} step {pos}/{len}, loss {msg}, {eta} left")?);
    let begin = Instant::now();
    while bar.position() < steps {
        let count = REPORT.min(steps - bar.position());
        let loss = training.train(&book.train, count)?;
        bar.set_message(format!("{loss:.3}"));
        bar.inc(count);
    }
    bar.finish_and_clear();
    let tokens = (steps as usize * BATCH * net::CONTEXT) as f64;
    println!("{:.0} characters a second in {steps} steps", tokens / begin.elapsed().as_secs_f64());
    println!("{} recordings of the step", training::recordings());
    Ok(())
}
