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
