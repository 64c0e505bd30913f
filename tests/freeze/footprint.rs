//! The memory that replays allocate and retain. Arrays are far larger than those of the other tests of this program,
//! with which the counters are shared.

use std::sync::{Mutex, MutexGuard};

use jit::prelude::*;

/// Lanes of an array.
const WIDTH: usize = 8 << 20;
/// Bytes of an array.
const ARRAY: usize = WIDTH * size_of::<f32>();

/// One of these tests at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The maximum number of arrays during a call, beyond those before it, and the number of additional arrays after it.
fn arrays_during<R>(call: impl FnOnce() -> R) -> (usize, usize, R) {
    jit::sync().unwrap();
    jit_runtime::memory::reset_peak();
    let before = jit::memory().live_bytes;
    let result = call();
    jit::sync().unwrap();
    let after = jit::memory();
    let arrays = |bytes: usize| (bytes.saturating_sub(before) + ARRAY / 2) / ARRAY;
    (arrays(after.peak_bytes), arrays(after.live_bytes), result)
}

fn large() -> Float {
    let x = Float::arange(WIDTH).make_opaque();
    jit::eval(&x).unwrap();
    x
}

fn chain(x: &Float, kernels: usize) -> Float {
    let mut x = x.clone();
    for _ in 0..kernels {
        x = x * 0.5 + 1.0;
        jit::eval(&x).unwrap();
    }
    x
}

#[freeze]
fn sixteen(x: &Float) -> Float {
    chain(x, 16)
}

#[test]
fn a_chain_of_kernels_takes_two_arrays_in_turn() {
    crate::replays_alone!();
    crate::frozen_only!();
    let _alone = alone();
    let x = large();
    let (_, kept, first) = arrays_during(|| sixteen(&x));
    assert_eq!(kept, 1, "a recording retains no memory");
    let first = first.get(WIDTH - 1).unwrap();
    for _ in 0..3 {
        let (peak, kept, result) = arrays_during(|| sixteen(&x));
        assert!(peak <= 2, "{peak} arrays at once");
        assert_eq!(kept, 1);
        assert_eq!(result.get(WIDTH - 1).unwrap(), first);
    }
    assert_eq!(sixteen::stats().recordings, 1);
}

#[freeze]
fn raise(x: &mut Float, at: &UInt) {
    x.scatter_add(1.0, at);
}

#[test]
fn a_scatter_into_an_array_with_one_owner_copies_nothing() {
    crate::replays_alone!();
    crate::frozen_only!();
    let _alone = alone();
    let mut x = large();
    let at = UInt::from([3, 5, 3]);
    raise(&mut x, &at);
    for calls in 2..6 {
        let (peak, kept, ()) = arrays_during(|| raise(&mut x, &at));
        assert_eq!((peak, kept), (0, 0));
        assert_eq!(x.get(3).unwrap(), 3.0 + 2.0 * calls as f32);
    }
    let before = x.clone();
    let (peak, _, ()) = arrays_during(|| raise(&mut x, &at));
    assert_eq!(peak, 1, "another owner holds the array, so it is not changed");
    assert_eq!((before.get(5).unwrap(), x.get(5).unwrap()), (10.0, 11.0));
    assert_eq!(raise::stats().recordings, 1);
}

#[freeze]
fn short(x: &Float) -> Float {
    chain(x, 4)
}

#[test]
fn memory_of_recordings_is_released_with_that_of_the_allocator() {
    let _alone = alone();
    let x = Float::arange(64 << 10).make_opaque();
    let calls = || (0..20).for_each(|_| drop(short(&x)));
    calls();
    let wanted = short(&x).to_vec().unwrap();
    jit::trim_memory();
    calls();
    assert_eq!(short(&x).to_vec().unwrap(), wanted);
}
