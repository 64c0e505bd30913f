//! Random orders of arrays, and samples of their elements.

use jit::prelude::*;
use jit::random::{Generator, rng};

use super::statistics::{assert_equally_frequent, assert_uncorrelated};
use crate::devices::on_each_device;

/// Checks that each number below the length occurs once.
#[track_caller]
fn assert_permutation(order: &[u32]) {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    assert!(sorted.iter().enumerate().all(|(i, &place)| i == place as usize), "no permutation: {order:?}");
}

fn permutation(rng: &mut Generator, size: usize) -> Vec<u32> {
    rng.permutation(size).to_vec().unwrap()
}

// rows: C237
#[test]
fn permutations_are_reproducible() {
    on_each_device(|| {
        for size in (0..40).chain([63, 64, 65, 128, 129, 1000, 1023, 1024, 1025, 10_007]) {
            let order = permutation(&mut rng(5), size);
            assert_eq!(order.len(), size);
            assert_permutation(&order);
            assert_eq!(order, permutation(&mut rng(5), size));
        }
    });
    let draw = || permutation(&mut rng(11), 5000);
    assert_eq!(jit::with_device(Device::Interpreter, draw), draw());
    // The values of the numbers are part of the interface.
    assert_eq!(permutation(&mut rng(0), 10), FIRST_OF_SEED_0);
}

/// The tests above check that it is a permutation. This one checks that it is a fixed one, so that programs retain
/// their results.
const FIRST_OF_SEED_0: [u32; 10] = [9, 5, 6, 1, 7, 8, 4, 3, 0, 2];

#[test]
fn large_permutations_reach_every_element() {
    for size in [1_000_000, (1 << 20) + 1] {
        let mut found = UInt8::zeros(size);
        found.scatter_add(1, &rng(1).permutation(size));
        assert!(found.eq(1).all().item().unwrap());
    }
}

/// The lexicographic rank of an order among all of its length.
fn rank(order: &[u32]) -> usize {
    order.iter().enumerate().fold(0, |rank, (i, place)| {
        let smaller_after = order[i + 1..].iter().filter(|&after| after < place).count();
        rank * (order.len() - i) + smaller_after
    })
}

#[test]
fn all_orders_are_equally_frequent() {
    for (size, orders) in [(2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
        let mut rng = rng(size as u64);
        let ranks = (0..orders * 20).map(|_| rank(&permutation(&mut rng, size)));
        assert_equally_frequent(ranks, orders);
    }
}

#[test]
fn odd_and_even_permutations_are_equally_frequent() {
    // Without care a grid with an odd number of columns and rows returns only even ones.
    for size in [9, 25, 49] {
        let mut rng = rng(1);
        let parities = (0..400).map(|_| {
            let order = permutation(&mut rng, size);
            let inversions = (0..size).map(|i| order[i + 1..].iter().filter(|&after| *after < order[i]).count());
            inversions.sum::<usize>() % 2
        });
        assert_equally_frequent(parities, 2);
    }
}

#[test]
fn elements_go_anywhere_and_neighbours_part() {
    let size = 64;
    let mut rng = rng(8);
    let orders: Vec<_> = (0..600).map(|_| permutation(&mut rng, size)).collect();
    for lane in [0, 1, 31, 63] {
        assert_equally_frequent(orders.iter().map(|order| order[lane] as usize), size);
    }
    // The distance of neighbours, around the ring, is any except 0.
    for lane in [0, 7, 8, 62] {
        let distances = orders.iter().map(|order| (order[lane + 1] + 64 - order[lane]) as usize % 64 - 1);
        assert_equally_frequent(distances, size - 1);
    }
}

#[test]
fn seeds_calls_and_lanes_are_independent() {
    let draw = |rng: &mut Generator| -> Vec<f64> { permutation(rng, 5000).into_iter().map(f64::from).collect() };
    let mut original = rng(3);
    let columns = [draw(&mut original), draw(&mut original), draw(&mut original.split()), draw(&mut rng(4))];
    let place: Vec<f64> = (0..5000).map(f64::from).collect();
    for (i, column) in columns.iter().enumerate() {
        assert_uncorrelated(column, &place);
        assert_uncorrelated(&column[1..], &column[..4999]);
        columns[..i].iter().for_each(|before| assert_uncorrelated(column, before));
    }
}

#[test]
fn shuffles_keep_the_elements() {
    on_each_device(|| {
        let values = Float::linspace(-1.0, 1.0, 333);
        let shuffled = rng(2).shuffle(&values).to_vec().unwrap();
        let order = permutation(&mut rng(2), 333);
        let wanted = values.to_vec().unwrap();
        assert!(shuffled.iter().zip(&order).all(|(value, &place)| *value == wanted[place as usize]));
        assert_eq!(rng(2).shuffle(&Mask::from(vec![])).len(), 0);
        assert_eq!(rng(2).shuffle(&Half::full(half::f16::ONE, 3)).to_vec().unwrap(), [half::f16::ONE; 3]);
    });
}

#[test]
fn samples_take_no_element_twice() {
    on_each_device(|| {
        let from = Int::arange(1000) - 500;
        let sample = rng(4).sample(&from, 40).to_vec().unwrap();
        // The beginning of the shuffled array.
        assert_eq!(sample, rng(4).shuffle(&from).to_vec().unwrap()[..40]);
        assert_eq!(rng(4).sample(&from, 0).len(), 0);
        assert_eq!(rng(4).sample(&from, 1000).sum().item().unwrap(), -500);
    });
    let mut rng = rng(6);
    let hands = (0..500).flat_map(|_| rng.sample(&UInt::arange(20), 5).to_vec().unwrap());
    assert_equally_frequent(hands.map(|card| card as usize), 20);
}

#[test]
#[should_panic(expected = "cannot draw 4 elements without replacement from an array of 3")]
fn samples_larger_than_the_array_are_refused() {
    drop(rng(0).sample(&Float::zeros(3), 4));
}

#[test]
#[should_panic(expected = "cannot make a permutation of 4294967297 numbers")]
fn permutations_beyond_32_bits_are_refused() {
    drop(rng(0).permutation((1 << 32) + 1));
}

#[test]
fn permutations_in_loops_differ_from_iteration_to_iteration() {
    #[jit]
    fn shuffled_often(values: &UInt, mut rng: Generator, times: &UInt) -> UInt {
        let (mut values, mut i) = (values.clone(), UInt::from(0));
        while i < times {
            let order = rng.permutation(values.width());
            values = order;
            i += 1;
        }
        values
    }
    on_each_device(|| {
        let mut draws = rng(9);
        let orders: Vec<_> = (0..3).map(|_| permutation(&mut draws, 50)).collect();
        for (i, order) in orders.iter().enumerate() {
            let last = shuffled_often(&UInt::zeros(50), rng(9), &UInt::opaque(i as u32 + 1)).to_vec().unwrap();
            assert_eq!(&last, order);
        }
    });
}
