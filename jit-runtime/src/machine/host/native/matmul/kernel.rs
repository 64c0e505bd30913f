//! The innermost part of products: a few rows of `a` times two registers of columns of `b`, in registers.
//!
//! Each element is the sum of its products in ascending order, each product added with a single rounding: the same bits
//! with any registers, and in tiles of any size. The scheme is that of Goto and van de Geijn, "Anatomy of
//! high-performance matrix multiplication", 2008.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

use super::lanes::{self, LaneKernel};
#[cfg(target_arch = "x86_64")]
use super::vector::Pairs;
use super::vector::{Lane, Vector};

/// The most rows that a kernel computes at once, on any processor.
const MAX_ROWS: usize = 12;
/// The registers of columns that a kernel computes at once.
const VECTORS: usize = 2;

/// A part of a product that stays in registers.
pub(in super::super) struct Part<T> {
    /// The number of products in each sum.
    pub(in super::super) inner: usize,
    /// The first element of `a`, the number of rows, and the strides from row to row and within rows.
    pub(in super::super) a: *const T,
    pub(in super::super) rows: usize,
    pub(in super::super) a_down: usize,
    pub(in super::super) a_across: usize,
    /// A panel of `b`: for each row as many columns as the kernel computes; and the stride from row to row.
    pub(in super::super) b: *const T,
    pub(in super::super) b_down: usize,
    /// The first element of the result, the stride from row to row, and the number of columns.
    pub(in super::super) c: *mut T,
    pub(in super::super) c_down: usize,
    pub(in super::super) columns: usize,
    /// Whether the sums continue from the result, instead of zero.
    pub(in super::super) continues: bool,
    /// Whether `b` is read through a window, instead of a panel.
    pub(in super::super) window: Option<Window>,
}

/// Columns of `b` that are somewhere in memory, some of which have no results.
#[derive(Clone, Copy)]
pub(in super::super) struct Window {
    /// For each row of `b` the distance of its columns from the first element: as many as the kernel computes can be
    /// read.
    pub(in super::super) offsets: *const usize,
    /// The columns that have results, as bits. The results are consecutive.
    pub(in super::super) valid: u32,
}

/// The functions for a set of instructions.
#[derive(Clone, Copy)]
pub(in super::super) struct Kernel<T> {
    /// The most rows at once.
    pub(in super::super) rows: usize,
    /// The most columns at once, and the columns of a panel.
    pub(in super::super) columns: usize,
    /// Computes a part.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions. The part has at most so many rows and columns, the pointers are valid
    /// for its sizes and strides, and no other thread accesses its result.
    pub(in super::super) compute: unsafe fn(&Part<T>),
}

/// A float with kernels.
pub(in super::super) trait Float: Lane {
    /// The kernels that this processor can run, best first.
    fn kernels() -> Vec<Kernel<Self>>;

    /// The best kernel of sums whose lanes are places.
    fn by_lanes() -> LaneKernel<Self>;
}

/// Computes a part with as many rows and registers as the parameters state.
///
/// # Safety
///
/// As [`Kernel::compute`].
#[inline(always)]
unsafe fn compute_rows<V: Vector, const ROWS: usize, const VECTORS: usize>(part: &Part<V::Lane>) {
    let last = part.columns - (VECTORS - 1) * V::LANES;
    // SAFETY: the sizes and strides of the part are right.
    unsafe {
        let mut sums = [[V::splat(V::Lane::ZERO); VECTORS]; ROWS];
        if part.continues {
            for (row, sums) in sums.iter_mut().enumerate() {
                let c = part.c.add(row * part.c_down);
                for (vector, sum) in sums[..VECTORS - 1].iter_mut().enumerate() {
                    *sum = V::load(c.add(vector * V::LANES));
                }
                sums[VECTORS - 1] = V::load_first(c.add((VECTORS - 1) * V::LANES), last);
            }
        }
        add_products(part, &mut sums, |row| part.b.wrapping_add(row * part.b_down));
        for (row, sums) in sums.iter().enumerate() {
            let c = part.c.add(row * part.c_down);
            for (vector, sum) in sums[..VECTORS - 1].iter().enumerate() {
                sum.store(c.add(vector * V::LANES));
            }
            sums[VECTORS - 1].store_first(c.add((VECTORS - 1) * V::LANES), last);
        }
    }
}

/// Computes a part whose `b` is read through a window.
///
/// # Safety
///
/// As [`Kernel::compute`].
#[inline(always)]
unsafe fn compute_window<V: Vector, const ROWS: usize, const VECTORS: usize>(part: &Part<V::Lane>, window: Window) {
    let valid: [u32; VECTORS] = std::array::from_fn(|vector| {
        (window.valid >> (vector * V::LANES)) & (u32::MAX >> (u32::BITS as usize - V::LANES))
    });
    // The results before those of each register.
    let mut before = [0; VECTORS];
    for vector in 1..VECTORS {
        before[vector] = before[vector - 1] + valid[vector - 1].count_ones() as usize;
    }
    // SAFETY: as for `compute_rows`; there are as many results as bits.
    unsafe {
        let mut sums = [[V::splat(V::Lane::ZERO); VECTORS]; ROWS];
        if part.continues {
            for (row, sums) in sums.iter_mut().enumerate() {
                let c = part.c.add(row * part.c_down);
                for (vector, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load_valid(c.add(before[vector]), valid[vector]);
                }
            }
        }
        add_products(part, &mut sums, |row| part.b.wrapping_add(*window.offsets.add(row)));
        for (row, sums) in sums.iter().enumerate() {
            let c = part.c.add(row * part.c_down);
            for (vector, sum) in sums.iter().enumerate() {
                sum.store_valid(c.add(before[vector]), valid[vector]);
            }
        }
    }
}

/// Adds the products of a part to the sums, in ascending order. `row_of_b` returns the columns of a row.
///
/// # Safety
///
/// As [`Kernel::compute`].
#[inline(always)]
unsafe fn add_products<V: Vector, const ROWS: usize, const VECTORS: usize>(
    part: &Part<V::Lane>,
    sums: &mut [[V; VECTORS]; ROWS],
    row_of_b: impl Fn(usize) -> *const V::Lane,
) {
    // Every third row has a pointer of its own: an address adds one or two strides to it.
    let mut a: [*const V::Lane; MAX_ROWS / 3] =
        std::array::from_fn(|third| part.a.wrapping_add(3 * third * part.a_down));
    for inner in 0..part.inner {
        let b = row_of_b(inner);
        // SAFETY: the caller's promise.
        unsafe {
            let columns: [V; VECTORS] = std::array::from_fn(|vector| V::load(b.wrapping_add(vector * V::LANES)));
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = V::splat(*a[row / 3].wrapping_add(row % 3 * part.a_down));
                for (sum, columns) in sums.iter_mut().zip(columns) {
                    *sum = factor.mul_add(columns, *sum);
                }
            }
        }
        a = a.map(|a| a.wrapping_add(part.a_across));
    }
}

/// Calls a function with as many rows and registers as a part has.
macro_rules! call_for_size {
    ($part:ident: $function:ident::<$register:ty>$arguments:tt, $($rows:literal)*) => {
        match ($part.rows, $part.columns <= <$register>::LANES) {
            $(
                ($rows, true) => $function::<$register, $rows, 1>$arguments,
                ($rows, false) => $function::<$register, $rows, 2>$arguments,
            )*
            _ => {}
        }
    };
}

/// Makes a kernel from registers, the instructions that it needs, and the numbers of rows that it can compute.
macro_rules! kernel {
    ($name:ident: $register:ty, $(#[$features:meta])? $($rows:literal)*) => {
        $(#[$features])?
        unsafe fn $name(part: &Part<<$register as Vector>::Lane>) {
            // SAFETY: the caller's promise.
            unsafe {
                match part.window {
                    None => call_for_size!(part: compute_rows::<$register>(part), $($rows)*),
                    Some(window) => call_for_size!(part: compute_window::<$register>(part, window), $($rows)*),
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
kernel!(f32_avx512: __m512, #[target_feature(enable = "avx512f")] 1 2 3 4 5 6 7 8 9 10 11 12);
#[cfg(target_arch = "x86_64")]
kernel!(f64_avx512: __m512d, #[target_feature(enable = "avx512f")] 1 2 3 4 5 6 7 8 9 10 11 12);
#[cfg(target_arch = "x86_64")]
kernel!(f32_avx2: __m256, #[target_feature(enable = "avx2,fma")] 1 2 3 4 5 6);
#[cfg(target_arch = "x86_64")]
kernel!(f64_avx2: __m256d, #[target_feature(enable = "avx2,fma")] 1 2 3 4 5 6);
/// Has no windows.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bf16")]
unsafe fn bf16_pairs(part: &Part<f32>) {
    // SAFETY: the caller's promise.
    unsafe { call_for_size!(part: compute_rows::<Pairs>(part), 1 2 3 4 5 6 7 8 9 10 11 12) }
}

/// The kernel of factors of `bf16` in pairs, if this processor can run it. It computes no windows.
pub(in super::super) fn of_pairs() -> Option<Kernel<f32>> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bf16") {
        return Some(Kernel { rows: 12, columns: VECTORS * Pairs::LANES, compute: bf16_pairs });
    }
    None
}

kernel!(f32_any: [f32; 4], 1 2 3 4);
kernel!(f64_any: [f64; 2], 1 2 3 4);

macro_rules! floats {
    ($($ty:ident: $avx512:ident $avx2:ident $any:ident;)*) => {$(
        impl Float for $ty {
            fn kernels() -> Vec<Kernel<$ty>> {
                let kernel = |rows: usize, bytes: usize, compute: unsafe fn(&Part<$ty>)| Kernel {
                    rows,
                    columns: VECTORS * bytes / size_of::<$ty>(),
                    compute,
                };
                let mut kernels = Vec::new();
                #[cfg(target_arch = "x86_64")]
                {
                    if is_x86_feature_detected!("avx512f") {
                        kernels.push(kernel(12, 64, $avx512));
                    }
                    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                        kernels.push(kernel(6, 32, $avx2));
                    }
                }
                kernels.push(kernel(4, 16, $any));
                kernels
            }

            fn by_lanes() -> LaneKernel<$ty> {
                #[cfg(target_arch = "x86_64")]
                {
                    if is_x86_feature_detected!("avx512f") {
                        return lanes::$avx512;
                    }
                    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                        return lanes::$avx2;
                    }
                }
                lanes::$any
            }
        }
    )*};
}

floats! {
    f32: f32_avx512 f32_avx2 f32_any;
    f64: f64_avx512 f64_avx2 f64_any;
}
