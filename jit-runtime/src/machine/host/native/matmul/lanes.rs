//! Sums of products of neighbours: each lane of a sum has every sixteenth product.
//!
//! Where groups have few columns, a product of matrices for each would leave most lanes of [`kernel`](super::kernel)
//! without work. Each lane is still the sum of its products in ascending order of the places, with a single rounding
//! each.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

use super::vector::Vector;

/// The lanes of a sum.
pub(in super::super) const LANES: usize = crate::backend::library::LANES;

/// The most sums that are computed at once, in registers.
pub(in super::super) const MOST_SUMS: usize = 12;

/// Sums over blocks of consecutive places, one for each lane.
pub(in super::super) struct LanePart<'a, T> {
    /// A number for each place. Where a mask is false, it is −0.
    pub(in super::super) factor: *const T,
    /// What each sum meets: the number for the first place at its offset.
    pub(in super::super) others: *const T,
    pub(in super::super) offsets: &'a [usize],
    /// The number of blocks, at least one.
    pub(in super::super) blocks: usize,
    /// Which places there are in the first block, and in the last one.
    pub(in super::super) masks: &'a [[T; LANES]; 2],
    /// The lanes of the first sum, and the distance of those of the next one.
    pub(in super::super) sums: *mut T,
    pub(in super::super) apart: usize,
}

/// Adds the products of a part to its sums, by a set of instructions.
///
/// # Safety
///
/// The processor must have the instructions. There are at most [`MOST_SUMS`] offsets, the pointers are valid for whole
/// blocks, and no other thread accesses the sums.
pub(in super::super) type LaneKernel<T> = unsafe fn(&LanePart<'_, T>);

/// Adds products to as many sums as the parameter states.
///
/// # Safety
///
/// As [`LaneKernel`].
#[inline(always)]
unsafe fn add_products<V: Vector, const SUMS: usize>(part: &LanePart<'_, V::Lane>) {
    for lane in (0..LANES).step_by(V::LANES) {
        // SAFETY: the caller's promise; a register of lanes is within a block.
        unsafe {
            let mut sums: [V; SUMS] = std::array::from_fn(|sum| V::load(part.sums.add(sum * part.apart + lane)));
            let first: [*const V::Lane; SUMS] =
                std::array::from_fn(|sum| part.others.wrapping_add(part.offsets[sum] + lane));
            let last = part.blocks - 1;
            add_edge(part, 0, lane, &first, &mut sums);
            for block in 1..last {
                let factor = V::load(part.factor.add(block * LANES + lane));
                for (sum, first) in sums.iter_mut().zip(first) {
                    *sum = V::load(first.wrapping_add(block * LANES)).mul_add(factor, *sum);
                }
            }
            if last > 0 {
                add_edge(part, last, lane, &first, &mut sums);
            }
            for (number, sum) in sums.iter().enumerate() {
                sum.store(part.sums.add(number * part.apart + lane));
            }
        }
    }
}

/// Adds the products of the first or the last block. Those of places that are not there are those of −0 and 0, which
/// change no sum.
///
/// # Safety
///
/// As [`LaneKernel`].
#[inline(always)]
unsafe fn add_edge<V: Vector, const SUMS: usize>(
    part: &LanePart<'_, V::Lane>,
    block: usize,
    lane: usize,
    first: &[*const V::Lane; SUMS],
    sums: &mut [V; SUMS],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mask = V::load(part.masks[usize::from(block > 0)].as_ptr().add(lane));
        let factor = V::load(part.factor.add(block * LANES + lane));
        for (sum, first) in sums.iter_mut().zip(first) {
            *sum = V::load(first.wrapping_add(block * LANES)).and(mask).mul_add(factor, *sum);
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
