//! Splits a photograph into frequency bands: `cargo run --release --example pyramid [-- --help]`.
//!
//! Shows tensors: slices, padding, broadcasting and separable convolution. The pyramid is in `pyramid/laplacian.rs`;
//! this program uses it to sharpen the photograph and to blend it with another one without a visible seam.
#![allow(clippy::print_stdout, reason = "this program prints its report")]

#[path = "pyramid/laplacian.rs"]
mod laplacian;
#[path = "photo/picture.rs"]
#[allow(dead_code, reason = "of the functions for photographs, this example only reads them")]
mod photograph;
#[path = "shared/mod.rs"]
mod shared;
#[path = "pyramid/sheets.rs"]
mod sheets;
#[cfg(test)]
#[path = "pyramid/tests.rs"]
mod tests;

use std::process::ExitCode;
use std::time::Instant;

use jit::prelude::*;
use shared::arguments::{self, Arguments};
use shared::picture;

use crate::laplacian::{Image, Pyramid};

const USAGE: &str = "usage: pyramid [--photo PATH] [--out DIR] [--levels N] [--sharpness X]

  --photo PATH   a PNG or JPEG picture (default: the photograph in assets/)
  --out DIR      where pyramid-levels.png, pyramid-sharp.png and pyramid-blend.png go (default: out)
  --levels N     levels of detail, 1 to 12 (default: 5)
  --sharpness X  how much details are emphasised, 0 to 10 (default: 1)";

fn main() -> ExitCode {
    arguments::run(USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), String> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/coffee.jpg");
    let path = arguments.path("--photo").unwrap_or(default.into());
    let folder = arguments.path("--out").unwrap_or("out".into());
    let levels = arguments.number("--levels", 1..=12, 5)?;
    let sharpness = Float::opaque(arguments.number("--sharpness", 0.0..=10.0, 1.0)?);
    arguments.finish()?;
    let photo = photograph::read(&path)?;
    picture::make_folder(&folder)?;
    println!("{}: {} × {} pixels", path.display(), photo.width(), photo.height());

    let photo = sheets::to_image(&photo);
    // The same photograph with red and blue exchanged.
    let other = photo.slice(s![.., .., ..;-1]);
    for run in ["first", "second"] {
        println!("{run} run");
        let pyramid = step("take apart", || Pyramid::new(&photo, levels))?;
        let sharp = step("sharpen", || sharpened(&pyramid, &sharpness).flattened())?;
        let blend = step("blend", || blended(&pyramid, &Pyramid::new(&other, levels)?).flattened())?;
        let seam = step("paste", || Ok(pasted(&photo, &other)))?;
        if run == "second" {
            picture::write(&sheets::levels(&photo, &pyramid).map_err(text)?, &folder, "pyramid-levels.png")?;
            picture::write(&sheets::row(&[photo.clone(), sharp]).map_err(text)?, &folder, "pyramid-sharp.png")?;
            picture::write(&sheets::row(&[seam, blend]).map_err(text)?, &folder, "pyramid-blend.png")?;
        }
    }
    Ok(())
}

fn text(error: jit::Error) -> String {
    error.to_string()
}

/// Emphasises fine details more than coarse ones.
#[jit]
fn sharpened(pyramid: &Pyramid, amount: &Float) -> Pyramid {
    let emphasise = |(level, details): (usize, &Image)| details * (1.0 + amount * 0.6_f32.powi(level as i32));
    Pyramid { details: pyramid.details.iter().enumerate().map(emphasise).collect(), rest: pyramid.rest.clone() }
}

/// Joins the left half of one picture and the right half of the other, level by level: coarse details change over a
/// wide strip, fine ones over a narrow strip (P. Burt and E. Adelson, “A Multiresolution Spline With Application to
/// Image Mosaics”, 1983).
#[jit]
fn blended(left: &Pyramid, right: &Pyramid) -> Pyramid {
    let finest = left.details.first().unwrap_or(&left.rest);
    let mut seam = 0.5 * (finest.shape()[1] as f32 - 1.0);
    let mut blend = |left: &Image, right: &Image| {
        // The blend goes from one picture to the other within a pixel of this level on either side of the seam.
        let from_seam = Tensor::<f32>::arange([left.shape()[1], 1]) - seam;
        seam *= 0.5;
        let share = (0.5 - 0.5 * from_seam).clamp(0.0, 1.0);
        &share * left + (1.0 - &share) * right
    };
    let details = left.details.iter().zip(&right.details).map(|(left, right)| blend(left, right)).collect();
    Pyramid { details, rest: blend(&left.rest, &right.rest) }
}

/// Joins both halves without blending, for comparison.
#[jit]
fn pasted(left: &Image, right: &Image) -> Image {
    let middle = left.shape()[1] / 2;
    Tensor::concat(&[left.slice(s![.., ..middle as isize]), right.slice(s![.., middle as isize..])], 1)
}

/// Traces and evaluates a step, and prints its cost.
fn step<R: Traverse>(name: &str, trace: impl FnOnce() -> jit::Result<R>) -> Result<R, String> {
    let (before, begin) = (jit::stats(), Instant::now());
    let result = trace().map_err(text)?;
    jit::eval(&result).and_then(|()| jit::sync()).map_err(text)?;
    let after = jit::stats();
    println!(
        "  {name:<10} {:>2} kernels, {:>2} compiled, {:>7.2} ms",
        after.launches - before.launches,
        after.compiles - before.compiles,
        begin.elapsed().as_secs_f64() * 1e3
    );
    Ok(result)
}
