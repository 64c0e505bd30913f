//! Memory that launches in flight still use is written by later launches, unless something else has a handle.

use jit::prelude::*;

/// Widths whose arrays are reused in flight.
const WIDTH: usize = 1 << 16;

#[jit]
fn mixed(a: &UInt, b: &UInt, k: u32) -> UInt {
    (a ^ (b >> 3)) * 2_654_435_761 + k
}

#[freeze]
fn frozen_mixed(a: &UInt, b: &UInt, k: u32) -> UInt {
    mixed(a, b, k)
}

fn plain_mixed(a: &[u32], b: &[u32], k: u32) -> Vec<u32> {
    let lane = |(a, b): (&u32, &u32)| (a ^ (b >> 3)).wrapping_mul(2_654_435_761).wrapping_add(k);
    a.iter().zip(b).map(lane).collect()
}

/// Many launches without a wait on arrays of which some are kept, beside the same on the host.
fn random_steps(seed: u64, steps: usize) {
    let draw = {
        let state = std::cell::Cell::new(seed);
        move |below: usize| {
            state.set(state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
            (state.get() >> 33) as usize % below
        }
    };
    // Three arrays of one width, and three of another.
    let width = |number: usize| WIDTH * (1 + number / 3);
    let start = |number| (0..width(number)).map(|lane| (lane as u32).wrapping_mul(number as u32 + 77)).collect();
    let mut plain: Vec<Vec<u32>> = (0..6).map(start).collect();
    let mut arrays: Vec<UInt> = plain.iter().map(|values| UInt::from(&values[..])).collect();
    let mut kept = Vec::new();
    for step in 0..steps {
        let first = draw(2) * 3;
        let [a, b, target] = [draw(3), draw(3), draw(3)].map(|number| first + number);
        let k = draw(3) as u32;
        let next = if draw(2) == 0 { mixed } else { frozen_mixed }(&arrays[a], &arrays[b], k);
        jit::eval(&next).unwrap();
        let plain_next = plain_mixed(&plain[a], &plain[b], k);
        if draw(8) == 0 {
            kept.push((step, arrays[target].clone(), plain[target].clone()));
        }
        if draw(16) == 0 {
            let lane = draw(width(target));
            assert_eq!(next.get(lane).unwrap(), plain_next[lane], "seed {seed}, step {step}");
        }
        (arrays[target], plain[target]) = (next, plain_next);
    }
    for (number, (array, values)) in arrays.iter().zip(&plain).enumerate() {
        assert!(array.to_vec().unwrap() == *values, "seed {seed}, array {number}");
    }
    for (step, array, values) in &kept {
        assert!(array.to_vec().unwrap() == *values, "seed {seed}, kept at step {step}");
    }
}

#[test]
fn arrays_that_something_else_uses_are_not_overwritten() {
    let _turn = crate::one_at_a_time();
    let threads = jit::threads();
    jit::set_threads(4);
    (0..6).for_each(|seed| random_steps(seed, 150));
    // Several threads queue launches.
    std::thread::scope(|scope| {
        (6..10).for_each(|seed| drop(scope.spawn(move || random_steps(seed, 60))));
    });
    jit::set_threads(threads);
}

/// The arrays of `WIDTH` elements that live at the same time at most, in many steps without a wait.
fn most_arrays(step: impl Fn(&Float) -> Float) -> usize {
    let mut x = Float::linspace(0.0, 1.0, WIDTH).make_opaque();
    x = step(&x);
    jit::eval(&x).unwrap();
    jit::sync().unwrap();
    let profile = jit::profile(|| {
        for _ in 0..20 {
            x = step(&x);
            jit::eval(&x).unwrap();
        }
        jit::sync().unwrap();
    })
    .unwrap();
    profile.totals().peak_bytes / (WIDTH * size_of::<f32>())
}

#[freeze]
fn slow_step(x: &Float) -> Float {
    (0..4).fold(x.clone(), |x, _| (x * 0.5).sin())
}

#[test]
fn a_chain_of_queued_steps_alternates_between_few_arrays() {
    let _turn = crate::one_at_a_time();
    let threads = jit::threads();
    jit::set_threads(2);
    let frozen = most_arrays(slow_step);
    let unfrozen = most_arrays(|x| (0..4).fold(x.clone(), |x, _| (x * 0.5).sin()));
    jit::set_threads(threads);
    // Two, and some while a launch that just ends returns its memory.
    assert!(frozen <= 5 && unfrozen <= 5, "{frozen} and {unfrozen} arrays");
}
