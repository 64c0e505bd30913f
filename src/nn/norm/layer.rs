//! Normalisation over trailing axes.

use super::{Affine, EPSILON, Moments, identity};
use crate::nn::check::check_last_axes;
use crate::nn::{Module, Parameter, is_half};
use crate::tensor::{Shape, Tensor, keep_dims};
use crate::{FloatElement, Size, Traverse};

/// Normalisation over the last axes: `y = γ (x − mean) / √(variance + ε) + β` with one factor and summand for each
/// element of these axes (J. L. Ba et al., “Layer Normalization”, 2016). Halves are computed in single precision.
///
/// ```
/// use jit::nn::{LayerNorm, Module};
/// use jit::prelude::*;
///
/// let norm: LayerNorm = LayerNorm::new(2);
/// let y = norm.infer(&Tensor::from([[1.0f32, 3.0], [-5.0, 5.0]])).to_vec()?;
/// assert!(y.iter().zip([-1.0, 1.0, -1.0, 1.0]).all(|(y, wanted)| (y - wanted).abs() < 1e-5));
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Debug, Traverse)]
pub struct LayerNorm<T: FloatElement = f32> {
    /// The factors γ, in the shape of the axes.
    pub weight: Option<Parameter<T>>,
    /// The summands β, in the shape of the axes.
    pub bias: Option<Parameter<T>>,
    /// The number ε that keeps quotients finite; 10⁻⁵.
    pub epsilon: f64,
    shape: Vec<usize>,
}

impl<T: FloatElement> LayerNorm<T> {
    /// Creates a layer over axes of these lengths, whose factors are one and summands zero.
    #[must_use]
    #[track_caller]
    pub fn new(shape: impl Into<Shape>) -> Self {
        let shape = lengths(shape.into());
        let (weight, bias) = identity(&shape);
        LayerNorm { weight, bias, epsilon: EPSILON, shape }
    }

    /// Removes factors and summands.
    #[must_use]
    pub fn without_affine(self) -> Self {
        LayerNorm { weight: None, bias: None, ..self }
    }

    /// Removes the summands.
    #[must_use]
    pub fn without_bias(self) -> Self {
        LayerNorm { bias: None, ..self }
    }

    /// Sets the number ε that keeps quotients finite.
    #[must_use]
    pub fn with_epsilon(self, epsilon: f64) -> Self {
        LayerNorm { epsilon, ..self }
    }

    #[track_caller]
    fn normalise<C: FloatElement>(&self, x: &Tensor<C>) -> Tensor<C> {
        let affine = Affine::new(self.weight.as_ref(), self.bias.as_ref(), &sizes(&self.shape));
        Moments::of(x, &last_axes(&self.shape)).normalise(x, self.epsilon, &affine)
    }
}

impl<T: FloatElement> Module<Tensor<T>> for LayerNorm<T> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the last axes of the input have other lengths.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        check_last_axes("a layer normalisation", x, &self.shape);
        match is_half::<T>() {
            true => self.normalise(&x.cast::<f32>()).cast(),
            false => self.normalise(x),
        }
    }
}

/// Division by the root of the mean square over the last axes: `y = γ x / √(mean(x²) + ε)` (B. Zhang, R. Sennrich,
/// “Root Mean Square Layer Normalization”, 2019). Halves are computed in single precision.
#[derive(Clone, Debug, Traverse)]
pub struct RmsNorm<T: FloatElement = f32> {
    /// The factors γ, in the shape of the axes.
    pub weight: Option<Parameter<T>>,
    /// The number ε that keeps quotients finite; by default the distance of 1 and the next number of the type that is
    /// computed in.
    pub epsilon: Option<f64>,
    shape: Vec<usize>,
}

impl<T: FloatElement> RmsNorm<T> {
    /// Creates a layer over axes of these lengths, whose factors are one.
    #[must_use]
    #[track_caller]
    pub fn new(shape: impl Into<Shape>) -> Self {
        let shape = lengths(shape.into());
        RmsNorm { weight: identity(&shape).0, epsilon: None, shape }
    }

    /// Removes the factors.
    #[must_use]
    pub fn without_affine(self) -> Self {
        RmsNorm { weight: None, ..self }
    }

    /// Sets the number ε that keeps quotients finite.
    #[must_use]
    pub fn with_epsilon(self, epsilon: f64) -> Self {
        RmsNorm { epsilon: Some(epsilon), ..self }
    }

    #[track_caller]
    fn normalise<C: FloatElement>(&self, x: &Tensor<C>) -> Tensor<C> {
        let smallest = if C::TYPE.bits() == 64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let square = x.map(|x| x.square()).mean(keep_dims(last_axes(&self.shape)));
        let scale = (square + C::from_f64(self.epsilon.unwrap_or(smallest))).rsqrt();
        Affine::new(self.weight.as_ref(), None, &sizes(&self.shape)).apply(x, scale)
    }
}

impl<T: FloatElement> Module<Tensor<T>> for RmsNorm<T> {
    type Output = Tensor<T>;

    /// # Panics
    ///
    /// When the last axes of the input have other lengths.
    #[track_caller]
    fn forward(&mut self, x: &Tensor<T>) -> Tensor<T> {
        check_last_axes("a root mean square normalisation", x, &self.shape);
        match is_half::<T>() {
            true => self.normalise(&x.cast::<f32>()).cast(),
            false => self.normalise(x),
        }
    }
}

crate::nn::convert::converted! {
    LayerNorm [] { weight, bias } { epsilon, shape }
    RmsNorm [] { weight } { epsilon, shape }
}

/// Returns a shape as plain lengths.
#[track_caller]
fn lengths(shape: Shape) -> Vec<usize> {
    Tensor::<bool>::zeros(shape).shape().to_vec()
}

fn sizes(shape: &[usize]) -> Vec<Size> {
    shape.iter().map(|&length| length.into()).collect()
}

/// Returns the numbers of as many axes at the end.
fn last_axes(shape: &[usize]) -> Vec<isize> {
    (-(shape.len() as isize)..0).collect()
}
