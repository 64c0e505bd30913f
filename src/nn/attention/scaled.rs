//! Attention of queries to keys, by their scalar products.

use jit_core::misuse::Misuse;

use crate::nn::{Dropout, Module, is_half};
use crate::tensor::{Tensor, keep_dims};
use crate::{Array, FloatElement, Site, Traverse, UInt};

/// Attention `softmax(q kᵀ · scale + bias) v` (A. Vaswani et al., “Attention Is All You Need”, 2017), over the last two
/// axes: queries are `[…, targets, width]`, keys `[…, sources, width]`, values `[…, sources, width of values]`, and
/// results `[…, targets, width of values]`. Leading axes broadcast.
///
/// The third axis from the end has the heads. If there are more heads of queries than of keys and values, each of the
/// latter serves a group of neighbouring ones of the former (J. Ainslie et al., “GQA”, 2023).
///
/// A query that may attend to no key gets zeros. Halves are computed in single precision, and results rounded once.
///
/// ```
/// use jit::nn::Attention;
/// use jit::prelude::*;
///
/// let x = Tensor::<f32>::ones([2, 8, 5, 16]); // batch, heads, length, width
/// assert_eq!(Attention::new().causal().attend(&x, &x, &x).shape(), [2, 8, 5, 16]);
/// ```
#[derive(Clone, Traverse)]
pub struct Attention<T: FloatElement = f32> {
    /// Which keys each query may attend to; it broadcasts to `[…, targets, sources]`.
    pub mask: Option<Tensor<bool>>,
    /// What is added before the softmax; it broadcasts to `[…, targets, sources]`.
    pub bias: Option<Tensor<T>>,
    /// Whether a query attends to no key behind its own place.
    pub is_causal: bool,
    /// The factor of scalar products; by default `1 / √width`.
    pub scale: Option<f64>,
}

impl<T: FloatElement> Default for Attention<T> {
    fn default() -> Self {
        Attention { mask: None, bias: None, is_causal: false, scale: None }
    }
}

impl<T: FloatElement> Attention<T> {
    /// Creates attention of all queries to all keys.
    #[must_use]
    pub fn new() -> Self {
        Attention::default()
    }

    /// Makes queries attend to no key behind their own place.
    #[must_use]
    pub fn causal(self) -> Self {
        Attention { is_causal: true, ..self }
    }

    /// Sets which keys each query may attend to: those where the mask is true.
    #[must_use]
    pub fn with_mask(self, mask: Tensor<bool>) -> Self {
        Attention { mask: Some(mask), ..self }
    }

    /// Sets what is added before the softmax.
    #[must_use]
    pub fn with_bias(self, bias: Tensor<T>) -> Self {
        Attention { bias: Some(bias), ..self }
    }

    /// Sets the factor of scalar products.
    #[must_use]
    pub fn with_scale(self, scale: f64) -> Self {
        Attention { scale: Some(scale), ..self }
    }

    /// Returns the weighted means of values.
    ///
    /// # Panics
    ///
    /// When the shapes do not fit together.
    #[must_use]
    #[track_caller]
    pub fn attend(&self, queries: &Tensor<T>, keys: &Tensor<T>, values: &Tensor<T>) -> Tensor<T> {
        self.attend_with(queries, keys, values, &mut None)
    }

    /// Like [`Attention::attend`], with dropout of weights.
    #[track_caller]
    pub(super) fn attend_with(
        &self,
        queries: &Tensor<T>,
        keys: &Tensor<T>,
        values: &Tensor<T>,
        dropout: &mut Option<Dropout>,
    ) -> Tensor<T> {
        check_shapes(queries, keys, values);
        let (keys, values) = (for_each_head(keys, queries), for_each_head(values, queries));
        if is_half::<T>() {
            let (queries, keys, values) = (queries.cast::<f32>(), keys.cast::<f32>(), values.cast::<f32>());
            return dropout.forward(&self.weights(&queries, &keys)).matmul(&values).cast();
        }
        dropout.forward(&self.weights(queries, &keys)).matmul(&values)
    }

    /// Returns the weight of each key for each query.
    #[track_caller]
    fn weights<C: FloatElement>(&self, queries: &Tensor<C>, keys: &Tensor<C>) -> Tensor<C> {
        let scale = match self.scale {
            Some(scale) => Array::from(C::from_f64(scale)),
            None => Array::<C>::from(queries.size(-1)).rsqrt(),
        };
        let mut scores = (queries * scale).matmul(&keys.swap_axes(-1, -2));
        if let Some(bias) = &self.bias {
            scores += bias.cast::<C>();
        }
        for mask in self.mask.iter().cloned().chain(self.is_causal.then(|| causal_mask(&scores))) {
            scores = mask.select(scores, C::from_f64(f64::NEG_INFINITY));
        }
        softmax_or_zero(&scores)
    }
}

/// Returns `softmax(q kᵀ / √width) v`: see [`Attention`] for shapes, masks and other settings.
///
/// # Panics
///
/// As [`Attention::attend`].
#[must_use]
#[track_caller]
pub fn scaled_dot_product_attention<T: FloatElement>(
    queries: &Tensor<T>,
    keys: &Tensor<T>,
    values: &Tensor<T>,
) -> Tensor<T> {
    Attention::new().attend(queries, keys, values)
}

/// Returns which keys are not behind the place of a query.
#[track_caller]
fn causal_mask<C: FloatElement>(scores: &Tensor<C>) -> Tensor<bool> {
    Tensor::from_fn([scores.size(-2), scores.size(-1)], |at: &[UInt]| at[1].le(&at[0]))
}

/// Returns the softmax along the last axis; zeros where all scores are minus infinity.
#[track_caller]
fn softmax_or_zero<C: FloatElement>(scores: &Tensor<C>) -> Tensor<C> {
    let largest = scores.detach().reduce_max(keep_dims(-1));
    let largest = largest.eq(C::from_f64(f64::NEG_INFINITY)).select(C::default(), largest);
    let power = (scores - largest).exp();
    let sum = power.sum(keep_dims(-1));
    power / sum.eq(C::default()).select(C::ONE, sum)
}

/// Repeats the heads of keys or values so that there is one for each head of queries.
#[track_caller]
fn for_each_head<T: FloatElement>(x: &Tensor<T>, queries: &Tensor<T>) -> Tensor<T> {
    if x.ndim() < 3 || queries.ndim() < 3 || x.size(-3) == queries.size(-3) || x.size(-3) == 1 {
        return x.clone();
    }
    x.repeat(queries.size(-3) / x.size(-3), -3)
}

#[track_caller]
fn check_shapes<T: FloatElement>(queries: &Tensor<T>, keys: &Tensor<T>, values: &Tensor<T>) {
    let tensors = [queries, keys, values];
    let fits = tensors.iter().all(|x| x.ndim() >= 2)
        && queries.size(-1) == keys.size(-1)
        && keys.size(-2) == values.size(-2)
        && tensors.iter().all(|x| x.ndim() < 3 || queries.ndim() < 3 || is_group(x, queries));
    if !fits {
        let [q, k, v] = tensors.map(|x| x.sizes());
        Misuse::new(format!("queries {q:?} cannot attend to keys {k:?} and values {v:?}"), Site::here())
            .hint(
                "shapes are […, targets, width], […, sources, width] and […, sources, width of values]; the heads of \
                queries, the third axis from the end, are a multiple of those of keys and values",
            )
            .panic();
    }
}

/// Returns whether each head of keys serves a whole number of heads of queries.
#[track_caller]
fn is_group<T: FloatElement>(x: &Tensor<T>, queries: &Tensor<T>) -> bool {
    let (heads, of_queries) = (x.size(-3), queries.size(-3));
    of_queries == 1 || heads == of_queries || (heads > 0 && of_queries % heads == 0)
}
