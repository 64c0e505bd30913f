//! What layers of networks compute: convolutions with their derivatives, and products of matrices.

use half::bf16;
use jit::ad;
use jit::prelude::*;
use jit::tensor::Padding;

use super::{Program, Threads};
use crate::inputs::u01s;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

const IMAGES: usize = 32;
const CHANNELS: usize = 32;
const RESULTS: usize = 64;
/// Rows and columns of an image.
const SIDE: usize = 28;
const AREA: usize = SIDE * SIDE;
/// Rows and columns of a kernel; around an image are as many zeros that results have the same side.
const KERNEL: usize = 3;
const TAPS: usize = KERNEL * KERNEL;

fn random(count: usize, seed: u32) -> Vec<f32> {
    u01s(count, seed, |u| u - 0.5)
}

/// Adds a multiple of an image to another one, from so many rows and columns before.
fn add_moved(sum: &mut [f32], image: &[f32], factor: f32, [down, across]: [isize; 2]) {
    let (first, end) = ((-across).max(0) as usize, (SIDE as isize - across.max(0)) as usize);
    for row in 0..SIDE as isize {
        if (0..SIDE as isize).contains(&(row + down)) {
            let source = &image[(row + down) as usize * SIDE..][..SIDE];
            let source = &source[(first as isize + across) as usize..(end as isize + across) as usize];
            let target = &mut sum[row as usize * SIDE..][first..end];
            target.iter_mut().zip(source).for_each(|(sum, x)| *sum += factor * x);
        }
    }
}

fn moves() -> impl Iterator<Item = [isize; 2]> {
    (0..TAPS).map(|tap| [(tap / KERNEL) as isize - 1, (tap % KERNEL) as isize - 1])
}

fn plain_convolved(threads: Threads, images: &[f32], kernels: &[f32]) -> Vec<f32> {
    let mut all = vec![0.0; IMAGES * RESULTS * AREA];
    threads.chunks(&mut all, AREA, |number, sum| {
        let (image, result) = (number / RESULTS, number % RESULTS);
        for channel in 0..CHANNELS {
            let source = &images[(image * CHANNELS + channel) * AREA..][..AREA];
            let kernel = &kernels[(result * CHANNELS + channel) * TAPS..][..TAPS];
            kernel.iter().zip(moves()).for_each(|(factor, moved)| add_moved(sum, source, *factor, moved));
        }
    });
    all
}

/// G32a: a layer of a convolutional network.
pub(crate) fn convolution(bench: &Bench) -> Result<(), RowError> {
    let (x, k) = (random(IMAGES * CHANNELS * AREA, 1), random(RESULTS * CHANNELS * TAPS, 2));
    let images = Tensor::from_array(resident(x.clone())?, [IMAGES, CHANNELS, SIDE, SIDE]);
    let kernels = Tensor::from_array(resident(k.clone())?, [RESULTS, CHANNELS, KERNEL, KERNEL]);
    let program = Program {
        workload: "G32a",
        tolerance: 1e-4,
        jit: &|| images.conv2d(&kernels, Padding::Same, [1, 1]),
        frozen: None,
        rust: &|threads| plain_convolved(threads, &x, &k),
    };
    program.run(bench)
}

/// The derivatives of the sum of weighted results by the images and by the kernels.
fn plain_derivatives(threads: Threads, images: &[f32], kernels: &[f32], weights: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let mut by_images = vec![0.0; images.len()];
    threads.chunks(&mut by_images, AREA, |number, sum| {
        let (image, channel) = (number / CHANNELS, number % CHANNELS);
        for result in 0..RESULTS {
            let source = &weights[(image * RESULTS + result) * AREA..][..AREA];
            let kernel = &kernels[(result * CHANNELS + channel) * TAPS..][..TAPS];
            kernel.iter().zip(moves()).for_each(|(factor, moved)| add_moved(sum, source, *factor, moved.map(|m| -m)));
        }
    });
    let mut by_kernels = vec![0.0; kernels.len()];
    threads.chunks(&mut by_kernels, TAPS, |number, sums| {
        let (result, channel) = (number / CHANNELS, number % CHANNELS);
        let mut moved_image = vec![0.0; AREA];
        for image in 0..IMAGES {
            let source = &images[(image * CHANNELS + channel) * AREA..][..AREA];
            let weights = &weights[(image * RESULTS + result) * AREA..][..AREA];
            for (sum, moved) in sums.iter_mut().zip(moves()) {
                moved_image.fill(0.0);
                add_moved(&mut moved_image, source, 1.0, moved);
                let mut lanes = [0.0; 16];
                for (x, y) in moved_image.chunks_exact(16).zip(weights.chunks_exact(16)) {
                    lanes.iter_mut().zip(x.iter().zip(y)).for_each(|(lane, (x, y))| *lane += x * y);
                }
                *sum += lanes.iter().sum::<f32>();
            }
        }
    });
    (by_images, by_kernels)
}

/// G32b: the derivatives of such a layer.
pub(crate) fn derivatives(bench: &Bench) -> Result<(), RowError> {
    let (x, k) = (random(IMAGES * CHANNELS * AREA, 1), random(RESULTS * CHANNELS * TAPS, 2));
    let w = random(IMAGES * RESULTS * AREA, 3);
    let images = Tensor::from_array(resident(x.clone())?, [IMAGES, CHANNELS, SIDE, SIDE]);
    let kernels = Tensor::from_array(resident(k.clone())?, [RESULTS, CHANNELS, KERNEL, KERNEL]);
    let weights = resident(w.clone())?;
    let loss = |(images, kernels): &(Tensor<f32>, Tensor<f32>)| {
        (images.conv2d(kernels, Padding::Same, [1, 1]).array() * &weights).sum()
    };
    let program = Program {
        workload: "G32b",
        tolerance: 1e-3,
        jit: &|| ad::grad(loss)(&(images.clone(), kernels.clone())).expect("a sum has derivatives"),
        frozen: None,
        rust: &|threads| plain_derivatives(threads, &x, &k, &w),
    };
    program.run(bench)
}

/// The product of a matrix and the transpose of another one, both in row-major order.
fn plain_product(threads: Threads, a: &[f32], b: &[f32], [rows, inner, columns]: [usize; 3]) -> Vec<f32> {
    let mut transposed = vec![0.0; b.len()];
    for (column, line) in b.chunks_exact(inner).enumerate() {
        line.iter().enumerate().for_each(|(k, x)| transposed[k * columns + column] = *x);
    }
    let mut product = vec![0.0; rows * columns];
    threads.chunks(&mut product, columns, |row, sums| {
        for (factor, line) in a[row * inner..][..inner].iter().zip(transposed.chunks_exact(columns)) {
            sums.iter_mut().zip(line).for_each(|(sum, x)| *sum += factor * x);
        }
    });
    product
}

/// A linear layer as networks have it: few rows, and weights that are transposed.
const LINEAR: [usize; 3] = [32, 784, 128];

/// G33a: the product of a linear layer.
pub(crate) fn linear(bench: &Bench) -> Result<(), RowError> {
    let [rows, inner, columns] = LINEAR;
    let (a, b) = (random(rows * inner, 1), random(columns * inner, 2));
    let x = Tensor::from_array(resident(a.clone())?, [rows, inner]);
    let weights = Tensor::from_array(resident(b.clone())?, [columns, inner]);
    let program = Program {
        workload: "G33a",
        tolerance: 1e-4,
        jit: &|| x.matmul(&weights.transpose()),
        frozen: None,
        rust: &|threads| plain_product(threads, &a, &b, LINEAR),
    };
    program.run(bench)
}

/// G33b: a product of halves, summed in single precision. Plain Rust converts them first.
pub(crate) fn halves(bench: &Bench) -> Result<(), RowError> {
    const SIZES: [usize; 3] = [256, 512, 384];
    let [rows, inner, columns] = SIZES;
    let half = |count: usize, seed: u32| random(count, seed).into_iter().map(bf16::from_f32).collect::<Vec<_>>();
    let (a, b) = (half(rows * inner, 1), half(columns * inner, 2));
    let x = Tensor::from_array(resident(a.clone())?, [rows, inner]);
    let y = Tensor::from_array(resident(b.clone())?, [columns, inner]);
    let program = Program {
        workload: "G33b",
        tolerance: 1e-2,
        jit: &|| x.matmul(&y.transpose()),
        frozen: None,
        rust: &|threads| {
            let wide = |all: &[bf16]| all.iter().map(|half| half.to_f32()).collect::<Vec<f32>>();
            let product = plain_product(threads, &wide(&a), &wide(&b), SIZES);
            product.into_iter().map(bf16::from_f32).collect::<Vec<bf16>>()
        },
    };
    program.run(bench)
}

/// G33c: a narrow layer with bias and activation, for many rows.
pub(crate) fn narrow(bench: &Bench) -> Result<(), RowError> {
    const SIZES: [usize; 3] = [100_000, 16, 16];
    let [rows, inner, columns] = SIZES;
    let (a, b, c) = (random(rows * inner, 1), random(columns * inner, 2), random(columns, 3));
    let x = Tensor::from_array(resident(a.clone())?, [rows, inner]);
    let weights = Tensor::from_array(resident(b.clone())?, [columns, inner]);
    let bias = Tensor::from_array(resident(c.clone())?, [columns]);
    let program = Program {
        workload: "G33c",
        tolerance: 1e-4,
        jit: &|| jit::nn::relu(&(x.matmul(&weights.transpose()) + &bias)),
        frozen: None,
        rust: &|threads| {
            let mut layer = plain_product(threads, &a, &b, SIZES);
            threads.chunks(&mut layer, columns, |_, sums| {
                sums.iter_mut().zip(&c).for_each(|(sum, bias)| *sum = (*sum + bias).max(0.0));
            });
            layer
        },
    };
    program.run(bench)
}

fn plain_few_rows(threads: Threads, x: &[f32], weights: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    const CHUNK: usize = 256;
    let inner = x.len() / rows;
    // Columns by columns, so that threads have equal shares of the large factor.
    let mut parts = vec![0.0; rows * columns];
    threads.chunks(&mut parts, CHUNK * rows, |part, sums| {
        let first = part * CHUNK;
        let length = sums.len() / rows;
        for (row, sums) in sums.chunks_mut(length).enumerate() {
            for (x, weights) in x[row * inner..][..inner].iter().zip(weights.chunks(columns)) {
                sums.iter_mut().zip(&weights[first..first + length]).for_each(|(sum, weight)| *sum += x * weight);
            }
        }
    });
    let element = |index: usize| {
        let (row, column) = (index / columns, index % columns);
        let length = CHUNK.min(columns - column / CHUNK * CHUNK);
        parts[column / CHUNK * CHUNK * rows + row * length + column % CHUNK]
    };
    (0..rows * columns).map(element).collect()
}

/// G42b: a layer for few inputs at a time, as when a network answers: 4 × 1000 by 1000 × 1000.
pub(crate) fn few_inputs(bench: &Bench) -> Result<(), RowError> {
    const ROWS: usize = 4;
    const WIDTH: usize = 1000;
    let (x, w) = (random(ROWS * WIDTH, 1), random(WIDTH * WIDTH, 2));
    let inputs = Tensor::from_array(resident(x.clone())?, [ROWS, WIDTH]);
    let weights = Tensor::from_array(resident(w.clone())?, [WIDTH, WIDTH]);
    let rust = |threads| plain_few_rows(threads, &x, &w, ROWS, WIDTH);
    let jit = || inputs.matmul(&weights);
    Program { workload: "G42b", tolerance: 1e-4, jit: &jit, frozen: None, rust: &rust }.run(bench)
}
