//! The overhead of replays besides their kernels: host memory, device memory, launches.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use jit::prelude::*;

/// Counts allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn note() {
    // The counter of a thread that ends is gone.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: everything is delegated to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of this thread during a hundred calls, after enough warm-up calls. Takes the minimum of several counts:
/// a replay that other programs interrupt for long looks like one of long kernels, and the next ones are then launched
/// as such.
fn allocations(mut call: impl FnMut()) -> u64 {
    (0..1000).for_each(|_| call());
    let count = |_| {
        let before = ALLOCATIONS.get();
        (0..100).for_each(|_| call());
        ALLOCATIONS.get() - before
    };
    (0..10).map(count).min().unwrap()
}

/// Whether calls are replays and nothing else, of generated code: the interpreter allocates memory for the values of
/// its lanes.
fn replays_alone_on_generated_code() -> bool {
    crate::is_frozen() && std::env::var_os("JIT_FREEZE_VERIFY").is_none() && crate::tested_devices::has_llvm()
}

#[freeze]
fn both(x: &Float, k: &Float) -> (Float, Float) {
    (x * k, x.sin())
}

#[test]
fn a_replay_of_one_kernel_allocates_nothing_on_the_host() {
    if !replays_alone_on_generated_code() {
        return;
    }
    let (x, k) = (Float::linspace(0.0, 1.0, 64), Float::opaque(2.0));
    jit::eval(&x).unwrap();
    let mut last = None;
    let count = allocations(|| last = Some(both(&x, &k)));
    assert_eq!(count, 0);
    assert_eq!(last.unwrap().0.get(63).unwrap(), 2.0);
    assert_eq!(both::stats().recordings, 1);
}

#[derive(Clone, Traverse)]
struct Oscillator {
    position: Float,
    velocity: Float,
    steps: u32,
}

#[freeze]
fn swing(state: &mut Oscillator, dt: &Float) {
    state.velocity -= &state.position * dt;
    state.position += &state.velocity * dt;
}

#[test]
fn a_replay_that_changes_its_state_allocates_nothing_on_the_host() {
    if !replays_alone_on_generated_code() {
        return;
    }
    let position = Float::linspace(1.0, 2.0, 64);
    let mut state = Oscillator { velocity: &position * 0.0, position, steps: 3 };
    jit::eval(&state).unwrap();
    let dt = Float::opaque(1.0 / 1024.0);
    assert_eq!(allocations(|| swing(&mut state, &dt)), 0);
    assert_eq!(swing::stats().recordings, 1);
    let energy = state.position.get(0).unwrap().powi(2) + state.velocity.get(0).unwrap().powi(2);
    assert!((energy - 1.0).abs() < 0.01, "{energy}");
}

/// Halves and adds one, this often, each time in a separate kernel.
fn steps(x: &Float, count: usize) -> Float {
    let mut x = x.clone();
    for _ in 0..count {
        x = x * 0.5 + 1.0;
        jit::eval(&x).unwrap();
    }
    x
}

#[freeze]
fn hundred(x: &Float) -> Float {
    steps(x, 100)
}

#[test]
fn a_replay_of_a_hundred_kernels_allocates_nothing_on_the_host() {
    if !replays_alone_on_generated_code() {
        return;
    }
    let x = Float::arange(32).make_opaque();
    jit::eval(&x).unwrap();
    let mut last = None;
    assert_eq!(allocations(|| last = Some(hundred(&x))), 0);
    assert!(last.unwrap().to_vec().unwrap().iter().all(|value| *value == 2.0));
}

#[derive(Clone, Traverse)]
struct Named {
    name: String,
    lines: usize,
    parts: std::collections::BTreeMap<String, Float>,
}

#[freeze]
fn named(of: &Named, title: &str, width: usize) -> Float {
    let mut sum = of.parts["first part of the whole"].clone() + title.len() as f32;
    for part in of.parts.values() {
        sum += part;
    }
    sum * (of.name.len() + of.lines + width) as f32
}

#[test]
fn strings_and_sizes_of_the_host_are_distinguished_without_allocating() {
    if !replays_alone_on_generated_code() {
        return;
    }
    let part = Float::arange(4).make_opaque();
    jit::eval(&part).unwrap();
    let parts = ["first part of the whole", "second"].map(|name| (name.to_owned(), part.clone())).into();
    let mut of = Named { name: "a name of more than thirty-two bytes".to_owned(), lines: 12_345, parts };
    let mut last = None;
    assert_eq!(allocations(|| last = Some(named(&of, "a title that is just as long as that", 67_890))), 0);
    assert_eq!(named::stats().recordings, 1);
    let wanted = [36.0, 39.0, 42.0, 45.0].map(|sum| sum * (36 + 12_345 + 67_890) as f32);
    assert_eq!(last.unwrap().to_vec().unwrap(), wanted);
    for (recordings, change) in (2..).zip([
        |of: &mut Named| of.name.push('.'),
        |of: &mut Named| of.lines += 1,
        |of: &mut Named| drop(of.parts.insert("third".to_owned(), Float::from(1.0))),
    ]) {
        change(&mut of);
        drop(named(&of, "a title that is just as long as that", 67_890));
        assert_eq!(named::stats().recordings, recordings);
    }
}
