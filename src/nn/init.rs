//! Initial values of parameters.
//!
//! Fans are those of a weight `[outputs, inputs, …]`: the number of products in a sum of an output is `fan in`, that of
//! outputs that an input contributes to is `fan out`. Numbers are drawn in single precision for halves.

use crate::random::Generator;
use crate::tensor::{Shape, Tensor};
use crate::{Array, FloatElement};

/// Which fan a scale depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fan {
    /// The variance of values is kept.
    In,
    /// The variance of gradients is kept.
    Out,
}

/// Gains of activation functions: the factor by which initial weights are larger, to make up for it.
///
/// The values are those of PyTorch's `calculate_gain`.
pub mod gain {
    /// That of a linear function, and of `sigmoid`.
    pub const LINEAR: f64 = 1.0;
    /// That of `tanh`.
    pub const TANH: f64 = 5.0 / 3.0;
    /// That of the rectifier: √2.
    pub const RELU: f64 = std::f64::consts::SQRT_2;
    /// That of SELU.
    pub const SELU: f64 = 0.75;

    /// That of the leaky rectifier with a slope.
    #[must_use]
    pub fn leaky_relu(slope: f64) -> f64 {
        (2.0 / (1.0 + slope * slope)).sqrt()
    }
}

/// Returns `1 / √fan`, the bound of the initial values that PyTorch's layers have.
pub(super) fn bound_of_fan(fan: usize) -> f64 {
    if fan == 0 { 0.0 } else { 1.0 / (fan as f64).sqrt() }
}

/// Returns a shape as plain lengths, and the number of elements.
#[track_caller]
fn known(shape: impl Into<Shape>) -> (Vec<usize>, usize) {
    let shape = Tensor::<bool>::zeros(shape);
    (shape.shape().to_vec(), shape.len())
}

/// Returns the fans of a weight.
///
/// # Panics
///
/// When it has fewer than two axes.
#[track_caller]
fn fans(shape: &[usize]) -> [usize; 2] {
    let [outputs, inputs, rest @ ..] = shape else {
        let what = format!("a tensor of shape {shape:?} has no fans");
        jit_core::misuse::Misuse::new(what, crate::Site::here())
            .hint("a weight has the shape [outputs, inputs, …]; use `uniform` or `normal` for others")
            .panic()
    };
    let each: usize = rest.iter().product();
    [inputs * each, outputs * each]
}

#[track_caller]
fn deviation(shape: &[usize], fan: Fan, gain: f64) -> f64 {
    let [inputs, outputs] = fans(shape);
    let count = if fan == Fan::In { inputs } else { outputs };
    gain * bound_of_fan(count)
}

/// Returns `scale · x + shift` of random numbers. Scale and shift are opaque, so others need no other kernel.
#[track_caller]
fn scaled<U: FloatElement, T: FloatElement>(x: &Array<U>, scale: f64, shift: f64) -> Array<T> {
    x.mul_add(Array::opaque(U::from_f64(scale)), Array::opaque(U::from_f64(shift))).cast()
}

/// Returns numbers that are uniform from `low` to `high`.
#[must_use]
#[track_caller]
pub fn uniform<T: FloatElement>(shape: impl Into<Shape>, low: f64, high: f64, rng: &mut Generator) -> Tensor<T> {
    let (shape, count) = known(shape);
    let numbers = match T::TYPE.bits() {
        64 => scaled(&rng.random::<f64>(count), high - low, low),
        _ => scaled(&rng.random::<f32>(count), high - low, low),
    };
    Tensor::from_array(numbers, shape)
}

/// Returns normal numbers.
#[must_use]
#[track_caller]
pub fn normal<T: FloatElement>(shape: impl Into<Shape>, mean: f64, deviation: f64, rng: &mut Generator) -> Tensor<T> {
    let (shape, count) = known(shape);
    let numbers = match T::TYPE.bits() {
        64 => scaled::<f64, T>(&rng.normal(0.0_f64, 1.0_f64, count), deviation, mean),
        _ => scaled::<f32, T>(&rng.normal(0.0_f32, 1.0_f32, count), deviation, mean),
    };
    Tensor::from_array(numbers, shape)
}

/// Returns normal numbers that are between two bounds.
///
/// Each is a quantile of the distribution: of a number that is uniform between the probabilities of the bounds.
#[must_use]
#[track_caller]
pub fn truncated_normal<T: FloatElement>(
    shape: impl Into<Shape>,
    mean: f64,
    deviation: f64,
    bounds: [f64; 2],
    rng: &mut Generator,
) -> Tensor<T> {
    let (shape, count) = known(shape);
    let probability = |bound: f64| {
        let distance = Array::<f64>::opaque((mean - bound) / (deviation * std::f64::consts::SQRT_2));
        distance.erfc() * 0.5
    };
    let [low, high] = bounds.map(probability);
    let uniform = rng.random::<f64>(count).mul_add(high - &low, low);
    let numbers = scaled::<f64, f64>(&crate::random::normal_from_uniform(&uniform), deviation, mean);
    let [low, high] = bounds.map(Array::<f64>::opaque);
    Tensor::from_array(numbers.clamp(low, high).cast::<T>(), shape)
}

/// Returns uniform numbers in ±g √(3 / fan): K. He, X. Zhang, S. Ren, J. Sun, “Delving Deep into Rectifiers”, 2015.
///
/// # Panics
///
/// When the shape has fewer than two axes.
#[must_use]
#[track_caller]
pub fn kaiming_uniform<T: FloatElement>(
    shape: impl Into<Shape>,
    fan: Fan,
    gain: f64,
    rng: &mut Generator,
) -> Tensor<T> {
    let (shape, _) = known(shape);
    let bound = 3.0_f64.sqrt() * deviation(&shape, fan, gain);
    uniform(shape, -bound, bound, rng)
}

/// Returns normal numbers whose deviation is g / √fan: see [`kaiming_uniform`].
///
/// # Panics
///
/// As [`kaiming_uniform`].
#[must_use]
#[track_caller]
pub fn kaiming_normal<T: FloatElement>(shape: impl Into<Shape>, fan: Fan, gain: f64, rng: &mut Generator) -> Tensor<T> {
    let (shape, _) = known(shape);
    let deviation = deviation(&shape, fan, gain);
    normal(shape, 0.0, deviation, rng)
}

/// Returns the deviation of Glorot and Bengio.
#[track_caller]
fn xavier(shape: &[usize], gain: f64) -> f64 {
    let [inputs, outputs] = fans(shape);
    gain * std::f64::consts::SQRT_2 * bound_of_fan(inputs + outputs)
}

/// Returns uniform numbers in ±g √(6 / (fan in + fan out)): X. Glorot, Y. Bengio, “Understanding the Difficulty of
/// Training Deep Feedforward Neural Networks”, 2010.
///
/// # Panics
///
/// When the shape has fewer than two axes.
#[must_use]
#[track_caller]
pub fn xavier_uniform<T: FloatElement>(shape: impl Into<Shape>, gain: f64, rng: &mut Generator) -> Tensor<T> {
    let (shape, _) = known(shape);
    let bound = 3.0_f64.sqrt() * xavier(&shape, gain);
    uniform(shape, -bound, bound, rng)
}

/// Returns normal numbers whose deviation is g √(2 / (fan in + fan out)): see [`xavier_uniform`].
///
/// # Panics
///
/// As [`xavier_uniform`].
#[must_use]
#[track_caller]
pub fn xavier_normal<T: FloatElement>(shape: impl Into<Shape>, gain: f64, rng: &mut Generator) -> Tensor<T> {
    let (shape, _) = known(shape);
    let deviation = xavier(&shape, gain);
    normal(shape, 0.0, deviation, rng)
}

/// Returns a matrix `g Q` whose rows, or columns if there are fewer, are orthonormal but for the gain: A. Saxe,
/// J. McClelland, S. Ganguli, “Exact Solutions to the Nonlinear Dynamics of Learning in Deep Linear Neural Networks”,
/// 2014. The axes behind the first one count as one.
///
/// The matrix is made by the host, which reads random numbers.
///
/// # Panics
///
/// When the shape has fewer than two axes, or the random numbers cannot be computed.
#[must_use]
#[track_caller]
pub fn orthogonal<T: FloatElement>(shape: impl Into<Shape>, gain: f64, rng: &mut Generator) -> Tensor<T> {
    let (shape, count) = known(shape);
    let _ = fans(&shape);
    let (rows, columns) = (shape[0], count.checked_div(shape[0]).unwrap_or(0));
    let (few, many) = (rows.min(columns), rows.max(columns));
    let mut vectors = match normal::<f64>([few, many], 0.0, 1.0, rng).to_vec() {
        Ok(numbers) => numbers,
        Err(error) => jit_core::misuse::Misuse::new(error.to_string(), crate::Site::here()).panic(),
    };
    orthonormalise(&mut vectors, many);
    let at = |row: usize, column: usize| {
        if rows <= columns { vectors[row * many + column] } else { vectors[column * many + row] }
    };
    let elements = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let elements: Vec<T> = elements.map(|(row, column)| T::from_f64(gain * at(row, column))).collect();
    Tensor::from_array(elements, shape)
}

/// Makes vectors of a length orthonormal, by Gram and Schmidt's method, twice for the sake of rounding.
fn orthonormalise(vectors: &mut [f64], length: usize) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for end in (0..vectors.len()).step_by(length.max(1)) {
        let (before, rest) = vectors.split_at_mut(end);
        let vector = &mut rest[..length];
        for other in [&*before, &*before].into_iter().flat_map(|before| before.chunks(length)) {
            let share = dot(vector, other);
            vector.iter_mut().zip(other).for_each(|(x, other)| *x -= share * other);
        }
        let norm = dot(vector, vector).sqrt();
        vector.iter_mut().for_each(|x| *x /= norm);
    }
}
