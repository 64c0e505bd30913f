//! Vectors, matrices, complex numbers and quaternions of arrays: one per lane.
//!
//! Their components are arrays, so everything recorded for arrays is recorded for them. They can be arguments, results
//! and state of traced loops and branches.
//!
//! | part | documentation |
//! |---|---|
//! | vectors: operators, products, lengths, swizzles, reductions over lanes | [`vector`] |
//! | square matrices, inverses | [`matrix`] |
//! | decompositions: `lu`, `qr`, `cholesky`, `symmetric_eigen`, `svd`, `polar` | methods of [`Matrix`] |
//! | complex numbers, their functions | [`Complex`] |
//! | rotations | [`Quaternion`], `Mat2::rotation`, `Mat3::rotation` |
//! | transforms of points, cameras: `translation`, `look_at`, `perspective`, `decompose` | methods of [`Mat3`] and [`Mat4`] |
//! | frames about a normal, spherical coordinates | [`Frame`], methods of [`Vec3`] |
//! | Morton codes, spherical harmonics | `Vec3::to_morton`, `Vec3::spherical_harmonics` |

mod algebra;
mod complex;
mod composite;
mod decompose;
mod frame;
mod harmonics;
pub mod matrix;
mod morton;
mod print;
mod quaternion;
mod transform;
pub mod vector;

pub use complex::{Complex, ComplexOperand};
pub use frame::Frame;
pub use matrix::{Mat2, Mat3, Mat4, Matrix};
pub use quaternion::{Quaternion, QuaternionOperand};
pub use vector::{Component, Vec2, Vec3, Vec4, VectorOperand};

use jit_runtime::ir::Type;

use crate::{Element, FloatElement};

/// Returns the distance from one to the next larger number.
fn epsilon<T: FloatElement>() -> f64 {
    match T::TYPE {
        Type::F64 => f64::EPSILON,
        Type::F32 => f64::from(f32::EPSILON),
        Type::F16 => half::f16::EPSILON.to_f64(),
        _ => half::bf16::EPSILON.to_f64(),
    }
}

/// Computes a function of halves in single precision.
macro_rules! halves_in_single {
    ($self:ident.$name:ident($($argument:expr),*)) => {
        if $crate::linalg::is_half::<T>() {
            return $self.cast::<f32>().$name($($argument.cast::<f32>()),*).cast();
        }
    };
}

use halves_in_single;

/// Returns whether a type has so few digits that longer computations are done in single precision.
fn is_half<T: Element>() -> bool {
    matches!(T::TYPE, Type::F16 | Type::BF16)
}
