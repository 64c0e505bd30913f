//! Element-wise functions of integers, and division with remainders that are not negative.

use jit_runtime::ir::{BinaryOp, Type, UnaryOp};

use super::{Array, Integer, Number, Operand};
use crate::graph::Var;
use crate::trace::record;

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<T: Integer> Array<T> {
            $(
                $(#[$doc])*
                #[inline]
                #[must_use]
                #[track_caller]
                pub fn $name(&self) -> Self {
                    self.unary(UnaryOp::$op)
                }
            )*
        }
    };
}

functions! {
    /// Returns the number of one bits, as this element type.
    count_ones CountOnes;
    /// Returns the number of zero bits above the highest one; the number of bits for zero.
    leading_zeros LeadingZeros;
    /// Returns the number of zero bits below the lowest one; the number of bits for zero.
    trailing_zeros TrailingZeros;
    /// Returns the bits in reverse order.
    reverse_bits ReverseBits;
}

impl<T: Integer> Array<T> {
    /// Returns the upper half of the product, which has twice the width.
    #[must_use]
    #[track_caller]
    pub fn mul_hi(&self, other: impl Operand<T>) -> Self {
        self.binary(BinaryOp::MulHi, &other.into_array())
    }

    /// Rotates the bits to the left: bits shifted out come back in on the right. The count is taken modulo the number
    /// of bits.
    #[must_use]
    #[track_caller]
    pub fn rotate_left(&self, count: impl Operand<T>) -> Self {
        self.rotate(count.into_array().var(), BinaryOp::Shl, BinaryOp::Shr)
    }

    /// Rotates the bits to the right: bits shifted out come back in on the left. The count is taken modulo the number
    /// of bits.
    #[must_use]
    #[track_caller]
    pub fn rotate_right(&self, count: impl Operand<T>) -> Self {
        self.rotate(count.into_array().var(), BinaryOp::Shr, BinaryOp::Shl)
    }

    #[track_caller]
    fn rotate(&self, count: &Var, there: BinaryOp, back: BinaryOp) -> Self {
        // Unsigned, so that the right shift inserts zeros.
        let ty = unsigned(T::TYPE);
        let (value, count) = (record::bitcast(ty, &self.var), record::bitcast(ty, count));
        let mask = record::literal(ty, u64::from(ty.bits() - 1), 1);
        let forward = record::and(&count, &mask);
        let backward = record::and(&record::unary(UnaryOp::Neg, &count), &mask);
        let moved = record::binary(there, &value, &forward);
        let returned = record::binary(back, &value, &backward);
        Array::from_var(record::bitcast(T::TYPE, &record::binary(BinaryOp::Or, &moved, &returned)))
    }
}

impl<T: Number> Array<T> {
    /// Returns the quotient whose remainder is not negative: a whole number. Division of integers by zero and overflow
    /// behave as with `/`.
    #[must_use]
    #[track_caller]
    pub fn div_euclid(&self, divisor: impl Operand<T>) -> Self {
        let divisor = divisor.into_array();
        let mut quotient = self / &divisor;
        if T::TYPE.is_unsigned_integer() {
            return quotient;
        }
        if T::TYPE.is_float() {
            quotient = quotient.unary(UnaryOp::Trunc);
        }
        let is_negative = (self % &divisor).lt(T::default()) & divisor.ne(T::default());
        let correction = divisor.gt(T::default()).select(&quotient - T::ONE, &quotient + T::ONE);
        is_negative.select(correction, quotient)
    }

    /// Returns the remainder of a division by the divisor's magnitude, which is never negative. The remainder of an
    /// integer by zero is the value itself.
    #[must_use]
    #[track_caller]
    pub fn rem_euclid(&self, divisor: impl Operand<T>) -> Self {
        let divisor = divisor.into_array();
        let remainder = self % &divisor;
        if T::TYPE.is_unsigned_integer() {
            return remainder;
        }
        remainder.lt(T::default()).select(&remainder + divisor.abs(), remainder)
    }
}

/// Returns the unsigned integer type of the same size.
pub(super) const fn unsigned(ty: Type) -> Type {
    match ty.size_bytes() {
        1 => Type::U8,
        2 => Type::U16,
        4 => Type::U32,
        _ => Type::U64,
    }
}
