//! Squares of sixteen numbers of four bytes, transposed in registers of 64 bytes.

use super::super::vector::Lane;
use super::Source;

/// Transposes the whole squares of a source, if the numbers have four bytes and the processor has the registers.
/// Returns how many items and numbers of each they cover.
///
/// # Safety
///
/// As [`super::pack`].
pub(super) unsafe fn transpose<T: Lane>(source: &Source<T>, width: usize, target: *mut T) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == size_of::<f32>() && is_x86_feature_detected!("avx512f") {
        let Source { first, items, item_stride, inner, inner_stride } = *source;
        let source = Source { first: first.cast(), items, item_stride, inner, inner_stride };
        // SAFETY: the caller's promise. The numbers are moved as bits, and the processor has the instructions.
        return unsafe { x86::transpose_squares(&source, width, target.cast()) };
    }
    let _ = (source, width, target);
    (0, 0)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Source;

    const SQUARE: usize = 16;
    /// A register has four parts of four numbers.
    const PARTS: usize = 4;

    /// # Safety
    ///
    /// As [`super::transpose`].
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn transpose_squares(source: &Source<f32>, width: usize, target: *mut f32) -> (usize, usize) {
        let whole = (source.items / SQUARE * SQUARE, source.inner / SQUARE * SQUARE);
        for item in (0..whole.0).step_by(SQUARE) {
            for inner in (0..whole.1).step_by(PARTS) {
                // SAFETY: the caller's promise; the numbers are in the part.
                unsafe {
                    let first = source.first.add(item * source.item_stride + inner);
                    transpose_four(first, source.item_stride, width, target.add(inner * width + item));
                }
            }
        }
        whole
    }

    /// Transposes four numbers of each of sixteen items.
    ///
    /// # Safety
    ///
    /// They must be readable, and the target writable.
    #[target_feature(enable = "avx512f")]
    unsafe fn transpose_four(first: *const f32, stride: usize, width: usize, target: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe {
            // Parts of each register are four items apart, so that transposing all parts brings items in order.
            let items = |item: usize| {
                let part = |part: usize| _mm_loadu_ps(first.add((item + PARTS * part) * stride));
                let all = _mm512_castps128_ps512(part(0));
                let all = _mm512_insertf32x4::<1>(all, part(1));
                let all = _mm512_insertf32x4::<2>(all, part(2));
                _mm512_insertf32x4::<3>(all, part(3))
            };
            let [a, b, c, d] = [items(0), items(1), items(2), items(3)];
            let [ab, cd] = [(a, b), (c, d)].map(|(a, b)| {
                [_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)].map(|pairs| _mm512_castps_pd(pairs))
            });
            for half in 0..2 {
                let target = target.add(2 * half * width);
                _mm512_storeu_ps(target, _mm512_castpd_ps(_mm512_unpacklo_pd(ab[half], cd[half])));
                _mm512_storeu_ps(target.add(width), _mm512_castpd_ps(_mm512_unpackhi_pd(ab[half], cd[half])));
            }
        }
    }
}
