//! Losses of classes.

use super::super::activation::log_softmax;
use super::super::{as_indices, is_half};
use super::Reduction;
use crate::tensor::Tensor;
use crate::{FloatElement, Integer, Traverse};

/// The cross entropy of logits and classes: `−ln softmax(x)[y]`, the mean over all samples.
///
/// Logits have the shape `[batch, classes]` or `[batch, classes, …]`, and targets, the numbers of the classes, that
/// without the second axis. A target that is no class makes the loss NaN, unless it is ignored. With weights, a mean
/// is divided by the sum of the weights of the targets.
///
/// ```
/// use jit::nn::CrossEntropy;
/// use jit::prelude::*;
///
/// let logits = Tensor::from([[2.0f32, 0.0], [0.0, 1.0]]);
/// let loss = CrossEntropy::new().with_label_smoothing(0.1).loss(&logits, &Tensor::from([0u32, 1]));
/// assert!((loss.item()? - 0.295).abs() < 0.001);
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Traverse)]
pub struct CrossEntropy<T: FloatElement = f32> {
    /// The weight of each class.
    pub weights: Option<Tensor<T>>,
    /// The target of samples that do not count; −100 by default. Types that do not have the number have no such target.
    pub ignored: Option<i64>,
    /// The share of the target that is spread over all classes: C. Szegedy et al., 2016.
    pub label_smoothing: f64,
    /// What becomes of the losses of the samples.
    pub reduction: Reduction,
}

impl<T: FloatElement> Default for CrossEntropy<T> {
    fn default() -> Self {
        CrossEntropy { weights: None, ignored: Some(-100), label_smoothing: 0.0, reduction: Reduction::Mean }
    }
}

impl<T: FloatElement> CrossEntropy<T> {
    /// Creates the loss without weights and smoothing, whose reduction is the mean.
    #[must_use]
    pub fn new() -> Self {
        CrossEntropy::default()
    }

    /// Sets the weight of each class: a tensor of one axis.
    #[must_use]
    pub fn with_weights(self, weights: Tensor<T>) -> Self {
        CrossEntropy { weights: Some(weights), ..self }
    }

    /// Sets the target of samples that do not count.
    #[must_use]
    pub fn with_ignored(self, target: i64) -> Self {
        CrossEntropy { ignored: Some(target), ..self }
    }

    /// Sets the share of the target that is spread over all classes.
    #[must_use]
    pub fn with_label_smoothing(self, share: f64) -> Self {
        CrossEntropy { label_smoothing: share, ..self }
    }

    /// Sets what becomes of the losses of the samples.
    #[must_use]
    pub fn with_reduction(self, reduction: Reduction) -> Self {
        CrossEntropy { reduction, ..self }
    }

    /// Returns the loss of logits against the numbers of classes.
    ///
    /// # Panics
    ///
    /// When the shapes do not match.
    #[must_use]
    #[track_caller]
    pub fn loss<I: Integer>(&self, logits: &Tensor<T>, targets: &Tensor<I>) -> Tensor<T> {
        check_shapes(logits, targets);
        if is_half::<T>() {
            return self.in_single().of_logarithms(&log_softmax(&logits.cast::<f32>(), 1), targets).cast();
        }
        self.of_logarithms(&log_softmax(logits, 1), targets)
    }

    /// Returns the loss of logarithms of probabilities against the numbers of classes: the negative likelihood.
    ///
    /// # Panics
    ///
    /// When the shapes do not match.
    #[must_use]
    #[track_caller]
    pub fn loss_of_logarithms<I: Integer>(&self, logarithms: &Tensor<T>, targets: &Tensor<I>) -> Tensor<T> {
        check_shapes(logarithms, targets);
        if is_half::<T>() {
            return self.in_single().of_logarithms(&logarithms.cast::<f32>(), targets).cast();
        }
        self.of_logarithms(logarithms, targets)
    }

    /// Returns the loss of logits against probabilities of the classes, of the same shape. Nothing is ignored, and a
    /// mean is that over all samples.
    ///
    /// # Panics
    ///
    /// When the shapes differ.
    #[must_use]
    #[track_caller]
    pub fn loss_of_probabilities(&self, logits: &Tensor<T>, targets: &Tensor<T>) -> Tensor<T> {
        if logits.sizes() != targets.sizes() {
            refuse(logits, targets, "probabilities have the shape of the logits");
        }
        if is_half::<T>() {
            return self.in_single().loss_of_probabilities(&logits.cast(), &targets.cast()).cast();
        }
        let spread = crate::Array::<T>::from(logits.size(1)).recip() * T::from_f64(self.label_smoothing);
        let targets = targets * T::from_f64(1.0 - self.label_smoothing) + spread;
        let losses = -self.weighted(&(log_softmax(logits, 1) * targets)).sum(1);
        match self.reduction {
            Reduction::Mean => losses.mean(..),
            other => other.of(losses),
        }
    }

    /// Returns the same loss in single precision.
    #[track_caller]
    fn in_single(&self) -> CrossEntropy<f32> {
        CrossEntropy {
            weights: self.weights.as_ref().map(Tensor::cast),
            ignored: self.ignored,
            label_smoothing: self.label_smoothing,
            reduction: self.reduction,
        }
    }

    /// Returns the target that is ignored, if a type has it.
    fn ignored_of<I: Integer>(&self) -> Option<i64> {
        let is_signed = !I::TYPE.is_unsigned_integer();
        self.ignored.filter(|&ignored| {
            let bits = I::TYPE.bits() - u32::from(is_signed);
            let most = if bits >= 63 { i64::MAX } else { (1 << bits) - 1 };
            ignored <= most && ignored >= if is_signed { -most - 1 } else { 0 }
        })
    }

    /// Returns values of each class times the weights of the classes.
    #[track_caller]
    fn weighted(&self, values: &Tensor<T>) -> Tensor<T> {
        match &self.weights {
            None => values.clone(),
            Some(weights) => {
                super::super::check::check_axis("the loss with weights", values, 1, "classes", weights.size(0));
                values * along_classes(weights, values.ndim())
            }
        }
    }

    #[track_caller]
    fn of_logarithms<I: Integer>(&self, logarithms: &Tensor<T>, targets: &Tensor<I>) -> Tensor<T> {
        let classes = logarithms.size(1);
        let is_ignored = self.ignored_of::<I>().map(|ignored| targets.cast::<i64>().eq(ignored));
        let targets = as_indices(targets);
        let number = crate::UInt::arange(classes);
        // Sums over classes that are zero but for one, instead of a gather: the derivative is then no scatter.
        let is_target = along_classes(&Tensor::from(number), logarithms.ndim()).eq(targets.expand_dims(1));
        let chosen = |values: &Tensor<T>| is_target.select(values, T::default()).sum(1);
        let weighted = self.weighted(logarithms);
        let mut losses = -chosen(&weighted);
        if self.label_smoothing != 0.0 {
            let spread = crate::Array::<T>::from(classes).recip() * T::from_f64(self.label_smoothing);
            losses = losses * T::from_f64(1.0 - self.label_smoothing) - weighted.sum(1) * spread;
        }
        let is_class = targets.lt(Tensor::from(crate::UInt::from(classes)));
        losses = is_class.select(losses, T::from_f64(f64::NAN));
        if let Some(is_ignored) = &is_ignored {
            losses = is_ignored.select(T::default(), losses);
        }
        if self.reduction != Reduction::Mean || (self.weights.is_none() && is_ignored.is_none()) {
            return self.reduction.of(losses);
        }
        let ones = logarithms.ones_like();
        let mut counts = chosen(&self.weighted(&ones));
        if let Some(is_ignored) = &is_ignored {
            counts = is_ignored.select(T::default(), counts);
        }
        losses.sum(..) / counts.sum(..)
    }
}

/// Returns a value for each class, for the second of a number of axes.
#[track_caller]
fn along_classes<T: crate::Element>(values: &Tensor<T>, axes: usize) -> Tensor<T> {
    let mut shape = vec![crate::Size::from(1); axes];
    shape[1] = values.size(0);
    values.reshape(shape)
}

#[track_caller]
fn check_shapes<T: FloatElement, I: Integer>(logits: &Tensor<T>, targets: &Tensor<I>) {
    let mut wanted = logits.sizes();
    if wanted.len() > 1 {
        wanted.remove(1);
    }
    if logits.ndim() < 2 || targets.sizes() != wanted {
        refuse(logits, targets, "logits are [batch, classes, …], and targets [batch, …]");
    }
}

#[cold]
#[track_caller]
fn refuse<T: FloatElement, I: crate::Element>(logits: &Tensor<T>, targets: &Tensor<I>, hint: &str) -> ! {
    let (shape, other) = (logits.sizes(), targets.sizes());
    let what = format!("the loss of logits of shape {shape:?} got targets of shape {other:?}");
    jit_core::misuse::Misuse::new(what, crate::Site::here())
        .value("the logits", logits.array().var())
        .value("the targets", targets.array().var())
        .hint(hint)
        .panic()
}

/// Returns the mean cross entropy of logits and classes: see [`CrossEntropy`].
///
/// # Panics
///
/// When the shapes do not match.
#[must_use]
#[track_caller]
pub fn cross_entropy<T: FloatElement, I: Integer>(logits: &Tensor<T>, targets: &Tensor<I>) -> Tensor<T> {
    CrossEntropy::new().loss(logits, targets)
}

/// Returns the mean negative logarithm of the probabilities of classes, from the logarithms of all probabilities.
///
/// # Panics
///
/// When the shapes do not match.
#[must_use]
#[track_caller]
pub fn nll_loss<T: FloatElement, I: Integer>(logarithms: &Tensor<T>, targets: &Tensor<I>) -> Tensor<T> {
    CrossEntropy::new().loss_of_logarithms(logarithms, targets)
}
