//! Reductions that are composed of others.

use half::f16;
use jit::prelude::*;

use crate::devices::{assert_close, on_each_device};

/// Numbers without a pattern, the same in every run.
fn numbers(count: usize) -> Vec<f32> {
    let mut state = 12345_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 1e6 - 8.0
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn norms_and_variances_agree_with_double_precision() {
    on_each_device(|| {
        for n in [1, 2, 33, 1000, 100_003] {
            let values = numbers(n);
            let wide: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
            let squares: f64 = wide.iter().map(|v| v * v).sum();
            let mean = wide.iter().sum::<f64>() / n as f64;
            let spread: f64 = wide.iter().map(|v| (v - mean) * (v - mean)).sum();
            let x = Float::from(values);
            let results = [x.norm(), x.squared_norm(), x.variance(), x.std()];
            assert!(n == 1 || results.iter().all(|result| !result.is_evaluated()));
            let results = results.map(|result| result.item().unwrap());
            let count = n as f64;
            let wanted = [squares.sqrt(), squares, spread / count, (spread / count).sqrt()].map(|v| v as f32);
            assert_close(&results, &wanted, 1e-5);
            if n > 1 {
                assert_close(&[x.variance_with(1).item().unwrap()], &[(spread / (count - 1.0)) as f32], 1e-5);
                assert_close(&[x.std_with(1).item().unwrap()], &[(spread / (count - 1.0)).sqrt() as f32], 1e-5);
            }
        }
    });
}

#[test]
fn a_large_mean_costs_the_variance_no_digits() {
    let x = Float::arange(4) + 1_000_000.0;
    assert_eq!(x.variance().item().unwrap(), 1.25);
}

#[test]
fn halves_are_combined_in_single_precision() {
    on_each_device(|| {
        let x = Half::full(f16::from_f32(300.0), 4);
        assert_eq!(x.norm().item().unwrap(), f16::from_f32(600.0), "the squares are beyond the range of halves");
        assert_eq!(x.dot(&x).item().unwrap(), f16::INFINITY);
        assert_eq!((&x / 300.0).dot(Half::full(f16::ONE, 4)).item().unwrap(), f16::from_f32(4.0));
        let y = Half::arange(3) + 2000.0;
        assert_eq!(y.variance().item().unwrap(), f16::from_f32(2.0 / 3.0));
    });
}

#[test]
fn empty_arrays_give_what_is_documented() {
    on_each_device(|| {
        let none = Float::from(Vec::new());
        assert_eq!((none.norm().item().unwrap(), none.squared_norm().item().unwrap()), (0.0, 0.0));
        assert_eq!(none.dot(&none).item().unwrap(), 0.0);
        assert!(none.mean().item().unwrap().is_nan());
        assert!(none.variance().item().unwrap().is_nan() && none.std().item().unwrap().is_nan());
        assert_eq!(Int::from(Vec::new()).reduce_max().item().unwrap(), i32::MIN);
        assert_eq!(UInt::from(Vec::new()).reduce(ReduceOp::And).item().unwrap(), u32::MAX);
        let none = Mask::from(Vec::new());
        assert!(none.all().item().unwrap() && !none.any().item().unwrap() && none.none().item().unwrap());
        assert_eq!(none.count().item().unwrap(), 0);
        assert!(!Float::from(1.5).variance_with(1).item().unwrap().is_finite());
    });
}

#[test]
fn the_first_extreme_is_found() {
    on_each_device(|| {
        let x = Int::from([3, -7, 9, -7, 9]);
        assert_eq!((x.argmin().item().unwrap(), x.argmax().item().unwrap()), (1, 2));
        let x = UInt8::from([255, 0, 255, 0]);
        assert_eq!((x.argmin().item().unwrap(), x.argmax().item().unwrap()), (1, 0));
        let x = Float::from([1.0, f32::NAN, f32::INFINITY, f32::NAN]);
        assert_eq!((x.argmin().item().unwrap(), x.argmax().item().unwrap()), (1, 1));
        let x = Float::from([0.0, -0.0]);
        assert_eq!((x.argmin().item().unwrap(), x.argmax().item().unwrap()), (0, 0));
        assert_eq!(Int::full(4, 1000).argmin().item().unwrap(), 0);
        assert_eq!(Float::from(4.0).argmax().item().unwrap(), 0);
        for n in [1_usize, 17, 4096, 100_003] {
            let values = numbers(n);
            let x = Float::from(values.clone()) * 2.0;
            let smallest = (0..n).reduce(|a, b| if values[b] < values[a] { b } else { a }).unwrap();
            let largest = (0..n).reduce(|a, b| if values[b] > values[a] { b } else { a }).unwrap();
            assert_eq!(x.argmin().item().unwrap() as usize, smallest);
            assert_eq!(x.argmax().item().unwrap() as usize, largest);
        }
    });
}

#[test]
#[should_panic(expected = "an array without elements has no minimum")]
fn nothing_has_no_smallest_element() {
    let _ = Float::from(Vec::new()).argmin();
}

#[test]
#[should_panic(expected = "elements of type f32 cannot be combined by `and`")]
fn floats_have_no_bits_to_combine() {
    let _ = Float::from([1.0, 2.0]).reduce(ReduceOp::And);
}

#[test]
#[should_panic(expected = "elements of type bool cannot be combined by `add`")]
fn masks_are_counted_and_not_summed() {
    let _ = Mask::from([true, false]).reduce(ReduceOp::Add);
}

#[test]
fn every_operation_reduces() {
    on_each_device(|| {
        let x = UInt::from([12, 10, 14]);
        let wanted = [(ReduceOp::Add, 36), (ReduceOp::Mul, 1680), (ReduceOp::Min, 10), (ReduceOp::Max, 14)];
        for (op, wanted) in wanted.into_iter().chain([(ReduceOp::And, 8), (ReduceOp::Or, 14)]) {
            assert_eq!(x.reduce(op).item().unwrap(), wanted, "{op:?}");
        }
        let mask = Mask::from([false, true]);
        assert!(!mask.none().item().unwrap() && (!&mask | &mask).all().item().unwrap());
    });
}

#[test]
fn zero_times_a_sum_is_zero() {
    let (nothing, numbers) = (UInt::from(Vec::new()) + 1, UInt::from([1, 2, 3]));
    jit::eval(&nothing).unwrap();
    assert!((&nothing * numbers.sum()).to_vec().unwrap().is_empty());
    let (product, sum) = (nothing * numbers.sum(), numbers.sum() + 1);
    jit::eval(&(&product, &sum)).unwrap();
    assert_eq!((product.to_vec().unwrap(), sum.to_vec().unwrap()), (vec![], vec![7]));
}
