//! Matrices and their decompositions.

use jit::linalg::{Mat2, Mat4};

use super::*;
use crate::{check_second, on_each_device};

#[test]
fn matrices_have_derivatives() {
    on_each_device(|| {
        let cases: &[Case<'_>] = &[
            ("determinant 2", 4, &|x| matrix::<2>(x).determinant()),
            ("determinant 3", 9, &|x| mat3(x).determinant()),
            ("determinant 4", 16, &|x| matrix::<4>(x).determinant()),
            ("adjugate", 9, &|x| of_matrix(&mat3(x).adjugate())),
            ("inverse 2", 4, &|x| of_matrix(&matrix::<2>(x).inverse())),
            ("inverse 3", 9, &|x| of_matrix(&mat3(x).inverse())),
            ("inverse 4", 16, &|x| of_matrix(&matrix::<4>(x).inverse())),
            ("inverse_transpose", 9, &|x| of_matrix(&mat3(x).inverse_transpose())),
            ("product", 9, &|x| of_matrix(&(mat3(x) * mat3(x).transpose()))),
            ("with a vector", 12, &|x| of_vec3(mat3(x) * vec3(x, 9))),
            ("frobenius_norm", 9, &|x| mat3(x).frobenius_norm()),
            ("trace", 9, &|x| mat3(x).trace()),
            ("max_norm", 9, &|x| mat3(x).max_norm()),
            ("lu", 9, &|x| {
                let (_, l, u) = mat3(x).lu();
                of_matrix(&(l * 2.0 + u))
            }),
            ("solve", 12, &|x| of_vec3(mat3(x).solve(vec3(x, 9)))),
            ("solve 4", 16, &|x| of_matrix(&matrix::<4>(x).solve_matrix(&Mat4::identity()))),
            ("qr 2", 4, &|x| {
                let (q, r) = matrix::<2>(x).qr();
                of_matrix(&(q + r * 2.0))
            }),
            ("qr 3", 9, &|x| {
                let (q, r) = mat3(x).qr();
                of_matrix(&(q + r * 2.0))
            }),
            ("cholesky", 9, &|x| of_matrix(&(mat3(x) * mat3(x).transpose() + Mat3::identity()).cholesky())),
            ("eigen values", 9, &|x| of_vec3((mat3(x) + mat3(x).transpose()).symmetric_eigen().0)),
            ("eigen 2", 4, &|x| {
                let (values, v) = matrix::<2>(x).symmetric_eigen();
                of_matrix(&(Mat2::from_diagonal(values) + v * 0.5))
            }),
            ("eigen", 9, &|x| {
                let (values, v) = mat3(x).symmetric_eigen();
                of_matrix(&(Mat3::from_diagonal(values) + v * 0.5))
            }),
            ("eigen 4", 16, &|x| {
                let (values, v) = matrix::<4>(x).symmetric_eigen();
                of_matrix(&(Mat4::from_diagonal(values) + v * 0.5))
            }),
            ("svd", 9, &|x| {
                let (u, values, v) = mat3(x).svd();
                of_matrix(&(u * 2.0 + Mat3::from_diagonal(values) + v * 0.5))
            }),
            ("svd 2", 4, &|x| {
                let (u, values, v) = matrix::<2>(x).svd();
                of_matrix(&(u * 2.0 + Mat2::from_diagonal(values) + v * 0.5))
            }),
            ("polar", 9, &|x| {
                let (q, p) = mat3(x).polar();
                of_matrix(&(q + p * 2.0))
            }),
            ("polar of a rotation", 3, &|x| {
                let (q, p) = Mat3::rotation(vec3(x, 0).normalize(), 0.7).polar();
                of_matrix(&(q + p * 2.0))
            }),
            // Some entries are the same in all lanes.
            ("shared entries", 9, &|x| {
                let mut rows: [[F; 3]; 3] = std::array::from_fn(|row| parts(x, row * 3));
                rows[1] = rows[1].each_ref().map(|entry| entry.slice(0..1));
                let m = Matrix::from(rows);
                let (u, values, v) = m.svd();
                let (q, p) = m.polar();
                let vectors = m.symmetric_eigen().1;
                of_matrix(&(u * v + q * 0.5 + p + Mat3::from_diagonal(values) + vectors))
            }),
            ("rotation", 4, &|x| of_matrix(&Mat3::rotation(vec3(x, 0).normalize(), parts::<1>(x, 3)[0].clone()))),
            ("look_at", 9, &|x| of_matrix(&Mat4::look_at(vec3(x, 0), vec3(x, 3), vec3(x, 6)))),
            ("perspective", 2, &|x| {
                let [angle, near] = parts(x, 0);
                of_matrix(&Mat4::perspective(angle.abs(), 1.5, near.abs() + 0.1, 10.0))
            }),
            ("transforms", 19, &|x| {
                let m = matrix::<4>(x);
                of_vec3(m.transform_point(vec3(x, 16)) + m.project_point(vec3(x, 16)) + m.transform_normal(vec3(x, 16)))
            }),
            ("decompose", 16, &|x| {
                let (stretch, rotation, offset) = matrix::<4>(x).decompose();
                F::concat(&[of_matrix(&stretch), of_quaternion(rotation), of_vec3(offset)])
            }),
        ];
        check(cases, 0.0);
    });
}

#[test]
fn decompositions_have_second_derivatives() {
    on_each_device(|| {
        let x = numbers(9 * LANES);
        let eigen = |x: &F| {
            let (values, v) = mat3(x).symmetric_eigen();
            of_matrix(&(Mat3::from_diagonal(values) + v * 0.5))
        };
        check_second("eigen", &eigen, &x);
        let svd = |x: &F| {
            let (u, values, v) = mat3(x).svd();
            of_matrix(&(u * 2.0 + Mat3::from_diagonal(values) + v * 0.5))
        };
        check_second("svd", &svd, &x);
        check_second("polar", &|x| of_matrix(&mat3(x).polar().0), &x);
        check_second("inverse", &|x| of_matrix(&mat3(x).inverse()), &x);
    });
}
