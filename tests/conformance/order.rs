//! Listing true lanes, sorting, and prefix reductions of blocks.

use half::{bf16, f16};
use jit::prelude::*;

use crate::{message_of, noise, on_each_device, resident};

/// Numbers of an element type, from noise.
macro_rules! noise_of {
    ($ty:ident, $count:expr) => {
        noise($count, 11)
            .iter()
            .map(|&bits| u64::from(bits).wrapping_mul(0x9E37_79B9_7F4A_7C15) as $ty)
            .collect::<Vec<$ty>>()
    };
}

// rows: C222
#[test]
fn true_lanes_are_listed() {
    on_each_device(|| {
        assert_eq!(Mask::from([true, false, false, true, true]).compress().to_vec().unwrap(), [0, 3, 4]);
        assert_eq!(resident([false, false]).compress().to_vec().unwrap(), [] as [u32; 0]);
        assert_eq!(Mask::from(Vec::new()).compress().to_vec().unwrap(), [] as [u32; 0]);
        assert_eq!(Mask::full(true, 3).compress().to_vec().unwrap(), [0, 1, 2]);
    });
}

// rows: C223 C293
#[test]
fn true_lanes_are_listed_over_block_borders() {
    on_each_device(|| {
        for size in [1, 63, 64, 65, 4095, 4096, 4097, 100_000] {
            let random = noise(size, 5);
            for density in [0, 1, 50, 99, 100] {
                let flags: Vec<bool> = random.iter().map(|bits| bits % 100 < density).collect();
                let expected: Vec<u32> = (0..size as u32).filter(|&lane| flags[lane as usize]).collect();
                assert_eq!(Mask::from(&flags).compress().to_vec().unwrap(), expected, "{size} at {density} %");
            }
        }
    });
}

#[test]
fn elements_and_trees_are_filtered() {
    on_each_device(|| {
        let x = resident([3, -1, 4, -1, 5]);
        let mask = x.gt(0);
        assert_eq!(x.filter(&mask).to_vec().unwrap(), [3, 4, 5]);
        assert_eq!(x.filter(&Mask::from(true)).to_vec().unwrap(), [3, -1, 4, -1, 5]);
        assert_eq!(Int::from(7).filter(&mask).to_vec().unwrap(), [7, 7, 7]);
        assert_eq!(x.filter(&Mask::from(false)).len(), 0);
        let (a, b, c) = jit::trees::filter(&(x.clone(), x.cast::<f32>() * 0.5, Int::from(1)), &mask);
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![3, 4, 5], vec![1.5, 2.0, 2.5]));
        assert_eq!(c.to_vec().unwrap(), [1, 1, 1]);
        let error = Mask::placeholder(3).try_compress().unwrap_err().to_string();
        assert!(error.contains("placeholder"), "{error}");
    });
}

macro_rules! sorts {
    ($($ty:ident),*) => {$({
        let mut values = noise_of!($ty, 500);
        values.extend([$ty::MIN, $ty::MAX, 0 as $ty, 1 as $ty, $ty::MAX, $ty::MIN]);
        let x = Array::<$ty>::from(&values);
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_by(|&a, &b| values[a as usize].partial_cmp(&values[b as usize]).unwrap());
        let sorted: Vec<$ty> = order.iter().map(|&i| values[i as usize]).collect();
        assert_eq!(x.sort().to_vec().unwrap(), sorted);
        assert_eq!(x.argsort().to_vec().unwrap(), order);
        let descending: Vec<$ty> = sorted.iter().rev().copied().collect();
        assert_eq!(x.sort_descending().to_vec().unwrap(), descending);
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_by(|&a, &b| values[b as usize].partial_cmp(&values[a as usize]).unwrap());
        assert_eq!(x.argsort_descending().to_vec().unwrap(), order);
    })*};
}

/// Halves, which have no literals.
macro_rules! sorts_of_halves {
    ($($ty:ident),*) => {$({
        let mut values: Vec<$ty> =
            noise(500, 9).iter().map(|bits| $ty::from_f32((bits >> 20) as f32 - 2047.5)).collect();
        values.extend([$ty::MIN, $ty::MAX, $ty::INFINITY, $ty::NEG_INFINITY, $ty::MAX, $ty::MIN]);
        let x = Array::<$ty>::from(&values);
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_by(|&a, &b| values[a as usize].partial_cmp(&values[b as usize]).unwrap());
        let sorted: Vec<$ty> = order.iter().map(|&i| values[i as usize]).collect();
        assert_eq!((x.sort().to_vec().unwrap(), x.argsort().to_vec().unwrap()), (sorted, order.clone()));
        order.sort_by(|&a, &b| values[b as usize].partial_cmp(&values[a as usize]).unwrap().then(a.cmp(&b)));
        let sorted: Vec<$ty> = order.iter().map(|&i| values[i as usize]).collect();
        assert_eq!((x.sort_descending().to_vec().unwrap(), x.argsort_descending().to_vec().unwrap()), (sorted, order));
    })*};
}

// rows: C234
#[test]
fn arrays_of_every_type_are_sorted() {
    on_each_device(|| {
        sorts!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);
        sorts_of_halves!(f16, bf16);
        let x = resident([f32::NAN, 1.0, f32::NEG_INFINITY, -1.0]);
        let sorted = x.sort().to_vec().unwrap();
        assert_eq!(sorted[..3], [f32::NEG_INFINITY, -1.0, 1.0]);
        assert!(sorted[3].is_nan());
        assert_eq!(resident([0.0_f32, -0.0]).sort().to_vec().unwrap().map_bits(), [0x8000_0000, 0]);
    });
}

/// The bits of floats.
trait Bits {
    fn map_bits(self) -> Vec<u32>;
}

impl Bits for Vec<f32> {
    fn map_bits(self) -> Vec<u32> {
        self.into_iter().map(f32::to_bits).collect()
    }
}

// rows: C236
#[test]
fn many_elements_are_sorted() {
    on_each_device(|| {
        for size in [0, 1, 2, 1000, 16_385, 100_003] {
            let values = noise(size, 21);
            let mut expected = values.clone();
            expected.sort_unstable();
            assert_eq!(UInt::from(&values).sort().to_vec().unwrap(), expected);
            let wide: Vec<u64> = values.iter().map(|&x| u64::from(x) << 31).collect();
            assert_eq!(UInt64::from(&wide).sort().to_vec().unwrap().len(), size);
        }
    });
}

// rows: C294
#[test]
fn sorting_by_key_groups_stably() {
    on_each_device(|| {
        for buckets in [1_u32, 2, 10, 1000] {
            let keys: Vec<u32> = noise(5000, 3).iter().map(|bits| bits % buckets).collect();
            let order = UInt::from(&keys).argsort().to_vec().unwrap();
            let mut expected: Vec<u32> = (0..5000).collect();
            expected.sort_by_key(|&lane| keys[lane as usize]);
            assert_eq!(order, expected);
        }
    });
}

// rows: C239
#[test]
fn medians_are_the_lower_of_two() {
    on_each_device(|| {
        assert_eq!(resident([5, 1, 9]).median().item().unwrap(), 5);
        assert_eq!(resident([4.0_f32, 1.0, 3.0, 2.0]).median().item().unwrap(), 2.0);
    });
}

#[test]
fn values_without_an_order_of_their_own_are_sorted() {
    on_each_device(|| {
        let mask = resident([true, false, true, false]);
        assert_eq!(mask.sort().to_vec().unwrap(), [false, false, true, true]);
        assert_eq!(mask.argsort().to_vec().unwrap(), [1, 3, 0, 2]);
        assert_eq!(mask.argsort_descending().to_vec().unwrap(), [0, 2, 1, 3]);
        let halves = resident([2.0, -1.0, f32::NAN, 0.5]).cast::<half::f16>();
        assert_eq!(halves.argsort().to_vec().unwrap(), [1, 3, 0, 2]);
        assert_eq!(Float::full(2.0, 3).argsort().to_vec().unwrap(), [0, 1, 2]);
        assert_eq!(
            Float::full(2.0, 5).argsort_with(Sorting::ascending().per_block(3)).to_vec().unwrap(),
            [0, 1, 2, 0, 1]
        );
        assert_eq!(Float::from(2.0).sort().to_vec().unwrap(), [2.0]);
    });
}

#[test]
fn the_median_of_nan_is_nan() {
    on_each_device(|| {
        assert!(resident([1.0_f32, f32::NAN, 2.0]).median().item().unwrap().is_nan());
        let message = message_of(|| Int::zeros(0).median());
        assert!(message.contains("no median"), "{message}");
    });
}

#[test]
fn different_elements_are_found() {
    on_each_device(|| {
        let values: Vec<i32> = noise(3000, 8).iter().map(|bits| (bits % 37) as i32 - 20).collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        expected.dedup();
        let unique = Int::from(&values).unique_all();
        assert_eq!(unique.values.to_vec().unwrap(), expected);
        assert_eq!(Int::from(&values).unique().to_vec().unwrap(), expected);
        assert_eq!(unique.values.gather(&unique.inverse).to_vec().unwrap(), values);
        let count = |wanted: &i32| values.iter().filter(|value| *value == wanted).count() as u32;
        assert_eq!(unique.counts.to_vec().unwrap(), expected.iter().map(count).collect::<Vec<_>>());
        let first = |wanted: &i32| values.iter().position(|value| value == wanted).unwrap() as u32;
        assert_eq!(unique.first.to_vec().unwrap(), expected.iter().map(first).collect::<Vec<_>>());
        let floats = resident([f32::NAN, 0.0, -0.0, -f32::NAN, 1.0]).unique().to_vec().unwrap();
        assert_eq!((floats.len(), floats[0].to_bits(), floats[1]), (3, 0x8000_0000, 1.0));
        assert_eq!(resident([true, true]).unique().to_vec().unwrap(), [true]);
        assert_eq!(Int::zeros(0).unique().len(), 0);
        assert_eq!(Int::full(4, 3).unique_all().counts.to_vec().unwrap(), [3]);
        assert_eq!(Int::zeros(0).unique_all().inverse.len(), 0);
    });
}

#[test]
fn values_are_sorted_by_keys() {
    on_each_device(|| {
        let keys = resident([3, 1, 2, 1]);
        let (a, b) = jit::trees::sort_by_key(&(resident([0, 1, 2, 3]), Float::from(2.0)), &keys);
        assert_eq!(a.to_vec().unwrap(), [1, 3, 2, 0]);
        assert_eq!(b.to_vec().unwrap(), [2.0; 4]);
        assert_eq!(resident([0, 1, 2, 3]).sort_by_key(&keys).to_vec().unwrap(), [1, 3, 2, 0]);
        let message = message_of(|| resident([1, 2]).sort_by_key(&keys));
        assert!(message.contains("width 2 and 4"), "{message}");
    });
}
