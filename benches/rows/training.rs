//! Rows `N…`: steps of training of the networks of the examples `digits` and `language_model`, frozen.
//!
//! The same networks in candle, burn, JAX and PyTorch are in `benches/peers/`. In all of them the `n`-th matrix has
//! the same initial values, its rows being `1 / √fan-in` at most; biases are zero.

#[path = "../../examples/digits/nets.rs"]
#[allow(dead_code, reason = "the example has another network, too")]
mod digits_nets;
#[path = "../../examples/language_model/net.rs"]
mod language_model_net;

use std::cell::RefCell;

use jit::nn::{self, Model, Module};
use jit::optim::{Adam, AdamW};
use jit::prelude::*;

use crate::inputs::{hash32, u01s};
use crate::measure::{Bench, RowError, Unit, check, print_time};
use crate::throughput::resident;
use digits_nets::{Convolutional, conv};
use language_model_net::{CONTEXT, Dimensions, Net};

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
pub(crate) fn measure_steps(
    bench: &Bench,
    row: &'static str,
    expected: (f64, f64),
    step: impl Fn() -> jit::Result<Float>,
) -> Result<(), RowError> {
    let once = || -> Result<Float, RowError> {
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
/// The pixels of a digit.
const PIXELS: usize = 64;

#[derive(Clone, Traverse)]
struct Reading {
    net: Convolutional,
    adam: Adam<Convolutional>,
}

#[freeze]
fn step_of_reading(state: &mut Reading, pictures: &Tensor<f32>, digits: &Tensor<u32>) -> Tensor<f32> {
    let loss = |net: &mut Convolutional| nn::cross_entropy(&net.forward(pictures), digits);
    let (loss, gradient) = nn::value_and_grad(&mut state.net, loss).expect("the loss has derivatives");
    state.adam.step(&mut state.net, &gradient);
    loss
}

/// N01: a step of training of a small convolutional network with batch normalisation, by Adam.
pub(crate) fn digits(bench: &Bench) -> Result<(), RowError> {
    let mut net = conv(&mut jit::random::rng(1));
    initialise(&mut net)?;
    let adam = Adam::new(&net, 0.002);
    let state = RefCell::new(Reading { net, adam });
    let pictures = Tensor::from_array(resident(u01s(DIGITS * PIXELS, 1, |u| u))?, [DIGITS, PIXELS]);
    let wanted = Tensor::from(numbers(DIGITS, 10));
    measure_steps(bench, "N01", (1.07306, 1e-4), || {
        let mut state = state.borrow_mut();
        let loss = step_of_reading(&mut state, &pictures, &wanted);
        jit::eval(&(&*state, &loss))?;
        Ok(loss.array().clone())
    })
}

const TEXTS: usize = 32;
const CHARACTERS: usize = 72;
const DIMENSIONS: Dimensions = Dimensions { width: 128, heads: 4, blocks: 3 };

#[derive(Clone, Traverse)]
struct Writing {
    net: Net,
    adam: AdamW<Net>,
}

#[freeze]
fn step_of_writing(state: &mut Writing, texts: &Tensor<u32>, next: &Tensor<u32>) -> Tensor<f32> {
    let loss = |net: &mut Net| {
        let scores = net.forward(texts);
        nn::cross_entropy(&scores.reshape([next.width(), scores.size(2)]), &next.ravel())
    };
    let (loss, gradient) = nn::value_and_grad(&mut state.net, loss).expect("the loss has derivatives");
    state.adam.step(&mut state.net, &gradient);
    loss
}

/// N02: a step of training of a transformer of 0.6 million parameters on 2048 characters, by AdamW.
pub(crate) fn transformer(bench: &Bench) -> Result<(), RowError> {
    let mut net = Net::new(CHARACTERS, DIMENSIONS, &mut jit::random::rng(1));
    initialise(&mut net)?;
    let adam = AdamW::new(&net, 1e-3);
    let state = RefCell::new(Writing { net, adam });
    let all = numbers(TEXTS * CONTEXT + 1, CHARACTERS as u32);
    let part = |first: usize| {
        let part = all.slice(first..first + TEXTS * CONTEXT).make_opaque();
        jit::eval(&part).map(|()| Tensor::from_array(part, [TEXTS, CONTEXT]))
    };
    let (texts, next) = (part(0)?, part(1)?);
    measure_steps(bench, "N02", (3.44711, 1e-4), || {
        let mut state = state.borrow_mut();
        let loss = step_of_writing(&mut state, &texts, &next);
        jit::eval(&(&*state, &loss))?;
        Ok(loss.array().clone())
    })
}
