//! Prefix reductions: sums, products, minima and maxima, in every order.

use jit::ad;
use jit::prelude::*;

use crate::{assert_close, check_function, check_second, on_each_device};

fn scans() -> Vec<Scan> {
    let both = [Scan::inclusive(), Scan::exclusive()];
    let all = both.into_iter().flat_map(|scan| [scan, scan.reverse()]);
    all.flat_map(|scan| [scan, scan.per_block(3), scan.per_block(4), scan.per_block(1)]).collect()
}

const VALUES: [f64; 11] = [1.5, -0.5, 2.0, 0.75, 3.0, -1.25, 0.5, 2.5, -0.75, 1.0, 1.75];

fn with_zeros(positions: &[usize]) -> Vec<f64> {
    let mut values = VALUES.to_vec();
    positions.iter().for_each(|&position| values[position] = 0.0);
    values
}

#[test]
fn sums_and_products_have_derivatives_even_at_zeros() {
    on_each_device(|| {
        for scan in scans() {
            check_function(&format!("sum {scan:?}"), &|x| x.prefix(ReduceOp::Add, scan), &VALUES);
            for zeros in [&[][..], &[0], &[4], &[10], &[1, 2], &[3, 7], &[0, 5, 10]] {
                let name = format!("product {scan:?} {zeros:?}");
                check_function(&name, &|x| x.prefix(ReduceOp::Mul, scan), &with_zeros(zeros));
            }
            check_second(&format!("sum {scan:?}"), &|x| x.prefix(ReduceOp::Add, scan), &VALUES);
            for zeros in [&[][..], &[4], &[1, 2], &[0, 5, 10]] {
                let name = format!("product {scan:?} {zeros:?}");
                check_second(&name, &|x| x.prefix(ReduceOp::Mul, scan), &with_zeros(zeros));
            }
        }
    });
}

#[test]
fn sums_along_the_middle_of_three_axes_have_derivatives() {
    let values: Vec<f64> = VALUES.into_iter().chain([0.25]).collect();
    on_each_device(|| {
        let both = |scan| [[2, 3, 2], [1, 4, 3]].map(|lengths| (scan, lengths));
        for (scan, lengths) in scans().into_iter().flat_map(both) {
            let summed = |x: &Float64| x.prefix_columns(ReduceOp::Add, scan, lengths.map(Into::into));
            check_function(&format!("{scan:?} {lengths:?}"), &summed, &values);
            check_second(&format!("{scan:?} {lengths:?}"), &summed, &values);
        }
    });
}

#[test]
fn extremes_have_derivatives() {
    on_each_device(|| {
        for scan in scans() {
            // The identities of exclusive scans are infinite.
            let finite = |y: Float64| y.clamp(-10.0, 10.0);
            for op in [ReduceOp::Min, ReduceOp::Max] {
                check_function(&format!("{op:?} {scan:?}"), &|x| finite(x.prefix(op, scan)), &VALUES);
                check_second(&format!("{op:?} {scan:?}"), &|x| finite(x.prefix(op, scan)), &VALUES);
            }
        }
    });
}

/// The gradient of a prefix reduction with the weights 1, 10, 100, …, and its tangent for these.
fn flows(op: ReduceOp, scan: Scan, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let weights = Float64::from((0..x.len() as i32).map(|i| 10_f64.powi(i)).collect::<Vec<_>>());
    let f = |x: &Float64| x.prefix(op, scan);
    let back = ad::vjp(f, &Float64::from(x)).unwrap().1(&weights).unwrap().to_vec().unwrap();
    (back, ad::jvp(f, &Float64::from(x), &weights).unwrap().1.to_vec().unwrap())
}

#[test]
fn of_equal_elements_the_first_one_of_the_scan_is_the_extreme() {
    on_each_device(|| {
        let (x, nan) = ([2.0, 2.0, 3.0, 3.0, 1.0], f64::NAN);
        let (back, forward) = flows(ReduceOp::Max, Scan::inclusive(), &x);
        assert_close(&back, &[11.0, 0.0, 11100.0, 0.0, 0.0], 0.0);
        assert_close(&forward, &[1.0, 1.0, 100.0, 100.0, 100.0], 0.0);
        let (back, forward) = flows(ReduceOp::Max, Scan::inclusive().reverse(), &x);
        assert_close(&back, &[0.0, 0.0, 0.0, 1111.0, 10000.0], 0.0);
        assert_close(&forward, &[1000.0, 1000.0, 1000.0, 1000.0, 10000.0], 0.0);
        let (back, forward) = flows(ReduceOp::Min, Scan::exclusive(), &x);
        assert_close(&back, &[11110.0, 0.0, 0.0, 0.0, 0.0], 0.0);
        assert_close(&forward, &[0.0, 1.0, 1.0, 1.0, 1.0], 0.0);
        let (back, _) = flows(ReduceOp::Max, Scan::exclusive().per_block(2), &x);
        assert_close(&back, &[10.0, 0.0, 1000.0, 0.0, 0.0], 0.0);
        // From the first NaN on, that is the result.
        let (back, forward) = flows(ReduceOp::Min, Scan::inclusive(), &[1.0, nan, 0.0, nan, 5.0]);
        assert_close(&back, &[1.0, 11110.0, 0.0, 0.0, 0.0], 0.0);
        assert_close(&forward, &[1.0, 10.0, 10.0, 10.0, 10.0], 0.0);
    });
}

#[test]
fn halves_and_single_precision_have_the_same_derivatives() {
    on_each_device(|| {
        let x = Half::from([1.5, 0.0, 2.0, 3.0].map(half::f16::from_f32).to_vec());
        let gradient = ad::grad(|x: &Half| x.prefix_reduce(ReduceOp::Mul).sum())(&x).unwrap();
        let got: Vec<f32> = gradient.to_vec().unwrap().into_iter().map(half::f16::to_f32).collect();
        assert_eq!(got, [1.0, 1.5 + 3.0 + 9.0, 0.0, 0.0]);
        let x = Float::from([1.5, 0.5, 2.0, 3.0]);
        let gradient = ad::grad(|x: &Float| x.prefix_reduce(ReduceOp::Max).square().sum())(&x).unwrap();
        assert_eq!(gradient.to_vec().unwrap(), [6.0, 0.0, 4.0, 6.0]);
    });
}

/// Over more elements than one chunk has, in a frozen function, for other widths too.
#[freeze]
fn frozen(x: &Float64) -> Float64 {
    let f = |x: &Float64| (x.prefix_reduce(ReduceOp::Max) + x.prefix_sum() * 1e-4).sum();
    ad::grad(f)(x).expect("it has derivatives")
}

#[test]
fn long_prefixes_have_derivatives_in_frozen_functions() {
    on_each_device(|| {
        frozen::clear();
        for width in [70_000_usize, 70_000, 40_000, 3] {
            let x: Vec<f64> = (0..width).map(|i| ((i * 7919) % 10_007) as f64).collect();
            let mut wanted: Vec<f64> = (0..width).map(|i| (width - i) as f64 * 1e-4).collect();
            let mut winner = 0;
            for i in 0..width {
                if x[i] > x[winner] {
                    winner = i;
                }
                wanted[winner] += 1.0;
            }
            assert_close(&frozen(&Float64::from(x)).to_vec().unwrap(), &wanted, 1e-9);
        }
        assert!(frozen::stats().recordings <= 2, "{:?}", frozen::stats());
    });
}
