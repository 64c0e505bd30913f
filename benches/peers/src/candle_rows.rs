//! The networks in candle.

use std::error::Error;

use candle_core::{D, DType, Device, Result, Tensor, Var};
use candle_nn::{AdamW, BatchNorm, Linear, Module, ModuleT, Optimizer, ParamsAdamW, loss, ops};

use crate::Step;
use crate::sizes::{
    BLOCKS, CHARACTERS, DIGITS, FEATURES, HEADS, Initial, LENGTH, SIDE, TEXTS, WIDTH, numbers, pictures,
};

const DEVICE: Device = Device::Cpu;

/// All parameters of a network, while it is made.
struct Parameters {
    all: Vec<Var>,
    initial: Initial,
}

impl Parameters {
    fn new() -> Parameters {
        Parameters { all: Vec::new(), initial: Initial::new() }
    }

    fn add(&mut self, values: Tensor) -> Result<Tensor> {
        let var = Var::from_tensor(&values)?;
        self.all.push(var.clone());
        Ok(var.as_tensor().clone())
    }

    fn matrix(&mut self, shape: &[usize]) -> Result<Tensor> {
        let values = self.initial.next(shape[0], shape[1..].iter().product());
        self.add(Tensor::from_vec(values, shape, &DEVICE)?)
    }

    fn zeros(&mut self, length: usize) -> Result<Tensor> {
        self.add(Tensor::zeros(length, DType::F32, &DEVICE)?)
    }

    fn ones(&mut self, length: usize) -> Result<Tensor> {
        self.add(Tensor::ones(length, DType::F32, &DEVICE)?)
    }

    fn linear(&mut self, inputs: usize, outputs: usize) -> Result<Linear> {
        Ok(Linear::new(self.matrix(&[outputs, inputs])?, Some(self.zeros(outputs)?)))
    }

    fn batch_norm(&mut self, channels: usize) -> Result<BatchNorm> {
        let (mean, variance) =
            (Tensor::zeros(channels, DType::F32, &DEVICE)?, Tensor::ones(channels, DType::F32, &DEVICE)?);
        BatchNorm::new(channels, mean, variance, self.ones(channels)?, self.zeros(channels)?, 1e-5)
    }

    fn layer_norm(&mut self) -> Result<LayerNorm> {
        Ok(LayerNorm { weight: self.ones(WIDTH)?, bias: self.zeros(WIDTH)? })
    }
}

/// The layer of candle has no derivative: it is one operation. This is the one of several.
struct LayerNorm {
    weight: Tensor,
    bias: Tensor,
}

impl LayerNorm {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        ops::layer_norm_slow(x, &self.weight, &self.bias, 1e-5)
    }
}

struct Convolution {
    weight: Tensor,
    bias: Tensor,
}

impl Convolution {
    fn new(inputs: usize, outputs: usize, all: &mut Parameters) -> Result<Convolution> {
        Ok(Convolution { weight: all.matrix(&[outputs, inputs, 3, 3])?, bias: all.zeros(outputs)? })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.conv2d(&self.weight, 1, 1, 1, 1)?.broadcast_add(&self.bias.reshape((1, (), 1, 1))?)
    }
}

/// N01.
pub(crate) fn digits() -> std::result::Result<Step, Box<dyn Error>> {
    let mut all = Parameters::new();
    let (first, first_norm) = (Convolution::new(1, 8, &mut all)?, all.batch_norm(8)?);
    let (second, second_norm) = (Convolution::new(8, 16, &mut all)?, all.batch_norm(16)?);
    let last = all.linear(FEATURES, 10)?;
    let x = Tensor::from_vec(pictures(), (DIGITS, 1, SIDE, SIDE), &DEVICE)?;
    let wanted = Tensor::from_vec(numbers(0, DIGITS, 10), DIGITS, &DEVICE)?;
    let settings = ParamsAdamW { lr: 0.002, weight_decay: 0.0, ..ParamsAdamW::default() };
    let mut adam = AdamW::new(all.all, settings)?;
    Ok(Box::new(move || {
        let hidden = first_norm.forward_t(&first.forward(&x)?, true)?.relu()?;
        let hidden = second_norm.forward_t(&second.forward(&hidden)?, true)?.relu()?.max_pool2d(2)?;
        let loss = loss::cross_entropy(&last.forward(&hidden.flatten_from(1)?)?, &wanted)?;
        adam.backward_step(&loss)?;
        Ok(loss.to_scalar()?)
    }))
}

struct Block {
    attention_norm: LayerNorm,
    in_proj: Linear,
    out_proj: Linear,
    linear_norm: LayerNorm,
    expand: Linear,
    shrink: Linear,
}

impl Block {
    fn new(all: &mut Parameters) -> Result<Block> {
        Ok(Block {
            attention_norm: all.layer_norm()?,
            in_proj: all.linear(WIDTH, 3 * WIDTH)?,
            out_proj: all.linear(WIDTH, WIDTH)?,
            linear_norm: all.layer_norm()?,
            expand: all.linear(WIDTH, 4 * WIDTH)?,
            shrink: all.linear(4 * WIDTH, WIDTH)?,
        })
    }

    /// `mask` is −∞ for the places behind each place, and 0 for the others.
    fn attend(&self, x: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let heads = self.in_proj.forward(x)?.reshape((TEXTS, LENGTH, 3, HEADS, WIDTH / HEADS))?;
        let part = |part: usize| heads.narrow(2, part, 1)?.squeeze(2)?.transpose(1, 2)?.contiguous();
        let scale = 1.0 / ((WIDTH / HEADS) as f64).sqrt();
        let scores = (part(0)?.matmul(&part(1)?.t()?)? * scale)?.broadcast_add(mask)?;
        // The fused softmax of candle has no derivative.
        let found = ops::softmax(&scores, D::Minus1)?.matmul(&part(2)?)?;
        self.out_proj.forward(&found.transpose(1, 2)?.reshape((TEXTS, LENGTH, WIDTH))?)
    }

    fn forward(&self, x: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let x = (x + self.attend(&self.attention_norm.forward(x)?, mask)?)?;
        let hidden = self.expand.forward(&self.linear_norm.forward(&x)?)?.gelu()?;
        &x + self.shrink.forward(&hidden)?
    }
}

/// N02.
pub(crate) fn transformer() -> std::result::Result<Step, Box<dyn Error>> {
    let mut all = Parameters::new();
    let (characters, places) = (all.matrix(&[CHARACTERS, WIDTH])?, all.matrix(&[LENGTH, WIDTH])?);
    let blocks = (0..BLOCKS).map(|_| Block::new(&mut all)).collect::<Result<Vec<_>>>()?;
    let (norm, head) = (all.layer_norm()?, all.linear(WIDTH, CHARACTERS)?);
    let text = |first: usize| numbers(first, TEXTS * LENGTH, CHARACTERS as u32);
    let (texts, next) =
        (Tensor::from_vec(text(0), TEXTS * LENGTH, &DEVICE)?, Tensor::from_vec(text(1), TEXTS * LENGTH, &DEVICE)?);
    let behind = (0..LENGTH * LENGTH).map(|at| if at % LENGTH > at / LENGTH { f32::NEG_INFINITY } else { 0.0 });
    let mask = Tensor::from_vec(behind.collect(), (LENGTH, LENGTH), &DEVICE)?;
    let settings = ParamsAdamW { lr: 1e-3, weight_decay: 0.01, ..ParamsAdamW::default() };
    let mut adam = AdamW::new(all.all, settings)?;
    Ok(Box::new(move || {
        let x = characters.index_select(&texts, 0)?.reshape((TEXTS, LENGTH, WIDTH))?;
        let mut x = x.broadcast_add(&places)?;
        for block in &blocks {
            x = block.forward(&x, &mask)?;
        }
        let scores = head.forward(&norm.forward(&x)?)?.reshape((TEXTS * LENGTH, CHARACTERS))?;
        let loss = loss::cross_entropy(&scores, &next)?;
        adam.backward_step(&loss)?;
        Ok(loss.to_scalar()?)
    }))
}
