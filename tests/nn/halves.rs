//! Training in halves: conversion of modules, and loss scaling.

use half::{bf16, f16};
use jit::nn::{
    self, BatchNorm1d, Dropout, Gru, LayerNorm, Linear, Model, Module, MultiHeadAttention, Relu, Sequential,
};
use jit::optim::{Adam, LossScaler, Sgd};
use jit::prelude::*;
use jit::random::rng;

use crate::on_each_device;

type Net<T = f32> = (Linear<T>, BatchNorm1d<T>, Relu, Dropout, Linear<T>);

fn net() -> Net {
    let mut rng = rng(1);
    let (first, dropout) = (Linear::new(3, 8, &mut rng), Dropout::new(0.1, &mut rng));
    (first, BatchNorm1d::new(8), Relu, dropout, Linear::new(8, 2, &mut rng))
}

// rows: O77 P32
#[test]
fn a_converted_module_has_rounded_parameters_and_its_statistics() {
    on_each_device(|| {
        let mut single = net();
        single.freeze("0.bias");
        let half: Net<f16> = single.half();
        let rounded: Vec<f16> = single.0.weight.to_vec().unwrap().into_iter().map(f16::from_f32).collect();
        assert_eq!(half.0.weight.to_vec().unwrap(), rounded);
        assert!(!half.0.bias.unwrap().is_trained() && half.0.weight.is_trained());
        let statistics: nn::RunningStatistics<f32> = half.1.statistics.unwrap();
        assert_eq!(statistics.running_var.to_vec().unwrap(), [1.0; 8]);
        let names = |state: nn::StateDict| state.names().map(str::to_owned).collect::<Vec<_>>();
        let brief: Net<bf16> = single.to::<bf16>();
        assert_eq!(names(brief.state_dict()), names(single.state_dict()));
    });
}

#[test]
fn layers_of_all_kinds_are_converted() {
    let mut rng = rng(1);
    let net = (LayerNorm::new(4), MultiHeadAttention::new(4, 2, &mut rng), Gru::new(4, 3, &mut rng));
    let x = Tensor::from_array((Float::arange(40) * 0.7).sin(), [2, 5, 4]).make_opaque();
    let (wanted, got) = (net.infer(&x), net.to::<f64>().infer(&x.cast()));
    for (got, wanted) in got.to_vec().unwrap().into_iter().zip(wanted.to_vec().unwrap()) {
        assert!((got - f64::from(wanted)).abs() < 1e-5);
    }
    let half: Tensor<f16> = net.half().infer(&x.cast());
    assert_eq!(half.shape(), [2, 5, 3]);
}

#[test]
fn a_frozen_step_in_halves_trains_parameters_in_single_precision() {
    type Adams = Adam<Net>;
    #[freeze]
    fn step(
        net: &mut Net,
        adam: &mut Adams,
        scaler: &mut LossScaler,
        x: &Tensor<f32>,
        y: &Tensor<u32>,
    ) -> (Tensor<f32>, Mask) {
        let loss = |net: &mut Net| {
            let mut half = net.half();
            let loss = nn::cross_entropy(&half.forward(&x.cast()).cast::<f32>(), y);
            net.adopt_state(&half).unwrap();
            scaler.scale(&loss)
        };
        let (loss, gradient) = nn::value_and_grad(net, loss).unwrap();
        let loss = scaler.unscale(&loss);
        let is_done = scaler.step(adam, net, &gradient);
        (loss, is_done)
    }
    on_each_device(|| {
        step::clear();
        let points: Float = rng(3).uniform(-1.0, 1.0, 300);
        let x = Tensor::from_array(points, [100, 3]).make_opaque();
        let y = x.sum(1).gt(0.0).cast::<u32>().make_opaque();
        let mut net = net();
        let (mut adam, mut scaler) = (Adam::new(&net, 0.02), LossScaler::with_factor(1e9));
        let before = net.0.weight.to_vec().unwrap();
        let (_, is_done) = step(&mut net, &mut adam, &mut scaler, &x, &y);
        assert!(!is_done.item().unwrap(), "the factor is beyond the range of halves");
        assert_eq!(net.0.weight.to_vec().unwrap(), before, "a step with infinite gradients is left out");
        let mut losses = Vec::new();
        for _ in 0..80 {
            losses.push(step(&mut net, &mut adam, &mut scaler, &x, &y).0.item().unwrap());
        }
        assert!(losses[79] < 0.5 * losses[0], "{losses:?}");
        let skipped = scaler.skipped_steps.item().unwrap();
        assert_eq!(scaler.factor.item().unwrap(), 1e9 / (1_u32 << skipped) as f32);
        assert!(skipped > 10 && skipped < 40, "{skipped}");
        let statistics = net.1.statistics.as_ref().unwrap();
        assert_eq!(statistics.num_batches_tracked.item().unwrap(), 81);
        assert_ne!(statistics.running_mean.to_vec().unwrap(), [0.0; 8]);
        assert!(step::stats().recordings <= 2, "{}", step::explain());
    });
}

// rows: P33
#[test]
fn factors_grow_after_steps_in_a_row_and_shrink_after_infinite_gradients() {
    on_each_device(|| {
        let mut scaler = LossScaler::with_factor(8.0).with_interval(2);
        let mut x = Float::from([4.0, 2.0]).make_opaque();
        let mut sgd = Sgd::new(&x, 0.5);
        let mut factors = Vec::new();
        let bad = [Float::from([f32::NAN, 8.0]), Float::from([8.0, f32::INFINITY])];
        let good = Float::from([8.0, 0.0]);
        for gradient in [&good, &good, &bad[0], &good, &bad[1], &good, &good] {
            scaler.step(&mut sgd, &mut x, gradient);
            factors.push(scaler.factor.item().unwrap());
        }
        assert_eq!(factors, [8.0, 16.0, 8.0, 8.0, 4.0, 4.0, 8.0]);
        assert_eq!(scaler.skipped_steps.item().unwrap(), 2);
        // 0.5 · 8 / factor for each good step, with the factor from before it.
        assert_eq!(x.to_vec().unwrap(), [4.0 - 0.5 - 0.5 - 0.5 - 1.0 - 1.0, 2.0]);
    });
}

#[test]
fn factors_grow_only_after_as_many_steps_as_before_and_stay_positive_and_finite() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0]).make_opaque();
        let steps = |scaler: &mut LossScaler, gradient: f32, count: usize| {
            let (mut y, mut sgd) = (x.clone(), Sgd::new(&x, 0.5));
            let one = |_| {
                scaler.step(&mut sgd, &mut y, &Float::from([gradient, 0.0]));
                scaler.factor.item().unwrap()
            };
            (0..count).map(one).collect::<Vec<f32>>()
        };
        let mut scaler = LossScaler::with_factor(1.0).with_interval(3);
        assert_eq!(steps(&mut scaler, 1.0, 7), [1.0, 1.0, 2.0, 2.0, 2.0, 4.0, 4.0]);
        let mut largest = LossScaler::with_factor(f32::MAX).with_interval(1);
        assert_eq!(steps(&mut largest, 1.0, 2), [f32::MAX; 2]);
        let mut smallest = LossScaler::with_factor(f32::MIN_POSITIVE);
        assert_eq!(steps(&mut smallest, f32::NAN, 2), [f32::MIN_POSITIVE; 2]);
    });
}

#[test]
fn what_only_another_form_has_is_an_error() {
    let mut single = net();
    let error = single.adopt_state(&Sequential::<Tensor<f32>>::default()).unwrap_err().to_string();
    assert!(error.contains("`1.running_mean` is missing"), "{error}");
}
