//! `f::compile(…)`: functions that are compiled before they are called.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

mod arguments;
mod basics;
mod borrowing;
mod constexpr;
#[path = "../shared/file.rs"]
mod file;
mod places;
mod reports;
mod saved;
mod untyped;
#[path = "../shared/zero_hashes.rs"]
mod zero_hashes;

use std::sync::{Mutex, PoisonError};

use jit::{Device, Result};

/// Counters are those of the process, so tests run one at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test on every device.
fn on_each_device(run: impl Fn() -> Result<()>) {
    let _alone = alone();
    for device in [Device::Cpu, Device::Interpreter] {
        jit::with_device(device, || run().unwrap_or_else(|error| panic!("on {device}: {error}")));
    }
}

// one device: the tests that it runs choose theirs
// rows: O36
#[test]
fn executors_find_their_kernels_if_every_hash_is_zero() {
    zero_hashes::run_again("1", &[], &[], 20);
}
