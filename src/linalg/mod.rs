//! Vectors of arrays.

mod print;
pub mod vector;

pub use vector::{Component, Vec2, Vec3, Vec4, VectorOperand};
