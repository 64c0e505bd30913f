//! Functions that are recorded once and replayed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

#[path = "../shared/alone.rs"]
mod alone;
mod arguments;
mod basics;
mod blocks;
mod borrowing;
mod calls;
mod closures;
mod cost;
mod defects;
mod evaluated;
mod failures;
#[path = "../shared/file.rs"]
mod file;
mod footprint;
mod fuzz;
#[path = "../../fuzz/targets.rs"]
mod fuzz_targets;
mod fuzzing;
mod host;
mod host_borders;
mod host_failures;
mod inlined;
mod keys;
mod limits;
mod loops;
mod members;
mod memory;
mod numbers;
mod optimisers;
mod overlooked;
mod random;
mod reductions;
mod reports;
mod results;
mod saved;
mod saved_instances;
mod short_kernels;
mod size_results;
mod sizes;
mod sizes_fuzz;
mod state;
mod states;
mod targets;
mod tensors;
mod tensors_fuzz;
#[path = "../shared/tested_devices.rs"]
mod tested_devices;
mod texture;
mod threads;
mod tiles;
mod unnoticed;
mod verify;
#[path = "../shared/zero_hashes.rs"]
mod zero_hashes;

use crate::alone::alone;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use jit::freeze::{Explanation, Stats};
use jit::prelude::*;

/// The operations of tests on a frozen function.
struct Frozen {
    clear: fn(),
    set_enabled: fn(bool),
    stats: fn() -> Stats,
    explain: fn() -> Explanation,
}

/// A frozen function, by its name.
macro_rules! frozen {
    ($name:ident) => {
        crate::Frozen {
            clear: $name::clear,
            set_enabled: $name::set_enabled,
            stats: $name::stats,
            explain: $name::explain,
        }
    };
}
use frozen;

/// Runs a test on each device.
fn on_each_device(test: impl Fn()) {
    for device in crate::tested_devices::all() {
        jit::with_device(device, &test);
    }
}

/// Runs calls of a frozen function on each device, with the frozen function and with its plain body, which must return
/// the same. Exactly this many recordings are made, all other calls are replayed, and there is at least one.
#[track_caller]
fn alike<R: PartialEq + Debug>(frozen: Frozen, recordings: u64, calls: impl Fn() -> R) {
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            (frozen.set_enabled)(false);
            let wanted = calls();
            (frozen.set_enabled)(true);
            (frozen.clear)();
            let given = calls();
            assert_eq!(given, wanted, "frozen, and as it is");
            frozen_only!();
            let stats = (frozen.stats)();
            assert_eq!((stats.recordings, stats.direct), (recordings, 0), "{:#?}", (frozen.explain)());
            assert!(stats.replays > 0, "nothing was replayed");
        });
    }
}

/// As [`alike`], for sums of floats that lanes scatter to the same elements. A GPU adds them in any order, so there
/// they are made deterministic: on one thread, in the order of the lanes.
#[track_caller]
fn alike_in_order<R: PartialEq + Debug>(frozen: Frozen, recordings: u64, calls: impl Fn() -> R) {
    let _in_order = InOrder::on_gpus_of_a_driver();
    alike(frozen, recordings, calls);
}

/// While one lives, launches that depend on the order of lanes run in that order, in the whole process.
struct InOrder;

static IN_ORDER: Mutex<usize> = Mutex::new(0);

impl InOrder {
    fn on_gpus_of_a_driver() -> Option<InOrder> {
        std::env::var_os("JIT_TEST_CUDA_DRIVER")?;
        let mut count = IN_ORDER.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        jit::set_deterministic(true);
        Some(InOrder)
    }
}

impl Drop for InOrder {
    fn drop(&mut self) {
        let mut count = IN_ORDER.lock().unwrap_or_else(PoisonError::into_inner);
        *count -= 1;
        jit::set_deterministic(*count > 0);
    }
}

/// Statements after this in a test, or passed to it, are only true if functions are frozen, and not with
/// `JIT_FREEZE=off`: counts, costs, and what recordings reject. Everything else is the same there.
macro_rules! frozen_only {
    () => {
        if !crate::is_frozen() {
            return;
        }
    };
    ($($check:tt)*) => {
        if crate::is_frozen() {
            $($check)*;
        }
    };
}
use frozen_only;

/// Statements after this in a test count replays, and do not hold if `JIT_FREEZE_VERIFY` also runs bodies.
macro_rules! replays_alone {
    () => {
        if std::env::var_os("JIT_FREEZE_VERIFY").is_some() {
            return;
        }
    };
}
use replays_alone;

/// Whether functions are frozen in this process.
fn is_frozen() -> bool {
    std::env::var_os("JIT_FREEZE").is_none_or(|value| value != "off")
}

/// The panic message of a wrong program.
fn message_of<R>(program: impl FnOnce() -> R) -> String {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(program)) {
        Ok(_) => panic!("the program is wrong and was accepted"),
        Err(payload) => match payload.downcast_ref::<&str>() {
            Some(text) => (*text).to_owned(),
            None => payload.downcast_ref::<String>().cloned().unwrap_or_default(),
        },
    }
}

/// The elements.
#[track_caller]
fn values<T: jit::Element>(array: &Array<T>) -> Vec<T> {
    array.to_vec().unwrap()
}

/// Numbers in memory that fractions of 1024 represent exactly; they differ by salt.
fn floats(count: usize, salt: usize) -> Float {
    let number = |i: usize| ((i * 37 + salt * 101) % 2048) as f32 / 1024.0 - 0.9375;
    Float::from((0..count).map(number).collect::<Vec<_>>())
}

/// Numbers below a bound, in memory; they differ by salt.
fn indices(count: usize, bound: usize, salt: usize) -> UInt {
    UInt::from((0..count).map(|i| ((i * 7 + salt * 3) % bound) as u32).collect::<Vec<_>>())
}

/// Runs a test [`alone`], once for each device, which is the default one there, and checks its output. Returns whether
/// it did, which is false in that process itself.
fn alone_on_each_device(test: &str, check: impl Fn(&str)) -> bool {
    crate::tested_devices::all().into_iter().all(|device| {
        let text = alone(test, &format!("export JIT_DEVICE={};", device.name()));
        text.is_some_and(|text| {
            check(&text);
            true
        })
    })
}

// one device: the tests that it runs choose theirs
// rows: O30 O36
#[test]
fn recordings_are_told_apart_if_every_hash_is_zero() {
    let suites = ["arguments::", "basics::", "keys::", "limits::", "members::", "numbers::", "sizes::", "state::"];
    zero_hashes::run_again("1", &suites, &[], 60);
}
