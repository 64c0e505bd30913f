//! Messages for wrong programs.

/// The message that a wrong program panics with.
#[track_caller]
#[allow(clippy::panic, reason = "a test helper panics for a program that is not rejected")]
pub(crate) fn message_of<R>(program: impl FnOnce() -> R) -> String {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(program)) {
        Ok(_) => panic!("the program is wrong, and did not panic"),
        Err(payload) => payload.downcast_ref::<String>().cloned().unwrap_or_else(|| "no text".to_owned()),
    }
}
