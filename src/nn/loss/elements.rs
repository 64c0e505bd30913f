//! Losses that are computed element by element.

use super::super::activation::softplus_of;
use super::super::is_half;
use super::Reduction;
use crate::tensor::Tensor;
use crate::{Array, FloatElement, Traverse};

/// Computes the losses of elements and reduces them, in single precision for halves.
///
/// # Panics
///
/// When the shapes differ: a target that is broadcast by mistake, as `[N]` for `[N, 1]`, makes all pairs.
#[track_caller]
fn reduced<T: FloatElement>(
    input: &Tensor<T>,
    target: &Tensor<T>,
    reduction: Reduction,
    rule: &impl Rule,
) -> Tensor<T> {
    check_same_shape(input, target);
    if is_half::<T>() {
        let losses = input.cast::<f32>().zip_with(&target.cast::<f32>(), |input, target| rule.loss(input, target));
        return reduction.of(losses).cast();
    }
    reduction.of(input.zip_with(target, |input, target| rule.loss(input, target)))
}

/// The loss of one element.
trait Rule {
    #[track_caller]
    fn loss<T: FloatElement>(&self, input: &Array<T>, target: &Array<T>) -> Array<T>;
}

#[track_caller]
fn check_same_shape<T: FloatElement>(input: &Tensor<T>, target: &Tensor<T>) {
    if input.sizes() != target.sizes() {
        let what =
            format!("the loss of an input of shape {:?} got a target of shape {:?}", input.sizes(), target.sizes());
        jit_core::misuse::Misuse::new(what, crate::Site::here())
            .value("the input", input.array().var())
            .value("the target", target.array().var())
            .hint("both have the same shape: nothing is broadcast")
            .panic()
    }
}

/// A loss: its type with settings, its rule, and the function with the usual settings.
macro_rules! losses {
    ($(
        $(#[$doc:meta])*
        $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty = $default:expr),* }, $function:ident;
        |$self:ident, $input:ident, $target:ident| $loss:expr;
    )*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        ///
        /// When the shapes of input and target differ.
        #[derive(Clone, Copy, Debug, PartialEq, Traverse)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $ty,)*
            /// What becomes of the losses of the elements.
            pub reduction: Reduction,
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* reduction: Reduction::Mean }
            }
        }

        impl $name {
            /// Returns the loss of an input against a target.
            #[must_use]
            #[track_caller]
            pub fn loss<T: FloatElement>(&self, input: &Tensor<T>, target: &Tensor<T>) -> Tensor<T> {
                reduced(input, target, self.reduction, self)
            }
        }

        impl Rule for $name {
            #[track_caller]
            fn loss<T: FloatElement>(&self, $input: &Array<T>, $target: &Array<T>) -> Array<T> {
                let $self = self;
                $loss
            }
        }

        #[doc = concat!("Returns the mean loss of [`", stringify!($name), "`] with its usual settings.")]
        ///
        /// # Panics
        ///
        /// When the shapes of input and target differ.
        #[must_use]
        #[track_caller]
        pub fn $function<T: FloatElement>(input: &Tensor<T>, target: &Tensor<T>) -> Tensor<T> {
            $name::default().loss(input, target)
        }
    )*};
}

losses! {
    /// The squared distance: `(x − y)²`.
    MseLoss {}, mse_loss;
    |_of, x, y| (x - y).square();

    /// The distance: `|x − y|`.
    L1Loss {}, l1_loss;
    |_of, x, y| (x - y).abs();

    /// `(x − y)² / 2` for distances up to `delta`, and `delta (|x − y| − delta / 2)` beyond: P. Huber, 1964.
    HuberLoss {
        /// Where the loss becomes linear; 1 by default.
        delta: f64 = 1.0
    }, huber_loss;
    |of, x, y| {
        let (distance, delta) = ((x - y).abs(), T::from_f64(of.delta));
        let linear = (&distance - T::from_f64(of.delta / 2.0)) * delta;
        distance.lt(delta).select(distance.square() * T::from_f64(0.5), linear)
    };

    /// `(x − y)² / (2 beta)` for distances up to `beta`, and `|x − y| − beta / 2` beyond: R. Girshick, “Fast R-CNN”,
    /// 2015.
    SmoothL1Loss {
        /// Where the loss becomes linear; 1 by default. At 0 it is [`L1Loss`].
        beta: f64 = 1.0
    }, smooth_l1_loss;
    |of, x, y| {
        let distance = (x - y).abs();
        match of.beta == 0.0 {
            true => distance,
            false => {
                let near = distance.square() * T::from_f64(0.5 / of.beta);
                distance.lt(T::from_f64(of.beta)).select(near, &distance - T::from_f64(of.beta / 2.0))
            }
        }
    };

    /// The cross entropy of probabilities `x` and `y` of two classes: `−y ln x − (1 − y) ln(1 − x)`. Logarithms are at
    /// least −100, as in PyTorch. [`BceWithLogitsLoss`] is more accurate.
    BceLoss {}, bce_loss;
    |_of, x, y| {
        let lowest = T::from_f64(-100.0);
        let (is_on, is_off) = (x.ln().max(lowest), (-x).ln_1p().max(lowest));
        (y - T::ONE) * is_off - y * is_on
    };

    /// The cross entropy of two classes, for logits: `BceLoss` of `σ(x)`, without overflow:
    /// `max(x, 0) − x y + ln(1 + exp(−|x|))`.
    BceWithLogitsLoss {
        /// The weight of the class 1; 1 by default.
        positive_weight: f64 = 1.0
    }, bce_with_logits_loss;
    |of, x, y| {
        // −ln σ(x) and −ln σ(−x).
        let (is_on, is_off) = (softplus_of(&-x), softplus_of(x));
        y * is_on * T::from_f64(of.positive_weight) - (y - T::ONE) * is_off
    };

    /// The divergence of Kullback and Leibler: `y (ln y − x)` for a logarithm of probabilities `x`; 0 where `y` is 0.
    ///
    /// The mean over all elements is not that over distributions, which is [`Reduction::BatchMean`].
    KlDivLoss {
        /// Whether targets are logarithms, too; they are not by default.
        log_target: bool = false
    }, kl_div_loss;
    |of, x, y| match of.log_target {
        true => y.exp() * (y - x),
        false => {
            let product = y * (y.ln() - x);
            y.gt(T::default()).select(product, T::default())
        }
    };
}
