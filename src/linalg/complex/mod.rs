//! Complex numbers of arrays.
//!
//! | part | file |
//! |---|---|
//! | constructors, magnitude, angle, comparison | this file |
//! | operators | `operators` |
//! | powers, exponentials, logarithms | `power` |
//! | circular and hyperbolic functions and their inverses | `trigonometry` |
//!
//! Branch cuts and signs on them are those of W. Kahan, “Branch Cuts for Complex Elementary Functions, or Much Ado
//! About Nothing's Sign Bit”, 1987, which are also those of C and NumPy. Halves are computed in single precision and
//! rounded once.

use super::Component;
use crate::{Array, Element, FloatElement, Mask, Signed, Size, Traverse};

mod operators;
mod power;
mod trigonometry;

pub use operators::ComplexOperand;

/// A complex number per lane: two arrays, the real and the imaginary part.
///
/// An array or a number combined with a complex number is real.
///
/// ```
/// use jit::linalg::Complex;
/// use jit::prelude::*;
///
/// #[jit]
/// fn escape_time(c: Complex, #[constexpr] limit: u32) -> UInt {
///     let (mut z, mut n) = (c.zeros_like(), UInt::from(0));
///     while z.squared_abs() < 4.0 && n < limit {
///         z = z * z + c;
///         n += 1;
///     }
///     n
/// }
///
/// let c = Complex::new(Float::from([0.0, 1.0, -1.0]), 0.5);
/// assert_eq!(escape_time(c, 100).to_vec()?, [100, 2, 5]);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Traverse)]
pub struct Complex<T: Element = f32> {
    /// The real part.
    pub re: Array<T>,
    /// The imaginary part.
    pub im: Array<T>,
}

impl<T: FloatElement> Complex<T> {
    /// Returns the imaginary unit, whose square is -1.
    #[must_use]
    #[track_caller]
    pub fn i() -> Self {
        Self::new(T::default(), T::ONE)
    }

    /// Creates the number with this real part and a zero imaginary part.
    #[must_use]
    #[track_caller]
    pub fn from_real(re: impl Component<T>) -> Self {
        Self::new(re, T::default())
    }

    /// Returns one in all lanes.
    #[must_use]
    #[track_caller]
    pub fn ones(width: impl Into<Size>) -> Self {
        let width = width.into();
        Complex { re: Array::ones(width), im: Array::zeros(width) }
    }

    /// Returns the number of this magnitude and angle (in radians).
    #[must_use]
    #[track_caller]
    pub fn from_polar(magnitude: impl Component<T>, angle: impl Component<T>) -> Self {
        let (sine, cosine) = angle.into_component().sin_cos();
        let magnitude = magnitude.into_component();
        Complex { re: &magnitude * cosine, im: magnitude * sine }
    }

    /// `cos(angle) + i sin(angle)`, the number of magnitude one at this angle (in radians).
    #[must_use]
    #[track_caller]
    pub fn cis(angle: impl Component<T>) -> Self {
        let (im, re) = angle.into_component().sin_cos();
        Complex { re, im }
    }

    /// Returns the magnitude, `sqrt(re² + im²)`, without intermediate overflow; infinite if a part is.
    #[must_use]
    #[track_caller]
    pub fn abs(&self) -> Array<T> {
        self.re.hypot(&self.im)
    }

    /// Returns the square of the magnitude.
    #[must_use]
    #[track_caller]
    pub fn squared_abs(&self) -> Array<T> {
        self.re.mul_add(&self.re, &self.im * &self.im)
    }

    /// Returns the angle from the positive real axis, in [-π, π]; zeros count by their sign.
    #[must_use]
    #[track_caller]
    pub fn arg(&self) -> Array<T> {
        self.im.atan2(&self.re)
    }

    /// Returns the magnitude and the angle.
    #[must_use]
    #[track_caller]
    pub fn to_polar(&self) -> (Array<T>, Array<T>) {
        (self.abs(), self.arg())
    }

    /// True where a part is NaN.
    #[must_use]
    #[track_caller]
    pub fn is_nan(&self) -> Mask {
        self.re.is_nan() | self.im.is_nan()
    }

    /// True where both parts are finite.
    #[must_use]
    #[track_caller]
    pub fn is_finite(&self) -> Mask {
        self.re.is_finite() & self.im.is_finite()
    }

    /// True where the numbers are equal; false for NaN.
    #[must_use]
    #[track_caller]
    pub fn eq(&self, other: impl ComplexOperand<T>) -> Mask {
        let (re, im) = other.into_parts();
        self.re.eq(re) & self.im.eq(im.unwrap_or_default())
    }

    /// True where the numbers differ; true for NaN.
    #[must_use]
    #[track_caller]
    pub fn ne(&self, other: impl ComplexOperand<T>) -> Mask {
        !self.eq(other)
    }

    /// Multiplies the number by `i`.
    #[must_use]
    #[track_caller]
    fn times_i(&self) -> Self {
        Complex { re: -&self.im, im: self.re.clone() }
    }

    /// Divides the number by `i`.
    #[must_use]
    #[track_caller]
    fn over_i(&self) -> Self {
        Complex { re: self.im.clone(), im: -&self.re }
    }
}

impl<T: Signed> Complex<T> {
    /// Returns the conjugate: the sign of the imaginary part is inverted.
    #[must_use]
    #[track_caller]
    pub fn conj(&self) -> Self {
        Complex { re: self.re.clone(), im: -&self.im }
    }
}

impl<T: Element> Default for Complex<T> {
    /// Zero, of width 1.
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default(), T::default())
    }
}

jit_core::refuse_rust_comparisons! {
    [T: Element] Complex<T>;
}
