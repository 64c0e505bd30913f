//! Replays as graphs of the driver: consecutive launches are queued by one call, and compute what they do one by one.

use std::panic::catch_unwind;

use jit::prelude::*;
use jit::{Device, with_device};

use super::streams::{elsewhere, hold, of_driver};
use super::{FIRST, assert_cpu_goes_on, floats, is_alone};

/// Graphs that were made, and calls that queued one.
fn graphs() -> [usize; 2] {
    let (mut made, mut queued) = (0, 0);
    of_driver::<extern "C" fn(&mut usize, &mut usize)>(c"fake_cuda_graphs")(&mut made, &mut queued);
    [made, queued]
}

fn live_graphs() -> usize {
    of_driver::<extern "C" fn() -> usize>(c"fake_cuda_live_graphs")()
}

/// Kernels, a reduction over several blocks of threads, and library calls.
#[freeze]
fn ranked(x: &Float, scale: &Float) -> (Float, Float) {
    let centred = x - x.sum() / 1000.0;
    let sorted = (&centred * scale).sort();
    let sums = sorted.prefix_sum();
    (sorted, sums + centred)
}

fn ramp(len: usize, factor: f32) -> Vec<f32> {
    (0..len).map(|number| (number * 37 % 101) as f32 * factor).collect()
}

/// What the processor computes.
fn expected(len: usize, factor: f32, scale: f32) -> [Vec<f32>; 2] {
    let (x, scale) = (Float::from(ramp(len, factor)), Float::from([scale]));
    let (sorted, sums) = ranked(&x, &scale);
    [sorted.to_vec().unwrap(), sums.to_vec().unwrap()]
}

fn on_gpu(len: usize, factor: f32, scale: f32) -> (Float, Float) {
    ranked(&floats(FIRST, &ramp(len, factor)), &floats(FIRST, &[scale]))
}

fn assert_is(actual: (Float, Float), expected: [Vec<f32>; 2]) {
    assert_eq!([actual.0.to_vec().unwrap(), actual.1.to_vec().unwrap()], expected);
}

// one device: a GPU of a driver for tests
#[test]
fn replays_queue_a_graph_whose_launches_get_new_parameters() {
    let test = "graphs::replays_queue_a_graph_whose_launches_get_new_parameters";
    if !is_alone(test, "JIT_CUDA_GRAPHS=on") {
        return;
    }
    assert_is(on_gpu(1000, 0.5, 1.0), expected(1000, 0.5, 1.0));
    assert_eq!(graphs(), [0, 0], "the call that records launches as usual");
    for number in 1..6_u16 {
        assert_is(on_gpu(1000, f32::from(number), 2.0), expected(1000, f32::from(number), 2.0));
    }
    assert_eq!(graphs(), [1, 5], "one graph serves all replays");
    // Another length has the same kernels, and another number of blocks.
    assert_is(on_gpu(1500, 0.5, 1.0), expected(1500, 0.5, 1.0));
    assert_is(on_gpu(1000, 0.25, 1.0), expected(1000, 0.25, 1.0));
    jit::trim_memory();
    assert_eq!(live_graphs(), 0, "recordings release what they retain");
    assert_is(on_gpu(1000, 0.5, 1.0), expected(1000, 0.5, 1.0));
}

// one device: a GPU of a driver for tests
#[test]
fn graphs_that_are_queued_keep_their_parameters() {
    if !is_alone("graphs::graphs_that_are_queued_keep_their_parameters", "JIT_CUDA_GRAPHS=on") {
        return;
    }
    drop(on_gpu(300, 1.0, 1.0));
    let held = hold();
    let replays: Vec<_> = (1..9_u16).map(|number| on_gpu(300, f32::from(number), f32::from(number) + 0.5)).collect();
    let chained = ranked(&replays[7].1, &replays[2].0.sum());
    drop(held);
    for (replay, number) in replays.into_iter().zip(1..9_u16) {
        assert_is(replay, expected(300, f32::from(number), f32::from(number) + 0.5));
    }
    assert_eq!(graphs()[1], 9);
    assert!(chained.0.to_vec().unwrap().is_sorted());
}

// one device: a GPU of a driver for tests
#[test]
fn threads_replay_at_once_and_use_results_of_each_other() {
    if !is_alone("graphs::threads_replay_at_once_and_use_results_of_each_other", "JIT_CUDA_GRAPHS=on") {
        return;
    }
    let (x, scale) = (floats(FIRST, &ramp(200, 0.5)), floats(FIRST, &[2.0]));
    let host = |times: usize| {
        let (mut x, scale) = (Float::from(ramp(200, 0.5)), Float::from([2.0]));
        (0..times).for_each(|_| x = ranked(&x, &scale).1);
        x.to_vec().unwrap()
    };
    let wanted = host(6);
    // Each thread goes on from what another one has begun.
    let begun: Vec<Float> = std::thread::scope(|scope| {
        let begin = || (0..3).fold(x.clone(), |x, _| ranked(&x, &scale).1);
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(begin)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    std::thread::scope(|scope| {
        for begun in &begun {
            let (wanted, scale) = (&wanted, &scale);
            scope.spawn(move || {
                let x = (0..3).fold(begun.clone(), |x, _| ranked(&x, scale).1);
                assert_eq!(x.to_vec().unwrap(), *wanted);
            });
        }
    });
    assert!(graphs()[1] > 0);
}

// one device: a GPU of a driver for tests
#[test]
fn another_thread_waits_for_the_graph_that_makes_its_input() {
    if !is_alone("graphs::another_thread_waits_for_the_graph_that_makes_its_input", "JIT_CUDA_GRAPHS=on") {
        return;
    }
    drop(on_gpu(300, 1.0, 1.0));
    let held = hold();
    let (sorted, sums) = on_gpu(300, 3.0, 1.0);
    let both = elsewhere(|| {
        let both = (&sorted * 2.0, &sums * 2.0);
        jit::eval(&both).unwrap();
        both
    });
    drop(held);
    let expected = expected(300, 3.0, 1.0).map(|values| values.iter().map(|value| value * 2.0).collect());
    assert_is(both, expected);
}

#[jit]
fn small(x: &Float) -> Float {
    assert!(x < 100.0, "numbers are small");
    x * 2.0
}

#[freeze]
fn checked(x: &Float) -> Float {
    let sorted = x.sort();
    (small(&sorted) + x).prefix_sum()
}

// one device: a GPU of a driver for tests
#[test]
fn launches_that_copy_what_assertions_read_are_queued_one_by_one() {
    let test = "graphs::launches_that_copy_what_assertions_read_are_queued_one_by_one";
    if !is_alone(test, "JIT_CUDA_GRAPHS=on JIT_DEBUG=on") {
        return;
    }
    let run = |device: Device, first: f32| checked(&floats(device, &[first, 1.0, 2.0])).to_vec();
    for first in [3.0, 5.0, 7.0] {
        assert_eq!(run(FIRST, first).unwrap(), run(Device::Interpreter, first).unwrap());
    }
    let outcome = catch_unwind(|| run(FIRST, 500.0));
    let text = match outcome {
        Ok(result) => result.unwrap_err().to_string(),
        Err(panic) => panic.downcast_ref::<String>().unwrap().clone(),
    };
    assert!(text.contains("numbers are small"), "{text}");
    assert_eq!(run(FIRST, 4.0).unwrap(), run(Device::Interpreter, 4.0).unwrap());
}

#[freeze]
fn halved(x: &Float) -> (Float, Float) {
    let (mut x, mut largest) = (x.clone(), x.reduce_max());
    #[evaluated]
    while largest > 1.0 {
        x = (x * 0.5).sort();
        largest = x.reduce_max();
    }
    (x, largest)
}

// one device: a GPU of a driver for tests
#[test]
fn iterations_of_loops_queue_the_same_graph() {
    if !is_alone("graphs::iterations_of_loops_queue_the_same_graph", "JIT_CUDA_GRAPHS=on") {
        return;
    }
    drop(halved(&floats(FIRST, &[8.0, 3.0])));
    for top in [8.0_f32, 100.0, 0.5, 3.0] {
        let (x, largest) = halved(&floats(FIRST, &[top, top / 2.0]));
        let halvings = (0..).find(|&n| top * 0.5_f32.powi(n) <= 1.0).unwrap();
        let factor = 0.5_f32.powi(halvings);
        let mut expected = [top * factor, top / 2.0 * factor];
        // Each iteration sorts.
        expected[..if halvings > 0 { 2 } else { 0 }].reverse();
        assert_eq!(x.to_vec().unwrap(), expected);
        assert_eq!(largest.item().unwrap(), top * factor);
    }
    let [made, queued] = graphs();
    assert!(made < queued, "{made} graphs were made, and queued {queued} times");
}

// one device: a GPU of a driver for tests
#[test]
fn launches_are_queued_one_by_one_if_there_is_no_graph() {
    let test = "graphs::launches_are_queued_one_by_one_if_there_is_no_graph";
    if !is_alone(test, "JIT_CUDA_GRAPHS=on FAKE_CUDA_FAIL=graph:1,graph-update:1") {
        return;
    }
    let factors: Vec<f32> = (1..8_u16).map(f32::from).collect();
    // All results are there at once, so each replay has other addresses.
    let results: Vec<_> = factors.iter().map(|factor| on_gpu(500, *factor, 2.0)).collect();
    for (result, factor) in results.into_iter().zip(factors) {
        assert_is(result, expected(500, factor, 2.0));
    }
    // The first one cannot be made, and the first change of the second one is refused.
    assert_eq!(graphs(), [2, 4]);
}

// one device: a GPU of a driver for tests
#[test]
fn a_graph_that_the_driver_refuses_has_failed_and_the_next_one_runs() {
    let test = "graphs::a_graph_that_the_driver_refuses_has_failed_and_the_next_one_runs";
    if !is_alone(test, "JIT_CUDA_GRAPHS=on FAKE_CUDA_FAIL=graph-launch:1") {
        return;
    }
    drop(on_gpu(500, 1.0, 1.0));
    let failed = on_gpu(500, 2.0, 2.0);
    let text = failed.0.to_vec().unwrap_err().to_string();
    assert!(text.contains("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), "{text}");
    assert!(failed.1.to_vec().is_err());
    assert_is(on_gpu(500, 3.0, 2.0), expected(500, 3.0, 2.0));
    assert_cpu_goes_on();
}

// one device: a GPU of a driver for tests
#[test]
fn a_replay_without_memory_is_an_error_and_the_next_one_runs() {
    let test = "graphs::a_replay_without_memory_is_an_error_and_the_next_one_runs";
    if !is_alone(test, "JIT_CUDA_GRAPHS=on FAKE_CUDA_MEMORY=5000000") {
        return;
    }
    drop(on_gpu(500, 1.0, 1.0));
    let large = with_device(FIRST, || Float::arange(600_000) + Float::opaque(0.5));
    jit::eval(&large).unwrap();
    let scale = floats(FIRST, &[1.0]);
    assert!(catch_unwind(|| ranked(&large, &scale)).is_err());
    drop(large);
    assert_is(on_gpu(500, 3.0, 2.0), expected(500, 3.0, 2.0));
}

// one device: a GPU of a driver for tests
#[test]
fn graphs_are_off_unless_they_are_wanted() {
    if !is_alone("graphs::graphs_are_off_unless_they_are_wanted", "") {
        return;
    }
    (1..4_u16).for_each(|number| drop(on_gpu(100, f32::from(number), 1.0)));
    jit::sync().unwrap();
    assert_eq!(graphs(), [0, 0]);
}
