//! Each function of linear algebra, colours, textures and distributions: its derivative against differences, in both
//! modes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::linalg::{Complex, Mat3, Matrix, Quaternion, Vec3};
use jit::prelude::*;

use crate::check_function;

mod complex;
mod matrices;
mod others;
mod vectors;

type F = Float64;

/// The lanes of each component.
const LANES: usize = 2;

/// The components of an argument: the parts of an array.
fn parts<const N: usize>(x: &F, first: usize) -> [F; N] {
    std::array::from_fn(|i| x.slice((first + i) * LANES..(first + i + 1) * LANES))
}

fn vec3(x: &F, first: usize) -> Vec3<f64> {
    Vec3::from(parts(x, first))
}

fn mat3(x: &F) -> Mat3<f64> {
    matrix(x)
}

fn matrix<const N: usize>(x: &F) -> Matrix<f64, N> {
    Matrix::from(std::array::from_fn(|row| parts::<N>(x, row * N)))
}

/// All components, one after another.
fn flat<const N: usize>(parts: [F; N]) -> F {
    F::concat(&parts)
}

fn of_matrix<const N: usize>(m: &Matrix<f64, N>) -> F {
    let entries: Vec<F> = (0..N * N).map(|i| m[(i / N, i % N)].clone()).collect();
    F::concat(&entries)
}

fn of_vec3(v: Vec3<f64>) -> F {
    flat(v.into())
}

fn complex(x: &F, first: usize) -> Complex<f64> {
    Complex::from(parts(x, first))
}

fn quaternion(x: &F, first: usize) -> Quaternion<f64> {
    Quaternion::from(parts(x, first))
}

fn of_quaternion(q: Quaternion<f64>) -> F {
    flat(q.into())
}

type Case<'a> = (&'a str, usize, &'a dyn Fn(&F) -> F);

/// Numbers without pattern, between -1.3 and 1.3.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * i * 37 + i * 11 + 5) % 101) as f64 / 101.0 * 2.6 - 1.3).collect()
}

/// Checks functions of so many components each.
#[track_caller]
fn check(cases: &[Case<'_>], shift: f64) {
    let mut failed = Vec::new();
    for (name, components, function) in cases {
        let x: Vec<f64> = numbers(components * LANES).into_iter().map(|x| x + shift).collect();
        if catch_unwind(AssertUnwindSafe(|| check_function(name, function, &x))).is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
