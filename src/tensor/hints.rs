//! Messages for what a tensor does not have under the name that other libraries use.
//!
//! Each item exists only for its message: it requires what no tensor implements.

use std::ops;

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

jit_core::names_of_other_libraries! {
    Tensor;

    amax(A) -> Self = "`amax` is `x.reduce_max(axes)`";
    amin(A) -> Self = "`amin` is `x.reduce_min(axes)`";
    astype<U>() -> Tensor<U> = "`astype` is `x.cast::<T>()`";
    bmm(A) -> Self = "`bmm` is `x.matmul(&y)`, which broadcasts axes before the last two";
    broadcast_add(A) -> Self = "`broadcast_add` is `&x + &y`: operators broadcast";
    broadcast_as(A) -> Self = "`broadcast_as` is `x.broadcast_to(shape)`";
    broadcast_div(A) -> Self = "`broadcast_div` is `&x / &y`: operators broadcast";
    broadcast_mul(A) -> Self = "`broadcast_mul` is `&x * &y`: operators broadcast";
    broadcast_sub(A) -> Self = "`broadcast_sub` is `&x - &y`: operators broadcast";
    cat(A) -> Self = "`cat` is `Tensor::concat(&[&x, &y], axis)`";
    clip(A, B) -> Self = "`clip` is `x.clamp(low, high)`";
    contiguous() -> Self = "a tensor is always contiguous: leave `contiguous` out";
    cummax(A) -> Self = "`cummax` is `x.prefix(axis, ReduceOp::Max, Scan::inclusive())`";
    cummin(A) -> Self = "`cummin` is `x.prefix(axis, ReduceOp::Min, Scan::inclusive())`";
    cumprod(A) -> Self = "`cumprod` is `x.prefix(axis, ReduceOp::Mul, Scan::inclusive())`";
    cumsum(A) -> Self = "`cumsum` is `x.prefix_sum(axis)`";
    dim() -> usize = "`dim` is `x.ndim()`, and the size of one axis is `x.size(axis)`";
    einsum(A, B) -> Self = "`einsum` is `x.tensordot(&y, axes, other_axes)`, `x.matmul(&y)` or `(&x * &y).sum(axes)`";
    expand(A) -> Self = "`expand` is `x.broadcast_to(shape)`";
    flatten() -> Self = "`flatten` is `x.ravel()`";
    hstack(A) -> Self = "`hstack` is `Tensor::concat(&[&x, &y], 1)`";
    index_select(A, B) -> Self = "`index_select` is `x.take(axis, &indices)`";
    log() -> Self = "`log` is `x.ln()`; for other bases there are `x.log2()` and `x.log10()`";
    log1p() -> Self = "`log1p` is `x.ln_1p()`";
    logsumexp(A) -> Self =
        "`logsumexp` is `x.exp().sum(axes).ln()`, after `x - x.reduce_max(axes)` if elements are large";
    masked_fill(A, B) -> Self = "`masked_fill` is `mask.select(value, &x)`";
    maximum(A) -> Self = "`maximum` is `x.max(y)`, and `x.reduce_max(axes)` for the greatest element";
    minimum(A) -> Self = "`minimum` is `x.min(y)`, and `x.reduce_min(axes)` for the least element";
    mm(A) -> Self = "`mm` is `x.matmul(&y)`";
    numel() -> usize = "`numel` is `x.len()`";
    numpy() -> Self = "`numpy` is `x.to_vec()?`";
    permute(A) -> Self = "`permute` is `x.permute_axes([0, 2, 1])`";
    pow(A) -> Self = "`pow` is `x.powi(2)` for a whole number, and `x.powf(y)` for a float or a tensor";
    prod(A) -> Self = "`prod` is `x.product(axes)`";
    requires_grad_() -> Self = "`requires_grad_` is `x.enable_grad()`";
    t() -> Self = "`t` is `x.transpose()`";
    to_dtype<U>() -> Tensor<U> = "`to_dtype` is `x.cast::<T>()`";
    to_vec1() -> Self = "`to_vec1` is `x.to_vec()?`";
    to_vec2() -> Self = "`to_vec2` is `x.to_vec()?`, and `x.shape()` says how long rows are";
    tril() -> Self = "`tril` is `Tensor::from_fn(x.shape(), |at| at[1].le(&at[0])).select(&x, 0.0)`";
    triu() -> Self = "`triu` is `Tensor::from_fn(x.shape(), |at| at[1].ge(&at[0])).select(&x, 0.0)`";
    unsqueeze(A) -> Self = "`unsqueeze` is `x.expand_dims(axis)`";
    view(A) -> Self = "`view` is `x.reshape([2, -1])`, which copies nothing";
    vstack(A) -> Self = "`vstack` is `Tensor::concat(&[&x, &y], 0)`";
    where_cond(A, B) -> Self = "`where_cond` is `mask.select(&x, &y)`";
    zero_grad() -> Self = "`zero_grad` is `x.clear_grad()`";
}
