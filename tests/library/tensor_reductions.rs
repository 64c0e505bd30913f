//! Reductions of tensors along axes against plain Rust and NumPy.

use jit::prelude::*;
use jit::tensor::{Axes, keep_dims};
use proptest::prelude::*;

use crate::devices::on_each_device;
use crate::misuse::message_of;

/// The elements of each result, in row-major order of the results and, within one, of the axes that are reduced.
fn groups(shape: &[usize], axes: &[usize], values: &[i32]) -> Vec<Vec<i32>> {
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let results: usize = kept.iter().map(|&axis| shape[axis]).product();
    let mut groups = vec![Vec::new(); results];
    for (number, &value) in values.iter().enumerate() {
        let (mut rest, mut at) = (number, vec![0; shape.len()]);
        for axis in (0..shape.len()).rev() {
            at[axis] = rest % shape[axis];
            rest /= shape[axis];
        }
        groups[kept.iter().fold(0, |result, &axis| result * shape[axis] + at[axis])].push(value);
    }
    groups
}

/// Numbers without a pattern.
fn scattered(count: usize) -> Vec<i32> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 20) as i32 - 2048).collect()
}

fn check(shape: &[usize], axes: &[usize]) {
    let values = scattered(shape.iter().product());
    let groups = groups(shape, axes, &values);
    let of = |function: fn(&Vec<i32>) -> i32| groups.iter().map(function).collect::<Vec<_>>();
    on_each_device(|| {
        let x = Tensor::from_array(values.clone(), shape);
        assert_eq!(x.sum(axes).to_vec().unwrap(), of(|group| group.iter().sum()), "sum {shape:?} {axes:?}");
        assert_eq!(
            x.reduce_max(axes).to_vec().unwrap(),
            of(|group| *group.iter().max().unwrap()),
            "max {shape:?} {axes:?}"
        );
        assert_eq!(x.reduce_min(axes).to_vec().unwrap(), of(|group| *group.iter().min().unwrap()));
        assert_eq!(x.reduce_or(axes).to_vec().unwrap(), of(|group| group.iter().fold(0, |a, b| a | b)));
        assert_eq!((&x & 1).product(axes).to_vec().unwrap(), of(|group| group.iter().map(|v| v & 1).product()));
        assert_eq!(
            x.gt(0).count(axes).to_vec().unwrap(),
            of(|group| group.iter().filter(|v| **v > 0).count() as i32).iter().map(|&n| n as u32).collect::<Vec<_>>()
        );
        assert_eq!(
            x.gt(-2040).all(axes).to_vec().unwrap(),
            groups.iter().map(|group| group.iter().all(|v| *v > -2040)).collect::<Vec<_>>()
        );
        let first = |best: fn(&Vec<i32>) -> i32| {
            groups.iter().map(|group| group.iter().position(|v| *v == best(group)).unwrap() as u32).collect::<Vec<_>>()
        };
        assert_eq!((&x / 64).argmin(axes).to_vec().unwrap().len(), groups.len());
        assert_eq!(
            x.argmax(axes).to_vec().unwrap(),
            first(|group| *group.iter().max().unwrap()),
            "argmax {shape:?} {axes:?}"
        );
        assert_eq!(x.argmin(axes).to_vec().unwrap(), first(|group| *group.iter().min().unwrap()));
    });
}

proptest! {
    #![proptest_config(crate::seeds::config(40))]

    #[test]
    fn any_axes_of_any_shape(shape in prop::collection::vec(1usize..6, 0..=4),
        picked in prop::collection::vec(any::<bool>(), 4)) {
        let axes: Vec<usize> = (0..shape.len()).filter(|&axis| picked[axis]).collect();
        check(&shape, &axes);
    }
}

#[test]
fn long_axes_are_folded_in_parts() {
    check(&[3, 1000], &[1]);
    check(&[1000, 3], &[0]);
    check(&[2, 5000], &[1]);
    check(&[65, 3, 66], &[0, 2]);
    check(&[7, 129, 2], &[1]);
    check(&[100, 5000], &[0]);
}

/// Rows of some packets, of which a group has parts of two.
#[test]
fn columns_that_are_some_packets_are_folded() {
    for columns in [8, 16, 17, 24, 33, 48] {
        check(&[1100, columns], &[0]);
    }
    for (outer, columns) in [(1, 16), (1, 17), (3, 24), (2, 5)] {
        let rows = 1100;
        let values = scattered(outer * rows * columns);
        let weights = scattered(outer * rows);
        let mut wanted = vec![0_i32; outer * columns];
        for (at, value) in values.iter().enumerate() {
            let sum = &mut wanted[at / (rows * columns) * columns + at % columns];
            *sum = sum.wrapping_add(value.wrapping_mul(weights[at / columns]));
        }
        on_each_device(|| {
            let x = Tensor::from_array(values.clone(), [outer, rows, columns]);
            let weights = Tensor::from_array(weights.clone(), [outer, rows, 1]);
            assert_eq!((x * weights).sum(1).to_vec().unwrap(), wanted, "{outer} times {rows} x {columns}");
        });
    }
}

/// Rows that share a factor are folded by lanes with padding, whose results nobody may see.
#[test]
fn products_with_a_column_are_folded() {
    for columns in (1..=18).chain([24, 31, 33, 50, 64, 100]) {
        for (matrices, rows) in [(1, 65), (1, 1000), (1, 4099), (3, 777)] {
            let [x, factors] = [matrices * rows * columns, matrices * rows].map(scattered);
            let products: Vec<i32> = (0..x.len()).map(|i| x[i].wrapping_mul(factors[i / columns])).collect();
            let groups = groups(&[matrices, rows, columns], &[1], &products);
            let of = |function: fn(&Vec<i32>) -> i32| groups.iter().map(function).collect::<Vec<_>>();
            on_each_device(|| {
                let x = Tensor::from_array(x.clone(), [matrices, rows, columns]);
                let products = &x * Tensor::from_array(factors.clone(), [matrices, rows, 1]);
                let context = format!("{matrices} × {rows} × {columns}");
                assert_eq!(
                    products.sum(1).to_vec().unwrap(),
                    of(|group| group.iter().fold(0, |sum, x| x.wrapping_add(sum))),
                    "{context}"
                );
                assert_eq!(
                    products.reduce_max(1).to_vec().unwrap(),
                    of(|group| *group.iter().max().unwrap()),
                    "{context}"
                );
            });
        }
    }
}

/// Whether a factor has been multiplied before shows in no bit of a sum.
#[test]
fn sums_of_products_have_one_order() {
    for (rows, columns) in [(5000, 3), (7001, 5), (9999, 17), (3000, 33)] {
        let [x, e] = [rows * columns, rows]
            .map(|count| Float::from(scattered(count).into_iter().map(|x| x as f32 / 7.0).collect::<Vec<_>>()));
        let products = Tensor::from(x).reshape([rows, columns]) * Tensor::from(e).reshape([rows, 1]);
        let together = products.sum(0).to_vec().unwrap();
        jit::eval(&products).unwrap();
        assert_eq!(products.sum(0).to_vec().unwrap(), together, "{rows} × {columns}");
    }
}

#[freeze]
fn frozen_product(x: &Tensor<f32>, e: &Tensor<f32>) -> Tensor<f32> {
    x.transpose().matmul(e)
}

/// A recording of such a sum serves other lengths, and has the bits of the direct call.
#[test]
fn products_of_a_transpose_and_a_column_are_the_same_frozen() {
    for (rows, columns) in [(5000, 3), (7001, 3), (5000, 17), (9999, 17), (6400, 10), (6401, 12)] {
        let [x, e] = [rows * columns, rows]
            .map(|count| Float::from(scattered(count).into_iter().map(|x| x as f32 / 64.0).collect::<Vec<_>>()));
        let (x, e) = (Tensor::from(x).reshape([rows, columns]), Tensor::from(e));
        let direct = x.transpose().matmul(&e).to_vec().unwrap();
        let frozen = frozen_product(&x, &e).to_vec().unwrap();
        assert_eq!(frozen, direct, "{rows} × {columns}");
    }
}

#[test]
fn argmax_takes_the_first_of_several_and_nan_first_of_all() {
    on_each_device(|| {
        let x = Tensor::from([[1.0f32, 3.0, 3.0], [f32::NAN, 9.0, f32::NAN]]);
        assert_eq!(x.argmax(1).to_vec().unwrap(), [1, 0]);
        assert_eq!(x.argmin(1).to_vec().unwrap(), [0, 0]);
        assert_eq!(x.argmax(..).item().unwrap(), 3);
        let ties = Tensor::full(5, [2, 500]);
        assert_eq!(ties.argmin(1).to_vec().unwrap(), [0, 0]);
    });
    assert!(message_of(|| Tensor::<f32>::zeros([2, 0]).argmax(1)).contains("length 0 has no smallest"));
}

#[test]
fn shapes_of_results() {
    let x = Tensor::<f32>::zeros([2, 3, 4]);
    assert_eq!(x.sum(..).shape(), [0usize; 0]);
    assert_eq!(x.sum([0, -1]).shape(), [3]);
    assert_eq!(x.sum(keep_dims(1)).shape(), [2, 1, 4]);
    assert_eq!(x.sum(keep_dims(..)).shape(), [1, 1, 1]);
    assert_eq!(x.sum(Axes::from([0i32; 0])).shape(), [2, 3, 4]);
    assert!(message_of(|| x.sum(3)).contains("there is no axis 3 in a tensor of shape [2, 3, 4]"));
    assert!(message_of(|| x.sum([1, -2])).contains("axis -2 is named twice"));
}

#[test]
fn without_elements() {
    on_each_device(|| {
        let x = Tensor::<f32>::zeros([2, 0]);
        assert_eq!(x.sum(1).to_vec().unwrap(), [0.0, 0.0]);
        assert_eq!(x.product(1).to_vec().unwrap(), [1.0, 1.0]);
        assert_eq!(x.reduce_max(1).to_vec().unwrap(), [f32::NEG_INFINITY; 2]);
        assert!(x.mean(1).to_vec().unwrap().iter().all(|mean| mean.is_nan()));
        assert_eq!(x.sum(0).to_vec().unwrap(), [0.0f32; 0]);
        assert_eq!(x.lt(1.0).all(1).to_vec().unwrap(), [true, true]);
    });
}

#[test]
fn mean_variance_and_norm() {
    on_each_device(|| {
        let x = Tensor::from([[1.0f64, 2.0, 3.0, 4.0], [2.0, 2.0, 2.0, 6.0]]);
        assert_eq!(x.mean(1).to_vec().unwrap(), [2.5, 3.0]);
        assert_eq!(x.var(1, 0).to_vec().unwrap(), [1.25, 3.0]);
        assert_eq!(x.var(1, 1).to_vec().unwrap(), [5.0 / 3.0, 4.0]);
        assert_eq!(x.std(0, 0).to_vec().unwrap(), [0.5, 0.0, 0.5, 1.0]);
        assert_eq!(x.norm(1).to_vec().unwrap(), [30.0f64.sqrt(), 48.0f64.sqrt()]);
        let halves = Tensor::full(half::f16::ONE, [2, 5000]);
        assert_eq!(halves.sum(1).to_vec().unwrap(), [half::f16::from_f32(5000.0); 2]);
        assert_eq!(halves.mean(1).to_vec().unwrap(), [half::f16::ONE; 2]);
    });
}

#[test]
fn sums_of_many_floats_are_accurate() {
    on_each_device(|| {
        let x = Tensor::full(0.1f32, [2, 500_000]).make_opaque();
        for sum in x.sum(1).to_vec().unwrap() {
            assert!((f64::from(sum) - 50_000.0).abs() < 0.02, "{sum}");
        }
    });
}
