//! Bodies that panic, errors, and no memory: arguments are unchanged, nothing is retained, and the next call works.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::prelude::*;

use crate::{floats, message_of, values};

/// The values of the arguments that a test reads: elements, those of a list, a number.
type Seen = (Vec<f32>, Vec<Vec<f32>>, u32);

#[derive(Clone, Traverse)]
struct State {
    sum: Float,
    list: Vec<Float>,
    calls: u32,
}

impl State {
    fn new(n: usize) -> State {
        State { sum: floats(n, 1), list: vec![floats(n, 2)], calls: 4 }
    }

    fn seen(&self) -> (Vec<f32>, Vec<Vec<f32>>, u32) {
        (values(&self.sum), self.list.iter().map(values).collect(), self.calls)
    }
}

#[freeze]
fn stopped(state: &mut State, x: &Float, is_wrong: bool) -> Float {
    state.sum += x;
    jit::eval(&state.sum).unwrap();
    state.sum.scatter(7.0, &UInt::from(0));
    state.list.push(x.clone());
    state.calls += 1;
    let y = x.filter(&x.gt(0.0));
    assert!(!is_wrong, "stopped on purpose");
    y
}

// rows: F097 O51 O54
#[test]
fn a_panic_leaves_arguments_as_they_were() {
    crate::frozen_only!();
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            let x = floats(6, 5);
            for _ in 0..2 {
                let mut state = State::new(6);
                for _ in 0..2 {
                    assert!(message_of(|| stopped(&mut state, &x, true)).contains("stopped on purpose"));
                    assert_eq!(state.seen(), State::new(6).seen());
                }
                let y = stopped(&mut state, &x, false);
                assert_eq!(values(&y), values(&x).into_iter().filter(|&x| x > 0.0).collect::<Vec<_>>());
                let (sum, list, calls) = state.seen();
                assert_eq!((sum[0], sum[1], list.len(), calls), (7.0, values(&(floats(6, 1) + &x))[1], 2, 5));
            }
        });
    }
    let stats = stopped::stats();
    assert_eq!((stats.recordings, stats.replays, stats.cached), (10, 2, 2));
}

#[freeze]
fn mismatched(state: &mut State, x: &Float, y: &Float) -> Float {
    state.calls = 0;
    state.sum += 1.0;
    x + y
}

#[test]
fn widths_that_do_not_fit_are_reported_in_each_call() {
    let mut state = State::new(3);
    let mut call = |n: usize, m: usize| {
        let text = catch_unwind(AssertUnwindSafe(|| values(&mismatched(&mut state, &floats(n, 1), &floats(m, 2)))));
        let seen = state.seen();
        state = State::new(3);
        let given = text.map_err(|panic| *panic.downcast::<String>().unwrap());
        if let Err(message) = &given {
            assert!(message.contains(&format!("width {n} and {m}")), "{message}");
        }
        (given.ok(), seen)
    };
    let is_right = |n: usize, (given, seen): (Option<Vec<f32>>, Seen)| {
        assert_eq!(given.unwrap(), values(&(floats(n, 1) + floats(n, 2))));
        assert_eq!((seen.0, seen.2), (values(&(floats(3, 1) + 1.0)), 0));
    };
    is_right(4, call(4, 4));
    for _ in 0..2 {
        // The recording is for equal widths; the body reports the error.
        crate::frozen_only!();
        assert_eq!(call(4, 5), (None, State::new(3).seen()));
        is_right(6, call(6, 6));
    }
    assert_eq!(mismatched::stats().replays, 2);
}

const MIB: usize = 1 << 20;

#[freeze]
fn leaky(state: &mut State, x: &Float, is_wrong: bool) -> Float {
    let y = x * 2.0;
    jit::eval(&y).unwrap();
    state.list.push(y.clone());
    let z = y.filter(&y.gt(100.0)) + 1.0;
    assert!(!is_wrong, "stopped on purpose");
    z
}

// rows: F097
#[test]
fn a_panic_leaks_no_memory() {
    crate::frozen_only!();
    if crate::alone("failures::a_panic_leaks_no_memory", "").is_some() {
        return;
    }
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            let mut state = State::new(3);
            let x = floats(MIB, 1);
            let live = || {
                jit::sync().unwrap();
                jit::memory().live_bytes
            };
            let before = live();
            for _ in 0..3 {
                assert_eq!(message_of(|| leaky(&mut state, &x, true)), "stopped on purpose");
                assert_eq!(live(), before);
            }
            assert_eq!(values(&leaky(&mut state, &x, false)), [0_f32; 0]);
            assert_eq!(state.list.len(), 2);
        });
    }
}

#[freeze]
fn hungry(state: &mut State, x: &Float) -> Float {
    state.calls += 1;
    state.sum += 1.0;
    let large = x.repeat(2_000) * 2.0;
    jit::eval(&large).unwrap();
    large.gather(&(UInt::arange(x.width()) * 2_000))
}

#[test]
fn without_memory_nothing_changes_and_the_next_call_works() {
    crate::frozen_only!();
    // 3 GiB: enough for the program, and not for 4 GB more.
    if crate::alone("failures::without_memory_nothing_changes_and_the_next_call_works", "ulimit -v 3145728;").is_some()
    {
        return;
    }
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            let live = || {
                jit::sync().unwrap();
                jit::memory().live_bytes
            };
            let (small, large) = (floats(100, 1), floats(500_000, 1));
            jit::eval(&(&small, &large)).unwrap();
            let fails = |state: &mut State| {
                let before = live();
                let text = message_of(|| hungry(state, &large));
                assert!(text.contains("no memory"), "{text}");
                assert_eq!(state.seen(), State::new(3).seen());
                // Memory that recordings retain for later is released if memory is short.
                assert!(live() <= before, "{} and then {}", before, live());
            };
            hungry::clear();
            let mut state = State::new(3);
            jit::eval(&state).unwrap();
            // While it is recorded, and when it is replayed.
            fails(&mut state);
            for round in 0..3 {
                let mut state = State::new(3);
                assert_eq!(values(&hungry(&mut state, &small)), values(&(&small * 2.0)), "{round}");
                assert_eq!((state.calls, values(&state.sum)), (5, values(&(floats(3, 1) + 1.0))));
                let mut state = State::new(3);
                jit::eval(&state).unwrap();
                fails(&mut state);
            }
            let stats = hungry::stats();
            assert_eq!((stats.recordings, stats.replays), (2, 2));
        });
    }
}
