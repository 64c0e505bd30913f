//! Picture files: reading, with a one-sentence message for every error, and writing.

use std::path::Path;

use image::{ImageReader, Limits, RgbImage};

/// The most pixels that a picture may have: the kernels count the bytes of its three channels in 32 bits.
const MAX_PIXELS: u64 = 1 << 28;

/// Bytes that the steps need for a pixel at their peak: the decoded picture, and two stages of three `f32` channels.
const BYTES_PER_PIXEL: u64 = 48;

/// Reads a PNG or JPEG; returns a message about the error in the file.
pub(crate) fn read(path: &Path) -> Result<RgbImage, String> {
    let name = path.display();
    if path.is_dir() {
        return Err(format!("{name} is a folder; pass the path of a PNG or JPEG file"));
    }
    let (width, height) = open(path)?
        .into_dimensions()
        .map_err(|error| format!("{name} is not a PNG or JPEG picture that can be read: {}", one_line(&error)))?;
    check_size(path, u64::from(width) * u64::from(height))?;
    let mut reader = open(path)?;
    // `check_size` has compared the picture with the available memory; the decoder's own limit is much lower.
    reader.limits(Limits::no_limits());
    let picture = reader.decode().map_err(|error| format!("{name} is damaged: {}", one_line(&error)))?;
    Ok(picture.into_rgb8())
}

fn open(path: &Path) -> Result<ImageReader<std::io::BufReader<std::fs::File>>, String> {
    ImageReader::open(path)
        .and_then(ImageReader::with_guessed_format)
        .map_err(|error| format!("cannot open {}: {}", path.display(), one_line(&error)))
}

/// Rejects a picture that the kernels can't count or that does not fit into memory.
fn check_size(path: &Path, pixels: u64) -> Result<(), String> {
    let name = path.display();
    if pixels > MAX_PIXELS {
        return Err(format!("{name} has {pixels} pixels; at most {MAX_PIXELS} can be worked on at once"));
    }
    let needed = pixels * BYTES_PER_PIXEL;
    match available_memory() {
        Some(available) if needed > available => Err(format!(
            "{name} has {pixels} pixels, which takes about {} MiB of memory; {} MiB are free",
            needed >> 20,
            available >> 20
        )),
        _ => Ok(()),
    }
}

/// Returns the bytes of memory still available to programs, if the system reports it.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Writes a picture; the extension of the path determines the format.
pub(crate) fn write(picture: &RgbImage, path: &Path) -> Result<(), String> {
    picture.save(path).map_err(|error| format!("cannot write {}: {}", path.display(), one_line(&error)))
}

/// Joins two pictures of one size, the first on the left.
pub(crate) fn side_by_side(left: &RgbImage, right: &RgbImage) -> RgbImage {
    let (width, height) = left.dimensions();
    RgbImage::from_fn(
        2 * width,
        height,
        |x, y| {
            if x < width { *left.get_pixel(x, y) } else { *right.get_pixel(x - width, y) }
        },
    )
}

/// Adds noise with a standard deviation of about `amount` (of 255), the same each time.
pub(crate) fn with_noise(mut picture: RgbImage, amount: f32) -> RgbImage {
    let mut state = 1_u64;
    // The sum of four uniform numbers is nearly normal; its standard deviation is 1/sqrt(3).
    let mut normal = || {
        let sum: f32 = (0..4).map(|_| uniform(&mut state)).sum();
        (sum - 2.0) * 3.0_f32.sqrt()
    };
    for byte in picture.iter_mut() {
        *byte = (f32::from(*byte) + amount * normal()).round().clamp(0.0, 255.0) as u8;
    }
    picture
}

/// Returns the next number in [0, 1) of a 64-bit linear congruential generator (Knuth's MMIX constants).
fn uniform(state: &mut u64) -> f32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 40) as f32 / (1 << 24) as f32
}

/// Returns an error without line breaks.
fn one_line(error: &impl std::fmt::Display) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
