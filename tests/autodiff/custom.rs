//! Operations with derivatives of their own, and checkpoints.

use std::panic::catch_unwind;

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

/// The product of two numbers, with gradients as wide as the product. A derivative of zero is refused by a panic.
struct Product;

impl CustomOp for Product {
    type Input = (Float64, Float64);
    type Output = Float64;
    type Saved = (Float64, Float64);

    fn forward(&self, (a, b): &(Float64, Float64)) -> (Float64, (Float64, Float64)) {
        (a * b, (a.clone(), b.clone()))
    }

    fn backward(&self, (a, b): &(Float64, Float64), gradient: &Float64) -> jit::Result<(Float64, Float64)> {
        Ok((gradient * b, gradient * a))
    }
}

#[jit]
fn product_of_powers(a: &Float64, x: &Float64) -> Float64 {
    let mut power = Float64::from(1.0);
    let mut k = UInt::from(0);
    while k < 3 {
        power = custom(Product, &(a.clone(), custom(Product, &(power, x.clone()))));
        k += 1;
    }
    power
}

#[test]
fn gradients_of_what_lanes_share_are_added() {
    on_each_device(|| {
        let (a, x) = (Float64::from([0.5]), Float64::from([1.0, 2.0, 3.0]));
        let (of_a, of_x) = ad::grad(|(a, x): &(Float64, Float64)| custom(Product, &(a.clone(), x.clone())).sum())(&(
            a.clone(),
            x.clone(),
        ))
        .unwrap();
        assert_eq!((of_a.to_vec().unwrap(), of_x.to_vec().unwrap()), (vec![6.0], vec![0.5; 3]));
        let slopes = ad::grad(|(a, x): &(Float64, Float64)| product_of_powers(a, x).sum())(&(a, x)).unwrap();
        assert_eq!(slopes.0.to_vec().unwrap(), [3.0 * 0.25 * 36.0]);
        assert_eq!(slopes.1.to_vec().unwrap(), [0.375, 1.5, 3.375]);
    });
}

/// The identity, whose derivative panics.
struct Panics;

impl CustomOp for Panics {
    type Input = Float64;
    type Output = Float64;
    type Saved = ();

    fn forward(&self, x: &Float64) -> (Float64, ()) {
        (x * 1.0, ())
    }

    fn backward(&self, (): &(), gradient: &Float64) -> jit::Result<Float64> {
        let _ = gradient.sum();
        panic!("this derivative panics");
    }
}

#[jit]
fn nested(panics: bool, x: &Float64) -> Float64 {
    let (mut power, mut other) = (x * 1.0, x.clone());
    let mut k = UInt::from(0);
    while k < 2 {
        let mut j = UInt::from(0);
        while j < 2 {
            #[host]
            if panics {
                power = custom(Panics, &power);
            }
            other = &power * 0.5;
            if other > 0.1 {
                power = &power * x;
            }
            j += 1;
        }
        k += 1;
    }
    power + other
}

#[test]
fn after_a_panic_in_a_derivative_of_loops_all_goes_on() {
    on_each_device(|| {
        let x = Float64::from([1.0, 2.0]);
        let slope = |panics: bool| ad::grad(move |x: &Float64| nested(panics, x).sum())(&x);
        let wanted = slope(false).unwrap().to_vec().unwrap();
        for _ in 0..2 {
            assert!(catch_unwind(|| drop(slope(true))).is_err());
            assert_eq!(slope(false).unwrap().to_vec().unwrap(), wanted);
            assert_eq!(nested(true, &x).to_vec().unwrap(), nested(false, &x).to_vec().unwrap());
        }
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

/// Whether an operation of a loop is a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kept {
    All,
    Arguments,
}

impl Kept {
    fn run<X: Traverse + Clone + Send + Sync + 'static, Y: Traverse + Clone + Send + Sync + 'static>(
        self,
        f: fn(&X) -> Y,
        x: &X,
    ) -> Y {
        match self {
            Kept::All => f(x),
            Kept::Arguments => ad::checkpoint(f, x),
        }
    }
}

/// The state that is added to is constant at first.
#[jit]
fn of_another_state(x: &Float64, #[constexpr] kept: Kept) -> Float64 {
    let (mut sum, mut m, mut k) = (Float64::from(0.0), x.clone(), UInt::from(0));
    while k < 3 {
        sum += kept.run(|m: &Float64| m.sin(), &m);
        m *= 1.1;
        k += 1;
    }
    sum
}

#[jit]
fn of_a_state_and_a_variable(x: &Float64, #[constexpr] kept: Kept) -> Float64 {
    let (mut sum, mut k) = (Float64::from(0.0), UInt::from(0));
    while k < 3 {
        sum = kept.run(|(sum, x): &(Float64, Float64)| sum * 0.5 + x.sin(), &(sum.clone(), x.clone()));
        k += 1;
    }
    sum
}

#[jit]
fn of_elements(x: &Float64, #[constexpr] kept: Kept) -> Float64 {
    let (mut sum, mut k) = (Float64::zeros(2), UInt::from(0));
    while k < 2 {
        sum += kept.run(|x: &Float64| x.exp(), &x[k]);
        k += 1;
    }
    sum
}

#[jit]
fn of_elements_that_are_added(x: &Float64, #[constexpr] kept: Kept) -> Float64 {
    let (mut sums, mut k) = (Float64::zeros(2), UInt::from(0));
    while k < 2 {
        sums[k] += kept.run(|x: &Float64| x.cos(), x) * 2.0;
        k += 1;
    }
    sums
}

#[jit]
fn in_a_loop_in_a_branch(x: &Float64, #[constexpr] kept: Kept) -> Float64 {
    let (mut sum, mut k) = (Float64::from(0.0), UInt::from(0));
    while k < 3 {
        if x > 0.7 {
            let mut j = UInt::from(0);
            while j < 2 {
                sum += kept.run(|x: &Float64| x.sin() * x, x);
                j += 1;
            }
        }
        k += 1;
    }
    sum
}

#[test]
fn checkpoints_in_recorded_loops_have_the_derivatives_of_the_operations() {
    type Program = fn(&Float64, Kept) -> Float64;
    let programs: [Program; 5] = [
        |x, kept| of_another_state(x, kept),
        |x, kept| of_a_state_and_a_variable(x, kept),
        |x, kept| of_elements(x, kept),
        |x, kept| of_elements_that_are_added(x, kept),
        |x, kept| in_a_loop_in_a_branch(x, kept),
    ];
    let (point, tangent) = ([0.5, 1.0], [1.0, -2.0]);
    on_each_device(|| {
        for (number, program) in programs.into_iter().enumerate() {
            let of = |kept: Kept| {
                let f = move |x: &Float64| (program(x, kept) * Float64::from([1.0, 3.0])).sum();
                let gradient = ad::grad(f)(&Float64::from(point)).unwrap().to_vec().unwrap();
                let (_, slope) = ad::jvp(f, &Float64::from(point), &Float64::from(tangent)).unwrap();
                let mut x = Float64::from(point);
                x.enable_grad();
                assert!(program(&x, kept).grad_enabled(), "{number}");
                (gradient, slope.item().unwrap())
            };
            let ((wanted, wanted_slope), (gradient, slope)) = (of(Kept::All), of(Kept::Arguments));
            assert!(wanted.iter().any(|x| *x != 0.0));
            crate::assert_close(&gradient, &wanted, 1e-12);
            crate::assert_close(&[slope], &[wanted_slope], 1e-12);
            crate::assert_close(&[slope], &[wanted[0] * tangent[0] + wanted[1] * tangent[1]], 1e-12);
        }
    });
}
