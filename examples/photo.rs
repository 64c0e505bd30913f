//! Denoises and sharpens a photograph: `cargo run --release --example photo [-- [PATH] [--out DIR] …]`.
//!
//! Without a path it uses the photograph in `assets/`. The filter is in `photo/filter.rs`. This program calls it step
//! by step, and for each step reports the recorded nodes, the kernels that were compiled or found in the cache, and the
//! time. The second run of the same steps traces again and compiles nothing.
#![allow(clippy::print_stdout, reason = "this program prints its report")]

#[path = "photo/filter.rs"]
mod filter;
#[path = "photo/picture.rs"]
mod picture;
#[path = "photo/progress.rs"]
mod progress;
#[cfg(test)]
#[path = "photo/tests.rs"]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use image::RgbImage;
use jit::prelude::*;

const USAGE: &str = "usage: photo [PATH] [--out DIR] [--noise] [--radius N] [--strength X] [--sharpness X]

  PATH           a PNG or JPEG picture; without it, the photograph in assets/
  --out DIR      where photo.png and photo-side-by-side.png go (default: out)
  --noise        adds noise first, which is then removed
  --radius N     pixels from the centre to the edge of the window, 1 to 16 (default: 4)
  --strength X   how different colours may be and still be averaged, 0.001 to 1 (default: 0.05; with --noise: 0.2)
  --sharpness X  how much edges are emphasised, 0 to 10 (default: 1)";

/// The options of the command line.
struct Options {
    picture: PathBuf,
    out: PathBuf,
    noise: bool,
    radius: i32,
    /// `None` chooses a value for the picture.
    strength: Option<f32>,
    sharpness: f32,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match Options::parse(&arguments).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options {
            picture: PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/coffee.jpg")),
            out: PathBuf::from("out"),
            noise: false,
            radius: 4,
            strength: None,
            sharpness: 1.0,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--noise" => options.noise = true,
                "--out" => options.out = rest.next().ok_or("--out takes a folder")?.into(),
                "--radius" => options.radius = number(argument, rest.next(), 1, 16)?,
                "--strength" => options.strength = Some(number(argument, rest.next(), 1e-3, 1.0)?),
                "--sharpness" => options.sharpness = number(argument, rest.next(), 0.0, 10.0)?,
                option if option.starts_with("--") => return Err(format!("there is no option {option}\n{USAGE}")),
                path => options.picture = path.into(),
            }
        }
        Ok(options)
    }
}

/// Parses a number of the command line that must be in a range.
fn number<T>(option: &str, text: Option<&String>, low: T, high: T) -> Result<T, String>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let value = text.and_then(|text| text.parse().ok()).filter(|value| low <= *value && *value <= high);
    value.ok_or_else(|| format!("{option} takes a number from {low} to {high}"))
}

/// Reads the picture, filters it twice, and writes the result next to the original.
fn run(options: &Options) -> Result<(), String> {
    let mut original = picture::read(&options.picture)?;
    make_folder(&options.out)?;
    println!("{}: {} × {} pixels", options.picture.display(), original.width(), original.height());
    describe_device();
    if options.noise {
        original = picture::with_noise(original, 20.0);
    }
    println!("first run: kernels are compiled");
    let filtered = enhance(&original, options).map_err(|error| error.to_string())?;
    println!("second run: the functions are traced again, the kernels come from the cache");
    let again = enhance(&original, options).map_err(|error| error.to_string())?;
    if filtered != again {
        return Err("the two runs gave different pictures".into());
    }
    save(&original, &filtered, options)
}

/// Prints the device.
fn describe_device() {
    let current = Float::from(0.0).device();
    if let Some(device) = jit::devices().into_iter().find(|info| info.device == current) {
        match device.unavailable {
            None => println!("device {current}: {} lanes at once, {} thread(s)", device.vector_lanes, device.threads),
            Some(_) => println!("device {current}: not available, the interpreter does the work"),
        }
    }
}

/// Runs the whole filter, step by step.
fn enhance(original: &RgbImage, options: &Options) -> Result<RgbImage, jit::Error> {
    let begin = Instant::now();
    let pixels = original.width() as usize * original.height() as usize;
    let bytes = UInt8::from(original.as_raw().as_slice());
    // Opaque values are not part of the code, so other sizes and strengths use the same kernels.
    let (columns, rows) = (Int::opaque(original.width() as i32), Int::opaque(original.height() as i32));
    let strength = Float::opaque(options.strength.unwrap_or(if options.noise { 0.2 } else { 0.05 }));
    let (amount, threshold) = (Float::opaque(options.sharpness), Float::opaque(0.004));

    let channels = step("unpack", || filter::unpack(&bytes, pixels))?;
    let smooth = step("denoise", || filter::denoise(&channels, &columns, &rows, &strength, options.radius))?;
    let sharp = step("sharpen", || {
        let sharpen = |channel: &Float| filter::sharpen(channel, &columns, &rows, &amount, &threshold);
        (sharpen(&smooth.0), sharpen(&smooth.1), sharpen(&smooth.2))
    })?;
    let bytes = step("pack", || filter::pack(&sharp, pixels))?;
    let result = RgbImage::from_raw(original.width(), original.height(), bytes.to_vec()?);
    println!("  all steps in {:.2} ms", milliseconds(begin.elapsed()));
    Ok(result.expect("three bytes a pixel"))
}

/// Traces a step, evaluates it, waits for it and reports. Evaluating all steps at once would work as well; separately,
/// each can be timed.
fn step<R: jit::Traverse>(name: &str, trace: impl FnOnce() -> R) -> Result<R, jit::Error> {
    drop(jit::kernel_history());
    let begin = Instant::now();
    let (result, tracing) = progress::while_running(name, || {
        let result = trace();
        let tracing = begin.elapsed();
        jit::eval(&result)?;
        jit::sync()?;
        Ok::<_, jit::Error>((result, tracing))
    })?;
    report(name, tracing, begin.elapsed(), &jit::kernel_history());
    Ok(result)
}

/// Prints one line for a step: the trace, its kernels, their origin, and the total time.
fn report(name: &str, tracing: Duration, total: Duration, kernels: &[jit::KernelRecord]) {
    let operations: usize = kernels.iter().map(|kernel| kernel.ops).sum();
    let compiled: Vec<_> = kernels.iter().filter(|kernel| !kernel.is_hit).collect();
    let compiling: Duration = compiled.iter().map(|kernel| kernel.compile_time).sum();
    let running: Duration = kernels.iter().filter_map(|kernel| kernel.execution_time).sum();
    let origin = match compiled.len() {
        0 => "from the cache".to_owned(),
        _ => format!("compiled in {:.1} ms", milliseconds(compiling)),
    };
    println!(
        "  {name:<8} traced in {:>6.3} ms | {} kernel of {operations:>3} operations {origin:<20} | ran {:>8.2} ms | in \
        all {:>8.2} ms",
        milliseconds(tracing),
        kernels.len(),
        milliseconds(running),
        milliseconds(total)
    );
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Creates the folder for the results if it does not exist, before the work is done.
fn make_folder(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

/// Writes both pictures into the folder.
fn save(original: &RgbImage, filtered: &RgbImage, options: &Options) -> Result<(), String> {
    let folder = &options.out;
    let (result, both) = (folder.join("photo.png"), folder.join("photo-side-by-side.png"));
    picture::write(filtered, &result)?;
    picture::write(&picture::side_by_side(original, filtered), &both)?;
    println!("wrote {} and {}", result.display(), both.display());
    Ok(())
}
