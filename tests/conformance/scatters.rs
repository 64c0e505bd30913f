//! Scatters, atomics, and the arrays that they change.

use half::{bf16, f16};
use jit::prelude::*;
use jit::trees;

use crate::{message_of, noise, on_each_device, resident};

// rows: C154 C303
#[test]
fn scatters_write_where_the_mask_is_true() {
    on_each_device(|| {
        let mut target = resident([0.0_f32; 5]);
        target.scatter(Float::from([1.0, 2.0]), &UInt::from([4, 1]));
        target.scatter(7.0, &UInt::from([0, 0]));
        assert_eq!(target.to_vec().unwrap(), [7.0, 2.0, 0.0, 0.0, 1.0]);
        let mask = Mask::from([true, false, true]);
        target.scatter_masked(Float::from([3.0, 4.0, 5.0]), &Int::from([2, 99, 3]), &mask);
        assert_eq!(target.to_vec().unwrap(), [7.0, 2.0, 3.0, 5.0, 1.0]);
        target.scatter_masked(9.0, &UInt::from([0]), &Mask::from(false));
        assert_eq!(target.to_vec().unwrap(), [7.0, 2.0, 3.0, 5.0, 1.0]);
    });
}

// rows: C156 C160
#[test]
fn values_made_of_arrays_are_scattered_leaf_by_leaf() {
    on_each_device(|| {
        let mut tree = (resident([1, 2, 3]), vec![resident([0.5_f32, 1.5, 2.5])]);
        let before = tree.clone();
        let value = (Int::from([10, 20]), vec![Float::from([7.0, 8.0])]);
        trees::scatter(&mut tree, &value, &UInt::from([2, 0]));
        trees::scatter_masked(&mut tree, &value, &UInt::from([1, 99]), &Mask::from([true, false]));
        assert_eq!(tree.0.to_vec().unwrap(), [20, 10, 10]);
        assert_eq!(tree.1[0].to_vec().unwrap(), [8.0, 7.0, 7.0]);
        assert_eq!(before.0.to_vec().unwrap(), [1, 2, 3]);
        trees::scatter_reduce(&mut tree, ReduceOp::Add, &value, &UInt::from([1, 1]));
        let (index, mask) = (UInt::from([2, 99]), Mask::from([true, false]));
        trees::scatter_reduce_masked(&mut tree, ReduceOp::Max, &value, &index, &mask);
        assert_eq!(tree.0.to_vec().unwrap(), [20, 40, 10]);
        assert_eq!(tree.1[0].to_vec().unwrap(), [8.0, 22.0, 7.0]);
    });
}

// rows: C302
#[test]
fn scatters_happen_in_order() {
    on_each_device(|| {
        let mut target = UInt::zeros(6);
        let lane = UInt::arange(6);
        target.scatter(&lane, &lane);
        target.scatter(10, &UInt::from([1, 2]));
        target.scatter_add(5, &UInt::from([2, 3]));
        target.scatter(UInt::from([77]), &UInt::from([3]));
        assert_eq!(target.to_vec().unwrap(), [0, 10, 15, 77, 4, 5]);
    });
}

// rows: C304
#[test]
fn old_handles_keep_old_contents() {
    on_each_device(|| {
        let mut target = resident([1, 2, 3]);
        target.scatter(10, &UInt::from([0]));
        jit::eval(&target).unwrap();
        let copy = target.clone();
        target.scatter(20, &UInt::from([1]));
        let pending = target.gather(&UInt::from([0, 1, 2]));
        target.scatter(30, &UInt::from([2]));
        assert_eq!(target.to_vec().unwrap(), [10, 20, 30]);
        assert_eq!(copy.to_vec().unwrap(), [10, 2, 3]);
        assert_eq!(pending.to_vec().unwrap(), [10, 20, 3]);
    });
}

// rows: C305
#[test]
fn every_lane_of_a_reducing_scatter_counts() {
    on_each_device(|| {
        for lanes in [1, 15, 16, 17, 1000, 70_000] {
            let mut sum = UInt::zeros(2);
            let lane = UInt::arange(lanes);
            sum.scatter_add_masked(1, &UInt::zeros(lanes), &(&lane & 1).eq(1));
            sum.scatter_add(&lane, &UInt::ones(lanes));
            let n = lanes as u32;
            assert_eq!(sum.to_vec().unwrap(), [n / 2, (0..n).fold(0, u32::wrapping_add)]);
        }
    });
}

/// Reduces noise into bins and compares with the host.
macro_rules! reductions {
    ($bins:ident: $($ty:ident { $($op:ident $start:expr, $host:expr;)* })*) => {$(
        $({
            let values: Vec<$ty> = noise(3000, 7).iter().map(|&bits| (bits >> 7) as $ty).collect();
            let index: Vec<u32> = noise(3000, 99).iter().map(|bits| bits % $bins).collect();
            let mut target = Array::<$ty>::full($start, $bins as usize);
            target.scatter_reduce(ReduceOp::$op, &Array::from(&values), &UInt::from(&index));
            let mut expected = vec![$start; $bins as usize];
            let host: fn($ty, $ty) -> $ty = $host;
            for (&value, &bin) in values.iter().zip(&index) {
                expected[bin as usize] = host(expected[bin as usize], value);
            }
            assert_eq!(target.to_vec().unwrap(), expected, "{} of {} into {}", stringify!($op), stringify!($ty), $bins);
        })*
    )*};
}

/// Small whole numbers in this many lanes of each type are combined by each operation that floats support.
macro_rules! exact_reductions {
    ($bins:ident: $($ty:ident $lanes:expr),*) => {$({
        let [values, signs] = [7, 8].map(|seed| noise($lanes, seed));
        let small: Vec<$ty> = values.iter().map(|bits| $ty::from((bits >> 9 & 3) as i8)).collect();
        let signs: Vec<$ty> = signs.iter().map(|bits| $ty::from(if bits & 16 == 0 { 1_i8 } else { -1 })).collect();
        let index: Vec<u32> = noise($lanes, 99).iter().map(|bits| bits % $bins).collect();
        let least = |a: $ty, b: $ty| if a < b { a } else { b };
        let most = |a: $ty, b: $ty| if a > b { a } else { b };
        type Host = fn($ty, $ty) -> $ty;
        let operations: [(ReduceOp, i8, Host, &[$ty]); 4] = [
            (ReduceOp::Add, 0, |a, b| a + b, &small),
            (ReduceOp::Mul, 3, |a, b| a * b, &signs),
            (ReduceOp::Min, 2, least, &small),
            (ReduceOp::Max, 1, most, &small),
        ];
        for (op, start, host, values) in operations {
            let mut target = Array::<$ty>::full($ty::from(start), $bins as usize);
            target.scatter_reduce(op, &Array::from(values), &UInt::from(&index));
            let mut expected = vec![$ty::from(start); $bins as usize];
            for (&value, &bin) in values.iter().zip(&index) {
                expected[bin as usize] = host(expected[bin as usize], value);
            }
            assert_eq!(target.to_vec().unwrap(), expected, "{op:?} of {} into {}", stringify!($ty), $bins);
        }
    })*};
}

/// A single bin gets the result of reducing the whole array, and bins that receive one lane each get its value.
fn one_bin_and_one_lane_for_each_bin() {
    let value = UInt::from(noise(1009, 3).iter().map(|bits| bits >> 8).collect::<Vec<u32>>());
    // 1009 is prime, so each element is reached once.
    let once = UInt::arange(1009) * 57 % 1009;
    for (op, identity, whole) in [
        (ReduceOp::Add, 0, value.sum()),
        (ReduceOp::Mul, 1, value.product()),
        (ReduceOp::Min, u32::MAX, value.reduce_min()),
        (ReduceOp::Max, 0, value.reduce_max()),
        (ReduceOp::And, u32::MAX, value.reduce(ReduceOp::And)),
        (ReduceOp::Or, 0, value.reduce(ReduceOp::Or)),
    ] {
        let mut bin = UInt::full(identity, 1);
        bin.scatter_reduce(op, &value, &UInt::from(0));
        assert_eq!(bin.item().unwrap(), whole.item().unwrap(), "{op:?}");
        let mut bins = UInt::full(identity, 1009);
        bins.scatter_reduce(op, &value, &once);
        assert_eq!(bins.gather(&once).to_vec().unwrap(), value.to_vec().unwrap(), "{op:?}");
    }
}

// rows: C171
#[test]
fn reducing_scatters_agree_with_the_host() {
    on_each_device(|| {
        for bins in [1, 2, 3, 5, 10, 31, 64, 100, 317, 1000_u32] {
            reductions!(bins:
                u8 { Add 1, u8::wrapping_add; Mul 3, u8::wrapping_mul; Min 255, u8::min; Max 0, u8::max; And 255, |a,
                    b| a & b; Or 0, |a, b| a | b; }
                i8 { Add 1, i8::wrapping_add; Mul 3, i8::wrapping_mul; Min 127, i8::min; Max -128, i8::max; And -1, |a,
                    b| a & b; Or 0, |a, b| a | b; }
                u16 { Add 1, u16::wrapping_add; Mul 3, u16::wrapping_mul; Min 9999, u16::min; Max 0, u16::max;
                    And 65535, |a, b| a & b; Or 0, |a, b| a | b; }
                i16 { Add 1, i16::wrapping_add; Mul 3, i16::wrapping_mul; Min 9999, i16::min; Max -9, i16::max; And -1,
                    |a, b| a & b; Or 0, |a, b| a | b; }
                u32 { Add 1, u32::wrapping_add; Mul 3, u32::wrapping_mul; Min u32::MAX, u32::min; Max 0, u32::max;
                    And u32::MAX, |a, b| a & b; Or 0, |a, b| a | b; }
                i32 { Add 1, i32::wrapping_add; Mul 3, i32::wrapping_mul; Min i32::MAX, i32::min; Max -5, i32::max;
                    And -1, |a, b| a & b; Or 0, |a, b| a | b; }
                u64 { Add 1, u64::wrapping_add; Mul 3, u64::wrapping_mul; Min u64::MAX, u64::min; Max 0, u64::max;
                    And u64::MAX, |a, b| a & b; Or 0, |a, b| a | b; }
                i64 { Add 1, i64::wrapping_add; Mul 3, i64::wrapping_mul; Min i64::MAX, i64::min; Max -5, i64::max;
                    And -1, |a, b| a & b; Or 0, |a, b| a | b; }
                f32 { Min f32::INFINITY, f32::min; Max f32::NEG_INFINITY, f32::max; }
                f64 { Add 0.0, |a, b| a + b; Min f64::INFINITY, f64::min; Max f64::NEG_INFINITY, f64::max; }
            );
            // Few and small enough that no sum is rounded.
            exact_reductions!(bins: f16 500, bf16 80, f32 3000, f64 3000);
            let mut flags = [Mask::full(true, bins as usize), Mask::full(false, bins as usize)];
            let value = Mask::from(noise(200, 3).iter().map(|bits| bits & 64 == 0).collect::<Vec<bool>>());
            let index: Vec<u32> = noise(200, 5).iter().map(|bits| bits % bins).collect();
            flags[0].scatter_reduce(ReduceOp::And, &value, &UInt::from(&index));
            flags[1].scatter_reduce(ReduceOp::Or, &value, &UInt::from(&index));
            let value = value.to_vec().unwrap();
            let of =
                |bin: u32| index.iter().zip(&value).filter(move |(index, _)| **index == bin).map(|(_, value)| *value);
            let all: Vec<bool> = (0..bins).map(|bin| of(bin).all(|value| value)).collect();
            let any: Vec<bool> = (0..bins).map(|bin| of(bin).any(|value| value)).collect();
            assert_eq!(flags.map(|flags| flags.to_vec().unwrap()), [all, any]);
        }
        one_bin_and_one_lane_for_each_bin();
    });
}

// rows: C172 C198
#[test]
fn rows_of_neighbours_are_reduced() {
    on_each_device(|| {
        for (row, op) in [(2, ReduceOp::Add), (3, ReduceOp::Min), (4, ReduceOp::Max), (8, ReduceOp::Add)] {
            let index = UInt::from(noise(500, 3)) % 7;
            let mut rows = Float64::full(1.0, 7 * row as usize);
            let mut singles = rows.clone();
            let value = Float64::from(noise(500, 5).iter().map(|&x| f64::from(x >> 8)).collect::<Vec<_>>());
            for k in 0..row {
                rows.scatter_reduce(op, &value + f64::from(k), &(&index * row + k));
            }
            let wide = UInt::arange(500 * row as usize);
            let (lane, k) = (&wide / row, &wide % row);
            let all = value.gather(&lane) + k.cast::<f64>();
            singles.scatter_reduce(op, all, &(index.gather(&lane) * row + k));
            assert_eq!(rows.to_vec().unwrap(), singles.to_vec().unwrap());
        }
        for bins in [1, 2, 3, 10, 31, 100, 1000, 5000_u32] {
            float_rows(bins);
        }
        let message = message_of(|| resident([1.0_f32, 2.0]).scatter_reduce(ReduceOp::And, 1.0, &UInt::from([0])));
        assert!(message.contains("`and` does not exist for f32"), "{message}");
    });
}

/// Rows of four floats are reduced into this many targets by each operation, and compared with the host. The values are
/// such that no order of them rounds.
fn float_rows(bins: u32) {
    type Host = fn(f32, f32) -> f32;
    let operations: [(ReduceOp, f32, Host); 4] = [
        (ReduceOp::Add, 0.5, |a, b| a + b),
        (ReduceOp::Mul, 1.0, |a, b| a * b),
        (ReduceOp::Min, 9.0, f32::min),
        (ReduceOp::Max, -9.0, f32::max),
    ];
    let bin: Vec<u32> = noise(300, 7).iter().map(|bits| bits % bins).collect();
    for (op, start, host) in operations {
        let lane_value = |lane: usize, k: u32| match op {
            ReduceOp::Mul => [1.0, -1.0][(lane + k as usize) % 2],
            _ => (lane % 13) as f32 + k as f32 * 0.25,
        };
        let mut expected = vec![start; 4 * bins as usize];
        let mut rows = Float::full(start, 4 * bins as usize);
        let index = UInt::from(&bin);
        for k in 0..4 {
            let values: Vec<f32> = (0..bin.len()).map(|lane| lane_value(lane, k)).collect();
            for (lane, value) in values.iter().enumerate() {
                let element = &mut expected[(bin[lane] * 4 + k) as usize];
                *element = host(*element, *value);
            }
            rows.scatter_reduce(op, Float::from(values), &(&index * 4 + k));
        }
        assert_eq!(rows.to_vec().unwrap(), expected, "{op:?} into {bins} rows");
    }
}

// rows: C207
// one device: the interpreter takes minutes for so many elements
#[test]
fn arrays_of_more_than_2_to_the_28_elements_are_scattered_to() {
    if !crate::tested_devices::has_llvm() {
        return;
    }
    jit::with_device(Device::Cpu, || {
        let n = (1_usize << 28) + 1;
        let mut target = UInt8::zeros(n);
        target.scatter(UInt8::from([1, 2, 3]), &UInt::from([0, (1 << 28) - 1, 1 << 28]));
        target.scatter_add(10, &UInt::from([1 << 28, 1 << 28, 5]));
        jit::eval(&target).unwrap();
        let at = |index: usize| target.get(index).unwrap();
        assert_eq!([at(0), at(5), at((1 << 28) - 1), at(1 << 28)], [1, 10, 2, 23]);
        assert_eq!(target.gather(&UInt::from([1 << 28])).item().unwrap(), 23);
    });
}

#[jit]
fn counted(bins: &mut UInt, values: &UInt) {
    if values < bins.width() {
        bins[values] += 1;
    }
}

#[test]
fn a_target_without_elements_is_written_where_no_lane_gets() {
    on_each_device(|| {
        let mut bins = UInt::from(Vec::new());
        counted(&mut bins, &UInt::from([0, 2]));
        assert_eq!(bins.to_vec().unwrap(), [] as [u32; 0]);
        bins.scatter_masked(UInt::from(1), &UInt::from([0, 1]), &Mask::opaque(false));
        assert_eq!(bins.to_vec().unwrap(), [] as [u32; 0]);
        let mut bins = UInt::zeros(2);
        counted(&mut bins, &UInt::from([0, 2]));
        assert_eq!(bins.to_vec().unwrap(), [1, 0]);
    });
}

#[test]
fn a_target_without_elements_takes_nothing() {
    on_each_device(|| {
        let mut target = UInt::from(Vec::new());
        target.scatter(1, &UInt::from([0]));
        target.scatter_add(UInt::from([1, 2]), &UInt::from([0, 7]));
        assert_eq!(target.to_vec().unwrap(), [] as [u32; 0]);
    });
}
