//! One test for each row of `docs/conformance.md`: the behaviour of memory operations, reductions and indexing that
//! users of array languages expect. Each runs on the interpreter and on the processor.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

use jit::prelude::*;

mod aborted;
mod assertions;
mod atomics;
mod basics;
mod blocks;
mod bounded_loops;
mod branches;
mod calls;
mod compressed;
mod constructs;
mod deep_nesting;
mod escapes;
mod gathers;
mod instances;
mod jumps;
mod locals;
mod loops;
mod members;
mod merging;
mod modes;
mod nested_calls;
mod order;
mod overlooked;
mod packets;
mod recording;
mod reductions;
mod regions;
mod rollback;
mod rows;
mod scatters;
mod shapes;
mod stopping;
mod stops;
mod tensors;
#[path = "../shared/tested_devices.rs"]
mod tested_devices;
mod untrusted_traverse;
mod vectors;
#[path = "../shared/zero_hashes.rs"]
mod zero_hashes;

/// Runs a test on every device of the host.
fn on_each_device(test: impl Fn()) {
    for device in crate::tested_devices::all() {
        jit::with_device(device, &test);
    }
}

// one device: the tests that it runs choose theirs
// rows: O31 O36
#[test]
fn results_are_the_same_if_every_hash_is_zero() {
    let suites =
        ["branches::", "calls::", "gathers::", "instances::", "loops::", "merging::", "recording::", "scatters::"];
    // These count what value numbering finds.
    let counting = ["values_equal_in_all_targets_are_hoisted", "a_thousand_instances_are_few_targets"];
    zero_hashes::run_again("all", &suites, &counting, 80);
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

/// An array in memory.
fn resident<T: jit::Element, const N: usize>(values: [T; N]) -> Array<T> {
    let array = Array::from(values);
    jit::eval(&array).unwrap();
    array
}

/// Pseudo-random numbers that are the same in every run (Marsaglia's xorshift).
fn noise(count: usize, mut seed: u32) -> Vec<u32> {
    let next = || {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        seed
    };
    std::iter::repeat_with(next).take(count).collect()
}
