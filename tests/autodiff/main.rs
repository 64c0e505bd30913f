//! Tests of differentiation through the public interface of `jit`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

mod basics;
mod branches;
mod combined;
mod concat;
mod custom;
mod custom_rows;
mod every_operation;
mod executors;
mod frozen;
mod frozen_limits;
mod frozen_rows;
mod functional;
mod inside_loops;
mod kinks;
mod leaks;
mod library;
mod loop_rows;
mod loop_writes;
mod loops;
mod memory;
mod operations;
mod optim;
mod prefix;
mod programs;
mod random;
mod random_loops;
mod recompute;
mod rows;
mod schedules;
mod scopes;
mod seeing;
mod simplify;
mod sums;
mod tensors;
mod traversal;
mod unaffected;

use std::sync::{Mutex, MutexGuard, PoisonError};

use jit::Float64;

#[path = "../shared/alone.rs"]
mod process;
#[path = "../shared/tested_devices.rs"]
mod tested_devices;

/// Runs a test on each device.
pub(crate) fn on_each_device(test: impl Fn()) {
    for device in tested_devices::all() {
        jit::with_device(device, &test);
    }
}

/// Runs tests one after another that observe what other threads do: they list the arrays of all threads (a list holds
/// arrays while it is made), change how all threads simplify, or count the recordings of a function that they share.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static LISTING: Mutex<()> = Mutex::new(());
    LISTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asserts that numbers are equal but for rounding.
#[track_caller]
pub(crate) fn assert_close(got: &[f64], wanted: &[f64], tolerance: f64) {
    assert_near("result", got, wanted, tolerance);
}

/// Like [`assert_close`], for results of this name.
#[track_caller]
fn assert_near(name: &str, got: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(got.len(), wanted.len(), "{name}: {got:?} against {wanted:?}");
    for (position, (got_one, wanted_one)) in got.iter().zip(wanted).enumerate() {
        let same = got_one == wanted_one || (got_one.is_nan() && wanted_one.is_nan());
        let close = (got_one - wanted_one).abs() <= tolerance * (1.0 + wanted_one.abs());
        assert!(
            same || close,
            "{name}, element {position}: {got_one} instead of {wanted_one}; {got:?} against {wanted:?}"
        );
    }
}

/// Checks the derivative of a function of arrays, reverse and forward, against central differences, with another weight
/// for each result.
#[track_caller]
pub(crate) fn check_function(name: &str, function: &dyn Fn(&Float64) -> Float64, x: &[f64]) {
    let count = function(&Float64::from(x)).len();
    let weights = Float64::from((0..count).map(|i| (i as f64 * 0.7).sin() + 0.3).collect::<Vec<_>>());
    let loss = |x: &Float64| (function(x) * &weights).sum();
    let gradient = jit::ad::grad(loss)(&Float64::from(x)).unwrap().to_vec().unwrap();
    let step = 1e-6;
    let moved = |position: usize, by: f64| {
        let mut moved = x.to_vec();
        moved[position] += by;
        loss(&Float64::from(moved)).item().unwrap()
    };
    let differences: Vec<f64> =
        (0..x.len()).map(|position| (moved(position, step) - moved(position, -step)) / (2.0 * step)).collect();
    assert_near(name, &gradient, &differences, 2e-6);
    let direction: Vec<f64> = (0..x.len()).map(|i| (i as f64 * 1.3).cos()).collect();
    let (_, tangent) = jit::ad::jvp(loss, &Float64::from(x), &Float64::from(&direction[..])).unwrap();
    let product: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
    assert_near(name, &[tangent.item().unwrap()], &[product], 1e-10);
}

/// Checks the second derivative of a function of arrays in a direction against differences of the first one.
#[track_caller]
pub(crate) fn check_second(name: &str, function: &dyn Fn(&Float64) -> Float64, x: &[f64]) {
    let loss = |x: &Float64| {
        let y = function(x);
        (&y * &y * 0.5 + y.sin()).sum()
    };
    let direction: Vec<f64> = (0..x.len()).map(|i| (i as f64 * 1.3).cos()).collect();
    let (x, direction) = (Float64::from(x), Float64::from(&direction[..]));
    let got = jit::ad::hvp(loss, &x, &direction).unwrap().to_vec().unwrap();
    let gradient = jit::ad::grad(loss);
    let at = |by: f64| gradient(&(&x + &direction * by)).unwrap().to_vec().unwrap();
    let differences: Vec<f64> = at(1e-5).iter().zip(at(-1e-5)).map(|(a, b)| (a - b) / 2e-5).collect();
    assert_near(name, &got, &differences, 2e-5);
}
