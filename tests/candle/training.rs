//! Training steps of candle through functions of ours.

use candle_core::{Device, Result, Tensor as Theirs, Var};
use jit::interop::candle::function;
use jit::prelude::*;

use crate::devices::{assert_close, on_each_device};

#[freeze]
fn layer(x: &Tensor<f32>, weight: &Tensor<f32>, bias: &Tensor<f32>) -> Tensor<f32> {
    (x.matmul(&weight.transpose()) + bias).map(|x| x.tanh())
}

/// Trains two layers by gradient descent; returns the losses and the parameters.
fn train(layer: impl Fn(&Theirs, &Var, &Var) -> Result<Theirs>) -> Result<(Vec<f32>, Vec<f32>)> {
    let numbers =
        |count: usize| (0..count).map(|number| ((number * 29) % 17) as f32 / 17.0 - 0.4).collect::<Vec<f32>>();
    let matrix = |rows, columns| Theirs::from_vec(numbers(rows * columns), (rows, columns), &Device::Cpu);
    let parameters = [matrix(8, 2)?, matrix(1, 8)?.squeeze(0)?, matrix(1, 8)?, matrix(1, 1)?.squeeze(0)?];
    let parameters = parameters.iter().map(Var::from_tensor).collect::<Result<Vec<Var>>>()?;
    let x = matrix(16, 2)?;
    let y = (x.narrow(1, 0, 1)? * x.narrow(1, 1, 1)?)?;
    let mut losses = Vec::new();
    for _ in 0..40 {
        let hidden = layer(&x, &parameters[0], &parameters[1])?;
        let loss = (layer(&hidden, &parameters[2], &parameters[3])? - &y)?.sqr()?.mean_all()?;
        let gradients = loss.backward()?;
        for parameter in &parameters {
            let gradient = gradients.get(parameter).unwrap();
            parameter.set(&(parameter.as_tensor() - (gradient * 0.3)?)?)?;
        }
        losses.push(loss.to_scalar()?);
    }
    let trained = parameters.iter().map(|parameter| parameter.flatten_all()?.to_vec1::<f32>());
    Ok((losses, trained.collect::<Result<Vec<_>>>()?.concat()))
}

// rows: I10
#[test]
fn training_by_candle_goes_through_our_functions_as_through_its_own() {
    let theirs = |x: &Theirs, weight: &Var, bias: &Var| x.matmul(&weight.t()?)?.broadcast_add(bias)?.tanh();
    let (wanted_losses, wanted) = train(theirs).unwrap();
    assert!(wanted_losses[39] < 0.5 * wanted_losses[0], "{wanted_losses:?}");
    on_each_device(|| {
        layer::clear();
        let op = function("layer", layer);
        let (losses, trained) = train(|x, weight, bias| x.apply_op3(weight, bias, op.clone())).unwrap();
        assert_close(&losses, &wanted_losses, 1e-4);
        assert_close(&trained, &wanted, 1e-3);
        // One for each layer, with gradients and without.
        assert!(layer::stats().recordings <= 4, "{:?}", layer::stats());
    });
}
