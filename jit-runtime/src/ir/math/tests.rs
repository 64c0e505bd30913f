//! Errors against references of higher precision, and the special cases of each function.

use super::*;
use crate::ir::random::Rng;

const FUNCTIONS: [UnaryOp; 6] = [UnaryOp::Exp, UnaryOp::Exp2, UnaryOp::Ln, UnaryOp::Log2, UnaryOp::Sin, UnaryOp::Cos];

fn single(op: UnaryOp, x: f32) -> f32 {
    f32::from_bits(evaluate(op, Type::F32, x.to_bits().into()) as u32)
}

fn double(op: UnaryOp, x: f64) -> f64 {
    f64::from_bits(evaluate(op, Type::F64, x.to_bits()))
}

/// The function in `f64` by the standard library, whose error is far below one of `f32`.
fn reference(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Exp => x.exp(),
        UnaryOp::Exp2 => x.exp2(),
        UnaryOp::Ln => x.ln(),
        UnaryOp::Log2 => x.log2(),
        UnaryOp::Sin => x.sin(),
        _ => x.cos(),
    }
}

/// The distance of an `f32` from an exact result, in units in the last place of the latter.
fn error_in_ulp(result: f32, exact: f64) -> f64 {
    if exact.is_nan() || result.is_nan() {
        return if exact.is_nan() && result.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = exact as f32;
    if rounded.is_infinite() || result.is_infinite() {
        // Just on the other side of overflow counts as one.
        let largest = f64::from(f32::MAX);
        return match result == rounded {
            true => 0.0,
            false if exact.abs() > largest * (1.0 - 1e-7) && f64::from(result).abs() >= largest => 1.0,
            false => f64::INFINITY,
        };
    }
    let exponent = exact.abs().max(f32::MIN_POSITIVE.into()).log2().floor() as i32;
    (f64::from(result) - exact).abs() / 2f64.powi(exponent - 23)
}

/// The largest error over every so manieth `f32`, with its argument. `tests/math_accuracy.rs` looks at each one.
fn largest_error(op: UnaryOp, step: usize) -> (f64, f32) {
    let mut worst = (0.0, 0.0);
    for bits in (0..=u32::MAX).step_by(step) {
        let x = f32::from_bits(bits);
        let error = error_in_ulp(single(op, x), reference(op, x.into()));
        if error > worst.0 {
            worst = (error, x);
        }
    }
    worst
}

fn allowed(op: UnaryOp) -> f64 {
    if matches!(op, UnaryOp::Sin | UnaryOp::Cos) { 1.5 } else { 1.0 }
}

#[test]
fn single_precision_is_accurate_everywhere() {
    for op in FUNCTIONS {
        let (error, x) = largest_error(op, 10_007);
        assert!(error <= allowed(op), "{op:?}({x:e}) is off by {error} ulp");
    }
}

#[test]
fn special_cases() {
    let inf = f64::INFINITY;
    let cases = [
        (UnaryOp::Exp, [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0), (1e300, inf), (-1e300, 0.0)]),
        (UnaryOp::Exp2, [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0), (10.0, 1024.0), (-3.0, 0.125)]),
        (UnaryOp::Ln, [(0.0, -inf), (-0.0, -inf), (inf, inf), (1.0, 0.0), (-1.0, f64::NAN), (-inf, f64::NAN)]),
        (UnaryOp::Log2, [(0.0, -inf), (-0.0, -inf), (inf, inf), (1.0, 0.0), (8.0, 3.0), (-inf, f64::NAN)]),
        (UnaryOp::Sin, [(0.0, 0.0), (-0.0, -0.0), (inf, f64::NAN), (-inf, f64::NAN), (1e-30, 1e-30), (-1e-30, -1e-30)]),
        (UnaryOp::Cos, [(0.0, 1.0), (-0.0, 1.0), (inf, f64::NAN), (-inf, f64::NAN), (1e-30, 1.0), (-1e-30, 1.0)]),
    ];
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    for (op, values) in cases {
        for (x, expected) in values.into_iter().chain([(f64::NAN, f64::NAN)]) {
            assert!(same(double(op, x), expected), "{op:?}({x}) = {}", double(op, x));
            let (result, expected) = (single(op, x as f32).into(), f64::from(expected as f32));
            assert!(same(result, expected), "f32 {op:?}({x}) = {result}");
        }
    }
}

#[test]
fn exact_powers_of_two_and_their_logarithms_are_exact() {
    for n in -1074..=1023 {
        let power = f64::from_bits(if n < -1022 { 1 << (n + 1074) } else { ((n + 1023) as u64) << 52 });
        assert_eq!(double(UnaryOp::Exp2, n.into()), power, "{n}");
        assert_eq!(double(UnaryOp::Log2, power), n.into(), "{n}");
        if (-149..=127).contains(&n) {
            assert_eq!(single(UnaryOp::Exp2, n as f32), power as f32, "{n}");
            assert_eq!(single(UnaryOp::Log2, power as f32), n as f32, "{n}");
        }
    }
}

#[test]
fn results_at_the_ends_of_the_range() {
    assert_eq!(single(UnaryOp::Exp, 88.72283), f64::from(88.72283f32).exp() as f32);
    assert_eq!(single(UnaryOp::Exp, 88.72284), f32::INFINITY);
    assert_eq!(single(UnaryOp::Exp, -103.9), f32::from_bits(1));
    assert_eq!(single(UnaryOp::Exp2, 127.99999), f64::from(127.99999f32).exp2() as f32);
    assert_eq!(double(UnaryOp::Exp, 709.782712893384), 709.782712893384f64.exp());
    assert_eq!(double(UnaryOp::Exp, 709.782712893385), f64::INFINITY);
    assert_eq!(double(UnaryOp::Exp, -745.1), f64::from_bits(1));
    assert_eq!(double(UnaryOp::Exp, -745.2), 0.0);
}

/// Exact values from mpmath with 1200 bits.
#[test]
fn huge_angles_in_double_precision() {
    for (x, sin, cos) in HUGE_ANGLES {
        for x in [x, -x] {
            let sin = sin * x.signum();
            assert!((double(UnaryOp::Sin, x) - sin).abs() <= sin.abs() * 2.3e-16, "sin {x:e}");
            assert!((double(UnaryOp::Cos, x) - cos).abs() <= cos.abs() * 2.3e-16, "cos {x:e}");
        }
    }
}

#[test]
fn double_precision_agrees_with_the_standard_library() {
    // Both are off by less than one in the last place, so they differ by one at most.
    let mut rng = Rng::new(17);
    let mut uniform = |low: f64, high: f64| low + (high - low) * (rng.bits() >> 11) as f64 / (1u64 << 53) as f64;
    for _ in 0..30_000 {
        let small = uniform(-3.0, 3.0);
        let magnitude = uniform(-1000.0, 1000.0).exp2();
        let angle = uniform(0.0, 1020.0).exp2();
        let arguments = [
            (UnaryOp::Exp, uniform(-745.0, 709.0)),
            (UnaryOp::Exp, small),
            (UnaryOp::Exp2, uniform(-1074.0, 1023.0)),
            (UnaryOp::Exp2, small),
            (UnaryOp::Ln, magnitude),
            (UnaryOp::Ln, small.abs()),
            (UnaryOp::Log2, magnitude),
            (UnaryOp::Log2, small.abs()),
            (UnaryOp::Sin, small),
            (UnaryOp::Cos, small),
            (UnaryOp::Sin, angle),
            (UnaryOp::Cos, angle),
        ];
        for (op, x) in arguments {
            let (result, expected) = (double(op, x), reference(op, x));
            let distance = (result.to_bits() as i64 - expected.to_bits() as i64).abs();
            assert!(distance <= 1, "{op:?}({x:e}) = {result:e}, the standard library says {expected:e}");
        }
    }
}

#[test]
fn halves_are_the_rounded_single_results() {
    for ty in [Type::F16, Type::BF16] {
        for bits in (0..=u64::from(u16::MAX)).step_by(7) {
            for op in FUNCTIONS {
                let x = crate::ir::scalar::cast(ty, Type::F32, bits);
                let expected = crate::ir::scalar::cast(Type::F32, ty, evaluate(op, Type::F32, x));
                let is_nan = f32::from_bits(evaluate(op, Type::F32, x) as u32).is_nan();
                assert!(evaluate(op, ty, bits) == expected || is_nan, "{op:?} {ty} {bits:#x}");
            }
        }
    }
}

/// Angle, sine, cosine.
const HUGE_ANGLES: [(f64, f64, f64); 24] = [
    (5.319372648326541e+255, 1.0, -4.687165924254628e-19),
    (1e+22, -0.8522008497671888, 0.523214785395139),
    (8.98846567431158e+307, 0.563127779850884, -0.826369834614148),
    (1.7976931348623157e+308, 0.004961954789184062, -0.9999876894265599),
    (67108865.0, -0.5360214061157601, -0.8442043900535482),
    (100000000.0, 0.931639027109726, -0.3633850893556905),
    (5000000000000000.0, -0.901711760523585, -0.432337716297638),
    (1.8446744073709556e+19, 0.6134493700154282, -0.7897340504420929),
    (2.990629286483896e+79, 0.00030320366083955527, -0.999999954033769),
    (2.0036134050882136e+171, 0.0823185309284927, -0.9966060703536652),
    (1.1218677302883241e+119, -0.9657342790673347, -0.2595328538630425),
    (1.5800262292670605e+189, 0.4947865223403682, -0.8690145552925591),
    (5.4318528175324e+195, -0.6788046957154689, -0.7343188579048135),
    (5.957409956433734e+27, 0.6990756153273572, -0.7150477494927712),
    (1191007460251.3254, 0.898037378418339, -0.43991915957766264),
    (1.669978110240203e+259, 0.5945205970019989, -0.8040803813925489),
    (7.742020916108936e+85, 0.3224453132355427, -0.9465880941425541),
    (2.4338593543219475e+78, 0.8494262257997824, 0.5277073875961347),
    (4.4452332834103644e+306, -0.8614033846379238, 0.5079214594150646),
    (1.3334533501101037e+149, 0.42840015316507246, -0.9035891260789621),
    (1727108826180.3892, 0.9999999980236052, 6.28712146342585e-05),
    (6.65878757072907e+28, 0.8572079849621012, 0.5149703588724445),
    (1.5707963267948966e+100, -0.9974471599292345, 0.07140842491684053),
    (5.315350177532794e+253, -0.6778013057127288, -0.735245122373566),
];
