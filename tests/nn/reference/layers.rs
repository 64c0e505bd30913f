//! Layers.

use jit::nn::*;
use jit::prelude::*;
use jit::random::rng;

use crate::on_each_device;

use super::{check_layer, check_module};

#[test]
fn linear_layers_are_those_of_pytorch() {
    check_layer("linear", &Linear::new(3, 4, &mut rng(1)));
    check_layer("linear_deep", &Linear::new(3, 4, &mut rng(1)).without_bias());
    check_layer("linear_row", &Linear::new(3, 2, &mut rng(1)));
    let layer = Bilinear::new([3, 2], 4, &mut rng(1));
    check_module("bilinear", &layer, |case| (case.get("x0").tensor(), case.get("x1").tensor()));
}

#[test]
fn convolutions_are_those_of_pytorch() {
    check_layer("conv_1", &Conv1d::new(2, 3, [3], &mut rng(1)).with_paddings([1]).with_strides([2]));
    check_layer("conv_2", &Conv2d::new(2, 3, [3, 2], &mut rng(1)).with_paddings([2, 1]));
    let dilated = Conv2d::new(2, 2, [3, 2], &mut rng(1)).with_paddings([2, 1]).with_dilations([2, 3]);
    check_layer("conv_2_dilated", &dilated.without_bias());
    let grouped = Conv2d::grouped(4, 6, [3, 3], 2, &mut rng(1)).with_paddings([1, 1]).with_strides([2, 2]);
    check_layer("conv_2_grouped", &grouped);
    check_layer("conv_3", &Conv3d::new(2, 2, [2, 2, 2], &mut rng(1)));
}

#[test]
fn batch_normalisations_are_those_of_pytorch() {
    check_layer("batch_norm_1", &BatchNorm1d::<f64, f64>::new(3));
    check_layer("batch_norm_1_long", &BatchNorm1d::<f64, f64>::new(3));
    check_layer("batch_norm_2", &BatchNorm2d::<f64, f64>::new(2));
    let mut evaluated = BatchNorm2d::<f64, f64>::new(2);
    evaluated.eval();
    check_layer("batch_norm_2_eval", &evaluated);
    let mut cumulative = BatchNorm3d::<f64, f64>::new(2);
    cumulative.momentum = None;
    check_layer("batch_norm_3", &cumulative);
}

/// Running statistics and generators of random numbers are state of the module, which replays change.
#[test]
fn replays_advance_statistics_and_random_numbers() {
    type Net = (BatchNorm1d, Dropout);
    #[freeze]
    fn apply(net: &mut Net, x: &Tensor<f32>) -> Tensor<f32> {
        net.forward(x)
    }
    on_each_device(|| {
        let x = Tensor::<f32>::arange([6, 3]).make_opaque();
        let mut frozen: Net = (BatchNorm1d::new(3), Dropout::new(0.5, &mut rng(1)));
        let mut plain = frozen.clone();
        for _ in 0..100 {
            let (got, wanted) = (apply(&mut frozen, &x), plain.forward(&x));
            assert_eq!(got.to_vec().unwrap(), wanted.to_vec().unwrap());
        }
        assert_eq!(frozen.0.running_var.to_vec().unwrap(), plain.0.running_var.to_vec().unwrap());
        assert_eq!(frozen.0.num_batches_tracked.item().unwrap(), 100);
        let before = frozen.0.running_mean.to_vec().unwrap();
        frozen.eval();
        let _ = apply(&mut frozen, &x).to_vec().unwrap();
        assert_eq!(frozen.0.running_mean.to_vec().unwrap(), before);
    });
}

/// Squares of the largest numbers of `f16` are beyond its range.
#[test]
fn statistics_of_halves_are_stored_and_computed_as_chosen() {
    let largest = half::f16::MAX;
    let x = Tensor::from([[largest], [-largest]]).make_opaque();
    let mut single = BatchNorm1d::<half::f16>::new(1);
    let y = single.forward(&x).to_vec().unwrap();
    assert!((y[0].to_f32() - 1.0).abs() < 1e-2 && single.running_var.item().unwrap().is_finite());
    let mut halves = BatchNorm1d::<half::f16, half::f16>::new(1);
    let _ = halves.forward(&x).to_vec().unwrap();
    assert!(!halves.running_var.item().unwrap().is_finite());
}
