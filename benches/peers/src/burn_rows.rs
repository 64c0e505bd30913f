//! The networks in burn, on its CPU backend `flex`.

use std::error::Error;

use burn::module::{Module, Param};
use burn::nn::attention::{MhaInput, MultiHeadAttention, MultiHeadAttentionConfig, generate_autoregressive_mask};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::loss::{CrossEntropyLoss, CrossEntropyLossConfig};
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{
    BatchNorm, BatchNormConfig, Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig,
    PaddingConfig2d,
};
use burn::optim::{AdamConfig, AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::activation::{gelu_approximate, relu};
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

use crate::Step;
use crate::sizes::{
    BLOCKS, CHARACTERS, DIGITS, FEATURES, HEADS, Initial, LENGTH, SIDE, TEXTS, WIDTH, numbers, pictures,
};

/// The settings that PyTorch has by default.
const NORM_EPSILON: f64 = 1e-5;
const ADAM_EPSILON: f32 = 1e-8;

fn parameter<const D: usize>(values: Vec<f32>, shape: [usize; D], device: &Device) -> Param<Tensor<D>> {
    Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device))
}

/// A linear layer with a matrix `[outputs, inputs]`, of which burn stores the transpose.
fn with_matrix(layer: Linear, matrix: &[f32], [inputs, outputs]: [usize; 2], device: &Device) -> Linear {
    let transposed = (0..inputs * outputs).map(|at| matrix[at % outputs * inputs + at / outputs]).collect();
    let bias = parameter(vec![0.0; outputs], [outputs], device);
    Linear { weight: parameter(transposed, [inputs, outputs], device), bias: layer.bias.map(|_| bias) }
}

fn linear(inputs: usize, outputs: usize, initial: &mut Initial, device: &Device) -> Linear {
    let layer = LinearConfig::new(inputs, outputs).init(device);
    with_matrix(layer, &initial.next(outputs, inputs), [inputs, outputs], device)
}

fn convolution(inputs: usize, outputs: usize, initial: &mut Initial, device: &Device) -> Conv2d {
    let config = Conv2dConfig::new([inputs, outputs], [3, 3]).with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1));
    let mut layer = config.init(device);
    layer.weight = parameter(initial.next(outputs, 9 * inputs), [outputs, inputs, 3, 3], device);
    layer.bias = Some(parameter(vec![0.0; outputs], [outputs], device));
    layer
}

#[derive(Module, Debug)]
struct Reader {
    first: Conv2d,
    first_norm: BatchNorm,
    second: Conv2d,
    second_norm: BatchNorm,
    pool: MaxPool2d,
    last: Linear,
}

impl Reader {
    fn new(device: &Device) -> Reader {
        let initial = &mut Initial::new();
        let norm = |channels: usize| BatchNormConfig::new(channels).with_epsilon(NORM_EPSILON).init(device);
        Reader {
            first: convolution(1, 8, initial, device),
            first_norm: norm(8),
            second: convolution(8, 16, initial, device),
            second_norm: norm(16),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            last: linear(FEATURES, 10, initial, device),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<2> {
        let x = relu(self.first_norm.forward(self.first.forward(x)));
        let x = relu(self.second_norm.forward(self.second.forward(x)));
        self.last.forward(self.pool.forward(x).reshape([DIGITS, FEATURES]))
    }
}

/// A network and its optimiser; the module is elsewhere while a step is taken.
struct Training<M> {
    module: Option<M>,
    optimizer: ModuleOptimizer,
    rate: f64,
}

impl<M: Module> Training<M> {
    fn step(&mut self, loss: impl FnOnce(&M) -> Tensor<1>) -> Result<f32, Box<dyn Error>> {
        let module = self.module.take().ok_or("the step before failed")?;
        let loss = loss(&module);
        let gradients = GradientsParams::from_grads(loss.backward(), &module);
        self.module = Some(self.optimizer.step(self.rate, module, gradients));
        Ok(loss.into_scalar::<f32>())
    }
}

/// N01.
pub(crate) fn digits() -> Result<Step, Box<dyn Error>> {
    let device = Device::flex().autodiff();
    let x: Tensor<4> = Tensor::from_data(TensorData::new(pictures(), [DIGITS, 1, SIDE, SIDE]), &device);
    let wanted: Vec<i64> = numbers(0, DIGITS, 10).into_iter().map(i64::from).collect();
    let wanted: Tensor<1, Int> = Tensor::from_data(TensorData::new(wanted, [DIGITS]), &device);
    let entropy: CrossEntropyLoss = CrossEntropyLossConfig::new().init(&device);
    let optimizer = AdamConfig::new().with_epsilon(ADAM_EPSILON).init();
    let mut training = Training { module: Some(Reader::new(&device)), optimizer, rate: 0.002 };
    Ok(Box::new(move || training.step(|net| entropy.forward(net.forward(x.clone()), wanted.clone()))))
}

#[derive(Module, Debug)]
struct Block {
    attention_norm: LayerNorm,
    attention: MultiHeadAttention,
    linear_norm: LayerNorm,
    expand: Linear,
    shrink: Linear,
}

fn layer_norm(device: &Device) -> LayerNorm {
    LayerNormConfig::new(WIDTH).with_epsilon(NORM_EPSILON).init(device)
}

fn attention(initial: &mut Initial, device: &Device) -> MultiHeadAttention {
    let mut layer = MultiHeadAttentionConfig::new(WIDTH, HEADS).with_dropout(0.0).init(device);
    let all = initial.next(3 * WIDTH, WIDTH);
    let parts = [&mut layer.query, &mut layer.key, &mut layer.value];
    for (part, matrix) in parts.into_iter().zip(all.chunks_exact(WIDTH * WIDTH)) {
        *part = with_matrix(part.clone(), matrix, [WIDTH, WIDTH], device);
    }
    layer.output = linear(WIDTH, WIDTH, initial, device);
    layer
}

impl Block {
    fn new(initial: &mut Initial, device: &Device) -> Block {
        Block {
            attention_norm: layer_norm(device),
            attention: attention(initial, device),
            linear_norm: layer_norm(device),
            expand: linear(WIDTH, 4 * WIDTH, initial, device),
            shrink: linear(4 * WIDTH, WIDTH, initial, device),
        }
    }

    fn forward(&self, x: Tensor<3>, mask: Tensor<3, Bool>) -> Tensor<3> {
        let input = MhaInput::self_attn(self.attention_norm.forward(x.clone())).mask_attn(mask);
        let x = x + self.attention.forward(input).context;
        let hidden = gelu_approximate(self.expand.forward(self.linear_norm.forward(x.clone())));
        x + self.shrink.forward(hidden)
    }
}

#[derive(Module, Debug)]
struct Transformer {
    characters: Embedding,
    places: Embedding,
    blocks: Vec<Block>,
    norm: LayerNorm,
    head: Linear,
}

impl Transformer {
    fn new(device: &Device) -> Transformer {
        let initial = &mut Initial::new();
        let mut embedding = |count: usize| {
            let mut layer = EmbeddingConfig::new(count, WIDTH).init(device);
            layer.weight = parameter(initial.next(count, WIDTH), [count, WIDTH], device);
            layer
        };
        let (characters, places) = (embedding(CHARACTERS), embedding(LENGTH));
        Transformer {
            characters,
            places,
            blocks: (0..BLOCKS).map(|_| Block::new(initial, device)).collect(),
            norm: layer_norm(device),
            head: linear(WIDTH, CHARACTERS, initial, device),
        }
    }

    fn forward(&self, texts: Tensor<2, Int>, mask: Tensor<3, Bool>) -> Tensor<2> {
        let places = Tensor::<1, Int>::arange(0..LENGTH as i64, &texts.device()).unsqueeze();
        let mut x = self.characters.forward(texts) + self.places.forward(places);
        for block in &self.blocks {
            x = block.forward(x, mask.clone());
        }
        self.head.forward(self.norm.forward(x)).reshape([TEXTS * LENGTH, CHARACTERS])
    }
}

/// N02.
pub(crate) fn transformer() -> Result<Step, Box<dyn Error>> {
    let device = Device::flex().autodiff();
    let text = |first: usize| -> Vec<i64> {
        numbers(first, TEXTS * LENGTH, CHARACTERS as u32).into_iter().map(i64::from).collect()
    };
    let texts: Tensor<2, Int> = Tensor::from_data(TensorData::new(text(0), [TEXTS, LENGTH]), &device);
    let next: Tensor<1, Int> = Tensor::from_data(TensorData::new(text(1), [TEXTS * LENGTH]), &device);
    let mask = generate_autoregressive_mask(TEXTS, LENGTH, &device);
    let entropy: CrossEntropyLoss = CrossEntropyLossConfig::new().init(&device);
    let optimizer = AdamWConfig::new().with_epsilon(ADAM_EPSILON).with_weight_decay(0.01).init();
    let mut training = Training { module: Some(Transformer::new(&device)), optimizer, rate: 1e-3 };
    Ok(Box::new(move || training.step(|net| entropy.forward(net.forward(texts.clone(), mask.clone()), next.clone()))))
}
