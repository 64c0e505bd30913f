//! Sums of products for many groups at once: each lane of a register belongs to a group.
//!
//! Where groups have few columns, a product of matrices for each would leave most lanes of [`kernel`](super::kernel)
//! without work. Each sum is still that of its products in ascending order of the places, with a single rounding each.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

use super::vector::Vector;

/// The most sums that are computed at once, in registers.
pub(in super::super) const MOST_SUMS: usize = 12;

/// Sums that stay in registers.
pub(in super::super) struct LanePart<'a, T> {
    /// A register for each place.
    pub(in super::super) factor: *const T,
    /// What each sum meets: the register for the first place at its offset, rows at the distance of `row_length`.
    pub(in super::super) others: *const T,
    pub(in super::super) offsets: &'a [usize],
    pub(in super::super) row_length: usize,
    /// The places.
    pub(in super::super) rows: usize,
    pub(in super::super) columns: usize,
    /// The first sum, and the distance of the next one in memory.
    pub(in super::super) sums: *mut T,
    pub(in super::super) apart: usize,
}

/// The function for a set of instructions.
#[derive(Clone, Copy)]
pub(in super::super) struct LaneKernel<T> {
    /// The groups at once.
    pub(in super::super) lanes: usize,
    /// Adds the products of a part to its sums.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions. There are at most [`MOST_SUMS`] offsets, the pointers are valid for
    /// the sizes and offsets, and no other thread accesses the sums.
    pub(in super::super) compute: unsafe fn(&LanePart<'_, T>),
}

/// Adds products to as many sums as the parameter states.
///
/// # Safety
///
/// As [`LaneKernel::compute`].
#[inline(always)]
unsafe fn add_products<V: Vector, const SUMS: usize>(part: &LanePart<'_, V::Lane>) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums: [V; SUMS] = std::array::from_fn(|sum| V::load(part.sums.add(sum * part.apart)));
        let first: [*const V::Lane; SUMS] =
            std::array::from_fn(|sum| part.others.wrapping_add(part.offsets[sum] * V::LANES));
        for row in 0..part.rows {
            for column in 0..part.columns {
                let factor = V::load(part.factor.add((row * part.columns + column) * V::LANES));
                let at = (row * part.row_length + column) * V::LANES;
                for (sum, first) in sums.iter_mut().zip(first) {
                    *sum = V::load(first.wrapping_add(at)).mul_add(factor, *sum);
                }
            }
        }
        for (number, sum) in sums.iter().enumerate() {
            sum.store(part.sums.add(number * part.apart));
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $register:ty, $lane:ty $(, #[$features:meta])?;)*) => {$(
        $(#[$features])?
        pub(super) unsafe fn $name(part: &LanePart<'_, $lane>) {
            kernels!(@ $register, part, 1 2 3 4 5 6 7 8 9 10 11 12);
        }
    )*};
    (@ $register:ty, $part:ident, $($count:literal)*) => {
        // SAFETY: the caller's promise.
        unsafe {
            match $part.offsets.len() {
                $($count => add_products::<$register, $count>($part),)*
                _ => {}
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
kernels! {
    f32_avx512: __m512, f32, #[target_feature(enable = "avx512f")];
    f64_avx512: __m512d, f64, #[target_feature(enable = "avx512f")];
    f32_avx2: __m256, f32, #[target_feature(enable = "avx2,fma")];
    f64_avx2: __m256d, f64, #[target_feature(enable = "avx2,fma")];
}

kernels! {
    f32_any: [f32; 4], f32;
    f64_any: [f64; 2], f64;
}
