//! Recovers what is in a picture: `cargo run --release --example inverse_rendering [-- --help]`.
//!
//! The scene of the path tracer has a painted floor and a lamp. From a picture of it, the paint and the place of the
//! lamp are found again: each step renders the scene with one path for each pixel, differentiates the difference to the
//! picture by all texels and by the place, backwards along the paths, and improves them. The step is frozen.
#![allow(clippy::print_stdout, reason = "this program prints its report")]

#[path = "path_tracer/integrator.rs"]
#[allow(dead_code, reason = "the film belongs to the path tracer")]
mod integrator;
#[path = "path_tracer/materials.rs"]
mod materials;
#[path = "path_tracer/scene.rs"]
#[allow(dead_code, reason = "the checkered floor belongs to the path tracer")]
mod scene;
#[path = "path_tracer/shapes.rs"]
mod shapes;
#[path = "shared/mod.rs"]
mod shared;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use image::{Rgb, RgbImage};
use indicatif::{ProgressBar, ProgressStyle};
use jit::color::linear_to_srgb;
use jit::linalg::Vec3;
use jit::optim::Adam;
use jit::prelude::*;
use jit::random::Pcg32;
use shared::arguments::{self, Arguments};
use shared::picture;

use crate::integrator::radiance;
use crate::materials::Painted;
use crate::scene::{Scene, camera_rays};

const USAGE: &str = "usage: inverse_rendering [--out DIR] [--size N] [--steps N] [--passes N]

  --out DIR    where the pictures go (default: out)
  --size N     pixels across and down, 16 to 1024 (default: 160)
  --steps N    steps of the optimiser, 1 to 100000 (default: 800)
  --passes N   paths for each pixel of the pictures, 1 to 4096 (default: 64)";

/// The number of texels along a side of the floor.
const SIDE: u32 = 12;

fn main() -> ExitCode {
    arguments::run(USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), String> {
    let out = arguments.path("--out").unwrap_or("out".into());
    let size = arguments.number("--size", 16..=1024, 160)?;
    let steps = arguments.number("--steps", 1..=100_000, 800)?;
    let passes = arguments.number("--passes", 1..=4096, 64)?;
    arguments.finish()?;
    picture::make_folder(&out)?;
    recover(size, steps, passes, &out)
}

/// What is looked for.
#[derive(Clone, Traverse)]
struct Unknown {
    /// The colours of the floor.
    texels: Vec3,
    /// The corner of the lamp.
    lamp: Vec3,
}

impl Unknown {
    /// Returns what the picture shows: rings of colours, and the lamp of the path tracer.
    fn truth() -> Self {
        let texel = UInt::arange((SIDE * SIDE) as usize);
        let half = (SIDE / 2) as f32 - 0.5;
        let [x, z] = [&texel % SIDE, &texel / SIDE].map(|place| (place.cast::<f32>() - half) * (3.0 / half));
        let ring = (&x * &x + &z * &z).sqrt();
        let colour = |phase: f32| 0.4 + 0.3 * (2.2 * &ring + phase).sin();
        Unknown { texels: Vec3::new(colour(0.0), colour(1.2), colour(2.4)), lamp: lamp([-3.6, 5.5, -0.4]) }
    }

    /// Returns a guess: a grey floor, and a lamp elsewhere.
    fn guess() -> Self {
        let grey = || Float::full(0.4, (SIDE * SIDE) as usize);
        Unknown { texels: Vec3::new(grey(), grey(), grey()), lamp: lamp([-1.6, 4.5, 1.4]) }
    }

    fn scene(&self) -> Scene {
        Scene::with(Box::new(Painted { texels: self.texels.clone(), side: SIDE }), self.lamp.clone())
    }
}

fn lamp(corner: [f32; 3]) -> Vec3 {
    let [x, y, z] = corner.map(Float::opaque);
    Vec3::new(x, y, z)
}

/// Renders with one path for each pixel.
#[freeze]
fn expose(light: &mut Vec3, unknown: &Unknown, rng: &mut Pcg32, size: u32) {
    let ray = camera_rays(size, size, rng);
    *light += radiance(&unknown.scene(), ray, rng).0;
}

/// Improves a guess; returns the mean square of the difference to the picture.
#[freeze]
fn step(guess: &mut Unknown, adam: &mut Adam<Unknown>, picture: &Vec3, rng: &mut Pcg32, size: u32) -> Float {
    let mut variable = guess.clone();
    for vector in [&mut variable.texels, &mut variable.lamp] {
        [&mut vector.x, &mut vector.y, &mut vector.z].into_iter().for_each(Float::enable_grad);
    }
    let mut rest = |unknown: &Unknown| {
        let ray = camera_rays(size, size, rng);
        // Bright points are noise.
        (radiance(&unknown.scene(), ray, rng).0 - picture).map(|rest| rest.clamp(-1.0, 1.0))
    };
    // The mean of a square would contain the noise, which other places of the lamp could lower. The product of two
    // independent pictures does not.
    let loss = rest(guess).dot(rest(&variable)).mean();
    loss.backward().expect("the loss depends on the variables");
    let gradient = |of: &Vec3| of.map(Float::grad);
    let gradient = Unknown { texels: gradient(&variable.texels), lamp: gradient(&variable.lamp) };
    adam.step(guess, &gradient);
    guess.texels = guess.texels.map(|texel| texel.clamp(0.0, 1.0));
    loss.detach()
}

/// Returns the mean light of some passes.
fn render(unknown: &Unknown, size: u32, passes: u32, seed: u64) -> jit::Result<Vec3> {
    let pixels = (size * size) as usize;
    let mut light = Vec3::zeros(pixels);
    let mut rng = Pcg32::new(pixels, seed);
    for _ in 0..passes {
        expose(&mut light, unknown, &mut rng, size);
    }
    let picture = light * (1.0 / passes as f32);
    jit::eval(&picture)?;
    Ok(picture)
}

fn recover(size: u32, steps: u32, passes: u32, out: &Path) -> Result<(), String> {
    let (guess, losses, pictures) = fit(size, steps, passes).map_err(|error| error.to_string())?;
    for (light, name) in pictures.iter().zip(["target", "start", "end"]) {
        let picture = develop(light, size).map_err(|error| error.to_string())?;
        picture::write(&picture, out, &format!("inverse_rendering-{name}.png"))?;
    }
    picture::write(&shared::curve::draw(&losses), out, "inverse_rendering-loss.png")?;
    let [x, y, z] = [&guess.lamp.x, &guess.lamp.y, &guess.lamp.z].map(|x| x.item().unwrap_or(f32::NAN));
    println!("the corner of the lamp: ({x:.2}, {y:.2}, {z:.2}), in truth (-3.60, 5.50, -0.40)");
    Ok(())
}

/// Returns the last guess, the losses, and the pictures of the truth, the first guess and the last.
fn fit(size: u32, steps: u32, passes: u32) -> jit::Result<(Unknown, Vec<f32>, [Vec3; 3])> {
    let truth = Unknown::truth();
    let target = render(&truth, size, passes, 1)?;
    let mut guess = Unknown::guess();
    let first = render(&guess, size, passes, 2)?;
    let mut adam = Adam::new(&guess, 0.02).with_group("lamp", |settings| settings.rate = 0.05.into());
    let mut rng = Pcg32::new((size * size) as usize, 3);
    let bar = ProgressBar::new(steps.into());
    let style = ProgressStyle::with_template("  {bar:40} step {pos} of {len}, {msg}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let begin = Instant::now();
    let mut losses = Vec::new();
    for _ in 0..steps {
        let loss = step(&mut guess, &mut adam, &target, &mut rng, size).item()?;
        losses.push(loss);
        bar.inc(1);
        bar.set_message(format!("loss {loss:.4}"));
    }
    bar.finish_and_clear();
    let (seconds, recordings) = (begin.elapsed().as_secs_f64(), step::stats().recordings);
    println!("{steps} steps, recorded {recordings} times: {:.1} ms each", seconds * 1e3 / f64::from(steps));
    let (from, to) = (losses[0], mean_of_last(&losses));
    println!("loss: {from:.4} at first, {to:.4} at last");
    let last = render(&guess, size, passes, 2)?;
    Ok((guess, losses, [target, first, last]))
}

/// Returns the mean of the last tenth.
fn mean_of_last(losses: &[f32]) -> f32 {
    let last = &losses[losses.len() - losses.len().div_ceil(10)..];
    last.iter().sum::<f32>() / last.len() as f32
}

fn develop(light: &Vec3, size: u32) -> jit::Result<RgbImage> {
    let bytes = light.map(|x| (linear_to_srgb(&(x * 0.7).clamp(0.0, 1.0)) * 255.0).round().cast::<u8>());
    jit::eval(&bytes)?;
    let [red, green, blue] = [bytes.x.to_vec()?, bytes.y.to_vec()?, bytes.z.to_vec()?];
    Ok(RgbImage::from_fn(size, size, |x, y| {
        let pixel = (y * size + x) as usize;
        Rgb([red[pixel], green[pixel], blue[pixel]])
    }))
}
