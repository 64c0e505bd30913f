//! Compares the filter with the same filter in plain Rust, one pixel at a time, and checks the errors for bad pictures.

use std::path::Path;

use image::{Rgb, RgbImage};
use jit::prelude::*;

use crate::{filter, picture};

/// Returns a small picture with an edge, a ramp and noise.
fn synthetic(width: u32, height: u32) -> RgbImage {
    let clean = RgbImage::from_fn(width, height, |x, y| {
        let bright = if x > width / 2 { 200 } else { 40 };
        Rgb([bright, (x * 9 % 256) as u8, (y * 7 % 256) as u8])
    });
    picture::with_noise(clean, 12.0)
}

/// Planar channels with values from 0 to 1.
fn planes(picture: &RgbImage) -> [Vec<f32>; 3] {
    std::array::from_fn(|c| picture.pixels().map(|pixel| f32::from(pixel.0[c]) / 255.0).collect())
}

/// Returns the bilateral filter for one pixel.
fn denoise_pixel(planes: &[Vec<f32>; 3], size: (i32, i32), at: (i32, i32), strength: f32, radius: i32) -> [f32; 3] {
    let ((width, height), (column, row)) = (size, at);
    let centre = (row * width + column) as usize;
    let (mut sums, mut weights) = ([0.0; 3], 0.0);
    for down in -radius..=radius {
        for right in -radius..=radius {
            let (x, y) = (column + right, row + down);
            if x < 0 || y < 0 || x >= width || y >= height {
                continue;
            }
            let neighbour = (y * width + x) as usize;
            let difference: f32 = planes.iter().map(|plane| (plane[neighbour] - plane[centre]).powi(2)).sum();
            let far = (right * right + down * down) as f32 * 2.0 / (radius * radius) as f32;
            let weight = (-far - difference * 0.5 / (strength * strength)).exp();
            weights += weight;
            for (sum, plane) in sums.iter_mut().zip(planes) {
                *sum += weight * plane[neighbour];
            }
        }
    }
    sums.map(|sum| sum / weights)
}

/// Unsharp masking for one pixel.
fn sharpen_pixel(plane: &[f32], (width, height): (i32, i32), at: (i32, i32), amount: f32, threshold: f32) -> f32 {
    let mut blurred = 0.0;
    for (down, weight_down) in [(-1, 0.25), (0, 0.5), (1, 0.25)] {
        for (right, weight_right) in [(-1, 0.25), (0, 0.5), (1, 0.25)] {
            let (x, y) = ((at.0 + right).clamp(0, width - 1), (at.1 + down).clamp(0, height - 1));
            blurred += plane[(y * width + x) as usize] * weight_down * weight_right;
        }
    }
    let value = plane[(at.1 * width + at.0) as usize];
    let detail = value - blurred;
    if detail.abs() > threshold { (value + amount * detail).clamp(0.0, 1.0) } else { value }
}

fn assert_close(what: &str, got: &[f32], wanted: &[f32]) {
    assert_eq!(got.len(), wanted.len());
    for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        assert!((got - wanted).abs() < 1e-5, "{what}: pixel {i} is {got} instead of {wanted}");
    }
}

fn positions((width, height): (i32, i32)) -> impl Iterator<Item = (i32, i32)> {
    (0..height).flat_map(move |row| (0..width).map(move |column| (column, row)))
}

/// Runs the filter on a picture and compares each stage with plain Rust.
fn compare(width: u32, height: u32, radius: i32) {
    let picture = synthetic(width, height);
    let size = (width as i32, height as i32);
    let (columns, rows) = (Int::opaque(size.0), Int::opaque(size.1));
    let pixels = (width * height) as usize;
    let (strength, amount, threshold) = (0.15, 1.5, 0.01);

    let bytes = UInt8::from(picture.as_raw().as_slice());
    let channels = filter::unpack(&bytes, pixels);
    let wanted = planes(&picture);
    for (channel, wanted) in [&channels.0, &channels.1, &channels.2].iter().zip(&wanted) {
        assert_close("unpack", &channel.to_vec().unwrap(), wanted);
    }
    let smooth = filter::denoise(&channels, &columns, &rows, &Float::opaque(strength), radius);
    let denoised: Vec<[f32; 3]> =
        positions(size).map(|at| denoise_pixel(&wanted, size, at, strength, radius)).collect();
    for (c, channel) in [&smooth.0, &smooth.1, &smooth.2].into_iter().enumerate() {
        let wanted: Vec<f32> = denoised.iter().map(|pixel| pixel[c]).collect();
        assert_close("denoise", &channel.to_vec().unwrap(), &wanted);
        let sharp = filter::sharpen(channel, &columns, &rows, &Float::opaque(amount), &Float::opaque(threshold));
        let plane = channel.to_vec().unwrap();
        let wanted: Vec<f32> = positions(size).map(|at| sharpen_pixel(&plane, size, at, amount, threshold)).collect();
        assert_close("sharpen", &sharp.to_vec().unwrap(), &wanted);
    }
    // Splitting a picture and joining it again changes nothing.
    assert_eq!(filter::pack(&channels, pixels).to_vec().unwrap(), picture.into_raw());
}

#[test]
fn the_filter_agrees_with_plain_rust() {
    compare(37, 23, 3);
}

#[test]
fn windows_larger_than_the_picture_and_single_pixels_work() {
    compare(5, 3, 4);
    compare(1, 1, 2);
    compare(40, 1, 1);
}

#[test]
fn noise_becomes_less_and_the_edge_stays() {
    let picture = synthetic(64, 64);
    let (columns, rows) = (Int::opaque(64), Int::opaque(64));
    let channels = filter::unpack(&UInt8::from(picture.as_raw().as_slice()), 64 * 64);
    let smooth = filter::denoise(&channels, &columns, &rows, &Float::opaque(0.15), 4);
    let (before, after) = (channels.0.to_vec().unwrap(), smooth.0.to_vec().unwrap());
    // The left half has one brightness in the red channel, and the right half another.
    let half = |plane: &[f32], left: bool| -> (f32, f32) {
        let values: Vec<f32> = (0..64 * 64).filter(|i| (i % 64 <= 32) == left).map(|i| plane[i]).collect();
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / values.len() as f32)
    };
    for left in [true, false] {
        let ((mean_before, noise_before), (mean_after, noise_after)) = (half(&before, left), half(&after, left));
        assert!(noise_after < 0.5 * noise_before, "noise went from {noise_before} to {noise_after}");
        assert!((mean_after - mean_before).abs() < 0.02, "brightness went from {mean_before} to {mean_after}");
    }
}

#[test]
fn bad_pictures_get_one_clear_sentence() {
    let folder = std::env::temp_dir().join(format!("jit-photo-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = folder.join("text.png");
    std::fs::write(&text, "this is not a picture").unwrap();
    let huge = folder.join("huge.png");
    std::fs::write(&huge, png_header(60_000, 60_000)).unwrap();
    let cut = folder.join("cut.png");
    picture::write(&synthetic(64, 64), &cut).unwrap();
    let bytes = std::fs::read(&cut).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();

    let message = |path: &Path| picture::read(path).unwrap_err();
    assert!(message(&folder.join("none.png")).starts_with("cannot open"));
    assert!(message(&folder).contains("is a folder"));
    assert!(message(&text).contains("is not a PNG or JPEG picture"));
    assert!(message(&huge).contains("has 3600000000 pixels; at most"));
    assert!(message(&cut).contains("is damaged"));
    for path in [&text, &huge, &cut] {
        assert_eq!(message(path).lines().count(), 1);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Returns the beginning of a PNG file with the size of a picture, up to the start of its data.
fn png_header(width: u32, height: u32) -> Vec<u8> {
    let mut header = b"IHDR".to_vec();
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    header.extend([8, 2, 0, 0, 0]);
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0d".to_vec();
    bytes.extend(&header);
    bytes.extend(crc32(&header).to_be_bytes());
    // A data chunk that announces itself and then ends.
    bytes.extend(b"\0\0\0\x01IDAT");
    bytes
}

/// Returns the checksum of PNG chunks (ISO 3309).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}
