//! Vectors, matrices, complex numbers, quaternions, transforms and decompositions, against plain Rust.

mod vector;
