//! Modules as values: kinds of arrays, modes, freezing of parameters, training in a frozen step.

use jit::nn::{self, Function, Linear, Mode, Model, Module, Parameter, Relu, Sequential};
use jit::optim::{Adam, AdamW};
use jit::prelude::*;

use crate::{assert_refused, on_each_device};

type Net = (Linear, Relu, Linear);

fn net(seed: u64) -> Net {
    let mut rng = jit::random::rng(seed);
    (Linear::new(2, 16, &mut rng), Relu, Linear::new(16, 2, &mut rng))
}

/// Points, and whether they are inside of a circle.
fn circle() -> (Tensor<f32>, Tensor<u32>) {
    let mut rng = jit::random::rng(3);
    let points: Float = rng.uniform(-1.0, 1.0, 400);
    let points = Tensor::from_array(points, [200, 2]).make_opaque();
    let is_inside = (&points * &points).sum(1).lt(0.5);
    (points, is_inside.cast::<u32>().make_opaque())
}

fn plain_step(net: &mut Net, adam: &mut Adam<Net>, x: &Tensor<f32>, y: &Tensor<u32>) -> Tensor<f32> {
    let (loss, gradient) = nn::value_and_grad(net, |net| nn::cross_entropy(&net.forward(x), y)).unwrap();
    adam.step(net, &gradient);
    loss
}

#[freeze]
fn step(net: &mut Net, adam: &mut Adam<Net>, x: &Tensor<f32>, y: &Tensor<u32>) -> Tensor<f32> {
    plain_step(net, adam, x, y)
}

#[test]
fn a_frozen_step_trains_a_network_with_few_recordings() {
    #[freeze]
    fn counted(net: &mut Net, adam: &mut Adam<Net>, x: &Tensor<f32>, y: &Tensor<u32>) -> Tensor<f32> {
        plain_step(net, adam, x, y)
    }
    on_each_device(|| {
        counted::clear();
        let (x, y) = circle();
        let mut net = net(1);
        let mut adam = Adam::new(&net, 0.02);
        let mut losses = Vec::new();
        for _ in 0..300 {
            losses.push(counted(&mut net, &mut adam, &x, &y).item().unwrap());
        }
        assert!(losses[299] < 0.15 && losses[0] > 0.5, "{} to {}", losses[0], losses[299]);
        let right = net.infer(&x).argmax(1).eq(&y).cast::<f32>().mean(..).item().unwrap();
        assert!(right > 0.95, "{right}");
        assert!(counted::stats().recordings <= 2, "{:?}", counted::stats());
    });
}

#[test]
fn a_step_that_is_not_frozen_gives_the_same_bits() {
    on_each_device(|| {
        let (x, y) = circle();
        let (mut frozen, mut plain) = (net(1), net(1));
        let (mut adam, mut other) = (Adam::new(&frozen, 0.02), Adam::new(&plain, 0.02));
        for _ in 0..5 {
            step(&mut frozen, &mut adam, &x, &y);
            plain_step(&mut plain, &mut other, &x, &y);
        }
        assert_eq!(frozen.0.weight.to_vec().unwrap(), plain.0.weight.to_vec().unwrap());
        assert_eq!(frozen.2.bias.unwrap().to_vec().unwrap(), plain.2.bias.unwrap().to_vec().unwrap());
    });
}

// rows: O74
#[test]
fn frozen_parameters_stay_and_others_move() {
    on_each_device(|| {
        let (x, y) = circle();
        let mut net = net(1);
        let before = (net.0.weight.to_vec().unwrap(), net.2.weight.to_vec().unwrap());
        net.freeze("0");
        assert_eq!(net.trained_count(), 34);
        let mut adam = Adam::new(&net, 0.02);
        for _ in 0..3 {
            step(&mut net, &mut adam, &x, &y);
        }
        assert_eq!(net.0.weight.to_vec().unwrap(), before.0);
        assert_ne!(net.2.weight.to_vec().unwrap(), before.1);
        net.unfreeze("");
        step(&mut net, &mut adam, &x, &y);
        assert_ne!(net.0.weight.to_vec().unwrap(), before.0);
    });
    assert_refused(|| net(1).freeze("1"), "the module has no parameters in `1`");
}

#[test]
fn parts_are_named_as_in_a_state_or_as_in_a_program() {
    #[derive(Clone, Traverse)]
    struct Net {
        blocks: Vec<Linear>,
    }
    let mut rng = jit::random::rng(1);
    let mut net = Net { blocks: (0..2).map(|_| Linear::new(2, 3, &mut rng)).collect() };
    let is_trained = |net: &Net| [&net.blocks[0], &net.blocks[1]].map(|block| block.weight.is_trained());
    net.freeze("blocks[0]");
    assert_eq!(is_trained(&net), [false, true]);
    net.unfreeze("blocks.0.weight");
    net.freeze("blocks.1");
    assert_eq!(is_trained(&net), [true, false]);
    let mut state = net.state_dict();
    assert_eq!(state.shape("blocks[1].weight"), state.shape("blocks.1.weight"));
    assert!(state.get::<f32>("blocks[1].bias").is_ok() && state.get::<f32>("blocks[2].bias").is_err());
    assert!(state.remove("blocks[1].bias") && !state.remove("blocks.1.bias"));
    let mut adam = Adam::new(&net, 0.1).with_group("blocks.0", |group| group.rate = 0.5.into());
    assert_eq!(adam.group("blocks[0]").rate.values().item().unwrap(), 0.5);
    assert_refused(|| drop(Adam::new(&net, 0.1).with_group("blocks.2", |_| {})), "no part `blocks.2`");
}

/// Weight decay would change what is not trained.
#[test]
fn optimisers_leave_buffers_and_plain_arrays_of_modules() {
    #[derive(Clone, Traverse)]
    struct Mixed {
        weight: Parameter,
        mean: nn::Buffer,
        table: Float,
    }
    let mut mixed = Mixed {
        weight: Parameter::new(Tensor::from([1.0f32, 2.0])),
        mean: nn::Buffer::new(Tensor::from([3.0f32])),
        table: Float::from([4.0, 5.0]),
    };
    let mut adam = AdamW::new(&mixed, 0.5).with_weight_decay(0.5);
    let (loss, gradient) = nn::value_and_grad(&mut mixed, |mixed| {
        mixed.mean.set(&(&*mixed.weight * 10.0).sum(..).reshape([1]));
        (&*mixed.weight * &mixed.table).sum(..)
    })
    .unwrap();
    assert_eq!(loss.item().unwrap(), 14.0);
    assert_eq!((gradient.weight.to_vec().unwrap(), gradient.table.to_vec().unwrap()), (vec![4.0, 5.0], vec![0.0; 2]));
    adam.step(&mut mixed, &gradient);
    assert_eq!((mixed.mean.to_vec().unwrap(), mixed.table.to_vec().unwrap()), (vec![30.0], vec![4.0, 5.0]));
    assert!(mixed.weight.to_vec().unwrap()[0] < 1.0);
    assert!(!mixed.weight.array().grad_enabled() && !mixed.mean.array().grad_enabled());
}

#[test]
fn functions_lists_and_sequences_are_modules() {
    let mut rng = jit::random::rng(1);
    let double = Function::new(|x: &Tensor<f32>| x * 2.0);
    let net = Sequential::new().then(double).then(vec![double, double]).then(Some(double)).then(None::<Relu>);
    assert_eq!(net.infer(&Tensor::from([1.0f32])).to_vec().unwrap(), [16.0]);
    let net =
        Sequential::new().then(Linear::new(3, 4, &mut rng)).then(Sequential::new().then(Linear::new(4, 1, &mut rng)));
    assert_eq!((net.parameter_count(), net.len()), (21, 2));
    assert!(format!("{net:?}").contains("Linear"));
}

/// Two sequences with the same arrays: only the types of their layers differ.
#[test]
fn a_sequence_of_other_layers_is_recorded_separately() {
    #[freeze]
    fn apply(net: &mut Sequential, x: &Tensor<f32>) -> Tensor<f32> {
        net.forward(x)
    }
    let x = Tensor::from([-1.0f32, 2.0]);
    for _ in 0..2 {
        assert_eq!(apply(&mut Sequential::new().then(Relu), &x).to_vec().unwrap(), [0.0, 2.0]);
        assert_eq!(apply(&mut Sequential::new().then(nn::Identity), &x).to_vec().unwrap(), [-1.0, 2.0]);
        let negate = Function::new(|x: &Tensor<f32>| -x);
        let halve = Function::new(|x: &Tensor<f32>| x / 2.0);
        assert_eq!(apply(&mut Sequential::new().then(negate), &x).to_vec().unwrap(), [1.0, -2.0]);
        assert_eq!(apply(&mut Sequential::new().then(halve), &x).to_vec().unwrap(), [-0.5, 1.0]);
    }
    assert_eq!(apply::stats().recordings, 4);
}

#[test]
fn modes_are_set_in_whole_modules() {
    #[derive(Clone, Traverse)]
    struct Part {
        mode: Mode,
    }
    let mut parts = (Part { mode: Mode::Train }, vec![Part { mode: Mode::Train }; 2]);
    parts.eval();
    assert!(parts.0.mode == Mode::Eval && parts.1.iter().all(|part| part.mode == Mode::Eval));
    parts.train();
    assert!(parts.0.mode.is_train() && parts.1[1].mode.is_train());
}

#[test]
fn what_a_layer_does_not_take_is_refused_with_the_line() {
    let mut net = net(1);
    let x = Tensor::<f32>::ones([4, 3]);
    assert_refused(|| _ = net.forward(&x), "a linear layer of 2 inputs got a tensor of shape [4, 3]");
    assert_refused(
        || _ = nn::mse_loss(&x, &Tensor::ones([4])),
        "the loss of an input of shape [4, 3] got a target of shape [4]",
    );
    assert_refused(|| _ = nn::cross_entropy(&x, &Tensor::<u32>::zeros([3])), "got targets of shape [3]");
}

#[test]
fn a_loss_is_returned_with_further_values() {
    on_each_device(|| {
        let (x, y) = circle();
        let (mut one, mut other) = (net(5), net(5));
        let alone = |net: &mut Net| nn::cross_entropy(&net.forward(&x), &y);
        let with_scores = |net: &mut Net| {
            let scores = net.forward(&x);
            (nn::cross_entropy(&scores, &y), (scores.argmax(1), scores))
        };
        let (loss, gradient) = nn::value_and_grad(&mut one, alone).unwrap();
        let ((again, (best, scores)), same) = nn::value_and_grad(&mut other, with_scores).unwrap();
        assert_eq!(loss.item().unwrap(), again.item().unwrap());
        assert_eq!(scores.to_vec().unwrap(), other.infer(&x).to_vec().unwrap());
        assert_eq!(best.to_vec().unwrap(), scores.argmax(1).to_vec().unwrap());
        assert!(!again.grad_enabled() && !scores.grad_enabled());
        for (gradient, same) in [(&gradient.0, &same.0), (&gradient.2, &same.2)] {
            assert_eq!(gradient.weight.to_vec().unwrap(), same.weight.to_vec().unwrap());
        }
    });
}
