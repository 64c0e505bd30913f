//! Quaternions of arrays.
//!
//! | part | file |
//! |---|---|
//! | making quaternions, lengths, comparison | this file |
//! | operators | `operators` |
//! | rotations: axes and angles, matrices, Euler angles | `rotation` |
//! | exponentials, logarithms, powers, interpolation | `power` |

use super::{Component, Vec3, Vec4};
use crate::{Array, Element, FloatElement, Mask, Signed, Size, Traverse};

mod operators;
mod power;
mod rotation;

pub use operators::QuaternionOperand;

/// Four arrays, `x i + y j + z k + w`: in each lane a quaternion.
///
/// An array or a number beside a quaternion is a real one. Quaternions of length one are rotations; `a * b` rotates by
/// `b` first.
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
    /// The quaternion of an imaginary part and a real one.
    #[must_use]
    #[track_caller]
    pub fn from_parts(vector: Vec3<T>, real: impl Component<T>) -> Self {
        let Vec3 { x, y, z } = vector;
        Quaternion { x, y, z, w: real.into_component() }
    }

    /// The imaginary part.
    #[must_use]
    pub fn vector(&self) -> Vec3<T> {
        Vec3 { x: self.x.clone(), y: self.y.clone(), z: self.z.clone() }
    }

    /// The four components as a vector.
    #[must_use]
    pub fn to_vec4(&self) -> Vec4<T> {
        self.to_array().into()
    }
}

impl<T: Element> From<Vec4<T>> for Quaternion<T> {
    /// The quaternion of these components.
    fn from(components: Vec4<T>) -> Self {
        <[Array<T>; 4]>::from(components).into()
    }
}

impl<T: Signed> Quaternion<T> {
    /// The quaternion with the other sign of its imaginary part; of a rotation, its inverse.
    #[must_use]
    #[track_caller]
    pub fn conj(&self) -> Self {
        Quaternion { x: -&self.x, y: -&self.y, z: -&self.z, w: self.w.clone() }
    }
}

impl<T: FloatElement> Quaternion<T> {
    /// One: the rotation that changes nothing.
    #[must_use]
    #[track_caller]
    pub fn identity() -> Self {
        Self::from_real(T::ONE)
    }

    /// One in all lanes.
    #[must_use]
    #[track_caller]
    pub fn ones(width: impl Into<Size>) -> Self {
        let width = width.into();
        Self::from_parts(Vec3::zeros(width), Array::ones(width))
    }

    /// The quaternion with this real part and no imaginary one.
    #[must_use]
    #[track_caller]
    pub fn from_real(real: impl Component<T>) -> Self {
        Self::from_parts(Vec3::splat(T::default()), real)
    }

    /// In each lane, the sum of the products of the components.
    #[must_use]
    #[track_caller]
    pub fn dot(&self, other: &Self) -> Array<T> {
        self.to_vec4().dot(other.to_vec4())
    }

    /// The square of the length.
    #[must_use]
    #[track_caller]
    pub fn squared_norm(&self) -> Array<T> {
        self.dot(self)
    }

    /// The length. Squares of components must neither overflow nor underflow.
    #[must_use]
    #[track_caller]
    pub fn norm(&self) -> Array<T> {
        self.squared_norm().sqrt()
    }

    /// The quaternion divided by its length. Lanes with zero give NaN.
    #[must_use]
    #[track_caller]
    pub fn normalize(&self) -> Self {
        self * self.norm().recip()
    }

    /// `1 / self`. Squares of components must neither overflow nor underflow; lanes with zero give NaN.
    #[must_use]
    #[track_caller]
    pub fn recip(&self) -> Self {
        self.conj() / self.squared_norm()
    }

    /// Whether the quaternions are equal; false for NaN. The rotations of `q` and `-q` are the same, the quaternions
    /// are not.
    #[must_use]
    #[track_caller]
    pub fn eq(&self, other: impl QuaternionOperand<T>) -> Mask {
        let (real, vector) = other.into_parts();
        self.w.eq(real) & self.vector().eq(vector.unwrap_or_default()).all_components()
    }

    /// Whether the quaternions differ; true for NaN.
    #[must_use]
    #[track_caller]
    pub fn ne(&self, other: impl QuaternionOperand<T>) -> Mask {
        !self.eq(other)
    }
}

impl<T: FloatElement> Default for Quaternion<T> {
    /// The rotation that changes nothing.
    #[track_caller]
    fn default() -> Self {
        Self::identity()
    }
}

jit_core::refuse_rust_comparisons! {
    [T: Element] Quaternion<T>;
}
