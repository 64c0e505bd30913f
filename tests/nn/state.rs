//! State by name: loading, converting, checkpoints.

use jit::FloatElement;
use jit::nn::{self, BatchNorm1d, Dropout, Linear, LoadOptions, Model, Module, StateDict};
use jit::optim::Adam;
use jit::prelude::*;

use crate::on_each_device;

type Net<T = f32> = (Linear<T>, BatchNorm1d<T>, Linear<T>);

fn net<T: FloatElement>(seed: u64) -> (Linear<T>, Linear<T>) {
    let mut rng = jit::random::rng(seed);
    (Linear::new(3, 4, &mut rng), Linear::new(4, 2, &mut rng))
}

// rows: O73
// no device: nothing is computed
#[test]
fn a_state_has_parameters_and_buffers_by_their_names() {
    let mut rng = jit::random::rng(1);
    let net: Net = (Linear::new(3, 4, &mut rng), BatchNorm1d::new(4), Linear::new(4, 2, &mut rng));
    let state = net.state_dict();
    let names = [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
        "2.weight",
        "2.bias",
    ];
    assert_eq!(state.names().collect::<Vec<_>>(), names);
    assert_eq!((state.shape("2.weight"), state.shape("1.running_var")), (Some(&[2, 4][..]), Some(&[4][..])));
    assert_eq!(state.shape("2.gain"), None);
}

// rows: O78
#[test]
fn a_state_that_does_not_fit_changes_nothing_and_all_faults_are_named() {
    on_each_device(|| {
        let (first, mut second) = (net::<f32>(1), net::<f32>(2));
        let before = second.0.weight.to_vec().unwrap();
        let mut state = first.state_dict();
        assert!(state.remove("0.bias") && !state.remove("0.bias"));
        state.insert("extra", &Tensor::<f32>::zeros([2]));
        state.insert("1.bias", &Tensor::<f32>::zeros([3]));
        state.insert("1.weight", &Tensor::<f64>::zeros([2, 4]));
        let error = second.load_state_dict(&state).unwrap_err().to_string();
        for fault in [
            "`0.bias` is missing",
            "`extra` is unexpected",
            "`1.bias` has the shape [3] instead of [2]",
            "`1.weight` is an array of f64 instead of f32",
        ] {
            assert!(error.contains(fault), "{fault}: {error}");
        }
        assert_eq!(second.0.weight.to_vec().unwrap(), before, "nothing is half loaded");
        // Without the shape that is wrong, the options allow the rest.
        state.remove("1.bias");
        let options = LoadOptions { is_partial: true, casts: true };
        let report = second.load_state_dict_with(&state, options).unwrap();
        assert_eq!((report.missing, report.unexpected), (vec!["0.bias".into(), "1.bias".into()], vec!["extra".into()]));
        assert_eq!(second.0.weight.to_vec().unwrap(), first.0.weight.to_vec().unwrap());
        assert_eq!(second.1.weight.to_vec().unwrap(), [0.0; 8]);
    });
}

#[test]
fn an_element_of_a_state_is_read_by_name_and_type() {
    let state = net::<f32>(1).state_dict();
    let error = state.get::<f32>("0.weigth").unwrap_err().to_string();
    assert!(error.contains("the state has no `0.weigth`"), "{error}");
    let error = state.get::<f64>("0.weight").unwrap_err().to_string();
    assert!(error.contains("`0.weight` is an array of f32, not f64"), "{error}");
    assert_eq!(state.get::<f32>("0.weight").unwrap().shape().to_vec(), [4, 3]);
}

#[test]
fn what_is_behind_a_reference_is_saved_but_not_replaced() {
    let net = net::<f32>(1);
    let checkpoint = StateDict::checkpoint(&(&net, std::sync::Arc::new(Float::from([1.0, 2.0]))));
    let names = ["0.0.weight", "0.0.bias", "0.1.weight", "0.1.bias", "1"];
    assert_eq!(checkpoint.names().collect::<Vec<_>>(), names);
    assert_eq!(checkpoint.get::<f32>("1").unwrap().to_vec().unwrap(), [1.0, 2.0]);
    let error = checkpoint.restore(&mut (net.clone(), std::sync::Arc::new(Float::zeros(2)))).unwrap_err().to_string();
    assert!(error.contains("`1` is behind a shared reference") && !error.contains("`0."), "{error}");
}

#[test]
fn a_network_in_halves_is_loaded_from_one_in_single_precision() {
    on_each_device(|| {
        let (single, mut half) = (net::<f32>(1), net::<half::f16>(2));
        assert!(half.load_state_dict(&single.state_dict()).is_err(), "element types differ");
        let options = LoadOptions { casts: true, ..LoadOptions::default() };
        half.load_state_dict_with(&single.state_dict(), options).unwrap();
        let wanted: Vec<_> = single.0.weight.to_vec().unwrap().into_iter().map(half::f16::from_f32).collect();
        assert_eq!(half.0.weight.to_vec().unwrap(), wanted);
    });
}

type Trained = (Linear, BatchNorm1d, Dropout, Linear);

/// A step of training with random numbers and running statistics; returns the loss.
fn step(net: &mut Trained, adam: &mut Adam<Trained>, x: &Tensor<f32>) -> f32 {
    let (loss, gradient) = nn::value_and_grad(net, |net| {
        let y = net.forward(x);
        (&y * &y).mean(..)
    })
    .unwrap();
    adam.step(net, &gradient);
    loss.item().unwrap()
}

// rows: O76
#[test]
fn training_continues_from_a_checkpoint_with_the_same_bits() {
    on_each_device(|| {
        let make = |seed: u64| {
            let mut rng = jit::random::rng(seed);
            let (first, dropout) = (Linear::new(3, 8, &mut rng), Dropout::new(0.5, &mut rng));
            let net: Trained = (first, BatchNorm1d::new(8), dropout, Linear::new(8, 2, &mut rng));
            let adam = Adam::new(&net, 0.01);
            (net, adam)
        };
        let x = Tensor::from_array((Float::arange(48) * 0.37).sin(), [16, 3]).make_opaque();
        let (mut net, mut adam) = make(1);
        for _ in 0..3 {
            step(&mut net, &mut adam, &x);
        }
        let checkpoint = StateDict::checkpoint(&(&net, &adam));
        let wanted: Vec<f32> = (0..3).map(|_| step(&mut net, &mut adam, &x)).collect();
        let mut other = make(2);
        checkpoint.restore(&mut other).unwrap();
        let got: Vec<f32> = (0..3).map(|_| step(&mut other.0, &mut other.1, &x)).collect();
        assert_eq!(got, wanted);
        let (mut net, mut adam) = make(2);
        let fresh = step(&mut net, &mut adam, &x);
        assert_ne!(fresh, wanted[0], "the checkpoint makes no difference");
    });
}

#[test]
fn statistics_that_nobody_reads_are_computed_with_the_loss() {
    on_each_device(|| {
        let mut rng = jit::random::rng(1);
        let mut net: Net = (Linear::new(3, 4, &mut rng), BatchNorm1d::new(4), Linear::new(4, 2, &mut rng));
        let x = Tensor::linspace(-1.0f32, 1.0, 24).reshape([8, 3]);
        let (loss, _) = nn::value_and_grad(&mut net, |net| net.forward(&x).square().mean(..)).unwrap();
        loss.item().unwrap();
        // Otherwise they keep what was computed of the batch, and of all later ones.
        for (path, leaf) in jit::leaves(&net.1.statistics) {
            assert_eq!(leaf.state, "evaluated", "{path}");
        }
    });
}
