//! Rows `T…`: functions of tensors, frozen and not. Freezing never costs time: the ratios are at least 1.

use jit::prelude::*;
use jit::tensor::{Edge, Padding, keep_dims};

use crate::inputs::{checksum, u01s};
use crate::measure::{Bench, RowError, check, print, quantile};

/// The number of pairs of samples that are taken alternately, so that other load on the machine affects both.
const PAIRS: usize = 3;

/// A function of two tensors.
type Function = fn(&Tensor<f32>, &Tensor<f32>) -> Tensor<f32>;

/// Declares functions and frozen proxies, and lists them: name, plain, frozen.
macro_rules! functions {
    ($list:ident: $($name:ident($x:ident, $y:ident) $body:block)*) => {
        mod plain {
            use super::*;
            $(pub(super) fn $name($x: &Tensor<f32>, $y: &Tensor<f32>) -> Tensor<f32> $body)*
        }

        mod frozen {
            use super::*;
            $(
                #[freeze]
                pub(super) fn $name(x: &Tensor<f32>, y: &Tensor<f32>) -> Tensor<f32> {
                    plain::$name(x, y)
                }
            )*
        }

        const $list: &[(&str, Function, Function)] = &[$((stringify!($name), plain::$name, frozen::$name)),*];
    };
}

functions! { OF_A_MATRIX:
    transpose(x, _y) { x.transpose() }
    pad(x, _y) { x.pad(&[(1, 1), (1, 1)], Edge::Constant(0.0)) }
    stencil(x, _y) { x + (x.roll(1, 0) + x.roll(-1, 0) + x.roll(1, 1) + x.roll(-1, 1) - x * 4.0) * 0.1 }
    row_added(x, y) { x + y.slice(jit::s![0]) }
    sum_of_columns(x, _y) { x.sum(0) }
    sum_of_rows(x, _y) { x.sum(1) }
    softmax(x, _y) {
        let exponentials = (x - x.reduce_max(keep_dims(1))).exp();
        &exponentials / exponentials.sum(keep_dims(1))
    }
    product(x, y) { x.matmul(y) }
    convolution(x, y) {
        let kernel = y.slice(jit::s![..3, ..3]).expand_dims(0).expand_dims(0);
        x.expand_dims(0).expand_dims(0).conv2d(&kernel, Padding::Same, [1, 1])
    }
}

/// T01: matrices of 1000 × 1024 elements.
pub(crate) fn large(bench: &Bench) -> Result<(), RowError> {
    compare(bench, "T01", [1000, 1024], 1)
}

/// T02: matrices of 100 × 124 elements, where a call costs more than the computation.
pub(crate) fn small(bench: &Bench) -> Result<(), RowError> {
    compare(bench, "T02", [100, 124], 200)
}

/// Microseconds of each function, frozen and not, and the ratio of the unfrozen to the frozen time.
fn compare(bench: &Bench, workload: &'static str, [rows, columns]: [usize; 2], calls: usize) -> Result<(), RowError> {
    let matrix = |rows: usize, seed: u32| {
        let elements: Vec<f32> = u01s(rows * columns, seed, |u| u);
        Tensor::from_array(elements, [rows, columns])
    };
    let (x, y) = (matrix(rows, 1), matrix(columns, 2));
    jit::eval(&(x.array(), y.array()))?;
    let micros = |function: Function| -> Result<f64, RowError> {
        let calls = if bench.smoke { 1 } else { calls };
        let time = bench.median(|| {
            for _ in 0..calls {
                jit::eval(function(&x, &y).array())?;
                jit::sync()?;
            }
            Ok(())
        })?;
        Ok(time.part(calls).seconds * 1e6)
    };
    for &(name, plain, frozen) in OF_A_MATRIX {
        let wanted = checksum(&plain(&x, &y).to_vec()?);
        for _ in 0..8 {
            check(workload, checksum(&frozen(&x, &y).to_vec()?), (wanted, 0.0))?;
        }
        let (mut plain_times, mut frozen_times) = (Vec::new(), Vec::new());
        for _ in 0..if bench.smoke { 1 } else { PAIRS } {
            plain_times.push(micros(plain)?);
            frozen_times.push(micros(frozen)?);
        }
        let [plain_time, frozen_time] = [plain_times, frozen_times].map(|mut times| quantile(&mut times, 0.5));
        print(workload, &format!("{name}, unfrozen"), plain_time, "us", Some(wanted));
        print(workload, &format!("{name}, frozen"), frozen_time, "us", Some(wanted));
        print(workload, &format!("{name}, unfrozen/frozen"), plain_time / frozen_time, "x", Some(wanted));
    }
    Ok(())
}
