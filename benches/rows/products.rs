//! Rows `W…` that multiply matrices: as a user's loop, and by the library.

use jit::prelude::*;

use crate::inputs::{checksum, u01s};
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

const SIZE: usize = 512;
const EXPECTED: (f64, f64) = (284_893_348.0, 1e-6);

/// The product of square matrices, one element per lane.
#[jit]
fn matmul(a: &Float, b: &Float, size: u32) -> Float {
    let index = UInt::arange((size * size) as usize);
    let (row, column) = (index / size * size, index % size);
    let (mut sum, mut k) = (Float::from(0.0), UInt::from(0));
    while k < size {
        sum = a.gather(&(row + k)).mul_add(b.gather(&(k * size + column)), sum);
        k += 1;
    }
    sum
}

/// W11: the product of matrices of 512 rows and columns by a loop; bound by arithmetic if gathers at equal and
/// consecutive indices are cheap.
pub(crate) fn traced(bench: &Bench) -> Result<(), RowError> {
    let (a, b) = (resident(u01s(SIZE * SIZE, 1, |u| u))?, resident(u01s(SIZE * SIZE, 2, |u| u))?);
    bench.throughput("W11", EXPECTED, || matmul(&a, &b, SIZE as u32), |c| Ok(checksum(&c.to_vec()?)))
}

/// W11.lib: the same by [`Tensor::matmul`]; bound by arithmetic.
pub(crate) fn library(bench: &Bench) -> Result<(), RowError> {
    let (a, b) = (resident(u01s(SIZE * SIZE, 1, |u| u))?, resident(u01s(SIZE * SIZE, 2, |u| u))?);
    let (a, b) = (Tensor::from_array(a, [SIZE, SIZE]), Tensor::from_array(b, [SIZE, SIZE]));
    bench.throughput("W11.lib", EXPECTED, || a.matmul(&b), |c| Ok(checksum(&c.array().to_vec()?)))
}
