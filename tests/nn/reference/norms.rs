//! Normalisations.

use half::{bf16, f16};
use jit::FloatElement;
use jit::nn::*;
use jit::prelude::*;
use jit::random::rng;

use crate::{assert_refused, on_each_device};

use super::check_layer;

// rows: P35
#[test]
fn batch_normalisations_are_those_of_pytorch() {
    check_layer("batch_norm_1", &BatchNorm1d::<f64, f64>::of_types(3));
    check_layer("batch_norm_1_long", &BatchNorm1d::<f64, f64>::of_types(3));
    check_layer("batch_norm_2", &BatchNorm2d::<f64, f64>::of_types(2));
    let mut evaluated = BatchNorm2d::<f64, f64>::of_types(2);
    evaluated.eval();
    check_layer("batch_norm_2_eval", &evaluated);
    let mut cumulative = BatchNorm3d::<f64, f64>::of_types(2);
    cumulative.momentum = None;
    check_layer("batch_norm_3", &cumulative);
    check_layer("batch_norm_plain", &BatchNorm2d::<f64, f64>::of_types(3).without_affine().without_statistics());
    let mut plain = BatchNorm1d::<f64, f64>::of_types(3).without_affine().without_statistics();
    plain.eval();
    check_layer("batch_norm_plain_eval", &plain);
    check_layer("batch_norm_eps", &BatchNorm1d::<f64, f64>::of_types(3).with_epsilon(0.5).with_momentum(Some(0.3)));
}

// rows: O79 P37
#[test]
fn normalisations_of_samples_are_those_of_pytorch() {
    check_layer("instance_norm_1", &InstanceNorm1d::<f64, f64>::of_types(3));
    check_layer("instance_norm_1_single", &InstanceNorm1d::<f64, f64>::of_types(3));
    let mut tracked = InstanceNorm2d::<f64, f64>::of_types(2).with_affine().with_statistics();
    check_layer("instance_norm_2", &tracked);
    tracked.eval();
    check_layer("instance_norm_2_eval", &tracked);
    check_layer("instance_norm_3", &InstanceNorm3d::<f64, f64>::of_types(2).with_affine());
    check_layer("group_norm", &GroupNorm::new(2, 4));
    check_layer("group_norm_plain", &GroupNorm::new(3, 6).without_affine().with_epsilon(0.1));
    check_layer("layer_norm", &LayerNorm::new(5));
    check_layer("layer_norm_2", &LayerNorm::new([2, 3]).with_epsilon(0.01));
    check_layer("layer_norm_plain", &LayerNorm::new(4).without_affine());
    check_layer("rms_norm", &RmsNorm::new(5));
    check_layer("rms_norm_2", &RmsNorm::new([2, 3]).with_epsilon(0.01));
}

fn statistics<D>(net: &(BatchNorm1d, D)) -> &RunningStatistics<f32> {
    net.0.statistics.as_ref().unwrap()
}

/// Running statistics and generators of random numbers are state of the module, which replays change.
// rows: O76 P36
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
        assert_eq!(statistics(&frozen).running_var.to_vec().unwrap(), statistics(&plain).running_var.to_vec().unwrap());
        assert_eq!(statistics(&frozen).num_batches_tracked.item().unwrap(), 100);
        let before = statistics(&frozen).running_mean.to_vec().unwrap();
        frozen.eval();
        let _ = apply(&mut frozen, &x).to_vec().unwrap();
        assert_eq!(statistics(&frozen).running_mean.to_vec().unwrap(), before);
    });
}

/// Squares of the largest numbers of `f16` are beyond its range.
// rows: P32
#[test]
fn statistics_of_halves_are_stored_and_computed_as_chosen() {
    fn check<S: FloatElement, C: FloatElement>(result: f32, is_finite: bool) {
        let x = Tensor::from([[f16::MAX], [-f16::MAX]]).make_opaque();
        let mut norm = BatchNorm1d::<f16, S, C>::of_types(1);
        assert_eq!(norm.forward(&x).to_vec().unwrap(), [f16::from_f32(result), f16::from_f32(-result)]);
        let variance = norm.statistics.unwrap().running_var.cast::<f64>().item().unwrap();
        assert_eq!(variance.is_finite(), is_finite);
    }
    on_each_device(|| {
        check::<f32, f32>(1.0, true);
        check::<f16, f32>(1.0, false);
        check::<f32, f16>(0.0, false);
        check::<f16, f16>(0.0, false);
    });
}

/// Halves are as exact as one rounding of a result in single precision.
// rows: P35 P37
#[test]
fn normalisations_of_halves_are_computed_in_single_precision() {
    fn check<H, N, M>(half: &M, single: &N)
    where
        H: FloatElement,
        M: Module<Tensor<H>, Output = Tensor<H>> + Clone,
        N: Module<Tensor<f32>, Output = Tensor<f32>> + Clone,
    {
        // Far from zero, so that squares of halves would overflow and cancel.
        let x = ((Float::arange(48) * 0.7).sin() * 30.0 + 1000.0).cast::<H>();
        let x = Tensor::from_array(x, [2, 4, 6]).make_opaque();
        let wanted = single.infer(&x.cast()).cast::<H>().to_vec().unwrap();
        assert_eq!(half.infer(&x).to_vec().unwrap(), wanted);
    }
    on_each_device(|| {
        check::<f16, _, _>(&LayerNorm::new(6), &LayerNorm::new(6));
        check::<bf16, _, _>(&RmsNorm::new([4, 6]), &RmsNorm::new([4, 6]));
        check::<f16, _, _>(&GroupNorm::new(2, 4), &GroupNorm::new(2, 4));
        check::<bf16, _, _>(&InstanceNorm1d::<bf16>::new(4), &InstanceNorm1d::<f32>::new(4));
        check::<f16, _, _>(&BatchNorm1d::<f16>::new(4), &BatchNorm1d::<f32>::new(4));
    });
}

/// The mean square minus the squared mean would have no correct digit.
// rows: P37
#[test]
fn variances_of_numbers_far_from_zero_are_exact() {
    on_each_device(|| {
        let x = Tensor::from([[4096.0f32, 4097.0, 4098.0, 4099.0]]).make_opaque() * 1024.0;
        let near = Tensor::from([[-1.5f32, -0.5, 0.5, 1.5]]) * 1024.0;
        let norm: LayerNorm = LayerNorm::new(4);
        assert_eq!(norm.infer(&x).to_vec().unwrap(), norm.infer(&near).to_vec().unwrap());
    });
}

#[test]
fn other_batches_replay_the_recording_of_normalisations() {
    type Net = (LayerNorm, GroupNorm, InstanceNorm1d, RmsNorm, BatchNorm1d);
    #[freeze]
    fn apply(net: &mut Net, x: &Tensor<f32>) -> Tensor<f32> {
        net.forward(x)
    }
    on_each_device(|| {
        apply::clear();
        let mut net: Net = (
            LayerNorm::new([4, 6]),
            GroupNorm::new(2, 4),
            InstanceNorm1d::new(4).with_affine().with_statistics(),
            RmsNorm::new(6),
            BatchNorm1d::new(4),
        );
        let mut plain = net.clone();
        for batch in [2, 5, 3] {
            let x = Tensor::from_array((Float::arange(batch * 24) * 0.7).sin(), [batch, 4, 6]).make_opaque();
            let (got, wanted) = (apply(&mut net, &x), plain.forward(&x));
            assert_eq!(got.to_vec().unwrap(), wanted.to_vec().unwrap());
        }
        assert_eq!(apply::stats().recordings, 1, "{}", apply::explain());
    });
}

#[test]
fn inputs_that_normalisations_do_not_take_are_refused() {
    let x = Tensor::<f32>::ones([1, 3]);
    let batch: BatchNorm1d = BatchNorm1d::new(3);
    assert_refused(|| _ = batch.clone().forward(&x), "has one number in each channel, which has no variance");
    let layer: LayerNorm = LayerNorm::new([2, 3]);
    let wanted = "a layer normalisation over axes of shape [2, 3] got a tensor of shape [1, 3]";
    assert_refused(|| _ = layer.infer(&x), wanted);
    assert_refused(
        || _ = layer.infer(&x),
        "the last axes have the lengths of the layer: a tensor of shape [2, 3] fits",
    );
    assert_refused(|| _ = layer.infer(&Tensor::ones([3])), "a tensor of 2 axes or more fits");
    assert_refused(|| _ = RmsNorm::<f32>::new(4).infer(&x), "or create the layer for [3]");
    assert_refused(|| _ = GroupNorm::<f32>::new(2, 3), "3 channels do not fill 2 groups");
    let instance: InstanceNorm1d = InstanceNorm1d::new(3);
    let wanted = "an instance normalisation of 3 channels got a tensor of shape [2, 4]";
    assert_refused(|| _ = instance.infer(&Tensor::ones([2, 4])), wanted);
}
