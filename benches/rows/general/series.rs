//! Series of numbers in time.

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::u01s;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// The mean of each element and of those before it in a window, by sums of all before.
fn moving_mean(x: &Float, window: usize) -> Float {
    let sums = Float::concat(&[&Float::zeros(1), &x.prefix_sum()]);
    (sums.slice(window..) - sums.slice(..x.len() + 1 - window)) / window as f32
}

#[freeze]
fn frozen_moving_mean(x: &Float, window: usize) -> Float {
    moving_mean(x, window)
}

fn plain_moving_mean(threads: Threads, x: &[f32], window: usize) -> Vec<f32> {
    const CHUNK: usize = 1 << 14;
    let mut result = vec![0.0; x.len() + 1 - window];
    threads.chunks(&mut result, CHUNK, |i, result| {
        let x = &x[i * CHUNK..];
        let mut sum: f32 = x[..window].iter().sum();
        result[0] = sum / window as f32;
        for (result, (old, new)) in result[1..].iter_mut().zip(x.iter().zip(&x[window..])) {
            sum += new - old;
            *result = sum / window as f32;
        }
    });
    result
}

/// G29: the moving mean of four million numbers over 100.
pub(crate) fn moving_means(bench: &Bench) -> Result<(), RowError> {
    const N: usize = 4_000_000;
    const WINDOW: usize = 100;
    // Whole numbers, as differences of long sums of others are not exact.
    let x: Vec<f32> = u01s(N, 1, |u| (u * 8.0).floor() - 3.5);
    let array = resident(x.clone())?;
    let frozen: &dyn Fn() -> Float = &|| frozen_moving_mean(&array, WINDOW);
    let rust = |threads| plain_moving_mean(threads, &x, WINDOW);
    let jit = || moving_mean(&array, WINDOW);
    Program { workload: "G29", tolerance: 1e-3, jit: &jit, frozen: Some(frozen), rust: &rust }.run(bench)
}

/// Smooths each column of a table exponentially, row by row.
#[jit]
fn smoothed(table: &Float, columns: usize, alpha: f32) -> Float {
    let column = UInt::arange(columns);
    let rows = UInt::from(table.width() / columns);
    let mut result = Float::zeros(table.width());
    let mut level = table[column];
    for row in 0..rows {
        let i = row * columns as u32 + column;
        level += alpha * (table[i] - level);
        result[i] = level.clone();
    }
    result
}

fn plain_smoothed(threads: Threads, table: &[f32], columns: usize, alpha: f32) -> Vec<f32> {
    let mut result = vec![0.0; table.len()];
    // Each thread takes some of the columns: a list of the pieces of rows that it writes.
    let parts = if threads == Threads::One { 1 } else { rayon::current_num_threads() };
    let length = columns.div_ceil(parts);
    let mut pieces: Vec<Vec<&mut [f32]>> = (0..parts).map(|_| Vec::new()).collect();
    for row in result.chunks_mut(columns) {
        pieces.iter_mut().zip(row.chunks_mut(length)).for_each(|(list, piece)| list.push(piece));
    }
    threads.chunks(&mut pieces, 1, |part, pieces| {
        let columns_of = |row: &'_ [f32]| -> Vec<f32> { row.chunks(length).nth(part).unwrap_or_default().to_vec() };
        let mut level = columns_of(&table[..columns]);
        for (row, result) in table.chunks(columns).zip(&mut pieces[0]) {
            let row = &row[part * length..];
            for ((level, result), x) in level.iter_mut().zip(result.iter_mut()).zip(row) {
                *level += alpha * (x - *level);
                *result = *level;
            }
        }
    });
    result
}

/// G30: exponential smoothing of 5000 series of 1600 numbers.
pub(crate) fn smoothing(bench: &Bench) -> Result<(), RowError> {
    const COLUMNS: usize = 5000;
    let table: Vec<f32> = u01s(COLUMNS * 1600, 1, |u| u);
    let array = resident(table.clone())?;
    let rust = |threads| plain_smoothed(threads, &table, COLUMNS, 0.1);
    let jit = || smoothed(&array, COLUMNS, 0.1);
    Program { workload: "G30", tolerance: 1e-4, jit: &jit, frozen: None, rust: &rust }.run(bench)
}

/// A filter with two states along each series; one series comes after another.
#[jit]
fn filtered(signals: &Float, length: usize) -> Float {
    let series = UInt::arange(signals.width() / length);
    let samples = UInt::from(length as u32);
    let mut result = Float::zeros(signals.width());
    let (mut first, mut second) = (series.cast::<f32>() * 0.0, series.cast::<f32>() * 0.0);
    for sample in 0..samples {
        let i = series * length as u32 + sample;
        let x = signals[i];
        let y = x * 0.2 + first;
        first = x * 0.4 + y * 0.5 + second;
        second = x * 0.2 - y * 0.25;
        result[i] = y;
    }
    result
}

fn plain_filtered(threads: Threads, signals: &[f32], length: usize) -> Vec<f32> {
    let mut result = vec![0.0; signals.len()];
    threads.chunks(&mut result, length, |number, result| {
        let (mut first, mut second) = (0.0, 0.0);
        for (y, x) in result.iter_mut().zip(&signals[number * length..]) {
            *y = x * 0.2 + first;
            first = x * 0.4 + *y * 0.5 + second;
            second = x * 0.2 - *y * 0.25;
        }
    });
    result
}

/// G42a: a recursive filter of 256 signals of 4096 samples. Samples at the same time are a power of two apart.
pub(crate) fn filters(bench: &Bench) -> Result<(), RowError> {
    const SAMPLES: usize = 4096;
    let signals: Vec<f32> = u01s(256 * SAMPLES, 1, |u| u - 0.5);
    let array = resident(signals.clone())?;
    let rust = |threads| plain_filtered(threads, &signals, SAMPLES);
    let jit = || filtered(&array, SAMPLES);
    Program { workload: "G42a", tolerance: 1e-4, jit: &jit, frozen: None, rust: &rust }.run(bench)
}
