//! Reductions, prefix reductions, compression and sorting of arrays.

use jit::prelude::*;

use crate::{message_of, noise, on_each_device, resident};

#[test]
fn reductions_of_nothing_have_values() {
    on_each_device(|| {
        let (numbers, flags) = (Float::from(Vec::new()), Mask::from(Vec::new()));
        assert!(flags.all().item().unwrap());
        assert!(!flags.any().item().unwrap());
        assert_eq!(flags.count().item().unwrap(), 0);
        assert_eq!(numbers.sum().item().unwrap(), 0.0);
        assert_eq!(numbers.product().item().unwrap(), 1.0);
        assert_eq!(numbers.reduce_min().item().unwrap(), f32::INFINITY);
        assert_eq!(numbers.reduce_max().item().unwrap(), f32::NEG_INFINITY);
        assert_eq!(UInt::from(Vec::new()).reduce_max().item().unwrap(), 0);
        assert_eq!(Int::from(Vec::new()).reduce_min().item().unwrap(), i32::MAX);
        assert!(numbers.mean().item().unwrap().is_nan());
        assert_eq!(numbers.dot(&numbers).item().unwrap(), 0.0);
        let message = message_of(|| numbers.argmin());
        assert!(message.contains("without elements"), "{message}");
    });
}

#[test]
fn an_array_of_several_elements_is_no_item() {
    on_each_device(|| {
        let error = Mask::from([true, false]).item().unwrap_err().to_string();
        assert!(error.contains("width 2"), "{error}");
    });
}

#[test]
fn nan_is_kept_by_minimum_and_maximum() {
    on_each_device(|| {
        for values in [[1.0, f32::NAN, 2.0], [f32::NAN, 1.0, 0.0], [3.0, 1.0, f32::NAN]] {
            let x = resident(values);
            assert!(x.reduce_max().item().unwrap().is_nan());
            assert!(x.reduce_min().item().unwrap().is_nan());
        }
    });
}

#[test]
fn minimum_and_maximum_promote() {
    on_each_device(|| {
        let (x, i) = (resident([1.5_f32, -2.5]), resident([2, -9]));
        assert_eq!(x.max(&i).to_vec().unwrap(), [2.0, -2.5]);
        assert_eq!(x.min(&i).to_vec().unwrap(), [1.5, -9.0]);
        let wide: Int64 = resident([1_i64 << 40, 0]).max(&i);
        assert_eq!(wide.to_vec().unwrap(), [1 << 40, 0]);
    });
}

#[test]
fn dot_products() {
    on_each_device(|| {
        let x = resident([1.0_f32, 2.0, 4.0]);
        assert_eq!(x.dot(&x).item().unwrap(), 21.0);
        assert_eq!(x.dot(&resident([2.0])).item().unwrap(), 14.0);
        assert_eq!(x.dot(1.0).item().unwrap(), 7.0);
        let message = message_of(|| x.dot(&resident([1.0, 2.0])));
        assert!(message.contains("width 3 and 2"), "{message}");
    });
}

#[test]
fn norms_and_variances() {
    on_each_device(|| {
        let x = resident([3.0_f64, -4.0, 0.0, 12.0]);
        assert_eq!(x.norm().item().unwrap(), 13.0);
        assert_eq!(x.squared_norm().item().unwrap(), 169.0);
        let mean = 11.0 / 4.0;
        let squares: f64 = [3.0, -4.0, 0.0, 12.0_f64].iter().map(|x| (x - mean) * (x - mean)).sum();
        assert!((x.variance().item().unwrap() - squares / 4.0).abs() < 1e-12);
        assert!((x.std().item().unwrap() - (squares / 4.0).sqrt()).abs() < 1e-12);
        assert_eq!(Float::full(2.5, 7).variance().item().unwrap(), 0.0);
    });
}

#[test]
fn true_lanes_are_counted() {
    on_each_device(|| {
        let count: UInt = (UInt::arange(1001) % 3).eq(0).count();
        assert_eq!(count.item().unwrap(), 334);
    });
}

#[test]
fn one_lane_decides_all_and_any() {
    on_each_device(|| {
        for lanes in 1..=100_usize {
            let flipped = lanes * 7 % lanes.max(1);
            let is_flipped = UInt::arange(lanes).eq(flipped as u32);
            jit::eval(&is_flipped).unwrap();
            assert!(is_flipped.any().item().unwrap());
            assert_eq!((!&is_flipped).any().item().unwrap(), lanes > 1);
            assert!(!(!&is_flipped).all().item().unwrap());
            assert!((&is_flipped | !&is_flipped).all().item().unwrap());
        }
    });
}

#[test]
fn values_are_clamped() {
    on_each_device(|| {
        let x = resident([-1.0_f32, 0.25, 7.0, f32::NAN]);
        let clamped = x.clamp(0.0, 1.0).to_vec().unwrap();
        assert_eq!(clamped[..3], [0.0, 0.25, 1.0]);
        assert!(clamped[3].is_nan());
        assert_eq!(resident([5_u8, 100, 200]).clamp(10, 150).to_vec().unwrap(), [10, 100, 150]);
        assert_eq!(Float::from(0.5).clamp(1.0, 0.0).item().unwrap(), 0.0);
    });
}

#[test]
fn the_first_extreme_element_is_found() {
    on_each_device(|| {
        let x = resident([3, -7, 9, -7, 9]);
        assert_eq!(x.argmin().item().unwrap(), 1);
        assert_eq!(x.argmax().item().unwrap(), 2);
        let u = resident([2_u64, u64::MAX, 0, u64::MAX, 0]);
        assert_eq!((u.argmin().item().unwrap(), u.argmax().item().unwrap()), (2, 1));
        let f = resident([0.5_f32, -0.5, 2.5]);
        assert_eq!((f.argmin().item().unwrap(), f.argmax().item().unwrap()), (1, 2));
        let large = (UInt::arange(100_003) * 7919) % 100_003;
        assert_eq!(large.argmin().item().unwrap(), 0);
        let expected = (0..100_003_u64).find(|i| (i * 7919) as u32 % 100_003 == 100_002).map(|i| i as u32);
        if let Some(expected) = expected {
            assert_eq!(large.argmax().item().unwrap(), expected);
        }
    });
}

#[test]
fn blocks_are_summed() {
    on_each_device(|| {
        let x = resident([1_u32, 2, 3, 4, 5, 6]);
        let expected: [&[u32]; 6] = [&[1, 2, 3, 4, 5, 6], &[3, 7, 11], &[6, 15], &[10, 11], &[15, 6], &[21]];
        for (block, expected) in (1..=6).zip(expected) {
            assert_eq!(x.block_sum(block).to_vec().unwrap(), expected);
        }
        assert_eq!(x.block_sum(100).to_vec().unwrap(), [21]);
        let message = message_of(|| x.block_sum(0));
        assert!(message.contains("block"), "{message}");
    });
}

#[test]
fn blocks_of_constants_are_reduced() {
    on_each_device(|| {
        assert_eq!(UInt::full(3, 7).block_sum(3).to_vec().unwrap(), [9, 9, 3]);
        assert_eq!(Int::full(2, 5).block_reduce(ReduceOp::Mul, 4).to_vec().unwrap(), [16, 2]);
        assert_eq!(Float::full(2.5, 5).block_reduce(ReduceOp::Max, 2).to_vec().unwrap(), [2.5; 3]);
    });
}

/// Numbers of an element type, from noise.
macro_rules! noise_of {
    ($ty:ident, $count:expr) => {
        noise($count, 11).iter().map(|&bits| (u64::from(bits) * 0x9E37_79B9_7F4A_7C15) as $ty).collect::<Vec<$ty>>()
    };
}

macro_rules! blocks {
    ($ty:ident: $sizes:expr, $blocks:expr) => {
        for size in $sizes {
            let values = noise_of!($ty, size);
            let x = Array::<$ty>::from(&values);
            for block in $blocks {
                let reduce = |op: ReduceOp, host: fn($ty, $ty) -> $ty| {
                    let expected: Vec<$ty> =
                        values.chunks(block).map(|block| block.iter().copied().reduce(host).unwrap()).collect();
                    assert_eq!(x.block_reduce(op, block).to_vec().unwrap(), expected, "{op:?} of {size} by {block}");
                };
                reduce(ReduceOp::Add, $ty::wrapping_add);
                reduce(ReduceOp::Mul, $ty::wrapping_mul);
                reduce(ReduceOp::Min, $ty::min);
                reduce(ReduceOp::Max, $ty::max);
                reduce(ReduceOp::And, |a, b| a & b);
                reduce(ReduceOp::Or, |a, b| a | b);
            }
        }
    };
}

#[test]
fn blocks_of_every_size_are_reduced() {
    on_each_device(|| {
        blocks!(u32: [1, 2, 15, 16, 17, 1000, 20_000], [1, 2, 3, 16, 63, 64, 65, 1000, 16_384, 19_999]);
        blocks!(u64: [1, 31, 64, 1025, 20_000], [1, 2, 5, 32, 100, 1024, 16_385]);
    });
}

#[test]
fn large_blocks_are_reduced() {
    jit::with_device(Device::Cpu, || blocks!(u32: [1 << 22], (0..=22).step_by(2).map(|shift| 1 << shift)));
}

#[test]
fn prefix_sums_of_arrays() {
    on_each_device(|| {
        let x = resident([1, 2, 3, 4]);
        assert_eq!(x.prefix_sum().to_vec().unwrap(), [1, 3, 6, 10]);
        assert_eq!(x.prefix_sum_exclusive().to_vec().unwrap(), [0, 1, 3, 6]);
        assert_eq!(x.prefix_reduce(ReduceOp::Mul).to_vec().unwrap(), [1, 2, 6, 24]);
        assert_eq!(Int::full(2, 4).prefix_sum().to_vec().unwrap(), [2, 4, 6, 8]);
        assert_eq!((Float::arange(3) + 0.5).prefix_sum().to_vec().unwrap(), [0.5, 2.0, 4.5]);
        assert_eq!(UInt::from(Vec::new()).prefix_sum().to_vec().unwrap(), [] as [u32; 0]);
    });
}

#[test]
fn true_lanes_are_listed() {
    on_each_device(|| {
        assert_eq!(Mask::from([true, false, false, true, true]).compress().to_vec().unwrap(), [0, 3, 4]);
        assert_eq!(resident([false, false]).compress().to_vec().unwrap(), [] as [u32; 0]);
        assert_eq!(Mask::from(Vec::new()).compress().to_vec().unwrap(), [] as [u32; 0]);
        assert_eq!(Mask::full(true, 3).compress().to_vec().unwrap(), [0, 1, 2]);
    });
}

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
    })*};
}

#[test]
fn arrays_of_every_type_are_sorted() {
    on_each_device(|| {
        sorts!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);
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

#[test]
fn medians_are_the_lower_of_two() {
    on_each_device(|| {
        assert_eq!(resident([5, 1, 9]).median().item().unwrap(), 5);
        assert_eq!(resident([4.0_f32, 1.0, 3.0, 2.0]).median().item().unwrap(), 2.0);
    });
}
