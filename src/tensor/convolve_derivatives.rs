//! The derivatives of convolutions: convolutions themselves.
//!
//! A convolution is linear in the input and in the kernels. So there are three operations, each of which combines two
//! of input, kernels and results to something of the third one's shape: the convolution, its transpose by the input,
//! and its transpose by the kernels. The derivatives of each are the other two, to any order. Each element is a sum
//! over products that are read; nothing is scattered. Large ones are library calls, see [`jit_core::native::convolve`];
//! the others are traced here.

use std::marker::PhantomData;

use jit_core::ad::{CustomOp, custom};
use jit_core::native::Sought;

use super::convolve::{Correlation, Window, spread};
use super::lengths::{Sizes, number, product};
use super::view::{coordinates, number_of};
use super::{Tensor, filled};
use crate::{Array, Mask, Number, Result, Size, UInt, jit};

/// If a sum has this many times more products than there are sums, its products are shared among lanes.
const FEW_LANES: usize = 4096;

/// Convolves tensors that gradients flow through.
#[track_caller]
pub(super) fn correlated_with_gradients<T: Number>(
    input: &Tensor<T>,
    kernel: &Tensor<T>,
    window: &Window,
) -> Tensor<T> {
    let shapes = [Sizes::from_slice(&input.shape), Sizes::from_slice(&kernel.shape)];
    let form = Form { shapes, window: window.clone(), number: PhantomData };
    form.combine(Sought::Result, input, kernel)
}

/// Computes the transpose of a convolution by its input, which has the given shape.
#[track_caller]
pub(super) fn transposed<T: Number>(
    results: &Tensor<T>,
    kernel: &Tensor<T>,
    input: &[Size],
    window: &Window,
) -> Tensor<T> {
    let shapes = [Sizes::from_slice(input), Sizes::from_slice(&kernel.shape)];
    let form = Form { shapes, window: window.clone(), number: PhantomData };
    match results.array.grad_enabled() || kernel.array.grad_enabled() {
        true => form.combine(Sought::Input, results, kernel),
        false => form.compute(Sought::Input, results, kernel),
    }
}

/// The shapes of a convolution's input and kernels, and how one moves over the other.
#[derive(Clone)]
struct Form<T> {
    shapes: [Sizes; 2],
    window: Window,
    number: PhantomData<T>,
}

impl<T: Number> Form<T> {
    #[track_caller]
    fn combine(&self, sought: Sought, a: &Tensor<T>, b: &Tensor<T>) -> Tensor<T> {
        custom(Combined { form: self.clone(), sought }, &(a.clone(), b.clone()))
    }

    #[track_caller]
    fn compute(&self, sought: Sought, a: &Tensor<T>, b: &Tensor<T>) -> Tensor<T> {
        let shape = match sought {
            Sought::Result => return a.correlated_values(b, &self.window),
            Sought::Input => &self.shapes[0],
            Sought::Kernel => &self.shapes[1],
        };
        let [input, kernel] = &self.shapes;
        let plan = Correlation::new(input, kernel, &self.window).expect("the convolution was checked");
        let of_library = plan.as_native(sought, &a.array, &b.array);
        let transposed = Transposed { plan, is_of_input: sought == Sought::Input };
        let array = if let Some(array) = of_library {
            array
        } else if T::TYPE.is_float() && T::TYPE.bits() == 16 {
            transposed.compute(&a.array.cast::<f32>(), &b.array.cast::<f32>()).cast()
        } else {
            transposed.compute(&a.array, &b.array)
        };
        Tensor::shaped(array, shape)
    }
}

/// One of the three operations.
struct Combined<T> {
    form: Form<T>,
    sought: Sought,
}

impl<T: Number> CustomOp for Combined<T> {
    type Input = (Tensor<T>, Tensor<T>);
    type Output = Tensor<T>;
    type Saved = (Tensor<T>, Tensor<T>);

    fn name(&self) -> &str {
        "convolution"
    }

    #[track_caller]
    fn forward(&self, (a, b): &Self::Input) -> (Tensor<T>, Self::Saved) {
        (self.form.compute(self.sought, a, b), (a.clone(), b.clone()))
    }

    #[track_caller]
    fn backward(&self, (a, b): &Self::Saved, gradient: &Tensor<T>) -> Result<Self::Input> {
        let form = &self.form;
        Ok(match self.sought {
            Sought::Result => (form.combine(Sought::Input, gradient, b), form.combine(Sought::Kernel, gradient, a)),
            Sought::Input => (form.combine(Sought::Result, gradient, b), form.combine(Sought::Kernel, a, gradient)),
            Sought::Kernel => (form.combine(Sought::Result, b, gradient), form.combine(Sought::Input, a, gradient)),
        })
    }

    #[track_caller]
    fn jvp(&self, (a, b): &Self::Saved, (of_a, of_b): &Self::Input) -> Result<Tensor<T>> {
        Ok(self.form.combine(self.sought, of_a, b) + self.form.combine(self.sought, a, of_b))
    }
}

/// A transpose of a convolution: sums over what each element of the input, or of the kernels, contributes to.
struct Transposed {
    plan: Correlation,
    is_of_input: bool,
}

impl Transposed {
    /// Returns the shape, and the axes that each of its elements is summed over.
    fn axes(&self) -> (Sizes, Sizes) {
        let Correlation { input, kernel, shape, .. } = &self.plan;
        let (of, first, rest) = if self.is_of_input {
            (input, self.plan.results_of_group(), &kernel[2..])
        } else {
            (kernel, shape[0], &shape[2..])
        };
        let summed = [first].into_iter().chain(rest.iter().copied());
        (of.clone(), summed.collect())
    }

    /// Sums products of results and the other factor.
    #[track_caller]
    fn compute<T: Number>(&self, results: &Array<T>, factor: &Array<T>) -> Array<T> {
        let (shape, summed) = self.axes();
        let (count, taps) = (product(&shape), product(&summed));
        if count == 0 || taps == 0 {
            return Array::zeros(count);
        }
        let is_narrow =
            count < FEW_LANES && taps > FEW_LANES && product(&[count, taps]) < Size::from(u32::MAX as usize);
        let sum = if is_narrow {
            let lane = UInt::arange(count * taps);
            let at = coordinates(&shape, &(&lane / number(taps)));
            let products = self.product_at(results, factor, &at, &(lane % number(taps)));
            products.block_sum(taps)
        } else {
            let at = coordinates(&shape, &UInt::arange(count));
            sum_over_taps(self, results, factor, &at, number(taps))
        };
        filled(sum, count)
    }

    /// Returns one of the products of an element.
    #[track_caller]
    fn product_at<T: Number>(&self, results: &Array<T>, factor: &Array<T>, at: &[UInt], tap: &UInt) -> Array<T> {
        let Correlation { input, kernel, shape, before, window, .. } = &self.plan;
        let within = coordinates(&self.axes().1, tap);
        // The result's place, and that of the other factor.
        let [mut place, mut other] = self.channels(at, &within[0]);
        let mut inside: Option<Mask> = None;
        for axis in 0..window.strides.len() {
            let (stride, dilation) = (window.strides[axis] as u32, window.dilations[axis]);
            let (of, moved, before) = (&at[axis + 2], &within[axis + 1], number(before[axis]));
            let is_inside = if self.is_of_input {
                // Before the edge this wraps to a number beyond the other edge.
                let distance = of + before - spread(moved, dilation);
                let position = &distance / stride;
                let is_inside = position.lt(number(shape[axis + 2]));
                place.push(position.clone());
                other.push(moved.clone());
                if stride == 1 { is_inside } else { is_inside & distance.eq(position * stride) }
            } else {
                let position = moved * stride + spread(of, dilation) - before;
                place.push(moved.clone());
                other.push(position.clone());
                position.lt(number(input[axis + 2]))
            };
            inside = Some(inside.map_or(is_inside.clone(), |inside| inside & is_inside));
        }
        let inside = inside.unwrap_or_else(|| Mask::from(true));
        let place = number_of(shape, &place);
        if self.is_of_input {
            results.gather_masked(&place, &inside) * factor.gather_masked(&number_of(kernel, &other), &inside)
        } else {
            // Elements outside of the input are zeros, also where a result is not finite: as in the library call.
            results.gather(&place) * factor.gather_masked(&number_of(input, &other), &inside)
        }
    }

    /// Returns image and channel of the result, and the first two coordinates of the other factor.
    #[track_caller]
    fn channels(&self, at: &[UInt], within: &UInt) -> [Vec<UInt>; 2] {
        let (channels, results) = (number(self.plan.kernel[1]), number(self.plan.results_of_group()));
        match (self.is_of_input, self.plan.window.groups) {
            (true, 1) => [vec![at[0].clone(), within.clone()], vec![within.clone(), at[1].clone()]],
            (true, _) => {
                let result = &at[1] / &channels * results + within;
                [vec![at[0].clone(), result.clone()], vec![result, &at[1] % channels]]
            }
            (false, 1) => [vec![within.clone(), at[0].clone()], vec![within.clone(), at[1].clone()]],
            (false, _) => {
                let channel = &at[0] / results * channels + &at[1];
                [vec![within.clone(), at[0].clone()], vec![within.clone(), channel]]
            }
        }
    }
}

#[jit]
fn sum_over_taps<T: Number>(
    transposed: &Transposed,
    results: &Array<T>,
    factor: &Array<T>,
    at: &[UInt],
    taps: UInt,
) -> Array<T> {
    let mut sum = Array::from(T::default());
    let mut tap = UInt::from(0);
    while tap < taps {
        sum = sum + transposed.product_at(results, factor, at, &tap);
        tap += 1;
    }
    sum
}
