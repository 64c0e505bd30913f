//! Work that never ends, or takes too long, is cancelled; everything else continues.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use jit::ErrorKind;
use jit::prelude::*;

use crate::on_each_device;

const LONG: Duration = Duration::from_secs(100_000);

/// Ends for 1 alone.
#[jit]
fn spin(x: &UInt) -> UInt {
    let mut x = x.clone();
    while x != 1 {
        x *= 2;
    }
    x
}

#[jit::freeze]
pub(crate) fn frozen_spin(x: &UInt) -> UInt {
    spin(x)
}

/// Changes its state in place, and never ends if `x` contains a number other than 1.
#[jit::freeze]
fn frozen_step(state: &mut UInt, x: &UInt) {
    let lanes = UInt::arange(x.width());
    state.scatter_add(spin(x), &lanes);
}

/// Makes new state.
#[jit::freeze]
fn frozen_next(state: &mut UInt) {
    *state = spin(state);
}

#[jit]
fn spin_evaluated(x: &UInt) -> UInt {
    let mut x = x.clone();
    #[evaluated]
    while x != 1 {
        x *= 2;
    }
    x
}

#[jit::freeze]
fn frozen_evaluated(x: &UInt) -> UInt {
    spin_evaluated(x)
}

fn numbers(values: &[u32]) -> UInt {
    let x = UInt::from(values);
    jit::eval(&x).unwrap();
    x
}

/// Runs work while another thread cancels it repeatedly, from a number of launches on.
fn cancelled_after<R>(launches: u64, work: impl FnOnce() -> R) -> R {
    let (before, is_done) = (jit::stats().launches, AtomicBool::new(false));
    let cancel = || {
        while !is_done.load(Ordering::Relaxed) {
            if jit::stats().launches >= before + launches {
                jit::cancel();
            }
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(cancel);
        let result = catch_unwind(AssertUnwindSafe(work));
        is_done.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// How work ends: with an error, or with the panic of a call that cannot return one.
fn failure<R: std::fmt::Debug>(work: impl FnOnce() -> jit::Result<R>) -> String {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
            error.to_string()
        }
        Err(panic) => panic.downcast_ref::<String>().unwrap().clone(),
    }
}

/// Failures of launches that have not been read.
fn forget_failures() {
    while jit::sync().is_err() {}
}

#[test]
fn an_endless_loop_is_cancelled_by_another_thread() {
    on_each_device(|| {
        for width in [1, 3, 100_000] {
            let x = (UInt::arange(width) + 2).make_opaque();
            jit::eval(&x).unwrap();
            // Otherwise it might be cancelled, too.
            jit::sync().unwrap();
            let y = spin(&x);
            let text = failure(|| cancelled_after(1, || y.to_vec()));
            assert!(text.contains("the launch of `spin` was cancelled: `jit::cancel()` was called"), "{text}");
            assert!(text.contains("cancelling.rs:") && text.contains("help: "), "{text}");
            // The array has lost its contents; everything else is unchanged.
            assert_eq!(failure(|| y.to_vec()), text);
            assert_eq!(x.to_vec().unwrap(), (2..width as u32 + 2).collect::<Vec<_>>());
            assert_eq!(spin(&numbers(&vec![1; width])).to_vec().unwrap(), vec![1; width]);
        }
    });
}

#[test]
fn work_that_depends_on_cancelled_work_is_cancelled_too() {
    on_each_device(|| {
        let (y, other) = (spin(&numbers(&[2; 100_000])), &numbers(&[7; 1000]) + 1);
        let next = &y + 1;
        let last = &next * 2;
        let text = failure(|| {
            cancelled_after(1, || {
                // With one thread, the launching thread runs the launch, which fails at once.
                let _ = jit::eval(&y);
                let _ = jit::eval(&next);
                y.to_vec()
            })
        });
        assert!(text.contains("the launch of `spin` was cancelled"), "{text}");
        failure(|| next.to_vec());
        failure(|| last.to_vec());
        assert_eq!(other.to_vec().unwrap(), [8; 1000]);
        forget_failures();
    });
}

#[test]
fn without_work_nothing_is_cancelled() {
    on_each_device(|| {
        jit::cancel();
        let (x, y) = (numbers(&[1, 1]), UInt::arange(5) * 3);
        jit::cancel();
        assert_eq!(spin(&x).to_vec().unwrap(), [1, 1]);
        jit::eval(&y).unwrap();
        jit::sync().unwrap();
        jit::cancel();
        assert_eq!(y.to_vec().unwrap(), [0, 3, 6, 9, 12]);
        assert_eq!(spin_evaluated(&x).to_vec().unwrap(), [1, 1]);
    });
}

#[test]
fn a_replay_that_never_ends_is_cancelled_and_the_recording_serves_again() {
    on_each_device(|| {
        let ones = numbers(&[1; 5000]);
        let call = |x: &UInt| frozen_spin(x).to_vec();
        assert_eq!(call(&ones).unwrap(), [1; 5000]);
        let before = frozen_spin::stats();
        for _ in 0..3 {
            // Replays on the calling thread count their launches at the end.
            let twos = numbers(&[2; 5000]);
            let text = failure(|| cancelled_after(0, || call(&twos)));
            assert!(text.contains("was cancelled"), "{text}");
            assert_eq!(call(&ones).unwrap(), [1; 5000]);
        }
        let after = frozen_spin::stats();
        assert_eq!(after.recordings, before.recordings, "nothing is recorded anew");
        forget_failures();
    });
}

#[test]
fn state_that_was_being_overwritten_has_no_contents() {
    if !crate::replays_alone() {
        return;
    }
    on_each_device(|| {
        let (ones, twos) = (numbers(&[1; 5000]), numbers(&[2; 5000]));
        let mut state = numbers(&[5; 5000]);
        frozen_step(&mut state, &ones);
        frozen_step(&mut state, &ones);
        assert_eq!(state.to_vec().unwrap(), [7; 5000]);
        let step = |state: &mut UInt| {
            frozen_step(state, &twos);
            state.to_vec()
        };
        let text = failure(|| cancelled_after(0, || step(&mut state)));
        assert!(text.contains("was cancelled"), "{text}");
        assert!(failure(|| state.to_vec()).contains("was cancelled"));
        state = numbers(&[5; 5000]);
        frozen_step(&mut state, &ones);
        assert_eq!(state.to_vec().unwrap(), [6; 5000]);
        forget_failures();
    });
}

#[test]
fn state_is_the_old_one_or_an_error_after_a_cancelled_call() {
    on_each_device(|| {
        let mut state = numbers(&[1; 5000]);
        frozen_next(&mut state);
        assert_eq!(state.to_vec().unwrap(), [1; 5000]);
        state = numbers(&[3; 5000]);
        let step = |state: &mut UInt| {
            frozen_next(state);
            state.to_vec()
        };
        let text = failure(|| cancelled_after(0, || step(&mut state)));
        assert!(text.contains("was cancelled"), "{text}");
        match state.to_vec() {
            Ok(values) => assert_eq!(values, [3; 5000], "the call has panicked"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "the call has returned"),
        }
        forget_failures();
    });
}

#[test]
fn evaluated_loops_are_cancelled_between_launches() {
    on_each_device(|| {
        let (ones, twos) = (numbers(&[1; 100]), numbers(&[2; 100]));
        let text = failure(|| cancelled_after(20, || spin_evaluated(&twos).to_vec()));
        assert!(text.contains("was cancelled"), "{text}");
        assert_eq!(spin_evaluated(&ones).to_vec().unwrap(), [1; 100]);
        assert_eq!(frozen_evaluated(&ones).to_vec().unwrap(), [1; 100]);
        let text = failure(|| cancelled_after(20, || frozen_evaluated(&twos).to_vec()));
        assert!(text.contains("was cancelled"), "{text}");
        assert_eq!(frozen_evaluated(&ones).to_vec().unwrap(), [1; 100]);
        assert_eq!(twos.to_vec().unwrap(), [2; 100]);
        forget_failures();
    });
}

#[test]
fn a_time_limit_cancels_what_its_closure_launches() {
    on_each_device(|| {
        let (ones, twos) = (numbers(&[1; 5000]), numbers(&[2; 5000]));
        let limit = Duration::from_millis(5);
        for work in [spin, spin_evaluated] {
            let text = failure(|| jit::with_timeout(limit, || work(&twos).to_vec()));
            assert!(text.contains("was cancelled: the time limit of 5ms was exceeded"), "{text}");
            // The earlier one counts, and a panic ends it.
            let text = failure(|| jit::with_timeout(limit, || jit::with_timeout(LONG, || work(&twos).to_vec())));
            assert!(text.contains("the time limit of 5ms was exceeded"), "{text}");
            assert_eq!(jit::with_timeout(LONG, || work(&ones).to_vec()).unwrap(), [1; 5000]);
        }
        assert_eq!(spin(&ones).to_vec().unwrap(), [1; 5000]);
        forget_failures();
    });
}

#[test]
fn without_time_nothing_is_launched() {
    on_each_device(|| {
        let x = numbers(&[3, 1, 2]);
        jit::with_timeout(Duration::ZERO, || {
            failure(|| (&x + 1).to_vec());
            failure(|| x.sort().to_vec());
            failure(|| UInt::arange(1_000_000).sum().to_vec());
            assert_eq!(x.to_vec().unwrap(), [3, 1, 2], "values from before can be read");
        });
        assert_eq!((&x + 1).to_vec().unwrap(), [4, 2, 3]);
        assert_eq!(x.sort().to_vec().unwrap(), [1, 2, 3]);
        forget_failures();
    });
}

#[test]
fn work_with_a_time_limit_can_be_cancelled_before() {
    on_each_device(|| {
        let twos = numbers(&[2; 5000]);
        jit::with_timeout(LONG, || {
            let text = failure(|| cancelled_after(1, || spin(&twos).to_vec()));
            assert!(text.contains("`jit::cancel()` was called"), "{text}");
            // There is time left.
            assert_eq!((&twos + 1).to_vec().unwrap(), [3; 5000]);
        });
    });
}

#[test]
fn each_thread_has_its_own_time_limit() {
    let _turn = crate::one_at_a_time();
    let done = AtomicUsize::new(0);
    let ones = numbers(&[1; 1000]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (done, ones) = (&done, ones.clone());
            scope.spawn(move || {
                let limit = if thread % 2 == 0 { Duration::ZERO } else { LONG };
                for _ in 0..50 {
                    let is_computed = jit::with_timeout(limit, || (&ones + (thread + 1)).to_vec()).is_ok();
                    assert_eq!(is_computed, thread % 2 == 1);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(done.into_inner(), 200);
    forget_failures();
}
