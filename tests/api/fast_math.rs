//! Fast math: which results it changes, and which it does not.

use std::panic::{AssertUnwindSafe, catch_unwind};

use half::f16;
use jit::fast_math;
use jit::prelude::*;

use crate::devices::on_each_device;

/// A function with a fast variant, the same function of numbers, and the largest relative error of the former on
/// [`arguments`].
type Approximated = (&'static str, fn(&Float) -> Float, fn(f64) -> f64, f64);

const FUNCTIONS: [Approximated; 16] = [
    ("rsqrt", |x| x.abs().rsqrt(), |x| x.abs().sqrt().recip(), 2e-7),
    ("exp", Float::exp, f64::exp, 4e-7),
    ("exp2", Float::exp2, f64::exp2, 4e-7),
    ("ln", |x| x.abs().ln(), |x| x.abs().ln(), 4e-7),
    ("log2", |x| x.abs().log2(), |x| x.abs().log2(), 4e-7),
    ("log10", |x| x.abs().log10(), |x| x.abs().log10(), 4e-7),
    ("sin", Float::sin, f64::sin, 4e-7),
    ("cos", Float::cos, f64::cos, 4e-7),
    ("tan", Float::tan, f64::tan, 4e-7),
    ("asin", |x| (x * 0.0625).asin(), |x| (x * 0.0625).asin(), 4e-7),
    ("acos", |x| (x * 0.0625).acos(), |x| (x * 0.0625).acos(), 4e-7),
    ("atan", Float::atan, f64::atan, 4e-7),
    ("sinh", Float::sinh, f64::sinh, 4e-7),
    ("cosh", Float::cosh, f64::cosh, 4e-7),
    ("tanh", Float::tanh, f64::tanh, 4e-7),
    ("erf", Float::erf, |_| f64::NAN, 0.0),
];

fn arguments() -> Vec<f32> {
    (0..4001).map(|i| (i as f32 - 2000.5) / 128.0).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn fast_functions_err_little_and_give_the_same_bits_everywhere() {
    let mut on_interpreter = Vec::new();
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            let x = Float::from(arguments());
            let results: Vec<Vec<f32>> =
                FUNCTIONS.iter().map(|(_, function, ..)| fast_math(|| function(&x)).to_vec().unwrap()).collect();
            for ((name, _, exact, tolerance), results) in FUNCTIONS.iter().zip(&results) {
                for (x, got) in arguments().into_iter().zip(results) {
                    let wanted = exact(x.into());
                    let error = (f64::from(*got) - wanted).abs() / wanted.abs();
                    assert!(error <= *tolerance || wanted.is_nan(), "{name}({x}) = {got}, off by {error:e}");
                }
            }
            let results: Vec<Vec<u32>> = results.iter().map(|values| bits(values)).collect();
            if on_interpreter.is_empty() {
                on_interpreter = results;
            } else {
                assert_eq!(on_interpreter, results);
            }
        });
    }
}

#[test]
fn fast_functions_of_two_numbers_err_little() {
    on_each_device(|| {
        let (x, y) = (Float::from(arguments()), Float::from(arguments()).reverse() + 0.3);
        let powers = fast_math(|| x.abs().powf(&y * 0.25)).to_vec().unwrap();
        let angles = fast_math(|| y.atan2(&x)).to_vec().unwrap();
        let lengths = fast_math(|| x.hypot(&y)).to_vec().unwrap();
        let (x, y) = (x.to_vec().unwrap(), y.to_vec().unwrap());
        for (index, (x, y)) in x.into_iter().zip(y).map(|(x, y)| (f64::from(x), f64::from(y))).enumerate() {
            let wanted = [x.abs().powf(y * 0.25), y.atan2(x), x.hypot(y)];
            for (got, wanted) in [powers[index], angles[index], lengths[index]].into_iter().zip(wanted) {
                assert!((f64::from(got) / wanted - 1.0).abs() < 8e-7, "{x}, {y}: {got} instead of {wanted}");
            }
        }
    });
}

#[test]
fn exact_functions_are_what_is_recorded_outside_of_the_scope() {
    let x = Float::from(arguments());
    let before = x.exp().to_vec().unwrap();
    let fast = fast_math(|| x.exp()).to_vec().unwrap();
    let nested = fast_math(|| {
        let inner = fast_math(|| x.exp());
        (inner, x.exp())
    });
    assert_ne!(bits(&before), bits(&fast));
    assert_eq!(bits(&nested.0.to_vec().unwrap()), bits(&fast));
    assert_eq!(bits(&nested.1.to_vec().unwrap()), bits(&fast));
    assert_eq!(bits(&x.exp().to_vec().unwrap()), bits(&before));
}

#[test]
fn a_panic_ends_the_scope() {
    let x = Float::from(arguments());
    let exact = x.exp().to_vec().unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| fast_math(|| &x + Float::zeros(3))));
    let message = *panicked.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("width"), "{message}");
    assert_eq!(bits(&x.exp().to_vec().unwrap()), bits(&exact));
}

#[test]
fn other_threads_record_as_before() {
    let x = Float::from(arguments());
    let exact = x.exp().to_vec().unwrap();
    let other = fast_math(|| std::thread::scope(|scope| scope.spawn(|| x.exp().to_vec().unwrap()).join().unwrap()));
    assert_eq!(bits(&other), bits(&exact));
}

/// 1 + 2^-12: its square has more digits than an `f32`.
const A: f32 = 1.000_244_1;

#[test]
fn sums_of_products_are_rounded_once() {
    on_each_device(|| {
        let (a, c) = (Float::opaque(A), Float::opaque(-1.000_488_3));
        let fused = A.mul_add(A, -1.000_488_3);
        assert_ne!(fused, A * A - 1.000_488_3);
        let item = |x: Float| x.item().unwrap();
        assert_eq!(item(&a * &a + &c), A * A - 1.000_488_3);
        assert_eq!(item(fast_math(|| &a * &a + &c)), fused);
        assert_eq!(item(fast_math(|| &c + &a * &a)), fused);
        assert_eq!(item(fast_math(|| &a * &a - (-&c))), fused);
        assert_eq!(item(fast_math(|| &c - &a * &a)), (-A).mul_add(A, -1.000_488_3));
        // The scope of the sum is decisive, and a product that has already been computed is not changed.
        let product = &a * &a;
        assert_eq!(item(fast_math(|| &product + &c)), fused);
        jit::eval(&product).unwrap();
        assert_eq!(item(fast_math(|| &product + &c)), A * A - 1.000_488_3);
        let integers = fast_math(|| UInt::opaque(3) * UInt::opaque(5) + UInt::opaque(7));
        assert_eq!(integers.item().unwrap(), 22);
    });
}

#[test]
fn divisions_by_numbers_are_products() {
    on_each_device(|| {
        let x = Float::from(arguments());
        let fast = fast_math(|| &x / 3.0).to_vec().unwrap();
        let wanted: Vec<f32> = arguments().iter().map(|x| x * (1.0 / 3.0)).collect();
        assert_eq!(bits(&fast), bits(&wanted));
        // A subnormal or infinite reciprocal would lose digits.
        for divisor in [3e38, 1e-40, 0.0] {
            let fast = fast_math(|| &x / divisor).to_vec().unwrap();
            let wanted: Vec<f32> = arguments().iter().map(|x| x / divisor).collect();
            assert_eq!(bits(&fast), bits(&wanted), "{divisor}");
        }
    });
}

#[test]
fn double_precision_stays_as_it_is() {
    let x = Float64::from(arguments().iter().map(|x| f64::from(*x)).collect::<Vec<f64>>());
    let functions: [fn(&Float64) -> Float64; 4] = [Float64::exp, Float64::sin, Float64::erf, |x| x.abs().powf(1.5)];
    for function in functions {
        assert_eq!(fast_math(|| function(&x)).to_vec().unwrap(), function(&x).to_vec().unwrap());
    }
}

#[test]
fn halves_are_computed_by_the_fast_functions_of_single_precision() {
    on_each_device(|| {
        let values: Vec<f16> = (0..500).map(|i| f16::from_f32(i as f32 * 0.01)).collect();
        let x = Half::from(values);
        let fast = fast_math(|| x.exp()).to_vec().unwrap();
        let through_single = fast_math(|| x.cast::<f32>().exp()).cast::<f16>().to_vec().unwrap();
        assert_eq!(fast, through_single);
    });
}

#[jit]
fn as_its_caller(x: &Float) -> Float {
    x.exp()
}

#[jit(fast_math = false)]
fn always_exact(x: &Float) -> Float {
    x.exp()
}

#[jit(fast_math)]
fn always_fast(x: &Float) -> (Float, Float, Float, Float) {
    let mut powers = x.zeros_like();
    let mut n = Int::from(0);
    while n < 3 {
        powers = x.exp();
        n += 1;
    }
    (x.exp(), as_its_caller(x), always_exact(x), powers)
}

#[test]
fn functions_report_how_they_are_computed() {
    on_each_device(|| {
        let x = Float::from(arguments());
        let (exact, fast) = (x.exp().to_vec().unwrap(), fast_math(|| x.exp()).to_vec().unwrap());
        let (own, of_callee, of_exact_callee, in_loop) = always_fast(&x);
        assert_eq!(bits(&own.to_vec().unwrap()), bits(&fast));
        assert_eq!(bits(&of_callee.to_vec().unwrap()), bits(&fast));
        assert_eq!(bits(&of_exact_callee.to_vec().unwrap()), bits(&exact));
        assert_eq!(bits(&in_loop.to_vec().unwrap()), bits(&fast));
        assert_eq!(bits(&as_its_caller(&x).to_vec().unwrap()), bits(&exact));
    });
}

#[test]
fn a_fast_kernel_is_another_kernel() {
    let x = Float::from(arguments());
    let graph = |array: &Float| jit::graphviz(array);
    let (exact, fast) = (x.exp(), fast_math(|| x.exp()));
    assert!(graph(&fast).contains("fast_exp") || graph(&fast).contains("FastExp"), "{}", graph(&fast));
    assert_ne!(graph(&exact), graph(&fast));
    // One graph with both has both results.
    let (a, b) = (exact.to_vec().unwrap(), fast.to_vec().unwrap());
    let difference = (x.exp() - fast_math(|| x.exp())).abs().reduce_max().item().unwrap();
    let wanted = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(wanted > 0.0);
    assert_eq!(difference, wanted);
}
