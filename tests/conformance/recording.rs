//! Constructs of `#[jit]` functions: how often code runs while it is recorded, which lanes reach it, and what is
//! rejected.

use std::cell::{Cell, RefCell};

use jit::prelude::*;

use crate::{message_of, on_each_device, resident};

thread_local! {
    /// How often [`ran`] was called.
    static RUNS: Cell<u32> = const { Cell::new(0) };

    /// The last argument of [`note`].
    static NOTE: RefCell<String> = const { RefCell::new(String::new()) };

    static KEPT: RefCell<Option<Float>> = const { RefCell::new(None) };
}

fn ran() {
    RUNS.set(RUNS.get() + 1);
}

fn note(text: &str) {
    NOTE.set(text.to_owned());
}

#[jit]
fn noted(x: &UInt) -> UInt {
    let mut n = x.clone();
    while n < 100 {
        ran();
        n += 7;
    }
    if n % 2 == 0 {
        ran();
        n += 1;
    } else {
        ran();
    }
    let mut k = 0;
    while k < 5 {
        ran();
        k += 1;
    }
    n
}

// rows: K1 K5 K153
#[test]
fn traced_conditions_are_recorded_once() {
    on_each_device(|| {
        RUNS.set(0);
        assert_eq!(noted(&resident([0, 1, 99, 100])).to_vec().unwrap(), [105, 107, 107, 101]);
        assert_eq!(RUNS.get(), 1 + 2 + 5, "one body, two arms, and a loop of the host");
    });
}

#[jit]
fn always(x: &Float) -> Float {
    let mut y = x.clone();
    while Mask::from(true) {
        y += 1.0;
    }
    y
}

// rows: K5 K155
#[test]
fn a_condition_that_is_always_true_is_refused() {
    on_each_device(|| {
        let message = message_of(|| always(&resident([1.0])));
        assert!(message.starts_with("the condition of a traced loop is always true"), "{message}");
        assert!(message.contains("recording.rs:"), "{message}");
    });
}

#[jit]
fn symbolic(x: &UInt, count: u32) -> UInt {
    let mut sum = x.clone();
    #[symbolic]
    for i in 0..count {
        ran();
        sum += i;
    }
    for i in 0..count {
        ran();
        sum += i;
    }
    sum
}

// rows: K6 K7
#[test]
fn ranges_of_the_host_are_unrolled_or_recorded_once() {
    on_each_device(|| {
        RUNS.set(0);
        assert_eq!(symbolic(&resident([0, 5]), 100).to_vec().unwrap(), [9900, 9905]);
        assert_eq!(RUNS.get(), 1 + 100);
    });
}

#[jit]
fn without_break(x: &Float) -> Float {
    let mut y = x.clone();
    loop {
        y += 1.0;
        if Mask::from(false) {
            break;
        }
        if y > 3.0 {
            continue;
        }
        y += 1.0;
    }
    y
}

// rows: K9
#[test]
fn a_loop_without_an_end_is_refused() {
    on_each_device(|| {
        let message = message_of(|| without_break(&resident([2.0])));
        assert!(message.starts_with("a traced `loop` without `break` never ends"), "{message}");
        assert!(message.contains("recording.rs:"), "{message}");
    });
}

#[jit]
fn visit(counts: &mut UInt, lane: &UInt) -> Mask {
    counts[lane] += 1;
    lane % 2 == 0
}

#[jit]
fn reached(x: &UInt, counts: &mut UInt) -> UInt {
    let mut y = x.zeros_like();
    if x > 2 && visit(counts, x) {
        y += 1;
    }
    if x < 1 || visit(counts, x) {
        y += 10;
    }
    let is_on = counts.len() == 5;
    if is_on && x > 3 {
        y += 100;
    }
    if !is_on && visit(counts, x) {
        y += 1000;
    }
    y
}

// rows: K18
#[test]
fn lanes_run_the_right_side_of_a_condition_only_where_it_decides() {
    on_each_device(|| {
        let mut counts = UInt::zeros(5);
        let y = reached(&resident([0, 1, 2, 3, 4]), &mut counts);
        assert_eq!(counts.to_vec().unwrap(), [0, 1, 1, 2, 2]);
        assert_eq!(y.to_vec().unwrap(), [10, 0, 10, 0, 111]);
    });
}

#[jit]
fn with_literals(x: &Float) -> Float {
    let y = 2.0 * x + 1;
    if y > 3 { y - 0.5 } else { y.max(0.25) }
}

// rows: K33
#[test]
fn literals_take_the_type_of_the_array() {
    on_each_device(|| {
        assert_eq!(with_literals(&resident([-1.0, 0.5, 4.0])).to_vec().unwrap(), [0.25, 2.0, 8.5]);
    });
}

#[jit]
fn shown(x: &Float) -> Float {
    let mut y = x.clone();
    while y < 10.0 {
        y *= 2.0;
        note(&format!("{y:?}"));
    }
    y
}

// rows: K37
#[test]
fn debug_output_of_a_value_in_a_region_names_type_and_region() {
    on_each_device(|| {
        assert_eq!(shown(&resident([1.0, 30.0])).to_vec().unwrap(), [16.0, 30.0]);
        let text = NOTE.take();
        assert!(text.contains("f32[2] in the loop at tests/conformance/recording.rs:"), "{text}");
    });
}

#[jit]
#[allow(deprecated, reason = "the compiler warns, and this test shows why")]
fn refuses(x: &Float) -> Float {
    if x > 100.0 {
        panic!("no lane gets here");
    }
    x * 1.0
}

// rows: K39
#[test]
fn a_panic_in_a_region_happens_while_it_is_recorded() {
    on_each_device(|| {
        assert_eq!(message_of(|| refuses(&resident([1.0, 2.0]))), "no lane gets here");
        assert_eq!(with_literals(&resident([4.0])).to_vec().unwrap(), [8.5], "recording continues");
    });
}

fn keep(x: &Float) {
    KEPT.set(Some(x.clone()));
}

#[jit]
fn kept_in_an_arm(x: &Float) -> Float {
    let mut y = x.clone();
    if x > 1.0 {
        y = x * 3.0;
        keep(&y);
    }
    y
}

// rows: K44
#[test]
fn a_cell_that_an_arm_writes_holds_the_values_of_all_lanes() {
    on_each_device(|| {
        assert_eq!(kept_in_an_arm(&resident([0.5, 2.0])).to_vec().unwrap(), [0.5, 6.0]);
        assert_eq!(KEPT.take().unwrap().to_vec().unwrap(), [1.5, 6.0]);
    });
}
