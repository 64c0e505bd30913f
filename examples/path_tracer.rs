//! A path tracer: `cargo run --release --example path_tracer [-- --help]`.
//!
//! Shows a whole renderer as one kernel: a traced loop along each path, which exits by `break`; a ring whose
//! intersection is found by its own traced loop; random numbers as state; and user-defined structs. Each pass adds one
//! path to each pixel in one launch.
#![allow(clippy::print_stdout, reason = "this program prints its report")]

#[path = "path_tracer/integrator.rs"]
mod integrator;
#[path = "path_tracer/materials.rs"]
#[allow(dead_code, reason = "the painted floor belongs to inverse rendering")]
mod materials;
#[path = "path_tracer/scene.rs"]
mod scene;
#[path = "path_tracer/shapes.rs"]
mod shapes;
#[path = "shared/mod.rs"]
mod shared;
#[cfg(test)]
#[path = "path_tracer/tests.rs"]
mod tests;

use std::process::ExitCode;
use std::time::Instant;

use image::RgbImage;
use indicatif::{ProgressBar, ProgressStyle};
use jit::color::linear_to_srgb;
use jit::linalg::Vec3;
use jit::prelude::*;
use shared::arguments::{self, Arguments};
use shared::picture;

use crate::integrator::Film;
use crate::scene::Scene;

const USAGE: &str = "usage: path_tracer [--out DIR] [--size N] [--passes N] [--seed N]

  --out DIR    where path_tracer.png goes (default: out)
  --size N     pixels across and down, 16 to 4096 (default: 512)
  --passes N   paths for each pixel, 1 to 65536 (default: 64)
  --seed N     another number gives other noise, 0 to 4294967295 (default: 1)";

fn main() -> ExitCode {
    arguments::run(USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), String> {
    let out = arguments.path("--out").unwrap_or("out".into());
    let size = arguments.number("--size", 16..=4096, 512)?;
    let passes = arguments.number("--passes", 1..=65536, 64)?;
    let seed = arguments.number("--seed", 0..=u32::MAX, 1)?;
    arguments.finish()?;
    picture::make_folder(&out)?;
    let film = render(size, passes, seed).map_err(|error| error.to_string())?;
    let picture = develop(&film, (size, size), passes).map_err(|error| error.to_string())?;
    picture::write(&picture, &out, "path_tracer.png")
}

/// Traces the paths, one kernel launch per pass, and reports the time.
fn render(size: u32, passes: u32, seed: u32) -> jit::Result<Film> {
    let scene = Scene::studio();
    let mut film = Film::new((size, size), seed.into());
    jit::eval(&film)?;
    let begin = Instant::now();
    pass(&mut film, &scene)?;
    println!("first pass: {:.1} ms, {} kernels compiled", begin.elapsed().as_secs_f64() * 1e3, jit::stats().compiles);
    let bar = progress_bar(passes);
    let begin = Instant::now();
    let rays_before = rays_of(&film)?;
    for _ in 1..passes {
        bar.inc(1);
        pass(&mut film, &scene)?;
    }
    bar.finish_and_clear();
    let (seconds, rays) = (begin.elapsed().as_secs_f64(), rays_of(&film)? - rays_before);
    if passes > 1 {
        println!(
            "the other {} passes of {size} × {size} pixels: {:.1} ms each, {:.1} million rays a second",
            passes - 1,
            seconds * 1e3 / f64::from(passes - 1),
            rays / seconds * 1e-6
        );
    }
    Ok(film)
}

/// A pass is one launch of one kernel.
fn pass(film: &mut Film, scene: &Scene) -> jit::Result<()> {
    let before = jit::stats().launches;
    film.expose(scene);
    jit::eval(&*film)?;
    jit::sync()?;
    assert_eq!(jit::stats().launches - before, 1, "a pass is one kernel launch");
    Ok(())
}

/// Returns the number of rays that were traced.
fn rays_of(film: &Film) -> jit::Result<f64> {
    film.rays.cast::<f64>().sum().item()
}

fn progress_bar(passes: u32) -> ProgressBar {
    let style = ProgressStyle::with_template("  {bar:40} pass {pos} of {len}, {eta} left");
    ProgressBar::new(passes.into()).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Returns the picture of the exposed film.
fn develop(film: &Film, (width, height): (u32, u32), passes: u32) -> jit::Result<RgbImage> {
    let pixels = tone(&(&film.light * (1.0 / passes as f32)));
    let bytes = pixels.map(|channel| (channel * 255.0).round().cast::<u8>());
    jit::eval(&bytes)?;
    let [red, green, blue] = [bytes.x.to_vec()?, bytes.y.to_vec()?, bytes.z.to_vec()?];
    Ok(RgbImage::from_fn(width, height, |x, y| {
        let pixel = (y * width + x) as usize;
        image::Rgb([red[pixel], green[pixel], blue[pixel]])
    }))
}

/// Maps light to the range of a screen: bright light is compressed as film does (the fit of K. Narkowicz, “ACES Filmic
/// Tone Mapping Curve”, 2016).
#[jit]
fn tone(light: &Vec3) -> Vec3 {
    light.map(|x| {
        let curve = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14);
        linear_to_srgb(&curve.clamp(0.0, 1.0))
    })
}
