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

/// The logistic function, whose derivative reads its result.
struct Logistic;

impl CustomOp for Logistic {
    type Input = Float64;
    type Output = Float64;
    type Saved = Float64;

    fn forward(&self, x: &Float64) -> (Float64, Float64) {
        let y = x.sigmoid();
        (y.clone(), y)
    }

    fn backward(&self, y: &Float64, gradient: &Float64) -> jit::Result<Float64> {
        Ok(gradient * y * (1.0 - y))
    }

    fn jvp(&self, y: &Float64, tangent: &Float64) -> jit::Result<Float64> {
        Ok(tangent * y * (1.0 - y))
    }
}

/// Sine and cosine, each of which is the derivative of the other.
struct SinCos;

impl CustomOp for SinCos {
    type Input = Float64;
    type Output = (Float64, Float64);
    type Saved = (Float64, Float64);

    fn forward(&self, x: &Float64) -> (Self::Output, Self::Saved) {
        let both = x.sin_cos();
        (both.clone(), both)
    }

    fn backward(&self, (sin, cos): &Self::Saved, (of_sin, of_cos): &Self::Output) -> jit::Result<Float64> {
        Ok(of_sin * cos - of_cos * sin)
    }

    fn jvp(&self, (sin, cos): &Self::Saved, tangent: &Float64) -> jit::Result<Self::Output> {
        Ok((tangent * cos, -tangent * sin))
    }
}

/// The square of the sine, whose derivative reads the sine, and a factor that does not depend on the argument.
struct SquareOfSine;

impl CustomOp for SquareOfSine {
    type Input = Float64;
    type Output = Float64;
    type Saved = (Float64, Float64);

    fn forward(&self, x: &Float64) -> (Float64, (Float64, Float64)) {
        let (sin, factor) = (x.sin(), Float64::linspace(1.0, 2.0, x.width()));
        (&sin * &sin * &factor, (sin, factor))
    }

    fn backward(&self, (sin, factor): &Self::Saved, gradient: &Float64) -> jit::Result<Float64> {
        Ok(gradient * 2.0 * factor * sin * (1.0 - sin * sin).sqrt())
    }

    fn jvp(&self, saved: &Self::Saved, tangent: &Float64) -> jit::Result<Float64> {
        self.backward(saved, tangent)
    }
}

#[jit]
fn repeated_logistic(x: &Float64) -> Float64 {
    let mut y = x.clone();
    let mut i = UInt::from(0);
    while i < 3 {
        y = custom(SinCos, &(custom(Logistic, &y) + x)).0;
        i += 1;
    }
    y
}

#[test]
fn derivatives_of_derivatives_flow_through_what_operations_save() {
    type Function = fn(&Float64) -> Float64;
    let functions: [(&str, Function); 4] = [
        ("a result", |x| custom(Logistic, x)),
        // The cosine is dropped before its gradient is asked for.
        ("another result", |x| custom(SinCos, x).0),
        ("between", |x| custom(SquareOfSine, x)),
        ("in a loop", repeated_logistic),
    ];
    on_each_device(|| {
        for (name, function) in functions {
            crate::loop_writes::check_both_orders(name, &function, &[0.3, 0.9, 1.2]);
        }
    });
}

#[test]
fn gradients_flow_to_what_checkpoints_capture() {
    on_each_device(|| {
        let of = |is_kept: bool| {
            move |(a, x): &(Float64, Float64)| {
                let b = a.sin();
                let f = move |x: &Float64| (x * &b).sin() * &b;
                if is_kept { ad::checkpoint(f, x).sum() } else { f(x).sum() }
            }
        };
        let at = (Float64::from([0.7]), Float64::from([0.3, 0.9]));
        let numbers = |of: (Float64, Float64)| [of.0.to_vec().unwrap(), of.1.to_vec().unwrap()].concat();
        let [wanted, got] = [false, true].map(|is_kept| numbers(ad::grad(of(is_kept))(&at).unwrap()));
        crate::assert_close(&got, &wanted, 1e-12);
        let tangent = (Float64::from([2.0]), Float64::from([1.0, -1.0]));
        let [wanted, got] = [false, true].map(|is_kept| numbers(ad::hvp(of(is_kept), &at, &tangent).unwrap()));
        crate::assert_close(&got, &wanted, 1e-12);
        let [wanted, got] = [false, true].map(|is_kept| ad::jvp(of(is_kept), &at, &tangent).unwrap().1.item().unwrap());
        crate::assert_close(&[got], &[wanted], 1e-12);
        // Only a variable that is captured.
        let mut a = Float64::from([0.5]);
        a.enable_grad();
        let b = &a * 2.0;
        ad::checkpoint(move |x: &Float64| x * &b, &Float64::from([3.0, 4.0])).sum().backward().unwrap();
        assert_eq!(a.grad().item().unwrap(), 14.0);
    });
}

#[test]
fn a_checkpoint_in_a_traced_loop_that_captures_what_carries_gradients_is_refused() {
    #[jit]
    fn captures(x: &Float64, a: &Float64) -> Float64 {
        let mut y = x.clone();
        let mut i = UInt::from(0);
        while i < 2 {
            let a = a.clone();
            y = ad::checkpoint(move |y: &Float64| y * &a, &y);
            i += 1;
        }
        y
    }
    let mut a = Float64::from([0.5]);
    a.enable_grad();
    let panic = std::panic::catch_unwind(|| captures(&Float64::from([1.0, 2.0]), &a)).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("captures an array that carries gradients") && text.contains("custom.rs"), "{text}");
}

/// The root of `x³ + x = a` by Newton's method. Reads values and differentiates, in all of its functions.
struct Root;

fn cubic(x: &Float64) -> Float64 {
    x * x * x + x
}

impl Root {
    fn slope(x: &Float64) -> jit::Result<Float64> {
        x.eval()?;
        ad::grad(|x: &Float64| cubic(x).sum())(x)
    }
}

impl CustomOp for Root {
    type Input = Float64;
    type Output = Float64;
    type Saved = Float64;

    fn forward(&self, a: &Float64) -> (Float64, Float64) {
        let mut x = a.zeros_like();
        while (cubic(&x) - a).abs().reduce_max().item().unwrap() > 1e-12 {
            x = &x - (cubic(&x) - a) / Root::slope(&x).unwrap();
        }
        (x.clone(), x)
    }

    fn backward(&self, x: &Float64, gradient: &Float64) -> jit::Result<Float64> {
        gradient.eval()?;
        Ok(gradient / Root::slope(x)?)
    }

    fn jvp(&self, x: &Float64, tangent: &Float64) -> jit::Result<Float64> {
        self.backward(x, tangent)
    }
}

#[test]
fn operations_may_evaluate_and_differentiate() {
    on_each_device(|| {
        let function = |a: &Float64| custom(Root, &(a * a)) * a;
        crate::loop_writes::check_both_orders("root", &function, &[0.3, 0.9, 1.2]);
    });
}

#[test]
fn functions_are_differentiated_where_gradients_are_suspended() {
    on_each_device(|| {
        let mut x = Float64::from([2.0, 3.0]);
        x.enable_grad();
        let (slope, curvature) = ad::suspend(|| {
            let slope = ad::grad(|x: &Float64| (x * x * x).sum());
            (slope(&x).unwrap(), ad::hvp(|x: &Float64| (x * x * x).sum(), &x, &x).unwrap())
        });
        assert!(!slope.grad_enabled() && !curvature.grad_enabled());
        assert_eq!((slope.to_vec().unwrap(), curvature.to_vec().unwrap()), (vec![12.0, 27.0], vec![24.0, 54.0]));
    });
}

/// Its derivative makes a variable, which nothing can be there.
struct Forgetful;

impl CustomOp for Forgetful {
    type Input = Float64;
    type Output = Float64;
    type Saved = Float64;

    fn forward(&self, x: &Float64) -> (Float64, Float64) {
        (x * x, x.clone())
    }

    fn backward(&self, x: &Float64, gradient: &Float64) -> jit::Result<Float64> {
        let mut x = x.detach();
        x.enable_grad();
        (&x * &x * gradient).sum().backward()?;
        Ok(x.grad())
    }
}

#[test]
fn a_traversal_without_variables_says_what_to_write_there() {
    let mut x = Float64::from([2.0]);
    x.enable_grad();
    let error = custom(Forgetful, &x).backward().unwrap_err().to_string();
    assert!(error.contains("`ad::resume`") && error.contains("custom.rs"), "{error}");
    let of_argument = ad::grad(|x: &Float64| {
        let mut y = x * 2.0;
        y.enable_grad();
        let error = (&y * &y).backward().unwrap_err().to_string();
        assert!(error.contains("`detach()` an array before `enable_grad`"), "{error}");
        y
    });
    assert_eq!(of_argument(&Float64::from([2.0])).unwrap().item().unwrap(), 2.0);
}

/// Multiplies by a field.
struct Times(Float);

impl CustomOp for Times {
    type Input = Float;
    type Output = Float;
    type Saved = ();

    fn name(&self) -> &str {
        "times"
    }

    fn forward(&self, x: &Float) -> (Float, ()) {
        (x * &self.0, ())
    }

    fn backward(&self, (): &(), gradient: &Float) -> jit::Result<Float> {
        Ok(gradient * self.0.detach())
    }
}

/// Nothing flows to arrays in fields of an operation, which was not said anywhere.
#[test]
fn an_array_with_gradients_in_a_field_of_an_operation_causes_a_warning() {
    let test = "custom::an_array_with_gradients_in_a_field_of_an_operation_causes_a_warning";
    if let Some(text) = crate::process::alone(test, "") {
        let warning = "`times` reads an array that carries gradients and is not part of its input: nothing flows to it";
        assert_eq!(text.matches(warning).count(), 1, "{text}");
        assert!(text.contains("tests/autodiff/custom.rs"), "{text}");
        return;
    }
    jit::set_log_level(jit::Level::Warn);
    let (mut x, mut k) = (Float::from([2.0, 3.0]), Float::from(5.0));
    x.enable_grad();
    // A constant, and one that says so, are none to warn of.
    custom(Times(k.clone()), &x).backward().unwrap();
    k.enable_grad();
    custom(Times(k.detach()), &x).backward().unwrap();
    assert_eq!(x.grad().to_vec().unwrap(), [10.0, 10.0]);
    custom(Times(k.clone()), &x).backward().unwrap();
    custom(Times(&k * 2.0), &x).backward().unwrap();
    assert_eq!((x.grad().to_vec().unwrap(), k.grad().item().unwrap()), (vec![25.0, 25.0], 0.0));
}

/// An expression without gradients was recorded again at other lanes, where those of its operands seemed to end.
#[test]
fn a_product_with_a_transposed_expression_warned_of_an_array_that_it_had_not_captured() {
    let test = "custom::a_product_with_a_transposed_expression_warned_of_an_array_that_it_had_not_captured";
    if let Some(text) = crate::process::alone(test, "") {
        assert!(!text.contains("is not part of its input"), "{text}");
        return;
    }
    jit::set_log_level(jit::Level::Warn);
    let mut x = Float::from([1.0, 2.0, 3.0]);
    x.enable_grad();
    let (a, b) = (Tensor::from_array(x.clone(), [3, 1]), Tensor::from_array(&x * &x, [3, 1]));
    a.matmul(&b.transpose()).into_array().sum().backward().unwrap();
    // Of the sum of x_i y_j², by x and by y.
    assert_eq!(x.grad().to_vec().unwrap(), [26.0, 38.0, 50.0]);
}
