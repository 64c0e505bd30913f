//! Tracing and evaluating on several threads at once.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use jit_core::{Float, UInt, eval};
use jit_runtime::device::{Device, with_device};

/// Programs that differ in shape, width and constants, and their values by plain Rust.
fn run(seed: u32) {
    let width = 1 + (seed as usize * 7) % 300;
    let data: Vec<u32> = (0..width as u32).map(|i| i.wrapping_mul(seed | 1)).collect();
    let x = UInt::from(&data);
    let (mut traced, mut plain) = (x.clone(), data.clone());
    for step in 0..(seed % 5 + 2) {
        traced = (&traced ^ (seed.wrapping_mul(step) | 1)) * &x + step;
        plain.iter_mut().zip(&data).for_each(|(lane, x)| {
            *lane = (*lane ^ (seed.wrapping_mul(step) | 1)).wrapping_mul(*x).wrapping_add(step);
        });
    }
    let sum = traced.sum();
    eval(&(&traced, &sum)).expect("a program evaluates");
    assert_eq!(sum.item().expect("a sum"), plain.iter().fold(0, |sum: u32, lane| sum.wrapping_add(*lane)));
    assert_eq!(traced.to_vec().expect("values"), plain);
}

#[test]
fn two_threads_evaluate_a_thousand_programs_each() {
    let threads = [0, 1].map(|thread| {
        thread::spawn(move || with_device(Device::Interpreter, || (0..1000).for_each(|i| run(2 * i + thread))))
    });
    for thread in threads {
        thread.join().expect("all programs were right");
    }
}

#[test]
fn threads_share_compiled_programs() {
    let threads = [0, 1, 2].map(|_| thread::spawn(|| (0..12).for_each(run)));
    for thread in threads {
        thread.join().expect("all programs were right");
    }
}

#[test]
fn one_graph_is_evaluated_by_several_threads() {
    for round in 0..50 {
        let x = Float::from((0..100).map(|i| (i + round) as f32).collect::<Vec<_>>());
        let shared = Arc::new((0..50).fold(x.clone(), |sum, step| sum.mul_add(0.5, &x + step as f32)));
        let expected = with_device(Device::Interpreter, || (0..3).map(|_| Arc::clone(&shared)).collect::<Vec<_>>());
        let threads: Vec<_> = expected
            .into_iter()
            .enumerate()
            .map(|(number, shared)| {
                thread::spawn(move || {
                    with_device(Device::Interpreter, || {
                        // Each thread adds to the graph while the others take it apart.
                        let mine = &*shared + number as f32;
                        let theirs = shared.to_vec().expect("values");
                        let mine = mine.to_vec().expect("values");
                        assert!(mine.iter().zip(&theirs).all(|(a, b)| *a == *b + number as f32));
                        theirs
                    })
                })
            })
            .collect();
        let results: Vec<Vec<f32>> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

#[test]
fn nodes_that_travel_come_back_to_be_used_again() {
    // One thread makes arrays and another one drops them, for longer than any list of free nodes is.
    let (send, receive) = channel::<Vec<UInt>>();
    let dropper = thread::spawn(move || receive.into_iter().map(|arrays| arrays.len()).sum::<usize>());
    let x = UInt::from([1, 2, 3]);
    for round in 0..40_u32 {
        send.send((0..5000_u32).map(|i| &x + (round * 5000 + i + 1)).collect()).expect("the other thread listens");
    }
    drop(send);
    assert_eq!(dropper.join().expect("no panic"), 200_000);
    assert_eq!((&x + 5).to_vec().expect("values"), [6, 7, 8]);
}
