//! Element-wise functions of numbers.
//!
//! All are defined by operations of the kernel IR, so that every device computes the same bits. `docs/accuracy.md`
//! lists the largest errors of the transcendental ones, over all arguments, in units in the last place (ulp). Halves
//! are the rounded results of `f32`. Subnormal arguments and results are handled correctly, and NaN yields NaN.

use jit_runtime::ir::{BinaryOp, UnaryOp};

use super::{Array, FloatElement, Number, Operand, Signed, nan};
use crate::trace::record;
use crate::trace::unaffected::unaffected;

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

unary_functions! { FloatElement:
    /// Returns the largest whole number not above the value.
    floor Floor;
    /// Returns the smallest whole number not below the value.
    ceil Ceil;
    /// Returns the value without its fractional part.
    trunc Trunc;
    /// Returns the nearest whole number; ties go to the even one.
    round_ties_even Round;
    /// Returns the square root, correctly rounded; NaN below zero, and -0 for -0.
    sqrt Sqrt;
    /// Returns the reciprocal of the square root; infinite at zeros, with their sign, and NaN below. At most 0.51 ulp.
    rsqrt Rsqrt;
    /// Returns e to the power of the value. Infinite above 88.72 (`f64`: 709.78); small results are subnormal, not
    /// zero. At most 0.87 ulp (`f64`: 1).
    exp Exp;
    /// Returns 2 to the power of the value, exact for whole numbers. Infinite from 128 (`f64`: 1024) on; small results
    /// are subnormal. At most 0.88 ulp (`f64`: 1).
    exp2 Exp2;
    /// Returns the natural logarithm; -∞ at zeros, NaN below. At most 0.68 ulp (`f64`: 0.75).
    ln Ln;
    /// Returns the logarithm to base 2, exact for powers of two; -∞ at zeros, NaN below. At most 0.94 ulp (`f64`:
    /// 0.73).
    log2 Log2;
    /// Returns the sine of an angle in radians, however large; NaN for infinities. At most 1.17 ulp (`f64`: 0.8).
    sin Sin;
    /// Returns the cosine of an angle in radians, however large; NaN for infinities. At most 1.17 ulp (`f64`: 0.8).
    cos Cos;
    /// Returns the tangent of an angle in radians, however large; NaN for infinities. At most 0.51 ulp (`f64`: 2).
    tan Tan;
    /// Returns the angle in [-π/2, π/2] with this sine; NaN beyond ±1. At most 0.51 ulp (`f64`: 0.8).
    asin Asin;
    /// Returns the angle in [0, π] with this cosine; NaN beyond ±1. At most 0.51 ulp (`f64`: 0.8).
    acos Acos;
    /// Returns the angle in [-π/2, π/2] with this tangent; ±π/2 for infinities. At most 0.51 ulp (`f64`: 0.9).
    atan Atan;
    /// Returns the hyperbolic sine; infinite beyond ±89.41 (`f64`: ±710.47). At most 0.51 ulp (`f64`: 2).
    sinh Sinh;
    /// Returns the hyperbolic cosine; infinite beyond ±89.41 (`f64`: ±710.47). At most 0.51 ulp (`f64`: 2).
    cosh Cosh;
    /// Returns the hyperbolic tangent; ±1 for infinities. At most 0.51 ulp (`f64`: 2).
    tanh Tanh;
    /// Returns the inverse hyperbolic sine. At most 0.51 ulp (`f64`: 2).
    asinh Asinh;
    /// Returns the inverse hyperbolic cosine; NaN below 1. At most 0.51 ulp (`f64`: 2).
    acosh Acosh;
    /// Returns the inverse hyperbolic tangent; infinite at ±1, NaN beyond. At most 0.51 ulp (`f64`: 2).
    atanh Atanh;
    /// Returns e to the power of the value, minus one; accurate near zero, and -0 for -0. At most 0.51 ulp (`f64`: 2).
    exp_m1 ExpM1;
    /// Returns the natural logarithm of one plus the value, accurate near zero; -∞ at -1, NaN below. At most 0.51 ulp
    /// (`f64`: 1.2).
    ln_1p Ln1p;
    /// Returns the logarithm to base 10; -∞ at zeros, NaN below. At most 0.51 ulp (`f64`: 0.75).
    log10 Log10;
    /// Returns the cube root, with the sign of the value. At most 0.55 ulp (`f64`: 0.55).
    cbrt Cbrt;
    /// Returns the error function, 2/√π times the integral of e^(-t²) from 0 to the value; ±1 for infinities. At most
    /// 0.51 ulp (`f64`: 1.5).
    erf Erf;
    /// Returns one minus the error function, accurate where that is near 1; 0 for ∞ and 2 for -∞. At most 0.52 ulp
    /// (`f64`: 3.3).
    erfc Erfc;
    /// Returns the inverse of the error function; infinite at ±1, NaN beyond. At most 0.52 ulp (`f64`: 2.2).
    erfinv Erfinv;
    /// Returns the gamma function, which is the factorial of the value minus one; infinite at zeros, with their sign,
    /// NaN at negative whole numbers and -∞. At most 0.51 ulp (`f64`: 3).
    tgamma Tgamma;
    /// Returns the natural logarithm of the magnitude of the gamma function; infinite at zero, at negative whole
    /// numbers and for infinities. At most 1.3 ulp (`f64`: 3.5); near its zeros, ulp of 1.
    lgamma Lgamma;
}

unary_functions! { Number:
    /// Returns the absolute value. The smallest signed integer has none and is returned unchanged.
    abs Abs;
}

// Functions of two arguments are written out because the compiler quotes them where the second argument does not fit.
impl<T: Number> Array<T> {
    /// Returns the smaller value; NaN if either is NaN; -0 is smaller than +0.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn min(&self, other: impl Operand<T>) -> Self {
        self.binary(BinaryOp::Min, &other.into_array())
    }

    /// Returns the larger value; NaN if either is NaN; -0 is smaller than +0.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn max(&self, other: impl Operand<T>) -> Self {
        self.binary(BinaryOp::Max, &other.into_array())
    }
}

impl<T: FloatElement> Array<T> {
    /// Returns the smaller value; if one is NaN, the other.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn fmin(&self, other: impl Operand<T>) -> Self {
        self.binary(BinaryOp::FMin, &other.into_array())
    }

    /// Returns the larger value; if one is NaN, the other.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn fmax(&self, other: impl Operand<T>) -> Self {
        self.binary(BinaryOp::FMax, &other.into_array())
    }

    /// Returns the magnitude of `self` with the sign of the other, also for zeros; NaN counts as positive.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn copysign(&self, other: impl Operand<T>) -> Self {
        let other = other.into_array();
        Array::recorded(record::binary(BinaryOp::CopySign, &self.var, &nan::canonical(&other.var)))
    }

    /// Returns the length of the hypotenuse, `sqrt(x² + y²)`, without intermediate overflow; infinite if either is. At
    /// most 0.51 ulp (`f64`: 0.75).
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn hypot(&self, other: impl Operand<T>) -> Self {
        self.binary(BinaryOp::Hypot, &other.into_array())
    }

    /// Returns the angle, in [-π, π], of the point with `self` as second coordinate (y) and the other value as first
    /// coordinate (x). Zeros count by their sign. At most 0.51 ulp (`f64`: 1.6).
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn atan2(&self, other: impl Operand<T>) -> Self {
        self.binary(BinaryOp::Atan2, &other.into_array())
    }

    /// Raises the value to the power of the other. 1 to any power and anything to the power of 0 is 1, even NaN. A
    /// negative value to a power that is not a whole number is NaN. At most 0.52 ulp (`f64`: 0.85).
    #[inline]
    #[must_use]
    #[track_caller]
    #[doc(alias = "pow")]
    #[doc(alias = "power")]
    pub fn powf(&self, other: impl Operand<T>) -> Self {
        self.binary(BinaryOp::Pow, &other.into_array())
    }
}

impl<T: Number> Array<T> {
    /// Returns the value multiplied by itself, by squares.
    #[track_caller]
    pub(super) fn raised(&self, exponent: u32) -> Self {
        let (mut rest, mut power, mut square) = (exponent, T::ONE.into_array(), self.clone());
        while rest != 0 {
            if rest & 1 == 1 {
                power = &power * &square;
            }
            rest >>= 1;
            if rest != 0 {
                square = &square * &square;
            }
        }
        Array::from_var(record::broadcast(&power.var, self.width()))
    }

    /// Clamps the value between two bounds; `high` where the bounds are in the wrong order. NaN stays NaN.
    #[must_use]
    #[track_caller]
    pub fn clamp(&self, low: impl Operand<T>, high: impl Operand<T>) -> Self {
        self.max(low).min(high)
    }

    /// Returns `self * factor + addend`, rounded once for floats.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn mul_add(&self, factor: impl Operand<T>, addend: impl Operand<T>) -> Self {
        Array::recorded(record::fma(&self.var, factor.into_array().var(), addend.into_array().var()))
    }
}

impl<T: Signed> Array<T> {
    /// Returns 1 or -1 by the sign. For floats zeros count by their sign and NaN stays NaN, as with `f32::signum`; for
    /// integers zero yields zero.
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
    /// Returns the nearest whole number; ties go away from zero, as with `f32::round`.
    #[must_use]
    #[track_caller]
    pub fn round(&self) -> Self {
        let whole = self.trunc();
        let fraction = (self - &whole).abs();
        let farther = &whole + T::ONE.into_array().binary(BinaryOp::CopySign, self);
        fraction.ge(T::from_f64(0.5)).select(farther, whole)
    }

    /// Returns `1 / x`, rounded once.
    #[must_use]
    #[track_caller]
    pub fn recip(&self) -> Self {
        T::ONE.into_array() / self
    }

    /// Returns sine and cosine.
    #[must_use]
    #[track_caller]
    pub fn sin_cos(&self) -> (Self, Self) {
        (self.sin(), self.cos())
    }

    /// Returns `1 / (1 + exp(-x))`, accurate at both ends, to about 3 ulp.
    #[must_use]
    #[track_caller]
    pub fn sigmoid(&self) -> Self {
        // Not by `abs`, whose derivative at 0 is 0.
        let is_positive = self.ge(T::default());
        let decay = is_positive.select(-self, self).exp();
        is_positive.select(T::ONE, &decay) / (&decay + T::ONE)
    }

    /// Raises the value to a whole power, by repeated multiplication; negative powers are reciprocals. Anything to the
    /// power of 0 is 1, even NaN, and its derivative is 0.
    #[must_use]
    #[track_caller]
    pub fn powi(&self, exponent: i32) -> Self {
        if exponent == 0 {
            let one = record::broadcast(T::ONE.into_array().var(), self.width());
            return Array::from_var(unaffected(one, [&self.var]));
        }
        let power = self.raised(exponent.unsigned_abs());
        if exponent < 0 { power.recip() } else { power }
    }
}
