//! Variables and traversals.

use jit::ad::{self, Keep, Mode};
use jit::prelude::*;

use crate::on_each_device;

#[test]
fn variables_are_what_was_enabled() {
    let mut x = Float::from([1.0, 2.0]);
    let copy = x.clone();
    assert!(!x.grad_enabled());
    x.enable_grad();
    assert!(x.grad_enabled() && (&x + 1.0).grad_enabled() && !copy.grad_enabled());
    assert!(!x.detach().grad_enabled() && !(&x * 2.0).detach().grad_enabled());
    assert!(!x.gt(1.0).select(Float::from(1.0), Float::from(2.0)).grad_enabled() && !x.floor().grad_enabled());
    assert!(!x.cast::<i32>().cast::<f32>().grad_enabled());
    let mut count = UInt::from([1, 2]);
    count.enable_grad();
    assert!(!count.grad_enabled());
    x.disable_grad();
    assert!(!x.grad_enabled());
    assert_eq!(x.to_vec().unwrap(), [1.0, 2.0]);
    // A constant becomes a variable, and does not fold.
    let mut one = Float::from(1.0);
    one.enable_grad();
    let y = &one * 0.0 + 3.0;
    assert!(y.grad_enabled());
    assert_eq!(y.item().unwrap(), 3.0);
}

#[test]
fn gradients_are_stored_added_and_cleared() {
    on_each_device(|| {
        let (mut a, mut b) = (Float::from([1.0]), Float::from([3.0]));
        a.enable_grad();
        b.enable_grad();
        let c = 2.0 * &a + &b;
        ad::backward_keep(&c).unwrap();
        assert_eq!((a.grad().item().unwrap(), b.grad().item().unwrap()), (2.0, 1.0));
        c.backward().unwrap();
        assert_eq!((a.grad().item().unwrap(), b.grad().item().unwrap()), (4.0, 2.0));
        let error = c.backward().unwrap_err();
        assert!(error.to_string().contains("gradients have flowed through it before"), "{error}");
        assert_eq!(a.grad().item().unwrap(), 4.0);
        a.clear_grad();
        assert_eq!(a.grad().item().unwrap(), 0.0);
        a.set_grad(&Float::from(5.0));
        a.accum_grad(&Float::from([1.0]));
        assert_eq!(a.grad().item().unwrap(), 6.0);
        a.accum_grad(&Float::from([1.0, 2.0, 3.0]));
        assert_eq!(a.grad().item().unwrap(), 12.0);
        assert!(!a.grad().grad_enabled());
        Float::from([1.0]).set_grad(&Float::from([1.0]));
        let error = Float::from([1.0]).backward().unwrap_err();
        assert!(error.to_string().contains("does not depend on a variable"), "{error}");
    });
}

#[test]
#[should_panic(expected = "a gradient of width 2 does not belong to an array of width 3")]
fn gradients_of_other_widths_are_refused() {
    let mut x = Float::from([1.0, 2.0, 3.0]);
    x.enable_grad();
    x.set_grad(&Float::from([1.0, 2.0]));
}

#[test]
fn several_results_begin_with_their_gradients() {
    on_each_device(|| {
        let (mut x, mut y) = (Float::from(2.0), Float::from(3.0));
        x.enable_grad();
        y.enable_grad();
        let (product, sum) = (&x * &y, &x + &y);
        product.set_grad(&Float::from(2.0));
        sum.set_grad(&Float::from(3.0));
        ad::enqueue(Mode::Backward, &product);
        ad::enqueue(Mode::Backward, &sum);
        ad::traverse(Mode::Backward, Keep::Nothing).unwrap();
        assert_eq!((x.grad().item().unwrap(), y.grad().item().unwrap()), (9.0, 7.0));
        ad::traverse(Mode::Backward, Keep::Nothing).unwrap();
        assert_eq!(x.grad().item().unwrap(), 9.0);
        let z = &x * &x;
        z.set_grad(&Float::from(1000.0));
        x.clear_grad();
        ad::backward_from(&z).unwrap();
        assert_eq!(x.grad().item().unwrap(), 4000.0);
    });
}

#[test]
fn tangents_flow_to_all_results() {
    on_each_device(|| {
        let (mut a, mut b) = (Float::from(1.0), Float::from(3.0));
        a.enable_grad();
        b.enable_grad();
        let c = 2.0 * &a + &b;
        a.forward().unwrap();
        assert_eq!(c.grad().item().unwrap(), 2.0);
        b.set_grad(&Float::from(100.0));
        ad::forward_from(&b).unwrap();
        assert_eq!(c.grad().item().unwrap(), 102.0);
        c.clear_grad();
        assert_eq!(c.grad().item().unwrap(), 0.0);
        let mut x = Float::from([3.0, 4.0]);
        x.enable_grad();
        x.set_grad(&Float::from([3.0, 4.0]));
        assert_eq!(ad::forward_to(&x.lt(3.5).select(&x, &x * 1.0)).unwrap().to_vec().unwrap(), [3.0, 4.0]);
        assert!(ad::forward_to(&Float::from(1.0)).is_err());
        let y = &x * &x;
        let sum = (&y * 2.0).sum();
        assert_eq!(ad::backward_to(&sum, &y).unwrap().to_vec().unwrap(), [2.0, 2.0]);
        assert_eq!(ad::backward_to(&sum, &x).unwrap().to_vec().unwrap(), [12.0, 16.0]);
        assert_eq!(x.grad().to_vec().unwrap(), [3.0, 4.0]);
    });
}

// rows: A020
#[test]
fn tangents_of_two_traversals_add_up_at_each_value() {
    on_each_device(|| {
        let mut v0 = Float::from(1.0);
        v0.enable_grad();
        let v1 = &v0 / 2.0;
        let v2 = &v0 + &v1;
        let tangents = || [&v0, &v1, &v2].map(|v| v.grad().item().unwrap());
        v0.accum_grad(&Float::from(1.0));
        ad::forward_from(&v0).unwrap();
        assert_eq!(tangents(), [1.0, 0.5, 1.5]);
        v0.accum_grad(&Float::from(100.0));
        ad::forward_from(&v0).unwrap();
        // What the second one adds at a value between does not depend on what was there.
        assert_eq!(tangents(), [101.0, 0.5 + 50.5, 1.5 + 151.5]);
        v1.clear_grad();
        v2.clear_grad();
        v0.set_grad(&Float::from(100.0));
        ad::forward_from(&v0).unwrap();
        assert_eq!(tangents(), [100.0, 50.0, 150.0]);
    });
}

// rows: A201
#[test]
fn gradients_of_values_between_are_asked_for_and_not_stored() {
    on_each_device(|| {
        let mut x = Float::from([3.0, 4.0]);
        x.enable_grad();
        let y = &x * &x;
        let sum = (&y * 2.0).sum();
        for _ in 0..2 {
            let (of_x, of_y) = ad::backward_to(&sum, &(x.clone(), y.clone())).unwrap();
            assert_eq!((of_x.to_vec().unwrap(), of_y.to_vec().unwrap()), (vec![12.0, 16.0], vec![2.0, 2.0]));
        }
        ad::backward_keep(&sum).unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [12.0, 16.0]);
        sum.backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [24.0, 32.0]);
    });
}

#[test]
fn suspended_code_carries_no_gradients() {
    on_each_device(|| {
        let mut x = Float::from([2.0]);
        x.enable_grad();
        let attached = &x * &x;
        let (inside, resumed) = ad::suspend(|| {
            let mut other = Float::from(1.0);
            other.enable_grad();
            assert!(!other.grad_enabled());
            (&x * &x, ad::resume(|| &x * &x))
        });
        assert!(attached.grad_enabled() && !inside.grad_enabled() && resumed.grad_enabled());
        assert!(!(&inside + 1.0).grad_enabled());
        assert!((&x * &x).grad_enabled());
        (&attached + &inside + &resumed).backward().unwrap();
        assert_eq!(x.grad().item().unwrap(), 8.0);
    });
}

#[test]
fn values_take_gradients_of_others() {
    on_each_device(|| {
        let mut x = Float::from([0.2, 1.7]);
        x.enable_grad();
        let y = x.round().replace_grad(&(&x * 3.0));
        assert_eq!(y.to_vec().unwrap(), [0.0, 2.0]);
        y.backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [3.0, 3.0]);
    });
}

/// The moment of an evaluation changes nothing: each subset of the values between is evaluated before the traversal.
// rows: A206
#[test]
fn gradients_do_not_depend_on_what_was_evaluated() {
    on_each_device(|| {
        let mut wanted: Option<(Vec<f32>, Vec<f32>)> = None;
        for evaluated in 0..64_u32 {
            let (mut x, mut s) = (Float::linspace(0.3, 1.8, 33), Float::from(0.7));
            x.enable_grad();
            s.enable_grad();
            let a = &x * &s;
            let b = a.sin() + &x;
            let c = b.sum() * &s;
            let d = b.gather(&UInt::from([3, 3, 5, 32])) * &c;
            let e = (&d * &d).prefix_sum();
            let values = [&a, &b, &c, &d, &e, &x];
            for (position, value) in values.iter().enumerate() {
                if evaluated >> position & 1 != 0 {
                    jit::eval(*value).unwrap();
                }
            }
            e.backward().unwrap();
            let got = (x.grad().to_vec().unwrap(), s.grad().to_vec().unwrap());
            let wanted = wanted.get_or_insert_with(|| got.clone());
            let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 2e-5 * (1.0 + b.abs()));
            assert!(close(&got.0, &wanted.0) && close(&got.1, &wanted.1), "{evaluated}: {got:?} {wanted:?}");
        }
    });
}

/// The example of Enoki's documentation: a rotation of one vector onto another, found by gradient descent.
#[test]
fn a_rotation_is_found_with_the_losses_of_the_original() {
    const LOSSES: [f32; 20] = [
        1.34063, 1.23344, 1.12665, 1.02798, 0.944683, 0.880629, 0.834547, 0.801267, 0.774724, 0.749981, 0.723563,
        0.693001, 0.656309, 0.611636, 0.557064, 0.490535, 0.409876, 0.312961, 0.198104, 0.0653567,
    ];
    type Vector = [Float; 3];
    let dot = |a: &Vector, b: &Vector| &a[0] * &b[0] + &a[1] * &b[1] + &a[2] * &b[2];
    let normalized = |a: &Vector| {
        let scale = dot(a, a).rsqrt();
        [&a[0] * &scale, &a[1] * &scale, &a[2] * &scale]
    };
    let cross = |a: &Vector, b: &Vector| -> Vector {
        [&a[1] * &b[2] - &a[2] * &b[1], &a[2] * &b[0] - &a[0] * &b[2], &a[0] * &b[1] - &a[1] * &b[0]]
    };
    let vector = |v: [f32; 3]| v.map(Float::from);
    on_each_device(|| {
        let (from, to) = (normalized(&vector([2.0, 1.0, 3.0])), normalized(&vector([-1.0, 2.0, 3.0])));
        let (mut axis, mut angle) = (vector([1.0, 0.0, 0.0]), Float::from(1.0));
        for wanted in LOSSES {
            axis.iter_mut().for_each(Float::enable_grad);
            angle.enable_grad();
            let unit = normalized(&axis);
            let (sin, cos) = angle.sin_cos();
            let (turned, along) = (cross(&unit, &from), dot(&unit, &from) * (1.0 - &cos));
            let moved: Vector = [0, 1, 2].map(|i| &from[i] * &cos + &turned[i] * &sin + &unit[i] * &along);
            let rest: Vector = [0, 1, 2].map(|i| &moved[i] - &to[i]);
            let loss = dot(&rest, &rest).sqrt();
            loss.backward().unwrap();
            let got = loss.item().unwrap();
            assert!((got - wanted).abs() < 2e-5 * (1.0 + wanted), "{got} instead of {wanted}");
            axis = normalized(&axis.map(|a| a.detach() - 0.2 * a.grad()));
            angle = angle.detach() - 0.2 * angle.grad();
        }
    });
}

#[freeze]
fn descend(x: &Float, target: &Float, rate: &Float) -> (Float, Float) {
    let mut x = x.clone();
    x.enable_grad();
    let rest = x.sin() - target;
    let loss = (&rest * &rest).sum();
    loss.backward().expect("the loss depends on x");
    (x.detach() - rate * x.grad(), loss)
}

#[test]
fn steps_with_gradients_are_frozen() {
    on_each_device(|| {
        descend::clear();
        for width in [4_usize, 4, 9] {
            let (mut x, target) = (Float::full(0.5, width), Float::full(0.9, width));
            let mut loss = Float::from(0.0);
            for _ in 0..200 {
                (x, loss) = descend(&x, &target, &Float::from(0.3));
            }
            assert!(loss.item().unwrap() < 1e-6, "{loss:?}");
            assert!((x.get(0).unwrap() - 0.9_f32.asin()).abs() < 2e-3);
        }
        assert!(descend::stats().recordings <= 3, "{:?}", descend::stats());
    });
}

#[jit]
fn powers(x: &Float, n: &UInt) -> Float {
    let (mut y, mut i) = (x.ones_like(), n.zeros_like());
    #[evaluated]
    while i < n {
        y *= x;
        i += 1;
    }
    y
}

#[test]
fn evaluated_loops_pass_gradients() {
    on_each_device(|| {
        let mut x = Float::full(2.0, 4);
        x.enable_grad();
        let y = powers(&x, &UInt::from([1, 2, 3, 4]));
        assert_eq!(y.to_vec().unwrap(), [2.0, 4.0, 8.0, 16.0]);
        y.backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [1.0, 4.0, 12.0, 32.0]);
    });
}
