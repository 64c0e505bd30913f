//! Scratch memory for runs of kernels and library calls: what is too large for the stack.
//!
//! Each thread retains its memory, so that launches do not allocate; very large memory is freed.

use std::cell::Cell;

use crate::backend::filled;

/// The number of bytes that a thread retains.
const KEPT_BYTES: usize = 4 << 20;

/// A cache line, to which the memory is aligned.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "written through pointers")] [u8; 64]);

thread_local! {
    static KEPT: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Calls a function with memory of this size, with arbitrary contents; null for none.
pub(crate) fn with(bytes: usize, body: impl FnOnce(*mut u8)) {
    if bytes == 0 {
        return body(std::ptr::null_mut());
    }
    // Nested calls in the body use other memory. While a thread ends, no memory is retained.
    let mut memory = KEPT.try_with(Cell::take).unwrap_or_default();
    let lines = bytes.div_ceil(size_of::<Line>());
    if memory.len() < lines {
        memory = filled(lines, Line([0; 64]));
    }
    body(memory.as_mut_ptr().cast());
    if memory.len() * size_of::<Line>() <= KEPT_BYTES {
        let _ = KEPT.try_with(|kept| kept.set(memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_large_enough_and_each_use_has_its_own() {
        with(100, |outer| {
            // SAFETY: 100 bytes were requested.
            unsafe { outer.write_bytes(1, 100) };
            with(KEPT_BYTES + 1, |inner| {
                assert!(inner.addr().is_multiple_of(64) && inner != outer);
                // SAFETY: this many bytes were requested.
                unsafe { inner.write_bytes(2, KEPT_BYTES + 1) };
            });
            // SAFETY: as above.
            assert_eq!(unsafe { outer.add(99).read() }, 1);
        });
        with(0, |none| assert!(none.is_null()));
    }
}
