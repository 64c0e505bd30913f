//! Elements in another arrangement than that of the lanes: groups of bytes, matrices one after another, pixels that are
//! repeated, sums along both axes of a picture, rows that become columns, narrow rows, colours.

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::{hash32, u01s};
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

/// G34: sums over all pixels above and to the left, of 1500 × 2000 pixels of whole numbers.
pub(crate) fn integral_image(bench: &Bench) -> Result<(), RowError> {
    const SHAPE: [usize; 2] = [1500, 2000];
    let pixels: Vec<f32> = u01s(SHAPE[0] * SHAPE[1], 1, |u| (4.0 * u).floor());
    let picture = Tensor::from_array(resident(pixels.clone())?, SHAPE);
    let rust = |threads: Threads| {
        let mut sums = pixels.clone();
        threads.chunks(&mut sums, SHAPE[1], |_, row| {
            let mut sum = 0.0;
            for x in row {
                sum += *x;
                *x = sum;
            }
        });
        for y in 1..SHAPE[0] {
            let (above, below) = sums.split_at_mut(y * SHAPE[1]);
            let above = &above[(y - 1) * SHAPE[1]..];
            below[..SHAPE[1]].iter_mut().zip(above).for_each(|(x, above)| *x += above);
        }
        sums
    };
    let jit: &dyn Fn() -> Tensor<f32> = &|| picture.prefix_sum(1).prefix_sum(0);
    Program { workload: "G34", tolerance: 0.0, jit, frozen: None, rust: &rust }.run(bench)
}

const SIDE: usize = 4;
const SIZE: usize = SIDE * SIDE;

/// The lower triangular factors of symmetric matrices that lie one after another (A.-L. Cholesky).
#[jit]
fn factors(matrices: &Float) -> Float {
    let first = UInt::arange(matrices.width() / SIZE) * SIZE as u32;
    let mut m: Vec<Float> = (0..SIZE as u32).map(|k| matrices[&first + k]).collect();
    let mut result = Float::zeros(matrices.width());
    for row in 0..SIDE {
        for column in 0..=row {
            let mut sum = m[row * SIDE + column].clone();
            for k in 0..column {
                sum -= &m[row * SIDE + k] * &m[column * SIDE + k];
            }
            let factor = if row == column { sum.sqrt() } else { sum / &m[column * SIDE + column] };
            result.scatter(&factor, &(&first + (row * SIDE + column) as u32));
            m[row * SIDE + column] = factor;
        }
    }
    result
}

fn plain_factor(matrix: &[f32; SIZE], result: &mut [f32]) {
    for row in 0..SIDE {
        for column in 0..=row {
            let mut sum = matrix[row * SIDE + column];
            for k in 0..column {
                sum -= result[row * SIDE + k] * result[column * SIDE + k];
            }
            result[row * SIDE + column] = if row == column { sum.sqrt() } else { sum / result[column * SIDE + column] };
        }
    }
}

/// G35: factors of 300 000 matrices.
pub(crate) fn small_matrices(bench: &Bench) -> Result<(), RowError> {
    const COUNT: usize = 300_000;
    let mut elements: Vec<f32> = u01s(COUNT * SIZE, 1, |u| u);
    for matrix in elements.as_chunks_mut::<SIZE>().0 {
        let roots = *matrix;
        for (at, x) in matrix.iter_mut().enumerate() {
            let (row, column) = (at / SIDE * SIDE, at % SIDE * SIDE);
            let product: f32 = (0..SIDE).map(|k| roots[row + k] * roots[column + k]).sum();
            *x = product + if row == column { 1.0 } else { 0.0 };
        }
    }
    let matrices = resident(elements.clone())?;
    let rust = |threads: Threads| {
        let mut result = vec![0.0; COUNT * SIZE];
        threads.chunks(&mut result, 1024 * SIZE, |i, results| {
            let chunk = elements[i * 1024 * SIZE..].as_chunks().0;
            results.chunks_mut(SIZE).zip(chunk).for_each(|(result, matrix)| plain_factor(matrix, result));
        });
        result
    };
    Program { workload: "G35", tolerance: 1e-5, jit: &|| factors(&matrices), frozen: None, rust: &rust }.run(bench)
}

/// Each three bytes as four letters of a table (RFC 4648).
#[jit]
fn letters(bytes: &UInt8, table: &UInt8) -> UInt8 {
    let i = UInt::arange(bytes.width() / 3 * 4);
    let (group, letter) = (i / 4 * 3, i % 4);
    let word = (bytes[group] as u32) << 16 | (bytes[group + 1] as u32) << 8 | bytes[group + 2] as u32;
    table[(word >> (18 - 6 * letter)) & 63]
}

/// G36a: base64 of six million bytes.
pub(crate) fn base64(bench: &Bench) -> Result<(), RowError> {
    const GROUPS: usize = 1 << 12;
    let bytes: Vec<u8> = (0..6_000_000).map(|i| hash32(i) as u8).collect();
    let table: Vec<u8> = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').chain(*b"+/").collect();
    let (ours, letters_of) = (resident(bytes.clone())?, resident(table.clone())?);
    let rust = |threads: Threads| {
        let mut text = vec![0_u8; bytes.len() / 3 * 4];
        threads.chunks(&mut text, 4 * GROUPS, |i, text| {
            let groups = bytes[i * 3 * GROUPS..].as_chunks::<3>().0;
            for (text, group) in text.chunks_mut(4).zip(groups) {
                let word = group.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
                for (k, letter) in (0_u32..).zip(text) {
                    *letter = table[(word >> (18 - 6 * k) & 63) as usize];
                }
            }
        });
        text
    };
    let jit: &dyn Fn() -> UInt8 = &|| letters(&ours, &letters_of);
    Program { workload: "G36a", tolerance: 0.0, jit, frozen: None, rust: &rust }.run(bench)
}

/// A picture of twice the width and height.
#[jit]
fn enlarged(picture: &Float, width: u32) -> Float {
    let i = UInt::arange(picture.width() * 4);
    let (x, y) = (i % (2 * width), i / (2 * width));
    picture[y / 2 * width + x / 2]
}

/// G36b: a picture of 1000 × 1000 pixels, enlarged.
pub(crate) fn enlargement(bench: &Bench) -> Result<(), RowError> {
    const WIDTH: usize = 1000;
    let pixels: Vec<f32> = u01s(WIDTH * WIDTH, 1, |u| u);
    let picture = resident(pixels.clone())?;
    let rust = |threads: Threads| {
        let mut result = vec![0.0; 4 * WIDTH * WIDTH];
        threads.chunks(&mut result, 2 * WIDTH, |y, row| {
            let pixels = &pixels[y / 2 * WIDTH..];
            row.chunks_mut(2).zip(pixels).for_each(|(pair, x)| pair.fill(*x));
        });
        result
    };
    let jit: &dyn Fn() -> Float = &|| enlarged(&picture, WIDTH as u32);
    Program { workload: "G36b", tolerance: 0.0, jit, frozen: None, rust: &rust }.run(bench)
}

/// The transpose of a matrix in row-major order, in tiles.
fn plain_transpose(elements: &[f32], [height, width]: [usize; 2], threads: Threads) -> Vec<f32> {
    const TILE: usize = 16;
    let mut result = vec![0.0; height * width];
    threads.chunks(&mut result, TILE * height, |i, rows| {
        for first in (0..height).step_by(TILE) {
            for (x, row) in (i * TILE..).zip(rows.chunks_mut(height)) {
                let tile = (first..).zip(&mut row[first..height.min(first + TILE)]);
                tile.for_each(|(y, place)| *place = elements[y * width + x]);
            }
        }
    });
    result
}

fn transposed(bench: &Bench, workload: &'static str, shape: [usize; 2]) -> Result<(), RowError> {
    let elements: Vec<f32> = u01s(shape[0] * shape[1], 1, |u| u);
    let matrix = Tensor::from_array(resident(elements.clone())?, shape);
    let rust = |threads: Threads| plain_transpose(&elements, shape, threads);
    Program { workload, tolerance: 0.0, jit: &|| matrix.transpose(), frozen: None, rust: &rust }.run(bench)
}

/// G37a: a matrix of 3000 × 2000, transposed.
pub(crate) fn transposition(bench: &Bench) -> Result<(), RowError> {
    transposed(bench, "G37a", [3000, 2000])
}

/// G37b: one of 2048 × 4096, whose rows lie in the same places of caches.
pub(crate) fn transposition_of_powers(bench: &Bench) -> Result<(), RowError> {
    transposed(bench, "G37b", [2048, 4096])
}

/// G37c: one of 33 333 × 30, by the index of each element.
pub(crate) fn transposition_by_index(bench: &Bench) -> Result<(), RowError> {
    let shape @ [height, width] = [33_333, 30];
    let elements: Vec<f32> = u01s(height * width, 1, |u| u);
    let matrix = resident(elements.clone())?;
    let jit: &dyn Fn() -> Float = &|| {
        let i = UInt::arange(height * width);
        matrix.gather(&(&i % height as u32 * width as u32 + &i / height as u32))
    };
    let rust = |threads: Threads| plain_transpose(&elements, shape, threads);
    Program { workload: "G37c", tolerance: 0.0, jit, frozen: None, rust: &rust }.run(bench)
}

/// Rows of a table, each divided by its length, then columns scaled and moved.
fn normalised(rows: &Tensor<f32>, scale: &Tensor<f32>, bias: &Tensor<f32>) -> Tensor<f32> {
    let lengths = (rows * rows).sum(jit::tensor::keep_dims(1)).sqrt();
    rows / lengths * scale + bias
}

#[freeze]
fn frozen_normalised(rows: &Tensor<f32>, scale: &Tensor<f32>, bias: &Tensor<f32>) -> Tensor<f32> {
    normalised(rows, scale, bias)
}

/// G39a: 300 000 rows of 10.
pub(crate) fn narrow_rows(bench: &Bench) -> Result<(), RowError> {
    const ROWS: usize = 300_000;
    const COLUMNS: usize = 10;
    let [table, scale, bias] =
        [(ROWS * COLUMNS, 1), (COLUMNS, 2), (COLUMNS, 3)].map(|(count, seed)| u01s(count, seed, |u| u + 0.5));
    let rows = Tensor::from_array(resident(table.clone())?, [ROWS, COLUMNS]);
    let [scales, biases] = [Tensor::from(scale.clone()), Tensor::from(bias.clone())];
    let rust = |threads: Threads| {
        let mut result = vec![0.0; ROWS * COLUMNS];
        threads.chunks(&mut result, 1024 * COLUMNS, |i, results| {
            let rows = table[i * 1024 * COLUMNS..].as_chunks::<COLUMNS>().0;
            for (result, row) in results.chunks_mut(COLUMNS).zip(rows) {
                let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
                for (k, result) in result.iter_mut().enumerate() {
                    *result = row[k] / length * scale[k] + bias[k];
                }
            }
        });
        result
    };
    let jit: &dyn Fn() -> Tensor<f32> = &|| normalised(&rows, &scales, &biases);
    let frozen: &dyn Fn() -> Tensor<f32> = &|| frozen_normalised(&rows, &scales, &biases);
    Program { workload: "G39a", tolerance: 1e-5, jit, frozen: Some(frozen), rust: &rust }.run(bench)
}

/// The colours of pixels as planes, with levels between zero and one, and those of pixels again with less contrast.
fn through_planes(picture: &Tensor<u8>) -> Tensor<u8> {
    let planes = picture.permute_axes([2, 0, 1]).cast::<f32>() / 255.0;
    jit::eval(&planes).expect("there is memory for the planes");
    (planes.permute_axes([1, 2, 0]) * 180.0 + 30.0).cast()
}

/// G39b: the colours of 1000² pixels as planes, and as pixels again.
pub(crate) fn planes(bench: &Bench) -> Result<(), RowError> {
    const SIDE: usize = 1000;
    const PIXELS: usize = SIDE * SIDE;
    let bytes: Vec<u8> = (0..3 * PIXELS as u32).map(|i| hash32(i) as u8).collect();
    let picture = Tensor::from_array(resident(bytes.clone())?, [SIDE, SIDE, 3]);
    let rust = |threads: Threads| {
        let (mut planes, mut result) = (vec![0.0; 3 * PIXELS], vec![0_u8; 3 * PIXELS]);
        let [red, green, blue] = planes.as_chunks_mut::<PIXELS>().0 else { unreachable!("there are three planes") };
        threads.chunks_of([red, green, blue].map(|plane| &mut plane[..]), SIDE, |y, rows| {
            for (k, row) in rows.into_iter().enumerate() {
                let pixels = bytes[3 * y * SIDE..].as_chunks::<3>().0;
                row.iter_mut().zip(pixels).for_each(|(level, pixel)| *level = f32::from(pixel[k]) / 255.0);
            }
        });
        threads.chunks(&mut result, 3 * SIDE, |y, row| {
            for (x, pixel) in row.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                *pixel = std::array::from_fn(|k| (planes[k * PIXELS + y * SIDE + x] * 180.0 + 30.0) as u8);
            }
        });
        result
    };
    let jit: &dyn Fn() -> Tensor<u8> = &|| through_planes(&picture);
    Program { workload: "G39b", tolerance: 1e-2, jit, frozen: None, rust: &rust }.run(bench)
}
