//! Recurrent layers and cells.

use jit::nn::*;
use jit::prelude::*;
use jit::random::rng;

use crate::{assert_refused, on_each_device};

use super::{check_layer, check_module};

/// A module that returns the state after the last steps, one tensor behind the other.
#[derive(Clone, Traverse)]
struct Ends<K: Step> {
    #[traverse(rename = "")]
    layers: Recurrent<f64, K>,
}

impl<K: Step> Module<Tensor<f64>> for Ends<K> {
    type Output = Tensor<f64>;

    fn forward(&mut self, x: &Tensor<f64>) -> Tensor<f64> {
        Tensor::concat(&self.layers.run(x, None).1, 0)
    }
}

/// A module that begins with a state.
#[derive(Clone, Traverse)]
struct From<K: Step> {
    #[traverse(rename = "")]
    layers: Recurrent<f64, K>,
}

impl<K: Step> Module<(Tensor<f64>, Vec<Tensor<f64>>)> for From<K> {
    type Output = Tensor<f64>;

    fn forward(&mut self, (x, state): &(Tensor<f64>, Vec<Tensor<f64>>)) -> Tensor<f64> {
        self.layers.run(x, Some(state)).0
    }
}

fn check_kind<K: Step>(name: &str) {
    check_layer(name, &Recurrent::<f64, K>::new(3, 4, &mut rng(1)));
    let deep = Recurrent::<f64, K>::stacked(3, 2, 2, true, &mut rng(1)).with_length_first();
    check_layer(&format!("{name}_deep"), &deep);
    check_layer(&format!("{name}_state"), &Ends { layers: deep });
    let bare = Recurrent::<f64, K>::new(3, 2, &mut rng(1)).without_bias().with_length_first();
    check_module(&format!("{name}_begin"), &From { layers: bare }, |case| {
        let state = (0..K::STATES).map(|part| case.get(&format!("x{}", part + 1)).tensor());
        (case.get("x0").tensor(), state.collect())
    });
}

// rows: O79
#[test]
fn recurrent_layers_are_those_of_pytorch() {
    check_kind::<RnnStep>("rnn");
    check_kind::<GruStep>("gru");
    let rectified = Rnn::new(3, 4, &mut rng(1)).with_kind(RnnStep { is_rectified: true });
    check_layer("rnn_relu", &rectified);
}

#[test]
fn long_short_term_memory_is_that_of_pytorch() {
    check_kind::<LstmStep>("lstm");
}

/// A cell as a module of one tensor.
#[derive(Clone, Traverse)]
struct One<K: Step> {
    #[traverse(rename = "")]
    cell: Cell<f64, K>,
}

impl<K: Step> Module<(Tensor<f64>, Vec<Tensor<f64>>)> for One<K> {
    type Output = Tensor<f64>;

    fn forward(&mut self, input: &(Tensor<f64>, Vec<Tensor<f64>>)) -> Tensor<f64> {
        Tensor::concat(&self.cell.forward(input), 1)
    }
}

#[test]
fn recurrent_cells_are_those_of_pytorch() {
    fn check<K: Step>(name: &str) {
        check_module(name, &One { cell: Cell::<f64, K>::new(3, 4, &mut rng(1)) }, |case| {
            let state = (0..K::STATES).map(|part| case.get(&format!("x{}", part + 1)).tensor());
            (case.get("x0").tensor(), state.collect())
        });
    }
    check::<RnnStep>("rnn_cell");
    check::<GruStep>("gru_cell");
    check::<LstmStep>("lstm_cell");
}

/// A sequence in two parts, with the state in between, is the same as in one.
#[test]
fn a_state_continues_a_sequence() {
    on_each_device(|| {
        let mut lstm: Lstm = Lstm::stacked(3, 4, 2, false, &mut rng(1));
        let x = Tensor::from_array((Float::arange(60) * 0.7).sin(), [2, 10, 3]).make_opaque();
        let whole = lstm.infer(&x);
        let (first, state) = lstm.run(&x.slice(jit::s![.., ..6]), None);
        let (second, _) = lstm.run(&x.slice(jit::s![.., 6..]), Some(&state));
        assert_eq!(Tensor::concat(&[first, second], 1).to_vec().unwrap(), whole.to_vec().unwrap());
    });
}

#[test]
fn a_frozen_step_trains_a_recurrent_layer_for_all_batches() {
    type Net = (Gru, Linear);
    fn step(net: &mut Net, x: &Tensor<f32>) -> (Tensor<f32>, Net) {
        value_and_grad(net, |net| mse_loss(&net.forward(x), &x.sum(-1).expand_dims(-1))).unwrap()
    }
    #[freeze]
    fn frozen(net: &mut Net, x: &Tensor<f32>) -> (Tensor<f32>, Net) {
        step(net, x)
    }
    on_each_device(|| {
        frozen::clear();
        let mut net: Net = (Gru::new(3, 4, &mut rng(1)), Linear::new(4, 1, &mut rng(1)));
        for batch in [2, 5, 3] {
            let x = Tensor::from_array((Float::arange(batch * 15) * 0.7).sin(), [batch, 5, 3]).make_opaque();
            let (got, wanted) = (frozen(&mut net, &x), step(&mut net.clone(), &x));
            assert_eq!(got.0.item().unwrap(), wanted.0.item().unwrap());
            let [got, wanted] = [got.1, wanted.1].map(|net| net.0.weights.0[0].weight_hh.to_vec().unwrap());
            assert_eq!(got, wanted);
        }
        assert_eq!(frozen::stats().recordings, 1, "{}", frozen::explain());
    });
}

#[test]
fn inputs_that_recurrent_layers_do_not_take_are_refused() {
    let mut gru: Gru = Gru::new(3, 4, &mut rng(1));
    assert_refused(|| _ = gru.infer(&Tensor::ones([2, 3])), "a recurrent layer takes 3 axes");
    assert_refused(|| _ = gru.infer(&Tensor::ones([2, 0, 3])), "a recurrent layer got a sequence of no steps");
    let state = [Tensor::<f32>::ones([1, 3, 4])];
    let wanted = "a recurrent layer got a state of tensors of shapes [[1, 3, 4]]";
    assert_refused(|| _ = gru.run(&Tensor::ones([2, 5, 3]), Some(&state)), wanted);
}
