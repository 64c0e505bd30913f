//! Operations with derivatives of their own, and checkpoints.

use jit::ad::{self, CustomOp, custom};
use jit::prelude::*;

use crate::on_each_device;

/// Exchanges two arrays; its derivative counts ten and twenty times.
struct Swap;

impl CustomOp for Swap {
    type Input = (Float, Float);
    type Output = (Float, Float);
    type Saved = Float;

    fn name(&self) -> &str {
        "swap"
    }

    fn forward(&self, (a, b): &(Float, Float)) -> ((Float, Float), Float) {
        assert!(!a.grad_enabled());
        ((b.clone(), a.clone()), a + b)
    }

    fn backward(&self, saved: &Float, (a, b): &(Float, Float)) -> jit::Result<(Float, Float)> {
        Ok((b * 10.0 * saved, a * 20.0 * saved))
    }

    fn jvp(&self, saved: &Float, (a, b): &(Float, Float)) -> jit::Result<(Float, Float)> {
        Ok((b * 20.0 * saved, a * 10.0 * saved))
    }
}

struct Refuses;

impl CustomOp for Refuses {
    type Input = Float;
    type Output = Float;
    type Saved = ();

    fn forward(&self, x: &Float) -> (Float, ()) {
        (x * 2.0, ())
    }

    fn backward(&self, _: &(), gradient: &Float) -> jit::Result<Float> {
        Ok(gradient.tile(3))
    }
}

#[test]
fn derivatives_of_custom_operations_are_what_they_say() {
    on_each_device(|| {
        let (mut a, mut b) = (Float::from([1.0]), Float::from([2.0]));
        a.enable_grad();
        b.enable_grad();
        let (first, second) = custom(Swap, &(a.clone(), b.clone()));
        assert_eq!((first.item().unwrap(), second.item().unwrap()), (2.0, 1.0));
        ad::backward_keep(&(&first + 2.0 * &second)).unwrap();
        assert_eq!((a.grad().item().unwrap(), b.grad().item().unwrap()), (60.0, 60.0));
        // Only one of the results.
        a.clear_grad();
        b.clear_grad();
        second.backward().unwrap();
        assert_eq!((a.grad().item().unwrap(), b.grad().item().unwrap()), (30.0, 0.0));
        let x = (Float::from([1.0]), Float::from([2.0]));
        let seed = (Float::from([1.0]), Float::from([0.0]));
        let (_, tangents) = ad::jvp(|x: &(Float, Float)| custom(Swap, x), &x, &seed).unwrap();
        assert_eq!((tangents.0.item().unwrap(), tangents.1.item().unwrap()), (0.0, 30.0));
    });
}

// rows: A109 A110
#[test]
fn wrong_derivatives_are_errors_that_change_nothing() {
    on_each_device(|| {
        let mut x = Float::from([1.0, 2.0]);
        x.enable_grad();
        let error = custom(Refuses, &x).backward().unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("the derivative of `custom operation` has 6 elements of f32 where 2 of f32 belong"),
            "{text}"
        );
        assert_eq!(x.grad().to_vec().unwrap(), [0.0, 0.0]);
        let Err(error) = ad::jvp(|x: &Float| custom(Refuses, x), &x, &Float::from(1.0)) else {
            panic!("no forward mode")
        };
        assert!(error.to_string().contains("has no forward mode"), "{error}");
        (&x * 3.0).backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [3.0, 3.0]);
    });
}

#[test]
fn checkpoints_are_computed_again() {
    on_each_device(|| {
        let f = |x: &Float64| x.sin() * x;
        let x = Float64::from([0.3, 0.9]);
        let plain = ad::grad(move |x: &Float64| f(x).sum());
        let kept = ad::grad(move |x: &Float64| ad::checkpoint(f, x).sum());
        assert_eq!(plain(&x).unwrap().to_vec().unwrap(), kept(&x).unwrap().to_vec().unwrap());
        let second = ad::grad(|x: &Float64| kept(x).unwrap().sum());
        let wanted = ad::grad(|x: &Float64| plain(x).unwrap().sum());
        let (got, wanted) = (second(&x).unwrap().to_vec().unwrap(), wanted(&x).unwrap().to_vec().unwrap());
        got.iter().zip(&wanted).for_each(|(got, wanted)| assert!((got - wanted).abs() < 1e-12, "{got} {wanted}"));
        let (_, tangent) = ad::jvp(move |x: &Float64| ad::checkpoint(f, x), &x, &Float64::from(1.0)).unwrap();
        assert_eq!(tangent.to_vec().unwrap(), plain(&x).unwrap().to_vec().unwrap());
    });
}

/// Two results of one operation hold its inputs once.
#[test]
fn gradients_of_variables_that_the_program_holds_are_not_freed() {
    on_each_device(|| {
        let (mut a, mut b) = (Float::from([1.0]), Float::from([2.0]));
        a.enable_grad();
        b.enable_grad();
        let (first, second) = custom(Swap, &(a.clone(), b.clone()));
        // The gradients refer to the results, and these to the variables.
        ad::backward_keep(&(&first * &second)).unwrap();
        drop((first, second));
        for _ in 0..100 {
            let mut other = Float::from([1.0]);
            other.enable_grad();
            (&other * &other).backward().unwrap();
        }
        assert_eq!((a.grad().item().unwrap(), b.grad().item().unwrap()), (60.0, 60.0));
    });
}
