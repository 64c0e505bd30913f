//! Coordinate frames about a direction, and spherical coordinates.

use super::{Component, Mat3, Vec2, Vec3, VectorOperand};
use crate::{Array, Element, FloatElement, Traverse};

/// Three perpendicular unit vectors, right-handed: in each lane the axes of local coordinates.
///
/// ```
/// use jit::linalg::{Frame, Vec3};
///
/// let frame = Frame::from_normal(Vec3::from([0.0f32, 0.6, 0.8]));
/// let up = frame.to_world(Vec3::unit(2));
/// assert_eq!(up.item()?, [0.0, 0.6, 0.8]);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct Frame<T: Element = f32> {
    /// The first axis, along the surface.
    pub s: Vec3<T>,
    /// The second axis, along the surface.
    pub t: Vec3<T>,
    /// The third axis, the normal.
    pub n: Vec3<T>,
}

impl<T: FloatElement> Vec3<T> {
    /// Returns two vectors that form a right-handed frame with this unit vector: `s`, `t` with `s × t = self`.
    /// Branch-free, with errors of a few units in the last place everywhere (T. Duff et al., “Building an Orthonormal
    /// Basis, Revisited”, 2017).
    #[must_use]
    #[track_caller]
    pub fn orthonormal_pair(&self) -> (Self, Self) {
        let Vec3 { x, y, z } = self;
        let sign = Array::from(T::ONE).copysign(z);
        let a = -(&sign + z).recip();
        let b = x * y * &a;
        let first = Vec3 { x: (x * x * &a).mul_sign(z) + T::ONE, y: b.mul_sign(z), z: -x.mul_sign(z) };
        let second = Vec3 { x: b, y: (y * y).mul_add(a, sign), z: -y };
        (first, second)
    }

    /// Returns the unit vector for a polar angle from the `z` axis and an azimuth from `x` to `y` (in radians).
    #[must_use]
    #[track_caller]
    pub fn from_spherical(polar: impl Component<T>, azimuth: impl Component<T>) -> Self {
        let (sine, z) = polar.into_component().sin_cos();
        let (y, x) = azimuth.into_component().sin_cos();
        Vec3 { x: x * &sine, y: y * sine, z }
    }

    /// Returns the polar angle, in [0, π], and the azimuth, in [-π, π], of the direction of a vector of any length.
    /// Accurate for all directions.
    #[must_use]
    #[track_caller]
    pub fn to_spherical(&self) -> Vec2<T> {
        Vec2 { x: self.x.hypot(&self.y).atan2(&self.z), y: self.y.atan2(&self.x) }
    }

    /// Returns the angle between two vectors of any nonzero length, accurate also for small angles (W. Kahan, “How
    /// Futile are Mindless Assessments of Roundoff in Floating-Point Computation?”, 2006, §12).
    #[must_use]
    #[track_caller]
    pub fn angle(&self, other: impl VectorOperand<Self>) -> Array<T> {
        let other = other.into_vector();
        let (a, b) = (self * other.norm(), other * self.norm());
        (&a - &b).norm().atan2((a + b).norm()) * T::from_f64(2.0)
    }
}

impl<T: FloatElement> Vec2<T> {
    /// Returns the unit vector at an angle (in radians) from `x` to `y`.
    #[must_use]
    #[track_caller]
    pub fn from_angle(angle: impl Component<T>) -> Self {
        let (y, x) = angle.into_component().sin_cos();
        Vec2 { x, y }
    }

    /// Returns the angle (in radians), in [-π, π], from `x` to `y`.
    #[must_use]
    #[track_caller]
    pub fn to_angle(&self) -> Array<T> {
        self.y.atan2(&self.x)
    }
}

impl<T: FloatElement> Frame<T> {
    /// Creates a frame whose third axis is a unit vector: see [`Vec3::orthonormal_pair`].
    #[must_use]
    #[track_caller]
    pub fn from_normal(normal: impl VectorOperand<Vec3<T>>) -> Self {
        let n = normal.into_vector();
        let (s, t) = n.orthonormal_pair();
        Frame { s, t, n }
    }

    /// Converts a vector from world coordinates to the frame's coordinates.
    #[must_use]
    #[track_caller]
    pub fn to_local(&self, vector: impl VectorOperand<Vec3<T>>) -> Vec3<T> {
        let vector = vector.into_vector();
        Vec3 { x: self.s.dot(&vector), y: self.t.dot(&vector), z: self.n.dot(vector) }
    }

    /// Converts a vector from the frame's coordinates to world coordinates.
    #[must_use]
    #[track_caller]
    pub fn to_world(&self, vector: impl VectorOperand<Vec3<T>>) -> Vec3<T> {
        let Vec3 { x, y, z } = vector.into_vector();
        self.s.mul_add(x, self.t.mul_add(y, &self.n * z))
    }

    /// Returns the matrix whose columns are the axes: `frame.to_mat3() * v` is `frame.to_world(v)`.
    #[must_use]
    #[track_caller]
    pub fn to_mat3(&self) -> Mat3<T> {
        Mat3::from_columns([&self.s, &self.t, &self.n])
    }
}
