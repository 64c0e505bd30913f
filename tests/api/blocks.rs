//! Reductions of blocks.

use half::{bf16, f16};
use jit::prelude::*;

use crate::devices::on_each_device;

/// Floats whose sums reveal the order of addition, the same in every run.
fn numbers(count: usize) -> Vec<f32> {
    let number = |i: usize| ((i as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 1e5 - 80.0;
    (0..count).map(number).collect()
}

/// The sum of a block in the order that the documentation specifies for blocks of this length.
fn sum_in_order(values: &[f32], block: usize) -> f32 {
    if block <= 32 {
        return values.iter().fold(0.0, |sum, value| sum + value);
    }
    if block <= 512 {
        let (whole, left_over) = values.split_at(values.len() / 8 * 8);
        let mut sums = [0.0; 8];
        whole.iter().enumerate().for_each(|(i, value)| sums[i % 8] += value);
        left_over.iter().for_each(|value| sums[0] += value);
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
    let chunk = |values: &[f32]| {
        let mut row = [0.0; 64];
        values.iter().enumerate().for_each(|(lane, value)| row[lane % 64] += value);
        let mut half = 32;
        while half > 0 {
            (0..half).for_each(|i| row[i] += row[i + half]);
            half /= 2;
        }
        row[0]
    };
    let mut results: Vec<f32> = values.chunks(16_384).map(chunk).collect();
    while results.len() > 1 {
        results = results.chunks(2).map(|pair| pair.iter().copied().reduce(|a, b| a + b).unwrap_or_default()).collect();
    }
    results.first().copied().unwrap_or_default()
}

#[test]
fn floats_of_blocks_are_added_in_the_documented_order() {
    let values = numbers(40_000);
    on_each_device(|| {
        let x = Float::from(values.clone());
        for block in [2, 3, 7, 8, 9, 31, 32, 33, 64, 65, 200, 511, 512, 513, 10_000, 20_000, 39_999] {
            let expected: Vec<u32> = values.chunks(block).map(|values| sum_in_order(values, block).to_bits()).collect();
            let sums = x.block_sum(block).bitcast::<u32>().to_vec().unwrap();
            assert!(sums == expected, "blocks of {block}");
        }
    });
}

#[test]
fn blocks_give_the_same_bits_on_any_number_of_threads() {
    let x = Float::from(numbers(300_000));
    let _settings = crate::determinism::Settings::hold();
    let sums = |threads: usize| {
        jit::set_threads(threads);
        [5, 63, 64, 1000, 70_000].map(|block| x.exp2().block_sum(block).bitcast::<u32>().to_vec().unwrap())
    };
    assert_eq!(sums(1), sums(3));
}

/// Compares every operation of an element type with the host.
macro_rules! compare_blocks {
    ($($ty:ident)*) => {$(
        let values: Vec<$ty> = (0..777_u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 13) as $ty).collect();
        let x = Array::<$ty>::from(values.clone());
        for block in [1, 2, 5, 8, 13, 63, 64, 100, 388, 776, 777, 5000] {
            let compare = |op: ReduceOp, host: fn($ty, $ty) -> $ty| {
                let expected: Vec<$ty> =
                    values.chunks(block).filter_map(|block| block.iter().copied().reduce(host)).collect();
                assert_eq!(x.block_reduce(op, block).to_vec().unwrap(), expected, "{op:?} by {block}");
            };
            compare(ReduceOp::Add, $ty::wrapping_add);
            compare(ReduceOp::Mul, $ty::wrapping_mul);
            compare(ReduceOp::Min, $ty::min);
            compare(ReduceOp::Max, $ty::max);
            compare(ReduceOp::And, |a, b| a & b);
            compare(ReduceOp::Or, |a, b| a | b);
        }
    )*};
}

#[test]
fn blocks_of_every_integer_type_are_reduced() {
    on_each_device(|| {
        compare_blocks!(u8 i8 u16 i16 u32 i32 u64 i64);
    });
}

#[test]
fn blocks_of_floats_keep_nan_and_infinities() {
    on_each_device(|| {
        for block in [3, 70] {
            let mut values = vec![1.5_f64; 2 * block];
            values[1] = f64::NAN;
            values[block] = f64::NEG_INFINITY;
            let x = Float64::from(values);
            let least = x.block_reduce(ReduceOp::Min, block).to_vec().unwrap();
            let most = x.block_reduce(ReduceOp::Max, block).to_vec().unwrap();
            assert!(least[0].is_nan() && most[0].is_nan());
            assert_eq!((least[1], most[1]), (f64::NEG_INFINITY, 1.5));
            let product = Float64::full(0.5, 2 * block).make_opaque().block_reduce(ReduceOp::Mul, block);
            assert_eq!(product.to_vec().unwrap(), [0.5_f64.powi(block as i32); 2]);
        }
    });
}

#[test]
fn sums_of_blocks_of_halves_are_rounded_once() {
    on_each_device(|| {
        for block in [5, 1000] {
            // 2048 + 1 is 2048 in f16, and 256 + 1 is 256 in bf16.
            let mut values = vec![1.0; 2 * block];
            (values[0], values[block]) = (4000.0, 300.0);
            let x = Float::from(values);
            let (first, second) = (4000.0 + block as f32 - 1.0, 300.0 + block as f32 - 1.0);
            let half = [first, second].map(f16::from_f32);
            assert_eq!(x.cast::<f16>().block_sum(block).to_vec().unwrap(), half);
            let second = bf16::from_f32(second);
            assert_eq!(x.cast::<bf16>().block_sum(block).to_vec().unwrap()[1], second);
        }
    });
}

#[test]
fn masks_of_blocks_are_joined() {
    on_each_device(|| {
        for block in [4, 100] {
            let lane = UInt::arange(3 * block);
            let mask = lane.lt(block as u32 + 1) | lane.ge(2 * block as u32);
            assert_eq!(mask.block_reduce(ReduceOp::And, block).to_vec().unwrap(), [true, false, true]);
            assert_eq!((!mask).block_reduce(ReduceOp::Or, block).to_vec().unwrap(), [false, true, false]);
        }
    });
}

#[test]
fn edges_of_blocks() {
    on_each_device(|| {
        for block in [1, 5, 1000] {
            assert_eq!(Float::from(Vec::new()).block_sum(block).to_vec().unwrap(), [] as [f32; 0]);
            assert_eq!(Int::from(7).block_sum(block).to_vec().unwrap(), [7]);
            assert_eq!(Int::from([7]).make_opaque().block_reduce(ReduceOp::Min, block).to_vec().unwrap(), [7]);
        }
        let x = UInt::arange(10);
        assert_eq!(x.block_sum(1).to_vec().unwrap(), x.to_vec().unwrap());
        assert_eq!(x.block_sum(usize::MAX).to_vec().unwrap(), [45]);
        let zeros = Float::from([-0.0, -0.0, -0.0, -0.0]).block_sum(2).bitcast::<u32>().to_vec().unwrap();
        assert_eq!(zeros, [0, 0], "a sum of zeros is +0");
    });
}

#[test]
fn blocks_are_reduced_wherever_the_reduction_is_written() {
    /// The lanes are unrelated to the lanes of the blocks.
    #[jit]
    fn inside(lanes: &UInt, x: &UInt) -> (UInt, UInt) {
        let mut sum = lanes.zeros_like();
        let mut n = lanes.zeros_like();
        while n < lanes {
            let (short, long) = (x.block_sum(3), x.block_sum(100));
            if n > 1 {
                sum += short.gather(&(n % 50)) + x.block_reduce(ReduceOp::Max, 20).gather(&n);
            }
            sum += long.gather(&(n % 2));
            n += 1;
        }
        (sum, n)
    }
    on_each_device(|| {
        let (sum, _) = inside(&UInt::from([0, 1, 3]), &UInt::arange(200));
        let long = [(0..100).sum::<u32>(), (100..200).sum::<u32>()];
        let third = 6 + 7 + 8 + 59;
        assert_eq!(sum.to_vec().unwrap(), [0, long[0], 2 * long[0] + long[1] + third]);
    });
}

#[test]
fn blocks_of_what_a_loop_computes() {
    #[jit]
    fn steps(x: &UInt) -> UInt {
        let (mut x, mut n) = (x.clone(), x.zeros_like());
        while x != 1 {
            x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
            n += 1;
        }
        n
    }
    let host = |x: u32| {
        std::iter::successors(Some(x), |&x| (x != 1).then_some(if x % 2 == 0 { x / 2 } else { 3 * x + 1 })).count()
            as u32
            - 1
    };
    on_each_device(|| {
        let counts = steps(&(UInt::arange(1000) + 1));
        for block in [6, 90] {
            let expected: Vec<u32> =
                (1..=1000).map(host).collect::<Vec<_>>().chunks(block).map(|counts| counts.iter().sum()).collect();
            assert_eq!(counts.block_sum(block).to_vec().unwrap(), expected);
        }
    });
}

#[test]
fn several_divisions_of_one_array() {
    on_each_device(|| {
        let x = UInt::arange(1000) * 3;
        let results = (x.block_sum(100), x.block_reduce(ReduceOp::Max, 250), x.sum(), x.block_sum(10), &x + 1);
        jit::eval(&results).unwrap();
        let (hundreds, quarters, all, tens, next) = results;
        assert_eq!(hundreds.to_vec().unwrap(), (0..10).map(|b| 3 * (10_000 * b + 4950)).collect::<Vec<u32>>());
        assert_eq!(quarters.to_vec().unwrap(), [747, 1497, 2247, 2997]);
        assert_eq!(all.item().unwrap(), 3 * 499_500);
        assert_eq!(tens.get(1).unwrap(), 3 * 145);
        assert_eq!(next.get(999).unwrap(), 2998);
        assert_eq!(hundreds.block_sum(5).to_vec().unwrap(), [3 * 124_750, 3 * 374_750]);
    });
}

#[test]
#[should_panic(expected = "blocks of a reduction have at least one element")]
fn blocks_without_elements_are_refused() {
    let _ = Float::from([1.0, 2.0]).block_sum(0);
}

#[test]
#[should_panic(expected = "elements of type f32 cannot be combined by `or`")]
fn bits_of_blocks_of_floats_are_refused() {
    let _ = Float::from([1.0, 2.0]).block_reduce(ReduceOp::Or, 1);
}

#[test]
#[should_panic(expected = "the state of a traced loop cannot be reduced over its lanes")]
fn blocks_of_the_state_of_a_loop_are_refused() {
    #[jit]
    fn wrong(x: &Float) -> Float {
        let mut x = x.clone();
        while x < 10.0 {
            x = x.block_sum(2).sum() + &x;
        }
        x
    }
    let _ = wrong(&Float::from([1.0, 2.0, 3.0, 4.0]));
}
