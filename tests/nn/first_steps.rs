//! What programs that come from other libraries write first: results of `forward`, operators on parameters, layers of
//! wrong sizes, conversions of modules, tied layers.

use half::f16;
use jit::nn::{
    self, Buffer, Conv2d, ConvTransposed2d, Convert, Embedding, Flatten, Gru, LayerNorm, Linear, Model, Module,
    MultiHeadAttention, Parameter, Relu, Sequential,
};
use jit::optim::{Adam, Sgd};
use jit::prelude::*;
use jit::{FloatElement, Result};

use crate::on_each_device;

fn zeros(shape: &[usize]) -> Tensor<f32> {
    Tensor::zeros(shape)
}

/// Returns the message of a panic.
fn text_of(function: impl FnOnce()) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(function)).unwrap_err();
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// Asserts that a function panics with a message whose lines are all in this file.
#[track_caller]
fn assert_refused(function: impl FnOnce(), wanted: &str) {
    let text = text_of(function);
    assert!(text.contains(wanted) && text.contains(concat!("\n  at ", file!())), "{text}");
    assert!(!text.contains("at src/"), "{text}");
}

/// A module that refuses some inputs.
#[derive(Clone, Traverse)]
struct Checked {
    layer: Linear,
}

impl Module for Checked {
    type Output = Result<Tensor<f32>>;

    fn forward(&mut self, x: &Tensor<f32>) -> Result<Tensor<f32>> {
        if x.ndim() != 2 {
            return Err(jit::Error::new(jit::ErrorKind::InvalidArgument, format!("{} axes", x.ndim())));
        }
        Ok(self.layer.forward(x))
    }
}

#[test]
fn a_traced_forward_may_return_a_result() {
    on_each_device(|| {
        let mut net = Checked { layer: Linear::new(2, 3, &mut jit::random::rng(1)) };
        let x = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
        let wanted = net.forward(&x).unwrap().to_vec().unwrap();
        let mut traced = jit::trace(net, &x).unwrap();
        for _ in 0..2 {
            assert_eq!(traced.forward(&x).unwrap().to_vec().unwrap(), wanted);
        }
        for _ in 0..2 {
            assert_eq!(traced.forward(&zeros(&[2])).unwrap_err().message(), "1 axes");
        }
        assert_eq!((traced.stats().recordings, traced.stats().replays), (2, 3));
    });
}

/// Doubles an array of two elements or more.
#[freeze]
fn doubled(x: &Float) -> Result<Float> {
    if x.len() < 2 {
        return Err(jit::Error::new(jit::ErrorKind::InvalidArgument, "too short"));
    }
    Ok(x * 2.0)
}

#[test]
fn a_frozen_function_may_return_a_result() {
    on_each_device(|| {
        for _ in 0..3 {
            assert_eq!(doubled(&Float::from([1.0, 2.0])).unwrap().to_vec().unwrap(), [2.0, 4.0]);
            assert_eq!(doubled(&Float::from([1.0])).unwrap_err().message(), "too short");
        }
    });
}

#[test]
fn a_flattening_layer_keeps_the_batch() {
    on_each_device(|| {
        let x = Tensor::<f32>::arange([2, 3, 4, 5]);
        let y = Flatten.infer(&x);
        assert_eq!(y.shape(), [2, 60]);
        assert_eq!(y.to_vec().unwrap(), x.to_vec().unwrap());
        assert_eq!(Flatten.infer(&Tensor::<u32>::arange([3])).shape(), [3, 1]);
        let mut rng = jit::random::rng(1);
        let net = Sequential::new().then(Conv2d::new(1, 2, [3, 3], &mut rng)).then(Flatten);
        assert_eq!(net.infer(&zeros(&[4, 1, 5, 5])).shape(), [4, 18]);
    });
}

#[test]
fn parameters_and_buffers_have_the_operators_of_their_tensors() {
    on_each_device(|| {
        let p: Parameter = Tensor::from([1.0f32, 2.0]).into();
        let b: Buffer = Tensor::from([3.0f32, 5.0]).into();
        let x = Tensor::from([10.0f32, 20.0]);
        let all = [
            &p * 2.0,
            2.0 * &p,
            &p * &x,
            &x * &p,
            &p + &p,
            &b - &p,
            p.clone() * &x,
            -&p,
            &x / &b,
            &Float::from(2.0) * &p,
            x.max(&b),
        ];
        let wanted: [[f32; 2]; 11] = [
            [2.0, 4.0],
            [2.0, 4.0],
            [10.0, 40.0],
            [10.0, 40.0],
            [2.0, 4.0],
            [2.0, 3.0],
            [10.0, 40.0],
            [-1.0, -2.0],
            [10.0 / 3.0, 4.0],
            [2.0, 4.0],
            [10.0, 20.0],
        ];
        for (number, (found, wanted)) in all.iter().zip(wanted).enumerate() {
            assert_eq!(found.to_vec().unwrap(), wanted, "number {number}");
        }
        let mut sum = x.clone();
        sum += &p;
        assert_eq!(sum.to_vec().unwrap(), [11.0, 22.0]);
    });
}

#[test]
fn a_tensor_is_evaluated_by_a_method() {
    on_each_device(|| {
        let x = Tensor::from([1.0f32, 2.0]).make_opaque() * 2.0;
        assert!(!x.array().is_evaluated());
        x.eval().unwrap();
        assert!(x.array().is_evaluated());
    });
}

// no device: nothing is computed
#[test]
fn inputs_of_wrong_shapes_are_refused_with_what_fits() {
    let rng = &mut jit::random::rng(1);
    let mut conv: Conv2d = Conv2d::new(3, 8, [3, 3], rng);
    assert_refused(
        || drop(conv.forward(&zeros(&[2, 1, 8, 8]))),
        "axis 1 has the channels of the layer: a tensor of shape [2, 3, 8, 8] fits",
    );
    assert_refused(|| drop(conv.forward(&zeros(&[2, 8, 8, 3]))), "`x.move_axis(3, 1)`");
    assert_refused(|| drop(conv.forward(&zeros(&[3, 8, 8]))), "`x.expand_dims(0)`");
    let mut grouped: Conv2d = Conv2d::grouped(4, 8, [3, 3], 2, rng);
    assert_refused(|| drop(grouped.forward(&zeros(&[2, 2, 8, 8]))), "a convolution of 4 channels");
    let mut linear: Linear = Linear::new(36, 8, rng);
    assert_refused(|| drop(linear.forward(&zeros(&[2, 4, 3, 3]))), "put `nn::Flatten` before the layer");
    assert_refused(|| drop(linear.forward(&zeros(&[2, 5]))), "or create the layer for 5");
    let mut norm: LayerNorm = LayerNorm::new(4);
    assert_refused(|| drop(norm.forward(&zeros(&[5, 3]))), "[4] got a tensor of shape [5, 3]");
    let mut attention: MultiHeadAttention = MultiHeadAttention::new(8, 2, rng);
    assert_refused(|| drop(attention.forward(&zeros(&[5, 3, 6]))), "attention of 8 features");
    let mut transposed: ConvTransposed2d = ConvTransposed2d::new(3, 2, [2, 2], rng);
    assert_refused(|| drop(transposed.forward(&zeros(&[2, 4, 5, 5]))), "a transposed convolution of 3 channels");
    let mut gru: Gru = Gru::new(3, 4, rng);
    assert_refused(|| drop(gru.forward(&zeros(&[2, 5, 2]))), "a recurrent layer of 3 features");
}

// no device: nothing is computed
#[test]
fn a_convolution_in_a_loss_is_refused_at_the_line_of_the_program() {
    let mut conv: Conv2d = Conv2d::new(3, 8, [3, 3], &mut jit::random::rng(1));
    // With gradients, the operation runs behind an interface that does not know the line.
    let loss = |conv: &mut Conv2d| conv.forward(&zeros(&[2, 3, 2, 2])).sum(..);
    assert_refused(|| drop(nn::value_and_grad(&mut conv, loss)), "cannot be convolved");
}

// no device: nothing is computed
#[test]
fn a_layer_of_a_sequence_is_refused_at_the_lines_of_the_program() {
    let rng = &mut jit::random::rng(1);
    let inner = Sequential::new().then(Flatten).then(Linear::new(4, 1, rng));
    let added = format!("in layer 1 of a sequence, which was added at {}:{}", file!(), line!() - 1);
    let mut net = Sequential::new().then(Flatten).then(inner);
    assert_refused(|| drop(net.forward(&zeros(&[5, 3]))), &added);
    let line = format!("a linear layer of 4 inputs got a tensor of shape [5, 3]\n  at {}:{}", file!(), line!() + 1);
    assert_refused(|| drop(net.forward(&zeros(&[5, 3]))), &line);
    // Afterwards, errors have their own lines alone.
    let text = text_of(|| drop(Linear::<f32>::new(4, 1, rng).forward(&zeros(&[5, 3]))));
    assert!(!text.contains("in layer"), "{text}");
}

#[derive(Clone, Traverse, Convert)]
struct Halved<T: FloatElement = f32> {
    table: Embedding<T>,
    layers: Vec<Linear<T>>,
    activation: Relu,
    scale: Option<Parameter<T>>,
    mean: Buffer<f32>,
    steps: usize,
}

#[derive(Clone, Traverse, Convert)]
enum Either<T: FloatElement> {
    One(Linear<T>),
    Two { first: Linear<T>, factor: f32 },
    None,
}

#[test]
fn a_module_of_its_own_derives_its_conversion() {
    on_each_device(|| {
        let mut rng = jit::random::rng(1);
        let net: Halved = Halved {
            table: Embedding::new(5, 4, &mut rng).with_padding(2),
            layers: vec![Linear::new(4, 3, &mut rng), Linear::new(3, 2, &mut rng)],
            activation: Relu,
            scale: Some(Tensor::from([0.1f32]).into()),
            mean: Tensor::from([0.1f32]).into(),
            steps: 7,
        };
        let half: Halved<f16> = net.half();
        let rounded: Vec<f16> = net.layers[1].weight.to_vec().unwrap().into_iter().map(f16::from_f32).collect();
        assert_eq!(half.layers[1].weight.to_vec().unwrap(), rounded);
        assert_eq!(half.scale.unwrap().to_vec().unwrap(), [f16::from_f32(0.1)]);
        assert_eq!((half.mean.to_vec().unwrap(), half.steps, half.activation), (vec![0.1f32], 7, Relu));
        assert_eq!(half.table.padding, Some(2));
        let either: Either<f32> = Either::Two { first: Linear::new(1, 1, &mut rng), factor: 0.5 };
        assert!(matches!(either.half(), Either::Two { factor: 0.5, .. }));
        assert!(matches!(Either::<f32>::None.half(), Either::None));
        let one: Either<f16> = Either::One(Linear::<f32>::new(2, 3, &mut rng)).half();
        assert!(matches!(one, Either::One(layer) if layer.weight.shape() == [3, 2]));
    });
}

/// The sum of the squares of all results, each by its own weight, and its gradients.
fn loss_and_gradients(gru: &mut Gru, x: &Tensor<f32>) -> (f32, Vec<Vec<f32>>) {
    let loss = |gru: &mut Gru| {
        let y = gru.forward(x);
        let weight = Tensor::<f32>::arange(y.shape()) + 1.0;
        (y.square() * weight).mean(..)
    };
    let (loss, gradient) = nn::value_and_grad(gru, loss).unwrap();
    let state = gradient.state_dict();
    let names: Vec<String> = state.names().map(str::to_owned).collect();
    (loss.item().unwrap(), names.iter().map(|name| state.get::<f32>(name).unwrap().to_vec().unwrap()).collect())
}

#[test]
fn gradients_through_long_sequences_match_differences_in_both_directions() {
    on_each_device(|| {
        let mut gru: Gru = Gru::stacked(2, 3, 2, true, &mut jit::random::rng(1));
        let x = Tensor::from_array(Float::linspace(-1.0, 1.0, 2 * 7 * 2), [2, 7, 2]).make_opaque();
        let (_, gradients) = loss_and_gradients(&mut gru, &x);
        let names: Vec<String> = gru.state_dict().names().map(str::to_owned).collect();
        for (name, gradient) in names.iter().zip(gradients) {
            let at = |step: f32| {
                let mut state = gru.state_dict();
                let old = state.get::<f32>(name).unwrap();
                let mut values = old.to_vec().unwrap();
                values[1] += step;
                state.insert(name.clone(), &Tensor::from(values).reshape(old.shape()));
                let mut moved = gru.clone();
                moved.load_state_dict(&state).unwrap();
                loss_and_gradients(&mut moved, &x).0
            };
            let difference = (at(0.01) - at(-0.01)) / 0.02;
            let error = (difference - gradient[1]).abs();
            assert!(error < 0.02 * gradient[1].abs().max(0.1), "{name}: {difference} and {}", gradient[1]);
        }
    });
}

type Line = (Linear, Linear);

#[freeze]
fn adam_step(net: &mut Line, adam: &mut Adam<Line>, x: &Tensor<f32>) -> Tensor<f32> {
    let (loss, gradient) = nn::value_and_grad(net, |net| net.forward(x).square().mean(..)).unwrap();
    adam.step(net, &gradient);
    loss
}

#[test]
fn the_first_step_of_an_optimiser_is_recorded_as_all_others_are() {
    on_each_device(|| {
        adam_step::clear();
        let mut rng = jit::random::rng(1);
        let mut net = (Linear::new(2, 3, &mut rng), Linear::new(3, 1, &mut rng));
        let mut adam = Adam::new(&net, 0.01);
        let x = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]).make_opaque();
        let losses: Vec<f32> = (0..4).map(|_| adam_step(&mut net, &mut adam, &x).item().unwrap()).collect();
        assert!(losses[3] < losses[0]);
        assert_eq!((adam_step::stats().recordings, adam_step::stats().replays), (1, 3), "{}", adam_step::explain());
    });
}

/// A language model whose output uses the table of its input.
#[derive(Clone, Traverse)]
struct Tied {
    table: Embedding,
}

impl Module<Tensor<u32>> for Tied {
    type Output = Tensor<f32>;

    fn forward(&mut self, x: &Tensor<u32>) -> Tensor<f32> {
        nn::linear(&self.table.forward(x), &self.table.weight, None)
    }
}

#[test]
fn layers_are_tied_by_one_parameter() {
    on_each_device(|| {
        let table = Embedding::new(5, 4, &mut jit::random::rng(1));
        let mut net = Tied { table };
        assert_eq!(net.parameter_count(), 20);
        let mut sgd = Sgd::new(&net, 0.1);
        let words = Tensor::from([1u32, 2, 3]);
        let (before, gradient) =
            nn::value_and_grad(&mut net, |net| nn::cross_entropy(&net.forward(&words), &words)).unwrap();
        // Rows that are not read get a gradient through the output.
        let of_unread = gradient.table.weight.slice(s![0]).to_vec().unwrap();
        assert!(of_unread.iter().all(|gradient| *gradient != 0.0), "{of_unread:?}");
        sgd.step(&mut net, &gradient);
        let after = nn::cross_entropy(&net.forward(&words), &words).item().unwrap();
        assert!(after < before.item().unwrap());
    });
}
