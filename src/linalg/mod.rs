//! Vectors of arrays.

mod decompose;
pub mod matrix;
mod print;
pub mod vector;

pub use matrix::{Mat2, Mat3, Mat4, Matrix};
pub use vector::{Component, Vec2, Vec3, Vec4, VectorOperand};
