//! Integer arithmetic: two's complement, wrapping, nothing traps.

use super::element::Element;
use super::{BinaryFn, TernaryFn, UnaryFn};
use crate::ir::op::{BinaryOp, UnaryOp};

/// The differences between the integer types, besides the operators.
pub(super) trait Integer: Element + Ord {
    fn neg(self) -> Self;
    fn not(self) -> Self;
    fn abs(self) -> Self;
    fn count_ones(self) -> Self;
    fn leading_zeros(self) -> Self;
    fn trailing_zeros(self) -> Self;
    fn reverse_bits(self) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    /// All ones where the divisor is zero.
    fn div(self, b: Self) -> Self;
    /// The dividend where the divisor is zero.
    fn rem(self, b: Self) -> Self;
    fn mul_hi(self, b: Self) -> Self;
    fn and(self, b: Self) -> Self;
    fn or(self, b: Self) -> Self;
    fn xor(self, b: Self) -> Self;
    fn shl(self, b: Self) -> Self;
    fn shr(self, b: Self) -> Self;
}

macro_rules! integer {
    ($($ty:ident, $unsigned:ident, $wide:ident, $abs:ident;)*) => {$(
        impl Integer for $ty {
            fn neg(self) -> Self {
                self.wrapping_neg()
            }

            fn not(self) -> Self {
                !self
            }

            fn abs(self) -> Self {
                $abs!(self)
            }

            fn count_ones(self) -> Self {
                <$ty>::count_ones(self) as $ty
            }

            fn leading_zeros(self) -> Self {
                <$ty>::leading_zeros(self) as $ty
            }

            fn trailing_zeros(self) -> Self {
                <$ty>::trailing_zeros(self) as $ty
            }

            fn reverse_bits(self) -> Self {
                <$ty>::reverse_bits(self)
            }

            fn add(self, b: Self) -> Self {
                self.wrapping_add(b)
            }

            fn sub(self, b: Self) -> Self {
                self.wrapping_sub(b)
            }

            fn mul(self, b: Self) -> Self {
                self.wrapping_mul(b)
            }

            fn div(self, b: Self) -> Self {
                if b == 0 { !0 } else { self.wrapping_div(b) }
            }

            fn rem(self, b: Self) -> Self {
                if b == 0 { self } else { self.wrapping_rem(b) }
            }

            fn mul_hi(self, b: Self) -> Self {
                ((self as $wide * b as $wide) >> <$ty>::BITS) as $ty
            }

            fn and(self, b: Self) -> Self {
                self & b
            }

            fn or(self, b: Self) -> Self {
                self | b
            }

            fn xor(self, b: Self) -> Self {
                self ^ b
            }

            fn shl(self, b: Self) -> Self {
                let count = b as $unsigned as u64;
                if count < u64::from(<$ty>::BITS) { self << count } else { 0 }
            }

            fn shr(self, b: Self) -> Self {
                // Shifting by all bits but one yields 0 or the sign in a signed type; an unsigned one needs one bit
                // more.
                let last = u64::from(<$ty>::BITS) - 1;
                let count = b as $unsigned as u64;
                if count <= last { self >> count } else { (self >> last) >> 1 }
            }
        }
    )*};
}

macro_rules! signed_abs {
    ($a:expr) => {
        $a.wrapping_abs()
    };
}

macro_rules! unsigned_abs {
    ($a:expr) => {
        $a
    };
}

integer! {
    i8, u8, i16, signed_abs;
    i16, u16, i32, signed_abs;
    i32, u32, i64, signed_abs;
    i64, u64, i128, signed_abs;
    u8, u8, u16, unsigned_abs;
    u16, u16, u32, unsigned_abs;
    u32, u32, u64, unsigned_abs;
    u64, u64, u128, unsigned_abs;
}

/// The operations on one integer.
pub(super) fn unary<T: Integer>(op: UnaryOp) -> Option<UnaryFn> {
    macro_rules! function {
        ($name:ident) => {
            Some(|a| T::from_carrier(a).$name().to_carrier())
        };
    }
    match op {
        UnaryOp::Neg => function!(neg),
        UnaryOp::Not => function!(not),
        UnaryOp::Abs => function!(abs),
        UnaryOp::CountOnes => function!(count_ones),
        UnaryOp::LeadingZeros => function!(leading_zeros),
        UnaryOp::TrailingZeros => function!(trailing_zeros),
        UnaryOp::ReverseBits => function!(reverse_bits),
        _ => None,
    }
}

/// The operations on two integers.
pub(super) fn binary<T: Integer>(op: BinaryOp) -> Option<BinaryFn> {
    macro_rules! function {
        ($name:ident) => {
            Some(|a, b| T::from_carrier(a).$name(T::from_carrier(b)).to_carrier())
        };
    }
    match op {
        BinaryOp::Add => function!(add),
        BinaryOp::Sub => function!(sub),
        BinaryOp::Mul => function!(mul),
        BinaryOp::Div => function!(div),
        BinaryOp::Rem => function!(rem),
        BinaryOp::Min => function!(min),
        BinaryOp::Max => function!(max),
        BinaryOp::MulHi => function!(mul_hi),
        BinaryOp::And => function!(and),
        BinaryOp::Or => function!(or),
        BinaryOp::Xor => function!(xor),
        BinaryOp::Shl => function!(shl),
        BinaryOp::Shr => function!(shr),
        _ => None,
    }
}

/// Wrapping `a * b + c`.
pub(super) fn fma<T: Integer>() -> Option<TernaryFn> {
    Some(|a, b, c| T::from_carrier(a).mul(T::from_carrier(b)).add(T::from_carrier(c)).to_carrier())
}
