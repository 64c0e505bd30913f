//! Tensors: reductions along axes, products of matrices, broadcasting, layouts.

use jit::ad;
use jit::prelude::*;

use crate::{assert_close, on_each_device};

type Function = fn(&Tensor<f64>) -> Tensor<f64>;

/// Checks reverse and forward mode against differences, with a different weight for each result.
#[track_caller]
fn check(name: &str, function: Function, x: &Tensor<f64>) {
    let count = function(x).array().len();
    let weights = Float64::from((0..count).map(|i| (i as f64 * 0.7).sin() + 0.3).collect::<Vec<_>>());
    let loss = |x: &Tensor<f64>| (function(x).array() * &weights).sum();
    let gradient = ad::grad(loss)(x).unwrap().array().to_vec().unwrap();
    let values = x.array().to_vec().unwrap();
    let step = 1e-6;
    for position in 0..values.len() {
        let at = |offset: f64| {
            let mut moved = values.clone();
            moved[position] += offset;
            loss(&Tensor::from_array(Float64::from(moved), x.shape().to_vec())).item().unwrap()
        };
        let difference = (at(step) - at(-step)) / (2.0 * step);
        let got = gradient[position];
        assert!(
            (got - difference).abs() < 1e-5 * (1.0 + difference.abs()),
            "{name}, {position}: {got}, not {difference}"
        );
    }
    let direction: Vec<f64> = (0..values.len()).map(|i| (i as f64 * 1.3).cos()).collect();
    let seed = Tensor::from_array(Float64::from(&direction[..]), x.shape().to_vec());
    let (_, tangent) = ad::jvp(loss, x, &seed).unwrap();
    let product: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
    assert!((tangent.item().unwrap() - product).abs() < 1e-9 * (1.0 + product.abs()), "{name}: forward");
}

fn table(shape: &[usize]) -> Tensor<f64> {
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count).map(|i| ((i * 37 + 11) % 101) as f64 / 40.0 - 1.2).collect();
    Tensor::from_array(Float64::from(values), shape.to_vec())
}

#[test]
fn reductions_along_axes_have_derivatives() {
    on_each_device(|| {
        let x = table(&[3, 4, 5]);
        check("sum of all", |x| x.sum(..), &x);
        check("sum 0", |x| x.sum(0), &x);
        check("sum 1", |x| x.sum(1), &x);
        check("sum -1", |x| x.sum(-1), &x);
        check("sum 0, 2", |x| x.sum([0, 2]), &x);
        check("sum, kept", |x| x.sum(jit::tensor::keep_dims(1)) * x, &x);
        check("mean", |x| x.mean(1), &x);
        check("variance", |x| x.var(1, 1), &x);
        check("std", |x| x.std([0, 1], 0), &x);
        check("norm", |x| x.norm(0), &x);
        check("product", |x| x.product(1), &x);
        check("product 0, 2", |x| x.product([0, 2]), &x);
        check("maximum", |x| x.reduce_max(1), &x);
        check("minimum", |x| x.reduce_min([0, 1]), &x);
        check("prefix sums", |x| x.prefix_sum(1), &x);
        check("sort", |x| x.sort(1), &x);
        check("wide", |x| x.sum(0), &table(&[40, 3]));
        check("long", |x| x.sum(1), &table(&[2, 70]));
    });
}

#[test]
fn products_of_matrices_have_derivatives() {
    on_each_device(|| {
        check("square", |x| x.matmul(x), &table(&[4, 4]));
        check("with its transpose", |x| x.transpose().matmul(x), &table(&[5, 3]));
        check("batch", |x| x.matmul(&x.swap_axes(-1, -2)), &table(&[2, 3, 4]));
        check("shared", |x| table(&[3, 2, 4]).matmul(x), &table(&[4, 5]));
        check("row", |x| x.matmul(&table(&[4, 3])), &table(&[4]));
        check("column", |x| table(&[3, 4]).matmul(x), &table(&[4]));
        check("dot", |x| x.dot(x), &table(&[6]));
        let (a, b) = (table(&[20, 30]), table(&[30, 25]));
        let f = ad::grad(|(a, b): &(Tensor<f64>, Tensor<f64>)| a.matmul(b).sum(..).array().clone());
        let (of_a, of_b) = f(&(a.clone(), b.clone())).unwrap();
        let wanted = b.sum(1).to_vec().unwrap();
        assert_close(&of_a.to_vec().unwrap()[..30], &wanted, 1e-12);
        let wanted = a.sum(0).to_vec().unwrap();
        let got: Vec<f64> = of_b.to_vec().unwrap().chunks(25).map(|row| row[3]).collect();
        assert_close(&got, &wanted, 1e-12);
    });
}

#[test]
fn layouts_and_broadcasting_have_derivatives() {
    on_each_device(|| {
        let x = table(&[3, 4]);
        check("transpose", |x| x.transpose() * 2.0, &x);
        check("reshape", |x| x.reshape([2, 6]) * x.reshape([2, 6]), &x);
        check("broadcast row", |x| x.expand_dims(1) * table(&[3, 2, 4]), &x);
        check("broadcast", |x| x.broadcast_to([5, 3, 4]) * x, &x);
        check("functions", |x| x.sin() / (x * x + 1.0).sqrt(), &x);
        check("take", |x| x.take(0, [2, 0, 2]), &x);
        check(
            "softmax",
            |x| {
                let e = (x - x.reduce_max(jit::tensor::keep_dims(1)).detach()).exp();
                &e / e.sum(jit::tensor::keep_dims(1))
            },
            &x,
        );
    });
}

#[test]
fn derivatives_of_tensors_nest() {
    on_each_device(|| {
        let x = table(&[3, 3]);
        let f = |x: &Tensor<f64>| x.matmul(x).sum(0).array().square().sum();
        let v = table(&[3, 3]);
        let product = ad::hvp(f, &x, &v).unwrap().to_vec().unwrap();
        let gradient = ad::grad(f);
        let step = 1e-5;
        let at = |offset: f64| gradient(&(&x + &v * offset)).unwrap().to_vec().unwrap();
        let (above, below) = (at(step), at(-step));
        let wanted: Vec<f64> = above.iter().zip(&below).map(|(a, b)| (a - b) / (2.0 * step)).collect();
        assert_close(&product, &wanted, 1e-6);
    });
}
