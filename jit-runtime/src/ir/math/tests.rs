//! Compares errors with references of higher precision, and tests the special cases of each function.

use super::*;

/// Every function of one float.
fn functions() -> impl Iterator<Item = UnaryOp> {
    UnaryOp::ALL.iter().copied().filter(|op| op.is_transcendental())
}

/// The functions that are not fast math variants.
fn exact_functions() -> impl Iterator<Item = UnaryOp> {
    functions().filter(|op| !op.is_fast())
}

fn single(op: UnaryOp, x: f32) -> f32 {
    f32::from_bits(evaluate(op, Type::F32, x.to_bits().into()) as u32)
}

fn double(op: UnaryOp, x: f64) -> f64 {
    f64::from_bits(evaluate(op, Type::F64, x.to_bits()))
}

fn both(op: BinaryOp, x: f64, y: f64) -> [f64; 2] {
    let double = evaluate_binary(op, Type::F64, x.to_bits(), y.to_bits());
    let [a, b] = [x, y].map(|value| u64::from((value as f32).to_bits()));
    let single = f32::from_bits(evaluate_binary(op, Type::F32, a, b) as u32);
    [f64::from_bits(double), single.into()]
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const PI: f64 = std::f64::consts::PI;

/// Results for zeros, infinities and similar arguments, as annex F of C23 requires; in addition, NaN returns NaN.
const SPECIAL: &[(UnaryOp, &[(f64, f64)])] = &[
    (UnaryOp::Erf, &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (1e300, 1.0)]),
    (UnaryOp::Erfc, &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (1e300, 0.0), (1e-45, 1.0)]),
    (UnaryOp::Erfinv, &[(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN)]),
    (
        UnaryOp::Tgamma,
        &[
            (0.0, INF),
            (-0.0, -INF),
            (1.0, 1.0),
            (5.0, 24.0),
            (-1.0, NAN),
            (-INF, NAN),
            (INF, INF),
            (-1e30, NAN),
            (172.0, INF),
        ],
    ),
    (
        UnaryOp::Lgamma,
        &[(0.0, INF), (-0.0, INF), (1.0, 0.0), (2.0, 0.0), (-3.0, INF), (-INF, INF), (INF, INF), (-1e30, INF)],
    ),
    (UnaryOp::Exp, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e300, INF), (-1e300, 0.0)]),
    (UnaryOp::Exp2, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (10.0, 1024.0), (-3.0, 0.125)]),
    (UnaryOp::ExpM1, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (1e-45, 1e-45), (-1e300, -1.0)]),
    (UnaryOp::Ln, &[(0.0, -INF), (-0.0, -INF), (INF, INF), (1.0, 0.0), (-1.0, NAN), (-INF, NAN)]),
    (UnaryOp::Log2, &[(0.0, -INF), (-0.0, -INF), (INF, INF), (1.0, 0.0), (8.0, 3.0), (-INF, NAN)]),
    (UnaryOp::Log10, &[(0.0, -INF), (-0.0, -INF), (INF, INF), (1.0, 0.0), (1000.0, 3.0), (-INF, NAN)]),
    (UnaryOp::Ln1p, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-1.0, -INF), (-2.0, NAN), (-INF, NAN), (1e-45, 1e-45)]),
    (UnaryOp::Sin, &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e-30, 1e-30), (-1e-30, -1e-30)]),
    (UnaryOp::Cos, &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (1e-30, 1.0), (-1e-30, 1.0)]),
    (UnaryOp::Tan, &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e-30, 1e-30), (-1e-45, -1e-45)]),
    (
        UnaryOp::Asin,
        &[(0.0, 0.0), (-0.0, -0.0), (1.0, PI / 2.0), (-1.0, -PI / 2.0), (1.5, NAN), (-INF, NAN), (1e-45, 1e-45)],
    ),
    (UnaryOp::Acos, &[(1.0, 0.0), (-1.0, PI), (0.0, PI / 2.0), (-0.0, PI / 2.0), (1.5, NAN), (-INF, NAN)]),
    (UnaryOp::Atan, &[(0.0, 0.0), (-0.0, -0.0), (1.0, PI / 4.0), (INF, PI / 2.0), (-INF, -PI / 2.0), (-1e-45, -1e-45)]),
    (UnaryOp::Sinh, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e-45, 1e-45), (-1e4, -INF)]),
    (UnaryOp::Cosh, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (1e-45, 1.0), (-1e4, INF)]),
    (UnaryOp::Tanh, &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (1e-45, 1e-45), (1e300, 1.0)]),
    (UnaryOp::Asinh, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (-1e-45, -1e-45)]),
    (
        UnaryOp::Acosh,
        &[(1.0, 0.0), (0.0, NAN), (-0.0, NAN), (INF, INF), (-INF, NAN), (-1.0, NAN), (0.999, NAN), (-3.0, NAN)],
    ),
    (
        UnaryOp::Atanh,
        &[(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (INF, NAN), (-INF, NAN), (1e-45, 1e-45)],
    ),
    (
        UnaryOp::Rsqrt,
        &[(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, NAN), (-1.0, NAN), (4.0, 0.5), (1e-45, 2.671_373_8e22)],
    ),
    (
        UnaryOp::Cbrt,
        &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (27.0, 3.0), (-8.0, -2.0), (1e-45, 1.1190347e-15)],
    ),
];

/// Arguments and the result.
type Results = &'static [(f64, f64, f64)];

/// The same for functions of two values.
const SPECIAL_PAIRS: [(BinaryOp, Results); 3] =
    [(BinaryOp::Atan2, ATAN2), (BinaryOp::Pow, POW), (BinaryOp::Hypot, HYPOT)];

const HYPOT: Results = &[
    (0.0, -0.0, 0.0),
    (-3.0, 4.0, 5.0),
    (0.0, -7.0, 7.0),
    (-INF, NAN, INF),
    (NAN, INF, INF),
    (INF, 0.0, INF),
    (NAN, 1.0, NAN),
    (0.0, NAN, NAN),
    (1e-45, 0.0, 1e-45),
];

const ATAN2: Results = &[
    (0.0, -0.0, PI),
    (-0.0, -0.0, -PI),
    (0.0, 0.0, 0.0),
    (-0.0, 0.0, -0.0),
    (0.0, -1.0, PI),
    (-0.0, -1.0, -PI),
    (0.0, 1.0, 0.0),
    (-0.0, 1.0, -0.0),
    (-1.0, 0.0, -PI / 2.0),
    (-1.0, -0.0, -PI / 2.0),
    (1.0, -0.0, PI / 2.0),
    (1.0, -INF, PI),
    (-1.0, -INF, -PI),
    (1.0, INF, 0.0),
    (-1.0, INF, -0.0),
    (INF, 1.0, PI / 2.0),
    (-INF, -1.0, -PI / 2.0),
    (INF, -INF, 3.0 * PI / 4.0),
    (-INF, INF, -PI / 4.0),
    (INF, INF, PI / 4.0),
    (-INF, -INF, -3.0 * PI / 4.0),
    (NAN, 1.0, NAN),
    (1.0, NAN, NAN),
    (NAN, 0.0, NAN),
    (0.0, NAN, NAN),
    (NAN, NAN, NAN),
    (1e-45, 1.0, 1e-45),
    (3e38, 3e38, PI / 4.0),
];

const POW: Results = &[
    (0.0, -3.0, INF),
    (-0.0, -3.0, -INF),
    (0.0, -2.0, INF),
    (-0.0, -2.5, INF),
    (0.0, -INF, INF),
    (-0.0, -INF, INF),
    (0.0, 3.0, 0.0),
    (-0.0, 3.0, -0.0),
    (-0.0, 2.0, 0.0),
    (-0.0, 2.5, 0.0),
    (0.0, INF, 0.0),
    (-1.0, INF, 1.0),
    (-1.0, -INF, 1.0),
    (1.0, NAN, 1.0),
    (1.0, INF, 1.0),
    (NAN, 0.0, 1.0),
    (NAN, -0.0, 1.0),
    (0.0, 0.0, 1.0),
    (INF, -0.0, 1.0),
    (-2.0, 0.5, NAN),
    (-2.0, 3.0, -8.0),
    (-2.0, 2.0, 4.0),
    (-2.0, -1.0, -0.5),
    (0.5, -INF, INF),
    (-0.5, -INF, INF),
    (2.0, -INF, 0.0),
    (-2.0, -INF, 0.0),
    (0.5, INF, 0.0),
    (2.0, INF, INF),
    (-INF, -3.0, -0.0),
    (-INF, -2.0, 0.0),
    (-INF, -2.5, 0.0),
    (-INF, 3.0, -INF),
    (-INF, 2.0, INF),
    (-INF, 2.5, INF),
    (INF, -1.0, 0.0),
    (INF, 1.0, INF),
    (NAN, 1.0, NAN),
    (2.0, NAN, NAN),
    (NAN, INF, NAN),
    (10.0, 400.0, INF),
    (10.0, -400.0, 0.0),
    (-10.0, 401.0, -INF),
    (2.0, -149.0, 1.401298464324817e-45),
    (2.0, 10.0, 1024.0),
    (-1.0, 16777215.0, -1.0),
    (-1.0, 16777216.0, 1.0),
];

#[test]
fn special_cases() {
    assert_eq!(SPECIAL.len(), exact_functions().count(), "each function is there");
    for &(op, values) in SPECIAL {
        for &(x, expected) in values.iter().chain(&[(NAN, NAN)]) {
            let (result, expected_single) = (f64::from(single(op, x as f32)), f64::from(expected as f32));
            assert!(same(result, expected_single), "f32 {op:?}({x:e}) = {result:e}");
            let is_exact =
                same(double(op, x), expected) || x.abs() < 1e-40 && matches!(op, UnaryOp::Cbrt | UnaryOp::Rsqrt);
            assert!(is_exact, "{op:?}({x:e}) = {:e}", double(op, x));
        }
    }
    for (op, values) in SPECIAL_PAIRS {
        for &(x, y, expected) in values {
            let [double, single] = both(op, x, y);
            assert!(same(double, expected), "{op:?}({x:e}, {y:e}) = {double:e}");
            assert!(same(single, f64::from(expected as f32)), "f32 {op:?}({x:e}, {y:e}) = {single:e}");
        }
    }
}

/// The special cases that fast math preserves.
#[test]
fn special_cases_of_fast_functions() {
    let kept = |op: UnaryOp, x: f64| {
        let is_subnormal = x != 0.0 && x.abs() < 1e-38;
        !(is_subnormal && matches!(op, UnaryOp::Ln | UnaryOp::Log2 | UnaryOp::Log10 | UnaryOp::Rsqrt))
    };
    for &(op, values) in SPECIAL.iter().filter(|(op, _)| op.fast() != *op) {
        for &(x, expected) in values.iter().chain(&[(NAN, NAN)]).filter(|(x, _)| kept(op, *x)) {
            let (result, expected_single) = (f64::from(single(op.fast(), x as f32)), f64::from(expected as f32));
            let is_near = (result - expected_single).abs() <= 4e-7 * expected_single.abs();
            assert!(same(result, expected_single) || expected != 0.0 && is_near, "fast {op:?}({x:e}) = {result:e}");
            assert!(same(double(op.fast(), x), double(op, x)), "in double precision, {op:?} has no fast variant");
        }
    }
    let pairs = |op: BinaryOp, x: f64, y: f64| {
        let [x, y] = [x, y].map(|value| u64::from((value as f32).to_bits()));
        f64::from(f32::from_bits(evaluate_binary(op, Type::F32, x, y) as u32))
    };
    for &(x, y, expected) in POW {
        // Powers of one, of infinities and to infinite exponents, and subnormal results, are not preserved.
        let is_given_up = [x, y].iter().any(|v| v.is_infinite() || v.is_nan()) || expected.abs() < 1e-38;
        if !is_given_up || expected == 0.0 && x == 0.0 {
            let result = pairs(BinaryOp::FastPow, x, y);
            assert!(same(result, expected), "fast pow({x:e}, {y:e}) = {result:e}");
        }
    }
    for &(y, x, expected) in ATAN2.iter().filter(|(y, ..)| y.abs() < 1e38 || y.is_infinite()) {
        let (result, expected) = (pairs(BinaryOp::FastAtan2, y, x), f64::from(expected as f32));
        let is_near = expected != 0.0 && (result - expected).abs() <= 4e-7 * expected.abs();
        assert!(same(result, expected) || is_near, "fast atan2({y:e}, {x:e}) = {result:e}");
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
fn the_ends_of_double_precision() {
    let least = f64::from_bits(1);
    for op in [UnaryOp::Sin, UnaryOp::Tan, UnaryOp::Sinh, UnaryOp::Tanh, UnaryOp::Asinh, UnaryOp::Atanh, UnaryOp::ExpM1]
    {
        for x in [least, -least, f64::MIN_POSITIVE, 1e-310, 1e-17] {
            assert_eq!(double(op, x), x, "{op:?}");
        }
    }
    assert_eq!(double(UnaryOp::Sinh, 710.4758600739439), 710.4758600739439f64.sinh());
    assert_eq!(double(UnaryOp::Sinh, -710.475860073944), -INF);
    assert_eq!(double(UnaryOp::Cosh, 710.475860073944), INF);
    assert!(double(UnaryOp::Cosh, 710.4758600739439).is_finite());
    assert_eq!(double(UnaryOp::ExpM1, 709.782712893385), INF);
    assert!(double(UnaryOp::ExpM1, 709.782712893384).is_finite());
    assert_eq!(double(UnaryOp::Cbrt, -1e-321), (-1e-321f64).cbrt());
    assert!((double(UnaryOp::Asinh, f64::MAX) - f64::MAX.ln() - std::f64::consts::LN_2).abs() < 1e-12);
    assert!((double(UnaryOp::Acosh, f64::MAX) - f64::MAX.ln() - std::f64::consts::LN_2).abs() < 1e-12);
    assert!((double(UnaryOp::Ln1p, f64::MAX) - f64::MAX.ln()).abs() < 1e-12);
    for (x, y) in [(1e308, 1e308), (f64::MAX, 1.0), (3e-310, 4e-310), (1e-200, 1e200), (least, least)] {
        let result = both(BinaryOp::Hypot, x, y)[0];
        assert!((result / x.hypot(y) - 1.0).abs() < 1e-15, "hypot({x:e}, {y:e}) = {result:e}");
    }
    assert_eq!(both(BinaryOp::Hypot, f64::MAX, f64::MAX)[0], INF);
    assert_eq!(double(UnaryOp::Erfc, 27.3), 0.0);
    assert!((double(UnaryOp::Erfc, 26.5) / 2.21090766426e-307 - 1.0).abs() < 1e-11);
    assert!((double(UnaryOp::Erfinv, 1.0 - f64::EPSILON / 2.0) - 5.863584748755168).abs() < 1e-14);
    assert!((double(UnaryOp::Tgamma, 171.6) / 1.585896909667257e308 - 1.0).abs() < 1e-14);
    assert_eq!(double(UnaryOp::Tgamma, least), INF);
    assert!((double(UnaryOp::Lgamma, least) - 744.4400719213812).abs() < 1e-12);
    for x in [2.6e305, f64::MAX, -f64::MAX, -2.6e305] {
        assert_eq!(double(UnaryOp::Lgamma, x), INF, "{x:e}");
    }
    assert!((double(UnaryOp::Lgamma, 2.55e305) / 1.790_672_594_142_003_3e308 - 1.0).abs() < 1e-15);
    assert_eq!(both(BinaryOp::Pow, 2.0, -1074.0)[0], least);
    assert_eq!(both(BinaryOp::Pow, least, 1.0)[0], least);
    assert_eq!(both(BinaryOp::Pow, 2.0, 1024.0)[0], INF);
    assert_eq!(both(BinaryOp::Pow, -1.0, 9007199254740991.0)[0], -1.0);
    assert_eq!(both(BinaryOp::Pow, -1.0, 9007199254740992.0)[0], 1.0);
    assert_eq!(both(BinaryOp::Atan2, f64::MAX, f64::MAX)[0], PI / 4.0);
    assert_eq!(both(BinaryOp::Atan2, least, f64::MAX)[0], 0.0);
    assert_eq!(both(BinaryOp::Atan2, least, -least)[0], 3.0 * PI / 4.0);
}

#[test]
fn halves_are_the_rounded_single_results() {
    for ty in [Type::F16, Type::BF16] {
        for bits in (0..=u64::from(u16::MAX)).step_by(7) {
            for op in functions() {
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
