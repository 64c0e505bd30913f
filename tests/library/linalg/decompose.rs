//! Decompositions: factors have their shape and multiply to the matrix, also where it is degenerate.

use half::f16;
use jit::linalg::{Mat2, Mat3, Mat4, Matrix, Vec3};

use super::reference::{self as host, Host, Random};
use crate::devices::on_each_device;

/// Random lanes, and matrices with repeated and vanishing eigenvalues and determinants, and of extreme size.
fn lanes<const N: usize>(seed: u64, of: impl Fn(&mut Random) -> Host<N>) -> Vec<Host<N>> {
    let mut random = Random(seed);
    let mut lanes: Vec<Host<N>> = (0..29).map(|_| of(&mut random)).collect();
    lanes.push(host::build(|_, _| 0.0));
    lanes.push(host::identity());
    lanes.push(host::build(|_, _| 1.0));
    lanes.push(host::build(|i, k| f64::from(u8::from(i + k == N - 1))));
    lanes.push(host::build(|i, k| if i == 0 && k == 0 { 2.0 } else { 0.0 }));
    lanes.push(host::build(|i, k| if i == k { 1.0 } else { 1e-9 }));
    lanes.push(host::build(|i, k| 1e12 / (1 + i + k) as f64));
    lanes.push(host::build(|i, k| 1e-12 / (1 + i + k) as f64));
    lanes
}

fn of<const N: usize>(lanes: &[Host<N>]) -> Matrix<f64, N> {
    Matrix::from(lanes)
}

/// Each lane's matrices multiplied; an error relative to the largest entry.
#[track_caller]
fn assert_product<const N: usize>(factors: &[&Matrix<f64, N>], wanted: &[Host<N>], tolerance: f64) {
    let factors: Vec<Vec<Host<N>>> = factors.iter().map(|factor| factor.to_vec().unwrap()).collect();
    for (lane, wanted) in wanted.iter().enumerate() {
        let part = |factor: &Vec<Host<N>>| factor[if factor.len() == 1 { 0 } else { lane }];
        let product = factors.iter().fold(host::identity(), |product, factor| host::product(&product, &part(factor)));
        let error = host::distance(&product, wanted) / host::max_norm(wanted).max(1e-300);
        assert!(error <= tolerance, "lane {lane}: {product:?} instead of {wanted:?}");
    }
}

#[track_caller]
fn assert_orthogonal<const N: usize>(q: &Matrix<f64, N>) {
    let identities = vec![host::identity(); q.len()];
    assert_product(&[&q.transpose(), q], &identities, 4e-15);
}

#[track_caller]
fn assert_entries<const N: usize>(matrix: &Matrix<f64, N>, is_right: impl Fn(usize, usize, f64) -> bool) {
    for (lane, matrix) in matrix.to_vec().unwrap().iter().enumerate() {
        for (row, entries) in matrix.iter().enumerate() {
            for (column, &entry) in entries.iter().enumerate() {
                assert!(is_right(row, column, entry), "lane {lane} has {entry} at ({row}, {column}): {matrix:?}");
            }
        }
    }
}

fn lu_holds<const N: usize>() {
    let a = lanes::<N>(1, Random::matrix);
    let (p, l, u) = of(&a).lu();
    assert_orthogonal(&p);
    assert_entries(&p, |_, _, x| x == 0.0 || x == 1.0);
    assert_entries(&l, |i, k, x| {
        if i == k {
            x == 1.0
        } else if i < k {
            x == 0.0
        } else {
            x.abs() <= 1.0
        }
    });
    assert_entries(&u, |i, k, x| i <= k || x == 0.0);
    assert_product(&[&p.transpose(), &l, &u], &a, 4e-15);
}

fn qr_holds<const N: usize>() {
    let a = lanes::<N>(2, Random::matrix);
    let (q, r) = of(&a).qr();
    assert_orthogonal(&q);
    assert_entries(&r, |i, k, x| if i == k { x >= 0.0 } else { i < k || x == 0.0 });
    assert_product(&[&q, &r], &a, 4e-15);
}

fn cholesky_holds<const N: usize>() {
    let mut random = Random(3);
    let roots: Vec<Host<N>> = (0..29)
        .map(|_| random.matrix())
        .map(|a: Host<N>| host::build(|i, k| if i == k { 1.5 } else { a[i][k] }))
        .collect();
    let a: Vec<Host<N>> = roots.iter().map(|root| host::product(root, &host::transpose(root))).collect();
    let root = of(&a).cholesky();
    assert_entries(&root, |i, k, x| if i == k { x > 0.0 } else { i > k || x == 0.0 });
    assert_product(&[&root, &root.transpose()], &a, 4e-15);
}

fn is_falling<const N: usize>(values: &[[f64; N]]) -> bool {
    values.iter().all(|values| values.windows(2).all(|pair| pair[0] >= pair[1]))
}

#[test]
fn triangular_factors_multiply_to_the_matrix() {
    on_each_device(|| {
        lu_holds::<2>();
        lu_holds::<3>();
        lu_holds::<4>();
    });
}

#[test]
fn orthogonal_and_triangular_factors_multiply_to_the_matrix() {
    on_each_device(|| {
        qr_holds::<2>();
        qr_holds::<3>();
        qr_holds::<4>();
    });
}

#[test]
fn roots_multiply_to_the_matrix_and_need_a_positive_one() {
    on_each_device(|| {
        cholesky_holds::<2>();
        cholesky_holds::<3>();
        cholesky_holds::<4>();
        let indefinite = Mat2::from([[1.0f32, 2.0], [2.0, 1.0]]).cholesky();
        assert!(indefinite[(1, 1)].item().unwrap().is_nan());
        let wilson = Mat3::from([[4.0f32, 12.0, -16.0], [12.0, 37.0, -43.0], [-16.0, -43.0, 98.0]]);
        assert_eq!(wilson.cholesky().item().unwrap(), [[2.0, 0.0, 0.0], [6.0, 1.0, 0.0], [-8.0, 5.0, 3.0]]);
    });
}

#[test]
fn equations_are_solved_where_cofactors_would_overflow() {
    on_each_device(|| {
        let a = [[1e-20f32, 1e20, 0.0], [2e20, 0.0, 3e-20], [0.0, 1e20, 1e20]];
        let x = Mat3::from(a).solve(Vec3::from([1e20, 4e20, 3e20])).item().unwrap();
        for (row, right) in a.iter().zip([1e20f32, 4e20, 3e20]) {
            let left: f64 = row.iter().zip(&x).map(|(a, x)| f64::from(*a) * f64::from(*x)).sum();
            assert!((left / f64::from(right) - 1.0).abs() < 1e-6, "{left} instead of {right}");
        }
        let mut random = Random(4);
        let (a, b): (Vec<Host<4>>, Vec<Host<4>>) = (0..29).map(|_| (random.matrix(), random.matrix())).unzip();
        let x = of(&a).solve_matrix(&of(&b));
        let residual = (&of(&a) * &x - of(&b)).max_norm().to_vec().unwrap();
        let size = x.max_norm().to_vec().unwrap();
        assert!(residual.iter().zip(&size).all(|(residual, size)| residual <= &(1e-14 * (1.0 + size))));
        let singular = Mat2::from([[1.0f32, 2.0], [2.0, 4.0]]).solve(1.0).item().unwrap();
        assert!(singular.iter().all(|x| !x.is_finite()));
    });
}

macro_rules! spectral {
    ($($test_eigen:ident $test_singular:ident $n:literal;)*) => {$(
        #[test]
        fn $test_eigen() {
            on_each_device(|| {
                let a = lanes::<$n>(5, Random::symmetric);
                let (values, vectors) = of(&a).symmetric_eigen();
                assert_orthogonal(&vectors);
                assert_product(&[&vectors, &Matrix::from_diagonal(&values), &vectors.transpose()], &a, 1e-14);
                assert!(is_falling(&values.to_vec().unwrap()));
            });
        }

        #[test]
        fn $test_singular() {
            on_each_device(|| {
                let mut a = lanes::<$n>(6, Random::matrix);
                a.push(host::build(|i, k| 1e200 / (1 + i + k) as f64));
                a.push(host::build(|i, k| 1e-200 / (1 + i + k) as f64));
                let (u, values, v) = of(&a).svd();
                assert_orthogonal(&u);
                assert_orthogonal(&v);
                assert_product(&[&u, &Matrix::from_diagonal(&values), &v.transpose()], &a, 1e-14);
                let values = values.to_vec().unwrap();
                assert!(is_falling(&values) && values.iter().flatten().all(|&x| x >= 0.0), "{values:?}");

                let (q, p) = of(&a).polar();
                assert_orthogonal(&q);
                assert_product(&[&q, &p], &a, 1e-14);
                for (p, a) in p.to_vec().unwrap().iter().zip(&a) {
                    assert!(host::distance(p, &host::transpose(p)) <= 1e-14 * host::max_norm(a));
                }
            });
        }
    )*};
}

spectral! {
    eigenvectors_of_two_rows_diagonalise singular_vectors_of_two_rows_diagonalise 2;
    eigenvectors_of_three_rows_diagonalise singular_vectors_of_three_rows_diagonalise 3;
    eigenvectors_of_four_rows_diagonalise singular_vectors_of_four_rows_diagonalise 4;
}

#[test]
fn known_spectra() {
    on_each_device(|| {
        let (values, vectors) = Mat2::from([[2.0f32, 1.0], [1.0, 2.0]]).symmetric_eigen();
        assert_eq!(values.item().unwrap(), [3.0, 1.0]);
        let vectors = vectors.item().unwrap();
        assert!((vectors[0][0].abs() - 0.5f32.sqrt()).abs() < 1e-7 && vectors[0][0] == vectors[1][0]);
        // Eigenvalues of the second difference: 2 - 2 cos(k π / 5).
        let chain =
            Mat4::from([[2.0, -1.0, 0.0, 0.0], [-1.0, 2.0, -1.0, 0.0], [0.0, -1.0, 2.0, -1.0], [0.0, 0.0, -1.0, 2.0]]);
        let values: [f64; 4] = chain.symmetric_eigen().0.item().unwrap();
        for (value, k) in values.iter().zip([4.0, 3.0, 2.0, 1.0]) {
            let exact = 2.0 - 2.0 * (k * std::f64::consts::PI / 5.0).cos();
            assert!((value - exact).abs() < 1e-15);
        }
        let (_, values, _) = Mat3::from([[0.0f32, 0.0, -5.0], [3.0, 0.0, 0.0], [0.0, 4.0, 0.0]]).svd();
        assert_eq!(values.item().unwrap(), [5.0, 4.0, 3.0]);
        let (q, p) = Mat2::from([[0.0f32, -2.0], [3.0, 0.0]]).polar();
        assert!((q - Mat2::from([[0.0, -1.0], [1.0, 0.0]])).max_norm().item().unwrap() < 1e-7);
        assert!((p - Mat2::from([[3.0, 0.0], [0.0, 2.0]])).max_norm().item().unwrap() < 1e-6);
    });
}

#[test]
fn single_and_half_precision_reach_their_accuracy() {
    on_each_device(|| {
        let mut random = Random(7);
        let a: Vec<Host<3>> = (0..29).map(|_| random.symmetric()).collect();
        let single = Matrix::from(a.iter().map(host::single).collect::<Vec<_>>());
        let (values, vectors) = single.symmetric_eigen();
        let product = &vectors * Matrix::from_diagonal(values) * vectors.transpose();
        assert!((&product - &single).max_norm().reduce_max().item().unwrap() < 1e-6);
        let (u, values, v) = single.svd();
        let product = u * Matrix::from_diagonal(values) * v.transpose();
        assert!((&product - &single).max_norm().reduce_max().item().unwrap() < 1e-6);
        let half = single.cast::<f16>();
        let (values, vectors) = half.symmetric_eigen();
        let product = &vectors * Matrix::from_diagonal(values) * vectors.transpose();
        assert!((product - half).max_norm().reduce_max().item().unwrap() < f16::from_f32(4e-3));
    });
}

#[test]
fn matrices_with_nan_decompose_to_nan() {
    on_each_device(|| {
        let a = Mat3::from([[f32::NAN, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]);
        assert!(a.symmetric_eigen().0.item().unwrap().iter().any(|x| x.is_nan()));
        assert!(a.svd().1.item().unwrap().iter().all(|x| x.is_nan()));
    });
}
