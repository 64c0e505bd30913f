//! Messages about values that leave the region which made them, and about values that must not change or be read in
//! one: the whole text, with the lines.

use std::cell::RefCell;

use jit::prelude::*;

use crate::{message_of, on_each_device, resident};

/// The line of this file in which a text is first, counted from 1, and its text.
fn line_with(text: &str) -> (u32, &'static str) {
    let lines = include_str!("escapes.rs").lines();
    (1..).zip(lines).find(|(_, line)| line.contains(text)).unwrap()
}

/// The position of an expression in the first line of this file that contains a text, as messages write it.
fn at(text: &str, what: &str) -> String {
    let (line, code) = line_with(text);
    format!("{}:{line}:{}", file!(), code.find(what).unwrap() + 1)
}

thread_local! {
    static KEPT: RefCell<Option<Float>> = const { RefCell::new(None) };
}

fn keep(x: &Float) {
    KEPT.set(Some(x.clone()));
}

#[jit]
fn leak(x: &Float) -> Float {
    let mut y = x.clone();
    while y < 10.0 {
        y += 1.0;
        keep(&y);
    }
    y
}

// rows: K37 K44 O56
#[test]
fn values_of_a_loop_end_with_it() {
    on_each_device(|| {
        assert_eq!(leak(&resident([1.0])).to_vec().unwrap(), [10.0]);
        let kept = KEPT.take().unwrap();
        let message = message_of(|| &kept + 1.0);
        let text = format!(
            "a value that exists only inside of a traced loop is used outside of it\n  at {}\n  \
             the value (f32, width 1) was made at {}\n  \
             help: make it part of the loop's state: declare it with `let mut` before the loop and assign it in the \
             body",
            at("message_of(|| &kept + 1.0)", "&kept"),
            at("y += 1.0;", "y +=")
        );
        assert_eq!(message, text);
        assert!(format!("{kept:?}").contains("in a loop"), "{kept:?}");
        let error = kept.to_vec().unwrap_err();
        assert_eq!(error.kind(), jit::ErrorKind::NotEvaluated);
        assert_eq!(error.site().unwrap().line(), line_with("kept.to_vec()").0);
    });
}

#[derive(Clone, Traverse)]
struct Rng {
    inc: UInt,
    calls: u32,
    history: Vec<UInt>,
}

#[derive(Clone, Traverse)]
struct State {
    rng: Rng,
    sum: Float,
}

fn state(inc: UInt) -> State {
    State { rng: Rng { inc, calls: 0, history: vec![UInt::from(1)] }, sum: Float::opaque(0.0) }
}

#[jit]
fn grow(mut state: State, part: u32) -> State {
    let mut step = UInt::from(0);
    while step < 3 {
        if part == 0 {
            state.rng.inc = UInt::from([1, 2, 3]) + step;
        } else if part == 1 {
            state.rng.calls += 1;
        } else if part == 2 {
            state.rng.history.push(step.clone());
        } else {
            state.sum += Float::from([1.0, 2.0, 3.0, 4.0]).make_opaque();
        }
        step += 1;
    }
    state
}

// rows: C005 C008 K24 K32 K33
#[test]
fn states_of_loops_keep_widths_lengths_and_host_values() {
    on_each_device(|| {
        let inc = UInt::from([7, 8]);
        jit::eval(&inc).unwrap();
        let text = format!(
            "the state variable `state.rng.inc` has width 2 before a traced `while` and width 3 after its body\n  at \
             {}\n  before the loop it (u32, width 2) was made at {}\n  after the body it (u32, width 3) was made at \
             {}\n  help: all state that a loop changes, and its condition, must have the same width, or width 1",
            at("while step < 3", "while"),
            at("UInt::from([7, 8])", "UInt::from"),
            at("state.rng.inc = UInt", "UInt::from")
        );
        assert_eq!(message_of(|| grow(state(inc.clone()), 0)), text);
        let text = format!(
            "the host variable `state.rng.calls` changes from 0 to 1 inside a `while` with a traced condition\n  at \
             {}\n  help: such code is recorded once, for all lanes: make the variable an array, as in `UInt::from(0)`",
            at("while step < 3", "while")
        );
        assert_eq!(message_of(|| grow(state(inc.clone()), 1)), text);
        let text = format!(
            "the host variable `state.rng.history` changes from 1 elements to 2 elements inside a `while` with a \
             traced condition\n  at {}\n  \
             help: such code is recorded once, for all lanes: a list grows on the host only: write each iteration's \
             value to an array that is made before, as in `values[i] = x`, or to a `Local`, or run the loop on the \
             host, as in `for _ in 0..n`",
            at("while step < 3", "while")
        );
        assert_eq!(message_of(|| grow(state(inc.clone()), 2)), text);
        assert_eq!(grow(state(inc.clone()), 3).sum.to_vec().unwrap(), [3.0, 6.0, 9.0, 12.0]);
    });
}

#[jit]
fn two_widths(x: &UInt, y: &UInt) -> UInt {
    let (mut x, mut y) = (x.clone(), y.clone());
    while x < 100 {
        x *= 2;
        y += 1;
    }
    x
}

// rows: C006 C007
#[test]
fn states_of_a_loop_fit_together() {
    on_each_device(|| {
        let (x, y) = (resident([1_u32, 2, 3]), resident([1_u32, 2]));
        let message = message_of(|| two_widths(&x, &y));
        let text = format!(
            "a traced `while` carries the condition of width 3 and `y` of width 2\n  at {}\n  the condition (bool, \
             width 3) was made at {}\n  `y` (u32, width 2) was made at {}\n  help: all state that a loop changes, and \
             its condition, must have the same width, or width 1",
            at("while x < 100", "while"),
            at("while x < 100", "<"),
            at("y += 1;", "y +=")
        );
        assert_eq!(message, text);
        assert_eq!(two_widths(&x, &UInt::from(1)).to_vec().unwrap(), [128, 128, 192]);
    });
}

#[jit]
fn choose(mask: &Mask, a: &Float, b: &Float) -> (Float, Float) {
    let mut pair = (a.clone(), Float::from(0.0));
    if *mask {
        pair.0 = a + 1.0;
    } else {
        pair.0 = b.clone();
    }
    pair
}

#[jit]
fn value(mask: &Mask, a: &Float, b: &Float) -> Float {
    if *mask { a * 2.0 } else { b.clone() }
}

// rows: C046 C047 C048 K2
#[test]
fn arms_give_widths_that_fit_together() {
    on_each_device(|| {
        let mask = resident([true, false]);
        let (two, three) = (resident([1.0_f32, 2.0]), resident([1.0_f32, 2.0, 3.0]));
        let message = message_of(|| choose(&mask, &two, &three));
        assert!(message.starts_with("the arms of a traced `if` assign `pair.0` widths 2 and 3\n  at "), "{message}");
        assert!(message.ends_with("help: they must be equal, or 1"), "{message}");
        let message = message_of(|| choose(&mask, &three, &three));
        let text = "the arms of a traced `if` assign `pair.0` width 3, on a condition of width 2\n";
        assert!(message.starts_with(text), "{message}");
        let message = message_of(|| value(&mask, &two, &three));
        assert!(message.starts_with("the arms of a traced `if` assign values of widths 2 and 3\n"), "{message}");
        assert_eq!(value(&mask, &two, &Float::from(9.0)).to_vec().unwrap(), [2.0, 9.0]);
    });
}

#[jit]
fn count_turns(on: &Mask, turns: &mut u32) {
    if *on {
        *turns += 1;
    }
}

// rows: K1 K156
#[test]
fn host_variables_stay_in_branches() {
    on_each_device(|| {
        let mut turns = 4;
        let message = message_of(|| count_turns(&resident([true, false]), &mut turns));
        let text = format!(
            "the host variable `turns` changes from 4 to 5 inside an `if` with a traced condition\n  at {}\n  \
             help: such code is recorded once, for all lanes: make the variable an array, as in `UInt::from(0)`",
            at("if *on {", "*on")
        );
        assert_eq!(message, text);
    });
}

thread_local! {
    static SEEN: RefCell<Result<f32, jit::Error>> = const { RefCell::new(Ok(0.0)) };
}

fn see(seen: Result<f32, jit::Error>) {
    SEEN.set(seen);
}

fn seen() -> Result<f32, jit::Error> {
    SEEN.replace(Ok(0.0))
}

#[jit]
fn look(x: &Float, how: u32) -> Result<Float, jit::Error> {
    let before = x * 3.0;
    let mut y = x.clone();
    if *x > 1.0 {
        y = y.sqrt() + 1.5;
        match how {
            0 => see(y.to_vec().map(|y| y[0])),
            1 => see(y.sum().item()),
            2 => see(y.get(0)),
            3 => see(jit::eval(&y).map(|()| 1.0)),
            4 => see(y.sort().get(0)),
            5 => see(before.get(1)),
            _ => see(x.get(0)),
        }
    }
    Ok(y + seen()?)
}

#[test]
fn values_computed_in_a_region_cannot_be_read_there() {
    on_each_device(|| {
        let first = line_with("0 => see(").0;
        let x = resident([1.0_f32, 4.0]);
        for how in 0..5 {
            // Whether it was recorded before makes no difference.
            for _ in 0..2 {
                let error = look(&x, how).unwrap_err();
                let text = "a value that is computed inside of a traced `if` or `while` cannot be read there";
                assert!(error.message().starts_with(text), "{error}");
                assert!(
                    error.message().contains(&format!("the region begins at {}", at("if *x > 1.0", "*x"))),
                    "{error}"
                );
                assert_eq!(error.site().unwrap().line(), first + how, "{error}");
                assert_eq!(error.kind(), jit::ErrorKind::NotEvaluated);
            }
        }
        // Values from before the region belong to all lanes.
        assert_eq!(look(&x, 5).unwrap().to_vec().unwrap(), [1.0 + 12.0, 3.5 + 12.0]);
        assert_eq!(look(&x, 6).unwrap().to_vec().unwrap(), [1.0 + 1.0, 3.5 + 1.0]);
    });
}

#[jit]
fn look_in_loop(x: &Float) -> Float {
    let (mut y, before) = (x.clone(), x + 1.0);
    while y < 8.0 {
        y *= 2.0;
        see(before.to_vec().and_then(|_| y.to_vec()).map(|y| y[0]));
    }
    y
}

#[test]
fn values_computed_in_a_loop_cannot_be_read_there() {
    on_each_device(|| {
        let y = look_in_loop(&resident([1.0_f32, 5.0]));
        let error = seen().unwrap_err();
        assert!(error.message().contains("cannot be read there"), "{error}");
        assert_eq!(error.site().unwrap().line(), line_with("before.to_vec().and_then").0);
        assert_eq!(y.to_vec().unwrap(), [8.0, 10.0]);
    });
}

#[jit]
fn factorial(n: &UInt) -> UInt {
    if n > 1 { n * factorial(&(n - 1)) } else { UInt::from(1) }
}

/// The sum of a tree whose shape the host knows, on the lanes that take the branch.
#[jit]
fn sum_of_halves(x: &Float, depth: u32) -> Float {
    if depth == 0 { x.clone() } else { sum_of_halves(&(x * 0.5), depth - 1) + sum_of_halves(&(x * 0.5), depth - 1) }
}

// rows: K40
#[test]
fn recursion_that_lanes_decide_is_refused() {
    on_each_device(|| {
        let message = message_of(|| factorial(&UInt::from([1, 5])));
        assert!(message.starts_with("`factorial` calls itself more than 64 times while tracing"), "{message}");
        assert!(message.contains("escapes.rs") && message.contains("write it as a `while` loop"), "{message}");
        // The host ends this one.
        assert_eq!(sum_of_halves(&Float::from([1.0, 3.0]), 6).to_vec().unwrap(), [1.0, 3.0]);
    });
}
