//! Random structured programs: nested branches and loops with side effects compute the same in each lane as plain Rust
//! does.
//!
//! A program is data ([`program`]), drawn from a seed ([`generate`]). One text interprets it twice ([`interpret`]): as
//! plain Rust on the numbers of one lane, and annotated with `#[jit]` on arrays, where conditions are traced. A program
//! on which they disagree is shrunk as far as possible before it is shown ([`shrink`]).

mod generate;
mod host;
mod interpret;
mod program;
mod shrink;

use jit::prelude::*;
use program::{Outcome, Program};

/// The results of a device, or the panic that ended it.
fn on_device(program: &Program, device: Device) -> Result<Outcome, String> {
    let run = || jit::with_device(device, || interpret::traced::outcome(program));
    let stopped = |payload: Box<dyn std::any::Any + Send>| match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(_) => "it panics".to_owned(),
    };
    std::panic::catch_unwind(run).map_err(stopped)?.map_err(|error| error.to_string())
}

/// The difference between a device and plain Rust, if any.
fn difference(program: &Program) -> Option<String> {
    let expected = interpret::plain::outcome(program);
    crate::tested_devices::all().into_iter().find_map(|device| match on_device(program, device) {
        Ok(outcome) => outcome.difference_from(&expected).map(|what| format!("{device:?}: {what}")),
        Err(message) => Some(format!("{device:?}: {message}")),
    })
}

fn check(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let program = generate::program(seed);
        if let Some(what) = difference(&program) {
            let small = shrink::smallest(program, |program| difference(program).is_some());
            let now = difference(&small).unwrap_or_default();
            panic!("the program of seed {seed} differs: {what}\nas small as it gets: {now}\n{small}");
        }
    }
}

#[test]
fn structured_programs_agree_with_plain_rust() {
    check(0..150);
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn many_structured_programs_agree_with_plain_rust() {
    check(1_000..11_000);
}

/// Checks that the comparison can detect a difference: programs that do nothing would agree, too.
#[test]
fn programs_differ_from_each_other_and_between_lanes() {
    let outcomes: Vec<Outcome> = (0..50).map(|seed| interpret::plain::outcome(&generate::program(seed))).collect();
    let varied = outcomes.iter().filter(|outcome| outcome.lanes().any(|lane| lane != outcome.lane(0))).count();
    assert!(varied > 45, "{varied}");
    let statements: usize = (0..50).map(|seed| generate::program(seed).size()).sum();
    assert!(statements > 50 * 11, "{statements}");
}

#[test]
fn failing_programs_are_shrunk() {
    let has_loop = |program: &Program| format!("{program}").contains("while");
    let program = (0..).map(generate::program).find(has_loop).expect("a program with a loop");
    assert_eq!(shrink::smallest(program, has_loop).size(), 1);
}
