//! Functions of floats: each of them on every element type, with corner cases, on each device.

use std::cell::RefCell;

use half::{bf16, f16};
use jit::prelude::*;
use jit::{Element, FloatElement};

use crate::devices::on_each_device;

/// A float that tests can compute with.
trait Number: FloatElement + Into<f64> {
    /// The distance from 1 to the next number.
    const EPSILON: f64;
}

impl Number for f16 {
    const EPSILON: f64 = 9.765_625e-4;
}

impl Number for bf16 {
    const EPSILON: f64 = 7.812_5e-3;
}

impl Number for f32 {
    const EPSILON: f64 = 1.192_092_9e-7;
}

impl Number for f64 {
    const EPSILON: f64 = f64::EPSILON;
}

/// Arguments at the corners of the functions, and some in between.
const CORNERS: [f64; 32] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    1.5,
    -1.5,
    4.5,
    -4.5,
    3.0,
    -3.0,
    8.0,
    27.0,
    100.0,
    -100.0,
    1000.0,
    -1000.0,
    0.015625,
    -0.0009765625,
    5.9604645e-8,
    -5.9604645e-8,
    1e-45,
    1e-38,
    1e30,
    -1e30,
    1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// A function of an array, and of a number.
type Unary<T> = (&'static str, fn(&Array<T>) -> Array<T>, fn(f64) -> f64);

macro_rules! unary {
    ($($name:ident)*) => {
        vec![$((stringify!($name), Array::$name as fn(&Array<T>) -> Array<T>, f64::$name as fn(f64) -> f64)),*]
    };
}

/// Every function that Rust's own numbers also have.
fn functions<T: Number>() -> Vec<Unary<T>> {
    let mut functions: Vec<Unary<T>> = unary! {
        floor ceil trunc round round_ties_even abs sqrt recip exp exp2 exp_m1 ln ln_1p log2 log10 sin cos tan asin acos
            atan
        sinh cosh tanh asinh acosh atanh cbrt
    };
    functions.push(("sign", Array::sign, f64::signum));
    functions.push(("rsqrt", Array::rsqrt, |x| x.sqrt().recip()));
    functions.push(("sin of sin_cos", |x| x.sin_cos().0, f64::sin));
    functions.push(("cos of sin_cos", |x| x.sin_cos().1, f64::cos));
    functions.push(("sigmoid", Array::sigmoid, |x| {
        if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
    }));
    functions.push(("powi(3)", |x| x.powi(3), |x| x * x * x));
    functions.push(("powi(-1)", |x| x.powi(-1), f64::recip));
    functions.push(("powi(0)", |x| x.powi(0), |_| 1.0));
    functions
}

/// A function of two arrays, and of two numbers.
type Binary<T> = (&'static str, fn(&Array<T>, &Array<T>) -> Array<T>, fn(f64, f64) -> f64);

fn binary_functions<T: Number>() -> Vec<Binary<T>> {
    vec![
        ("atan2", |y, x| y.atan2(x), f64::atan2),
        ("powf", |x, y| x.powf(y), f64::powf),
        ("hypot", |x, y| x.hypot(y), f64::hypot),
        ("copysign", |x, y| x.copysign(y), f64::copysign),
        ("fmin", |x, y| x.fmin(y), f64::min),
        ("fmax", |x, y| x.fmax(y), f64::max),
    ]
}

/// Whether a result is the nearest one, or close to it, and has the right sign, for zeros, infinities and NaN.
#[track_caller]
fn assert_near<T: Number>(place: &str, got: T, wanted: f64) {
    let nearest: f64 = T::from_f64(wanted).into();
    let got: f64 = got.into();
    let is_same =
        got == nearest && got.is_sign_negative() == nearest.is_sign_negative() || got.is_nan() && nearest.is_nan();
    // The smallest numbers have a fixed distance from each other.
    let least = least_normal::<T>() * T::EPSILON;
    let is_near = nearest != 0.0 && (got - nearest).abs() <= (4.0 * T::EPSILON * nearest.abs()).max(2.0 * least);
    assert!(is_same || is_near, "{place} is {got:e} instead of {nearest:e}");
}

fn least_normal<T: Number>() -> f64 {
    match size_of::<T>() {
        8 => f64::MIN_POSITIVE,
        2 if T::EPSILON < 1e-3 => f16::MIN_POSITIVE.to_f64(),
        _ => f32::MIN_POSITIVE.into(),
    }
}

/// Results on each device, all of which have the bits of the first.
fn on_each<T: Number>(place: &str, compute: impl Fn() -> Array<T>) -> Vec<T> {
    let first: RefCell<Option<Vec<T>>> = RefCell::new(None);
    on_each_device(|| {
        let results = compute().to_vec().unwrap();
        if let Some(first) = &*first.borrow() {
            for (index, (a, b)) in first.iter().zip(&results).enumerate() {
                let both_nan = a.partial_cmp(a).is_none() && b.partial_cmp(b).is_none();
                assert!(Element::to_bits(*a) == Element::to_bits(*b) || both_nan, "{place}, {index}: {a:?} and {b:?}");
            }
        }
        first.replace(Some(results));
    });
    first.into_inner().unwrap()
}

fn check_unary<T: Number>() {
    let arguments: Vec<T> = CORNERS.iter().map(|&x| T::from_f64(x)).collect();
    for (name, of_array, of_number) in functions::<T>() {
        let place = format!("{name} of {}", std::any::type_name::<T>());
        let results = on_each(&place, || of_array(&Array::from(arguments.clone())));
        for (&x, got) in arguments.iter().zip(results) {
            assert_near(&format!("{place} at {x:?}"), got, of_number(x.into()));
        }
    }
}

#[test]
fn functions_of_one_number_are_right_at_their_corners() {
    check_unary::<f16>();
    check_unary::<bf16>();
    check_unary::<f32>();
    check_unary::<f64>();
}

fn check_binary<T: Number>() {
    let pairs = CORNERS.iter().flat_map(|&x| CORNERS.iter().map(move |&y| (T::from_f64(x), T::from_f64(y))));
    let (x, y): (Vec<T>, Vec<T>) = pairs.unzip();
    for (name, of_arrays, of_numbers) in binary_functions::<T>() {
        let place = format!("{name} of {}", std::any::type_name::<T>());
        let results = on_each(&place, || of_arrays(&Array::from(x.clone()), &Array::from(y.clone())));
        for ((&x, &y), got) in x.iter().zip(&y).zip(results) {
            let (a, b): (f64, f64) = (x.into(), y.into());
            // Rust does not specify which zero `min` and `max` return, and the sign of a NaN is unspecified.
            let is_unspecified = a == 0.0 && b == 0.0 && name.starts_with("fm") || name == "copysign" && b.is_nan();
            if !is_unspecified {
                assert_near(&format!("{place} at {x:?}, {y:?}"), got, of_numbers(a, b));
            }
        }
    }
}

#[test]
fn functions_of_two_numbers_are_right_at_their_corners() {
    check_binary::<f16>();
    check_binary::<bf16>();
    check_binary::<f32>();
    check_binary::<f64>();
}

/// Function, argument, result, from tables of mpmath with 50 digits.
type Special<T> = (&'static str, fn(&Array<T>) -> Array<T>, &'static [(f64, f64)]);

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn check_special<T: Number>() {
    let functions: [Special<T>; 5] = [
        (
            "erf",
            Array::erf,
            &[
                (0.5, 0.520_499_877_813_046_5),
                (-2.0, -0.995_322_265_018_952_7),
                (-0.0, -0.0),
                (INF, 1.0),
                (-INF, -1.0),
                (NAN, NAN),
            ],
        ),
        (
            "erfc",
            Array::erfc,
            &[
                (0.5, 0.479_500_122_186_953_5),
                (2.0, 0.004_677_734_981_047_266),
                (0.0, 1.0),
                (INF, 0.0),
                (-INF, 2.0),
                (NAN, NAN),
            ],
        ),
        (
            "erfinv",
            Array::erfinv,
            &[
                (0.5, 0.476_936_276_204_469_9),
                (-0.75, -0.813_419_847_597_618_5),
                (-0.0, -0.0),
                (1.0, INF),
                (-1.0, -INF),
                (1.5, NAN),
                (NAN, NAN),
            ],
        ),
        (
            "tgamma",
            Array::tgamma,
            &[
                (4.5, 11.631_728_396_567_448),
                (5.0, 24.0),
                (-0.5, -3.544_907_701_811_032),
                (0.0, INF),
                (-0.0, -INF),
                (-2.0, NAN),
                (INF, INF),
                (-INF, NAN),
                (NAN, NAN),
            ],
        ),
        (
            "lgamma",
            Array::lgamma,
            &[
                (4.5, 2.453_736_570_842_442_2),
                (-0.5, 1.265_512_123_484_645_4),
                (1.0, 0.0),
                (2.0, 0.0),
                (0.0, INF),
                (-3.0, INF),
                (INF, INF),
                (-INF, INF),
                (NAN, NAN),
            ],
        ),
    ];
    for (name, function, table) in functions {
        let place = format!("{name} of {}", std::any::type_name::<T>());
        let arguments: Vec<T> = table.iter().map(|&(x, _)| T::from_f64(x)).collect();
        let results = on_each(&place, || function(&Array::from(arguments.clone())));
        for (&(x, wanted), got) in table.iter().zip(results) {
            assert_near(&format!("{place} at {x:?}"), got, wanted);
        }
    }
}

#[test]
fn special_functions_are_right_at_their_corners() {
    check_special::<f16>();
    check_special::<bf16>();
    check_special::<f32>();
    check_special::<f64>();
}

#[test]
fn literals_are_folded_to_the_bits_that_kernels_compute() {
    for x in [0.3f32, -1.7, 5.5, 1e-40, f32::INFINITY] {
        for (name, function, _) in functions::<f32>() {
            let folded = function(&Float::from(x)).item().unwrap();
            let computed = function(&Float::opaque(x)).item().unwrap();
            assert!(folded.to_bits() == computed.to_bits() || folded.is_nan() && computed.is_nan(), "{name}({x})");
        }
    }
}
