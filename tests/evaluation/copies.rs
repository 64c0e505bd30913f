//! Expressions that are gathered from: copied for each gather, or computed once.

use jit::prelude::*;

use super::{kernels, launches, on_each_device, resident};

/// The mean of neighbours on either side, so many at each.
fn blurred(x: &Float, reach: u32) -> Float {
    let i = UInt::arange(x.width());
    let mut sum = x.clone();
    for distance in 1..=reach {
        sum += x.gather(&(&i + distance)) + x.gather(&(&i - distance));
    }
    sum / (2 * reach + 1) as f32
}

#[test]
fn chains_of_passes_that_gather_do_not_multiply() {
    on_each_device(|| {
        let x = resident(&vec![1.0; 10_000]);
        let ops = |passes: usize, reach: u32| -> usize {
            let body = || {
                let y = (0..passes).fold(x.clone(), |y, _| blurred(&y, reach));
                assert_eq!(y.get(5000).unwrap(), 1.0);
            };
            kernels(body).iter().map(|record| record.ops).sum()
        };
        // Stencils are passes of their own.
        assert_eq!(ops(4, 3), 4 * ops(1, 3));
        // Passes of two gathers are computed together with the next one a few times, but not with all.
        assert!(ops(8, 1) <= 5 * 8 * ops(1, 1), "{} {}", ops(8, 1), ops(1, 1));
        // What is gathered from once is computed there, however much it is.
        let widths = launches(|| {
            let y = (&x * 0.5).sin().exp().sqrt() + (&x * 2.0).cos();
            jit::eval(&y.gather(&(UInt::arange(10_000) ^ 1))).unwrap();
        });
        assert_eq!(widths, [10_000]);
        // What is cheap is computed at each of a few indices.
        let widths = launches(|| jit::eval(&blurred(&(&x * 2.0), 4)).unwrap());
        assert_eq!(widths, [10_000]);
    });
}

/// The sums of elements that each lane reads at any places.
#[jit]
fn sums_of(values: &Float, places: &UInt, counts: &UInt) -> Float {
    let lane = UInt::arange(counts.width());
    let mut sum = Float::from(0.0);
    let mut k = UInt::from(0);
    while k < counts {
        sum += values[places[lane * 4 + k]];
        k += 1;
    }
    sum
}

#[test]
fn what_iterations_read_of_several_arrays_is_computed_once() {
    on_each_device(|| {
        let numbers = |count: usize| resident(&(0..count).map(|i| (i % 7) as f32).collect::<Vec<_>>());
        let list = |lanes: u32| (UInt::arange(lanes as usize * 4) * 5 % lanes, UInt::arange(lanes as usize) % 5);
        let (places, counts) = list(4000);
        jit::eval(&(&places, &counts)).unwrap();
        let (x, y) = (numbers(4000), numbers(4000) * 0.0 + 2.0);
        jit::eval(&y).unwrap();
        let is_right = |found: &Float, scale: f32| {
            let found = found.to_vec().unwrap();
            (0..4000_u32).all(|lane| {
                let read = (0..lane % 5).map(|k| ((lane * 4 + k) * 5 % 4000 % 7) as f32 * scale);
                (found[lane as usize] - read.sum::<f32>()).abs() < 1e-5
            })
        };
        let sums = |values: Float| {
            let sums = sums_of(&values, &places, &counts);
            jit::eval(&sums).unwrap();
            sums
        };
        // Two arrays would be read in each iteration.
        assert_eq!(launches(|| assert!(is_right(&sums(&x / &y), 0.5))), [4000, 4000]);
        // One array is read in any case.
        assert_eq!(launches(|| assert!(is_right(&sums(&x * 0.5), 0.5))), [4000]);
        // Lanes that are few read little of it.
        let (x, y) = (numbers(100_000), numbers(100_000));
        assert_eq!(launches(|| drop(sums(&x / &y))), [4000]);
    });
}
