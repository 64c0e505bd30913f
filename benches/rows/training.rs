//! Rows `N…`: steps of training of small networks, frozen, as in the examples `digits` and `language_model`.
//!
//! The same networks in candle, burn, JAX and PyTorch are in `benches/peers/`. In all of them the `n`-th matrix has
//! the same initial values, its rows being `1 / √fan-in` at most; biases are zero.

use std::cell::RefCell;

use jit::nn::{
    self, BatchNorm2d, Conv2d, Embedding, LayerNorm, Linear, MaxPool2d, Model, Module, MultiHeadAttention, Relu,
    gelu_tanh,
};
use jit::optim::{Adam, AdamW};
use jit::prelude::*;
use jit::random::Generator;

use crate::inputs::{hash32, u01s};
use crate::measure::{Bench, RowError, Unit, check, print_time};
use crate::throughput::resident;

/// The seed of the first matrix.
const FIRST_SEED: u32 = 100;

/// Gives each matrix of a network its initial values, and makes biases zero.
fn initialise<M: Model>(net: &mut M) -> jit::Result<()> {
    let mut state = net.state_dict();
    let names: Vec<String> = state.names().map(str::to_owned).collect();
    let mut seed = FIRST_SEED;
    for name in names {
        let shape = state.shape(&name).unwrap_or_default().to_vec();
        if shape.len() > 1 {
            let bound = 1.0 / (shape[1..].iter().product::<usize>() as f32).sqrt();
            let values = u01s(shape.iter().product(), seed, |u| (2.0 * u - 1.0) * bound);
            state.insert(name, &Tensor::from_array(values, shape));
            seed += 1;
        } else if name.ends_with("bias") {
            state.insert(name, &Tensor::<f32>::zeros(shape));
        }
    }
    net.load_state_dict(&state)
}

/// Numbers below a limit.
fn numbers(count: usize, limit: u32) -> UInt {
    (0..count as u32).map(|index| hash32(index) % limit).collect::<Vec<_>>().into()
}

/// Measures a step, after ten of them whose last loss is the checksum.
fn measure_steps(
    bench: &Bench,
    row: &'static str,
    expected: (f64, f64),
    step: impl Fn() -> jit::Result<Tensor<f32>>,
) -> Result<(), RowError> {
    let once = || -> Result<Tensor<f32>, RowError> {
        let loss = step()?;
        jit::sync()?;
        Ok(loss)
    };
    let mut loss = once()?;
    for _ in 1..10 {
        loss = once()?;
    }
    let value = f64::from(loss.item()?);
    check(row, value, expected)?;
    let time = bench.median(|| once().map(drop))?;
    print_time(row, "time", time, Unit::Milliseconds, Some(value));
    Ok(())
}

/// The digits of a step.
const DIGITS: usize = 32;
/// Rows and columns of a digit.
const SIDE: usize = 8;

/// A network of two convolutions and a linear layer.
#[derive(Clone, Traverse)]
struct Reader {
    first: Conv2d,
    first_norm: BatchNorm2d,
    second: Conv2d,
    second_norm: BatchNorm2d,
    pool: MaxPool2d,
    last: Linear,
}

impl Reader {
    fn new(rng: &mut Generator) -> Reader {
        Reader {
            first: Conv2d::new(1, 8, [3, 3], rng).with_paddings([1, 1]),
            first_norm: BatchNorm2d::new(8),
            second: Conv2d::new(8, 16, [3, 3], rng).with_paddings([1, 1]),
            second_norm: BatchNorm2d::new(16),
            pool: MaxPool2d::new([2, 2]),
            last: Linear::new(16 * SIDE * SIDE / 4, 10, rng),
        }
    }
}

impl Module<Tensor<f32>> for Reader {
    type Output = Tensor<f32>;

    fn forward(&mut self, x: &Tensor<f32>) -> Tensor<f32> {
        let x = Relu.forward(&self.first_norm.forward(&self.first.forward(x)));
        let x = Relu.forward(&self.second_norm.forward(&self.second.forward(&x)));
        let x = self.pool.forward(&x);
        self.last.forward(&x.reshape([x.size(0), x.size(1) * x.size(2) * x.size(3)]))
    }
}

#[derive(Clone, Traverse)]
struct ReaderTraining {
    net: Reader,
    adam: Adam<Reader>,
}

#[freeze]
fn step_of_reader(state: &mut ReaderTraining, pictures: &Tensor<f32>, digits: &Tensor<u32>) -> Tensor<f32> {
    let loss = |net: &mut Reader| nn::cross_entropy(&net.forward(pictures), digits);
    let (loss, gradient) = nn::value_and_grad(&mut state.net, loss).expect("the loss has derivatives");
    state.adam.step(&mut state.net, &gradient);
    loss
}

/// N01: a step of training of a small convolutional network with batch normalisation, by Adam.
pub(crate) fn digits(bench: &Bench) -> Result<(), RowError> {
    let mut net = Reader::new(&mut jit::random::rng(1));
    initialise(&mut net)?;
    let adam = Adam::new(&net, 0.002);
    let state = RefCell::new(ReaderTraining { net, adam });
    let pictures = Tensor::from_array(resident(u01s(DIGITS * SIDE * SIDE, 1, |u| u))?, [DIGITS, 1, SIDE, SIDE]);
    let wanted = Tensor::from(numbers(DIGITS, 10));
    measure_steps(bench, "N01", (1.07306, 1e-4), || {
        let mut state = state.borrow_mut();
        let loss = step_of_reader(&mut state, &pictures, &wanted);
        jit::eval(&(&*state, &loss))?;
        Ok(loss)
    })
}

const TEXTS: usize = 32;
const LENGTH: usize = 64;
const CHARACTERS: usize = 72;
const WIDTH: usize = 128;
const HEADS: usize = 4;
const BLOCKS: usize = 3;

/// Attention, then two linear layers, each added to its input.
#[derive(Clone, Traverse)]
struct Block {
    attention_norm: LayerNorm,
    attention: MultiHeadAttention,
    linear_norm: LayerNorm,
    expand: Linear,
    shrink: Linear,
}

impl Block {
    fn new(rng: &mut Generator) -> Block {
        Block {
            attention_norm: LayerNorm::new([WIDTH]),
            attention: MultiHeadAttention::new(WIDTH, HEADS, rng).causal(),
            linear_norm: LayerNorm::new([WIDTH]),
            expand: Linear::new(WIDTH, 4 * WIDTH, rng),
            shrink: Linear::new(4 * WIDTH, WIDTH, rng),
        }
    }
}

impl Module<Tensor<f32>> for Block {
    type Output = Tensor<f32>;

    fn forward(&mut self, x: &Tensor<f32>) -> Tensor<f32> {
        let x = x + self.attention.forward(&self.attention_norm.forward(x));
        let hidden = gelu_tanh(&self.expand.forward(&self.linear_norm.forward(&x)));
        x + self.shrink.forward(&hidden)
    }
}

/// A transformer that only looks back.
#[derive(Clone, Traverse)]
struct Transformer {
    characters: Embedding,
    places: Embedding,
    blocks: Vec<Block>,
    norm: LayerNorm,
    head: Linear,
}

impl Transformer {
    fn new(rng: &mut Generator) -> Transformer {
        Transformer {
            characters: Embedding::new(CHARACTERS, WIDTH, rng),
            places: Embedding::new(LENGTH, WIDTH, rng),
            blocks: (0..BLOCKS).map(|_| Block::new(rng)).collect(),
            norm: LayerNorm::new([WIDTH]),
            head: Linear::new(WIDTH, CHARACTERS, rng),
        }
    }
}

impl Module<Tensor<u32>> for Transformer {
    type Output = Tensor<f32>;

    fn forward(&mut self, texts: &Tensor<u32>) -> Tensor<f32> {
        let places = self.places.forward(&Tensor::<u32>::arange([texts.size(1)]));
        let mut x = self.characters.forward(texts) + places;
        for block in &mut self.blocks {
            x = block.forward(&x);
        }
        self.head.forward(&self.norm.forward(&x))
    }
}

#[derive(Clone, Traverse)]
struct TransformerTraining {
    net: Transformer,
    adam: AdamW<Transformer>,
}

#[freeze]
fn step_of_transformer(state: &mut TransformerTraining, texts: &Tensor<u32>, next: &Tensor<u32>) -> Tensor<f32> {
    let loss = |net: &mut Transformer| {
        let scores = net.forward(texts);
        nn::cross_entropy(&scores.reshape([next.width(), scores.size(2)]), &next.ravel())
    };
    let (loss, gradient) = nn::value_and_grad(&mut state.net, loss).expect("the loss has derivatives");
    state.adam.step(&mut state.net, &gradient);
    loss
}

/// N02: a step of training of a transformer of 0.6 million parameters on 2048 characters, by AdamW.
pub(crate) fn transformer(bench: &Bench) -> Result<(), RowError> {
    let mut net = Transformer::new(&mut jit::random::rng(1));
    initialise(&mut net)?;
    let adam = AdamW::new(&net, 1e-3);
    let state = RefCell::new(TransformerTraining { net, adam });
    let all = numbers(TEXTS * LENGTH + 1, CHARACTERS as u32);
    let part = |first: usize| {
        let part = all.slice(first..first + TEXTS * LENGTH).make_opaque();
        jit::eval(&part).map(|()| Tensor::from_array(part, [TEXTS, LENGTH]))
    };
    let (texts, next) = (part(0)?, part(1)?);
    measure_steps(bench, "N02", (3.44711, 1e-4), || {
        let mut state = state.borrow_mut();
        let loss = step_of_transformer(&mut state, &texts, &next);
        jit::eval(&(&*state, &loss))?;
        Ok(loss)
    })
}
