//! Draws the Mandelbrot set: `cargo run --release --example mandelbrot [-- [--size N] [--out DIR]]`.
//!
//! Shows a loop whose number of iterations differs by lane, with one lane per pixel.
#![allow(clippy::print_stdout, reason = "this program prints its report")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use image::RgbImage;
use jit::prelude::*;

/// The number of iterations after which a point counts as one that never escapes.
const LIMIT: u32 = 400;

/// Returns the number of steps of `z = z² + c` until `z` leaves the circle of radius 2.
#[jit]
fn escape_time(cx: Float, cy: Float, #[constexpr] limit: u32) -> UInt {
    let (mut x, mut y, mut n) = (cx.zeros_like(), cx.zeros_like(), UInt::from(0));
    while x * x + y * y < 4.0 && n < limit {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        n += 1;
    }
    n
}

/// Returns the points of the plane at the middles of `size` × `size` pixels: real parts from -2.25 to 0.75, imaginary
/// parts from 1.5 to -1.5.
#[jit]
fn points(size: u32) -> (Float, Float) {
    let pixel = UInt::arange((size * size) as usize);
    let scale = 3.0 / size as f32;
    let across = ((pixel % size).cast::<f32>() + 0.5) * scale;
    let down = ((pixel / size).cast::<f32>() + 0.5) * scale;
    (across - 2.25, 1.5 - down)
}

/// A palette that goes through blue, white and gold with increasing escape time; the set itself is black.
#[jit]
fn colour(time: &UInt, #[constexpr] limit: u32) -> (UInt8, UInt8, UInt8) {
    let phase = (time.cast::<f32>() + 1.0).ln() * 1.3;
    let shade = |offset: f32| {
        let brightness = 0.5 - 0.5 * (phase + offset).cos();
        let inside = if time >= limit { Float::from(0.0) } else { brightness };
        (inside * 255.0 + 0.5).cast::<u8>()
    };
    (shade(0.0), shade(0.4), shade(0.9))
}

/// Returns the picture, `size` pixels wide and high.
fn draw(size: u32) -> Result<RgbImage, jit::Error> {
    let (cx, cy) = points(size);
    let (red, green, blue) = colour(&escape_time(cx, cy, LIMIT), LIMIT);
    jit::eval(&(&red, &green, &blue))?;
    let (red, green, blue) = (red.to_vec()?, green.to_vec()?, blue.to_vec()?);
    Ok(RgbImage::from_fn(size, size, |x, y| {
        let pixel = (y * size + x) as usize;
        image::Rgb([red[pixel], green[pixel], blue[pixel]])
    }))
}

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let (mut size, mut folder) = (1024, PathBuf::from("out"));
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--size" => {
                let number = rest.next().and_then(|text| text.parse().ok()).filter(|size| (1..=16384).contains(size));
                size = number.ok_or("--size takes a number of pixels from 1 to 16384")?;
            }
            "--out" => folder = rest.next().ok_or("--out takes a folder")?.into(),
            other => return Err(format!("there is no option {other}; usage: mandelbrot [--size N] [--out DIR]")),
        }
    }
    let picture = timed("first", size)?;
    timed("second", size)?;
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let path = folder.join("mandelbrot.png");
    picture.save(&path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// Draws the picture and prints the time and the number of compiled kernels.
fn timed(run: &str, size: u32) -> Result<RgbImage, String> {
    let (before, begin) = (jit::stats(), Instant::now());
    let picture = draw(size).map_err(|error| error.to_string())?;
    let (milliseconds, compiled) = (begin.elapsed().as_secs_f64() * 1e3, jit::stats().compiles - before.compiles);
    println!("{run} run: {size} × {size} pixels in {milliseconds:.1} ms, {compiled} kernel(s) compiled");
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the same iteration for one point, in the same order of operations.
    fn escape_time_of(cx: f32, cy: f32, limit: u32) -> u32 {
        let (mut x, mut y, mut n) = (0.0_f32, 0.0_f32, 0);
        while x * x + y * y < 4.0 && n < limit {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            n += 1;
        }
        n
    }

    #[test]
    fn escape_times_agree_with_plain_rust() {
        let size = 64;
        let (cx, cy) = points(size);
        let times = escape_time(cx.clone(), cy.clone(), LIMIT).to_vec().unwrap();
        let (cx, cy) = (cx.to_vec().unwrap(), cy.to_vec().unwrap());
        let wanted: Vec<u32> = cx.iter().zip(&cy).map(|(cx, cy)| escape_time_of(*cx, *cy, LIMIT)).collect();
        assert_eq!(times, wanted);
        assert!(
            times.contains(&LIMIT) && times.iter().any(|time| *time < 5),
            "the picture has an inside and an outside"
        );
    }

    #[test]
    fn the_set_is_black_and_its_surroundings_are_not() {
        let picture = draw(64).unwrap();
        // The origin is in the set: 2.25 / 3 from the left, halfway down.
        assert_eq!(picture.get_pixel(48, 32).0, [0, 0, 0]);
        assert_ne!(picture.get_pixel(1, 1).0, [0, 0, 0]);
    }
}
