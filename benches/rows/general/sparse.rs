//! Sparse matrices in compressed rows.

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::{hash32, u01s};
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// A matrix, row by row.
struct Rows {
    /// Where each row begins, and where the last one ends.
    begins: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

/// The same in this library.
#[derive(Clone, Traverse)]
struct Sparse {
    begins: UInt,
    columns: UInt,
    values: Float,
}

#[jit]
fn times(matrix: &Sparse, x: &Float) -> Float {
    let row = UInt::arange(matrix.begins.width() - 1);
    let mut sum = Float::from(0.0);
    for k in matrix.begins[row]..matrix.begins[row + 1] {
        sum += matrix.values[k] * x[matrix.columns[k]];
    }
    sum
}

impl Rows {
    /// `count` entries in each row, at random columns near the diagonal.
    fn random(rows: usize, count: usize) -> Rows {
        let columns = (0..rows * count).map(|k| {
            let near = hash32(k as u32) % 20_000;
            ((k / count + rows + near as usize - 10_000) % rows) as u32
        });
        Rows {
            begins: (0..=rows).map(|row| (row * count) as u32).collect(),
            columns: columns.collect(),
            values: u01s(rows * count, 1, |u| u),
        }
    }

    /// The five-point operator of Poisson's equation on a square.
    fn poisson(side: usize) -> Rows {
        let mut matrix = Rows { begins: vec![0], columns: Vec::new(), values: Vec::new() };
        for i in 0..side * side {
            let (x, y) = (i % side, i / side);
            let entries = [
                (y > 0, i.wrapping_sub(side), -1.0),
                (x > 0, i.wrapping_sub(1), -1.0),
                (true, i, 4.01),
                (x + 1 < side, i + 1, -1.0),
                (y + 1 < side, i + side, -1.0),
            ];
            for (_, column, value) in entries.into_iter().filter(|(exists, ..)| *exists) {
                matrix.columns.push(column as u32);
                matrix.values.push(value);
            }
            matrix.begins.push(matrix.columns.len() as u32);
        }
        matrix
    }

    fn resident(&self) -> Result<Sparse, RowError> {
        Ok(Sparse {
            begins: resident(self.begins.clone())?,
            columns: resident(self.columns.clone())?,
            values: resident(self.values.clone())?,
        })
    }

    fn times(&self, threads: Threads, x: &[f32], y: &mut [f32]) {
        const CHUNK: usize = 4096;
        threads.chunks(y, CHUNK, |chunk, y| {
            let begins = &self.begins[chunk * CHUNK..];
            for (y, ends) in y.iter_mut().zip(begins.windows(2)) {
                let row = ends[0] as usize..ends[1] as usize;
                let entries = self.columns[row.clone()].iter().zip(&self.values[row]);
                *y = entries.map(|(&column, value)| value * x[column as usize]).sum();
            }
        });
    }
}

fn product(bench: &Bench, workload: &'static str, rows: usize, count: usize) -> Result<(), RowError> {
    let matrix = Rows::random(rows, count);
    let sparse = matrix.resident()?;
    let x: Vec<f32> = u01s(rows, 2, |u| u);
    let array = resident(x.clone())?;
    let rust = |threads| {
        let mut y = vec![0.0; rows];
        matrix.times(threads, &x, &mut y);
        y
    };
    Program { workload, tolerance: 1e-5, jit: &|| times(&sparse, &array), frozen: None, rust: &rust }.run(bench)
}

/// G07a: a matrix of 1.2 million rows with five entries each, times a vector.
pub(crate) fn short_rows(bench: &Bench) -> Result<(), RowError> {
    product(bench, "G07a", 1_200_000, 5)
}

/// G07b: a matrix of 200 000 rows with thirty entries each, times a vector.
pub(crate) fn long_rows(bench: &Bench) -> Result<(), RowError> {
    product(bench, "G07b", 200_000, 30)
}

#[jit]
fn times_columns(matrix: &Sparse, x: &Float, width: u32) -> Float {
    let lane = UInt::arange((matrix.begins.width() - 1) * width as usize);
    let (row, column) = (lane / width, lane % width);
    let mut sum = Float::from(0.0);
    for k in matrix.begins[row]..matrix.begins[row + 1] {
        sum += matrix.values[k] * x[matrix.columns[k] * width + column];
    }
    sum
}

fn product_of_columns(bench: &Bench, workload: &'static str, width: usize) -> Result<(), RowError> {
    const ROWS: usize = 40_000;
    let matrix = Rows::random(ROWS, 10);
    let sparse = matrix.resident()?;
    let x: Vec<f32> = u01s(ROWS * width, 2, |u| u);
    let array = resident(x.clone())?;
    let rust = |threads: Threads| {
        const CHUNK: usize = 1024;
        let mut result = vec![0.0; ROWS * width];
        threads.chunks(&mut result, CHUNK * width, |chunk, sums| {
            let begins = &matrix.begins[chunk * CHUNK..];
            for (sums, ends) in sums.chunks_mut(width).zip(begins.windows(2)) {
                for k in ends[0] as usize..ends[1] as usize {
                    let row = &x[matrix.columns[k] as usize * width..];
                    sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += matrix.values[k] * x);
                }
            }
        });
        result
    };
    let jit: &dyn Fn() -> Float = &|| times_columns(&sparse, &array, width as u32);
    Program { workload, tolerance: 1e-5, jit, frozen: None, rust: &rust }.run(bench)
}

/// G38a: a matrix of 40 000 rows with ten entries each, times one of eight columns.
pub(crate) fn few_columns(bench: &Bench) -> Result<(), RowError> {
    product_of_columns(bench, "G38a", 8)
}

/// G38b: times one of twenty columns, of which no vector has a whole number.
pub(crate) fn more_columns(bench: &Bench) -> Result<(), RowError> {
    product_of_columns(bench, "G38b", 20)
}

/// The state of a solver by conjugate gradients (M. Hestenes and E. Stiefel, 1952).
#[derive(Clone, Traverse)]
struct Solver {
    x: Float,
    residual: Float,
    direction: Float,
    norm: Float,
}

#[jit]
fn iterate(matrix: &Sparse, solver: &mut Solver) {
    let product = times(matrix, &solver.direction);
    let step = solver.norm / solver.direction.dot(&product);
    solver.x += step * solver.direction;
    solver.residual -= step * product;
    let norm = solver.residual.dot(&solver.residual);
    solver.direction = solver.residual + norm / solver.norm * solver.direction;
    solver.norm = norm;
}

#[freeze]
fn frozen_iterate(matrix: &Sparse, solver: &mut Solver) {
    iterate(matrix, solver);
}

/// The scalar product, in parts that the compiler can compute by vectors.
fn dot(threads: Threads, a: &[f32], b: &[f32]) -> f32 {
    threads.sum(a.len(), |range| {
        let mut parts = [0.0; 16];
        for (a, b) in a[range.clone()].chunks(16).zip(b[range].chunks(16)) {
            parts.iter_mut().zip(a.iter().zip(b)).for_each(|(part, (a, b))| *part += a * b);
        }
        parts.iter().sum::<f32>()
    })
}

/// `a = s * a + t * b`.
fn combine(threads: Threads, a: &mut [f32], s: f32, t: f32, b: &[f32]) {
    const CHUNK: usize = 1 << 14;
    threads.chunks(a, CHUNK, |i, a| {
        a.iter_mut().zip(&b[i * CHUNK..]).for_each(|(a, b)| *a = s * *a + t * b);
    });
}

fn plain_solve(threads: Threads, matrix: &Rows, right: &[f32], iterations: usize) -> Vec<f32> {
    let (mut x, mut product) = (vec![0.0; right.len()], vec![0.0; right.len()]);
    let (mut residual, mut direction) = (right.to_vec(), right.to_vec());
    let mut norm = dot(threads, &residual, &residual);
    for _ in 0..iterations {
        matrix.times(threads, &direction, &mut product);
        let step = norm / dot(threads, &direction, &product);
        combine(threads, &mut x, 1.0, step, &direction);
        combine(threads, &mut residual, 1.0, -step, &product);
        let next = dot(threads, &residual, &residual);
        combine(threads, &mut direction, next / norm, 1.0, &residual);
        norm = next;
    }
    x
}

/// G08: 40 iterations for Poisson's equation on 500 × 500 points.
pub(crate) fn conjugate_gradients(bench: &Bench) -> Result<(), RowError> {
    const SIDE: usize = 500;
    const ITERATIONS: usize = 40;
    let matrix = Rows::poisson(SIDE);
    let sparse = matrix.resident()?;
    let right: Vec<f32> = u01s(SIDE * SIDE, 1, |u| u);
    let array = resident(right.clone())?;
    let solve = |step: fn(&Sparse, &mut Solver)| {
        let mut solver = Solver {
            x: array.zeros_like(),
            residual: array.clone(),
            direction: array.clone(),
            norm: array.dot(&array),
        };
        for _ in 0..ITERATIONS {
            step(&sparse, &mut solver);
            let _ = jit::eval(&solver);
        }
        solver.x
    };
    let rust = |threads| plain_solve(threads, &matrix, &right, ITERATIONS);
    let frozen: &dyn Fn() -> Float = &|| solve(frozen_iterate);
    Program { workload: "G08", tolerance: 1e-3, jit: &|| solve(iterate), frozen: Some(frozen), rust: &rust }.run(bench)
}
