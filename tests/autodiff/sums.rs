//! What flows to a value from several operations is added up; a product and its addition are rounded once.

use jit::ad;
use jit::prelude::*;

use crate::{assert_close, on_each_device};

/// The gradient of `sum(w * (x * a) + v * (x * b))` by `x`.
fn gradient(factors: [&[f32]; 4]) -> Vec<f32> {
    let [w, a, v, b] = factors.map(Float::from);
    let x = Float::from(vec![1.5; factors[0].len()]);
    ad::grad(|x: &Float| (&w * (x * &a) + &v * (x * &b)).sum())(&x).unwrap().to_vec().unwrap()
}

#[test]
fn a_product_is_added_with_one_rounding() {
    on_each_device(|| {
        let numbers = |seed: u32| -> Vec<f32> {
            (0..64_u32).map(|lane| (lane.wrapping_mul(seed) % 1013) as f32 / 1013.0 + 0.1).collect()
        };
        let factors = [2_654_435_761, 40_503, 69_069, 1_664_525].map(numbers);
        let [w, a, v, b] = &factors;
        let sums = |product: fn(f32, f32, f32) -> f32| -> [Vec<f32>; 2] {
            let lanes = || (0..64).map(|lane| [w[lane], a[lane], v[lane], b[lane]]);
            [
                lanes().map(|[w, a, v, b]| product(w, a, v * b)).collect(),
                lanes().map(|[w, a, v, b]| product(v, b, w * a)).collect(),
            ]
        };
        let got = gradient([w, a, v, b]);
        let once = sums(f32::mul_add);
        let twice = sums(|x, y, sum| x * y + sum);
        assert!(once.contains(&got), "{got:?}\nis neither of {once:?}");
        assert!(!twice.contains(&got), "the numbers do not tell one rounding from two");
    });
}

#[test]
fn a_gradient_of_zero_adds_nothing_to_a_sum_whatever_the_factor_is() {
    on_each_device(|| {
        let infinite = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 2.0];
        let (zero, one, three) = ([0.0; 4], [1.0; 4], [3.0; 4]);
        assert_eq!(gradient([&zero, &infinite, &three, &one]), [3.0; 4]);
        assert_eq!(gradient([&three, &one, &zero, &infinite]), [3.0; 4]);
        let got = gradient([&one, &infinite, &three, &one]);
        assert_eq!(got[..2], [f32::INFINITY, f32::NEG_INFINITY]);
        assert!(got[2].is_nan() && got[3] == 5.0, "{got:?}");
    });
}

#[test]
fn sums_of_flows_have_second_and_third_derivatives() {
    on_each_device(|| {
        let x = Float64::from([0.0, 0.5, -2.0]);
        let powers = |x: &Float64| {
            let square = x * x;
            (&square * &square * x).sum()
        };
        let ones = Float64::from([1.0; 3]);
        let second = ad::hvp(powers, &x, &ones).unwrap().to_vec().unwrap();
        assert_close(&second, &[0.0, 20.0 * 0.125, 20.0 * -8.0], 1e-14);
        let slope = |x: &Float64| ad::grad(powers)(x).unwrap();
        let third = ad::hvp(|x: &Float64| slope(x).sum(), &x, &ones).unwrap().to_vec().unwrap();
        assert_close(&third, &[0.0, 60.0 * 0.25, 60.0 * 4.0], 1e-14);
        // By two values, where the gradient of the square is zero, too; a value of width 1 is shared by all lanes.
        let mixed = |(x, y): &(Float64, Float64)| (x * x * y + x * y).sum();
        let at = (Float64::from([0.0, 3.0]), Float64::from(0.0));
        let along = (Float64::from([1.0, 0.0]), Float64::from(1.0));
        let (by_x, by_y) = ad::hvp(mixed, &at, &along).unwrap();
        assert_close(&by_x.to_vec().unwrap(), &[1.0, 7.0], 1e-14);
        assert_close(&by_y.to_vec().unwrap(), &[1.0], 1e-14);
    });
}
