//! Convolution in the sense of neural networks: correlation of a batch of images with a set of kernels.

use jit_core::misuse::Misuse;
use jit_core::native::{self, AXES, Convolution, Sought};

use super::Tensor;
use super::convolve_derivatives::{correlated_with_gradients, transposed};
use super::lengths::{Sizes, is, is_same_shape, number, product};
use super::shape::{Shape, element_count};
use super::view::{coordinates, number_of};
use crate::Site;
use crate::{Array, Mask, Number, Size, UInt, jit};

/// Kernels of up to this many elements are unrolled.
const UNROLLED: usize = 32;

/// Transposes by the kernels are traced if groups have fewer channels of the result: then the columns of products are.
const MIN_COLUMNS: usize = 4;

/// But if there are so many groups, and so many products for each element that is read, groups are computed at once.
const MIN_GROUPS: usize = 4;
const MIN_PRODUCTS: usize = 4;

/// Convolutions with fewer products are traced.
const LARGE_PRODUCTS: usize = 1 << 15;

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
    /// Products are added in ascending order of channel and position, each with a single rounding, as by `mul_add`.
    /// Sums of halves are computed in single precision, and rounded once. Stays lazy. Convolutions of floats with 2^15
    /// products and more are library calls, whose operands are materialised in memory; others are traced.
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
        self.convolve(kernel, &Window::new([stride], padding))
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
        self.convolve(kernel, &Window::new(strides, padding))
    }

    /// Correlates volumes `[batch, channel, plane, row, column]` with kernels `[result channel, channel, plane, row,
    /// column]`, by strides along planes, rows and columns: see [`Tensor::conv1d`].
    ///
    /// # Panics
    ///
    /// As [`Tensor::conv1d`].
    #[must_use]
    #[track_caller]
    pub fn conv3d(&self, kernel: &Tensor<T>, padding: Padding, strides: [usize; 3]) -> Self {
        self.convolve(kernel, &Window::new(strides, padding))
    }

    /// Correlates `[batch, channel, …]` with kernels `[result channel, channel of a group, …]` that move as a window.
    ///
    /// ```
    /// use jit::prelude::*;
    /// use jit::tensor::{Padding, Window};
    ///
    /// let signal = Tensor::from([[[1.0f32, 2.0, 4.0, 8.0]]]);
    /// let kernel = Tensor::from([[[1.0f32, -1.0]]]);
    /// let every_other = Window::new([1], Padding::Valid).with_dilations([2]);
    /// assert_eq!(signal.convolve(&kernel, &every_other).to_vec()?, [-3.0, -6.0]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::conv1d`], and when the channels are no multiple of the groups.
    #[must_use]
    #[track_caller]
    pub fn convolve(&self, kernel: &Tensor<T>, window: &Window) -> Self {
        if !self.array.grad_enabled() && !kernel.array.grad_enabled() {
            return self.correlated_values(kernel, window);
        }
        // Checked here, since inside of the operation the line of our caller is not known.
        if Correlation::new(&self.shape, &kernel.shape, window).is_none() {
            refuse(&self.shape, &kernel.shape, window);
        }
        correlated_with_gradients(self, kernel, window)
    }

    /// Computes the transpose of a convolution by its input, of an input of the given lengths behind the first two
    /// axes: each element of this tensor, `[batch, result channel, …]`, adds its multiple of a kernel `[result channel,
    /// channel of a group, …]` to the place that it would be computed from. Also called deconvolution.
    ///
    /// ```
    /// use jit::prelude::*;
    /// use jit::tensor::{Padding, Window};
    ///
    /// let signal = Tensor::from([[[1.0f32, 10.0]]]);
    /// let kernel = Tensor::from([[[1.0f32, 2.0, 3.0]]]);
    /// let apart = Window::new([2], Padding::Valid);
    /// assert_eq!(signal.convolve_transposed(&kernel, &apart, &[5]).to_vec()?, [1.0, 2.0, 13.0, 20.0, 30.0]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the convolution of such an input has another shape than this tensor.
    #[must_use]
    #[track_caller]
    pub fn convolve_transposed(&self, kernel: &Tensor<T>, window: &Window, lengths: impl Into<Shape>) -> Self {
        let lengths = lengths.into().known();
        let is_possible = self.ndim() == kernel.ndim() && self.ndim() == lengths.len() + 2;
        if !is_possible {
            refuse(&self.shape, &kernel.shape, window);
        }
        let mut input = Sizes::from_slice(&[self.shape[0], kernel.shape[1] * window.groups]);
        input.extend(lengths);
        match Correlation::new(&input, &kernel.shape, window) {
            Some(plan) if is_same_shape(&plan.shape, &self.shape) => transposed(self, kernel, &input, window),
            Some(plan) => {
                let what = format!(
                    "a convolution of shape {input:?} with kernels of shape {:?} has the shape {:?}, and its transpose \
                    got a tensor of shape {:?}",
                    &*kernel.shape, &*plan.shape, &*self.shape
                );
                Misuse::new(what, Site::here()).hint("pass the lengths that such a convolution begins with").panic()
            }
            None => refuse(&input, &kernel.shape, window),
        }
    }

    /// Computes a correlation.
    #[track_caller]
    pub(super) fn correlated_values(&self, kernel: &Tensor<T>, window: &Window) -> Self {
        let Some(plan) = Correlation::new(&self.shape, &kernel.shape, window) else {
            refuse(&self.shape, &kernel.shape, window)
        };
        let count = element_count(&plan.shape);
        let array = if is(count, 0) || is(plan.taps(), 0) {
            Array::zeros(count)
        } else if let Some(results) = plan.as_native(Sought::Result, &self.array, &kernel.array) {
            results
        } else if T::TYPE.is_float() && T::TYPE.bits() == 16 {
            plan.compute(&self.array.cast::<f32>(), &kernel.array.cast::<f32>()).cast()
        } else {
            plan.compute(&self.array, &kernel.array)
        };
        Tensor::shaped(array, &plan.shape)
    }
}

#[cold]
#[track_caller]
fn refuse(input: &[Size], kernel: &[Size], window: &Window) -> ! {
    let what =
        format!("a tensor of shape {input:?} cannot be convolved with kernels of shape {kernel:?} and {window:?}");
    let hint = match window.strides.len() {
        1 => {
            "shapes are [batch, channel, position] and [result channel, channel, position], strides positive, kernels \
            no longer than the padded signal"
        }
        2 => {
            "shapes are [batch, channel, row, column] and [result channel, channel, row, column], strides positive, \
            kernels no larger than the padded image"
        }
        _ => {
            "shapes are [batch, channel, plane, row, column] and [result channel, channel, plane, row, column], \
            strides positive, kernels no larger than the padded volume"
        }
    };
    let groups = "with groups, kernels have only the channels of one group, and the numbers of channels are multiples \
                  of the groups";
    let misuse = Misuse::new(what, Site::here()).hint(hint);
    if window.groups == 1 { misuse.panic() } else { misuse.hint(groups).panic() }
}

/// How kernels move over the axes of an input, behind the first two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// How far they extend beyond the edges of each axis.
    pub paddings: Vec<Padding>,
    /// The distances between their places along each axis.
    pub strides: Vec<usize>,
    /// The distances between the elements of a kernel along each axis.
    pub dilations: Vec<usize>,
    /// The number of groups of channels: results of a group depend only on the channels of the input in that group.
    pub groups: usize,
}

impl Window {
    /// Creates a window that moves by these strides along as many axes, with one padding for all of them.
    #[must_use]
    pub fn new(strides: impl Into<Vec<usize>>, padding: Padding) -> Self {
        let strides = strides.into();
        let axes = strides.len();
        Window { paddings: vec![padding; axes], strides, dilations: vec![1; axes], groups: 1 }
    }

    /// Sets the distances between the elements of a kernel.
    #[must_use]
    pub fn with_dilations(self, dilations: impl Into<Vec<usize>>) -> Self {
        Window { dilations: dilations.into(), ..self }
    }

    /// Sets the number of groups of channels.
    #[must_use]
    pub fn with_groups(self, groups: usize) -> Self {
        Window { groups, ..self }
    }

    /// Returns whether it can move over tensors.
    fn is_valid(&self) -> bool {
        let axes = self.strides.len();
        let is_positive = self.strides.iter().chain(&self.dilations).all(|&distance| distance > 0);
        is_positive && self.paddings.len() == axes && self.dilations.len() == axes && self.groups > 0
    }
}

/// The elements that contribute to the results of a correlation.
pub(super) struct Correlation {
    pub(super) input: Sizes,
    pub(super) kernel: Sizes,
    pub(super) shape: Sizes,
    pub(super) before: Sizes,
    pub(super) window: Window,
    /// Whether the products of each result are few enough to be unrolled.
    is_unrolled: bool,
}

/// The work of a lane: the first element of its kernel, its image, the first channel of its group, and its position.
struct Lane {
    kernel: UInt,
    image: UInt,
    channel: Option<UInt>,
    corner: Vec<UInt>,
}

impl Correlation {
    #[track_caller]
    pub(super) fn new(input: &[Size], kernel: &[Size], window: &Window) -> Option<Self> {
        let (axes, groups) = (window.strides.len() + 2, window.groups);
        if !window.is_valid() || input.len() != axes || kernel.len() != axes || input[1] != kernel[1] * groups {
            return None;
        }
        if groups > 1 && kernel[0] % groups != 0 {
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
        input[1] = kernel[1] * groups;
        let shape = Sizes::from_slice(&[input[0], kernel[0]]);
        let mut plan = Correlation { input, kernel, shape, before: Sizes::new(), window: window.clone(), is_unrolled };
        for (axis, &stride) in window.strides.iter().enumerate() {
            let reach = plan.reach(axis);
            let (before, result) = window.paddings[axis].resolve(plan.input[axis + 2], reach, stride)?;
            plan.before.push(before);
            plan.shape.push(result.settled());
        }
        Some(plan)
    }

    /// Returns the number of elements from the first to the last one that a kernel reads along an axis.
    #[track_caller]
    fn reach(&self, axis: usize) -> Size {
        let length = self.kernel[axis + 2];
        match self.window.dilations[axis] {
            1 => length,
            dilation => (length.max(1) - 1) * dilation + length.min(1),
        }
    }

    /// Returns the number of result channels in a group.
    #[track_caller]
    pub(super) fn results_of_group(&self) -> Size {
        match self.window.groups {
            1 => self.kernel[0],
            groups => self.kernel[0] / groups,
        }
    }

    /// Returns a convolution or one of its transposes by a library call; `None` if it is small, and so can be fused
    /// into other kernels, or does not have such a form.
    #[track_caller]
    pub(super) fn as_native<T: Number>(&self, sought: Sought, a: &Array<T>, b: &Array<T>) -> Option<Array<T>> {
        let own = self.window.strides.len();
        if !T::TYPE.is_float() || own > AXES || is(self.taps(), 1) || native::is_in_loop(a) || native::is_in_loop(b) {
            return None;
        }
        let products = product(&[product(&self.shape), self.taps()]);
        if products < LARGE_PRODUCTS || (sought == Sought::Kernel && !self.is_fast_by_kernel(products)) {
            return None;
        }
        let one = Size::from(1);
        // The last axes are ours.
        let of = |lengths: &[Size], missing: Size| -> [Size; AXES] {
            std::array::from_fn(|axis| (axis + own).checked_sub(AXES).map_or(missing, |axis| lengths[axis]))
        };
        let numbers = |numbers: &[usize]| of(&numbers.iter().map(|&n| n.into()).collect::<Sizes>(), one).map(Size::now);
        let lengths = [of(&self.input[2..], one), of(&self.kernel[2..], one), of(&self.shape[2..], one)];
        let axes = [lengths[0], lengths[1], lengths[2], of(&self.before, 0.into())].into_iter().flatten();
        let first = [self.input[0], self.kernel[1], self.results_of_group()];
        let all: Sizes = first.into_iter().chain(axes).collect();
        let sizes: [Size; Convolution::SIZES] = std::array::from_fn(|number| all[number]);
        let convolution = Convolution {
            groups: self.window.groups,
            strides: numbers(&self.window.strides),
            dilations: numbers(&self.window.dilations),
            ..Convolution::new(sought)
        };
        Some(native::convolve(a, b, convolution.with_sizes(&sizes.map(Size::now)), sizes))
    }

    /// Returns whether the library computes a transpose by the kernels faster than traced code.
    #[track_caller]
    fn is_fast_by_kernel(&self, products: Size) -> bool {
        let read = || product(&self.input) + product(&self.shape);
        self.results_of_group() >= MIN_COLUMNS
            || (self.window.groups >= MIN_GROUPS && products >= read() * MIN_PRODUCTS)
    }

    /// Returns the number of products in the sum of each result.
    #[track_caller]
    pub(super) fn taps(&self) -> Size {
        product(&self.kernel[1..])
    }

    #[track_caller]
    fn compute<T: Number>(&self, input: &Array<T>, kernel: &Array<T>) -> Array<T> {
        let count = product(&self.shape);
        let at = coordinates(&self.shape, &UInt::arange(count));
        let corner = at[2..].iter().zip(&self.window.strides).map(|(at, &stride)| at * stride as u32);
        let is_grouped = self.window.groups > 1;
        let channel = is_grouped.then(|| &at[1] / number(self.results_of_group()) * number(self.kernel[1]));
        let first = &at[1] * number(self.taps());
        let lane = Lane { kernel: first, image: at[0].clone(), channel, corner: corner.collect() };
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
        let channel = match &lane.channel {
            Some(first) => first + &within[0],
            None => within[0].clone(),
        };
        let mut at = vec![lane.image.clone(), channel];
        let mut inside: Option<Mask> = None;
        for (axis, (corner, within)) in lane.corner.iter().zip(&within[1..]).enumerate() {
            // Before the edge this wraps to a number beyond the other edge.
            let position = corner + spread(within, self.window.dilations[axis]) - number(self.before[axis]);
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
        let end = (self.shape[axis + 2] - 1) * self.window.strides[axis] + self.reach(axis);
        !(is(before, 0) && end <= length)
    }
}

/// Returns a position in a kernel times the distance of its elements.
#[track_caller]
pub(super) fn spread(position: &UInt, dilation: usize) -> UInt {
    if dilation == 1 { position.clone() } else { position * dilation as u32 }
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
