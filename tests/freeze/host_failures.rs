//! Host calls in frozen functions that fail: by a panic, by an error, or because they do something that only the
//! function may do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use jit::freeze::host;
use jit::prelude::*;

use crate::{message_of, values};

static MUST_PANIC: AtomicBool = AtomicBool::new(false);

#[freeze]
fn stopped(state: &mut Float, x: &Float) -> Float {
    *state += x;
    let read = state.clone();
    let made = host(move || {
        let sum: f32 = read.to_vec().unwrap().iter().sum();
        assert!(!MUST_PANIC.load(Ordering::Relaxed), "stopped at {sum}");
        Float::from(vec![sum; read.len()])
    });
    state.scatter(9.0, &UInt::from(0));
    &*state * made
}

#[test]
fn a_panic_of_the_host_leaves_everything_as_it_was() {
    crate::frozen_only!();
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            stopped::clear();
            for round in 0..4 {
                let mut state = Float::from([1.0, 2.0]);
                let x = Float::from([1.0, 1.0]);
                if round != 1 {
                    MUST_PANIC.store(true, Ordering::Relaxed);
                    assert!(message_of(|| stopped(&mut state, &x)).contains("stopped at 5"));
                    assert_eq!((values(&state), values(&x)), (vec![1.0, 2.0], vec![1.0, 1.0]));
                    MUST_PANIC.store(false, Ordering::Relaxed);
                }
                assert_eq!(values(&stopped(&mut state, &x)), [45.0, 15.0]);
                assert_eq!(values(&state), [9.0, 3.0]);
            }
            let stats = stopped::stats();
            assert_eq!((stats.recordings, stats.replays, stats.cached), (2, 3, 1));
        });
    }
}

#[freeze]
fn swallowed(x: &Float) -> Float {
    let read = x.clone();
    let call = move || {
        assert!(read.to_vec().unwrap()[0] > 0.0, "not above zero");
        Float::from(1.0)
    };
    match catch_unwind(AssertUnwindSafe(|| host(call))) {
        Ok(one) => x + one,
        Err(_) => x - 1.0,
    }
}

#[test]
fn a_panic_that_the_body_catches_is_not_replayed() {
    assert_eq!(values(&swallowed(&Float::from([-1.0]))), [-2.0]);
    assert_eq!(values(&swallowed(&Float::from([3.0]))), [4.0]);
    assert_eq!(values(&swallowed(&Float::from([-3.0]))), [-4.0]);
    assert_eq!(swallowed::stats().replays, 0);
}

#[freeze]
fn inner(x: &Float) -> Float {
    let read = x.clone();
    x * host(move || Float::from(read.to_vec().unwrap().iter().copied().fold(0.0, f32::max)))
}

#[freeze]
fn computes(x: &Float) -> Float {
    let x = x * 2.0;
    host(move || Float::from((&x + 1.0).to_vec().unwrap()))
}

#[freeze]
fn gives_back(x: &Float) -> Vec<Float> {
    let x = x * 2.0;
    host(move || vec![Float::from(1.0), x.clone()])
}

#[freeze]
fn passes_on(x: &Float) -> Float {
    let x = x.clone();
    host(move || inner(&x))
}

#[freeze]
fn compresses(x: &Mask) -> UInt {
    let x = x.clone();
    host(move || UInt::from(x.compress().to_vec().unwrap()))
}

#[freeze]
fn in_a_loop(x: &Float) -> Float {
    let mut x = x.clone();
    while x > 1.0 {
        x = x * host(|| Float::from(0.5));
    }
    x
}

#[freeze]
fn reads(x: &Float) -> Float {
    Float::from(x.to_vec().unwrap())
}

#[test]
fn misuse_is_reported_at_the_line_with_what_to_do() {
    crate::frozen_only!();
    let x = Float::from([1.0, 2.0]);
    let computing = "computes with an array of the frozen function";
    for (text, wanted) in [
        (message_of(|| computes(&x)), [computing, "compute before or after the call"]),
        (
            message_of(|| gives_back(&x)),
            ["the array at `[1]` that `jit::freeze::host` returns belongs to", "Float::from"],
        ),
        (message_of(|| passes_on(&x)), [computing, "compute before or after the call"]),
        (message_of(|| compresses(&x.gt(1.0))), [computing, "compute before or after the call"]),
        (message_of(|| in_a_loop(&x)), ["is in a traced loop or branch", "#[evaluated]"]),
        (message_of(|| reads(&x)), ["reads the contents", "jit::freeze::host(move || …)"]),
    ] {
        for part in wanted.into_iter().chain(["tests/freeze/host_failures.rs:"]) {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }
}

static IS_PLACEHOLDER: AtomicBool = AtomicBool::new(false);

#[freeze]
fn fails(x: &mut Float) -> Float {
    *x += 1.0;
    let made = host(|| match IS_PLACEHOLDER.load(Ordering::Relaxed) {
        true => Float::placeholder(2) + 1.0,
        false => Float::from([1.0, 2.0]) + 1.0,
    });
    &*x + made
}

#[test]
fn an_error_of_the_host_leaves_everything_as_it_was() {
    crate::frozen_only!();
    for round in 0..3 {
        let mut x = Float::from([1.0, 1.0]);
        IS_PLACEHOLDER.store(true, Ordering::Relaxed);
        let text = message_of(|| fails(&mut x));
        assert!(text.contains("placeholder") && text.contains("tests/freeze/host_failures.rs:"), "{round}: {text}");
        assert_eq!(values(&x), [1.0, 1.0]);
        IS_PLACEHOLDER.store(false, Ordering::Relaxed);
        assert_eq!(values(&fails(&mut x)), [4.0, 5.0]);
        assert_eq!(values(&x), [2.0, 2.0]);
    }
    assert_eq!((fails::stats().recordings, fails::stats().replays), (2, 2));
}

#[freeze]
fn threaded(x: &Float) -> Float {
    let twice = x * 2.0;
    host(move || {
        let read = || twice.to_vec().map_err(|error| error.to_string());
        let elements = std::thread::scope(|scope| scope.spawn(read).join().unwrap());
        Float::from(elements.unwrap_or_else(|text| panic!("{text}")))
    })
}

#[test]
fn another_thread_cannot_read_for_the_host() {
    crate::frozen_only!();
    for _ in 0..2 {
        let text = message_of(|| threaded(&Float::from([1.0, 2.0])));
        assert!(text.contains("is used elsewhere") && text.contains("pass the elements on"), "{text}");
    }
}
