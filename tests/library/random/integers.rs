//! Whole numbers in ranges, also in those that do not divide words of 32 or 64 bits evenly.

use jit::prelude::*;
use jit::random::rng;

use super::statistics::assert_equally_frequent;
use crate::devices::on_each_device;

#[test]
fn every_number_of_a_range_is_equally_frequent() {
    on_each_device(|| {
        let mut rng = rng(1);
        let die: UInt = rng.integers(1..=6, 6000);
        assert_equally_frequent(die.to_vec().unwrap().iter().map(|x| *x as usize - 1), 6);
        let signed: Int8 = rng.integers(-100..100, 20_000);
        assert_equally_frequent(signed.to_vec().unwrap().iter().map(|x| (i32::from(*x) + 100) as usize), 200);
        let bytes: UInt8 = rng.integers(.., 20_000);
        assert_equally_frequent(bytes.to_vec().unwrap().iter().map(|x| usize::from(*x)), 256);
        let powers: Int16 = rng.integers(-1024..1024, 20_000);
        assert_equally_frequent(powers.to_vec().unwrap().iter().map(|x| (i32::from(*x) + 1024) as usize / 8), 256);
    });
}

#[test]
fn ranges_that_divide_no_power_of_two_have_no_bias() {
    on_each_device(|| {
        let mut rng = rng(2);
        // Three quarters of all words: a remainder would make the first third twice as frequent, a product every third
        // number.
        let (size, count) = (3_u32 << 30, 12_000);
        let x: UInt = rng.integers(0..size, count);
        let x = x.to_vec().unwrap();
        assert_equally_frequent(x.iter().map(|x| (x >> 30) as usize), 3);
        assert_equally_frequent(x.iter().map(|x| (x % 3) as usize), 3);
        let x: UInt64 = rng.integers(0..3_u64 << 62, count);
        let x = x.to_vec().unwrap();
        assert_equally_frequent(x.iter().map(|x| (x >> 62) as usize), 3);
        assert_equally_frequent(x.iter().map(|x| (x % 3) as usize), 3);
        // Half of all words plus one: the maximum number is rejected.
        let x: Int = rng.integers(i32::MIN..=0, count);
        let x = x.to_vec().unwrap();
        assert!(x.iter().all(|x| *x <= 0));
        assert_equally_frequent(x.iter().map(|x| (-(i64::from(*x)) >> 24).min(127) as usize), 128);
    });
}

#[test]
fn ranges_may_be_as_wide_as_the_type_and_as_narrow_as_one_number() {
    let mut rng = rng(3);
    let x: Int64 = rng.integers(.., 4096);
    assert_equally_frequent(x.to_vec().unwrap().iter().map(|x| ((x >> 58) + 32) as usize), 64);
    let x: UInt = rng.integers(.., 4096);
    assert_equally_frequent(x.to_vec().unwrap().iter().map(|x| (x >> 26) as usize), 64);
    let x: UInt64 = rng.integers(u64::MAX - 63.., 4096);
    assert_equally_frequent(x.to_vec().unwrap().iter().map(|x| (u64::MAX - x) as usize), 64);
    let x: Int64 = rng.integers(-(1 << 40)..1 << 40, 4096);
    assert_equally_frequent(x.to_vec().unwrap().iter().map(|x| ((x + (1 << 40)) >> 35) as usize), 64);
    let x: Int = rng.integers(-5..=-5, 3);
    assert_eq!(x.to_vec().unwrap(), [-5; 3]);
    let x: UInt64 = rng.integers(u64::MAX..=u64::MAX, 2);
    assert_eq!(x.to_vec().unwrap(), [u64::MAX; 2]);
}

#[test]
#[should_panic(expected = "cannot draw random numbers from an empty range: there are none from 3 to 2")]
fn empty_ranges_are_refused() {
    drop(rng(0).integers::<i32>(3..3, 10));
}

#[test]
fn bounds_may_differ_from_lane_to_lane() {
    on_each_device(|| {
        let mut rng = rng(4);
        let count = 4000;
        let lane = UInt::arange(count);
        let (low, high) = ((&lane % 4).cast::<i32>() - 2, (&lane % 4).cast::<i32>() * 3 + 1);
        let x = rng.integers_between(&low, &high, count).to_vec().unwrap();
        for (kind, (low, high)) in [(-2, 1), (-1, 4), (0, 7), (1, 10)].into_iter().enumerate() {
            let x = x.iter().skip(kind).step_by(4);
            assert_equally_frequent(x.map(|x| usize::try_from(x - low).unwrap()), (high - low) as usize);
        }
        let none = rng.integers_between(Int::from([5, 5, i32::MIN]), Int::from([5, 4, i32::MAX]), 3).to_vec().unwrap();
        assert_eq!(none[..2], [5, 5]);
        let wide = rng.integers_between(UInt64::from(1 << 63), u64::MAX, 100).to_vec().unwrap();
        assert!(wide.iter().all(|x| *x >= 1 << 63 && *x < u64::MAX));
    });
}
