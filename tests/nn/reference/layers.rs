//! Layers.

use jit::nn::*;
use jit::prelude::*;
use jit::random::rng;

use crate::{assert_refused, on_each_device};

use super::{check_layer, check_module};

// rows: O75
#[test]
fn linear_layers_are_those_of_pytorch() {
    check_layer("linear", &Linear::new(3, 4, &mut rng(1)));
    check_layer("linear_deep", &Linear::new(3, 4, &mut rng(1)).without_bias());
    check_layer("linear_row", &Linear::new(3, 2, &mut rng(1)));
    let layer = Bilinear::new([3, 2], 4, &mut rng(1));
    check_module("bilinear", &layer, |case| (case.get("x0").tensor(), case.get("x1").tensor()));
}

// rows: O79
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
fn transposed_convolutions_are_those_of_pytorch() {
    let first = ConvTransposed1d::new(2, 3, [3], &mut rng(1)).with_strides([2]).with_paddings([1]);
    check_layer("conv_transposed_1", &first.with_output_paddings([1]));
    check_layer("conv_transposed_2", &ConvTransposed2d::new(2, 3, [3, 2], &mut rng(1)).without_bias());
    let grouped = ConvTransposed2d::grouped(4, 6, [2, 3], 2, &mut rng(1)).with_strides([2, 3]).with_dilations([2, 1]);
    check_layer("conv_transposed_2_grouped", &grouped.with_paddings([1, 0]).with_output_paddings([1, 0]));
    check_layer("conv_transposed_3", &ConvTransposed3d::new(2, 2, [2, 2, 2], &mut rng(1)).with_strides([1, 2, 1]));
}

#[test]
fn other_batches_replay_the_recording_of_convolutions() {
    type Net = (Conv2d, ConvTransposed2d);
    #[freeze]
    fn apply(net: &mut Net, x: &Tensor<f32>) -> Tensor<f32> {
        net.forward(x)
    }
    on_each_device(|| {
        apply::clear();
        let back = ConvTransposed2d::new(3, 2, [3, 3], &mut rng(1)).with_strides([2, 2]);
        let mut net: Net = (Conv2d::new(2, 3, [3, 3], &mut rng(1)).with_strides([2, 2]), back);
        for batch in [2, 5, 3] {
            let x = Tensor::from_array((Float::arange(batch * 98) * 0.7).sin(), [batch, 2, 7, 7]).make_opaque();
            let y = apply(&mut net, &x);
            assert_eq!((y.shape(), y.to_vec().unwrap()), (&[batch, 2, 7, 7][..], net.infer(&x).to_vec().unwrap()));
        }
        assert_eq!(apply::stats().recordings, 1, "{}", apply::explain());
    });
}

#[test]
fn inputs_that_transposed_convolutions_do_not_take_are_refused() {
    let layer: ConvTransposed1d = ConvTransposed1d::new(2, 3, [3], &mut rng(1));
    let x = Tensor::<f32>::ones([1, 2, 4]);
    let wanted = "a transposed convolution got a tensor of shape [1, 2, 4]";
    assert_refused(|| _ = layer.clone().with_paddings([3]).infer(&x), wanted);
    assert_refused(|| _ = layer.clone().with_output_paddings([1]).infer(&x), wanted);
    let wanted = "a transposed convolution of 2 channels got a tensor of shape [1, 3, 4]";
    assert_refused(|| _ = layer.infer(&Tensor::ones([1, 3, 4])), wanted);
}
