//! Circular and hyperbolic functions and their inverses.
//!
//! The inverses and `tanh` are the algorithms of W. Kahan, “Branch Cuts for Complex Elementary Functions, or Much Ado
//! About Nothing's Sign Bit”, 1987. Circular functions are computed as hyperbolic ones of the number times `i`.

use jit_runtime::ir::Type;

use super::Complex;
use super::power::scaled;
use crate::linalg::halves_in_single;
use crate::{Array, FloatElement};

impl<T: FloatElement> Complex<T> {
    /// Returns the sine. Infinite where `cosh(im)` overflows.
    #[must_use]
    #[track_caller]
    pub fn sin(&self) -> Self {
        self.times_i().sinh().over_i()
    }

    /// Returns the cosine. Infinite where `cosh(im)` overflows.
    #[must_use]
    #[track_caller]
    pub fn cos(&self) -> Self {
        self.times_i().cosh()
    }

    /// Sine and cosine.
    #[must_use]
    #[track_caller]
    pub fn sin_cos(&self) -> (Self, Self) {
        (self.sin(), self.cos())
    }

    /// Returns the tangent.
    #[must_use]
    #[track_caller]
    pub fn tan(&self) -> Self {
        self.times_i().tanh().over_i()
    }

    /// Returns the hyperbolic sine. Infinite where `cosh(re)` overflows.
    #[must_use]
    #[track_caller]
    pub fn sinh(&self) -> Self {
        halves_in_single!(self.sinh());
        let (sine, cosine) = self.im.sin_cos();
        Complex { re: scaled(&self.re.sinh(), &cosine), im: scaled(&self.re.cosh(), &sine) }
    }

    /// Returns the hyperbolic cosine. Infinite where `cosh(re)` overflows.
    #[must_use]
    #[track_caller]
    pub fn cosh(&self) -> Self {
        halves_in_single!(self.cosh());
        let (sine, cosine) = self.im.sin_cos();
        Complex { re: scaled(&self.re.cosh(), &cosine), im: scaled(&self.re.sinh(), &sine) }
    }

    /// Returns the hyperbolic tangent.
    #[must_use]
    #[track_caller]
    pub fn tanh(&self) -> Self {
        halves_in_single!(self.tanh());
        let tangent = self.im.tan();
        let beta = tangent.mul_add(&tangent, T::ONE);
        let sinh = self.re.sinh();
        let cosh = sinh.mul_add(&sinh, T::ONE).sqrt();
        let divisor = (&beta * &sinh).mul_add(&sinh, T::ONE);
        let near = Complex { re: beta * cosh * sinh / &divisor, im: &tangent / divisor };
        // Beyond this the real part is one to all digits, and squares may overflow.
        let is_far = self.re.abs().gt(T::from_f64(if T::TYPE == Type::F64 { 20.0 } else { 10.0 }));
        let (sine, cosine) = self.im.sin_cos();
        let decay = (self.re.abs() * T::from_f64(-2.0)).exp();
        Complex {
            re: is_far.select(Array::from(T::ONE).copysign(&self.re), near.re),
            im: is_far.select(sine * cosine * T::from_f64(4.0) * decay, near.im),
        }
    }

    /// Returns the arc sine, with a real part in [-π/2, π/2]; cut along the real axis beyond ±1.
    #[must_use]
    #[track_caller]
    pub fn asin(&self) -> Self {
        halves_in_single!(self.asin());
        let (minus, plus) = self.roots();
        let product = &minus * &plus;
        Complex { re: self.re.atan2(product.re), im: (minus.conj() * plus).im.asinh() }
    }

    /// Returns the arc cosine, with a real part in [0, π]; cut along the real axis beyond ±1.
    #[must_use]
    #[track_caller]
    pub fn acos(&self) -> Self {
        halves_in_single!(self.acos());
        let (minus, plus) = self.roots();
        Complex { re: minus.re.atan2(&plus.re) * T::from_f64(2.0), im: (plus.conj() * minus).im.asinh() }
    }

    /// Returns the square roots of `1 - self` and `1 + self`.
    #[track_caller]
    fn roots(&self) -> (Self, Self) {
        let minus = Complex { re: -&self.re + T::ONE, im: -&self.im };
        let plus = Complex { re: &self.re + T::ONE, im: self.im.clone() };
        (minus.sqrt(), plus.sqrt())
    }

    /// Returns the arc tangent, with a real part in [-π/2, π/2]; cut along the imaginary axis beyond ±i.
    #[must_use]
    #[track_caller]
    pub fn atan(&self) -> Self {
        self.times_i().atanh().over_i()
    }

    /// Returns the inverse hyperbolic sine, with an imaginary part in [-π/2, π/2]; cut along the imaginary axis beyond
    /// ±i.
    #[must_use]
    #[track_caller]
    pub fn asinh(&self) -> Self {
        self.times_i().asin().over_i()
    }

    /// Returns the inverse hyperbolic cosine, with a real part that is not negative and an imaginary part in [-π, π];
    /// cut along the real axis below 1.
    #[must_use]
    #[track_caller]
    pub fn acosh(&self) -> Self {
        halves_in_single!(self.acosh());
        let minus = Complex { re: &self.re - T::ONE, im: self.im.clone() }.sqrt();
        let plus = Complex { re: &self.re + T::ONE, im: self.im.clone() }.sqrt();
        Complex { re: (minus.conj() * &plus).re.asinh(), im: minus.im.atan2(plus.re) * T::from_f64(2.0) }
    }

    /// Returns the inverse hyperbolic tangent, with an imaginary part in [-π/2, π/2]; cut along the real axis beyond
    /// ±1.
    #[must_use]
    #[track_caller]
    pub fn atanh(&self) -> Self {
        halves_in_single!(self.atanh());
        let (x, y) = (self.re.abs(), self.im.mul_sign(&self.re));
        let [quarter, half, two, four] = [0.25, 0.5, 2.0, 4.0].map(T::from_f64);
        let huge = T::from_f64(if T::TYPE == Type::F64 { 2f64.powi(500) } else { 2f64.powi(60) });
        let is_huge = x.gt(huge) | y.abs().gt(huge);
        // One minus the number, and the square of its magnitude.
        let rest = -&x + T::ONE;
        let distance = rest.mul_add(&rest, &y * &y);
        let near = ((&x * four) / distance).ln_1p() * quarter;
        let angle = (&y * two).atan2(rest.mul_add(&x + T::ONE, -(&y * &y))) * half;
        // There the real part is that of the reciprocal, and the imaginary part a right angle.
        let far = Complex { re: x, im: y.clone() }.recip().re;
        let right = Array::from(T::from_f64(std::f64::consts::FRAC_PI_2)).copysign(&y);
        Complex {
            re: is_huge.select(far, near).mul_sign(&self.re),
            im: is_huge.select(right, angle).mul_sign(&self.re),
        }
    }
}
