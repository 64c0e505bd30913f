//! Redundant checks of accesses that analyses have proven to be in range.
//!
//! With `JIT_VERIFY_ACCESSES=1` in the environment, generated code checks every index that it would otherwise trust:
//! those in range by proof, runs of consecutive ones, rows, shared elements, local memory, and the lane's own. An index
//! out of range is a bug in this backend. The code then writes a record to the end of its scratch memory and returns;
//! the host reports the violation and ends the process. This is for tests: the variable may change at any time.

use std::fmt;
use std::io::Write as _;

use crate::backend::loader::RECORD_BYTES;

/// The number of words of a record: the address and the length of a text that identifies the access, the index, and the
/// number of elements.
pub(in crate::backend) const RECORD_WORDS: usize = 4;

/// Whether the environment requests it.
pub(in crate::backend) fn is_asked_for() -> bool {
    std::env::var_os("JIT_VERIFY_ACCESSES").is_some_and(|value| value == "1")
}

/// An access out of range that was not checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::backend) struct Violation {
    /// Kernel and instruction.
    pub(in crate::backend) access: String,
    pub(in crate::backend) index: i64,
    pub(in crate::backend) length: u64,
}

/// Clears a record: it then means that there was no violation.
///
/// # Safety
///
/// There must be room for [`RECORD_BYTES`] at the address.
pub(in crate::backend) unsafe fn clear(record: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { record.write_bytes(0, RECORD_BYTES) };
}

impl Violation {
    /// Reads a record.
    ///
    /// # Safety
    ///
    /// The record must have been cleared, and then perhaps written by code that is still loaded.
    pub(in crate::backend) unsafe fn read(record: *const u8) -> Option<Violation> {
        // SAFETY: guaranteed by the caller; records are aligned to cache lines.
        let [text, text_bytes, index, length] = unsafe { record.cast::<[u64; RECORD_WORDS]>().read() };
        if text == 0 {
            return None;
        }
        // SAFETY: the code has written the address and length of a text that it contains.
        let text = unsafe { std::slice::from_raw_parts(text as *const u8, text_bytes as usize) };
        Some(Violation { access: String::from_utf8_lossy(text).into_owned(), index: index as i64, length })
    }

    /// Reports the violation and ends the process, since it may next access memory that does not belong to the program.
    pub(in crate::backend) fn abort(&self) -> ! {
        // If the report cannot be written, the abort remains.
        _ = writeln!(std::io::stderr(), "{self}");
        std::process::abort()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { access, index, length } = self;
        write!(f, "an access that was proven to be in range is not: index {index} of {length} elements, by {access}")
    }
}
