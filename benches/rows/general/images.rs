//! Filters of pictures.

#![allow(clippy::needless_range_loop, reason = "neighbours are read by their columns")]

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::u01s;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// The distance of the farthest pixels that a blur adds up.
const RADIUS: usize = 5;

/// The weights of a blur.
fn bell() -> Vec<f32> {
    let weights: Vec<f32> = (0..=2 * RADIUS).map(|k| (-(k as f32 - RADIUS as f32).powi(2) / 8.0).exp()).collect();
    let sum: f32 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// A Gaussian blur, first along rows, then along columns.
#[jit]
fn blurred(picture: &Float, width: i32, height: i32, weights: &[f32]) -> Float {
    let i = Int::arange(picture.width());
    let (x, y) = (i % width, i / width);
    let radius = weights.len() as i32 / 2;
    let mut across = Float::from(0.0);
    for (k, &weight) in weights.iter().enumerate() {
        let beside = (x + (k as i32 - radius)).clamp(0, width - 1);
        across += weight * picture[y * width + beside];
    }
    let mut result = Float::from(0.0);
    for (k, &weight) in weights.iter().enumerate() {
        let beside = (y + (k as i32 - radius)).clamp(0, height - 1);
        result += weight * across[beside * width + x];
    }
    result
}

#[freeze]
fn frozen_blurred(picture: &Float, width: i32, height: i32) -> Float {
    blurred(picture, width, height, &bell())
}

fn plain_blurred(threads: Threads, picture: &[f32], width: usize, weights: &[f32]) -> Vec<f32> {
    let height = picture.len() / width;
    let mut across = vec![0.0; picture.len()];
    threads.chunks(&mut across, width, |y, across| {
        let row = &picture[y * width..][..width];
        // The row with its first and last pixel repeated.
        let mut padded = vec![row[0]; RADIUS];
        padded.extend_from_slice(row);
        padded.resize(width + 2 * RADIUS, row[width - 1]);
        for (k, weight) in weights.iter().enumerate() {
            across.iter_mut().zip(&padded[k..]).for_each(|(sum, x)| *sum += weight * x);
        }
    });
    let mut result = vec![0.0; picture.len()];
    threads.chunks(&mut result, width, |y, result| {
        for (k, weight) in weights.iter().enumerate() {
            let beside = (y + k).saturating_sub(RADIUS).min(height - 1);
            result.iter_mut().zip(&across[beside * width..]).for_each(|(sum, x)| *sum += weight * x);
        }
    });
    result
}

type Filter<'a> = &'a dyn Fn(&Float) -> Float;

/// A row that filters a picture.
fn filter(
    bench: &Bench,
    workload: &'static str,
    [width, height]: [usize; 2],
    ours: [Filter<'_>; 2],
    plain: impl Fn(Threads, &[f32]) -> Vec<f32>,
) -> Result<(), RowError> {
    let picture: Vec<f32> = u01s(width * height, 1, |u| u);
    let array = resident(picture.clone())?;
    let frozen: &dyn Fn() -> Float = &|| ours[1](&array);
    let rust = |threads| plain(threads, &picture);
    Program { workload, tolerance: 1e-4, jit: &|| ours[0](&array), frozen: Some(frozen), rust: &rust }.run(bench)
}

/// G16: a Gaussian blur of 1920 × 1080 pixels.
pub(crate) fn blur(bench: &Bench) -> Result<(), RowError> {
    let weights = bell();
    let ours: [Filter<'_>; 2] =
        [&|picture| blurred(picture, 1920, 1080, &weights), &|picture| frozen_blurred(picture, 1920, 1080)];
    filter(bench, "G16", [1920, 1080], ours, |threads, picture| plain_blurred(threads, picture, 1920, &weights))
}

/// The median of each pixel and its eight neighbours.
#[jit]
fn cleaned(picture: &Float, width: i32, height: i32) -> Float {
    let i = Int::arange(picture.width());
    let (x, y) = (i % width, i / width);
    let mut window = Vec::new();
    for dy in -1..=1 {
        for dx in -1..=1 {
            let (x, y) = ((x + dx).clamp(0, width - 1), (y + dy).clamp(0, height - 1));
            window.push(picture[y * width + x]);
        }
    }
    for k in 0..5 {
        for j in k + 1..9 {
            let (low, high) = (window[k].min(&window[j]), window[k].max(&window[j]));
            window[k] = low;
            window[j] = high;
        }
    }
    window[4].clone()
}

#[freeze]
fn frozen_cleaned(picture: &Float, width: i32, height: i32) -> Float {
    cleaned(picture, width, height)
}

fn plain_cleaned(threads: Threads, picture: &[f32], width: usize) -> Vec<f32> {
    let height = picture.len() / width;
    let mut result = vec![0.0; picture.len()];
    threads.chunks(&mut result, width, |y, result| {
        let row = |y: usize| &picture[y * width..][..width];
        let (above, here, below) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(height - 1)));
        let median = |l: usize, x: usize, r: usize| {
            let mut w = [above[l], above[x], above[r], here[l], here[x], here[r], below[l], below[x], below[r]];
            for k in 0..5 {
                for j in k + 1..9 {
                    // The numbers are not NaN, so comparisons do, which are faster than `min` and `max`.
                    (w[k], w[j]) = (if w[k] < w[j] { w[k] } else { w[j] }, if w[k] < w[j] { w[j] } else { w[k] });
                }
            }
            w[4]
        };
        let result = &mut result[..width];
        result[0] = median(0, 0, 1);
        for x in 1..width - 1 {
            result[x] = median(x - 1, x, x + 1);
        }
        result[width - 1] = median(width - 2, width - 1, width - 1);
    });
    result
}

/// G17: the median filter on 1920 × 1080 pixels.
pub(crate) fn median(bench: &Bench) -> Result<(), RowError> {
    let ours: [Filter<'_>; 2] =
        [&|picture| cleaned(picture, 1920, 1080), &|picture| frozen_cleaned(picture, 1920, 1080)];
    filter(bench, "G17", [1920, 1080], ours, |threads, picture| plain_cleaned(threads, picture, 1920))
}

/// A bilateral filter (C. Tomasi and R. Manduchi, 1998): the mean of pixels that are near, in place and in brightness.
#[jit]
fn smoothed(picture: &Float, width: i32, height: i32, radius: i32) -> Float {
    let i = Int::arange(picture.width());
    let (x, y) = (i % width, i / width);
    let (mut sum, mut weights) = (Float::from(0.0), Float::from(0.0));
    for dy in Int::from(-radius)..=Int::from(radius) {
        for dx in Int::from(-radius)..=Int::from(radius) {
            let other = picture[(y + dy).clamp(0, height - 1) * width + (x + dx).clamp(0, width - 1)];
            let difference = other - picture;
            let distance = (dx * dx + dy * dy).cast::<f32>();
            let weight = (-0.1 * distance - 20.0 * difference * difference).exp();
            sum += weight * other;
            weights += weight;
        }
    }
    sum / weights
}

#[freeze]
fn frozen_smoothed(picture: &Float, width: i32, height: i32, radius: i32) -> Float {
    smoothed(picture, width, height, radius)
}

fn plain_smoothed(threads: Threads, picture: &[f32], width: usize, radius: isize) -> Vec<f32> {
    let height = picture.len() / width;
    let mut result = vec![0.0; picture.len()];
    threads.chunks(&mut result, width, |y, result| {
        for (x, result) in result.iter_mut().enumerate() {
            let here = picture[y * width + x];
            let (mut sum, mut weights) = (0.0, 0.0);
            for dy in -radius..=radius {
                let row = &picture[y.saturating_add_signed(dy).min(height - 1) * width..][..width];
                for dx in -radius..=radius {
                    let other = row[x.saturating_add_signed(dx).min(width - 1)];
                    let difference = other - here;
                    let distance = (dx * dx + dy * dy) as f32;
                    let weight = (-0.1 * distance - 20.0 * difference * difference).exp();
                    sum += weight * other;
                    weights += weight;
                }
            }
            *result = sum / weights;
        }
    });
    result
}

/// G18: a bilateral filter of 7 × 7 pixels on 640 × 480.
pub(crate) fn bilateral(bench: &Bench) -> Result<(), RowError> {
    let ours: [Filter<'_>; 2] =
        [&|picture| smoothed(picture, 640, 480, 3), &|picture| frozen_smoothed(picture, 640, 480, 3)];
    filter(bench, "G18", [640, 480], ours, |threads, picture| plain_smoothed(threads, picture, 640, 3))
}
