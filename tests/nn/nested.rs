//! Derivatives of losses that contain derivatives: meta-learning, and settings of the training itself.

use jit::ad;
use jit::nn::{self, BatchNorm1d, Linear, Model, Module, Tanh};
use jit::optim::Sgd;
use jit::prelude::*;

use crate::on_each_device;

type Net = (Linear<f64>, Tanh, Linear<f64>);

fn net() -> Net {
    let mut rng = jit::random::rng(3);
    (Linear::new(1, 3, &mut rng), Tanh, Linear::new(3, 1, &mut rng))
}

fn points() -> (Tensor<f64>, Tensor<f64>) {
    let x = Tensor::linspace(-1.0, 1.0, 7).reshape([7, 1]);
    (x.clone(), (x * 2.0).sin())
}

fn loss(net: &mut Net) -> Tensor<f64> {
    let (x, y) = points();
    nn::mse_loss(&net.forward(&x), &y)
}

/// The loss after two steps of gradient descent.
fn after_steps(net: &mut Net) -> Tensor<f64> {
    let mut fast = net.clone();
    let mut sgd = Sgd::new(&fast, 0.2);
    for _ in 0..2 {
        let (_, gradient) = nn::value_and_grad(&mut fast, loss).unwrap();
        sgd.step(&mut fast, &gradient);
    }
    loss(&mut fast)
}

#[freeze]
fn frozen_gradient(net: &mut Net) -> Net {
    nn::value_and_grad(net, after_steps).unwrap().1
}

/// Asserts that a derivative is that of differences of a function around some value.
#[track_caller]
fn assert_slope(slope: f64, function: impl Fn(f64) -> f64, at: f64) {
    let step = 1e-5;
    let wanted = (function(at + step) - function(at - step)) / (2.0 * step);
    assert!((slope - wanted).abs() < 1e-7 * (1.0 + wanted.abs()), "{slope} instead of {wanted}");
    assert!(slope.abs() > 1e-3, "nothing flows: {slope}");
}

/// The inner derivative had detached the parameters of the outer one.
#[test]
fn steps_inside_of_a_loss_have_derivatives() {
    on_each_device(|| {
        let mut net = net();
        frozen_gradient::clear();
        let (_, direct) = nn::value_and_grad(&mut net, after_steps).unwrap();
        for gradient in [direct, frozen_gradient(&mut net.clone()), frozen_gradient(&mut net.clone())] {
            for (position, slope) in gradient.0.weight.to_vec().unwrap().into_iter().enumerate() {
                let mut weights = net.0.weight.to_vec().unwrap();
                let at = weights[position];
                let value = std::cell::RefCell::new(&mut weights);
                let moved = |to: f64| {
                    value.borrow_mut()[position] = to;
                    let mut moved = net.clone();
                    moved.0.weight.set(Tensor::from(value.borrow().to_vec()).reshape([3, 1]));
                    after_steps(&mut moved).item().unwrap()
                };
                assert_slope(slope, moved, at);
            }
        }
    });
}

/// These were zero, without an error.
#[test]
fn settings_of_a_step_have_derivatives_through_it() {
    on_each_device(|| {
        let by_decay = |decay: &Float64| {
            let mut net = net();
            let with_decay = |net: &mut Net| loss(net) + net.0.weight.square().sum(..) * decay;
            let (_, gradient) = nn::value_and_grad(&mut net, with_decay).unwrap();
            Sgd::new(&net, 0.2).step(&mut net, &gradient);
            loss(&mut net).into_array()
        };
        let slope = ad::grad(by_decay)(&Float64::from(0.3)).unwrap().item().unwrap();
        assert_slope(slope, |decay| by_decay(&Float64::from(decay)).item().unwrap(), 0.3);
        // Through a part of the network that the inner step does not train.
        let by_scale = |scale: &Float64| {
            let mut net = net();
            net.freeze("0");
            let scaled = &*net.0.weight * scale;
            net.0.weight.set(scaled);
            let (_, gradient) = nn::value_and_grad(&mut net, loss).unwrap();
            Sgd::new(&net, 0.2).step(&mut net, &gradient);
            loss(&mut net).into_array()
        };
        let slope = ad::grad(by_scale)(&Float64::from(0.8)).unwrap().item().unwrap();
        assert_slope(slope, |scale| by_scale(&Float64::from(scale)).item().unwrap(), 0.8);
    });
}

#[test]
fn buffers_that_an_inner_step_has_changed_carry_no_gradients_afterwards() {
    type Normed = (Linear, BatchNorm1d);
    let mut net: Normed = (Linear::new(1, 2, &mut jit::random::rng(1)), BatchNorm1d::new(2));
    let x = Tensor::linspace(-1.0f32, 2.0, 6).reshape([6, 1]);
    let mean = |net: &Normed| net.state_dict().get::<f32>("1.running_mean").unwrap();
    let before = mean(&net).to_vec().unwrap();
    let outer = |net: &mut Normed| {
        let (_, gradient) = nn::value_and_grad(net, |net| net.forward(&x).powi(4).mean(..)).unwrap();
        gradient.1.weight.map_or_else(|| Tensor::from([0.0]), |scale| scale.square()).sum(..)
    };
    let (loss, gradient) = nn::value_and_grad(&mut net, outer).unwrap();
    assert!(mean(&net).to_vec().unwrap() != before && !mean(&net).grad_enabled());
    let scale = gradient.1.weight.unwrap();
    assert!(!net.0.weight.grad_enabled() && !loss.grad_enabled() && !scale.grad_enabled());
    assert!(scale.to_vec().unwrap().iter().all(|slope| *slope != 0.0));
}

#[test]
fn a_loss_that_fails_leaves_constants_in_the_module() {
    let mut net = net();
    let before = net.0.weight.to_vec().unwrap();
    let failing = |net: &mut Net| {
        let hidden = net.0.forward(&points().0);
        net.2.bias = None;
        assert!(!hidden.grad_enabled(), "a failure in the middle");
        hidden
    };
    let call = || nn::value_and_grad(&mut net, failing).map(drop);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
    assert!(panic.downcast_ref::<&str>().is_some_and(|text| text.contains("a failure in the middle")));
    assert!(!net.0.weight.grad_enabled() && net.0.weight.to_vec().unwrap() == before);
    let error = nn::value_and_grad(&mut net, |_| Tensor::<f64>::ones([1])).map(drop).unwrap_err().to_string();
    assert!(error.contains("no parameter that is trained has an influence on the loss"), "{error}");
}

#[test]
fn a_loss_that_the_host_computes_is_an_error() {
    let mut net = net();
    let by_host = |net: &mut Net| Tensor::from([loss(net).item().unwrap() * 2.0]);
    let error = nn::value_and_grad(&mut net, by_host).map(drop).unwrap_err().to_string();
    assert!(error.contains("the host has read what does at tests/nn/nested.rs"), "{error}");
}
