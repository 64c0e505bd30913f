//! Element-wise functions of numbers.
//!
//! All are defined by operations of the kernel IR, so that every device gives the same bits.

use jit_runtime::ir::{BinaryOp, UnaryOp};

use super::{Array, FloatElement, Number, Operand, Signed};
use crate::trace::record;

macro_rules! unary_functions {
    ($bound:ident: $($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<T: $bound> Array<T> {
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

macro_rules! binary_functions {
    ($bound:ident: $($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<T: $bound> Array<T> {
            $(
                $(#[$doc])*
                #[inline]
                #[must_use]
                #[track_caller]
                pub fn $name(&self, other: impl Operand<T>) -> Self {
                    self.binary(BinaryOp::$op, &other.into_array())
                }
            )*
        }
    };
}

unary_functions! { FloatElement:
    /// The largest whole number that is not above the value.
    floor Floor;
    /// The smallest whole number that is not below the value.
    ceil Ceil;
    /// The value without its fraction.
    trunc Trunc;
    /// The nearest whole number; the even one of two that are equally near.
    round_ties_even Round;
    /// Square root, correctly rounded; NaN below zero.
    sqrt Sqrt;
    /// e to the value.
    exp Exp;
    /// 2 to the value.
    exp2 Exp2;
    /// Natural logarithm; NaN below zero.
    ln Ln;
    /// Logarithm to base 2; NaN below zero.
    log2 Log2;
    /// Sine of an angle in radians.
    sin Sin;
    /// Cosine of an angle in radians.
    cos Cos;
    /// Tangent of an angle in radians.
    tan Tan;
    /// The angle in [-π/2, π/2] with this sine; NaN beyond ±1.
    asin Asin;
    /// The angle in [0, π] with this cosine; NaN beyond ±1.
    acos Acos;
    /// The angle in [-π/2, π/2] with this tangent.
    atan Atan;
    /// Hyperbolic sine.
    sinh Sinh;
    /// Hyperbolic cosine.
    cosh Cosh;
    /// Hyperbolic tangent.
    tanh Tanh;
    /// Inverse hyperbolic sine.
    asinh Asinh;
    /// Inverse hyperbolic cosine; NaN below 1.
    acosh Acosh;
    /// Inverse hyperbolic tangent; infinite at ±1, NaN beyond.
    atanh Atanh;
    /// e to the value, less one; accurate near zero.
    exp_m1 ExpM1;
    /// Natural logarithm of one plus the value, accurate near zero; NaN below -1.
    ln_1p Ln1p;
    /// Logarithm to base 10; NaN below zero.
    log10 Log10;
    /// Cube root.
    cbrt Cbrt;
    /// The error function, 2/√π times the integral of e^(-t²) from 0 to the value.
    erf Erf;
    /// One less the error function, accurate where that is near 1.
    erfc Erfc;
    /// The inverse of the error function; infinite at ±1, NaN beyond.
    erfinv Erfinv;
    /// The gamma function, the factorial of the value less one; infinite at zeros, NaN at negative whole numbers.
    tgamma Tgamma;
    /// The natural logarithm of the magnitude of the gamma function; infinite at zero and at negative whole numbers. Near
    /// its zeros it is accurate absolutely.
    lgamma Lgamma;
}

unary_functions! { Number:
    /// Absolute value. The smallest signed integer has none and stays as it is.
    abs Abs;
}

binary_functions! { Number:
    /// The smaller one; NaN if one is NaN; -0 is smaller than +0.
    min Min;
    /// The larger one; NaN if one is NaN; -0 is smaller than +0.
    max Max;
}

binary_functions! { FloatElement:
    /// The smaller one; if one is NaN, the other.
    fmin FMin;
    /// The larger one; if one is NaN, the other.
    fmax FMax;
    /// The magnitude of this with the sign of the other, zeros and NaN included.
    copysign CopySign;
    /// The length of the hypotenuse, `sqrt(x² + y²)`, without overflow on the way; infinite if one of them is.
    hypot Hypot;
    /// The angle, in [-π, π], of the point whose second coordinate (y) this is, and whose first (x) the other. Zeros
    /// count by their sign.
    atan2 Atan2;
    /// The value to the power of the other. 1 to any power and anything to the power of 0 is 1, even NaN; a negative
    /// value to a power that is no whole number is NaN.
    powf Pow;
}

impl<T: Number> Array<T> {
    /// The nearest value between two bounds; `high` where they are in the wrong order. NaN stays.
    #[must_use]
    #[track_caller]
    pub fn clamp(&self, low: impl Operand<T>, high: impl Operand<T>) -> Self {
        self.max(low).min(high)
    }

    /// `self * factor + addend`, rounded once for floats.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn mul_add(&self, factor: impl Operand<T>, addend: impl Operand<T>) -> Self {
        Array::from_var(record::fma(&self.var, factor.into_array().var(), addend.into_array().var()))
    }
}

impl<T: Signed> Array<T> {
    /// 1 or -1 by the sign. For floats zeros count by their sign and NaN stays, as with `f32::signum`; for integers zero gives zero.
    #[must_use]
    #[track_caller]
    pub fn sign(&self) -> Self {
        let one = T::ONE.into_array();
        if T::TYPE.is_float() {
            let unit = one.binary(BinaryOp::CopySign, self);
            return self.ne(self).select(self, unit);
        }
        let (zero, minus_one) = (T::default().into_array(), -&one);
        self.gt(&zero).select(one, self.lt(&zero).select(minus_one, zero))
    }
}

impl<T: FloatElement> Array<T> {
    /// The nearest whole number; of two that are equally near, the one farther from zero, as `f32::round`.
    #[must_use]
    #[track_caller]
    pub fn round(&self) -> Self {
        let whole = self.trunc();
        let fraction = (self - &whole).abs();
        let farther = &whole + T::ONE.into_array().copysign(self);
        fraction.ge(T::from_f64(0.5)).select(farther, whole)
    }

    /// `1 / x`, rounded once.
    #[must_use]
    #[track_caller]
    pub fn recip(&self) -> Self {
        T::ONE.into_array() / self
    }

    /// `1 / sqrt(x)`.
    #[must_use]
    #[track_caller]
    pub fn rsqrt(&self) -> Self {
        self.sqrt().recip()
    }

    /// Sine and cosine.
    #[must_use]
    #[track_caller]
    pub fn sin_cos(&self) -> (Self, Self) {
        (self.sin(), self.cos())
    }

    /// `1 / (1 + exp(-x))`, accurate at both ends.
    #[must_use]
    #[track_caller]
    pub fn sigmoid(&self) -> Self {
        let decay = (-self.abs()).exp();
        let numerator = self.ge(T::default()).select(T::ONE, &decay);
        numerator / (decay + T::ONE)
    }

    /// The value to a whole power, by repeated multiplication; negative powers are reciprocals.
    #[must_use]
    #[track_caller]
    pub fn powi(&self, exponent: i32) -> Self {
        let mut rest = exponent.unsigned_abs();
        let mut power = T::ONE.into_array();
        let mut square = self.clone();
        while rest != 0 {
            if rest & 1 == 1 {
                power = &power * &square;
            }
            rest >>= 1;
            if rest != 0 {
                square = &square * &square;
            }
        }
        let power = Array::from_var(record::broadcast(&power.var, self.len()));
        if exponent < 0 { power.recip() } else { power }
    }
}
