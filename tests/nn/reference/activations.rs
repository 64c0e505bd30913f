//! Activation functions.

use jit::nn::*;
use jit::prelude::*;

use super::check_function;

#[test]
fn activations_are_those_of_pytorch() {
    let check = |name: &str, function: &dyn Fn(&Tensor<f64>) -> Tensor<f64>| {
        check_function(name, &["x"], |x| function(&x[0]));
    };
    check("relu", &|x| Relu.forward(x));
    check("leaky_relu", &|x| LeakyRelu { slope: 0.2 }.forward(x));
    check("elu", &|x| Elu { alpha: 0.7 }.forward(x));
    check("selu", &|x| Selu.forward(x));
    check("gelu", &|x| Gelu.forward(x));
    check("gelu_tanh", &|x| GeluTanh.forward(x));
    check("silu", &|x| Silu.forward(x));
    check("mish", &|x| Mish.forward(x));
    check("softplus", &|x| Softplus { beta: 1.5 }.forward(x));
    check("hardtanh", &|x| Hardtanh { low: -0.75, high: 2.0 }.forward(x));
    check("sigmoid", &|x| Sigmoid.forward(x));
    check("tanh", &|x| Tanh.forward(x));
    check("softmax", &|x| Softmax { axis: 1 }.forward(x));
    check("log_softmax", &|x| LogSoftmax::default().forward(x));
}

#[test]
fn derivatives_at_zero_are_those_of_pytorch() {
    let at_zero = |function: fn(&Tensor<f32>) -> Tensor<f32>| {
        let slope = jit::ad::grad(|x: &Tensor<f32>| function(x).into_array());
        slope(&Tensor::from([0.0f32]).make_opaque()).unwrap().to_vec().unwrap()[0]
    };
    assert_eq!(at_zero(relu), 0.0);
    assert_eq!(at_zero(|x| softplus(x, 1.0)), 0.5);
    assert_eq!(at_zero(|x| leaky_relu(x, 0.25)), 0.25);
}

#[test]
fn softmax_of_halves_is_computed_in_single_precision() {
    let x = Tensor::<half::f16>::zeros([1, 4096]).make_opaque();
    assert_eq!(softmax(&x, -1).to_vec().unwrap()[0].to_f32(), 1.0 / 4096.0);
    assert!((log_softmax(&x, -1).to_vec().unwrap()[0].to_f32() + 8.317).abs() < 0.01);
}
