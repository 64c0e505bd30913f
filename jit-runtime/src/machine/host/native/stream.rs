//! Stores that bypass the cache, for results that would not fit into it: a line that is only written need not be read
//! first.

use crate::cache::cost::streaming_threshold;

/// Whether the results of a step that accesses this many bytes should bypass the cache.
pub(super) fn pays(bytes: usize) -> bool {
    cfg!(target_arch = "x86_64") && bytes > streaming_threshold()
}

/// The number of bytes that are staged in the cache before they are copied to the target.
pub(super) const STAGE_BYTES: usize = 4096;

/// A buffer for bytes that are staged.
#[repr(C, align(64))]
pub(super) struct Stage(pub(super) [u8; STAGE_BYTES]);

/// Copies elements without reading the target into the cache. Other threads see the copy after [`fence`].
pub(super) fn copy<T: Copy>(source: &[T], target: &mut [T]) {
    assert_eq!(source.len(), target.len(), "source and target are equally long");
    let bytes = size_of_val(source);
    // SAFETY: the slices have this length, and do not overlap, since one of them is exclusive.
    unsafe { copy_bytes(source.as_ptr().cast(), target.as_mut_ptr().cast(), bytes) };
}

/// # Safety
///
/// The source must have this many bytes and the target room for them, and the two must not overlap.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_bytes(source: *const u8, target: *mut u8, bytes: usize) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
    let whole = is_x86_feature_detected!("avx512f");
    let vector_bytes = if whole { 64 } else { 16 };
    let head = target.align_offset(vector_bytes).min(bytes);
    let end = bytes - (bytes - head) % vector_bytes;
    // SAFETY: all offsets are below `bytes`; streaming stores are aligned by the choice of `head`, and the processor
    // supports them.
    unsafe {
        std::ptr::copy_nonoverlapping(source, target, head);
        if whole {
            stream_lines(source.add(head), target.add(head), end - head);
        } else {
            for offset in (head..end).step_by(16) {
                _mm_stream_si128(target.add(offset).cast(), _mm_loadu_si128(source.add(offset).cast()));
            }
        }
        std::ptr::copy_nonoverlapping(source.add(end), target.add(end), bytes - end);
    }
}

/// Whole lines at once: no line is written in parts.
///
/// # Safety
///
/// As [`copy_bytes`]; the target must be aligned to 64 bytes, and the number of bytes a multiple of 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn stream_lines(source: *const u8, target: *mut u8, bytes: usize) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
    for offset in (0..bytes).step_by(64) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_stream_si512(target.add(offset).cast(), _mm512_loadu_si512(source.add(offset).cast())) };
    }
}

/// # Safety
///
/// The source must have this many bytes and the target room for them, and the two must not overlap.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_bytes(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
}

/// Makes earlier copies visible to threads that synchronise with this thread afterwards.
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of every x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_every_length_and_alignment_are_exact() {
        let source: Vec<u8> = (0..300).map(|i| (i * 7 % 251) as u8).collect();
        for start in 0..20 {
            for len in 0..100 {
                let mut target = vec![0_u8; 300];
                copy(&source[start..start + len], &mut target[start..start + len]);
                fence();
                assert_eq!(target[start..start + len], source[start..start + len]);
                assert!(target[..start].iter().chain(&target[start + len..]).all(|byte| *byte == 0));
            }
        }
    }
}
