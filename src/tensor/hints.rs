//! Messages for what a tensor does not have under the name that other libraries use.
//!
//! Each item exists only for its message: it requires what no tensor implements.

use std::ops;

use jit_core::name_of_another_library;

use super::Tensor;
use crate::Element;

/// Tensors whose elements have addresses: none.
#[diagnostic::on_unimplemented(
    message = "a tensor is not indexed by `[]`",
    label = "elements of `{Self}` have no address, as they are computed when a kernel runs",
    note = "`x.slice(s![0, .., 1..3])` selects elements, rows and ranges, `x.set(s![0], value)` replaces them, and \
        `x.slice(s![2, 3]).item()?` reads one to the host"
)]
pub trait HasAddress {}

#[diagnostic::do_not_recommend]
impl<T: Element, I> ops::Index<I> for Tensor<T>
where
    Tensor<T>: HasAddress,
{
    type Output = Tensor<T>;

    fn index(&self, _: I) -> &Tensor<T> {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: Element, I> ops::IndexMut<I> for Tensor<T>
where
    Tensor<T>: HasAddress,
{
    fn index_mut(&mut self, _: I) -> &mut Tensor<T> {
        self
    }
}

// Methods of other libraries, each with the one to write.

name_of_another_library!(Tensor: amax(A) -> Self = "`amax` is `x.reduce_max(axes)`");
name_of_another_library!(Tensor: amin(A) -> Self = "`amin` is `x.reduce_min(axes)`");
name_of_another_library!(Tensor: astype<U>() -> Tensor<U> = "`astype` is `x.cast::<T>()`");
name_of_another_library!(Tensor: bmm(A) -> Self = "`bmm` is `x.matmul(&y)`, which broadcasts axes before the last two");
name_of_another_library!(Tensor: broadcast_add(A) -> Self = "`broadcast_add` is `&x + &y`: operators broadcast");
name_of_another_library!(Tensor: broadcast_as(A) -> Self = "`broadcast_as` is `x.broadcast_to(shape)`");
name_of_another_library!(Tensor: broadcast_div(A) -> Self = "`broadcast_div` is `&x / &y`: operators broadcast");
name_of_another_library!(Tensor: broadcast_mul(A) -> Self = "`broadcast_mul` is `&x * &y`: operators broadcast");
name_of_another_library!(Tensor: broadcast_sub(A) -> Self = "`broadcast_sub` is `&x - &y`: operators broadcast");
name_of_another_library!(Tensor: cat(A) -> Self = "`cat` is `Tensor::concat(&[&x, &y], axis)`");
name_of_another_library!(Tensor: clip(A, B) -> Self = "`clip` is `x.clamp(low, high)`");
name_of_another_library!(Tensor: contiguous() -> Self = "a tensor is always contiguous: leave `contiguous` out");
name_of_another_library!(Tensor: cummax(A) -> Self = "`cummax` is `x.prefix(axis, ReduceOp::Max, Scan::inclusive())`");
name_of_another_library!(Tensor: cummin(A) -> Self = "`cummin` is `x.prefix(axis, ReduceOp::Min, Scan::inclusive())`");
name_of_another_library!(
    Tensor: cumprod(A) -> Self =
        "`cumprod` is `x.prefix(axis, ReduceOp::Mul, Scan::inclusive())`"
);
name_of_another_library!(Tensor: cumsum(A) -> Self = "`cumsum` is `x.prefix_sum(axis)`");
name_of_another_library!(Tensor: dim() -> usize = "`dim` is `x.ndim()`, and the size of one axis is `x.size(axis)`");
name_of_another_library!(
    Tensor: einsum(A, B) -> Self =
        "`einsum` is `x.tensordot(&y, axes, other_axes)`, `x.matmul(&y)` or `(&x * &y).sum(axes)`"
);
name_of_another_library!(Tensor: expand(A) -> Self = "`expand` is `x.broadcast_to(shape)`");
name_of_another_library!(Tensor: flatten() -> Self = "`flatten` is `x.ravel()`");
name_of_another_library!(Tensor: hstack(A) -> Self = "`hstack` is `Tensor::concat(&[&x, &y], 1)`");
name_of_another_library!(Tensor: index_select(A, B) -> Self = "`index_select` is `x.take(axis, &indices)`");
name_of_another_library!(
    Tensor: log() -> Self =
        "`log` is `x.ln()`; for other bases there are `x.log2()` and `x.log10()`"
);
name_of_another_library!(Tensor: log1p() -> Self = "`log1p` is `x.ln_1p()`");
name_of_another_library!(
    Tensor: logsumexp(A) -> Self =
        "`logsumexp` is `x.exp().sum(axes).ln()`, after `x - x.reduce_max(axes)` if elements are large"
);
name_of_another_library!(Tensor: masked_fill(A, B) -> Self = "`masked_fill` is `mask.select(value, &x)`");
name_of_another_library!(
    Tensor: maximum(A) -> Self =
        "`maximum` is `x.max(y)`, and `x.reduce_max(axes)` for the greatest element"
);
name_of_another_library!(
    Tensor: minimum(A) -> Self =
        "`minimum` is `x.min(y)`, and `x.reduce_min(axes)` for the least element"
);
name_of_another_library!(Tensor: mm(A) -> Self = "`mm` is `x.matmul(&y)`");
name_of_another_library!(Tensor: numel() -> usize = "`numel` is `x.len()`");
name_of_another_library!(Tensor: numpy() -> Self = "`numpy` is `x.to_vec()?`");
name_of_another_library!(Tensor: permute(A) -> Self = "`permute` is `x.permute_axes([0, 2, 1])`");
name_of_another_library!(
    Tensor: pow(A) -> Self =
        "`pow` is `x.powi(2)` for a whole number, and `x.powf(y)` for a float or a tensor"
);
name_of_another_library!(Tensor: prod(A) -> Self = "`prod` is `x.product(axes)`");
name_of_another_library!(Tensor: requires_grad_() -> Self = "`requires_grad_` is `x.enable_grad()`");
name_of_another_library!(Tensor: t() -> Self = "`t` is `x.transpose()`");
name_of_another_library!(Tensor: to_dtype<U>() -> Tensor<U> = "`to_dtype` is `x.cast::<T>()`");
name_of_another_library!(Tensor: to_vec1() -> Self = "`to_vec1` is `x.to_vec()?`");
name_of_another_library!(
    Tensor: to_vec2() -> Self =
        "`to_vec2` is `x.to_vec()?`, and `x.shape()` says how long rows are"
);
name_of_another_library!(
    Tensor: tril() -> Self =
        "`tril` is `Tensor::from_fn(x.shape(), |at| at[1].le(&at[0])).select(&x, 0.0)`"
);
name_of_another_library!(
    Tensor: triu() -> Self =
        "`triu` is `Tensor::from_fn(x.shape(), |at| at[1].ge(&at[0])).select(&x, 0.0)`"
);
name_of_another_library!(Tensor: unsqueeze(A) -> Self = "`unsqueeze` is `x.expand_dims(axis)`");
name_of_another_library!(Tensor: view(A) -> Self = "`view` is `x.reshape([2, -1])`, which copies nothing");
name_of_another_library!(Tensor: vstack(A) -> Self = "`vstack` is `Tensor::concat(&[&x, &y], 0)`");
name_of_another_library!(Tensor: where_cond(A, B) -> Self = "`where_cond` is `mask.select(&x, &y)`");
name_of_another_library!(Tensor: zero_grad() -> Self = "`zero_grad` is `x.clear_grad()`");
