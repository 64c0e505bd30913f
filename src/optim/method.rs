//! What distinguishes one optimiser from another.

use crate::{Array, Float64, FloatElement, Traverse};

/// The method of an [`Optimizer`](super::Optimizer): its settings, and how it changes one array.
///
/// ```
/// use jit::optim::{Method, Optimizer, Setting};
/// use jit::prelude::*;
/// use jit::{FloatElement, ad};
///
/// /// Steps by the signs of the gradients.
/// #[derive(Clone, Traverse)]
/// struct Signs {
///     rate: Setting,
/// }
///
/// impl Method for Signs {
///     fn step<T: FloatElement>(
///         &self,
///         parameter: &Array<T>,
///         gradient: &Array<T>,
///         _: &mut [Array<T>],
///         _: &mut [Float64],
///     ) -> Array<T> {
///         parameter - self.rate.of::<T>() * gradient.sign()
///     }
///
///     fn settings(&self) -> Vec<&Setting> {
///         vec![&self.rate]
///     }
/// }
///
/// let mut x = Float::from([1.0, -1.0]);
/// let mut optimizer = Optimizer::with_method(&x, Signs { rate: 0.25.into() });
/// optimizer.step(&mut x, &Float::from([3.0, -0.5]));
/// assert_eq!(x.to_vec()?, [0.75, -0.75]);
/// # Ok::<(), jit::Error>(())
/// ```
pub trait Method: Traverse + Clone + Send + Sync + 'static {
    /// How many arrays are kept for each parameter between steps, as wide as it. They begin as zeros.
    const STATES: usize = 0;

    /// How many numbers are kept for each parameter between steps. They begin as zeros; they may become as wide as the
    /// parameter if a step leaves out elements.
    const COUNTERS: usize = 0;

    /// Returns the changed parameter, and replaces what is kept.
    fn step<T: FloatElement>(
        &self,
        parameter: &Array<T>,
        gradient: &Array<T>,
        states: &mut [Array<T>],
        counters: &mut [Float64],
    ) -> Array<T>;

    /// Returns all settings, to check their widths.
    fn settings(&self) -> Vec<&super::Setting>;
}
