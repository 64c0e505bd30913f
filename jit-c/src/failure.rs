//! How functions fail: a status, and a message of the thread. No panic crosses the boundary.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use jit_runtime::{Error, ErrorKind};

/// The outcome of a function: the numbers in the header.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It has done what it should.
    Ok = 0,
    /// A pointer is null that must not be.
    Null = 1,
    /// A file that cannot be read, or is none of this library, or too new, or damaged.
    Io = 2,
    /// Arguments that do not fit; a name or position that is not there.
    Invalid = 3,
    /// There is no memory.
    OutOfMemory = 4,
    /// The function failed while it ran.
    Failed = 5,
    /// A bug of this library.
    Internal = 6,
}

/// Why a function fails.
pub(crate) enum Failure {
    /// This argument is null.
    Null(&'static str),
    /// This part of something with a name is null.
    NullOf(&'static str, String),
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Returns the message of the last failure on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn jit_last_error() -> *const c_char {
    const NONE: *const c_char = c"".as_ptr();
    LAST.try_with(|last| last.try_borrow().map_or(NONE, |last| last.as_ptr())).unwrap_or(NONE)
}

fn remember(message: &str) {
    // The message ends at the first byte of zero, which none of ours has.
    let bytes: Vec<u8> = message.bytes().take_while(|byte| *byte != 0).collect();
    let message = CString::new(bytes).unwrap_or_default();
    let _ = LAST.try_with(|last| last.try_borrow_mut().map(|mut last| *last = message));
}

fn status_of(error: &Error) -> Status {
    match error.kind() {
        ErrorKind::Io | ErrorKind::Parse => Status::Io,
        ErrorKind::OutOfMemory => Status::OutOfMemory,
        ErrorKind::Launch | ErrorKind::Cancelled => Status::Failed,
        ErrorKind::Internal => Status::Internal,
        _ => Status::Invalid,
    }
}

/// Runs the body of a function.
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(Failure::Null(what))) => {
            remember(&format!("`{what}` is NULL\n  help: pass a pointer to what the header says"));
            Status::Null
        }
        Ok(Err(Failure::NullOf(what, whose))) => {
            remember(&format!("`{what}` of {whose} is NULL\n  help: pass a pointer to what the header says"));
            Status::Null
        }
        Ok(Err(Failure::Error(error))) => {
            remember(&error.to_string());
            status_of(&error)
        }
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            remember(&format!("a panic: {text}\n  help: this is a bug of the library, please report it"));
            Status::Internal
        }
    }
}

/// Runs the body of a function that returns a value, or another one where it panics.
pub(crate) fn guarded_or<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// Returns what a handle refers to.
///
/// # Safety
///
/// It is null, or refers to a live value.
pub(crate) unsafe fn live<'a, T>(pointer: *const T, what: &'static str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or(Failure::Null(what))
}

/// Gives out a value.
///
/// # Safety
///
/// It is null, or may be written.
pub(crate) unsafe fn give<T>(place: *mut T, what: &'static str, value: T) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::Null(what));
    }
    // SAFETY: it is not null, and the caller's promise.
    unsafe { place.write(value) };
    Ok(())
}

/// The error of a position that is not there.
pub(crate) fn no_position(what: &str, position: usize, count: usize) -> Failure {
    let message = format!("there is no {what} {position}: there are {count}, counted from 0");
    Failure::Error(Error::new(ErrorKind::InvalidArgument, message))
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn last() -> String {
        // SAFETY: the message is live until the next failure of this thread.
        unsafe { CStr::from_ptr(jit_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_a_status_with_its_message() {
        assert_eq!(last(), "");
        assert_eq!(guarded(|| panic!("on purpose")), Status::Internal);
        assert!(last().contains("a panic: on purpose"), "{}", last());
        assert_eq!(guarded(|| Err(Failure::Null("bundle"))), Status::Null);
        assert!(last().contains("`bundle` is NULL"));
        assert_eq!(guarded(|| Ok(())), Status::Ok);
        assert!(last().contains("`bundle`"), "a success leaves the message");
        assert_eq!(std::thread::spawn(last).join().unwrap(), "", "each thread has its own");
        assert_eq!(guarded_or(3, || panic!("on purpose")), 3);
    }
}
