//! Prefix sums of 32-bit integers in vector registers. A register is summed in four steps, each of which adds values
//! from twice the distance (Hillis and Steele 1986). So only one addition per register waits for the previous register.

use std::any::TypeId;

use super::element::Add;

/// Whether combining elements of a type is 32-bit integer addition, and the processor has the instructions.
#[inline(always)]
pub(super) fn apply<T: 'static, O: 'static>() -> bool {
    let is_word = TypeId::of::<T>() == TypeId::of::<u32>() || TypeId::of::<T>() == TypeId::of::<i32>();
    is_word && TypeId::of::<O>() == TypeId::of::<Add>() && has_vectors()
}

#[cfg(target_arch = "x86_64")]
fn has_vectors() -> bool {
    is_x86_feature_detected!("avx512f")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_vectors() -> bool {
    false
}

/// Writes the sums up to each element, or those before each element, continuing from a carry. Returns the total. Must
/// only be called if [`apply`] returns true.
#[cfg(target_arch = "x86_64")]
pub(super) fn scan(source: &[u32], target: &mut [u32], before: u32, is_exclusive: bool) -> u32 {
    assert!(has_vectors() && source.len() == target.len(), "the processor has the instructions, and the lengths agree");
    // SAFETY: the processor has the feature.
    unsafe {
        if is_exclusive {
            scan_vectors::<true>(source, target, before)
        } else {
            scan_vectors::<false>(source, target, before)
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn scan(_: &[u32], _: &mut [u32], before: u32, _: bool) -> u32 {
    before
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn scan_vectors<const IS_EXCLUSIVE: bool>(source: &[u32], target: &mut [u32], before: u32) -> u32 {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_alignr_epi32, _mm512_cvtsi512_si32, _mm512_loadu_si512, _mm512_permutexvar_epi32,
        _mm512_set1_epi32, _mm512_setzero_si512, _mm512_storeu_si512, _mm512_sub_epi32,
    };
    let (zero, last) = (_mm512_setzero_si512(), _mm512_set1_epi32(15));
    let mut carry = _mm512_set1_epi32(before as i32);
    let (source_vectors, source_rest) = source.as_chunks::<16>();
    let (target_vectors, target_rest) = target.as_chunks_mut::<16>();
    for (source, target) in source_vectors.iter().zip(target_vectors) {
        // SAFETY: there are sixteen elements.
        let own = unsafe { _mm512_loadu_si512(source.as_ptr().cast()) };
        let sum = _mm512_add_epi32(own, _mm512_alignr_epi32::<15>(own, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<14>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<12>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<8>(sum, zero));
        let result = if IS_EXCLUSIVE { _mm512_sub_epi32(sum, own) } else { sum };
        // SAFETY: there is room for sixteen elements.
        unsafe { _mm512_storeu_si512(target.as_mut_ptr().cast(), _mm512_add_epi32(result, carry)) };
        carry = _mm512_add_epi32(carry, _mm512_permutexvar_epi32(last, sum));
    }
    let mut sum = _mm512_cvtsi512_si32(carry) as u32;
    for (source, target) in source_rest.iter().zip(target_rest) {
        let next = sum.wrapping_add(*source);
        *target = if IS_EXCLUSIVE { sum } else { next };
        sum = next;
    }
    sum
}
