//! Loops of replays, whose conditions the host reads while the device computes the next iteration.

use std::panic::catch_unwind;

use jit::prelude::*;

use super::{FIRST, assert_cpu_goes_on, floats, is_alone};

/// Adds numbers to lanes until each has reached its limit: kernels, a reduction and a library call.
#[freeze]
fn grown(x: &Float, limit: &Float) -> (Float, Float, UInt) {
    let (mut x, mut order, mut steps) = (x.clone(), x.sort(), limit.zeros_like().cast::<u32>());
    #[evaluated]
    #[max_iterations(40)]
    while (x < limit) {
        x = x + 1.0;
        order = (&order * 0.5 + &x).sort();
        steps += 1;
    }
    (x, order, steps)
}

/// The results, by their bits.
fn bits((x, order, steps): (Float, Float, UInt)) -> [Vec<u32>; 3] {
    let of = |values: &Float| values.to_vec().unwrap().iter().map(|value| value.to_bits()).collect();
    [of(&x), of(&order), steps.to_vec().unwrap()]
}

fn limits(most: usize) -> Vec<f32> {
    (0..50).map(|lane| (lane * 7 % (most + 1)) as f32).collect()
}

fn on(device: jit::Device, most: usize) -> (Float, Float, UInt) {
    let mut limits = limits(most);
    limits[49] = most as f32;
    grown(&floats(device, &[0.25; 50]), &floats(device, &limits))
}

fn launches(of: impl FnOnce()) -> u64 {
    jit::sync().unwrap();
    let before = jit::stats().launches;
    of();
    jit::sync().unwrap();
    jit::stats().launches - before
}

/// Any number of iterations, with more launches than those of the iterations where conditions are read late.
fn check() {
    drop(on(FIRST, 12));
    let counts: Vec<u64> = (0..26)
        .map(|most| {
            let expected = bits(jit::with_device(jit::Device::Interpreter, || on(jit::Device::Interpreter, most)));
            launches(|| assert_eq!(bits(on(FIRST, most)), expected, "{most} iterations"))
        })
        .collect();
    let steps: Vec<u64> = counts.windows(2).map(|counts| counts[1] - counts[0]).collect();
    // The same launches for each iteration, and those of one more where the first condition is read late.
    let each = steps[20];
    assert!(each > 0 && steps[3..].iter().filter(|step| **step == 2 * each).count() == 1, "{counts:?}");
    assert!(steps[3..].iter().all(|step| *step == each || *step == 2 * each), "{counts:?}");
    let error = catch_unwind(|| on(FIRST, 41)).map(|_| ()).unwrap_err();
    let text = error.downcast_ref::<String>().unwrap();
    assert!(text.contains("more than the 40 iterations"), "{text}");
    assert_eq!(bits(on(FIRST, 40))[2][49], 40);
}

// one device: a GPU of a driver for tests
#[test]
fn conditions_are_read_while_the_next_iteration_runs() {
    if is_alone("loops::conditions_are_read_while_the_next_iteration_runs", "") {
        check();
    }
}

// one device: a GPU of a driver for tests
#[test]
fn conditions_are_read_while_a_graph_of_the_next_iteration_runs() {
    if is_alone("loops::conditions_are_read_while_a_graph_of_the_next_iteration_runs", "JIT_CUDA_GRAPHS=on") {
        check();
    }
}

// one device: a GPU of a driver for tests
#[test]
fn a_gpu_that_is_lost_in_a_loop_is_an_error() {
    if !is_alone("loops::a_gpu_that_is_lost_in_a_loop_is_an_error", "FAKE_CUDA_FAIL=lost:150") {
        return;
    }
    let outcome = catch_unwind(|| (0..20).for_each(|_| drop(bits(on(FIRST, 20)))));
    assert!(outcome.is_err());
    assert_cpu_goes_on();
}
