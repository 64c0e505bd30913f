//! Derivatives at the kinks of the table in docs/autodiff.md, for each element type.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use jit::linalg::{Complex, Mat2, Quaternion, Vec2, Vec3};
use jit::prelude::*;
use jit::{FloatElement, ad, bf16, f16};

use crate::on_each_device;

fn number<T: FloatElement>(value: f64) -> Array<T> {
    Float64::from(value).cast()
}

/// The derivative of a function at two equal elements, by the first of them: in reverse mode, in forward mode, and by
/// `grad`.
fn derivatives<T: FloatElement>(function: impl Fn(&Array<T>) -> Array<T>, at: f64) -> [f64; 3] {
    let x = Float64::from([at, at]).cast::<T>();
    let mut variable = x.clone();
    variable.enable_grad();
    function(&variable).backward().unwrap();
    let tangent = ad::jvp(&function, &x, &number(1.0)).unwrap().1;
    let gradient = ad::grad(|x: &Array<T>| function(x))(&x).unwrap();
    [variable.grad(), tangent, gradient].map(|value| value.cast::<f64>().get(0).unwrap())
}

/// Compares with what the table says, to the digits of a type.
fn check<T: FloatElement>(name: &str, function: impl Fn(&Array<T>) -> Array<T>, at: f64, wanted: f64) {
    let tolerance = wanted.abs() * [2e-2, 1e-5, 1e-12][(T::TYPE.bits() / 32) as usize];
    for (mode, found) in ["backward", "jvp", "grad"].into_iter().zip(derivatives(function, at)) {
        let is_near = found == wanted || found.is_nan() && wanted.is_nan() || (found - wanted).abs() <= tolerance;
        assert!(is_near, "{name} of {}, {mode}: {found} and not {wanted}", T::TYPE);
    }
}

fn check_all<T: FloatElement>() {
    let n = number::<T>;
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    check::<T>("abs", |x| x.abs(), 0.0, 0.0);
    check::<T>("abs", |x| x.abs(), nan, nan);
    check::<T>("abs", |x| x.abs(), -inf, -1.0);
    check::<T>("max, first of equals", |x| x.max(n(0.0)), 0.0, 1.0);
    check::<T>("max, second of equals", |x| n(0.0).max(x), 0.0, 0.0);
    check::<T>("min, first of equals", |x| x.min(n(0.0)), 0.0, 1.0);
    check::<T>("min, second of equals", |x| n(0.0).min(x), 0.0, 0.0);
    check::<T>("fmax, second of equals", |x| n(2.0).fmax(x), 2.0, 0.0);
    check::<T>("fmin, second of equals", |x| n(2.0).fmin(x), 2.0, 0.0);
    check::<T>("max with NaN", |x| x.max(n(nan)), 1.0, nan);
    check::<T>("fmax with NaN", |x| x.fmax(n(nan)), 1.0, 1.0);
    check::<T>("fmin of NaN", |x| x.fmin(n(1.0)), nan, 0.0);
    check::<T>("clamp", |x| x.clamp(n(-1.0), n(1.0)), -1.0, 1.0);
    check::<T>("clamp", |x| x.clamp(n(-1.0), n(1.0)), 1.0, 1.0);
    check::<T>("clamp", |x| x.clamp(n(-1.0), n(1.0)), 2.0, 0.0);
    check::<T>("sqrt", |x| x.sqrt(), 0.0, inf);
    check::<T>("sqrt", |x| x.sqrt(), -1.0, nan);
    check::<T>("cbrt", |x| x.cbrt(), 0.0, inf);
    check::<T>("rsqrt", |x| x.rsqrt(), 0.0, -inf);
    check::<T>("recip", |x| x.recip(), 0.0, -inf);
    check::<T>("ln", |x| x.ln(), 0.0, inf);
    check::<T>("log10", |x| x.log10(), -1.0, nan);
    check::<T>("ln_1p", |x| x.ln_1p(), -1.0, inf);
    check::<T>("hypot", |x| x.hypot(x), 0.0, 0.0);
    check::<T>("hypot far away", |x| x.hypot(n(30000.0)), 30000.0, 0.5_f64.sqrt());
    check::<T>("atan2", |x| x.atan2(n(0.0)), 0.0, 0.0);
    check::<T>("atan2 far away", |x| x.atan2(n(32768.0)) * n(32768.0), 32768.0, 0.5);
    check::<T>("powf by the base", |x| x.powf(n(0.0)), 0.0, 0.0);
    check::<T>("powf by the exponent", |x| n(0.0).powf(x), 2.0, 0.0);
    check::<T>("powf of a negative base", |x| x.powf(n(3.0)), -2.0, 12.0);
    check::<T>("floor", |x| x.floor() * x, 2.5, 2.0);
    check::<T>("sign", |x| x.sign() * x, -1.5, -1.0);
    check::<T>("product of zeros", |x| x.product(), 0.0, 0.0);
    check::<T>("tgamma", |x| x.tgamma(), 2.0, 0.422_784_335_098_467_1);
    check::<T>("sigmoid", |x| x.sigmoid(), -inf, 0.0);
    check::<T>("asin", |x| x.asin(), 1.0, inf);
    check::<T>("acosh", |x| x.acosh(), 1.0, inf);
    check::<T>("erf", |x| x.erf(), 0.0, FRAC_2_SQRT_PI);
    check::<T>("erfinv", |x| x.erfinv(), 0.0, PI.sqrt() / 2.0);
    check::<T>("not chosen", |x| x.gt(n(0.0)).select(x.ln(), n(1.0)), 0.0, 0.0);
}

#[test]
fn kinks_have_the_documented_derivatives_in_each_element_type() {
    on_each_device(|| {
        check_all::<f16>();
        check_all::<bf16>();
        check_all::<f32>();
        check_all::<f64>();
    });
}

/// A maximum and the one with exchanged operands were one value, with the derivative of whichever was recorded first.
#[test]
fn the_second_of_equal_operands_got_the_gradient_of_an_earlier_maximum() {
    on_each_device(|| {
        let (mut a, mut b) = (Float64::from([1.0, 2.0, 5.0]), Float64::from([1.0, 3.0, 5.0]));
        a.enable_grad();
        b.enable_grad();
        let gradients = |y: &Float64| {
            ad::clear_grad(&(&a, &b));
            ad::backward_keep(y).unwrap();
            [&a, &b].map(|of| of.grad().to_vec().unwrap())
        };
        let (first, second, least) = (a.max(&b), b.max(&a), b.min(&a));
        assert_eq!(gradients(&first), [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]);
        assert_eq!(gradients(&second), [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]);
        assert_eq!(gradients(&least), [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]);
    });
}

/// The derivative of the root, infinite, was multiplied by zeros.
fn check_lengths<T: FloatElement>() {
    let pair = |x: &Array<T>| Vec2::new(x, x);
    let n = number::<T>;
    check::<T>("norm", |x| x.norm(), 0.0, 0.0);
    check::<T>("std", |x| x.std(), 3.0, 0.0);
    check::<T>("std_with", |x| x.std_with(1), 3.0, 0.0);
    check::<T>("norm of a vector", |x| pair(x).norm(), 0.0, 0.0);
    check::<T>("norm of a vector, elsewhere", |x| pair(x).norm(), 3.0, 2.0_f64.sqrt());
    check::<T>("distance", |x| Vec3::new(x, n(2.0), x).distance(Vec3::splat(n(2.0))), 2.0, 0.0);
    check::<T>("abs of a complex number", |x| Complex::new(x, x).abs(), 0.0, 0.0);
    check::<T>("norm of a quaternion", |x| Quaternion::new(x, x, n(0.0), x).norm(), 0.0, 0.0);
    check::<T>("norm of a matrix", |x| Mat2::from_rows([pair(x), pair(x)]).frobenius_norm(), 0.0, 0.0);
    let rows = |x: &Array<T>| Tensor::from_array(x.clone(), [1, 2]);
    check::<T>("norm along an axis", |x| rows(x).norm(1).into_array(), 0.0, 0.0);
    check::<T>("std along an axis", |x| rows(x).std(1, 0).into_array(), 3.0, 0.0);
}

#[test]
fn derivatives_of_lengths_at_zero_were_not_a_number() {
    on_each_device(|| {
        check_lengths::<f16>();
        check_lengths::<bf16>();
        check_lengths::<f32>();
        check_lengths::<f64>();
        let length = |x: &Float64| x.norm();
        let product = ad::hvp(length, &Float64::zeros(3), &Float64::from([1.0, 2.0, 3.0])).unwrap();
        assert_eq!(product.to_vec().unwrap(), [0.0; 3]);
    });
}
