//! Element-wise helpers that are composed of other operations.

use jit_runtime::ir::{BinaryOp, Type};

use super::bits::unsigned;
use super::nan;
use super::{Array, FloatElement, Integer, Mask, Number, Operand, Signed};
use crate::trace::record;

impl<T: Number> Array<T> {
    /// Returns the quotient as a float: integers are converted to `f32` first, floats keep their type.
    #[must_use]
    #[track_caller]
    pub fn true_div(&self, divisor: impl Operand<T>) -> Array<T::Quotient> {
        self.cast::<T::Quotient>().binary(BinaryOp::Div, &divisor.into_array().cast())
    }

    /// Returns the square.
    #[must_use]
    #[track_caller]
    pub fn square(&self) -> Self {
        self * self
    }

    /// Returns the distance of two values, `|a - b|`. For integers it is exact as an unsigned number. The distance of
    /// two signed integers that exceeds their type wraps, as `a.abs_diff(b) as T` does in Rust.
    #[must_use]
    #[track_caller]
    pub fn abs_diff(&self, other: impl Operand<T>) -> Self {
        let other = other.into_array();
        if T::TYPE.is_float() {
            return (self - other).abs();
        }
        self.max(&other) - self.min(&other)
    }

    /// Returns 0 where the value is below an edge, 1 elsewhere; 0 for NaN.
    #[must_use]
    #[track_caller]
    pub fn step(&self, edge: impl Operand<T>) -> Self {
        self.ge(edge.into_array()).cast()
    }
}

impl<T: Signed> Array<T> {
    /// Returns the value, negated where the other is negative (by its sign bit, for floats; NaN counts as positive).
    #[must_use]
    #[track_caller]
    pub fn mul_sign(&self, sign: impl Operand<T>) -> Self {
        let sign = sign.into_array();
        let is_negative = if T::TYPE.is_float() { sign.sign_bit() } else { sign.lt(T::default()) };
        is_negative.select(-self, self)
    }

    #[track_caller]
    fn sign_bit(&self) -> Mask {
        let ty = unsigned(T::TYPE);
        let bits = record::bitcast(ty, &nan::canonical(self.var()));
        let top = record::binary(BinaryOp::Shr, &bits, &record::literal(ty, u64::from(ty.bits() - 1), 1));
        Array::from_var(record::cast(Type::Bool, &top))
    }
}

impl<T: FloatElement> Array<T> {
    /// True where the value is NaN.
    #[must_use]
    #[track_caller]
    pub fn is_nan(&self) -> Mask {
        self.ne(self)
    }

    /// True where the value is plus or minus infinity.
    #[must_use]
    #[track_caller]
    pub fn is_infinite(&self) -> Mask {
        self.abs().eq(T::from_f64(f64::INFINITY))
    }

    /// True where the value is neither infinite nor NaN.
    #[must_use]
    #[track_caller]
    pub fn is_finite(&self) -> Mask {
        self.abs().lt(T::from_f64(f64::INFINITY))
    }

    /// True where the sign bit is set: also for `-0.0`; false for every NaN.
    #[must_use]
    #[track_caller]
    pub fn is_sign_negative(&self) -> Mask {
        self.sign_bit()
    }

    /// True where the sign bit is clear: also for `+0.0`, and for every NaN.
    #[must_use]
    #[track_caller]
    pub fn is_sign_positive(&self) -> Mask {
        !self.sign_bit()
    }

    /// Returns the fractional part, with the value's sign: `x - x.trunc()`. NaN for infinities.
    #[must_use]
    #[track_caller]
    pub fn fract(&self) -> Self {
        self - self.trunc()
    }

    /// Linear interpolation. Returns exactly `self` at 0 and `end` at 1; in between it is `(end - self) * t + self`,
    /// rounded once after the difference.
    #[must_use]
    #[track_caller]
    pub fn lerp(&self, end: impl Operand<T>, t: impl Operand<T>) -> Self {
        let (end, t) = (end.into_array(), t.into_array());
        let between = (&end - self).mul_add(&t, self);
        t.eq(T::ONE).select(end, between)
    }

    /// Returns 0 up to `low`, 1 from `high` on, and a smooth step in between: 3t² - 2t³, where t is the relative
    /// position between the two.
    #[must_use]
    #[track_caller]
    pub fn smooth_step(&self, low: impl Operand<T>, high: impl Operand<T>) -> Self {
        let low = low.into_array();
        let t = ((self - &low) / (high.into_array() - &low)).clamp(T::default(), T::ONE);
        &t * &t * t.mul_add(T::from_f64(-2.0), T::from_f64(3.0))
    }

    /// Converts degrees to radians.
    #[must_use]
    #[track_caller]
    pub fn to_radians(&self) -> Self {
        self * T::from_f64(std::f64::consts::PI / 180.0)
    }

    /// Converts radians to degrees.
    #[must_use]
    #[track_caller]
    pub fn to_degrees(&self) -> Self {
        self * T::from_f64(180.0 / std::f64::consts::PI)
    }
}

impl<T: Integer> Array<T> {
    /// Returns the number of zero bits; the number of bits for zero.
    #[must_use]
    #[track_caller]
    pub fn count_zeros(&self) -> Self {
        (!self).count_ones()
    }

    /// Returns the number of one bits above the highest zero.
    #[must_use]
    #[track_caller]
    pub fn leading_ones(&self) -> Self {
        (!self).leading_zeros()
    }

    /// Returns the number of one bits below the lowest zero.
    #[must_use]
    #[track_caller]
    pub fn trailing_ones(&self) -> Self {
        (!self).trailing_zeros()
    }

    /// Returns the bytes in reverse order.
    #[must_use]
    #[track_caller]
    pub fn swap_bytes(&self) -> Self {
        let ty = unsigned(T::TYPE);
        let literal = |bits: u64| record::literal(ty, bits, 1);
        let mut value = record::bitcast(ty, self.var());
        let mut half = 8;
        while half < ty.bits() {
            // Neighbouring groups of bits are swapped: bytes, then pairs of bytes, then groups of four.
            let low = u64::MAX / ((1_u64 << half) + 1);
            let count = literal(half.into());
            let up = record::binary(BinaryOp::Shl, &record::and(&value, &literal(low)), &count);
            let down = record::and(&record::binary(BinaryOp::Shr, &value, &count), &literal(low));
            value = record::binary(BinaryOp::Or, &up, &down);
            half *= 2;
        }
        Array::from_var(record::bitcast(T::TYPE, &value))
    }

    /// True where exactly one bit is set.
    #[must_use]
    #[track_caller]
    pub fn is_power_of_two(&self) -> Mask {
        self.count_ones().eq(T::ONE)
    }

    /// Returns the logarithm to base 2, rounded down, of the bits as an unsigned number; all ones (-1) for zero.
    #[must_use]
    #[track_caller]
    pub fn ilog2(&self) -> Self {
        let last = T::from_bits(u64::from(T::TYPE.bits() - 1));
        last.into_array() - self.leading_zeros()
    }

    /// Returns the quotient rounded up. Division by zero and overflow behave as with `/`.
    #[must_use]
    #[track_caller]
    pub fn div_ceil(&self, divisor: impl Operand<T>) -> Self {
        let divisor = divisor.into_array();
        let (quotient, remainder) = (self / &divisor, self % &divisor);
        let is_same_sign = (&remainder ^ &divisor).ge(T::default());
        let rounds_up = remainder.ne(T::default()) & is_same_sign & divisor.ne(T::default());
        rounds_up.select(&quotient + T::ONE, quotient)
    }
}
