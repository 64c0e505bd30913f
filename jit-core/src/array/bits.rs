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

/// The names that plain Rust has for arithmetic whose overflow is defined. The operators of arrays wrap, too.
impl<T: Integer> Array<T> {
    /// Returns the sum, modulo the number of values of the type: the same as `+`.
    #[must_use]
    #[track_caller]
    pub fn wrapping_add(&self, other: impl Operand<T>) -> Self {
        self + other.into_array()
    }

    /// Returns the difference, modulo the number of values of the type: the same as `-`.
    #[must_use]
    #[track_caller]
    pub fn wrapping_sub(&self, other: impl Operand<T>) -> Self {
        self - other.into_array()
    }

    /// Returns the product, modulo the number of values of the type: the same as `*`.
    #[must_use]
    #[track_caller]
    pub fn wrapping_mul(&self, other: impl Operand<T>) -> Self {
        self * other.into_array()
    }

    /// Returns the value negated, modulo the number of values of the type, for unsigned types too.
    #[must_use]
    #[track_caller]
    pub fn wrapping_neg(&self) -> Self {
        T::default().into_array() - self
    }

    /// Returns the sum, or the end of the type's range that it exceeds.
    #[must_use]
    #[track_caller]
    pub fn saturating_add(&self, other: impl Operand<T>) -> Self {
        let other = other.into_array();
        let sum = self + &other;
        if T::TYPE.is_unsigned_integer() {
            return sum.lt(self).select(!T::default().into_array(), sum);
        }
        // It overflows if its sign differs from that of both operands.
        self.or_nearest_end(&sum, &((self ^ &sum) & (other ^ &sum)))
    }

    /// Returns the difference, or the end of the type's range that it exceeds.
    #[must_use]
    #[track_caller]
    pub fn saturating_sub(&self, other: impl Operand<T>) -> Self {
        let other = other.into_array();
        let difference = self - &other;
        if T::TYPE.is_unsigned_integer() {
            return self.lt(&other).select(T::default().into_array(), difference);
        }
        // It overflows if the operands have different signs and it has not that of the first.
        self.or_nearest_end(&difference, &((self ^ &other) & (self ^ &difference)))
    }

    /// Selects the least or greatest value of a signed type, by the sign of `self`, where `overflow` is negative, and
    /// the result elsewhere.
    #[track_caller]
    fn or_nearest_end(&self, result: &Self, overflow: &Self) -> Self {
        let least = T::from_bits(1_u64 << (T::TYPE.bits() - 1)).into_array();
        let nearest = self.lt(T::default()).select(&least, !&least);
        overflow.lt(T::default()).select(nearest, result)
    }
}

/// What [`Array::pow`] requires: as a bound of the method, its message names the methods of floats.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`pow` is for integers: for floats it is `x.powi(2)` for a whole number, and `x.powf(y)` for a float",
    label = "the elements are `{Self}`"
)]
pub trait HasPow: Integer {}

impl<T: Integer> HasPow for T {}

impl<T: Number> Array<T> {
    /// Returns the value multiplied by itself `exponent` times, modulo the number of values of the type; one for zero
    /// times. For arrays of integers.
    #[must_use]
    #[track_caller]
    pub fn pow(&self, exponent: u32) -> Self
    where
        T: HasPow,
    {
        self.raised(exponent)
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
