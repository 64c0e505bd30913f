//! Poolings.

use half::f16;
use jit::nn::*;
use jit::prelude::*;

use crate::{assert_refused, on_each_device};

use super::check_layer;

#[test]
fn maxima_of_windows_are_those_of_pytorch() {
    check_layer("max_pool_1", &MaxPool1d::new([3]).with_strides([2]).with_paddings([1]));
    check_layer("max_pool_2", &MaxPool2d::new([2, 2]));
    let dilated = MaxPool2d::new([3, 2]).with_strides([1, 2]).with_paddings([1, 1]).with_dilations([2, 3]);
    check_layer("max_pool_2_dilated", &dilated);
    check_layer("max_pool_3", &MaxPool3d::new([2, 2, 2]).with_strides([1, 1, 1]));
    check_layer("max_pool_large", &MaxPool2d::new([7, 7]).with_strides([3, 3]).with_paddings([3, 3]));
}

#[test]
fn means_of_windows_are_those_of_pytorch() {
    check_layer("avg_pool_1", &AvgPool1d::new([3]).with_strides([2]).with_paddings([1]));
    check_layer("avg_pool_2", &AvgPool2d::new([2, 3]).with_paddings([1, 1]).without_counted_padding());
    check_layer("avg_pool_3", &AvgPool3d::new([2, 2, 2]).with_strides([1, 2, 1]));
}

#[test]
fn adaptive_poolings_are_those_of_pytorch() {
    check_layer("adaptive_avg_pool_1", &AdaptiveAvgPool1d::new([3]));
    check_layer("adaptive_avg_pool_2", &AdaptiveAvgPool2d::new([3, 2]));
    check_layer("adaptive_avg_pool_3", &AdaptiveAvgPool3d::new([1, 4, 2]));
    check_layer("adaptive_max_pool_1", &AdaptiveMaxPool1d::new([5]));
    check_layer("adaptive_max_pool_2", &AdaptiveMaxPool2d::new([3, 4]));
    check_layer("adaptive_max_pool_3", &AdaptiveMaxPool3d::new([2, 1, 3]));
}

#[test]
fn maxima_of_equal_elements_nan_and_negative_numbers() {
    on_each_device(|| {
        let pool = MaxPool1d::new([2]).with_paddings([1]);
        let x = Tensor::from([[[-3.0f32, -2.0, -2.0, f32::NAN, 7.0]]]).make_opaque();
        let got = pool.infer(&x).to_vec().unwrap();
        assert_eq!(got[..2], [-3.0, -2.0], "elements beyond the edges do not count");
        assert!(got[2].is_nan());
        // Gradients flow to the first of equal elements.
        let sum = |x: &Tensor<f32>| pool.clone().forward(x).sum(..).into_array();
        let x = Tensor::from([[[-3.0f32, -2.0, -2.0, -5.0]]]).make_opaque();
        assert_eq!(jit::ad::grad(sum)(&x).unwrap().to_vec().unwrap(), [1.0, 1.0, 0.0, 1.0]);
        let lowest = Tensor::from([[[f32::NEG_INFINITY; 2]]]).make_opaque();
        assert_eq!(MaxPool1d::new([2]).infer(&lowest).to_vec().unwrap(), [f32::NEG_INFINITY]);
    });
}

/// A sum of many halves is beyond their range.
#[test]
fn means_of_halves_are_computed_in_single_precision() {
    on_each_device(|| {
        let x = Tensor::full(f16::from_f32(60000.0), [1, 1, 4, 4]).make_opaque();
        let mean = [f16::from_f32(60000.0)];
        assert_eq!(AvgPool2d::new([4, 4]).infer(&x).to_vec().unwrap(), mean);
        assert_eq!(AdaptiveAvgPool2d::new([1, 1]).infer(&x).to_vec().unwrap(), mean);
    });
}

#[test]
fn other_batches_replay_the_recording_of_poolings() {
    type Net = (MaxPool2d, AvgPool2d, AdaptiveMaxPool2d, AdaptiveAvgPool2d);
    #[freeze]
    fn apply(net: &mut Net, x: &Tensor<f32>) -> Tensor<f32> {
        net.forward(x)
    }
    on_each_device(|| {
        apply::clear();
        let max = MaxPool2d::new([3, 3]).with_strides([2, 2]).with_paddings([1, 1]);
        let average = AvgPool2d::new([2, 2]).with_strides([1, 1]).with_paddings([1, 1]).without_counted_padding();
        let mut net: Net = (max, average, AdaptiveMaxPool2d::new([4, 3]), AdaptiveAvgPool2d::new([2, 2]));
        for batch in [2, 5, 3] {
            let x = Tensor::from_array((Float::arange(batch * 243) * 0.7).sin(), [batch, 3, 9, 9]).make_opaque();
            assert_eq!(apply(&mut net, &x).to_vec().unwrap(), net.infer(&x).to_vec().unwrap());
        }
        assert_eq!(apply::stats().recordings, 1, "{}", apply::explain());
    });
}

#[test]
fn inputs_that_poolings_do_not_take_are_refused() {
    let x = Tensor::<f32>::ones([1, 1, 4]);
    let wanted = "a maximum pooling got a tensor of shape [1, 1, 4]";
    assert_refused(|| _ = MaxPool1d::new([5]).infer(&x), wanted);
    let reach = "axis 2 has 4 elements, and a window reaches over 5 of them";
    assert_refused(|| _ = MaxPool1d::new([5]).infer(&x), reach);
    let reach = "axis 2 has 4 elements and 2 of padding, and a window reaches over 7 of them";
    let padded = MaxPool1d::new([3]).with_dilations([3]).with_paddings([1]);
    assert_refused(|| _ = padded.clone().infer(&x), reach);
    assert_refused(|| _ = MaxPool1d::new([2]).with_paddings([2]).infer(&x), wanted);
    assert_refused(|| _ = MaxPool1d::new([2]).with_strides([0]).infer(&x), wanted);
    let wanted = "an average pooling got a tensor of shape [1, 1, 4]";
    assert_refused(|| _ = AvgPool1d::new([5]).infer(&x), wanted);
    assert_refused(|| _ = MaxPool2d::new([2, 2]).infer(&x), "a maximum pooling takes 4 axes");
    let empty = Tensor::<f32>::ones([1, 1, 0]);
    let wanted = "an adaptive average pooling got a tensor of shape [1, 1, 0]";
    assert_refused(|| _ = AdaptiveAvgPool1d::new([2]).infer(&empty), wanted);
}
