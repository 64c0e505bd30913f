//! `JIT_FREEZE_VERIFY` detects bodies that read values that are not arguments. Run in processes with the variable.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use jit::prelude::*;

/// Runs a test of this file in a process that compares after every given number of replays.
fn verified(test: &str, every: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("verify::{test}"), "--exact", "--ignored", "--nocapture"]).env("JIT_FREEZE_VERIFY", every);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
}

/// The message with which a call panics.
fn message<R>(call: impl FnOnce() -> R) -> String {
    let error = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).err().expect("the call panics");
    error.downcast_ref::<String>().expect("a message").clone()
}

#[derive(Clone, Traverse)]
struct Body {
    position: Float,
    parts: Vec<Float>,
    count: u32,
}

static FACTOR: AtomicU32 = AtomicU32::new(2);

#[freeze]
fn scaled(x: &Float) -> Float {
    x * FACTOR.load(Ordering::Relaxed) as f32
}

static TABLE: Mutex<Vec<u32>> = Mutex::new(Vec::new());

#[freeze]
fn advanced(body: &mut Body, dt: &Float) -> (u32, Mask) {
    for number in TABLE.lock().unwrap().iter() {
        body.parts[1] = &body.parts[1] + *number as f32;
    }
    body.position += dt;
    (TABLE.lock().unwrap().first().copied().unwrap_or(0), body.position.gt(1.0))
}

#[freeze]
fn selected(x: &Float) -> Float {
    x.gather(&UInt::arange(FACTOR.load(Ordering::Relaxed) as usize))
}

#[test]
fn literals_of_the_program_are_found() {
    crate::frozen_only!();
    verified("numbers_of_the_program", "1");
}

#[test]
#[ignore = "run in a process with JIT_FREEZE_VERIFY"]
fn numbers_of_the_program() {
    let x = Float::from([0.0, 1.0, 2.0]);
    for _ in 0..3 {
        assert_eq!(scaled(&x).to_vec().unwrap(), [0.0, 2.0, 4.0]);
        assert_eq!(selected(&x).len(), 2);
    }
    FACTOR.store(3, Ordering::Relaxed);
    let line = line!() + 1;
    let text = message(|| scaled(&x));
    for part in [
        "frozen function `scaled` (tests/freeze/verify.rs:",
        "a replay computes `result[1]` as 2.0, and the body as 3.0, which the body computes at \
         tests/freeze/verify.rs:36",
        &format!("tests/freeze/verify.rs:{line}"),
        "an atomic",
    ] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    let text = message(|| selected(&x));
    assert!(text.contains("a replay computes `result` with 2 elements, and the body with 3"), "{text}");
}

#[test]
fn new_values_of_arguments_are_compared() {
    crate::frozen_only!();
    verified("new_values_of_arguments", "1");
}

#[test]
#[ignore = "run in a process with JIT_FREEZE_VERIFY"]
fn new_values_of_arguments() {
    let parts = vec![Float::zeros(2).make_opaque(), Float::zeros(2).make_opaque()];
    let mut body = Body { position: Float::zeros(4).make_opaque(), parts, count: 0 };
    let dt = Float::opaque(0.25);
    for call in 1..5 {
        let (_, is_far) = advanced(&mut body, &dt);
        assert_eq!(body.position.to_vec().unwrap(), [0.25 * call as f32; 4]);
        assert_eq!(is_far.to_vec().unwrap(), [false; 4]);
    }
    assert_eq!((advanced::stats().recordings, advanced::stats().replays), (1, 3));
    TABLE.lock().unwrap().push(5);
    let text = message(|| advanced(&mut body, &dt));
    assert!(text.contains("a replay computes `body.parts[1][0]` as 0.0, and the body as 5.0"), "{text}");
    body.parts[1] = Float::from([1.0, f32::NAN]);
    TABLE.lock().unwrap()[0] = 0;
    // NaN is compared by its bits.
    advanced(&mut body, &dt);
    TABLE.lock().unwrap().clear();
    advanced(&mut body, &dt);
}

#[freeze]
fn counted_at(counts: &mut UInt, at: &UInt) {
    counts.scatter_add(1, at);
}

#[test]
fn arguments_that_a_replay_writes_are_compared_as_they_were() {
    crate::frozen_only!();
    verified("written_arguments", "1");
}

#[test]
#[ignore = "run in a process with JIT_FREEZE_VERIFY"]
fn written_arguments() {
    let mut counts = UInt::from([0, 10, 20]);
    for call in 1..6 {
        counted_at(&mut counts, &UInt::from([1, 2]));
        assert_eq!(counts.to_vec().unwrap(), [0, 10 + call, 20 + call]);
    }
    assert_eq!((counted_at::stats().recordings, counted_at::stats().replays), (1, 4));
}

#[freeze]
fn numbered(x: &Float) -> (Float, u32) {
    (x + 1.0, FACTOR.load(Ordering::Relaxed))
}

#[test]
fn returned_numbers_are_compared_every_third_time() {
    crate::frozen_only!();
    verified("every_third_time", "3");
}

#[test]
#[ignore = "run in a process with JIT_FREEZE_VERIFY"]
fn every_third_time() {
    let x = Float::from([1.0, 2.0]);
    assert_eq!(numbered(&x).1, 2);
    FACTOR.store(4, Ordering::Relaxed);
    assert_eq!(numbered(&x).1, 2, "the first replay");
    assert_eq!(numbered(&x).1, 2, "the second one");
    let text = message(|| numbered(&x));
    assert!(text.contains("a replay computes `result.1` as 2 (u32), and the body as 4 (u32)"), "{text}");
}

#[freeze]
fn asked(x: &Float) -> Float {
    let read = x.clone();
    x + jit::freeze::host(move || {
        TABLE.lock().unwrap().push(1);
        let factor = FACTOR.fetch_add(1, Ordering::Relaxed);
        // The body runs after the replay, in the call that is compared.
        Float::from(vec![if factor < 9 { 1.0 } else { factor as f32 }; read.len()])
    })
}

#[test]
fn closures_of_the_host_run_in_both() {
    crate::frozen_only!();
    verified("closures_of_the_host", "1");
}

#[test]
#[ignore = "run in a process with JIT_FREEZE_VERIFY"]
fn closures_of_the_host() {
    let x = Float::from([1.0, 2.0]);
    for (call, runs) in [(1, 1), (2, 3), (3, 5), (4, 7)] {
        assert_eq!(asked(&x).to_vec().unwrap(), [2.0, 3.0], "{call}");
        assert_eq!(TABLE.lock().unwrap().len(), runs);
    }
    let text = message(|| asked(&x));
    assert!(text.contains("a replay computes `result[0]` as 10.0, and the body as 11.0"), "{text}");
}
