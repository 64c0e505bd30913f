//! Products of integers.

use super::super::super::threads;
use super::super::{Context, Elements, Operand};
use super::tile::{Division, Tile};
use super::{MatMul, step};
use crate::Error;

/// The time of a multiplication and addition, roughly.
const NS_PER_PRODUCT: f64 = 0.2;

/// Launches products that were checked.
pub(super) fn launch<T: Factor>(
    context: Context,
    product: MatMul,
    a: &Operand,
    b: &Operand,
    c: &Operand,
) -> Result<(), Error> {
    let products = product.rows as f64 * product.columns as f64 * (product.inner.max(1) * product.batch) as f64;
    let division = Division::new(product, 1, threads());
    let step = step(context, [a, b, c], division.units(), NS_PER_PRODUCT * products);
    let [a, b, c] = [a, b, c].map(Elements::<T>::of);
    let run = move |unit: usize| {
        for tile in division.unit(unit) {
            // SAFETY: the sizes were checked; `a` and `b` are only read, and tiles are disjoint.
            unsafe { T::multiply(&product, &tile, a.get(0..a.len), b.get(0..b.len), c) };
        }
    };
    // SAFETY: the function reads `a` and `b` and writes disjoint tiles of `c`.
    unsafe { step.submit(run) }
}

/// An element type of matrices.
pub(super) trait Factor: Copy + Send + Sync + 'static {
    /// Computes a tile.
    ///
    /// # Safety
    ///
    /// The slices must be as long as the product requires, and no other thread may access the tile of `c`.
    unsafe fn multiply(product: &MatMul, tile: &Tile, a: &[Self], b: &[Self], c: Elements<Self>);
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Factor for $ty {
            unsafe fn multiply(product: &MatMul, tile: &Tile, a: &[Self], b: &[Self], c: Elements<Self>) {
                let (a_first, a_down, a_across) = product.a(tile);
                let (b_first, b_down, b_across) = product.b(tile);
                let (c_first, c_down) = product.c(tile);
                for row in 0..tile.rows {
                    let first = c_first + row * c_down;
                    // SAFETY: no other thread accesses the tile, as the caller guarantees.
                    let sums = unsafe { c.get_mut(first..first + tile.columns) };
                    sums.fill(0);
                    for step in 0..product.inner {
                        let factor = a[a_first + row * a_down + step * a_across];
                        let others = b[b_first + step * b_down..].iter().step_by(b_across);
                        sums.iter_mut()
                            .zip(others)
                            .for_each(|(sum, other)| *sum = sum.wrapping_add(factor.wrapping_mul(*other)));
                    }
                }
            }
        }
    )*};
}

integers!(u8, u16, u32, u64);
