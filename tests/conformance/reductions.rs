//! Reductions, prefix reductions, compression and sorting of arrays.

use jit::prelude::*;

use crate::{message_of, on_each_device, resident};

// rows: C210
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

// rows: C212
#[test]
fn an_array_of_several_elements_is_not_a_single_element() {
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

// rows: C217 C218
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

// rows: C219
#[test]
fn dot_products() {
    on_each_device(|| {
        let x = resident([1.0_f32, 2.0, 4.0]);
        assert_eq!(x.dot(&x).item().unwrap(), 21.0);
        assert_eq!(x.dot(resident([2.0])).item().unwrap(), 14.0);
        assert_eq!(x.dot(1.0).item().unwrap(), 7.0);
        assert_eq!(resident([2.0]).dot(&x).item().unwrap(), 14.0);
        assert_eq!(Float::zeros(0).dot(Float::zeros(0)).item().unwrap(), 0.0);
        let vector = jit::linalg::Vec3::new(resident([1.0_f32, 2.0]), resident([3.0_f32]), 2.0);
        assert_eq!(vector.dot(&vector).to_vec().unwrap(), [14.0, 17.0]);
        let message = message_of(|| x.dot(resident([1.0, 2.0])));
        assert!(message.contains("width 3 and 2"), "{message}");
    });
}

// rows: C220 C227
#[test]
fn norms_and_variances() {
    on_each_device(|| {
        let x = resident([3.0_f64, -4.0, 0.0, 12.0]);
        assert_eq!(x.norm().item().unwrap(), 13.0);
        assert_eq!(x.squared_norm().item().unwrap(), 169.0);
        let table = Tensor::from_array(resident([3.0_f64, 5.0, 4.0, 12.0]), [2, 2]);
        assert_eq!(table.norm(0).to_vec().unwrap(), [5.0, 13.0]);
        assert_eq!(table.norm(1).to_vec().unwrap(), [34.0_f64.sqrt(), 160.0_f64.sqrt()]);
        let kept = table.norm(jit::tensor::keep_dims(0));
        assert_eq!((kept.shape().to_vec(), kept.to_vec().unwrap()), (vec![1, 2], vec![5.0, 13.0]));
        let all = table.norm(..);
        assert_eq!((all.shape().len(), all.to_vec().unwrap()), (0, vec![194.0_f64.sqrt()]));
        let mean = 11.0 / 4.0;
        let squares: f64 = [3.0, -4.0, 0.0, 12.0_f64].iter().map(|x| (x - mean) * (x - mean)).sum();
        assert!((x.variance().item().unwrap() - squares / 4.0).abs() < 1e-12);
        assert!((x.std().item().unwrap() - (squares / 4.0).sqrt()).abs() < 1e-12);
        assert_eq!(Float::full(2.5, 7).variance().item().unwrap(), 0.0);
    });
}

// rows: C225
#[test]
fn true_lanes_are_counted() {
    on_each_device(|| {
        let count: UInt = (UInt::arange(1001) % 3).eq(0).count();
        assert_eq!(count.item().unwrap(), 334);
    });
}

// rows: C287
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

// rows: C231
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

// rows: C232
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

// rows: C221
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
