//! Tensors: reductions along axes, products of matrices, broadcasting, layouts.

use jit::ad;
use jit::prelude::*;
use jit::tensor::Padding;

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

/// A convolution of parts of an array: the first elements are the input, the others the kernels.
fn convolved(x: &Float64, input: &[usize], kernel: &[usize], padding: Padding, strides: &[usize]) -> Float64 {
    let [count, of_kernel]: [usize; 2] = [input, kernel].map(|shape| shape.iter().product());
    let part = |range: std::ops::Range<usize>, shape: &[usize]| Tensor::from_array(x.slice(range), shape.to_vec());
    let (input, kernel) = (part(0..count, input), part(count..count + of_kernel, kernel));
    let result = match *strides {
        [stride] => input.conv1d(&kernel, padding, stride),
        [rows, columns] => input.conv2d(&kernel, padding, [rows, columns]),
        _ => unreachable!("convolutions have one or two axes"),
    };
    result.array().clone()
}

#[test]
fn convolutions_have_derivatives_by_input_and_kernels() {
    type Case = (&'static [usize], &'static [usize], Padding, &'static [usize]);
    let cases: [Case; 8] = [
        (&[1, 1, 7], &[1, 1, 3], Padding::Valid, &[1]),
        (&[2, 2, 6], &[3, 2, 2], Padding::Same, &[2]),
        (&[1, 2, 9], &[2, 2, 3], Padding::Zeros(2), &[3]),
        (&[1, 1, 3], &[1, 1, 3], Padding::Valid, &[1]),
        (&[2, 1, 4, 5], &[1, 1, 2, 3], Padding::Valid, &[1, 1]),
        (&[1, 2, 5, 4], &[2, 2, 3, 3], Padding::Same, &[2, 1]),
        (&[1, 1, 4, 4], &[2, 1, 3, 2], Padding::Zeros(1), &[2, 3]),
        // More than 32 products for each result: a loop.
        (&[1, 3, 4, 4], &[1, 3, 4, 3], Padding::Same, &[1, 2]),
    ];
    on_each_device(|| {
        for (input, kernel, padding, strides) in cases {
            let count = input.iter().product::<usize>() + kernel.iter().product::<usize>();
            let x: Vec<f64> = (0..count).map(|i| ((i * 37 + 11) % 101) as f64 / 40.0 - 1.2).collect();
            let name = format!("{input:?} {kernel:?} {padding:?} {strides:?}");
            let f = |x: &Float64| convolved(x, input, kernel, padding, strides);
            crate::check_function(&name, &f, &x);
            crate::check_second(&name, &f, &x);
        }
    });
}

/// Large inputs and few kernels: the derivative by the kernels sums many products for each of few elements.
#[test]
fn derivatives_of_convolutions_are_right_for_long_signals() {
    on_each_device(|| {
        let length = 9000;
        let signal: Vec<f64> = (0..length).map(|i| ((i * 7919) % 1009) as f64 / 500.0 - 1.0).collect();
        let signal = Tensor::from_array(Float64::from(signal), [1, 1, length]);
        let kernel = Tensor::from([[[0.5, -1.0, 2.0]]]);
        let weights = Float64::linspace(-1.0, 1.0, length - 2);
        let loss = |(x, k): &(Tensor<f64>, Tensor<f64>)| (x.conv1d(k, Padding::Valid, 1).array() * &weights).sum();
        let (of_signal, of_kernel) = ad::grad(loss)(&(signal.clone(), kernel)).unwrap();
        let (x, w) = (signal.to_vec().unwrap(), weights.to_vec().unwrap());
        let tap = |k: usize| w.iter().enumerate().map(|(i, w)| w * x[i + k]).sum::<f64>();
        assert_close(&of_kernel.to_vec().unwrap(), &[tap(0), tap(1), tap(2)], 1e-11);
        let at = |i: isize| usize::try_from(i).ok().and_then(|i| w.get(i)).copied().unwrap_or(0.0);
        let wanted = (0..length as isize).map(|i| 0.5 * at(i) - at(i - 1) + 2.0 * at(i - 2));
        assert_close(&of_signal.to_vec().unwrap(), &wanted.collect::<Vec<_>>(), 1e-12);
        // Halves are added in single precision.
        let x = Tensor::from_array(Half::ones(3000), [1, 1, 3000]);
        let k = Tensor::from_array(Half::ones(1), [1, 1, 1]);
        let of_kernel = ad::grad(|k: &Tensor<half::f16>| x.conv1d(k, Padding::Valid, 1).array().sum())(&k).unwrap();
        assert_eq!(of_kernel.to_vec().unwrap()[0].to_f32(), 3000.0);
    });
}

/// Views are read backwards without scatters: each way to move elements, with steps of every sign.
#[test]
fn views_have_derivatives_in_any_order() {
    on_each_device(|| {
        let x = table(&[4, 5, 3]);
        check("transpose", |x| x.transpose() * x.transpose(), &x);
        check("permuted", |x| x.permute_axes([1, 2, 0]).sin(), &x);
        check("window", |x| x.slice(s![1..3, .., 1..]) * 3.0, &x);
        check("difference", |x| x.slice(s![1.., ..]) - x.slice(s![..3, ..]), &x);
        check("steps", |x| x.slice(s![..;2, 1..;3]).sin(), &x);
        check("backwards", |x| x.slice(s![..;-1, ..;-2]).sin(), &x);
        check("all backwards", |x| x.slice(s![..;-1, ..;-1, ..;-1]) * x, &x);
        check("permuted window", |x| x.permute_axes([2, 0, 1]).slice(s![1.., 1..;2, ..4]) * 2.0, &x);
        check("one row", |x| x.slice(s![2, ..;-1]).sin(), &x);
        check("rolled", |x| x.roll(2, 1) * x, &x);
        check("tiled", |x| x.tile(&[2, 1, 2]).sin(), &x);
        check("padded", |x| x.pad(&[(1, 0), (0, 2), (0, 0)], jit::tensor::Edge::Constant(0.5)).sin(), &x);
        check("joined", |x| Tensor::concat(&[x.slice(s![1..]), x.sin()], 0), &x);
        check("stacked", |x| Tensor::stack(&[x.clone(), x.sin()], 1), &x);
        check("interpolated", |x| x.take_interp(1, &Float64::from([0.3, 2.5])), &x);
        check("median", |x| x.median(1), &x);
        check("tensordot", |x| x.tensordot(x, [1, 2], [1, 2]), &x);
        check("outer", |x| x.outer(x), &table(&[3]));
    });
    let x = table(&[4, 5]);
    let loss = |x: &Tensor<f64>| x.transpose().slice(s![..;-1, 1..]).array().square().square().sum();
    let v = table(&[4, 5]) * 0.5;
    let product = ad::hvp(loss, &x, &v).unwrap().to_vec().unwrap();
    let (x, v) = (x.to_vec().unwrap(), v.to_vec().unwrap());
    let wanted: Vec<f64> = (0..20).map(|i| if i < 5 { 0.0 } else { 12.0 * x[i] * x[i] * v[i] }).collect();
    assert_close(&product, &wanted, 1e-12);
}

#[freeze]
fn gradient_of_a_view(x: &Tensor<f64>) -> Tensor<f64> {
    ad::grad(|x: &Tensor<f64>| x.transpose().slice(s![1.., ..;-1]).array().square().sum())(x).expect("it has one")
}

#[test]
fn gradients_of_views_are_frozen_for_any_shape() {
    on_each_device(|| {
        gradient_of_a_view::clear();
        for shape in [[3, 4], [3, 4], [5, 2], [2, 7], [6, 6]] {
            let x = table(&shape);
            let wanted: Vec<f64> = (x.to_vec().unwrap().iter().enumerate())
                .map(|(i, x)| if i % shape[1] == 0 { 0.0 } else { 2.0 * x })
                .collect();
            assert_close(&gradient_of_a_view(&x).to_vec().unwrap(), &wanted, 0.0);
        }
    });
}

#[test]
fn tensors_are_variables() {
    on_each_device(|| {
        let mut x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
        assert!(!x.grad_enabled());
        x.enable_grad();
        let y = x.square();
        assert!(x.grad_enabled() && y.grad_enabled() && !y.detach().grad_enabled());
        y.sum(..).backward().unwrap();
        assert_eq!((x.grad().shape(), x.grad().to_vec().unwrap()), (&[2, 2][..], vec![2.0, 4.0, 6.0, 8.0]));
        x.accum_grad(Tensor::from([10.0, 20.0]));
        assert_eq!(x.grad().to_vec().unwrap(), [12.0, 24.0, 16.0, 28.0]);
        x.set_grad(1.0);
        assert_eq!(x.grad().to_vec().unwrap(), [1.0; 4]);
        x.clear_grad();
        assert_eq!(x.grad().to_vec().unwrap(), [0.0; 4]);
        // Rounding that passes gradients on.
        let scaled = &x * 0.3;
        let rounded = scaled.round().replace_grad(&scaled);
        rounded.backward().unwrap();
        assert_eq!(rounded.to_vec().unwrap(), [0.0, 1.0, 1.0, 1.0]);
        assert_eq!(x.grad().to_vec().unwrap(), [0.3; 4]);
        // Forward.
        x.clear_grad();
        let cubes = x.powi(3);
        x.forward().unwrap();
        assert_close(&cubes.grad().to_vec().unwrap(), &[3.0, 12.0, 27.0, 48.0], 1e-12);
        x.disable_grad();
        assert!(!x.grad_enabled() && x.square().backward().is_err());
    });
}
