//! Tests of modules, layers, losses and their training through the public interface of `jit`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

#[path = "../shared/alone.rs"]
mod alone;
mod basics;
mod data;
#[path = "../shared/file.rs"]
mod file;
#[cfg(feature = "safetensors")]
mod files;
mod first_steps;
mod habits;
mod halves;
mod init;
mod nested;
mod reference;
mod saved;
mod state;
mod together;
mod traced;
mod tracing;

#[path = "../shared/tested_devices.rs"]
mod tested_devices;

/// Runs a test on each device.
pub(crate) fn on_each_device(test: impl Fn()) {
    for device in tested_devices::all() {
        jit::with_device(device, &test);
    }
}

/// Asserts that a function panics with a message that names a file of these tests.
#[track_caller]
pub(crate) fn assert_refused(function: impl FnOnce(), wanted: &str) {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(function)).unwrap_err();
    let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(text.contains(wanted) && text.contains("tests/nn/"), "{text}");
}

/// Asserts that a function panics with a message.
#[track_caller]
pub(crate) fn assert_panics(function: impl FnOnce(), wanted: &str) {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(function)).unwrap_err();
    let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|&s| s.to_owned()));
    assert!(text.as_deref().unwrap_or_default().contains(wanted), "{text:?}");
}
