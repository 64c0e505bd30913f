//! Derivatives of reductions along axes, broadcasts and products: each is the transposed operation.

use std::marker::PhantomData;

use half::{bf16, f16};
use jit_core::ad::{CustomOp, custom};
use jit_runtime::ir::Type;

use super::lengths::is;
use super::matmul::{Transposed, multiplied, product_of};
use super::reduce::Operation;
use super::{Axes, Tensor};
use crate::{Array, Element, Number, ReduceOp, Result, Scan, Size};

impl<T: Number> Tensor<T> {
    /// Reduces axes; gradients flow through the reduction itself.
    #[track_caller]
    pub(super) fn reduced_with_gradients(&self, axes: Axes, operation: Operation<T>) -> Self {
        match self.array.grad_enabled() {
            true => custom(Reduced { axes, operation }, self),
            false => self.reduced(axes, &operation),
        }
    }

    /// Returns the sum over the axes along which a shape was broadcast to that of this tensor.
    #[track_caller]
    fn summed_to(&self, like: &Tensor<T>) -> Self {
        let more = self.ndim() - like.ndim();
        let axes = (0..self.ndim())
            .filter(|&axis| axis < more || (is(like.shape[axis - more], 1) && !is(self.shape[axis], 1)));
        let axes: Vec<isize> = axes.map(|axis| axis as isize).collect();
        if axes.is_empty() { self.clone() } else { in_shape(&self.sum(axes), &like.shape) }
    }
}

/// Broadcasts a tensor through which gradients flow: they are summed on their way back.
#[track_caller]
pub(super) fn spread_with_gradients<T: Element>(tensor: &Tensor<T>, shape: &[Size]) -> Tensor<T> {
    #[track_caller]
    fn typed<T: Element, U: Number>(tensor: &Tensor<T>, shape: &[Size]) -> Tensor<T> {
        let typed = Tensor::<U>::shaped(Array::from_var(tensor.array.var().clone()), &tensor.shape);
        let spread = custom(Spread { shape: shape.into(), number: PhantomData }, &typed);
        Tensor::shaped(Array::from_var(spread.array.into_var()), shape)
    }
    match T::TYPE {
        Type::F16 => typed::<T, f16>(tensor, shape),
        Type::BF16 => typed::<T, bf16>(tensor, shape),
        Type::F64 => typed::<T, f64>(tensor, shape),
        _ => typed::<T, f32>(tensor, shape),
    }
}

/// The derivative of a broadcast.
struct Spread<T> {
    shape: Vec<Size>,
    number: PhantomData<T>,
}

impl<T: Number> CustomOp for Spread<T> {
    type Input = Tensor<T>;
    type Output = Tensor<T>;
    // For its shape.
    type Saved = Tensor<T>;

    fn name(&self) -> &str {
        "broadcast"
    }

    #[track_caller]
    fn forward(&self, x: &Tensor<T>) -> (Tensor<T>, Tensor<T>) {
        (x.spread_to(&self.shape), x.clone())
    }

    #[track_caller]
    fn backward(&self, x: &Tensor<T>, gradient: &Tensor<T>) -> Result<Tensor<T>> {
        Ok(gradient.summed_to(x))
    }

    #[track_caller]
    fn jvp(&self, _: &Tensor<T>, tangent: &Tensor<T>) -> Result<Tensor<T>> {
        Ok(tangent.spread_to(&self.shape))
    }
}

/// Returns the same elements in another shape.
fn in_shape<T: Number>(tensor: &Tensor<T>, shape: &[Size]) -> Tensor<T> {
    Tensor::shaped(tensor.array.clone(), shape)
}

/// The derivative of a reduction along axes.
struct Reduced<T: Number> {
    axes: Axes,
    operation: Operation<T>,
}

impl<T: Number> Reduced<T> {
    /// Returns a result for each of the elements that it combines.
    #[track_caller]
    fn repeated(&self, result: &Tensor<T>, x: &Tensor<T>) -> Tensor<T> {
        let kept = x.reduced_shape(&self.axes.resolve(&x.shape), true);
        in_shape(result, &kept).spread_to(&x.shape)
    }

    /// Returns the product of flows of each element and the derivative of the result by it.
    #[track_caller]
    fn weighted(&self, flow: Tensor<T>, (x, y): &(Tensor<T>, Tensor<T>)) -> Tensor<T> {
        match self.operation.op {
            ReduceOp::Mul => flow * self.product_of_others(x),
            ReduceOp::Min | ReduceOp::Max => {
                let is_result = x.array.eq(&self.repeated(y, x).array).cast::<T>();
                Tensor::shaped(flow.array * is_result, &x.shape)
            }
            _ => flow,
        }
    }

    #[track_caller]
    fn product_of_others(&self, x: &Tensor<T>) -> Tensor<T> {
        let named = self.axes.resolve(&x.shape);
        let kept = (0..x.ndim()).filter(|axis| !named.contains(axis));
        let order: Vec<usize> = kept.chain(named.iter().copied()).collect();
        let mut back = vec![0_isize; order.len()];
        order.iter().enumerate().for_each(|(to, &from)| back[from] = to as isize);
        let order: Vec<isize> = order.into_iter().map(|axis| axis as isize).collect();
        let last = x.permute_axes(order);
        let scans = [Scan::exclusive(), Scan::exclusive().reverse()];
        let block = x.count_along(&self.axes);
        let [before, after] = scans.map(|scan| last.array.prefix(ReduceOp::Mul, scan.per_block(block)));
        Tensor::shaped(before * after, &last.shape).permute_axes(back)
    }
}

impl<T: Number> CustomOp for Reduced<T> {
    type Input = Tensor<T>;
    type Output = Tensor<T>;
    type Saved = (Tensor<T>, Tensor<T>);

    fn name(&self) -> &str {
        "reduction along axes"
    }

    #[track_caller]
    fn forward(&self, x: &Tensor<T>) -> (Tensor<T>, Self::Saved) {
        let y = x.reduced(self.axes.clone(), &self.operation);
        (y.clone(), (x.clone(), y))
    }

    #[track_caller]
    fn backward(&self, saved: &Self::Saved, gradient: &Tensor<T>) -> Result<Tensor<T>> {
        Ok(self.weighted(self.repeated(gradient, &saved.0), saved))
    }

    #[track_caller]
    fn jvp(&self, saved: &Self::Saved, tangent: &Tensor<T>) -> Result<Tensor<T>> {
        Ok(self.weighted(tangent.clone(), saved).sum(self.axes.clone()))
    }
}

/// The derivative of a product of matrices, or of their transposes.
pub(super) struct Multiplied<T: Number> {
    transposed: Transposed,
    number: PhantomData<T>,
}

impl<T: Number> Multiplied<T> {
    pub(super) fn new(transposed: Transposed) -> Self {
        Multiplied { transposed, number: PhantomData }
    }
}

impl<T: Number> CustomOp for Multiplied<T> {
    type Input = (Tensor<T>, Tensor<T>);
    type Output = Tensor<T>;
    type Saved = (Tensor<T>, Tensor<T>);

    fn name(&self) -> &str {
        "matmul"
    }

    #[track_caller]
    fn forward(&self, factors: &Self::Input) -> (Tensor<T>, Self::Saved) {
        (multiplied(&factors.0, &factors.1, self.transposed), factors.clone())
    }

    #[track_caller]
    fn backward(&self, (a, b): &Self::Saved, gradient: &Tensor<T>) -> Result<Self::Input> {
        let [is_a_transposed, is_b_transposed] = self.transposed;
        let of_a = match is_a_transposed {
            false => product_of(gradient, b, [false, !is_b_transposed]),
            true => product_of(b, gradient, [is_b_transposed, true]),
        };
        let of_b = match is_b_transposed {
            false => product_of(a, gradient, [!is_a_transposed, false]),
            true => product_of(gradient, a, [true, is_a_transposed]),
        };
        Ok((of_a.summed_to(a), of_b.summed_to(b)))
    }

    #[track_caller]
    fn jvp(&self, (a, b): &Self::Saved, (of_a, of_b): &Self::Input) -> Result<Tensor<T>> {
        Ok(product_of(of_a, b, self.transposed) + product_of(a, of_b, self.transposed))
    }
}
