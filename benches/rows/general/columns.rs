//! Means and variances of columns, and their products with another one.

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::u01s;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

fn statistics(table: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
    (table.mean(0), table.var(0, 0))
}

#[freeze]
fn frozen_statistics(table: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
    statistics(table)
}

/// Sums of the columns of some rows.
struct Sums(Vec<f32>);

impl std::iter::Sum for Sums {
    fn sum<I: Iterator<Item = Self>>(mut parts: I) -> Self {
        let mut all = parts.next().unwrap_or(Sums(Vec::new()));
        parts.for_each(|Sums(part)| all.0.iter_mut().zip(part).for_each(|(all, part)| *all += part));
        all
    }
}

/// Tall tables: rows are added up in parts.
fn plain_tall<const COLUMNS: usize>(threads: Threads, table: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let rows = table.as_chunks::<COLUMNS>().0;
    let mean_of = |map: &(dyn Fn(&[f32; COLUMNS]) -> [f32; COLUMNS] + Sync)| -> Vec<f32> {
        let Sums(sums) = threads.sum(rows.len(), |range| {
            let mut sums = [0.0; COLUMNS];
            for row in &rows[range] {
                let row = map(row);
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            }
            Sums(sums.to_vec())
        });
        sums.iter().map(|sum| sum / rows.len() as f32).collect()
    };
    let means = mean_of(&|row| *row);
    let centre: [f32; COLUMNS] = std::array::from_fn(|k| means[k]);
    let variances = mean_of(&|row| std::array::from_fn(|k| (row[k] - centre[k]) * (row[k] - centre[k])));
    (means, variances)
}

/// Wide tables: each thread has columns of its own.
fn plain_wide(threads: Threads, table: &[f32], columns: usize) -> (Vec<f32>, Vec<f32>) {
    const CHUNK: usize = 1 << 12;
    let rows = (table.len() / columns) as f32;
    let (mut means, mut variances) = (vec![0.0; columns], vec![0.0; columns]);
    threads.chunks_of([&mut means, &mut variances], CHUNK, |i, [means, variances]| {
        for row in table.chunks(columns) {
            means.iter_mut().zip(&row[i * CHUNK..]).for_each(|(mean, x)| *mean += x);
        }
        means.iter_mut().for_each(|mean| *mean /= rows);
        for row in table.chunks(columns) {
            let pairs = variances.iter_mut().zip(means.iter());
            pairs.zip(&row[i * CHUNK..]).for_each(|((sum, mean), x)| *sum += (x - mean) * (x - mean));
        }
        variances.iter_mut().for_each(|sum| *sum /= rows);
    });
    (means, variances)
}

type Statistics = (Vec<f32>, Vec<f32>);

fn of_columns(
    bench: &Bench,
    workload: &'static str,
    shape: [usize; 2],
    plain: fn(Threads, &[f32]) -> Statistics,
) -> Result<(), RowError> {
    let table: Vec<f32> = u01s(shape[0] * shape[1], 1, |u| u);
    let tensor = Tensor::from_array(resident(table.clone())?, shape);
    let frozen: &dyn Fn() -> (Tensor<f32>, Tensor<f32>) = &|| frozen_statistics(&tensor);
    let rust = |threads| plain(threads, &table);
    Program { workload, tolerance: 1e-4, jit: &|| statistics(&tensor), frozen: Some(frozen), rust: &rust }.run(bench)
}

/// G31a: 1 000 000 × 16 numbers.
pub(crate) fn tall(bench: &Bench) -> Result<(), RowError> {
    of_columns(bench, "G31a", [1_000_000, 16], plain_tall::<16>)
}

/// G31b: 16 × 1 000 000 numbers.
pub(crate) fn wide(bench: &Bench) -> Result<(), RowError> {
    of_columns(bench, "G31b", [16, 1_000_000], |threads, table| plain_wide(threads, table, 1_000_000))
}

/// The product of a table's transpose and a column.
fn weighted(table: &Tensor<f32>, weights: &Tensor<f32>) -> Tensor<f32> {
    table.transpose().matmul(weights)
}

#[freeze]
fn frozen_weighted(table: &Tensor<f32>, weights: &Tensor<f32>) -> Tensor<f32> {
    weighted(table, weights)
}

/// Rows are added up in parts.
fn plain_weighted<const COLUMNS: usize>(threads: Threads, table: &[f32], weights: &[f32]) -> Vec<f32> {
    let rows = table.as_chunks::<COLUMNS>().0;
    let Sums(sums) = threads.sum(rows.len(), |range| {
        let mut sums = [0.0; COLUMNS];
        for (row, weight) in rows[range.clone()].iter().zip(&weights[range]) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * weight);
        }
        Sums(sums.to_vec())
    });
    sums
}

/// G31c: 1 000 000 × 10 numbers, and a column.
pub(crate) fn weighted_sums(bench: &Bench) -> Result<(), RowError> {
    const ROWS: usize = 1_000_000;
    const COLUMNS: usize = 10;
    let [table, weights] = [(ROWS * COLUMNS, 1), (ROWS, 2)].map(|(count, seed)| u01s(count, seed, |u| u));
    let ours = Tensor::from_array(resident(table.clone())?, [ROWS, COLUMNS]);
    let column = Tensor::from_array(resident(weights.clone())?, [ROWS]);
    let frozen: &dyn Fn() -> Tensor<f32> = &|| frozen_weighted(&ours, &column);
    let rust = |threads| plain_weighted::<COLUMNS>(threads, &table, &weights);
    let jit: &dyn Fn() -> Tensor<f32> = &|| weighted(&ours, &column);
    Program { workload: "G31c", tolerance: 1e-3, jit, frozen: Some(frozen), rust: &rust }.run(bench)
}
