//! Vectors, matrices, complex numbers, quaternions, transforms and decompositions, against plain Rust.

mod decompose;
mod matrix;
mod reference;
mod vector;
