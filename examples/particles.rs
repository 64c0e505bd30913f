//! Two galaxies of a million stars pass each other: `cargo run --release --example particles [-- --help]`.
//!
//! Shows state that remains on the device between frames, in user-defined structs; a traced loop over the steps of a
//! frame; and light that is accumulated by scatters. The stars are attracted by the centres of both galaxies and have
//! no mass themselves, which is enough for bridges and tails between galaxies (A. Toomre and J. Toomre, “Galactic
//! Bridges and Tails”, 1972).
#![allow(clippy::print_stdout, reason = "this program prints its report")]

#[path = "particles/galaxy.rs"]
mod galaxy;
#[path = "particles/light.rs"]
mod light;
#[path = "shared/mod.rs"]
mod shared;
#[cfg(test)]
#[path = "particles/tests.rs"]
mod tests;

use std::process::ExitCode;
use std::time::Instant;

use image::{RgbImage, imageops};
use jit::prelude::*;
use shared::arguments::{self, Arguments};
use shared::picture;

use crate::galaxy::Encounter;

const USAGE: &str = "usage: particles [--out DIR] [--stars N] [--frames N] [--width N] [--seed N] [--series DIR]

  --out DIR     where particles.png goes, six moments in one picture (default: out)
  --stars N     stars of both galaxies, 1000 to 100000000 (default: 1000000)
  --frames N    frames that are computed, 6 to 10000 (default: 180)
  --width N     pixels across each moment, 64 to 4096 (default: 640)
  --seed N      another number gives other stars, 0 to 4294967295 (default: 1)
  --series DIR  also writes every frame there, for a film";

/// The duration of the encounter, in units of time; frames divide it evenly.
const DURATION: f32 = 6.6;
/// Steps of the integration in this time.
const STEPS: u32 = 900;
/// Moments in the picture, in two rows.
const MOMENTS: u32 = 6;

struct Options {
    out: std::path::PathBuf,
    stars: usize,
    frames: u32,
    /// Pixels of a frame.
    size: (u32, u32),
    seed: u32,
    series: Option<std::path::PathBuf>,
}

fn main() -> ExitCode {
    arguments::run(USAGE, run)
}

impl Options {
    fn parse(mut arguments: Arguments) -> Result<Options, String> {
        let width = arguments.number("--width", 64..=4096, 640)?;
        let options = Options {
            out: arguments.path("--out").unwrap_or("out".into()),
            stars: arguments.number("--stars", 1000..=100_000_000, 1_000_000)?,
            frames: arguments.number("--frames", MOMENTS..=10_000, 180)?,
            size: (width, width * 5 / 8),
            seed: arguments.number("--seed", 0..=u32::MAX, 1)?,
            series: arguments.path("--series"),
        };
        arguments.finish()?;
        Ok(options)
    }
}

fn run(arguments: Arguments) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    picture::make_folder(&options.out)?;
    options.series.as_deref().map_or(Ok(()), picture::make_folder)?;
    let moments = simulate(&options)?;
    picture::write(&contact_sheet(&moments), &options.out, "particles.png")
}

/// Computes all frames; returns the moments to be shown.
fn simulate(options: &Options) -> Result<Vec<RgbImage>, String> {
    let mut encounter = Encounter::new(options.stars, options.seed);
    let (mut moments, mut reporter) = (Vec::new(), Reporter::new());
    for frame in 0..options.frames {
        let light = reporter.frame(|| next_frame(&mut encounter, options)).map_err(|error| error.to_string())?;
        let is_moment = (frame + 1) * MOMENTS / options.frames > frame * MOMENTS / options.frames;
        if is_moment || options.series.is_some() {
            let picture = light::develop(&light, options.size, options.stars).map_err(|error| error.to_string())?;
            if let Some(folder) = &options.series {
                let path = folder.join(format!("frame-{frame:05}.png"));
                picture.save(&path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            }
            if is_moment {
                moments.push(picture);
            }
        }
    }
    reporter.summary(options.stars);
    Ok(moments)
}

/// Advances the stars and adds up their light. It is one evaluation: intermediate values, such as positions in between,
/// are never written to memory.
fn next_frame(encounter: &mut Encounter, options: &Options) -> Result<Float, jit::Error> {
    let steps = STEPS / options.frames.min(STEPS);
    let step = DURATION / (steps * options.frames) as f32;
    encounter.advance(&Float::opaque(step), &UInt::opaque(steps));
    let light = light::expose(encounter, options.size);
    jit::eval(&(&*encounter, &light))?;
    jit::sync()?;
    Ok(light)
}

/// Reports time and work of the frames.
struct Reporter {
    frames: u32,
    /// The time of all frames but the first.
    seconds: f64,
    launches: u64,
    compiles: u64,
}

impl Reporter {
    fn new() -> Self {
        Reporter { frames: 0, seconds: 0.0, launches: 0, compiles: 0 }
    }

    /// Computes a frame. The first one, for which the kernels are compiled, is reported separately.
    fn frame<R>(&mut self, compute: impl FnOnce() -> R) -> R {
        let (before, begin) = (jit::stats(), Instant::now());
        let result = compute();
        let (seconds, after) = (begin.elapsed().as_secs_f64(), jit::stats());
        let compiles = after.compiles - before.compiles;
        if self.frames == 0 {
            println!("first frame: {:.1} ms, {compiles} kernel(s) compiled", seconds * 1e3);
        } else {
            self.seconds += seconds;
            self.launches += after.launches - before.launches;
            self.compiles += compiles;
        }
        self.frames += 1;
        result
    }

    fn summary(&self, stars: usize) {
        let count = f64::from(self.frames - 1);
        println!(
            "the other {count} frames of {stars} stars: {:.1} a second, {:.1} kernels a frame, {} compiled",
            count / self.seconds,
            self.launches as f64 / count,
            self.compiles
        );
    }
}

/// Arranges the moments in two rows, in reading order.
fn contact_sheet(moments: &[RgbImage]) -> RgbImage {
    let (width, height) = moments[0].dimensions();
    let (columns, gap) = (MOMENTS / 2, 4);
    let mut sheet = RgbImage::from_pixel(columns * (width + gap) - gap, 2 * height + gap, image::Rgb([38, 38, 46]));
    for (i, moment) in (0..).zip(moments) {
        let (left, top) = (i % columns * (width + gap), i / columns * (height + gap));
        imageops::replace(&mut sheet, moment, i64::from(left), i64::from(top));
    }
    sheet
}
