//! Matrices.

use jit::linalg::{Mat2, Mat3, Mat4, Matrix, Vec2, Vec3, Vec4};
use jit::prelude::*;

use super::reference::{self as host, Host, Random};
use crate::devices::on_each_device;

const LANES: usize = 37;

fn random<const N: usize>(seed: u64) -> Vec<Host<N>> {
    let mut random = Random(seed);
    (0..LANES).map(|_| random.matrix()).collect()
}

fn of<const N: usize>(lanes: &[Host<N>]) -> Matrix<f64, N> {
    Matrix::from(lanes)
}

#[track_caller]
fn assert_near<const N: usize>(got: &Matrix<f64, N>, wanted: &[Host<N>], tolerance: f64) {
    let got = got.to_vec().unwrap();
    assert_eq!(got.len(), wanted.len());
    for (lane, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        let distance = host::distance(got, wanted);
        assert!(distance <= tolerance, "lane {lane} is off by {distance}: {got:?} instead of {wanted:?}");
    }
}

#[test]
fn matrices_are_made_from_rows_columns_constants_and_lanes() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0]);
        let a = Mat2::from_rows([Vec2::new(&x, 0.0), Vec2::new(3.0, 4.0)]);
        assert_eq!(a.to_vec().unwrap(), [[[1.0, 0.0], [3.0, 4.0]], [[2.0, 0.0], [3.0, 4.0]]]);
        assert_eq!(a.len(), 2);
        let b = Mat2::from_columns([[1.0f32, 2.0], [3.0, 4.0]]);
        assert_eq!(b.item().unwrap(), [[1.0, 3.0], [2.0, 4.0]]);
        assert_eq!(b.row(0).item().unwrap(), [1.0, 3.0]);
        assert_eq!(b.column(0).item().unwrap(), [1.0, 2.0]);
        assert_eq!(b.diagonal().item().unwrap(), [1.0, 4.0]);
        assert_eq!(b.transpose()[(0, 1)].item().unwrap(), 2.0);
        assert_eq!(Mat3::<i32>::identity().item().unwrap(), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]);
        assert_eq!(Mat2::from(3.0f32).item().unwrap(), [[3.0, 0.0], [0.0, 3.0]]);
        assert_eq!(Mat2::from_diagonal(Vec2::from([5.0, 6.0])).item().unwrap(), [[5.0, 0.0], [0.0, 6.0]]);
        let outer = Vec2::from([1.0, 2.0]).outer(Vec2::from([3.0, 4.0]));
        assert_eq!(outer.item().unwrap(), [[3.0, 4.0], [6.0, 8.0]]);
        let large = b.to_mat3().to_mat4();
        assert_eq!(large.row(3).item().unwrap(), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(large.to_mat3().to_mat2().item().unwrap(), b.item().unwrap());
        let mut c = b;
        c[(1, 0)] = Float::from([7.0, 8.0]);
        assert_eq!(c.get(1).unwrap(), [[1.0, 3.0], [8.0, 4.0]]);
        assert_eq!(c.cast::<i32>().get(0).unwrap(), [[1, 3], [7, 4]]);
    });
}

fn products_agree<const N: usize>() {
    let (a, b) = (random::<N>(1), random::<N>(2));
    let both: Vec<_> = a.iter().zip(&b).collect();
    let (x, y) = (of(&a), of(&b));
    let each = |f: &dyn Fn(&Host<N>, &Host<N>) -> Host<N>| both.iter().map(|(a, b)| f(a, b)).collect::<Vec<_>>();
    assert_near(&(&x * &y), &each(&host::product), 1e-15);
    assert_near(&(x.clone() + &y), &each(&|a, b| host::build(|i, k| a[i][k] + b[i][k])), 0.0);
    assert_near(&(&x - y.clone()), &each(&|a, b| host::build(|i, k| a[i][k] - b[i][k])), 0.0);
    assert_near(&x.entrywise_product(&y), &each(&|a, b| host::build(|i, k| a[i][k] * b[i][k])), 0.0);
    assert_near(&(2.0 * &x / 4.0), &each(&|a, _| host::build(|i, k| a[i][k] / 2.0)), 0.0);
    assert_near(&(&x + 2.0), &each(&|a, _| host::build(|i, k| a[i][k] + 2.0 * f64::from(u8::from(i == k)))), 0.0);
    assert_near(&(-&x).transpose(), &each(&|a, _| host::build(|i, k| -a[k][i])), 0.0);
    let mut z = x.clone();
    z *= &y;
    z *= Float64::from(3.0);
    z -= &x;
    assert_near(
        &z,
        &each(&|a, b| {
            let product = host::product(a, b);
            host::build(|i, k| 3.0 * product[i][k] - a[i][k])
        }),
        1e-14,
    );
    let trace: Vec<f64> = a.iter().map(|a| (0..N).map(|k| a[k][k]).sum()).collect();
    assert_eq!(x.trace().to_vec().unwrap(), trace);
    let largest: Vec<f64> = a.iter().map(host::max_norm).collect();
    assert_eq!(x.max_norm().to_vec().unwrap(), largest);
    let squares = |a: &Host<N>| a.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    for (got, a) in x.frobenius_norm().to_vec().unwrap().iter().zip(&a) {
        assert!((got - squares(a)).abs() < 1e-15);
    }
}

#[test]
fn operators_agree_with_plain_rust() {
    on_each_device(|| {
        products_agree::<2>();
        products_agree::<3>();
        products_agree::<4>();
    });
}

#[test]
fn matrices_map_vectors() {
    on_each_device(|| {
        let a = random::<3>(3);
        let x = Vec3::from([0.5, -1.0, 2.0]);
        let got = (of(&a) * &x).to_vec().unwrap();
        for (got, a) in got.iter().zip(&a) {
            let wanted = host::apply(a, &[0.5, -1.0, 2.0]);
            assert!(got.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() < 1e-15));
        }
        let turn = Mat2::from([[0, -1], [1, 0]]);
        assert_eq!((&turn * Vec2::from([3, 4])).item().unwrap(), [-4, 3]);
        assert_eq!((Mat4::from(2.0) * Vec4::from([1.0f32, 2.0, 3.0, 4.0])).item().unwrap(), [2.0, 4.0, 6.0, 8.0]);
    });
}

/// The error of an inverse, in units in the last place times the condition.
fn inverse_error<const N: usize>(a: &[Host<N>]) -> f64 {
    let got = Matrix::from(a.iter().map(host::single).collect::<Vec<_>>()).inverse().to_vec().unwrap();
    let error = |(got, a): (&[[f32; N]; N], &Host<N>)| {
        let a = host::double(host::single(a));
        let exact = host::inverse(&a);
        host::distance(&host::double(*got), &exact)
            / (host::max_norm(&exact) * host::condition(&a) * f64::from(f32::EPSILON))
    };
    got.iter().zip(a).map(error).fold(0.0, f64::max)
}

#[test]
fn inverses_are_accurate_to_the_condition_of_the_matrix() {
    on_each_device(|| {
        assert!(inverse_error(&random::<2>(4)) < 4.0);
        assert!(inverse_error(&random::<3>(5)) < 4.0);
        assert!(inverse_error(&random::<4>(6)) < 4.0);
        let hilbert: Host<4> = host::build(|i, k| 1.0 / (i + k + 1) as f64);
        assert!(inverse_error(&[hilbert]) < 4.0);
        let a = random::<4>(7);
        let products = &of(&a) * of(&a).inverse();
        assert_near(&products, &[host::identity(); LANES], 1e-12);
        assert_near(&of(&a).inverse_transpose().transpose(), &a.iter().map(host::inverse).collect::<Vec<_>>(), 1e-11);
    });
}

#[test]
fn determinants_change_sign_with_rows_and_vanish_for_singular_matrices() {
    on_each_device(|| {
        let a = Mat4::from([[2, 0, 1, 3], [1, 1, 0, 2], [0, 5, 1, 1], [4, 0, 0, 1]]);
        assert_eq!(a.determinant().item().unwrap(), -41);
        let swapped = Mat4::from_rows([a.row(1), a.row(0), a.row(2), a.row(3)]);
        assert_eq!(swapped.determinant().item().unwrap(), 41);
        let adjugate = a.adjugate();
        assert_eq!((a * adjugate).item().unwrap(), Mat4::from(-41).item().unwrap());
        let singular = Mat3::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]);
        assert_eq!(singular.determinant().item().unwrap(), 0.0);
        assert!(singular.inverse().item().unwrap().iter().flatten().all(|x| !x.is_finite()));
    });
}

#[test]
fn matrices_print_a_line_for_each_lane() {
    let a = Mat2::from_rows([[Float::from([1.0, 5.0]), Float::from(2.0)], [Float::from(3.5), Float::from(4.0)]]);
    assert_eq!(a.to_string(), "[[[1, 2], [3.5, 4]],\n [[5, 2], [3.5, 4]]]");
    assert_eq!(jit::leaves(&a)[1].0, "rows[0][1]");
}

#[jit]
fn power(a: &Mat2<f64>, exponent: &UInt) -> Mat2<f64> {
    let (mut result, mut square, mut rest) = (Mat2::identity(), a.clone(), exponent.clone());
    while rest != 0 {
        if rest & 1 == 1 {
            result *= &square;
        }
        square = &square * &square;
        rest >>= 1;
    }
    result
}

#[test]
fn matrices_are_state_of_traced_loops() {
    on_each_device(|| {
        let fibonacci = power(&Mat2::from([[1.0, 1.0], [1.0, 0.0]]), &UInt::from([0, 1, 10, 50]));
        assert_eq!(fibonacci[(0, 1)].to_vec().unwrap(), [0.0, 1.0, 55.0, 12_586_269_025.0]);
    });
}
