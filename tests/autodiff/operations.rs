//! Each operation: its derivative against differences, forward against reverse, and at kinks.

use jit::ad;
use jit::prelude::*;

use crate::{assert_close, assert_near, on_each_device};

type Function = fn(&Float64) -> Float64;

/// Returns the derivative of a lane-wise function in reverse mode.
fn slopes(function: Function, x: &[f64]) -> Vec<f64> {
    let gradient = ad::grad(|x: &Float64| function(x).sum());
    gradient(&Float64::from(x)).unwrap().to_vec().unwrap()
}

/// Checks a lane-wise function at some points.
#[track_caller]
fn check(name: &str, function: Function, points: &[f64]) {
    let backward = slopes(function, points);
    let x = Float64::from(points);
    let (_, forward) = ad::jvp(function, &x, &Float64::from(1.0)).unwrap();
    let forward = forward.to_vec().unwrap();
    let step = 1e-6;
    let at = |offset: f64| function(&(&x + offset)).to_vec().unwrap();
    let (above, below) = (at(step), at(-step));
    for (lane, point) in points.iter().enumerate() {
        let difference = (above[lane] - below[lane]) / (2.0 * step);
        let close = |got: f64, tolerance: f64| (got - difference).abs() <= tolerance * (1.0 + difference.abs());
        assert!(close(backward[lane], 2e-6), "{name} at {point}: {} instead of {difference}", backward[lane]);
        let scale = 1.0 + backward[lane].abs();
        assert!(
            (backward[lane] - forward[lane]).abs() <= 1e-12 * scale,
            "{name} at {point}: forward {}",
            forward[lane]
        );
    }
}

const ANY: &[f64] = &[-2.3, -0.7, -0.1, 0.3, 0.9, 1.7, 3.2];
const POSITIVE: &[f64] = &[0.05, 0.3, 0.9, 1.7, 3.2, 12.0];
const UNIT: &[f64] = &[-0.9, -0.4, 0.05, 0.5, 0.93];

#[test]
fn derivatives_of_functions_are_their_differences() {
    on_each_device(|| {
        let of_any: &[(&str, Function)] = &[
            ("neg", |x| -x),
            ("abs", |x| x.abs()),
            ("exp", |x| x.exp()),
            ("exp2", |x| x.exp2()),
            ("exp_m1", |x| x.exp_m1()),
            ("sin", |x| x.sin()),
            ("cos", |x| x.cos()),
            ("tan", |x| x.tan()),
            ("atan", |x| x.atan()),
            ("sinh", |x| x.sinh()),
            ("cosh", |x| x.cosh()),
            ("tanh", |x| x.tanh()),
            ("asinh", |x| x.asinh()),
            ("cbrt", |x| x.cbrt()),
            ("erf", |x| x.erf()),
            ("erfc", |x| x.erfc()),
            ("recip", |x| x.recip()),
            ("sigmoid", |x| x.sigmoid()),
            ("square", |x| x.square()),
            ("powi 3", |x| x.powi(3)),
            ("powi -2", |x| x.powi(-2)),
            ("fract", |x| x.fract()),
            ("a + a·a", |x| x + x * x),
            ("a / (1 + a·a)", |x| x / (1.0 + x * x)),
            ("a - sin a", |x| x - x.sin()),
            ("rem", |x| (x * 3.7) % 1.3),
            ("rem_euclid", |x| (x * 3.7).rem_euclid(1.3)),
            ("rem by it", |x| Float64::from(5.3) % (x * x + 1.0)),
            ("min", |x| x.min(x * x)),
            ("max", |x| x.max(x * x)),
            ("fmin", |x| x.fmin(x * x)),
            ("fmax", |x| x.fmax(x * x)),
            ("clamp", |x| x.clamp(-1.0, 1.0)),
            ("copysign", |x| x.copysign(x.sin())),
            ("mul_sign", |x| x.mul_sign(x.sin())),
            ("hypot", |x| x.hypot(x.cos())),
            ("atan2", |x| x.atan2(x.cos())),
            ("mul_add", |x| x.mul_add(x.sin(), x.exp())),
            ("select", |x| x.gt(0.5).select(x * x, x.sin())),
            ("lerp", |x| x.lerp(x * x, x.sin())),
            ("smooth_step", |x| x.smooth_step(-1.5, 2.5)),
            ("casts", |x| x.cast::<f64>() * x),
            ("tgamma", |x| (x + 3.0).tgamma()),
            ("lgamma", |x| x.lgamma()),
        ];
        of_any.iter().for_each(|(name, function)| check(name, *function, ANY));
        let of_positive: &[(&str, Function)] = &[
            ("sqrt", |x| x.sqrt()),
            ("rsqrt", |x| x.rsqrt()),
            ("ln", |x| x.ln()),
            ("log2", |x| x.log2()),
            ("log10", |x| x.log10()),
            ("ln_1p", |x| x.ln_1p()),
            ("acosh", |x| (x + 1.0).acosh()),
            ("powf", |x| x.powf(x)),
            ("powf 2.5", |x| x.powf(2.5)),
        ];
        of_positive.iter().for_each(|(name, function)| check(name, *function, POSITIVE));
        let of_unit: &[(&str, Function)] =
            &[("asin", |x| x.asin()), ("acos", |x| x.acos()), ("atanh", |x| x.atanh()), ("erfinv", |x| x.erfinv())];
        of_unit.iter().for_each(|(name, function)| check(name, *function, UNIT));
    });
}

#[test]
fn kinks_and_ends_of_domains_have_the_documented_derivatives() {
    use std::f64::consts::{FRAC_1_PI, PI};
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    on_each_device(|| {
        let cases: &[(&str, Function, &[f64], &[f64])] = &[
            ("abs", |x| x.abs(), &[0.0, -0.0, inf, -inf, nan], &[0.0, 0.0, 1.0, -1.0, nan]),
            ("sqrt", |x| x.sqrt(), &[0.0, -1.0], &[inf, nan]),
            ("recip", |x| x.recip(), &[0.0], &[-inf]),
            ("cbrt", |x| x.cbrt(), &[0.0], &[inf]),
            ("ln", |x| x.ln(), &[0.0, -1.0], &[inf, nan]),
            ("asin", |x| x.asin(), &[1.0, 1.5], &[inf, nan]),
            ("acosh", |x| x.acosh(), &[1.0, -2.0], &[inf, nan]),
            ("atanh", |x| x.atanh(), &[1.0, 2.0], &[inf, nan]),
            ("clamp", |x| x.clamp(-1.0, 1.0), &[-1.0, 1.0, 2.0, nan], &[1.0, 1.0, 0.0, nan]),
            ("relu", |x| x.max(0.0), &[0.0, 1.0, -1.0], &[1.0, 1.0, 0.0]),
            ("min with itself twice", |x| x.min(2.0 * x), &[0.0], &[1.0]),
            ("fmax with NaN", |x| x.fmax(f64::NAN), &[1.0], &[1.0]),
            ("fmin of NaN", |x| x.fmin(1.0), &[nan], &[0.0]),
            ("hypot", |x| x.hypot(x), &[0.0], &[0.0]),
            ("atan2", |x| x.atan2(0.0), &[0.0], &[0.0]),
            ("atan2 far away", |x| x.atan2(1e200), &[1e200], &[0.5e-200]),
            ("power of zero", |x| x.powf(0.0), &[0.0, 3.0], &[0.0, 0.0]),
            ("power of a negative base", |x| x.powf(3.0), &[-2.0, 0.0], &[12.0, 0.0]),
            ("tanh", |x| x.tanh(), &[1000.0], &[0.0]),
            ("floor", |x| x.floor() * x, &[2.5], &[2.0]),
            ("sign", |x| x.sign() * x, &[2.5, -1.5], &[1.0, -1.0]),
            ("not chosen", |x| x.gt(0.0).select(x, x * f64::NAN), &[1.0, -1.0], &[1.0, nan]),
            ("integers", |x| x.cast::<i32>().cast::<f64>() * x, &[3.5], &[3.0]),
            ("erfinv", |x| x.erfinv(), &[0.0], &[PI.sqrt() / 2.0]),
            ("sigmoid", |x| x.sigmoid(), &[0.0, -0.0, inf, -inf, nan], &[0.25, 0.25, 0.0, 0.0, nan]),
        ];
        for (name, function, points, wanted) in cases {
            println!("{name}");
            assert_close(&slopes(*function, points), wanted, 1e-12);
        }
        let _ = FRAC_1_PI;
    });
}

#[test]
fn a_zero_gradient_passes_infinite_derivatives_as_zero() {
    on_each_device(|| {
        let f = ad::grad(|x: &Float| x.gt(0.5).select(x, x.sqrt()).sum());
        assert_eq!(f(&Float::from([0.0, 1.0])).unwrap().to_vec().unwrap(), [f32::INFINITY, 1.0]);
        let f = ad::grad(|x: &Float| x.gt(0.5).select(x.sqrt(), 0.0_f32).sum());
        assert_eq!(f(&Float::from([0.0, 1.0])).unwrap().to_vec().unwrap(), [0.0, 0.5]);
    });
}

#[test]
fn types_stay_and_pass_through_casts() {
    on_each_device(|| {
        let x = Float::from([1.0]);
        let both = ad::grad(|x: &Float| {
            let wide = x.cast::<f64>();
            (wide.sin().cast::<f32>() + (x.cast::<f64>() * 2.0).cast::<f32>()).cast::<f64>().sum()
        });
        let got: f32 = both(&x).unwrap().item().unwrap();
        assert!((got - (1.0_f32.cos() + 2.0)).abs() < 1e-6, "{got}");
        let half = ad::grad(|x: &Half| (x * x).sum());
        let gradient = half(&Half::from(vec![half::f16::from_f32(3.0)])).unwrap();
        assert_eq!(gradient.item().unwrap().to_f32(), 6.0);
    });
}

#[test]
fn a_value_of_width_one_gets_the_sum_of_the_lanes_that_use_it() {
    on_each_device(|| {
        let f = ad::grad(|a: &Float| (a * Float::arange(5)).sum());
        assert_eq!(f(&Float::from(2.0)).unwrap().item().unwrap(), 10.0);
        let f = ad::grad(|a: &Float| (a + Float::zeros(5)).sum());
        assert_eq!(f(&Float::from(2.0)).unwrap().item().unwrap(), 5.0);
        // Sums of sums: each element takes part in all of them.
        let x = Float::linspace(0.0, 1.0, 9);
        let f = ad::grad(|x: &Float| (x.sum() * x).sum());
        assert_eq!(f(&x).unwrap().to_vec().unwrap(), [9.0; 9]);
        let (_, tangent) = ad::jvp(|x: &Float| (x.sum() * x).sum(), &x, &Float::from(1.0)).unwrap();
        assert_eq!(tangent.item().unwrap(), 81.0);
    });
}

/// Gathers at positions that follow from the lane: every stride, offset and end, with lanes out of range and masked.
#[test]
fn gathers_at_known_positions_have_exact_gradients() {
    on_each_device(|| {
        let lane = |width: usize| UInt::arange(width);
        let cases: Vec<(&str, UInt, Option<Mask>)> = vec![
            ("lanes", lane(7), None),
            ("fewer", lane(4), None),
            ("more", lane(12), None),
            ("moved", lane(5) + 2, None),
            ("moved beyond", lane(7) + 3, None),
            ("moved before", lane(7) - 2, None),
            ("backwards", 6_u32 - lane(7), None),
            ("backwards beyond", 4_u32 - lane(7), None),
            ("backwards from the middle", 9_u32 - lane(6), None),
            ("steps", lane(4) * 2, None),
            ("steps moved", lane(4) * 3 + 1, None),
            ("steps of sums", (lane(4) + 1) * 2, None),
            ("steps back", 6_u32 - lane(3) * 3, None),
            ("twice back", 6_u32 - (5_u32 - lane(4)), None),
            ("opaque offset", lane(5) + UInt::opaque(1), None),
            ("tiles", lane(21) % 7, None),
            ("tiles of others", lane(20) % 5, None),
            ("parts of tiles", lane(17) % 7, None),
            ("many tiles", lane(350) % 7, None),
            ("repeated", lane(21) / 3, None),
            ("repeated in part", lane(20) / 3, None),
            ("repeated and moved", lane(21) / 3 + 1, None),
            ("masked", lane(7) - 1, Some(lane(7).gt(2))),
            ("masked steps", lane(3) * 2, Some(Mask::from([true, false, true]))),
            ("masked tiles", lane(14) % 7, Some((lane(14) % 3).ne(0))),
            ("masked repeated", lane(14) / 2, Some((lane(14) % 3).ne(0))),
            ("large steps", lane(5) * 1_000_000_000, None),
            ("wrapping steps", lane(7) * 3_000_000_000, None),
            ("one lane", UInt::from(3), None),
            ("rotated", lane(7).lt(3).select(lane(7) + 4, lane(7) - 3), None),
            ("of two ends", lane(9).lt(4).select(lane(9), 8_u32 - lane(9)), None),
            ("rotated, masked", lane(7).lt(3).select(lane(7) + 4, lane(7) - 3), Some((lane(7) % 2).eq(0))),
            ("chosen", lane(7).lt(3).select(UInt::from([6, 6, 6, 0, 0, 0, 0]), lane(7)), None),
            ("any", UInt::from([3, 3, 0, 9]), None),
        ];
        let x: Vec<f64> = (0..7).map(|i| f64::from(i) * 0.5 - 1.0).collect();
        for (name, index, mask) in &cases {
            let read = |x: &Float64| match mask {
                Some(mask) => x.gather_masked(index, mask),
                None => x.gather(index),
            };
            let loss = |x: &Float64| {
                let y = read(x);
                let weights = Float64::arange(y.len()) + 1.0;
                (y.square() * weights).sum()
            };
            let gradient = ad::grad(loss)(&Float64::from(&x[..])).unwrap().to_vec().unwrap();
            let (index, mask) = (index.to_vec().unwrap(), mask.as_ref().map(|mask| mask.to_vec().unwrap()));
            let mut wanted = [0.0; 7];
            for (lane, &at) in index.iter().enumerate() {
                if at < 7 && mask.as_ref().is_none_or(|mask| mask[lane]) {
                    wanted[at as usize] += 2.0 * x[at as usize] * (lane + 1) as f64;
                }
            }
            assert_near(name, &gradient, &wanted, 1e-13);
        }
    });
}

/// What is masked out has no second derivative in any order of the modes, though the value there is no number.
#[test]
fn second_derivatives_pass_what_is_masked_out_as_zero() {
    on_each_device(|| {
        let x = Float64::from([4.0, -1.0, 0.25, -0.5]);
        let f = |x: &Float64| x.gt(0.0).select(x.sqrt(), x * x * x).sum();
        let gradient = |x: &Float64| ad::grad(f)(x).unwrap();
        let expected = [-1.0 / 32.0, -6.0, -2.0, -3.0];
        let ones = x.ones_like();
        let (_, forward_of_reverse) = ad::jvp(gradient, &x, &ones).unwrap();
        assert_eq!(forward_of_reverse.to_vec().unwrap(), expected);
        assert_eq!(ad::hvp(f, &x, &ones).unwrap().to_vec().unwrap(), expected);
        assert_eq!(ad::grad(|x: &Float64| gradient(x).sum())(&x).unwrap().to_vec().unwrap(), expected);
        let reverse_of_forward = ad::grad(|x: &Float64| ad::jvp(f, x, &ones).unwrap().1)(&x).unwrap();
        assert_eq!(reverse_of_forward.to_vec().unwrap(), expected);
        // A direction of zero in a lane whose first derivative is infinite.
        let steep = |x: &Float64| x.sin().sqrt().sum();
        let direction = Float64::from([0.0, 1.0]);
        let product = ad::hvp(steep, &Float64::from([0.0, 1.0]), &direction).unwrap().to_vec().unwrap();
        assert_eq!(product[0], 0.0);
    });
}

/// Where the gradient is zero, the third derivative is still that of a product.
#[test]
fn third_derivatives_are_exact_where_the_gradient_is_zero() {
    on_each_device(|| {
        let x = Float64::from([0.0, 1.0]);
        let f = |x: &Float64| (x * x * x.sin()).sum();
        let hessian = |x: &Float64| ad::jvp(|x: &Float64| ad::grad(f)(x).unwrap(), x, &x.ones_like()).unwrap().1;
        let expected = [0.0_f64, 1.0].map(|x| 6.0 * x.cos() - 6.0 * x * x.sin() - x * x * x.cos());
        let (_, third) = ad::jvp(hessian, &x, &x.ones_like()).unwrap();
        assert_close(&third.to_vec().unwrap(), &expected, 1e-12);
        let third = ad::grad(|x: &Float64| hessian(x).sum())(&x).unwrap();
        assert_close(&third.to_vec().unwrap(), &expected, 1e-12);
    });
}
