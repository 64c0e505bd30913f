//! Integers of every size.

use crate::agree::{Binary, Ternary, Unary, binary, ternary, unary};

macro_rules! tests_of {
    ($($name:ident: $ty:ident $unsigned:ident $wide:ident $signed:ident;)*) => {$(
        mod $name {
            use super::*;

            fn modulo_bits(count: $ty) -> u32 {
                (count as $unsigned % <$ty>::BITS as $unsigned) as u32
            }

            // rows: C319
            #[test]
            fn one_operand() {
                let table: [Unary<$ty, $ty>; 15] = [
                    ("not", |a| !a, |a| !a),
                    ("abs", |a| a.abs(), |a| if a < 0 as $ty { (0 as $ty).wrapping_sub(a) } else { a }),
                    ("square", |a| a.square(), |a| a.wrapping_mul(a)),
                    ("count_ones", |a| a.count_ones(), |a| a.count_ones() as $ty),
                    ("count_zeros", |a| a.count_zeros(), |a| a.count_zeros() as $ty),
                    ("leading_zeros", |a| a.leading_zeros(), |a| a.leading_zeros() as $ty),
                    ("leading_ones", |a| a.leading_ones(), |a| a.leading_ones() as $ty),
                    ("trailing_zeros", |a| a.trailing_zeros(), |a| a.trailing_zeros() as $ty),
                    ("trailing_ones", |a| a.trailing_ones(), |a| a.trailing_ones() as $ty),
                    ("reverse_bits", |a| a.reverse_bits(), |a| a.reverse_bits()),
                    ("swap_bytes", |a| a.swap_bytes(), |a| a.swap_bytes()),
                    ("wrapping_neg", |a| a.wrapping_neg(), |a| a.wrapping_neg()),
                    ("pow 0", |a| a.pow(0), |_| 1),
                    ("pow 11", |a| a.pow(11), |a| a.wrapping_pow(11)),
                    ("ilog2", |a| a.ilog2(), |a| (a as $unsigned).checked_ilog2().map_or(!0, |log| log as $ty)),
                ];
                unary(&table);
                let table: [Unary<$ty, bool>; 1] =
                    [("is_power_of_two", |a| a.is_power_of_two(), |a| (a as $unsigned).is_power_of_two())];
                unary(&table);
                $signed! {
                    let table: [Unary<$ty, $ty>; 2] =
                        [("neg", |a| -a, |a| a.wrapping_neg()), ("sign", |a| a.sign(), |a| a.signum())];
                    unary(&table);
                }
            }

            // rows: C319
            #[test]
            fn two_operands() {
                let table: [Binary<$ty, $ty>; 18] = [
                    ("wrapping_add", |a, b| a.wrapping_add(b), |a, b| a.wrapping_add(b)),
                    ("wrapping_sub", |a, b| a.wrapping_sub(b), |a, b| a.wrapping_sub(b)),
                    ("wrapping_mul", |a, b| a.wrapping_mul(b), |a, b| a.wrapping_mul(b)),
                    ("saturating_add", |a, b| a.saturating_add(b), |a, b| a.saturating_add(b)),
                    ("saturating_sub", |a, b| a.saturating_sub(b), |a, b| a.saturating_sub(b)),
                    ("add", |a, b| a + b, |a, b| a.wrapping_add(b)),
                    ("sub", |a, b| a - b, |a, b| a.wrapping_sub(b)),
                    ("mul", |a, b| a * b, |a, b| a.wrapping_mul(b)),
                    ("div", |a, b| a / b, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) }),
                    ("rem", |a, b| a % b, |a, b| if b == 0 { a } else { a.wrapping_rem(b) }),
                    ("min", |a, b| a.min(b), |a, b| if b < a { b } else { a }),
                    ("max", |a, b| a.max(b), |a, b| if b > a { b } else { a }),
                    ("mul_hi", |a, b| a.mul_hi(b), |a, b| ((a as $wide * b as $wide) >> <$ty>::BITS) as $ty),
                    ("and", |a, b| a & b, |a, b| a & b),
                    ("or", |a, b| a | b, |a, b| a | b),
                    ("xor", |a, b| a ^ b, |a, b| a ^ b),
                    ("abs_diff", |a, b| a.abs_diff(b), |a, b| if a < b { b.wrapping_sub(a) }
                        else { a.wrapping_sub(b) }),
                    ("step", |a, b| a.step(b), |a, b| (a >= b) as $ty),
                ];
                binary(&table);
                let rotations: [Binary<$ty, $ty>; 2] = [
                    ("rotate_left", |a, b| a.rotate_left(b), |a, b| a.rotate_left(modulo_bits(b))),
                    ("rotate_right", |a, b| a.rotate_right(b), |a, b| a.rotate_right(modulo_bits(b))),
                ];
                binary(&rotations);
                $signed! {
                    let table: [Binary<$ty, $ty>; 1] =
                        [("mul_sign", |a, b| a.mul_sign(b), |a, b| if b < 0 { a.wrapping_neg() } else { a })];
                    binary(&table);
                }
            }

            #[test]
            fn divisions() {
                let ceil: fn($ty, $ty) -> $ty = |a, b| match b {
                    0 => !0,
                    _ if a.wrapping_rem(b) != 0 && ((a < 0 as $ty) == (b < 0 as $ty)) =>
                        a.wrapping_div(b).wrapping_add(1),
                    _ => a.wrapping_div(b),
                };
                let table: [Binary<$ty, $ty>; 3] = [
                    ("div_euclid", |a, b| a.div_euclid(b), |a, b| if b == 0 { !0 } else { a.wrapping_div_euclid(b) }),
                    ("rem_euclid", |a, b| a.rem_euclid(b), |a, b| if b == 0 { a } else { a.wrapping_rem_euclid(b) }),
                    ("div_ceil", |a, b| a.div_ceil(b), ceil),
                ];
                binary(&table);
                let table: [Binary<$ty, f32>; 1] = [("true_div", |a, b| a.true_div(b), |a, b| a as f32 / b as f32)];
                binary(&table);
            }

            // rows: C319
            #[test]
            fn comparisons() {
                let table: [Binary<$ty, bool>; 6] = [
                    ("lt", |a, b| a.lt(b), |a, b| a < b),
                    ("le", |a, b| a.le(b), |a, b| a <= b),
                    ("gt", |a, b| a.gt(b), |a, b| a > b),
                    ("ge", |a, b| a.ge(b), |a, b| a >= b),
                    ("eq", |a, b| a.eq(b), |a, b| a == b),
                    ("ne", |a, b| a.ne(b), |a, b| a != b),
                ];
                binary(&table);
            }

            // rows: C319
            #[test]
            fn three_operands() {
                let table: [Ternary<$ty, $ty>; 3] = [
                    ("mul_add", |a, b, c| a.mul_add(b, c), |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
                    ("clamp", |a, b, c| a.clamp(b, c), |a, b, c| Ord::min(Ord::max(a, b), c)),
                    ("select", |a, b, c| a.lt(b).select(b, c), |a, b, c| if a < b { b } else { c }),
                ];
                ternary(&table);
            }
        }
    )*};
}

/// Operations that exist only for signed types.
macro_rules! signed {
    ($($body:tt)*) => { $($body)* };
}

/// The same, where there is nothing.
macro_rules! unsigned {
    ($($body:tt)*) => {};
}

tests_of! {
    of_i8: i8 u8 i16 signed;
    of_i16: i16 u16 i32 signed;
    of_i32: i32 u32 i64 signed;
    of_i64: i64 u64 i128 signed;
    of_u8: u8 u8 u16 unsigned;
    of_u16: u16 u16 u32 unsigned;
    of_u32: u32 u32 u64 unsigned;
    of_u64: u64 u64 u128 unsigned;
}
