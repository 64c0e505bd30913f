//! Square roots, exponentials, logarithms, powers.

use jit_runtime::ir::Type;

use super::{Complex, ComplexOperand};
use crate::linalg::{Component, halves_in_single};
use crate::{Array, FloatElement};

/// Returns the binary exponent of a lower bound: squares of numbers between it and its reciprocal neither overflow nor
/// vanish.
fn square_exponent<T: FloatElement>() -> i32 {
    if T::TYPE == Type::F64 { 500 } else { 60 }
}

impl<T: FloatElement> Complex<T> {
    /// Returns the square root whose real part is not negative, with an error of a few units in the last place. The cut
    /// is along the negative real axis, where the imaginary part has the sign of the number's.
    #[must_use]
    #[track_caller]
    pub fn sqrt(&self) -> Self {
        halves_in_single!(self.sqrt());
        let zero = T::default();
        let (re, im) = (self.re.abs(), self.im.abs());
        // Scaled by a power of four, the sum below cannot overflow and tiny numbers keep their digits.
        let limit = T::from_f64(2f64.powi(-2 * square_exponent::<T>()));
        let is_tiny = re.lt(limit) & im.lt(limit);
        let [up, down] = [2f64.powi(64), 0.0625].map(T::from_f64);
        let scale = is_tiny.select(up, down);
        let [up, down] = [2f64.powi(-32), 4.0].map(T::from_f64);
        let unscale = is_tiny.select(up, down);
        let half = T::from_f64(0.5);
        let magnitude = (&re * &scale).hypot(&im * &scale);
        let root = ((&re * &scale + magnitude) * half).sqrt() * unscale;
        let other = root.eq(zero).select(&im, &im / &root * half);
        let is_left = self.re.lt(zero);
        let infinite = self.im.is_infinite();
        Complex {
            re: infinite.select(&im, is_left.select(&other, &root)),
            im: infinite.select(&im, is_left.select(&root, &other)).copysign(&self.im),
        }
    }

    /// e to the number: `e^re (cos(im) + i sin(im))`.
    #[must_use]
    #[track_caller]
    pub fn exp(&self) -> Self {
        halves_in_single!(self.exp());
        let (limit, step) = if T::TYPE == Type::F64 { (709.0, 512.0) } else { (88.0, 64.0) };
        let [limit, step] = [limit, step].map(T::from_f64);
        // In two steps where e^re overflows, because its product with a small sine or cosine may not.
        let rest = self.re.gt(limit).select(&self.re - step, &self.re);
        let second = self.re.gt(limit).select(Array::from(step).exp(), T::ONE);
        let first = rest.exp();
        let (sine, cosine) = self.im.sin_cos();
        Complex { re: scaled(&first, &cosine) * &second, im: scaled(&first, &sine) * second }
    }

    /// Returns the natural logarithm, `ln(abs) + i arg`. The cut is along the negative real axis, where the imaginary
    /// part, ±π, has the sign of the number's. Accurate also where the magnitude is near one.
    #[must_use]
    #[track_caller]
    pub fn ln(&self) -> Self {
        halves_in_single!(self.ln());
        Complex { re: self.ln_abs(), im: self.arg() }
    }

    /// Returns the logarithm of the magnitude.
    #[track_caller]
    fn ln_abs(&self) -> Array<T> {
        let (re, im) = (self.re.abs(), self.im.abs());
        let (large, small) = (re.max(&im), re.min(&im));
        // Near one the logarithm is computed from the distance of the square from one, which is summed without
        // cancellation: squares are pairs of a product and its error, and the larger of them minus one is exact.
        let [low, high, half] = [0.5, 2.0, 0.5].map(T::from_f64);
        let (square, other) = (&large * &large, &small * &small);
        let errors = large.mul_add(&large, -&square) + small.mul_add(&small, -&other);
        let distance = (&square - T::ONE) + &other + errors;
        let near = distance.ln_1p() * half;
        let total = square + other;
        let is_near = total.gt(low) & total.lt(high);
        // Halved where the magnitude overflows.
        let is_large = large.gt(T::from_f64(2f64.powi(2 * square_exponent::<T>())));
        let factor = is_large.select(half, T::ONE);
        let magnitude = (large * &factor).hypot(small * factor);
        let far = magnitude.ln() + is_large.select(T::from_f64(std::f64::consts::LN_2), T::default());
        is_near.select(near, far)
    }

    /// Returns the logarithm to base 2.
    #[must_use]
    #[track_caller]
    pub fn log2(&self) -> Self {
        halves_in_single!(self.log2());
        self.ln() * T::from_f64(std::f64::consts::LOG2_E)
    }

    /// Returns the logarithm to base 10.
    #[must_use]
    #[track_caller]
    pub fn log10(&self) -> Self {
        halves_in_single!(self.log10());
        self.ln() * T::from_f64(std::f64::consts::LOG10_E)
    }

    /// 2 to the number.
    #[must_use]
    #[track_caller]
    pub fn exp2(&self) -> Self {
        halves_in_single!(self.exp2());
        let (sine, cosine) = (&self.im * T::from_f64(std::f64::consts::LN_2)).sin_cos();
        let magnitude = self.re.exp2();
        Complex { re: scaled(&magnitude, &cosine), im: scaled(&magnitude, &sine) }
    }

    /// Raises the number to a complex power, `exp(exponent * ln(self))`. The relative error grows with the magnitude of
    /// `exponent * ln(self)`. Anything to the power of zero is one. Zero to a power with a positive real part is zero,
    /// and infinite or NaN to other powers.
    #[must_use]
    #[track_caller]
    pub fn pow(&self, exponent: impl ComplexOperand<T>) -> Self {
        let exponent = match exponent.into_parts() {
            (re, None) => return self.powf(re),
            (re, Some(im)) => Complex { re, im },
        };
        halves_in_single!(self.pow(exponent));
        let power = (&exponent * self.ln()).exp();
        let (zero, one) = (T::default(), T::ONE);
        let is_zero = self.eq(zero) & exponent.re.gt(zero);
        let is_one = exponent.eq(zero);
        Complex {
            re: is_one.select(one, is_zero.select(zero, power.re)),
            im: (is_one | is_zero).select(zero, power.im),
        }
    }

    /// Raises the number to a real power: the magnitude to that power, at that multiple of the angle. Anything to the
    /// power of zero is one.
    #[must_use]
    #[track_caller]
    pub fn powf(&self, exponent: impl Component<T>) -> Self {
        let exponent = exponent.into_component();
        halves_in_single!(self.powf(exponent));
        let (sine, cosine) = (self.arg() * &exponent).sin_cos();
        let magnitude = self.abs().powf(&exponent);
        Complex { re: scaled(&magnitude, &cosine), im: scaled(&magnitude, &sine) }
    }

    /// Raises the number to a whole power, by repeated multiplication; negative powers are reciprocals.
    #[must_use]
    #[track_caller]
    pub fn powi(&self, exponent: i32) -> Self {
        let mut rest = exponent.unsigned_abs();
        let mut power: Option<Self> = None;
        let mut square = self.clone();
        while rest != 0 {
            if rest & 1 == 1 {
                power = Some(power.map_or_else(|| square.clone(), |power| power * &square));
            }
            rest >>= 1;
            if rest != 0 {
                square = square.square();
            }
        }
        match power {
            Some(power) if exponent < 0 => power.recip(),
            Some(power) => power,
            // By the parts, which may carry gradients.
            None => Complex { re: self.re.powi(0) * self.im.powi(0), im: Array::zeros(self.width()) },
        }
    }

    /// Returns the square.
    #[must_use]
    #[track_caller]
    pub fn square(&self) -> Self {
        self * self
    }
}

/// Returns a magnitude, which may be infinite, times a factor; zero where the factor is.
#[track_caller]
pub(super) fn scaled<T: FloatElement>(size: &Array<T>, factor: &Array<T>) -> Array<T> {
    factor.eq(T::default()).select(factor.mul_sign(size), size * factor)
}
