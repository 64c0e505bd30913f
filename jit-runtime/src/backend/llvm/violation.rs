//! Accesses that analyses have found to be in range, checked nevertheless.
//!
//! With `JIT_VERIFY_ACCESSES=1` in the environment, generated code checks every index that it would otherwise
//! trust: those in range by proof, runs of consecutive ones, rows, elements that lanes share, local memory, and the
//! lane's own. One that is not in range is a mistake of this backend. The code then writes a record to the end of the
//! memory that it is lent and returns; the host says what is wrong, and ends the process. This is for tests: nothing
//! is promised about the variable.

use std::fmt;
use std::io::Write as _;

use crate::backend::loader::RECORD_BYTES;

/// Words of a record: the address and the length of a text that says which access it is, the index, and the number of
/// elements.
pub(super) const RECORD_WORDS: usize = 4;

/// Whether the environment asks for it.
pub(super) fn is_asked_for() -> bool {
    std::env::var_os("JIT_VERIFY_ACCESSES").is_some_and(|value| value == "1")
}

/// An access out of range that was not checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Violation {
    /// Kernel and instruction.
    pub(super) access: String,
    pub(super) index: i64,
    pub(super) length: u64,
}

/// Makes a record say that nothing is wrong.
///
/// # Safety
///
/// There are [`RECORD_BYTES`] to be written at the address.
pub(super) unsafe fn clear(record: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { record.write_bytes(0, RECORD_BYTES) };
}

impl Violation {
    /// What a record says.
    ///
    /// # Safety
    ///
    /// The record was cleared, and then perhaps written by code that is still loaded.
    pub(super) unsafe fn read(record: *const u8) -> Option<Violation> {
        // SAFETY: the caller's promise; records are aligned as cache lines.
        let [text, text_bytes, index, length] = unsafe { record.cast::<[u64; RECORD_WORDS]>().read() };
        if text == 0 {
            return None;
        }
        // SAFETY: the code has written the address and length of a text of its own.
        let text = unsafe { std::slice::from_raw_parts(text as *const u8, text_bytes as usize) };
        Some(Violation { access: String::from_utf8_lossy(text).into_owned(), index: index as i64, length })
    }

    /// Says what is wrong, and ends the process: memory may be read or written next that is not the program's.
    pub(super) fn abort(&self) -> ! {
        // Where not even that can be written, there is the abort.
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
