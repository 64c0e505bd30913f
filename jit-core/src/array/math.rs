//! Element-wise functions of numbers.
//!
//! All are defined by operations of the kernel IR, so that every device gives the same bits.

use jit_runtime::ir::{BinaryOp, Type, UnaryOp};

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

    /// The length of the hypotenuse, `sqrt(x² + y²)`, without overflow on the way.
    #[must_use]
    #[track_caller]
    pub fn hypot(&self, other: impl Operand<T>) -> Self {
        let (a, b) = (self.abs(), other.into_array().abs());
        let (long, short) = (a.max(&b), a.min(&b));
        let ratio = &short / &long;
        let length = &long * ratio.mul_add(&ratio, T::ONE).sqrt();
        let infinity = T::from_f64(f64::INFINITY);
        let is_infinite = a.eq(infinity) | b.eq(infinity);
        let is_zero = long.eq(T::default());
        is_infinite.select(infinity, is_zero.select(long, length))
    }

    /// `1 / (1 + exp(-x))`, accurate at both ends.
    #[must_use]
    #[track_caller]
    pub fn sigmoid(&self) -> Self {
        let decay = (-self.abs()).exp();
        let numerator = self.ge(T::default()).select(T::ONE, &decay);
        numerator / (decay + T::ONE)
    }

    /// Hyperbolic tangent. Near zero by polynomials (S. Moshier, Cephes Mathematical Library, `tanhf.c` and `tanh.c`), elsewhere by `exp`.
    #[must_use]
    #[track_caller]
    pub fn tanh(&self) -> Self {
        if matches!(T::TYPE, Type::F16 | Type::BF16) {
            return self.cast::<f32>().tanh().cast();
        }
        let magnitude = self.abs();
        let decay = (&magnitude * T::from_f64(-2.0)).exp();
        let far = ((T::ONE.into_array() - &decay) / (decay + T::ONE)).copysign(self);
        let square = self * self;
        let correction = if T::TYPE == Type::F64 { tanh_double(&square) } else { tanh_single(&square) };
        let near = (self * square).mul_add(correction, self);
        magnitude.lt(T::from_f64(0.625)).select(near, far)
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

/// `coefficients[0] * x^n + … + coefficients[n]`.
#[track_caller]
fn polynomial<T: FloatElement>(x: &Array<T>, coefficients: &[f64]) -> Array<T> {
    let (first, rest) = coefficients.split_first().expect("a polynomial has a coefficient");
    rest.iter().fold(T::from_f64(*first).into_array(), |sum, &next| sum.mul_add(x, T::from_f64(next)))
}

#[track_caller]
fn tanh_single<T: FloatElement>(square: &Array<T>) -> Array<T> {
    let coefficients =
        [-5.704_988_727_45e-3, 2.063_908_879_54e-2, -5.373_971_555_31e-2, 1.333_144_220_36e-1, -3.333_328_194_22e-1];
    polynomial(square, &coefficients)
}

#[track_caller]
fn tanh_double<T: FloatElement>(square: &Array<T>) -> Array<T> {
    let numerator = [-9.643_991_794_250_522e-1, -9.928_772_310_019_186e1, -1.614_687_684_417_084_5e3];
    let denominator = [1.0, 1.128_116_784_916_329_3e2, 2.235_488_390_601_004_5e3, 4.844_063_053_251_255e3];
    polynomial(square, &numerator) / polynomial(square, &denominator)
}
