//! Chains of short kernels, which replays run in tiles on several threads, compared with the same program
//! unfrozen.

use jit::prelude::*;

use crate::{floats, values};

/// The operation of a kernel of a chain on the array that the one before it wrote.
const KINDS: u32 = 8;

fn next(random: &mut u32) -> u32 {
    *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *random >> 16
}

fn kept<T: jit::Element>(x: Array<T>) -> Array<T> {
    jit::eval(&x).unwrap();
    x
}

/// Several kernels in sequence: by lane, with other element types, reading and writing elements of other lanes, and
/// reducing.
fn chain(x: &Float, seed: u32) -> Float {
    let mut random = seed;
    let lanes = UInt::arange(x.width());
    let (mut x, mut earlier) = (x.clone(), x.clone());
    for _ in 0..24 {
        let before = x.clone();
        x = match next(&mut random) % KINDS {
            0 => kept(x.sin() * 3.0),
            1 => kept((&x * 0.5 + &earlier).cos()),
            2 => kept(kept(x.cast::<f64>().exp() * 0.1).cast::<f32>().sin()),
            3 => kept(x.reverse() + 0.25),
            4 => kept(&x - kept(x.sum()) * 1e-3),
            5 => {
                let mut y = earlier.clone();
                y.scatter(&(&x * 2.0), &((&lanes * 7 + 3) % UInt::from(x.width())));
                kept(y)
            }
            6 => kept(kept(x.cast::<i8>()).cast::<f32>() + (&x * 2.0).sin()),
            _ => kept((x.abs() + 1.0).sqrt().ln() + earlier.sin()),
        };
        if next(&mut random).is_multiple_of(3) {
            earlier = before;
        }
    }
    x + earlier
}

#[freeze(limit = 1000, warn_after = 1000)]
fn frozen_chain(x: &Float, seed: u32) -> Float {
    chain(x, seed)
}

/// A number of repetitions, or a few: the interpreter, which takes long, runs nothing in tiles.
fn often(count: usize) -> usize {
    if crate::tested_devices::has_llvm() { count } else { count.div_ceil(8) }
}

#[test]
fn kernels_in_tiles_compute_what_they_compute_one_by_one() {
    for seed in 0..often(24) as u32 {
        for width in [4096, 8192 - 7] {
            for call in 0..8 {
                let x = floats(width, seed as usize + call);
                let (got, expected) = (values(&frozen_chain(&x, seed)), values(&chain(&x, seed)));
                let same = got.iter().zip(&expected).position(|(a, b)| a.to_bits() != b.to_bits());
                assert_eq!(same, None, "chain {seed} over {width} lanes, call {call}");
            }
        }
    }
}

#[freeze]
fn by_lane(x: &Float) -> Float {
    (0..40).fold(x.clone(), |x, _| kept((x * 1.01).sin()))
}

#[test]
fn threads_replay_a_chain_in_tiles_at_the_same_time() {
    let width = 4096;
    let expected = |call: usize| {
        let x = floats(width, call);
        values(&(0..40).fold(x, |x, _| kept((x * 1.01).sin())))
    };
    let expected: Vec<Vec<f32>> = (0..4).map(expected).collect();
    let calls = often(200);
    drop(by_lane(&floats(width, 0)));
    std::thread::scope(|scope| {
        for first in 0..3 {
            let expected = &expected;
            scope.spawn(move || {
                for call in first..first + calls {
                    assert_eq!(values(&by_lane(&floats(width, call % 4))), expected[call % 4]);
                }
            });
        }
    });
}

#[freeze(limit = 100)]
fn two_widths(x: &Float, y: &Float, z: &Float) -> (Float, Float, Float) {
    (kept(expensive(x)), kept(expensive(y)), kept(expensive(z)))
}

fn expensive(x: &Float) -> Float {
    (0..6).fold(x.clone(), |x, _| (x * 1.01).sin())
}

#[test]
fn kernels_of_different_widths_are_in_different_tiles() {
    for (first, second, third) in
        [(9000, 30_000, 9000), (30_000, 9000, 9001), (20_000, 20_000, 40_000), (40_000, 128, 40_000)]
    {
        for call in 0..4 {
            let [x, y, z] = [first, second, third].map(|width| floats(width, call + width));
            let (a, b, c) = two_widths(&x, &y, &z);
            for (input, result) in [(x, a), (y, b), (z, c)] {
                let (got, expected) = (values(&result), values(&expensive(&input)));
                let same = got.iter().zip(&expected).position(|(a, b)| a.to_bits() != b.to_bits());
                assert_eq!((got.len(), same), (expected.len(), None), "{first}, {second}, {third}, call {call}");
            }
        }
    }
}

/// So many short kernels that dividing them is worthwhile, and each so short that replays run them on the calling
/// thread.
#[freeze(limit = 100)]
fn interleaved(x: &Float, y: &Float) -> (Float, Float) {
    steps(x, y)
}

fn steps(x: &Float, y: &Float) -> (Float, Float) {
    (0..30).fold((x.clone(), y.clone()), |(x, y), _| (kept((x * 1.01).sin()), kept((y * 1.01).sin())))
}

#[test]
fn short_kernels_of_two_widths_are_in_different_tiles() {
    for (first, second) in [(4096, 1500), (1500, 4096), (3000, 3001)] {
        // The first replays measure how long the kernels take.
        for call in 0..12 {
            let (x, y) = (floats(first, call), floats(second, call + 1));
            let ((a, b), (c, d)) = (interleaved(&x, &y), steps(&x, &y));
            assert!(values(&a) == values(&c) && values(&b) == values(&d), "{first} and {second}, call {call}");
        }
    }
}
