//! Exponentials, logarithms, powers, and interpolation along the sphere.
//!
//! In the plane of a quaternion's axis these match the functions of complex numbers.

use super::Quaternion;
use crate::linalg::{Component, Vec3, epsilon, halves_in_single, is_half};
use crate::{Array, FloatElement};

impl<T: FloatElement> Quaternion<T> {
    /// e to the quaternion: `e^w (cos(n) + v sin(n) / n)` with the imaginary part `v` of length `n`.
    #[must_use]
    #[track_caller]
    pub fn exp(&self) -> Self {
        halves_in_single!(self.exp());
        let norm = self.vector().norm();
        let (sine, cosine) = norm.sin_cos();
        let ratio = norm.eq(T::default()).select(T::ONE, sine / &norm);
        let size = self.w.exp();
        Self::from_parts(self.vector() * (ratio * &size), size * cosine)
    }

    /// Returns the natural logarithm whose imaginary part has length at most π: for a rotation, half its angle along
    /// its axis. The logarithm of a negative real number has its imaginary part along `i`.
    #[must_use]
    #[track_caller]
    pub fn ln(&self) -> Self {
        halves_in_single!(self.ln());
        let angle = self.vector().norm().atan2(&self.w);
        Self::from_parts(self.direction() * angle, self.norm().ln())
    }

    /// Returns the imaginary part divided by its length, or `i` where the length is zero.
    #[track_caller]
    fn direction(&self) -> Vec3<T> {
        self.vector().normalize_or(Vec3::unit(0))
    }

    /// Returns the square root whose real part is not negative: for a rotation, the rotation by half the angle. The
    /// root of a negative real number is along `i`.
    #[must_use]
    #[track_caller]
    pub fn sqrt(&self) -> Self {
        halves_in_single!(self.sqrt());
        let [half, zero] = [0.5, 0.0].map(T::from_f64);
        let norm = self.vector().norm();
        // The larger part is free of cancellation, and the product of both is half the length of the imaginary part.
        let large = ((self.norm() + self.w.abs()) * half).sqrt();
        let small = large.eq(zero).select(zero, norm / &large * half);
        let is_left = self.w.lt(zero);
        let (real, imaginary) = (is_left.select(&small, &large), is_left.select(&large, &small));
        Self::from_parts(self.direction() * imaginary, real)
    }

    /// Raises the quaternion to a real power, `exp(exponent * ln(self))`: for a rotation, this multiplies its angle.
    #[must_use]
    #[track_caller]
    pub fn powf(&self, exponent: impl Component<T>) -> Self {
        let exponent = exponent.into_component();
        halves_in_single!(self.powf(exponent));
        (self.ln() * exponent).exp()
    }

    /// Raises the quaternion to a power, `exp(ln(self) * exponent)`.
    #[must_use]
    #[track_caller]
    pub fn pow(&self, exponent: &Self) -> Self {
        if is_half::<T>() {
            return self.cast::<f32>().pow(&exponent.cast()).cast();
        }
        (self.ln() * exponent).exp()
    }

    /// Interpolates between two rotations, at constant speed and along the shorter way. The result is `self` where `t`
    /// is 0, and `end`, or its negative, which is the same rotation, where it is 1 (K. Shoemake, “Animating rotation
    /// with quaternion curves”, 1985).
    #[must_use]
    #[track_caller]
    pub fn slerp(&self, end: &Self, t: impl Component<T>) -> Self {
        let t = t.into_component();
        if is_half::<T>() {
            return self.cast::<f32>().slerp(&end.cast(), t.cast::<f32>()).cast();
        }
        let end = end * Array::from(T::ONE).copysign(self.dot(end));
        // Unlike the arc cosine of the product this is accurate for all angles.
        let angle = (self - &end).norm().atan2((self + &end).norm()) * T::from_f64(2.0);
        let rest = -&t + T::ONE;
        let sine = angle.sin();
        let is_straight = angle.lt(T::from_f64(epsilon::<T>().sqrt()));
        let weight = |share: &Array<T>| is_straight.select(share, (share * &angle).sin() / &sine);
        self * weight(&rest) + end * weight(&t)
    }

    /// Interpolates between two rotations along the shorter way, linearly and normalised. It is cheaper than
    /// [`slerp`](Self::slerp), and nearly the same for neighbouring rotations.
    #[must_use]
    #[track_caller]
    pub fn nlerp(&self, end: &Self, t: impl Component<T>) -> Self {
        let t = t.into_component();
        let end = end * Array::from(T::ONE).copysign(self.dot(end));
        (self * (-&t + T::ONE) + end * t).normalize()
    }
}
