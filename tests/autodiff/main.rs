//! Tests of differentiation through the public interface of `jit`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

mod custom;
mod functional;
mod leaks;
mod memory;
mod operations;
mod optim;
mod random;
mod rows;
mod scopes;
mod seeing;
mod tensors;
mod traversal;

#[path = "../shared/tested_devices.rs"]
mod tested_devices;

/// Runs a test on each device.
pub(crate) fn on_each_device(test: impl Fn()) {
    for device in tested_devices::all() {
        jit::with_device(device, &test);
    }
}

/// Asserts that numbers are equal but for rounding.
#[track_caller]
pub(crate) fn assert_close(got: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(got.len(), wanted.len(), "{got:?} against {wanted:?}");
    for (position, (got_one, wanted_one)) in got.iter().zip(wanted).enumerate() {
        let same = got_one == wanted_one || (got_one.is_nan() && wanted_one.is_nan());
        let close = (got_one - wanted_one).abs() <= tolerance * (1.0 + wanted_one.abs());
        assert!(same || close, "element {position}: {got_one} instead of {wanted_one}; {got:?} against {wanted:?}");
    }
}
