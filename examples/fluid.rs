//! Two jets of coloured water meet in a basin: `cargo run --release --example fluid [-- --help]`.
//!
//! Shows a simulation with some fifty launches per frame. A function with `#[freeze]` is traced in the first frame, and
//! all other frames replay its launches. The frames are computed a second time with freezing switched off, for
//! comparison. The fluid follows J. Stam, “Stable Fluids”, 1999.
#![allow(clippy::print_stdout, reason = "this program prints its report")]

#[path = "fluid/film.rs"]
mod film;
#[path = "shared/mod.rs"]
mod shared;
#[path = "fluid/solver.rs"]
mod solver;
#[cfg(test)]
#[path = "fluid/tests.rs"]
mod tests;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use shared::arguments::{self, Arguments};
use shared::picture;

use crate::film::Film;
use crate::solver::Fluid;

const USAGE: &str = "usage: fluid [--out DIR] [--size N] [--frames N] [--every N]

  --out DIR   where fluid.png goes, an animated PNG, and fluid-last.png, its last picture (default: out)
  --size N    cells and pixels along each side, 16 to 2048 (default: 256)
  --frames N  frames that are computed, 2 to 100000 (default: 600)
  --every N   how many frames after each other one is in the film (default: 5)";

struct Options {
    out: std::path::PathBuf,
    size: u32,
    frames: u32,
    every: u32,
}

fn main() -> ExitCode {
    arguments::run(USAGE, run)
}

impl Options {
    fn parse(mut arguments: Arguments) -> Result<Options, String> {
        let options = Options {
            out: arguments.path("--out").unwrap_or("out".into()),
            size: arguments.number("--size", 16..=2048, 256)?,
            frames: arguments.number("--frames", 2..=100_000, 600)?,
            every: arguments.number("--every", 1..=100_000, 5)?,
        };
        arguments.finish()?;
        Ok(options)
    }
}

fn run(arguments: Arguments) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    picture::make_folder(&options.out)?;
    let mut film = Film::create(&options.out.join("fluid.png"), options.size, options.frames.div_ceil(options.every))?;
    let (frozen, last) = simulate(&options, "frozen", |fluid| film.add(&solver::develop(fluid)?))?;
    film.finish()?;
    picture::write(&film::image(&last, options.size)?, &options.out, "fluid-last.png")?;

    Fluid::step_set_enabled(false);
    let (unfrozen, again) = simulate(&options, "unfrozen", |_| Ok(()))?;
    if again != last {
        return Err("replayed and direct frames differ".to_owned());
    }
    let traces = Fluid::step_stats().recordings;
    let [frozen, unfrozen] = [frozen, unfrozen].map(|time| time.as_secs_f64() * 1e3);
    println!("{} frames of {} x {} cells, traces = {traces}", options.frames, options.size, options.size);
    println!("a frame: {frozen:.3} ms frozen, {unfrozen:.3} ms unfrozen, speed-up {:.2}", unfrozen / frozen);
    println!("the last pictures of both are the same");
    Ok(())
}

/// Computes all frames and shows some; returns the time of a frame, not counting the first one, and the last picture.
fn simulate(
    options: &Options,
    name: &'static str,
    mut show: impl FnMut(&Fluid) -> Result<(), String>,
) -> Result<(Duration, Vec<u8>), String> {
    let mut fluid = Fluid::new(options.size);
    let mut taken = Duration::ZERO;
    let progress = progress_bar(name, options.frames);
    for frame in 0..options.frames {
        let begin = Instant::now();
        fluid.step();
        jit::eval(&fluid).and_then(|()| jit::sync()).map_err(|error| error.to_string())?;
        if frame > 0 {
            taken += begin.elapsed();
        }
        if frame % options.every == 0 {
            show(&fluid)?;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok((taken / (options.frames - 1), solver::develop(&fluid)?))
}

/// Shows frames per second and the remaining time on a terminal.
fn progress_bar(name: &'static str, frames: u32) -> ProgressBar {
    let template = "{prefix} [{bar:40}] frame {pos} of {len}, {per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(frames.into()).with_style(style).with_prefix(name)
}
