//! Recordings of short kernels, which replays run one after another on the calling thread, and recordings whose kernels
//! become long: both combine lanes as the function does without a recording, to the last bit.

use jit::prelude::*;

use crate::{alike, alike_in_order, floats, frozen, indices, message_of, values};

/// More calls than it takes until the kernels are known to be short.
const CALLS: usize = 10;

fn kept<T: jit::Element>(x: Array<T>) -> Array<T> {
    jit::eval(&x).unwrap();
    x
}

fn bits(x: &Float) -> Vec<u32> {
    values(x).into_iter().map(f32::to_bits).collect()
}

#[freeze(limit = 100)]
fn reductions(x: &Float) -> (Float, Float, Float) {
    let y = kept((x * 1.1).sin());
    let sum = kept(y.sum());
    let blocks = kept((&y + &sum).block_sum(5));
    let most = kept(blocks.reduce_max());
    (sum, blocks, most)
}

#[test]
fn short_kernels_reduce_all_their_lanes() {
    // Of the longer ones, several parts are reduced, and then their results.
    for width in [40, 9000] {
        alike(frozen!(reductions), 1, || {
            (0..CALLS)
                .map(|call| {
                    let (sum, blocks, most) = reductions(&floats(width, call));
                    (bits(&sum), bits(&blocks), bits(&most))
                })
                .collect::<Vec<_>>()
        });
    }
}

#[jit]
fn halvings(n: &UInt) -> UInt {
    let (mut n, mut count) = (n.clone(), n.zeros_like());
    #[max_iterations(5)]
    while n > 1 {
        n /= 2;
        count += 1;
    }
    count
}

#[freeze]
fn frozen_halvings(n: &UInt) -> UInt {
    kept(halvings(&kept(n + 1)))
}

#[test]
fn short_kernels_report_their_errors() {
    for call in 0..CALLS as u32 {
        assert_eq!(values(&frozen_halvings(&UInt::from([call, 3, 30]))), [(call + 1).ilog2(), 2, 4]);
    }
    let message = message_of(|| frozen_halvings(&UInt::from([1, 63, 3])).to_vec().unwrap());
    assert!(message.contains("lane 1 runs more than the 5 iterations"), "{message}");
    assert_eq!(values(&frozen_halvings(&UInt::from([7, 8, 9]))), [3, 3, 3]);
}

/// Each lane adds several times, in a loop of the kernel.
#[jit]
fn spread(x: &Float, rounds: &UInt) -> Float {
    let mut bins = Float::from([0.5, 0.25, 0.125, 0.0, 0.0]);
    let mut round = UInt::from(0);
    while round < rounds {
        bins.scatter_add(x * 1.1, &(&round % 5));
        round += 1;
    }
    bins
}

#[freeze(limit = 100)]
fn frozen_spread(x: &Float, rounds: &UInt) -> Float {
    let y = kept(x + 0.5);
    kept(spread(&y, rounds)) * 2.0
}

#[test]
fn short_kernels_that_scatter_to_private_targets_merge_them() {
    for width in [3, 40, 700] {
        alike_in_order(frozen!(frozen_spread), 1, || {
            (0..CALLS)
                .map(|call| bits(&frozen_spread(&floats(width, call), &indices(width, 9, call))))
                .collect::<Vec<_>>()
        });
    }
}

#[freeze(limit = 100)]
fn histogram(x: &Float, index: &UInt) -> Float {
    let mut bins = Float::zeros(64);
    bins.scatter_add(x * 1.1, index);
    bins
}

#[test]
fn a_histogram_of_floats_has_the_same_bits_at_every_width() {
    alike_in_order(frozen!(histogram), 1, || {
        [100, 5000, 100_000, 300_000, 100, 40_000]
            .map(|width| bits(&histogram(&floats(width, width), &indices(width, 64, width))))
    });
}

/// The number of lanes, and of elements, is known only after the first step.
#[freeze(limit = 100)]
fn histogram_of_some(x: &Float, index: &UInt) -> (Float, Float) {
    let positions = x.gt(-0.5).compress();
    let mut bins = Float::zeros(64);
    bins.scatter_add(x.gather(&positions) * 1.1, &index.gather(&positions));
    let mut others = Float::zeros(positions.width());
    others.scatter_add(x * 1.1, &(index % UInt::from(positions.width())));
    (bins, others)
}

#[test]
fn a_histogram_of_as_many_lanes_as_are_counted_has_the_same_bits_at_every_width() {
    alike_in_order(frozen!(histogram_of_some), 1, || {
        [1000, 100_000, 300_000, 5000].map(|width| {
            let (bins, others) = histogram_of_some(&floats(width, width), &indices(width, 64, width));
            (bits(&bins), bits(&others))
        })
    });
}
