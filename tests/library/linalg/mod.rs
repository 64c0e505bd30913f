//! Vectors, matrices, complex numbers, quaternions, transforms and decompositions, against plain Rust.

mod complex;
mod complex_values;
mod decompose;
mod grids;
mod matrix;
mod programs;
mod quaternion;
mod reference;
mod transform;
mod vector;
