//! Rows `A…`: derivatives in reverse mode.

use std::cell::RefCell;

use jit::prelude::*;

use crate::inputs::{checksum, u01s};
use crate::measure::{Bench, RowError};
use crate::throughput::resident;
use crate::training::measure_steps;

const LANES: usize = 1 << 20;
const STEPS: u32 = 1000;
const EXPECTED: (f64, f64) = (10_466_640_323.5, 1e-6);

#[jit]
fn chain(x: &Float, steps: u32) -> Float {
    let (mut y, mut step) = (x.clone(), UInt::from(0));
    while step < steps {
        y = &y * x;
        step += 1;
    }
    y
}

/// The gradient of the sum of a thousand and first powers.
fn powers(bench: &Bench, row: &'static str, function: impl Fn(&Float) -> jit::Result<Float>) -> Result<(), RowError> {
    let x = resident(u01s(LANES, 1, |u| 0.999 + 0.002 * u))?;
    let gradient = || {
        let mut x = x.clone();
        x.enable_grad();
        function(&x).and_then(|y| y.backward()).expect("the power has a derivative");
        x.grad()
    };
    bench.throughput(row, EXPECTED, gradient, |gradient| Ok(checksum(&gradient.to_vec()?)))
}

/// A01.unroll: products recorded one by one; bound by memory for what one packet keeps.
pub(crate) fn unrolled(bench: &Bench) -> Result<(), RowError> {
    powers(bench, "A01.unroll", |x| Ok((0..STEPS).fold(x.clone(), |y, _| y * x)))
}

/// A01.loop: a recorded loop; bound by arithmetic.
pub(crate) fn recorded(bench: &Bench) -> Result<(), RowError> {
    powers(bench, "A01.loop", |x| Ok(chain(x, STEPS)))
}

/// A01.evaluated: one kernel for each product; bound by memory.
pub(crate) fn evaluated(bench: &Bench) -> Result<(), RowError> {
    powers(bench, "A01.evaluated", |x| {
        let mut y = x.clone();
        for _ in 0..STEPS {
            y *= x;
            jit::eval(&y)?;
        }
        Ok(y)
    })
}

/// The weights and biases of three layers.
#[derive(Clone, Traverse)]
struct Network {
    weights: [Tensor<f32>; 3],
    biases: [Tensor<f32>; 3],
}

const BATCH: usize = 1 << 14;
const WIDTH: usize = 64;

impl Network {
    fn new() -> Result<Self, RowError> {
        let scale = (12.0_f32 / 64.0).sqrt();
        let weight = |columns: usize, seed: u32| {
            let values = resident(u01s(WIDTH * columns, seed, |u| (u - 0.5) * scale))?;
            Ok::<_, RowError>(Tensor::from_array(values, [WIDTH, columns]))
        };
        let bias = |columns: usize| {
            let zeros = Float::zeros(columns).make_opaque();
            jit::eval(&zeros).map(|()| Tensor::from_array(zeros, [1, columns]))
        };
        Ok(Network {
            weights: [weight(WIDTH, 2)?, weight(WIDTH, 3)?, weight(1, 4)?],
            biases: [bias(WIDTH)?, bias(WIDTH)?, bias(1)?],
        })
    }

    fn at(&self, x: &Tensor<f32>) -> Tensor<f32> {
        let layer = |x: &Tensor<f32>, layer: usize| x.matmul(&self.weights[layer]) + &self.biases[layer];
        let hidden = layer(&layer(x, 0).max(0.0), 1).max(0.0);
        layer(&hidden, 2)
    }
}

/// A step of gradient descent on the mean square error; returns the error before it.
fn descend(network: &mut Network, x: &Tensor<f32>, wanted: &Tensor<f32>) -> Float {
    let loss = |network: &Network| {
        let rest = network.at(x) - wanted;
        (&rest * &rest).array().mean()
    };
    let (loss, slope) = jit::ad::value_and_grad(loss)(network).expect("the loss has derivatives");
    let layers = network.weights.iter_mut().chain(&mut network.biases);
    for (parameter, slope) in layers.zip(slope.weights.iter().chain(&slope.biases)) {
        *parameter = &*parameter - slope * 0.05;
    }
    loss
}

#[freeze]
fn frozen_descend(network: &mut Network, x: &Tensor<f32>, wanted: &Tensor<f32>) -> Float {
    descend(network, x, wanted)
}

type Step = fn(&mut Network, &Tensor<f32>, &Tensor<f32>) -> Float;

fn training(bench: &Bench, row: &'static str, step: Step) -> Result<(), RowError> {
    let features = resident(u01s(BATCH * WIDTH, 1, |u| u))?;
    let x = Tensor::from_array(features, [BATCH, WIDTH]);
    let wanted = {
        let host = x.array().to_vec()?;
        let values = host.chunks_exact(WIDTH).map(|row| row[..8].iter().sum::<f32>().sin());
        Tensor::from_array(Float::from(values.collect::<Vec<_>>()), [BATCH, 1])
    };
    let network = RefCell::new(Network::new()?);
    measure_steps(bench, row, (0.221166, 1e-4), || {
        let mut network = network.borrow_mut();
        let loss = step(&mut network, &x, &wanted);
        jit::eval(&(&*network, &loss))?;
        Ok(loss)
    })
}

/// A02: a step of training a network of 64-64-64-1 on 2^14 rows, frozen; bound by arithmetic.
pub(crate) fn trained(bench: &Bench) -> Result<(), RowError> {
    training(bench, "A02", frozen_descend)
}

/// A02.unfrozen: the same, traced again for each step.
pub(crate) fn trained_unfrozen(bench: &Bench) -> Result<(), RowError> {
    training(bench, "A02.unfrozen", descend)
}
