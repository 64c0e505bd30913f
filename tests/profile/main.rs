//! Profiles: what they count, what they show, and what they warn of.
//!
//! A profile has the events of the whole process, so these tests are a program of their own and run one after another.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use jit::Profile;
use jit::prelude::*;

mod counts;
mod misuse;
#[path = "../shared/tested_devices.rs"]
mod tested_devices;
mod text;
mod trace;
mod warnings;

/// Held by the test that measures.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static MEASURING: Mutex<()> = Mutex::new(());
    MEASURING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn on_each_device(test: impl Fn()) {
    let _measuring = one_at_a_time();
    for device in tested_devices::all() {
        jit::with_device(device, &test);
    }
}

/// Whether calls of frozen functions launch their recordings and nothing else: not with `JIT_FREEZE=off`, nor if
/// `JIT_FREEZE_VERIFY` also runs bodies, nor with `JIT_DEBUG`.
fn replays_alone() -> bool {
    ["JIT_FREEZE", "JIT_FREEZE_VERIFY", "JIT_DEBUG"].iter().all(|name| std::env::var_os(name).is_none())
}

/// The profile of a part of a program.
fn profile_of(run: impl FnOnce()) -> Profile {
    jit::profile(run).unwrap()
}

/// Elements in memory.
fn resident(width: usize) -> Float {
    let x = Float::from((0..width).map(|lane| (lane % 17) as f32 * 0.0625).collect::<Vec<f32>>());
    jit::eval(&x).unwrap();
    x
}
