//! Frozen functions that print and check: their bodies run in each call.

use std::sync::{Arc, Mutex};

use jit::prelude::*;

use crate::{message_of, values};

#[freeze]
fn printed(x: &Float) -> Float {
    jit::print!("{x}");
    x + 1.0
}

#[freeze]
fn checked(x: &Float) -> Float {
    assert!(*x > -0.5, "{x} is too small");
    x + 1.0
}

#[test]
fn lanes_print_in_each_call() {
    if crate::alone("reports::lanes_print_in_each_call", "").is_some() {
        return;
    }
    let lines = Arc::new(Mutex::new(String::new()));
    let taken = Arc::clone(&lines);
    let before = jit::print::set_sink(Some(Box::new(move |text| taken.lock().unwrap().push_str(text))));
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            for salt in [1.0, 2.0, 3.0] {
                let x = Float::from([salt, -salt]);
                assert_eq!(values(&printed(&x)), [salt + 1.0, 1.0 - salt]);
                jit::sync().unwrap();
                let text = std::mem::take(&mut *lines.lock().unwrap());
                assert_eq!(text, format!("lane 0: {salt}\nlane 1: {}\n", -salt));
            }
        });
    }
    jit::print::set_sink(before);
    let stats = printed::stats();
    // The first call on each device detects it.
    crate::frozen_only!();
    assert_eq!((stats.recordings, stats.replays, stats.direct), (2, 0, 4));
}

#[test]
fn lanes_are_checked_in_debugging_runs() {
    if crate::alone("reports::lanes_are_checked_in_debugging_runs", "export JIT_DEBUG=1;").is_some() {
        return;
    }
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            let call = |values: [f32; 2]| {
                let y = checked(&Float::from(values));
                jit::sync().unwrap();
                y.to_vec().unwrap()
            };
            for _ in 0..2 {
                assert_eq!(call([0.25, 1.5]), [1.25, 2.5]);
                assert!(message_of(|| call([0.5, -2.5])).contains("-2.5 is too small"));
                assert_eq!(call([3.0, 1.5]), [4.0, 2.5]);
            }
        });
    }
    assert_eq!((checked::stats().recordings, checked::stats().direct), (0, 12));
}

#[freeze]
fn repeated(x: &Float, times: u32, kind: &str) -> Float {
    let x = if kind == "b" { -x } else { x.clone() };
    (1..times).fold(x.clone(), |sum, _| sum + &x)
}

#[test]
fn an_argument_that_has_many_values_is_one_cause() {
    crate::frozen_only!();
    let call = |times: u32, kind: &str| assert_eq!(values(&repeated(&Float::from([1.0, 2.0]), times, kind)).len(), 2);
    for (times, kind) in [(1, "a"), (2, "a"), (3, "a"), (4, "a"), (4, "b"), (1, "b")] {
        call(times, kind);
    }
    let text = repeated::explain().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((repeated::stats().recordings, lines.len()), (6, 3), "{text}");
    assert!(lines[0].starts_with("the first call is recorded"), "{text}");
    assert!(lines[1].starts_with("`times` was 1 (u32) and is 2 (u32)"), "{text}");
    assert!(lines[1].ends_with(", and 3 more times with other values"), "{text}");
    assert!(lines[2].starts_with("`kind` was a and is b"), "{text}");
}
