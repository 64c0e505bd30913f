//! Embeddings and attention.

use half::bf16;
use jit::nn::*;
use jit::prelude::*;
use jit::random::rng;

use crate::{assert_refused, on_each_device};

use super::{Case, check_function, check_layer, check_module};

// rows: O79
#[test]
fn embeddings_are_those_of_pytorch() {
    let numbers = |case: &Case| case.get("x0").whole();
    check_module("embedding", &Embedding::new(5, 4, &mut rng(1)), numbers);
    check_module("embedding_padding", &Embedding::new(5, 4, &mut rng(1)).with_padding(3), numbers);
    let table: Embedding = Embedding::new(3, 2, &mut rng(1)).with_padding(1);
    let rows = table.weight.to_vec().unwrap();
    assert!(rows[2..4] == [0.0, 0.0] && rows.iter().filter(|x| **x == 0.0).count() == 2, "{rows:?}");
}

fn check_attention(name: &str, attention: &Attention<f64>) {
    check_function(name, &["q", "k", "v"], |x| attention.attend(&x[0], &x[1], &x[2]));
}

#[test]
fn attention_is_that_of_pytorch() {
    check_function("attention", &["q", "k", "v"], |x| scaled_dot_product_attention(&x[0], &x[1], &x[2]));
    check_attention("attention_causal", &Attention::new().causal());
    check_attention("attention_causal_wide", &Attention::new().causal());
    check_attention("attention_grouped", &Attention::new());
    check_function("attention_masked", &["q", "k", "v"], |x| {
        let mask = Case::named("attention_masked").get("mask").whole().cast::<bool>();
        Attention::new().with_mask(mask).with_scale(0.7).attend(&x[0], &x[1], &x[2])
    });
    check_function("attention_biased", &["q", "k", "v", "mask"], |x| {
        Attention::new().with_bias(x[3].clone()).attend(&x[0], &x[1], &x[2])
    });
}

#[test]
fn attention_with_several_heads_is_that_of_pytorch() {
    let layer = MultiHeadAttention::new(6, 2, &mut rng(1));
    check_layer("multi_head", &layer);
    check_layer("multi_head_causal", &layer.causal());
    let cross = MultiHeadAttention::new(6, 3, &mut rng(1)).without_bias();
    check_module("multi_head_cross", &cross, |case| {
        (case.get("x0").tensor(), case.get("x1").tensor(), case.get("x2").tensor())
    });
}

/// The softmax of no number would be NaN, also in derivatives.
#[test]
fn a_query_that_may_attend_to_nothing_gets_zeros() {
    on_each_device(|| {
        let x = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]).make_opaque();
        let mask = Tensor::from([[false, false], [true, false]]);
        let attend = |x: &Tensor<f32>| Attention::new().with_mask(mask.clone()).attend(x, x, x);
        assert_eq!(attend(&x).to_vec().unwrap(), [0.0, 0.0, 1.0, 2.0]);
        let gradient = jit::ad::grad(|x: &Tensor<f32>| attend(x).sum(..).into_array())(&x).unwrap();
        assert_eq!(gradient.to_vec().unwrap(), [1.0, 1.0, 0.0, 0.0]);
    });
}

#[test]
fn attention_of_halves_is_computed_in_single_precision() {
    on_each_device(|| {
        let make = |shift: f32| {
            let x = (Float::arange(60) * 0.37 + shift).sin() * 20.0;
            Tensor::from_array(x.cast::<bf16>(), [3, 5, 4]).make_opaque()
        };
        let [q, k, v] = [0.0, 1.0, 2.0].map(make);
        let single = scaled_dot_product_attention::<f32>(&q.cast(), &k.cast(), &v.cast()).cast::<bf16>();
        assert_eq!(scaled_dot_product_attention(&q, &k, &v).to_vec().unwrap(), single.to_vec().unwrap());
    });
}

/// Dropout of weights draws other numbers in each call, and none in evaluation.
#[test]
fn dropout_of_attention_is_for_training() {
    on_each_device(|| {
        let mut layer: MultiHeadAttention = MultiHeadAttention::new(4, 2, &mut rng(1)).with_dropout(0.5, &mut rng(2));
        let x = Tensor::from_array((Float::arange(24) * 0.7).sin(), [1, 6, 4]).make_opaque();
        let (first, second) = (layer.forward(&x).to_vec().unwrap(), layer.forward(&x).to_vec().unwrap());
        assert_ne!(first, second);
        layer.eval();
        assert_eq!(layer.forward(&x).to_vec().unwrap(), layer.forward(&x).to_vec().unwrap());
    });
}

#[test]
fn other_batches_replay_the_recording_of_attention() {
    type Net = (Embedding, MultiHeadAttention);
    #[freeze]
    fn apply(net: &mut Net, x: &Tensor<u32>) -> Tensor<f32> {
        net.forward(x)
    }
    on_each_device(|| {
        apply::clear();
        let attention = MultiHeadAttention::new(4, 2, &mut rng(1)).causal();
        let mut net: Net = (Embedding::new(7, 4, &mut rng(1)), attention);
        for batch in [2, 5, 3] {
            let x = Tensor::from_array(UInt::arange(batch * 6) * 5 % 7, [batch, 6]).make_opaque();
            assert_eq!(apply(&mut net, &x).to_vec().unwrap(), net.infer(&x).to_vec().unwrap());
        }
        assert_eq!(apply::stats().recordings, 1, "{}", apply::explain());
    });
}

#[test]
fn inputs_that_attention_does_not_take_are_refused() {
    let of = |shape: &[usize]| Tensor::<f32>::ones(shape);
    let wanted = "queries [2, 3] cannot attend to keys [4, 5] and values [4, 5]";
    assert_refused(|| _ = scaled_dot_product_attention(&of(&[2, 3]), &of(&[4, 5]), &of(&[4, 5])), wanted);
    let wanted = "queries [4, 2, 3] cannot attend to keys [3, 2, 3] and values [3, 2, 3]";
    assert_refused(|| _ = scaled_dot_product_attention(&of(&[4, 2, 3]), &of(&[3, 2, 3]), &of(&[3, 2, 3])), wanted);
    let wanted = "a width of 6 cannot be divided among 4 heads";
    assert_refused(|| _ = MultiHeadAttention::<f32>::new(6, 4, &mut rng(1)), wanted);
    let layer: MultiHeadAttention = MultiHeadAttention::new(6, 2, &mut rng(1));
    assert_refused(|| _ = layer.infer(&of(&[1, 2, 5])), "attention of 6 features got a tensor of shape [1, 2, 5]");
}
