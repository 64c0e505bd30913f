//! Functions of ours in graphs of candle: results, shapes and gradients, compared with candle's own operations.

use candle_core::{DType, Device, Result, Tensor as Theirs, Var};
use jit::ad::{self, CustomOp};
use jit::interop::candle::{self, function};
use jit::prelude::*;

use crate::devices::{assert_close, on_each_device};

/// Numbers between −1 and 1 in no order.
fn variable<const N: usize>(shape: [usize; N], seed: usize) -> Var {
    let count = shape.iter().product();
    let elements = (0..count).map(|number| ((number * 37 + seed * 11) % 101) as f32 / 50.0 - 1.0).collect();
    Var::from_tensor(&Theirs::from_vec(elements, shape.to_vec(), &Device::Cpu).unwrap()).unwrap()
}

fn elements(tensor: &Theirs) -> Vec<f32> {
    tensor.to_dtype(DType::F32).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

/// Checks that two expressions of the same variables have the same shape, values and gradients.
#[track_caller]
fn same(ours: Result<Theirs>, theirs: Result<Theirs>, variables: &[&Var]) {
    let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
    assert_eq!((ours.dims(), ours.dtype()), (theirs.dims(), theirs.dtype()));
    assert_close(&elements(&ours), &elements(&theirs), 1e-5);
    // A different gradient for each element.
    let weights = variable([ours.elem_count()], 5).reshape(ours.shape()).unwrap().to_dtype(ours.dtype()).unwrap();
    let gradients = |result: Theirs| (result * &weights)?.sum_all()?.backward();
    let (ours, theirs) = (gradients(ours).unwrap(), gradients(theirs).unwrap());
    for variable in variables {
        let (ours, theirs) = (ours.get(variable).unwrap(), theirs.get(variable).unwrap());
        assert_eq!((ours.dims(), ours.dtype()), (theirs.dims(), theirs.dtype()));
        assert_close(&elements(ours), &elements(theirs), 1e-4);
    }
}

// rows: I05
#[test]
fn closures_of_one_to_three_inputs_have_the_gradients_of_candle() {
    let (x, y, z) = (variable([4, 5], 1), variable([4, 5], 2), variable([4, 5], 3));
    on_each_device(|| {
        let wave = function("wave", |x: &Tensor<f32>| x.map(|x| x.sin() * x.exp()));
        same(x.apply_op1(wave), x.sin().unwrap() * x.exp(), &[&x]);
        let ratio = function("ratio", |x: &Tensor<f32>, y: &Tensor<f32>| x / (y * y + 1.0));
        same(x.apply_op2(&y, ratio), x.as_tensor() / (y.sqr().unwrap() + 1.0), &[&x, &y]);
        let fused = function("fused", |x: &Tensor<f32>, y: &Tensor<f32>, z: &Tensor<f32>| x * y + z.map(|z| z.tanh()));
        same(x.apply_op3(&y, &z, fused), (x.as_tensor() * y.as_tensor()).unwrap() + z.tanh(), &[&x, &y, &z]);
    });
}

// rows: I05
#[test]
fn results_have_the_shape_that_the_function_returns() {
    let x = variable([3, 4], 1);
    on_each_device(|| {
        same(x.apply_op1(function("total", |x: &Tensor<f32>| x.sum(..))), x.sum_all(), &[&x]);
        same(x.apply_op1(function("rows", |x: &Tensor<f32>| (x * x).sum(1))), x.sqr().unwrap().sum(1), &[&x]);
        same(x.apply_op1(function("turned", |x: &Tensor<f32>| x.transpose() * 3.0)), x.t().unwrap() * 3.0, &[&x]);
        let part = function("part", |x: &Tensor<f32>| x.slice(s![1.., ..2]));
        same(x.apply_op1(part), x.narrow(0, 1, 2).unwrap().narrow(1, 0, 2), &[&x]);
        let elements = function("elements", |x: &Float| x * x);
        same(x.apply_op1(elements), x.flatten_all().unwrap().sqr(), &[&x]);
        let none = variable([0, 4], 1);
        let doubled = none.apply_op1(function("doubled", |x: &Tensor<f32>| x * 2.0)).unwrap();
        assert_eq!(doubled.dims(), [0, 4]);
    });
}

// rows: I06
#[test]
fn what_is_broadcast_gets_the_sum_of_its_gradients() {
    let (x, row, column, one) = (variable([3, 4], 1), variable([4], 2), variable([3, 1], 3), variable([], 4));
    on_each_device(|| {
        let line = |x: &Tensor<f32>, a: &Tensor<f32>, b: &Tensor<f32>| x * a + b;
        let theirs = |a: &Var, b: &Var| x.broadcast_mul(a)?.broadcast_add(b);
        for (a, b) in [(&row, &column), (&column, &one), (&one, &row)] {
            same(x.apply_op3(a, b, function("line", line)), theirs(a, b), &[&x, a, b]);
        }
        let product = function("product", |x: &Tensor<f32>, y: &Tensor<f32>| x * y);
        same(row.apply_op2(&column, product), row.broadcast_mul(&column), &[&row, &column]);
    });
}

// rows: I05
#[test]
fn inputs_of_any_layout_have_gradients_in_it() {
    let x = variable([3, 4], 1);
    on_each_device(|| {
        let cubes = function("cubes", |x: &Tensor<f32>| x * x * x);
        let turned = || x.t()?.narrow(0, 1, 2);
        same(turned().unwrap().apply_op1(cubes), turned().unwrap().powf(3.0), &[&x]);
    });
}

#[jit]
fn power(x: &Tensor<f32>, exponent: u32) -> Tensor<f32> {
    let elements = x.array().clone();
    let (mut result, mut left) = (elements.ones_like(), UInt::full(exponent, elements.width()));
    while left > 0 {
        result *= elements;
        left -= 1;
    }
    x.map(|_| result)
}

#[freeze]
fn softened(x: &Tensor<f32>, y: &Tensor<f32>) -> Tensor<f32> {
    (x * x + y * y).map(|sum| (sum + 0.5).sqrt())
}

// rows: I07
#[test]
fn traced_and_frozen_functions_are_operations() {
    on_each_device(|| {
        let (x, y) = (variable([3, 4], 1), variable([3, 4], 2));
        same(x.apply_op1(function("cube", |x: &Tensor<f32>| power(x, 3))), x.powf(3.0), &[&x]);
        softened::clear();
        let op = function("softened", softened);
        for rows in 2..6 {
            let (x, y) = (variable([rows, 4], rows), variable([rows, 4], rows + 1));
            let theirs = || ((x.sqr()? + y.sqr()?)? + 0.5)?.sqrt();
            same(x.apply_op2(&y, op.clone()), theirs(), &[&x, &y]);
        }
        let (recordings, replays) = (softened::stats().recordings, softened::stats().replays);
        assert!(recordings <= 2 && replays >= 6, "{recordings} recordings, {replays} replays");
        let compiled = power::compile(&Tensor::zeros([3, 4]), 2).unwrap();
        let squared = function("square", move |x: &Tensor<f32>| compiled.call(x, 2).unwrap());
        same(y.apply_op1(squared), y.sqr(), &[&y]);
    });
}

// rows: I08
#[test]
fn one_operation_is_used_several_times_in_a_graph() {
    let (x, y) = (variable([6], 1), variable([6], 2));
    on_each_device(|| {
        let op = function("product", |x: &Tensor<f32>, y: &Tensor<f32>| x.map(|x| x.sin()) * y);
        let twice = || x.apply_op2(&x.apply_op2(&y, op.clone())?, op.clone())? + x.apply_op2(&x, op.clone());
        let product = |x: &Theirs, y: &Theirs| x.sin()? * y;
        let theirs = || product(&x, &product(&x, &y)?)? + product(&x, &x);
        same(twice(), theirs(), &[&x, &y]);
    });
}

// rows: I05
#[test]
fn integers_and_constants_get_no_gradient() {
    let x = variable([5], 1);
    let (index, factor) = (Theirs::new(&[4u32, 0, 4], &Device::Cpu).unwrap(), Theirs::new(3f32, &Device::Cpu).unwrap());
    on_each_device(|| {
        let picked = function("picked", |x: &Tensor<f32>, at: &Tensor<u32>, factor: &Tensor<f32>| {
            Tensor::from_array(x.array().gather(at.array()), at.shape()) * factor
        });
        let ours = x.apply_op3(&index, &factor, picked).unwrap();
        let gradients = ours.sum_all().unwrap().backward().unwrap();
        assert_eq!(elements(gradients.get(&x).unwrap()), [3.0, 0.0, 0.0, 0.0, 6.0]);
        assert!(gradients.get(&index).is_none() && gradients.get(&factor).is_none());
        let rounded = function("rounded", |x: &Tensor<f32>| (x * 10.0).round().cast::<i64>());
        let ours = x.apply_op1(rounded).unwrap();
        assert_eq!(
            ours.to_vec1::<i64>().unwrap(),
            (x.as_tensor() * 10.0).unwrap().round().unwrap().to_dtype(DType::I64).unwrap().to_vec1::<i64>().unwrap()
        );
    });
}

// rows: I05
#[test]
fn doubles_and_halves_have_gradients_of_their_type() {
    let x = variable([4], 1);
    on_each_device(|| {
        let double = x.to_dtype(DType::F64).unwrap();
        same(double.apply_op1(function("square", |x: &Tensor<f64>| x * x)), double.sqr(), &[&x]);
        let half = x.to_dtype(DType::F16).unwrap();
        same(half.apply_op1(function("square", |x: &Tensor<half::f16>| x * x)), half.sqr(), &[&x]);
        let bfloat = x.to_dtype(DType::BF16).unwrap();
        same(bfloat.apply_op1(function("square", |x: &Tensor<half::bf16>| x * x)), bfloat.sqr(), &[&x]);
    });
}

/// Candle's softmax of rows, in a graph of ours.
struct Softmax;

fn softmax(x: &Theirs) -> Result<Theirs> {
    let exponentials = x.broadcast_sub(&x.max_keepdim(1)?)?.exp()?;
    exponentials.broadcast_div(&exponentials.sum_keepdim(1)?)
}

impl CustomOp for Softmax {
    type Input = Tensor<f32>;
    type Output = Tensor<f32>;
    type Saved = Tensor<f32>;

    fn forward(&self, x: &Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
        let y = softmax(&x.to_candle().unwrap()).unwrap();
        (Tensor::try_from(&y).unwrap(), x.clone())
    }

    fn backward(&self, x: &Tensor<f32>, gradient: &Tensor<f32>) -> jit::Result<Tensor<f32>> {
        let (x, gradient) = (Var::from_tensor(&x.to_candle()?).unwrap(), gradient.to_candle()?);
        let pulled_back = || Ok((softmax(&x)? * gradient)?.sum_all()?.backward()?.get(&x).unwrap().clone());
        (&pulled_back().map_err(candle::error)?).try_into()
    }
}

// rows: I09
#[test]
fn a_function_of_candle_has_derivatives_in_a_graph_of_ours() {
    on_each_device(|| {
        let x = Tensor::from([[0.5f32, -1.0, 2.0], [0.0, 0.25, -0.5]]);
        let weight = Tensor::from([[1.0f32, 2.0, 3.0]]);
        let loss = |rows: &Tensor<f32>| (rows * &weight).sum(..).into_array();
        let ours = |x: &Tensor<f32>| {
            let y = (x * 2.0).map(|x| x.exp());
            loss(&(&y / y.sum(jit::tensor::keep_dims(1))))
        };
        let (value, gradient) =
            ad::value_and_grad(|x: &Tensor<f32>| loss(&jit::custom(Softmax, &(x * 2.0))))(&x).unwrap();
        let (wanted, wanted_gradient) = ad::value_and_grad(ours)(&x).unwrap();
        assert_close(&value.to_vec().unwrap(), &wanted.to_vec().unwrap(), 1e-5);
        assert_close(&gradient.to_vec().unwrap(), &wanted_gradient.to_vec().unwrap(), 1e-5);
    });
}
