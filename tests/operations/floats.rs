//! Floats of every size: arithmetic, rounding, comparison. Halves compute in single precision and round each result.

use half::{bf16, f16};

use crate::agree::{Binary, Ternary, Unary, binary, ternary, unary};

macro_rules! tests_of {
    ($($name:ident: $ty:ident computes in $compute:ident, $widen:expr, $round:expr;)*) => {$(
        mod $name {
            use super::*;

            fn wide(value: $ty) -> $compute {
                let widen: fn($ty) -> $compute = $widen;
                widen(value)
            }

            fn rounded(value: $compute) -> $ty {
                let round: fn($compute) -> $ty = $round;
                round(value)
            }

            fn one(f: impl Fn($compute) -> $compute, a: $ty) -> $ty {
                rounded(f(wide(a)))
            }

            fn two(f: impl Fn($compute, $compute) -> $compute, a: $ty, b: $ty) -> $ty {
                rounded(f(wide(a), wide(b)))
            }

            /// IEEE 754-2019 `minimum`.
            fn minimum(a: $ty, b: $ty) -> $ty {
                match (a.is_nan() || b.is_nan(), wide(a) == wide(b)) {
                    (true, _) => <$ty>::NAN,
                    (_, true) => if a.is_sign_negative() { a } else { b },
                    _ => if wide(a) < wide(b) { a } else { b },
                }
            }

            /// IEEE 754-2019 `maximum`.
            fn maximum(a: $ty, b: $ty) -> $ty {
                -minimum(-a, -b)
            }

            /// The other operand if one is NaN.
            fn number(f: fn($ty, $ty) -> $ty, a: $ty, b: $ty) -> $ty {
                match (a.is_nan(), b.is_nan()) {
                    (true, _) => b,
                    (_, true) => a,
                    _ => f(a, b),
                }
            }

            fn rem_euclid(a: $ty, b: $ty) -> $ty {
                let rest = two(|a, b| a % b, a, b);
                if wide(rest) < 0.0 { two(|rest, b| rest + b.abs(), rest, b) } else { rest }
            }

            fn div_euclid(a: $ty, b: $ty) -> $ty {
                let quotient = one(|a| a.trunc(), two(|a, b| a / b, a, b));
                match wide(two(|a, b| a % b, a, b)) < 0.0 {
                    true if wide(b) > 0.0 => two(|a, b| a - b, quotient, rounded(1.0)),
                    true => two(|a, b| a + b, quotient, rounded(1.0)),
                    false => quotient,
                }
            }

            fn lerp(a: $ty, end: $ty, t: $ty) -> $ty {
                let difference = two(|end, a| end - a, end, a);
                if wide(t) == 1.0 { end } else { rounded(wide(difference).mul_add(wide(t), wide(a))) }
            }

            fn smooth_step(a: $ty, low: $ty, high: $ty) -> $ty {
                let part = two(|a, b| a / b, two(|a, b| a - b, a, low), two(|a, b| a - b, high, low));
                let t = minimum(maximum(part, rounded(0.0)), rounded(1.0));
                let square = two(|a, b| a * b, t, t);
                two(|a, b| a * b, square, rounded(wide(t).mul_add(-2.0, 3.0)))
            }

            // rows: C319
            #[test]
            fn one_operand() {
                let table: [Unary<$ty, $ty>; 12] = [
                    ("neg", |a| -a, |a| -a),
                    ("abs", |a| a.abs(), |a| one(|a| a.abs(), a)),
                    ("floor", |a| a.floor(), |a| one(|a| a.floor(), a)),
                    ("ceil", |a| a.ceil(), |a| one(|a| a.ceil(), a)),
                    ("trunc", |a| a.trunc(), |a| one(|a| a.trunc(), a)),
                    ("round", |a| a.round(), |a| one(|a| a.round(), a)),
                    ("round_ties_even", |a| a.round_ties_even(), |a| one(|a| a.round_ties_even(), a)),
                    ("sqrt", |a| a.sqrt(), |a| one(|a| a.sqrt(), a)),
                    ("recip", |a| a.recip(), |a| one(|a| 1.0 / a, a)),
                    ("fract", |a| a.fract(), |a| one(|a| a.fract(), a)),
                    ("sign", |a| a.sign(), |a| one(|a| a.signum(), a)),
                    ("square", |a| a.square(), |a| one(|a| a * a, a)),
                ];
                unary(&table);
                // The sign of a NaN is unspecified.
                let table: [Unary<$ty, bool>; 5] = [
                    ("is_nan", |a| a.is_nan(), |a| a.is_nan()),
                    ("is_infinite", |a| a.is_infinite(), |a| a.is_infinite()),
                    ("is_finite", |a| a.is_finite(), |a| a.is_finite()),
                    ("is_sign_negative", |a| a.is_sign_negative() | a.is_nan(), |a| a.is_sign_negative() || a.is_nan()),
                    ("is_sign_positive", |a| a.is_sign_positive() | a.is_nan(), |a| a.is_sign_positive() || a.is_nan()),
                ];
                unary(&table);
            }

            // rows: C319
            #[test]
            fn two_operands() {
                let table: [Binary<$ty, $ty>; 16] = [
                    ("add", |a, b| a + b, |a, b| two(|a, b| a + b, a, b)),
                    ("sub", |a, b| a - b, |a, b| two(|a, b| a - b, a, b)),
                    ("mul", |a, b| a * b, |a, b| two(|a, b| a * b, a, b)),
                    ("div", |a, b| a / b, |a, b| two(|a, b| a / b, a, b)),
                    ("rem", |a, b| a % b, |a, b| two(|a, b| a % b, a, b)),
                    ("div_euclid", |a, b| a.div_euclid(b), div_euclid),
                    ("rem_euclid", |a, b| a.rem_euclid(b), rem_euclid),
                    ("true_div", |a, b| a.true_div(b), |a, b| two(|a, b| a / b, a, b)),
                    ("min", |a, b| a.min(b), minimum),
                    ("max", |a, b| a.max(b), maximum),
                    ("fmin", |a, b| a.fmin(b), |a, b| number(minimum, a, b)),
                    ("fmax", |a, b| a.fmax(b), |a, b| number(maximum, a, b)),
                    ("abs_diff", |a, b| a.abs_diff(b), |a, b| one(|a| a.abs(), two(|a, b| a - b, a, b))),
                    ("step", |a, b| a.step(b), |a, b| rounded(if wide(a) >= wide(b) { 1.0 } else { 0.0 })),
                    (
                        "copysign",
                        |a, b| a.copysign(b.is_nan().select(a.full_like(rounded(1.0)), b)),
                        |a, b| two(|a, b| a.copysign(if b.is_nan() { 1.0 } else { b }), a, b),
                    ),
                    (
                        "mul_sign",
                        |a, b| a.mul_sign(b.is_nan().select(a.full_like(rounded(1.0)), b)),
                        |a, b| if !b.is_nan() && b.is_sign_negative() { -a } else { a },
                    ),
                ];
                binary(&table);
            }

            // rows: C319
            #[test]
            fn comparisons() {
                let table: [Binary<$ty, bool>; 6] = [
                    ("lt", |a, b| a.lt(b), |a, b| wide(a) < wide(b)),
                    ("le", |a, b| a.le(b), |a, b| wide(a) <= wide(b)),
                    ("gt", |a, b| a.gt(b), |a, b| wide(a) > wide(b)),
                    ("ge", |a, b| a.ge(b), |a, b| wide(a) >= wide(b)),
                    ("eq", |a, b| a.eq(b), |a, b| wide(a) == wide(b)),
                    ("ne", |a, b| a.ne(b), |a, b| wide(a) != wide(b)),
                ];
                binary(&table);
            }

            // rows: C319
            #[test]
            fn three_operands() {
                let table: [Ternary<$ty, $ty>; 5] = [
                    ("mul_add", |a, b, c| a.mul_add(b, c), |a, b, c| rounded(wide(a).mul_add(wide(b), wide(c)))),
                    ("clamp", |a, b, c| a.clamp(b, c), |a, b, c| minimum(maximum(a, b), c)),
                    ("select", |a, b, c| a.lt(b).select(b, c), |a, b, c| if wide(a) < wide(b) { b } else { c }),
                    ("lerp", |a, b, c| a.lerp(b, c), lerp),
                    ("smooth_step", |a, b, c| a.smooth_step(b, c), smooth_step),
                ];
                ternary(&table);
            }

            #[test]
            fn whole_powers() {
                let table: [Unary<$ty, $ty>; 4] = [
                    ("powi(0)", |a| a.powi(0), |_| rounded(1.0)),
                    ("powi(1)", |a| a.powi(1), |a| a),
                    ("powi(3)", |a| a.powi(3), |a| two(|a, b| a * b, a, two(|a, b| a * b, a, a))),
                    ("powi(-2)", |a| a.powi(-2), |a| one(|a| 1.0 / a, two(|a, b| a * b, a, a))),
                ];
                unary(&table);
            }
        }
    )*};
}

tests_of! {
    of_f16: f16 computes in f32, |a| a.to_f32(), |a| f16::from_f32(a);
    of_bf16: bf16 computes in f32, |a| a.to_f32(), |a| bf16::from_f32(a);
    of_f32: f32 computes in f32, |a| a, |a| a;
    of_f64: f64 computes in f64, |a| a, |a| a;
}
