//! Atomic operations with results, and scatters in traced loops.

#![allow(clippy::type_complexity, reason = "the types of targets are documented at their uses")]

use jit::prelude::*;

use crate::{noise, on_each_device, resident};

// rows: C166 C310
#[test]
fn scatter_inc_hands_out_every_slot_once() {
    on_each_device(|| {
        for bins in [2_u32, 5, 16] {
            let index: Vec<u32> = noise(10_000, bins).iter().map(|bits| (bits >> 9) % bins).collect();
            let mut counters = UInt::zeros(bins as usize);
            let slots = counters.scatter_inc(&UInt::from(&index)).to_vec().unwrap();
            let mut expected = vec![0; bins as usize];
            index.iter().for_each(|&bin| expected[bin as usize] += 1);
            assert_eq!(counters.to_vec().unwrap(), expected);
            for bin in 0..bins {
                let mut taken: Vec<u32> =
                    slots.iter().zip(&index).filter(|(_, of)| **of == bin).map(|(slot, _)| *slot).collect();
                taken.sort_unstable();
                assert!(taken.iter().copied().eq(0..expected[bin as usize]));
            }
        }
    });
}

// rows: C310 C311
#[test]
fn old_values_stay_usable() {
    on_each_device(|| {
        let mut counter = UInt::zeros(1);
        let slot = counter.scatter_inc(&UInt::zeros(100));
        let mut payload = UInt::zeros(100);
        payload.scatter(UInt::arange(100) + 1, &slot);
        let mut first = payload.to_vec().unwrap();
        first.sort_unstable();
        assert!(first.iter().copied().eq(1..=100));
        let mut again = slot.to_vec().unwrap();
        again.sort_unstable();
        assert!(again.iter().copied().eq(0..100));
        assert_eq!((slot.reduce_max() + counter).to_vec().unwrap(), [199]);
    });
}

// rows: C312
#[test]
fn masked_off_lanes_take_no_slot() {
    on_each_device(|| {
        let mut counter = UInt::zeros(1);
        let mask = (UInt::arange(64) & 1).eq(1);
        let slot = counter.scatter_inc_masked(&UInt::zeros(64), &mask);
        let slots = slot.to_vec().unwrap();
        assert_eq!(counter.item().unwrap(), 32);
        assert!(slots.iter().step_by(2).all(|&slot| slot == 0));
        let none = counter.scatter_inc_masked(&UInt::zeros(64), &Mask::from(false));
        assert_eq!(none.len(), 64);
        assert_eq!(counter.item().unwrap(), 32);
    });
}

// rows: C203 C204
#[test]
fn an_exchange_returns_the_old_element() {
    on_each_device(|| {
        let mut target = resident([1.5_f32, 2.5, 3.5, 4.5]);
        let old = target.scatter_exchange(Float::from([10.0, 20.0]), &UInt::from([3, 1]));
        assert_eq!(old.to_vec().unwrap(), [4.5, 2.5]);
        assert_eq!(target.to_vec().unwrap(), [1.5, 20.0, 3.5, 10.0]);
        let mask = Mask::from([true, false, false]);
        let old = target.scatter_exchange_masked(0.0, &UInt::from([0, 1, 99]), &mask);
        assert_eq!(old.to_vec().unwrap(), [1.5, 0.0, 0.0]);
        assert_eq!(target.to_vec().unwrap(), [0.0, 20.0, 3.5, 10.0]);
    });
}

// rows: C200 C201
#[test]
fn compare_and_swap_returns_the_old_value() {
    on_each_device(|| {
        let mut target = resident([5_u32, 6, 7, 8]);
        let index = UInt::from([0, 2, 3]);
        let (old, swapped) = target.scatter_cas(UInt::from([5, 0, 8]), UInt::from([50, 70, 80]), &index);
        assert_eq!(old.to_vec().unwrap(), [5, 7, 8]);
        assert_eq!(swapped.to_vec().unwrap(), [true, false, true]);
        assert_eq!(target.to_vec().unwrap(), [50, 6, 7, 80]);
        let mask = Mask::from([true, true, false]);
        let (old, swapped) = target.scatter_cas_masked(UInt::from([50, 7, 80]), 1, &index, &mask);
        assert_eq!(old.to_vec().unwrap(), [50, 7, 0]);
        assert_eq!(swapped.to_vec().unwrap(), [true, true, false]);
        assert_eq!(target.to_vec().unwrap(), [1, 6, 1, 80]);
    });
}

#[jit]
fn take_slot(counter: &mut UInt, locks: &mut UInt, lane: UInt) -> (UInt, UInt, Mask) {
    let slot = counter.scatter_inc(&UInt::zeros(lane.width()));
    let before = locks.scatter_exchange(1, &(lane % 4));
    let (_, won) = locks.scatter_cas(1, 2, &(lane % 4));
    (slot, before, won)
}

// rows: C202 C205
#[test]
fn atomics_in_called_functions_keep_to_their_buffer() {
    on_each_device(|| {
        let [mut a, mut b] = [UInt::zeros(1), UInt::full(100, 1)];
        let [mut locks_a, mut locks_b] = [UInt::zeros(4), UInt::zeros(4)];
        let (slots_a, _, won_a) = take_slot(&mut a, &mut locks_a, UInt::arange(4));
        let (slots_b, before_b, _) = take_slot(&mut b, &mut locks_b, UInt::arange(4));
        assert_eq!(slots_a.sum().item().unwrap(), 6);
        assert_eq!(slots_b.sum().item().unwrap(), 406);
        assert_eq!(before_b.to_vec().unwrap(), [0; 4]);
        assert_eq!(won_a.count().item().unwrap(), 4);
        assert_eq!(locks_a.to_vec().unwrap(), [2; 4]);
        assert_eq!((a.item().unwrap(), b.item().unwrap()), (4, 104));
        let (first, second) = (resident([1_u32, 2]), resident([10_u32, 20]));
        let (index, place) = (resident([0_u32, 1, 0, 1]), UInt::from([0, 0, 1, 1]));
        let targets: [fn(UInt, UInt, UInt) -> (UInt, UInt, UInt); 2] = [exchange_first, exchange_second];
        let (old, first, second) = jit::switch(&index, &targets, (place, first, second));
        assert_eq!(old.to_vec().unwrap(), [1, 10, 2, 20]);
        assert_eq!((first.to_vec().unwrap(), second.to_vec().unwrap()), (vec![7, 7], vec![8, 8]));
    });
}

fn exchange_first(place: UInt, mut first: UInt, second: UInt) -> (UInt, UInt, UInt) {
    (first.scatter_exchange(7, &place), first, second)
}

fn exchange_second(place: UInt, first: UInt, mut second: UInt) -> (UInt, UInt, UInt) {
    (second.scatter_exchange(8, &place), first, second)
}

#[jit]
fn count_digits(values: &UInt, counts: &mut UInt) {
    let mut rest = values.clone();
    while rest > 0 {
        counts.scatter_add(1, &(rest % 10));
        rest /= 10;
    }
}

// rows: C193
#[test]
fn a_scatter_in_a_loop_happens_in_each_iteration() {
    on_each_device(|| {
        let mut counts = UInt::zeros(10);
        count_digits(&UInt::from([1002, 7, 0, 77_123]), &mut counts);
        assert_eq!(counts.to_vec().unwrap(), [2, 2, 2, 1, 0, 0, 0, 3, 0, 0]);
    });
}
