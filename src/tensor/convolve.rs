//! Convolution in the sense of neural networks: correlation of a batch of images with a set of kernels.

use jit_core::misuse::Misuse;

use super::Tensor;
use super::convolve_derivatives::correlated_with_gradients;
use super::lengths::{Sizes, is, number, product};
use super::shape::element_count;
use super::view::{coordinates, number_of};
use crate::Site;
use crate::{Array, Mask, Number, Size, UInt, jit};

/// Kernels of up to this many elements are unrolled.
const UNROLLED: usize = 32;

/// How far a kernel extends beyond the edges, where elements are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Not at all: the result is shorter by the kernel's length minus one.
    Valid,
    /// So far that the result has the length of the input, divided by the stride and rounded up. If the padding is odd,
    /// there is one zero more at the end than at the start.
    Same,
    /// By this many zeros on each side.
    Zeros(usize),
}

impl Padding {
    /// Returns the number of zeros before an axis, and the length of the result.
    #[track_caller]
    fn resolve(self, length: Size, kernel: Size, stride: usize) -> Option<(Size, Size)> {
        let (before, padded) = match self {
            Padding::Same => {
                let result = length.div_ceil(stride);
                let reach = (result.max(1) - 1) * stride + kernel;
                let needed = reach.max(length) - length;
                return Some((needed / 2, result));
            }
            Padding::Valid => (0, length),
            Padding::Zeros(count) => (count, length + 2 * count),
        };
        (padded >= kernel).then(|| (before.into(), (padded - kernel) / stride + 1))
    }
}

impl<T: Number> Tensor<T> {
    /// Correlates signals `[batch, channel, position]` with kernels `[result channel, channel, position]`. Each result
    /// is the sum, over all channels and positions of a kernel, of its products with the elements that start at the
    /// result's position.
    ///
    /// Sums of halves are computed in single precision.
    ///
    /// ```
    /// use jit::prelude::*;
    /// use jit::tensor::Padding;
    ///
    /// let signal = Tensor::from([[[1.0f32, 2.0, 4.0, 8.0]]]);
    /// let kernel = Tensor::from([[[1.0f32, -1.0]]]);
    /// assert_eq!(signal.conv1d(&kernel, Padding::Valid, 1).to_vec()?, [-1.0, -2.0, -4.0]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the tensors have other numbers of axes, the channels differ, the stride is 0, or the kernel is longer than
    /// the padded signal.
    #[must_use]
    #[track_caller]
    pub fn conv1d(&self, kernel: &Tensor<T>, padding: Padding, stride: usize) -> Self {
        self.correlated(kernel, padding, &[stride])
    }

    /// Correlates images `[batch, channel, row, column]` with kernels `[result channel, channel, row, column]`, by
    /// strides along rows and columns: see [`Tensor::conv1d`].
    ///
    /// # Panics
    ///
    /// As [`Tensor::conv1d`].
    #[must_use]
    #[track_caller]
    pub fn conv2d(&self, kernel: &Tensor<T>, padding: Padding, strides: [usize; 2]) -> Self {
        self.correlated(kernel, padding, &strides)
    }

    #[track_caller]
    fn correlated(&self, kernel: &Tensor<T>, padding: Padding, strides: &[usize]) -> Self {
        match self.array.grad_enabled() || kernel.array.grad_enabled() {
            true => correlated_with_gradients(self, kernel, padding, strides),
            false => self.correlated_values(kernel, padding, strides),
        }
    }

    /// Computes a correlation.
    #[track_caller]
    pub(super) fn correlated_values(&self, kernel: &Tensor<T>, padding: Padding, strides: &[usize]) -> Self {
        let Some(plan) = Correlation::new(&self.shape, &kernel.shape, padding, strides) else {
            refuse(&self.shape, &kernel.shape, padding, strides)
        };
        let count = element_count(&plan.shape);
        let array = if is(count, 0) || is(plan.taps(), 0) {
            Array::zeros(count)
        } else if T::TYPE.is_float() && T::TYPE.bits() == 16 {
            plan.compute(&self.array.cast::<f32>(), &kernel.array.cast::<f32>()).cast()
        } else {
            plan.compute(&self.array, &kernel.array)
        };
        Tensor::new(array, &plan.shape)
    }
}

#[cold]
#[track_caller]
fn refuse(input: &[Size], kernel: &[Size], padding: Padding, strides: &[usize]) -> ! {
    let what = format!(
        "a tensor of shape {input:?} cannot be convolved with kernels of shape {kernel:?}, padding {padding:?} and \
        strides {strides:?}"
    );
    let hint = match strides.len() {
        1 => {
            "shapes are [batch, channel, position] and [result channel, channel, position], strides positive, kernels \
            no longer than the padded signal"
        }
        _ => {
            "shapes are [batch, channel, row, column] and [result channel, channel, row, column], strides positive, \
            kernels no larger than the padded image"
        }
    };
    Misuse::new(what, Site::here()).hint(hint).panic()
}

/// The elements that contribute to the results of a correlation.
pub(super) struct Correlation {
    pub(super) input: Sizes,
    pub(super) kernel: Sizes,
    pub(super) shape: Sizes,
    pub(super) before: Sizes,
    pub(super) strides: Vec<usize>,
    /// Whether the products of each result are few enough to be unrolled.
    is_unrolled: bool,
}

/// The work of a lane: the first element of its kernel, its image and its position there.
struct Lane {
    kernel: UInt,
    image: UInt,
    corner: Vec<UInt>,
}

impl Correlation {
    #[track_caller]
    pub(super) fn new(input: &[Size], kernel: &[Size], padding: Padding, strides: &[usize]) -> Option<Self> {
        let axes = strides.len() + 2;
        if input.len() != axes || kernel.len() != axes || strides.contains(&0) || input[1] != kernel[1] {
            return None;
        }
        let (mut input, mut kernel) = (Sizes::from_slice(input), Sizes::from_slice(kernel));
        let is_unrolled = product(&kernel[1..]) <= UNROLLED;
        if is_unrolled {
            // Unrolled products are those of one kernel.
            for length in &mut kernel[1..] {
                *length = length.get().into();
            }
        }
        input[1] = kernel[1];
        let shape = Sizes::from_slice(&[input[0], kernel[0]]);
        let mut plan =
            Correlation { input, kernel, shape, before: Sizes::new(), strides: strides.to_vec(), is_unrolled };
        for (axis, &stride) in strides.iter().enumerate() {
            let (before, result) = padding.resolve(plan.input[axis + 2], plan.kernel[axis + 2], stride)?;
            plan.before.push(before);
            plan.shape.push(result.settled());
        }
        Some(plan)
    }

    /// Returns the number of products in the sum of each result.
    #[track_caller]
    fn taps(&self) -> Size {
        product(&self.kernel[1..])
    }

    #[track_caller]
    fn compute<T: Number>(&self, input: &Array<T>, kernel: &Array<T>) -> Array<T> {
        let count = product(&self.shape);
        let at = coordinates(&self.shape, &UInt::arange(count));
        let corner = at[2..].iter().zip(&self.strides).map(|(at, &stride)| at * stride as u32);
        let lane = Lane { kernel: &at[1] * number(self.taps()), image: at[0].clone(), corner: corner.collect() };
        let sum = if self.is_unrolled {
            let taps = (0..self.taps().now() as u32).map(UInt::from);
            taps.fold(Array::from(T::default()), |sum, tap| self.add_product(&sum, input, kernel, &lane, &tap))
        } else {
            sum_over_taps(self, input, kernel, &lane)
        };
        super::filled(sum, count)
    }

    /// Adds the product of one element of the kernel.
    #[track_caller]
    fn add_product<T: Number>(
        &self,
        sum: &Array<T>,
        input: &Array<T>,
        kernel: &Array<T>,
        lane: &Lane,
        tap: &UInt,
    ) -> Array<T> {
        let within = coordinates(&self.kernel[1..], tap);
        let mut at = vec![lane.image.clone(), within[0].clone()];
        let mut inside: Option<Mask> = None;
        for (axis, (corner, within)) in lane.corner.iter().zip(&within[1..]).enumerate() {
            // Before the edge this wraps to a number beyond the other edge.
            let position = corner + within - number(self.before[axis]);
            if self.reaches_out(axis) {
                let is_inside = position.lt(number(self.input[axis + 2]));
                inside = Some(inside.map_or(is_inside.clone(), |inside| inside & &is_inside));
            }
            at.push(position);
        }
        let position = number_of(&self.input, &at);
        let element = match inside {
            Some(inside) => input.gather_masked(&position, &inside),
            None => input.gather(&position),
        };
        element.mul_add(kernel.gather(&(&lane.kernel + tap)), sum)
    }

    /// Returns whether a kernel extends beyond the edges of an axis, or may do so in other replays.
    #[track_caller]
    fn reaches_out(&self, axis: usize) -> bool {
        let (before, length) = (self.before[axis], self.input[axis + 2]);
        let end = (self.shape[axis + 2] - 1) * self.strides[axis] + self.kernel[axis + 2];
        !(is(before, 0) && end <= length)
    }
}

#[track_caller]
fn number_of_taps(plan: &Correlation) -> UInt {
    number(plan.taps())
}

#[jit]
fn sum_over_taps<T: Number>(plan: &Correlation, input: &Array<T>, kernel: &Array<T>, lane: &Lane) -> Array<T> {
    let taps = number_of_taps(plan);
    let mut sum = Array::from(T::default());
    let mut tap = UInt::from(0);
    while tap < taps {
        sum = plan.add_product(&sum, input, kernel, lane, &tap);
        tap += 1;
    }
    sum
}
