//! Variables, stored gradients and traversals, with the numbers of `docs/conformance.md`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::ad::{self, CustomOp, Keep, Mode, custom};
use jit::linalg::{Complex, Quaternion, Vec3};
use jit::prelude::*;

use crate::{assert_close, on_each_device};

fn variable(values: &[f32]) -> Float {
    let mut x = Float::from(values);
    x.enable_grad();
    x
}

fn grad(x: &Float) -> Vec<f32> {
    x.grad().to_vec().unwrap()
}

fn one(x: &Float) -> f32 {
    x.grad().item().unwrap()
}

// rows: A002 A003 A004
#[test]
fn gradients_are_stored_in_the_width_of_their_array() {
    on_each_device(|| {
        let off = Float::from([1.0, 2.0, 3.0]);
        off.set_grad(&Float::from(2.0));
        off.accum_grad(&Float::from(2.0));
        assert_eq!(grad(&off), [0.0; 3]);
        let x = variable(&[1.0, 2.0, 3.0]);
        x.set_grad(&Float::from([4.0, 5.0, 6.0]));
        assert_eq!(grad(&x), [4.0, 5.0, 6.0]);
        x.set_grad(&Float::from(2.0));
        assert_eq!(grad(&x), [2.0; 3]);
        x.accum_grad(&Float::from(2.0));
        assert_eq!(grad(&x), [4.0; 3]);
        let narrow = variable(&[1.0]);
        narrow.set_grad(&Float::from([3.0, 4.0, 5.0]));
        assert_eq!(grad(&narrow), [12.0]);
        narrow.clear_grad();
        narrow.accum_grad(&Float::from([1.0, 2.0, 3.0]));
        assert_eq!(grad(&narrow), [6.0]);
        let wrong = catch_unwind(AssertUnwindSafe(|| x.set_grad(&Float::from([1.0, 2.0])))).unwrap_err();
        let text = wrong.downcast_ref::<String>().unwrap();
        assert!(text.contains("a gradient of width 2 does not belong to an array of width 3"), "{text}");
        // Detached values are constants of the same type, also in structures.
        let vector = Vec3::<f32>::from([x.clone(), narrow.clone(), off]);
        assert!(vector.norm().grad_enabled() && !vector.map(Float::detach).norm().grad_enabled());
    });
}

// rows: A007
#[test]
fn tangents_add_up_over_traversals() {
    on_each_device(|| {
        let (a, b) = (variable(&[1.0]), variable(&[2.0]));
        let c = 2.0 * &a + &b;
        a.forward().unwrap();
        assert_eq!(one(&c), 2.0);
        c.set_grad(&Float::from(101.0));
        b.forward().unwrap();
        assert_eq!(one(&c), 102.0);
        let (a, b) = (variable(&[1.0]), variable(&[2.0]));
        let c = 2.0 * &a + &b;
        for wanted in [2.0, 4.0] {
            a.set_grad(&Float::from(1.0));
            ad::enqueue(Mode::Forward, &a);
            ad::traverse(Mode::Forward, Keep::Nothing).unwrap();
            assert_eq!(one(&c), wanted);
        }
    });
}

// rows: A010 A011 A012 A013
#[test]
fn traversals_begin_and_end_where_they_are_told() {
    on_each_device(|| {
        let a = variable(&[1.0]);
        let (b, c, d) = (2.0 * &a * &a, 2.0 * &a, Float::from(1.0) * 2.0);
        a.set_grad(&Float::from(1.0));
        let (b, c, d) = ad::forward_to(&(b, c, d)).unwrap();
        assert_eq!([&b, &c, &d].map(|t| t.item().unwrap()), [4.0, 2.0, 0.0]);
        assert_eq!(one(&a), 1.0);
        assert!(ad::forward_to(&Float::from(1.0)).unwrap_err().to_string().contains("does not depend on a variable"));
        assert!(ad::forward_from(&Float::from(1.0)).is_err() && ad::backward_from(&Float::from(1.0)).is_err());
        let a = variable(&[1.0]);
        let b = 4.0 * &a;
        ad::forward_from(&a).unwrap();
        assert_eq!((one(&b), one(&a)), (4.0, 0.0));
        let (a, b) = (variable(&[1.0]), variable(&[3.0]));
        let c = 2.0 * &a * &b;
        assert!(ad::backward_to(&Float::from(1.0), &a).is_err());
        assert_eq!(ad::backward_to(&c, &a).unwrap().item().unwrap(), 6.0);
        assert_eq!((one(&a), one(&b), one(&c)), (0.0, 0.0, 0.0));
        let (of_a, of_b, of_other) = ad::backward_to(&c, &(a, b, Float::from(1.0))).unwrap();
        assert_eq!([of_a, of_b, of_other].map(|g| g.item().unwrap()), [6.0, 2.0, 0.0]);
        let a = variable(&[1.0]);
        ad::backward_from(&(2.0 * &a * &a)).unwrap();
        assert_eq!(one(&a), 4.0);
        let a = variable(&[1.0]);
        ad::backward_from(&[a.clone() * 1.0, &a + 1.0, a.clone() + 2.0]).unwrap();
        assert_eq!(one(&a), 3.0);
    });
}

// rows: A014 A015
#[test]
fn several_sums_have_their_own_gradients_round_after_round() {
    on_each_device(|| {
        let x: Vec<Float> = (1..4).map(|i| variable(&[i as f32])).collect();
        let sums = [&x[0] + &x[1], &x[1] + &x[2], &x[2] + &x[0]];
        let squares: Vec<Float> = sums.iter().map(|sum| sum * sum).collect();
        x.iter().zip([1.0, 10.0, 100.0]).for_each(|(x, seed)| x.set_grad(&Float::from(seed)));
        // 2 (a + b) (da + db), with sums 3, 5, 4.
        let wanted = [2.0 * 3.0 * 11.0, 2.0 * 5.0 * 110.0, 2.0 * 4.0 * 101.0];
        for _ in 0..2 {
            for (square, wanted) in squares.iter().zip(wanted) {
                assert_eq!(ad::forward_to(square).unwrap().item().unwrap(), wanted);
            }
        }
        squares.iter().zip([1.0, 10.0, 100.0]).for_each(|(square, seed)| square.set_grad(&Float::from(seed)));
        let wanted = [6.0 + 800.0, 6.0 + 100.0, 100.0 + 800.0];
        for _ in 0..2 {
            for (x, wanted) in x.iter().zip(wanted) {
                assert_eq!(ad::backward_to(&squares, x).unwrap().item().unwrap(), wanted);
            }
        }
    });
}

// rows: A016 A017
#[test]
fn gradients_pass_casts_between_floats() {
    on_each_device(|| {
        let x = Float::from(1.0);
        let f = |x: &Float| {
            let wide = x.cast::<f64>().sin();
            let narrow = wide.cast::<f32>() + x;
            (narrow.cast::<f64>() * 2.0).cast::<f32>()
        };
        let wanted = 2.0 * f64::from(1.0_f32.cos()) + 2.0;
        let backward = ad::grad(f)(&x).unwrap().item().unwrap();
        let forward = ad::jvp(f, &x, &Float::from(1.0)).unwrap().1.item().unwrap();
        assert_close(&[f64::from(backward), f64::from(forward)], &[wanted; 2], 1e-6);
    });
}

// rows: A032 A034 A035 A036
#[test]
fn scatters_that_overlap() {
    on_each_device(|| {
        for (is_sum, evaluated) in [(false, false), (false, true), (true, false), (true, true)] {
            let (x, y) = (variable(&[0.0, 0.25, 0.5, 0.75, 1.0]), Float::linspace(1.0, 2.0, 4));
            let mut y = y;
            y.enable_grad();
            let mut buffer = Float::zeros(10);
            buffer.enable_grad();
            let before = buffer.clone();
            let (low, high) = (UInt::arange(5), UInt::arange(4) + 3);
            let write = |target: &mut Float, value: &Float, index: &UInt| match is_sum {
                true => target.scatter_add(value, index),
                false => target.scatter(value, index),
            };
            write(&mut buffer, &x, &low);
            if evaluated {
                jit::eval(&buffer).unwrap();
            }
            write(&mut buffer, &y, &high);
            let values = buffer.detach().to_vec().unwrap();
            buffer.dot(&buffer).backward().unwrap();
            let wide = |x: &Float| grad(x).into_iter().map(f64::from).collect::<Vec<_>>();
            let (of_x, of_y) = match is_sum {
                true => ([0.0, 0.5, 1.0, 3.5, 14.0 / 3.0], [3.5, 14.0 / 3.0, 10.0 / 3.0, 4.0]),
                false => ([0.0, 0.5, 1.0, 0.0, 0.0], [2.0, 8.0 / 3.0, 10.0 / 3.0, 4.0]),
            };
            assert_close(&wide(&x), &of_x, 1e-6);
            assert_close(&wide(&y), &of_y, 1e-6);
            let kept = |i: usize| if is_sum || i >= 7 { 2.0 * f64::from(values[i]) } else { 0.0 };
            assert_close(&wide(&before), &(0..10).map(kept).collect::<Vec<_>>(), 1e-6);
        }
        let x = variable(&[0.0, 2.0, 4.0, 6.0, 8.0]);
        let mut buffer = Float::zeros(10);
        let doubled = 2.0 * &x + 1.0;
        buffer.scatter(&doubled, &(UInt::arange(5) * 2));
        buffer.scatter(&doubled + 2.0 * &x, &(UInt::arange(5) * 2 + 1));
        x.set_grad(&Float::from(1.0));
        let tangent = ad::forward_to(&buffer).unwrap().to_vec().unwrap();
        assert_eq!(tangent, [2.0, 4.0].repeat(5));
    });
}

// rows: A076 A077 A078 A079 A080 A081 A082 A083 A084 A085 A086 A087 A088 A089 A090 A092
#[test]
fn functions_over_arrays() {
    on_each_device(|| {
        type Case = (&'static str, fn(&Float64) -> Float64, fn(f64) -> f64, f64, f64);
        let cases: [Case; 16] = [
            ("exp x²", |x| (x * x).exp(), |x| 2.0 * x * (x * x).exp(), 0.0, 1.0),
            ("ln x²", |x| (x * x).ln(), |x| 2.0 / x, 0.01, 1.0),
            ("x⁵", |x| x.powf(5.0), |x| 5.0 * x.powi(4), 0.0, 10.0),
            ("tan x²", |x| (x * x).tan(), |x| 2.0 * x / (x * x).cos().powi(2), 0.0, 1.0),
            ("asin x²", |x| (x * x).asin(), |x| 2.0 * x / (1.0 - x.powi(4)).sqrt(), -0.8, 0.8),
            ("acos x²", |x| (x * x).acos(), |x| -2.0 * x / (1.0 - x.powi(4)).sqrt(), -0.8, 0.8),
            ("atan x²", |x| (x * x).atan(), |x| 2.0 * x / (1.0 + x.powi(4)), -0.8, 0.8),
            ("atan2", |x| x.atan2(x * x), |x| -1.0 / (1.0 + x * x), 0.1, 2.0),
            ("cbrt", |x| x.cbrt(), |x| 1.0 / (3.0 * x.cbrt().powi(2)), 0.1, 0.8),
            ("sinh", |x| x.sinh(), f64::cosh, -1.0, 1.0),
            ("cosh", |x| x.cosh(), f64::sinh, -1.0, 1.0),
            ("tanh", |x| x.tanh(), |x| 1.0 / x.cosh().powi(2), -1.0, 1.0),
            ("asinh", |x| x.asinh(), |x| 1.0 / (1.0 + x * x).sqrt(), -0.9, 0.9),
            ("acosh", |x| x.acosh(), |x| 1.0 / (x * x - 1.0).sqrt(), 1.01, 2.0),
            ("atanh", |x| x.atanh(), |x| 1.0 / (1.0 - x * x), -0.99, 0.99),
            ("a safe root", |x| x.max(1e-3).sqrt(), |x| if x < 1e-3 { 0.0 } else { 0.5 / x.sqrt() }, 0.0, 1.0),
        ];
        for (name, function, slope, first, last) in cases {
            let x = Float64::linspace(first, last, 10);
            let wanted: Vec<f64> = x.to_vec().unwrap().into_iter().map(slope).collect();
            let got = ad::grad(|x: &Float64| function(x).sum())(&x).unwrap().to_vec().unwrap();
            crate::assert_near(name, &got, &wanted, 1e-11);
        }
    });
}

// rows: A091
#[test]
fn gradients_are_replaced_by_those_of_other_values() {
    on_each_device(|| {
        let (x, y) = (variable(&[1.0, 2.0, 3.0]), variable(&[5.0]));
        let both = x.detach().replace_grad(&(&x * 10.0));
        both.backward().unwrap();
        assert_eq!((both.to_vec().unwrap(), grad(&x)), (vec![1.0, 2.0, 3.0], vec![10.0; 3]));
        // A value of width 1 gets the sum of all lanes, and lends its value to all.
        let wide = Float::from([1.0, 2.0, 3.0]).replace_grad(&y);
        wide.backward().unwrap();
        assert_eq!((wide.to_vec().unwrap(), one(&y)), (vec![1.0, 2.0, 3.0], 3.0));
        x.clear_grad();
        let narrow = Float::from(7.0).replace_grad(&x);
        narrow.backward().unwrap();
        assert_eq!((narrow.to_vec().unwrap(), grad(&x)), (vec![7.0; 3], vec![1.0; 3]));
        assert!(catch_unwind(AssertUnwindSafe(|| Float::from([1.0, 2.0]).replace_grad(&x))).is_err());
    });
}

/// Normalises, and passes the flow on doubled.
struct Exchanged;

impl CustomOp for Exchanged {
    type Input = (Float, Float);
    type Output = (Float, Float);
    type Saved = ();

    fn forward(&self, (a, b): &(Float, Float)) -> ((Float, Float), ()) {
        ((b.clone(), a.clone()), ())
    }

    fn backward(&self, (): &(), (a, b): &(Float, Float)) -> jit::Result<(Float, Float)> {
        Ok((b.clone(), a.clone()))
    }

    fn jvp(&self, (): &(), (a, b): &(Float, Float)) -> jit::Result<(Float, Float)> {
        Ok((b.clone(), a.clone()))
    }
}

// rows: A100 A103 A112
#[test]
fn an_operation_of_two_inputs_and_outputs_exchanges_gradients() {
    on_each_device(|| {
        let (a, b) = (variable(&[1.0]), variable(&[2.0]));
        let (c, d) = custom(Exchanged, &(a.clone(), b.clone()));
        assert_eq!((c.item().unwrap(), d.item().unwrap()), (2.0, 1.0));
        a.set_grad(&Float::from(10.0));
        b.set_grad(&Float::from(20.0));
        let (c_flow, d_flow) = ad::forward_to(&(c.clone(), d.clone())).unwrap();
        assert_eq!((c_flow.item().unwrap(), d_flow.item().unwrap()), (20.0, 10.0));
        a.clear_grad();
        b.clear_grad();
        c.set_grad(&Float::from(10.0));
        d.set_grad(&Float::from(20.0));
        ad::backward_from(&(c, d)).unwrap();
        assert_eq!((one(&a), one(&b)), (20.0, 10.0));
    });
}

// rows: A119 A134 A135 A136 A137
#[test]
fn components_of_structures_are_variables_of_their_own() {
    on_each_device(|| {
        let x: Vec<Float> = (0..3).map(|i| variable(&[i as f32, 1.0])).collect();
        let doubled: Vec<Float> = x.iter().map(|x| 2.0 * x).collect();
        ad::backward(&doubled).unwrap();
        assert!(x.iter().all(|x| grad(x) == [2.0, 2.0]));
        let mut q = Quaternion::<f32>::from([1.0, 2.0, 3.0, 4.0]);
        q.y.enable_grad();
        let doubled = &q + &q;
        assert!(!doubled.x.grad_enabled() && doubled.y.grad_enabled());
        ad::forward_from(&q).unwrap();
        assert_eq!([&doubled.x, &doubled.y, &doubled.z, &doubled.w].map(one), [0.0, 2.0, 0.0, 0.0]);
        q.y.clear_grad();
        doubled.y.clear_grad();
        ad::backward_from(&doubled).unwrap();
        assert_eq!([&q.x, &q.y, &q.z, &q.w].map(one), [0.0, 2.0, 0.0, 0.0]);
        let mut z = Complex::<f32>::from([1.0, 2.0]);
        z.im.enable_grad();
        let doubled = &z + &z;
        ad::forward_from(&z).unwrap();
        assert_eq!((one(&doubled.re), one(&doubled.im)), (0.0, 2.0));
        z.im.clear_grad();
        doubled.im.clear_grad();
        ad::backward_from(&doubled).unwrap();
        assert_eq!((one(&z.re), one(&z.im)), (0.0, 2.0));
    });
}
