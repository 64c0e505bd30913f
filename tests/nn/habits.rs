//! What training programs in other libraries do beside a plain step: sums of gradients, averages of parameters,
//! penalties, sequences of several lengths, images of several sizes.

use jit::nn::{
    self, BatchNorm1d, Conv2d, ConvTransposed2d, Gru, Linear, Lstm, Model, Module, Relu, Rnn, Sequential, Tanh,
};
use jit::optim::{self, Average, Sgd};
use jit::prelude::*;
use jit::random::{Generator, rng};

use crate::on_each_device;

type Net = (Linear, Tanh, Linear);

fn net(seed: u64) -> Net {
    let mut rng = rng(seed);
    (Linear::new(3, 5, &mut rng), Tanh, Linear::new(5, 1, &mut rng))
}

fn normal(shape: &[usize], rng: &mut Generator) -> Tensor<f32> {
    nn::init::normal(shape, 0.0, 1.0, rng)
}

fn values(x: &Tensor<f32>) -> Vec<f32> {
    x.to_vec().unwrap()
}

#[track_caller]
fn assert_near(found: &[f32], wanted: &[f32]) {
    assert_eq!(found.len(), wanted.len());
    let is_near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
    assert!(found.iter().zip(wanted).all(is_near), "{found:?} instead of {wanted:?}");
}

/// A part of a batch.
#[freeze]
fn add_part(net: &mut Net, sum: &mut Net, x: &Tensor<f32>, y: &Tensor<f32>) {
    let loss = |net: &mut Net| nn::mse_loss(&net.forward(x), y);
    let (_, gradient) = nn::value_and_grad(net, loss).expect("the loss has derivatives");
    optim::accumulate(sum, &gradient);
}

#[test]
fn gradients_of_parts_add_up_to_that_of_the_batch() {
    on_each_device(|| {
        add_part::clear();
        let (mut net, mut rng) = (net(1), rng(2));
        let (x, y) = (normal(&[32, 3], &mut rng), normal(&[32, 1], &mut rng));
        let (_, whole) = nn::value_and_grad(&mut net, |net| nn::mse_loss(&net.forward(&x), &y)).unwrap();
        let mut sum = optim::zeros_like(&net);
        for part in 0..4 {
            let rows = part * 8..part * 8 + 8;
            add_part(&mut net, &mut sum, &x.slice(s![rows.clone()]), &y.slice(s![rows]));
        }
        assert_eq!(add_part::stats().recordings, 1, "{}", add_part::explain());
        let mean = optim::scaled(&sum, 0.25);
        assert_near(&values(&mean.0.weight), &values(&whole.0.weight));
        assert_near(&values(mean.2.bias.as_ref().unwrap()), &values(whole.2.bias.as_ref().unwrap()));
    });
}

#[test]
fn norms_are_those_of_the_parameters_that_are_trained() {
    on_each_device(|| {
        let mut net = net(3);
        let squares = |tensors: &[&Tensor<f32>]| -> f64 {
            tensors.iter().flat_map(|tensor| values(tensor)).map(|x| f64::from(x) * f64::from(x)).sum()
        };
        let own = |layer: &Linear| squares(&[&layer.weight, layer.bias.as_ref().unwrap()]);
        let (first, last) = (own(&net.0), own(&net.2));
        assert_eq!(optim::squared_norm(&net).item().unwrap(), (first + last) as f32);
        assert_eq!(optim::norm(&net).item().unwrap(), (first + last).sqrt() as f32);
        // The derivative of a penalty is twice the parameters.
        let (_, gradient) = nn::value_and_grad(&mut net, |net| optim::squared_norm(net)).unwrap();
        let twice: Vec<f32> = values(&net.0.weight).iter().map(|x| 2.0 * x).collect();
        assert_near(&values(&gradient.0.weight), &twice);
        net.freeze("0");
        assert_eq!(optim::squared_norm(&net).item().unwrap(), last as f32);
        // What a bound is for.
        let clipped = optim::clip_norm(&gradient, 0.5);
        assert!((optim::norm(&clipped).item().unwrap() - 0.5).abs() < 1e-6);
    });
}

#[test]
fn averages_follow_the_parameters_and_copy_the_rest() {
    on_each_device(|| {
        let mut net = (Linear::new(2, 2, &mut rng(4)), BatchNorm1d::new(2));
        net.freeze("1.bias");
        let mut average = Average::new(&net, 0.75);
        let mut wanted = values(&net.0.weight);
        for step in 0..3 {
            net.0.weight = (&*net.0.weight + 1.0).into();
            net.1.bias = Some((Tensor::full(step as f32, [2])).into());
            net.forward(&normal(&[8, 2], &mut rng(step)));
            average.update(&net);
            let now = values(&net.0.weight);
            wanted.iter_mut().zip(&now).for_each(|(mean, now)| *mean = 0.75 * *mean + 0.25 * now);
        }
        assert_near(&values(&average.value.0.weight), &wanted);
        // Frozen parameters are parameters; running statistics are those of the last step.
        assert_near(&values(average.value.1.bias.as_ref().unwrap()), &[0.25 * 2.0 + 0.1875; 2]);
        let mean = |net: &(Linear, BatchNorm1d)| net.state_dict().get::<f32>("1.running_mean").unwrap();
        assert_eq!(values(&mean(&average.value)), values(&mean(&net)));
    });
}

#[test]
fn layers_of_any_type_are_inferred_in_a_sequence() {
    on_each_device(|| {
        let mut rng = rng(5);
        let body = Sequential::new().then(Linear::new(3, 4, &mut rng)).then(BatchNorm1d::new(4)).then(Relu);
        assert_eq!(body.infer(&Tensor::<f32>::ones([2, 3])).shape(), [2, 4]);
        let traced = jit::trace((body, BatchNorm1d::new(4)), &Tensor::<f32>::zeros([5, 3])).unwrap();
        assert_eq!(traced.infer(&Tensor::ones([2, 3])).shape(), [2, 4]);
    });
}

/// An encoder and a decoder whose results are side by side.
#[derive(Clone, Traverse)]
struct Hourglass {
    down: Conv2d,
    up: ConvTransposed2d,
    last: Conv2d,
}

impl Module for Hourglass {
    type Output = Tensor<f32>;

    fn forward(&mut self, x: &Tensor<f32>) -> Tensor<f32> {
        let small = nn::relu(&self.down.forward(x));
        let large = self.up.forward(&small);
        self.last.forward(&Tensor::concat(&[x.clone(), large], 1))
    }
}

#[test]
fn one_recording_serves_transposed_convolutions_of_all_sizes() {
    on_each_device(|| {
        let mut rng = rng(6);
        let mut plain = Hourglass {
            down: Conv2d::new(1, 8, [3, 3], &mut rng).with_strides([2, 2]).with_paddings([1, 1]),
            up: ConvTransposed2d::new(8, 4, [4, 4], &mut rng).with_strides([2, 2]).with_paddings([1, 1]),
            last: Conv2d::new(5, 1, [1, 1], &mut rng),
        };
        plain.eval();
        // All of them are large enough for library calls.
        let mut traced = jit::trace(plain.clone(), &Tensor::<f32>::zeros([8, 1, 32, 36])).unwrap();
        for size in [32, 40, 48] {
            let x = normal(&[7, 1, size, size + 2], &mut rng);
            assert_eq!(values(&traced.forward(&x)), values(&plain.forward(&x)), "{size}");
        }
        assert_eq!(traced.stats().recordings, 1, "{}", traced.explain());
    });
}

/// Sequences that are filled up have the results and gradients that each has alone.
fn check_padded<K: nn::Step>(layers: usize, is_bidirectional: bool) {
    let mut layer = nn::Recurrent::<f32, K>::stacked(3, 4, layers, is_bidirectional, &mut rng(7));
    let (mut rng, lengths) = (rng(8), [6_usize, 1, 4, 0]);
    let x = normal(&[4, 6, 3], &mut rng);
    let begin: Vec<Tensor<f32>> = (0..K::STATES).map(|_| normal(&[layer.weights.0.len(), 4, 4], &mut rng)).collect();
    let run = |layer: &mut nn::Recurrent<f32, K>| {
        let lengths = Tensor::from(lengths.map(|length| length as i64));
        layer.run_padded(&x, &lengths, Some(&begin))
    };
    let ((results, state), gradient) = {
        let mut kept = None;
        let loss = |layer: &mut nn::Recurrent<f32, K>| {
            let (results, state) = run(layer);
            let loss = results.powi(2).sum(..) + state[0].sum(..);
            kept = Some((results.detach(), state.iter().map(Tensor::detach).collect::<Vec<_>>()));
            loss
        };
        let (_, gradient) = nn::value_and_grad(&mut layer, loss).unwrap();
        (kept.unwrap(), gradient)
    };
    let alone = |layer: &mut nn::Recurrent<f32, K>, number: usize| {
        let begin: Vec<_> = begin.iter().map(|part| part.slice(s![.., number..number + 1])).collect();
        layer.run(&x.slice(s![number..number + 1, 0..lengths[number]]), Some(&begin))
    };
    let mut sum = optim::zeros_like(&layer);
    for (number, length) in lengths.into_iter().enumerate() {
        let behind = results.slice(s![number, length..]);
        assert!(values(&behind).iter().all(|x| *x == 0.0));
        if length == 0 {
            assert_eq!(values(&state[0].slice(s![.., number])), values(&begin[0].slice(s![.., number])));
            continue;
        }
        let (own, end) = alone(&mut layer, number);
        assert_near(&values(&results.slice(s![number, 0..length])), &values(&own));
        for (all, own) in state.iter().zip(&end) {
            assert_near(&values(&all.slice(s![.., number])), &values(own));
        }
        let loss = |layer: &mut nn::Recurrent<f32, K>| {
            let (own, end) = alone(layer, number);
            own.powi(2).sum(..) + end[0].sum(..)
        };
        optim::accumulate(&mut sum, &nn::value_and_grad(&mut layer, loss).unwrap().1);
    }
    for (found, wanted) in gradient.weights.0.iter().zip(&sum.weights.0) {
        assert_near(&values(&found.weight_hh), &values(&wanted.weight_hh));
        assert_near(&values(&found.weight_ih), &values(&wanted.weight_ih));
    }
}

#[test]
fn padded_sequences_are_stepped_through_as_if_alone() {
    on_each_device(|| {
        check_padded::<nn::LstmStep>(1, true);
        check_padded::<nn::GruStep>(2, true);
        check_padded::<nn::RnnStep>(2, false);
    });
}

#[test]
fn one_recording_serves_padded_sequences_of_all_lengths() {
    #[freeze]
    fn step(lstm: &mut Lstm, sgd: &mut Sgd<Lstm>, x: &Tensor<f32>, lengths: &Tensor<u32>) -> Tensor<f32> {
        let loss = |lstm: &mut Lstm| lstm.run_padded(x, lengths, None).0.powi(2).mean(..);
        let (loss, gradient) = nn::value_and_grad(lstm, loss).expect("the loss has derivatives");
        sgd.step(lstm, &gradient);
        loss
    }
    on_each_device(|| {
        step::clear();
        let mut lstm: Lstm = Lstm::new(3, 4, &mut rng(9));
        let mut sgd = Sgd::new(&lstm, 0.1);
        let mut losses = Vec::new();
        for lengths in [[5, 3], [1, 7], [2, 2], [7, 7]] {
            let x = normal(&[2, 7, 3], &mut rng(10));
            losses.push(step(&mut lstm, &mut sgd, &x, &Tensor::<u32>::from(lengths)).item().unwrap());
        }
        assert!(losses.iter().all(|loss| loss.is_finite() && *loss > 0.0));
        assert_eq!(step::stats().recordings, 1, "{}", step::explain());
    });
}

#[test]
fn lengths_that_are_not_those_of_the_sequences_are_refused() {
    let (mut gru, mut rnn): (Gru, Rnn) = (Gru::new(3, 4, &mut rng(1)), Rnn::new(3, 4, &mut rng(1)));
    let x = Tensor::<f32>::zeros([2, 5, 3]);
    let mut text = |lengths: &Tensor<u32>| {
        let run = std::panic::AssertUnwindSafe(|| gru.run_padded(&x, lengths, None));
        let panic = std::panic::catch_unwind(run).unwrap_err();
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    for lengths in [Tensor::from([1_u32, 2, 3]), Tensor::from([[1_u32, 2]])] {
        let text = text(&lengths);
        assert!(text.contains("2 sequences got lengths of shape") && text.contains("one length for each"), "{text}");
        assert!(text.contains(concat!("\n  at ", file!())) && !text.contains("at src/"), "{text}");
    }
    // Lengths beyond the end are those of all steps.
    let all = rnn.run(&x, None).0;
    assert_eq!(values(&rnn.run_padded(&x, &Tensor::from([9_i32, 5]), None).0), values(&all));
}
