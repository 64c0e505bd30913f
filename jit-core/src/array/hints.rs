//! Messages for what an array does not have under the name that other libraries use.
//!
//! Each item exists only for its message: it requires what no array implements. Names for which the compiler suggests
//! the right one by itself, such as `isnan`, are not here. Neither are those that a program may give to methods of its
//! own traits, such as `shape` or `row`: methods of a type come before those of traits.

use super::{Array, Element, UInt};

/// Declares methods for their messages: each requires a trait of its name, which nothing implements.
///
/// `name(arguments) -> result = "message"`; arguments are of any type, and each is a name of a type parameter.
#[doc(hidden)]
#[macro_export]
macro_rules! names_of_other_libraries {
    ($for:ident; $($name:ident $(<$element:ident>)? ($($argument:ident),*) -> $result:ty = $message:literal;)+) => {
        $(
            /// What the method of this name requires.
            #[diagnostic::on_unimplemented(message = $message, label = "another name is used here")]
            #[allow(non_camel_case_types, reason = "the name of the method")]
            pub trait $name {}
        )+

        impl<T: Element> $for<T> {
            $(
                #[doc(hidden)]
                #[must_use]
                #[allow(clippy::should_implement_trait, clippy::wrong_self_convention, reason = "names of others")]
                pub fn $name<$($element: Element,)? $($argument),*>(&self, $(_: $argument),*) -> $result
                where
                    Self: $name,
                {
                    unreachable!($message)
                }
            )+
        }
    };
}

names_of_other_libraries! {
    Array;

    absolute() -> Self = "`absolute` is `x.abs()`";
    allclose(A) -> bool = "`allclose` is `(&x - &y).abs().le(1e-6).all()`, and `.item()?` reads it";
    amax() -> Self = "`amax` is `x.reduce_max()`";
    amin() -> Self = "`amin` is `x.reduce_min()`";
    argwhere() -> UInt = "`argwhere` is `x.ne(0.0).compress()`: the indices of the lanes where a mask is true";
    as_slice() -> Self = "`as_slice` is `x.to_vec()?`: elements have no address before they are computed";
    astype<U>() -> Array<U> = "`astype` is `x.cast::<T>()`";
    block_until_ready() -> Self =
        "`block_until_ready` is `x.eval()?` and `jit::sync()?`; whatever reads elements waits by itself";
    clip(A, B) -> Self = "`clip` is `x.clamp(low, high)`";
    cummax() -> Self = "`cummax` is `x.prefix_reduce(ReduceOp::Max)`";
    cummin() -> Self = "`cummin` is `x.prefix_reduce(ReduceOp::Min)`";
    cumprod() -> Self = "`cumprod` is `x.prefix_reduce(ReduceOp::Mul)`";
    cumsum() -> Self = "`cumsum` is `x.prefix_sum()`";
    flip() -> Self = "`flip` is `x.reverse()`";
    fmod(A) -> Self = "`fmod` is `x % y`, with the sign of `x`";
    index_add(A, B) -> Self = "`index_add` is `x.scatter_add(&values, &indices)`";
    index_select(A) -> Self = "`index_select` is `x.gather(&indices)`";
    log() -> Self = "`log` is `x.ln()`; for other bases there are `x.log2()` and `x.log10()`";
    log1p() -> Self = "`log1p` is `x.ln_1p()`";
    logical_and(A) -> Self = "`logical_and` is `a & b` on masks, and `a && b` in a `#[jit]` function";
    logical_or(A) -> Self = "`logical_or` is `a | b` on masks, and `a || b` in a `#[jit]` function";
    masked_select(A) -> Self = "`masked_select` is `x.filter(&mask)`";
    maximum(A) -> Self = "`maximum` is `x.max(y)`, and `x.reduce_max()` for the greatest element";
    minimum(A) -> Self = "`minimum` is `x.min(y)`, and `x.reduce_min()` for the least element";
    nan_to_num() -> Self = "`nan_to_num` is `x.is_nan().select(0.0, &x)`";
    nonzero() -> UInt = "`nonzero` is `x.ne(0.0).compress()`: the indices of the lanes where a mask is true";
    numpy() -> Self = "`numpy` is `x.to_vec()?`";
    prod() -> Self = "`prod` is `x.product()`";
    requires_grad_() -> Self = "`requires_grad_` is `x.enable_grad()`";
    tolist() -> Self = "`tolist` is `x.to_vec()?`";
    zero_grad() -> Self = "`zero_grad` is `x.clear_grad()`";
}
