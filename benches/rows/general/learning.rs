//! Programs that learn from data.

use std::array;

use jit::prelude::*;
use jit::tensor::keep_dims;

use super::{Program, Threads};
use crate::inputs::{hash32, u01, u01s};
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// The number of clusters.
const K: usize = 12;

/// The centres of clusters in the plane.
#[derive(Clone, Traverse)]
struct Centres {
    x: Float,
    y: Float,
}

/// Moves each centre to the mean of the points that are nearest to it (S. Lloyd, 1982).
#[jit]
fn moved(centres: &Centres, x: &Float, y: &Float, k: u32) -> Centres {
    let (mut nearest, mut least) = (UInt::from(0), Float::from(f32::INFINITY));
    for c in 0..UInt::from(k) {
        let (dx, dy) = (x - centres.x[c], y - centres.y[c]);
        let distance = dx * dx + dy * dy;
        if distance < least {
            least = distance;
            nearest = c;
        }
    }
    let count = nearest.bincount(k as usize).cast::<f32>();
    Centres {
        x: nearest.bincount_weighted(x, k as usize) / &count,
        y: nearest.bincount_weighted(y, k as usize) / count,
    }
}

#[freeze]
fn frozen_moved(centres: &Centres, x: &Float, y: &Float, k: u32) -> Centres {
    moved(centres, x, y, k)
}

/// For each cluster the sums of both coordinates, and the number of points.
struct Sums([[f32; 3]; K]);

impl std::iter::Sum for Sums {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Sums([[0.0; 3]; K]), |a, b| Sums(array::from_fn(|c| array::from_fn(|k| a.0[c][k] + b.0[c][k]))))
    }
}

fn plain_moved(threads: Threads, centres: &mut [[f32; 2]; K], x: &[f32], y: &[f32]) {
    let Sums(sums) = threads.sum(x.len(), |range| {
        let mut sums = [[0.0; 3]; K];
        for (&x, &y) in x[range.clone()].iter().zip(&y[range]) {
            let distances = centres.map(|[cx, cy]| (x - cx) * (x - cx) + (y - cy) * (y - cy));
            let (mut nearest, mut least) = (0, f32::INFINITY);
            for (c, &distance) in distances.iter().enumerate() {
                if distance < least {
                    (nearest, least) = (c, distance);
                }
            }
            sums[nearest][0] += x;
            sums[nearest][1] += y;
            sums[nearest][2] += 1.0;
        }
        Sums(sums)
    });
    *centres = sums.map(|[x, y, count]| [x / count, y / count]);
}

/// G09: 8 iterations of k-means for a million points in 12 clusters.
pub(crate) fn k_means(bench: &Bench) -> Result<(), RowError> {
    const N: usize = 1_000_000;
    const ITERATIONS: usize = 8;
    let point = |seed: u32| -> Vec<f32> {
        (0..N as u32).map(|i| u01(hash32(i) % K as u32, seed) + 0.3 * u01(i, seed + 2)).collect()
    };
    let (x, y) = (point(1), point(2));
    let [ax, ay] = [resident(x.clone())?, resident(y.clone())?];
    let centres = Centres { x: resident(x[..K].to_vec())?, y: resident(y[..K].to_vec())? };
    let iterate = |step: fn(&Centres, &Float, &Float, u32) -> Centres| {
        let mut centres = centres.clone();
        for _ in 0..ITERATIONS {
            centres = step(&centres, &ax, &ay, K as u32);
            let _ = jit::eval(&centres);
        }
        (centres.x, centres.y)
    };
    let rust = |threads| {
        let mut centres = array::from_fn(|c| [x[c], y[c]]);
        (0..ITERATIONS).for_each(|_| plain_moved(threads, &mut centres, &x, &y));
        (centres.map(|c| c[0]).to_vec(), centres.map(|c| c[1]).to_vec())
    };
    let frozen: &dyn Fn() -> (Float, Float) = &|| iterate(frozen_moved);
    Program { workload: "G09", tolerance: 1e-3, jit: &|| iterate(moved), frozen: Some(frozen), rust: &rust }.run(bench)
}

/// A step of gradient descent for logistic regression.
#[jit]
fn descended(weights: &Tensor<f32>, x: &Tensor<f32>, wanted: &Tensor<f32>, rate: f32) -> Tensor<f32> {
    let guess = 1.0 / (1.0 + (-x.matmul(weights)).exp());
    let gradient = x.transpose().matmul(&(guess - wanted)) / x.size(0);
    weights - gradient * rate
}

#[freeze]
fn frozen_descended(weights: &Tensor<f32>, x: &Tensor<f32>, wanted: &Tensor<f32>, rate: f32) -> Tensor<f32> {
    descended(weights, x, wanted, rate)
}

type Step = fn(&Tensor<f32>, &Tensor<f32>, &Tensor<f32>, f32) -> Tensor<f32>;

/// The number of features.
const FEATURES: usize = 32;

struct Gradient([f32; FEATURES]);

impl std::iter::Sum for Gradient {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Gradient([0.0; FEATURES]), |a, b| Gradient(array::from_fn(|k| a.0[k] + b.0[k])))
    }
}

fn plain_descended(threads: Threads, weights: &mut [f32; FEATURES], x: &[f32], wanted: &[f32], rate: f32) {
    let Gradient(gradient) = threads.sum(wanted.len(), |range| {
        let mut gradient = [0.0; FEATURES];
        let rows = x[range.start * FEATURES..range.end * FEATURES].as_chunks::<FEATURES>().0;
        for (row, wanted) in rows.iter().zip(&wanted[range]) {
            let mut parts = [0.0; 8];
            for (row, weights) in row.as_chunks::<8>().0.iter().zip(weights.as_chunks::<8>().0) {
                parts = array::from_fn(|k| parts[k] + row[k] * weights[k]);
            }
            let error = 1.0 / (1.0 + (-parts.iter().sum::<f32>()).exp()) - wanted;
            gradient.iter_mut().zip(row).for_each(|(gradient, x)| *gradient += error * x);
        }
        Gradient(gradient)
    });
    *weights = array::from_fn(|k| weights[k] - rate * gradient[k] / wanted.len() as f32);
}

/// G10: 10 steps of logistic regression on 200 000 × 32 numbers.
pub(crate) fn logistic_regression(bench: &Bench) -> Result<(), RowError> {
    const N: usize = 200_000;
    const STEPS: usize = 10;
    const RATE: f32 = 0.5;
    let x: Vec<f32> = u01s(N * FEATURES, 1, |u| u - 0.5);
    let wanted: Vec<f32> =
        x.chunks(FEATURES).map(|row| f32::from(row[..FEATURES / 2].iter().sum::<f32>() > 0.0)).collect();
    let matrix = Tensor::from_array(resident(x.clone())?, [N, FEATURES]);
    let classes = Tensor::from_array(resident(wanted.clone())?, [N]);
    let descend = |step: Step| {
        let mut weights = Tensor::zeros([FEATURES]);
        for _ in 0..STEPS {
            weights = step(&weights, &matrix, &classes, RATE);
            let _ = jit::eval(&weights);
        }
        weights
    };
    let rust = |threads| {
        let mut weights = [0.0; FEATURES];
        (0..STEPS).for_each(|_| plain_descended(threads, &mut weights, &x, &wanted, RATE));
        weights.to_vec()
    };
    let frozen: &dyn Fn() -> Tensor<f32> = &|| descend(frozen_descended);
    Program { workload: "G10", tolerance: 1e-3, jit: &|| descend(descended), frozen: Some(frozen), rust: &rust }
        .run(bench)
}

/// Layer normalisation (J. Ba, J. Kiros and G. Hinton, 2016) of each row.
fn normalised(x: &Tensor<f32>) -> Tensor<f32> {
    let mean = x.mean(keep_dims(1));
    let deviation = (x.var(keep_dims(1), 0) + 1e-5).sqrt();
    (x - mean) / deviation
}

fn softmax(x: &Tensor<f32>) -> Tensor<f32> {
    let exponentials = (x - x.reduce_max(keep_dims(1))).exp();
    &exponentials / exponentials.sum(keep_dims(1))
}

#[freeze]
fn frozen_normalised(x: &Tensor<f32>) -> Tensor<f32> {
    normalised(x)
}

#[freeze]
fn frozen_softmax(x: &Tensor<f32>) -> Tensor<f32> {
    softmax(x)
}

/// A sum in parts that the compiler can compute by vectors.
fn sum_of(row: &[f32], map: impl Fn(f32) -> f32) -> f32 {
    let mut parts = [0.0; 16];
    let (chunks, rest) = row.as_chunks::<16>();
    chunks.iter().for_each(|chunk| parts = array::from_fn(|k| parts[k] + map(chunk[k])));
    parts.iter().sum::<f32>() + rest.iter().map(|&x| map(x)).sum::<f32>()
}

fn plain_normalised(row: &mut [f32]) {
    let mean = sum_of(row, |x| x) / row.len() as f32;
    let variance = sum_of(row, |x| (x - mean) * (x - mean)) / row.len() as f32;
    let factor = 1.0 / (variance + 1e-5).sqrt();
    row.iter_mut().for_each(|x| *x = (*x - mean) * factor);
}

fn plain_softmax(row: &mut [f32]) {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|x| *x = (*x - max).exp());
    let factor = 1.0 / sum_of(row, |x| x);
    row.iter_mut().for_each(|x| *x *= factor);
}

type OfTensor = fn(&Tensor<f32>) -> Tensor<f32>;

fn of_rows(bench: &Bench, workload: &'static str, ours: [OfTensor; 2], plain: fn(&mut [f32])) -> Result<(), RowError> {
    const SHAPE: [usize; 2] = [8000, 1000];
    let x: Vec<f32> = u01s(SHAPE[0] * SHAPE[1], 1, |u| 4.0 * u - 2.0);
    let tensor = Tensor::from_array(resident(x.clone())?, SHAPE);
    let rust = |threads: Threads| {
        let mut y = vec![0.0; x.len()];
        threads.chunks(&mut y, SHAPE[1], |i, y| {
            y.copy_from_slice(&x[i * SHAPE[1]..][..SHAPE[1]]);
            plain(y);
        });
        y
    };
    let frozen: &dyn Fn() -> Tensor<f32> = &|| ours[1](&tensor);
    Program { workload, tolerance: 1e-4, jit: &|| ours[0](&tensor), frozen: Some(frozen), rust: &rust }.run(bench)
}

/// G11a: layer normalisation of 8000 rows of 1000 numbers.
pub(crate) fn layer_norm(bench: &Bench) -> Result<(), RowError> {
    of_rows(bench, "G11a", [normalised, frozen_normalised], plain_normalised)
}

/// G11b: softmax of 8000 rows of 1000 numbers.
pub(crate) fn soft_max(bench: &Bench) -> Result<(), RowError> {
    of_rows(bench, "G11b", [softmax, frozen_softmax], plain_softmax)
}
