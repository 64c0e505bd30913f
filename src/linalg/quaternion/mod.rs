//! Quaternions of arrays.
//!
//! | part | file |
//! |---|---|
//! | constructors, lengths, comparison | this file |
//! | operators | `operators` |
//! | rotations: axes and angles, matrices, Euler angles | `rotation` |
//! | exponentials, logarithms, powers, interpolation | `power` |

use jit_core::root_of_squares;

use super::{Component, Vec3, Vec4};
use crate::{Array, Element, FloatElement, Mask, Signed, Size, Traverse};

mod operators;
mod power;
mod rotation;

pub use operators::QuaternionOperand;

/// A quaternion per lane: four arrays, `x i + y j + z k + w`.
///
/// An array or a number combined with a quaternion is real. Unit quaternions are rotations; `a * b` rotates by `b`
/// first.
///
/// ```
/// use jit::linalg::{Quaternion, Vec3};
/// use jit::prelude::*;
///
/// let quarters = Quaternion::from_axis_angle(Vec3::unit(2), Float::arange(3) * std::f32::consts::FRAC_PI_2);
/// let turned = quarters.rotate(Vec3::unit(0)).cast::<f64>().round();
/// assert_eq!(turned.to_vec()?, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Traverse)]
pub struct Quaternion<T: Element = f32> {
    /// The factor of `i`.
    pub x: Array<T>,
    /// The factor of `j`.
    pub y: Array<T>,
    /// The factor of `k`.
    pub z: Array<T>,
    /// The real part.
    pub w: Array<T>,
}

impl<T: Element> Quaternion<T> {
    /// Creates the quaternion of an imaginary part and a real one.
    #[must_use]
    #[track_caller]
    pub fn from_parts(vector: Vec3<T>, real: impl Component<T>) -> Self {
        let Vec3 { x, y, z } = vector;
        Quaternion { x, y, z, w: real.into_component() }
    }

    /// Returns the imaginary part.
    #[must_use]
    pub fn vector(&self) -> Vec3<T> {
        Vec3 { x: self.x.clone(), y: self.y.clone(), z: self.z.clone() }
    }

    /// Returns the four components as a vector.
    #[must_use]
    pub fn to_vec4(&self) -> Vec4<T> {
        self.to_array().into()
    }
}

impl<T: Element> From<Vec4<T>> for Quaternion<T> {
    /// Creates the quaternion of these components.
    fn from(components: Vec4<T>) -> Self {
        <[Array<T>; 4]>::from(components).into()
    }
}

impl<T: Signed> Quaternion<T> {
    /// Returns the conjugate: the sign of the imaginary part is inverted. For a rotation, it is the inverse.
    #[must_use]
    #[track_caller]
    pub fn conj(&self) -> Self {
        Quaternion { x: -&self.x, y: -&self.y, z: -&self.z, w: self.w.clone() }
    }
}

impl<T: FloatElement> Quaternion<T> {
    /// Returns the identity rotation.
    #[must_use]
    #[track_caller]
    pub fn identity() -> Self {
        Self::from_real(T::ONE)
    }

    /// Returns one in all lanes.
    #[must_use]
    #[track_caller]
    pub fn ones(width: impl Into<Size>) -> Self {
        let width = width.into();
        Self::from_parts(Vec3::zeros(width), Array::ones(width))
    }

    /// Creates the quaternion with this real part and a zero imaginary part.
    #[must_use]
    #[track_caller]
    pub fn from_real(real: impl Component<T>) -> Self {
        Self::from_parts(Vec3::splat(T::default()), real)
    }

    /// Returns the dot product in each lane: the sum of the products of the components.
    #[must_use]
    #[track_caller]
    pub fn dot(&self, other: &Self) -> Array<T> {
        self.to_vec4().dot(other.to_vec4())
    }

    /// Returns the square of the length.
    #[must_use]
    #[track_caller]
    pub fn squared_norm(&self) -> Array<T> {
        self.dot(self)
    }

    /// Returns the length. Squares of components must neither overflow nor underflow. Where it is zero, so is its
    /// derivative.
    #[must_use]
    #[track_caller]
    pub fn norm(&self) -> Array<T> {
        root_of_squares(&self.squared_norm())
    }

    /// Returns the quaternion divided by its length. Lanes with zero yield NaN.
    #[must_use]
    #[track_caller]
    pub fn normalize(&self) -> Self {
        self * self.norm().recip()
    }

    /// Returns `1 / self`. Squares of components must neither overflow nor underflow; lanes with zero yield NaN.
    #[must_use]
    #[track_caller]
    pub fn recip(&self) -> Self {
        self.conj() / self.squared_norm()
    }

    /// True where the quaternions are equal; false for NaN. `q` and `-q` are the same rotation, but different
    /// quaternions.
    #[must_use]
    #[track_caller]
    pub fn eq(&self, other: impl QuaternionOperand<T>) -> Mask {
        let (real, vector) = other.into_parts();
        self.w.eq(real) & self.vector().eq(vector.unwrap_or_default()).all_components()
    }

    /// True where the quaternions differ; true for NaN.
    #[must_use]
    #[track_caller]
    pub fn ne(&self, other: impl QuaternionOperand<T>) -> Mask {
        !self.eq(other)
    }
}

impl<T: FloatElement> Default for Quaternion<T> {
    /// Returns the identity rotation.
    #[track_caller]
    fn default() -> Self {
        Self::identity()
    }
}

jit_core::refuse_rust_comparisons! {
    [T: Element] Quaternion<T>;
}
