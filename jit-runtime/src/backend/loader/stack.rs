//! The stack that machine code needs.
//!
//! Code of a kernel of many thousand operations may have more values at a time than registers, and its frame may be
//! larger than the stack of the thread that runs it. Such code runs on a thread that has the stack. The size of the
//! frame is known after the code was generated; it follows the object file, whose readers ignore what is behind it.

use std::thread;

/// The largest frame, in bytes, of code that runs on any thread: a small part of the stack that threads have.
#[cfg(feature = "llvm")]
pub(crate) const LARGEST_DIRECT: usize = 64 << 10;

/// What a thread needs besides the frame.
const REST: usize = 128 << 10;

/// Behind the size of the frame at the end of the bytes.
const MARK: [u8; 8] = *b"jitframe";

/// Appends the size of a frame of more than [`LARGEST_DIRECT`] bytes to an object file.
#[cfg(feature = "llvm")]
pub(crate) fn append(object: &[u8], frame_bytes: usize) -> Box<[u8]> {
    [object, &(frame_bytes as u64).to_le_bytes(), &MARK].concat().into()
}

/// The bytes of the frame of code in an object file; 0 if any thread may run it.
pub(super) fn frame_bytes(object: &[u8]) -> usize {
    let size = object.strip_suffix(&MARK).and_then(<[u8]>::last_chunk);
    size.map_or(0, |size| u64::from_le_bytes(*size) as usize)
}

/// Calls a function on a thread that has room for a frame of this size.
///
/// # Panics
///
/// When the system refuses another thread or its memory.
#[cold]
pub(super) fn with(frame_bytes: usize, body: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("jit-stack".into()).stack_size(frame_bytes + REST);
        let thread = thread.spawn_scoped(scope, body);
        let thread = thread.expect("the code of a kernel needs a thread with a large stack, which cannot be started");
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_behind_an_object_file_is_read() {
        assert_eq!((frame_bytes(b""), frame_bytes(b"an object file"), frame_bytes(&MARK)), (0, 0, 0));
        let object = [b"an object file".as_slice(), &1_000_000_u64.to_le_bytes(), &MARK].concat();
        assert_eq!(frame_bytes(&object), 1_000_000);
    }

    #[test]
    fn a_large_frame_has_room() {
        #[inline(never)]
        fn large() -> u8 {
            std::hint::black_box([1_u8; 16 << 20])[1 << 20]
        }
        let mut value = 0;
        with(17 << 20, || value = large());
        assert_eq!(value, 1);
    }
}
