//! Messages for what an array does not have under the name that other libraries use.
//!
//! Each item exists only for its message: it requires what no array implements. Names for which the compiler suggests
//! the right one by itself, such as `isnan`, are not here. Neither are those that a program may give to methods of its
//! own traits, such as `shape` or `row`: methods of a type come before those of traits.

use super::{Array, Element, UInt};

/// Declares a method for its message: it requires a trait of its name, which nothing implements.
///
/// `name(arguments) -> result = "message"`; arguments are of any type, and each is a name of a type parameter. One call
/// for each name, since the compiler shows the whole call. The name is a `tt`: a token keeps its place in the call, and
/// the compiler says nothing of this macro.
#[doc(hidden)]
#[macro_export]
macro_rules! name_of_another_library {
    ($for:ident: $name:tt $(<$element:ident>)? ($($argument:ident),*) -> $result:ty = $message:literal) => {
        /// What the method of this name requires.
        #[diagnostic::on_unimplemented(message = $message, label = "another name is used here")]
        #[allow(non_camel_case_types, reason = "the name of the method")]
        pub trait $name {}

        impl<T: Element> $for<T> {
            #[doc(hidden)]
            #[must_use]
            #[allow(clippy::should_implement_trait, clippy::wrong_self_convention, reason = "names of others")]
            pub fn $name<$($element: Element,)? $($argument),*>(&self, $(_: $argument),*) -> $result
            where
                Self: $name,
            {
                unreachable!($message)
            }
        }
    };
}

name_of_another_library!(Array: absolute() -> Self = "`absolute` is `x.abs()`");
name_of_another_library!(
    Array: allclose(A) -> bool =
        "`allclose` is `(&x - &y).abs().le(1e-6).all()`, and `.item()?` reads it"
);
name_of_another_library!(Array: amax() -> Self = "`amax` is `x.reduce_max()`");
name_of_another_library!(Array: amin() -> Self = "`amin` is `x.reduce_min()`");
name_of_another_library!(
    Array: argwhere() -> UInt =
        "`argwhere` is `x.ne(0.0).compress()`: the indices of the lanes where a mask is true"
);
name_of_another_library!(
    Array: as_slice() -> Self =
        "`as_slice` is `x.to_vec()?`: elements have no address before they are computed"
);
name_of_another_library!(Array: astype<U>() -> Array<U> = "`astype` is `x.cast::<T>()`");
name_of_another_library!(
    Array: block_until_ready() -> Self =
        "`block_until_ready` is `x.eval()?` and `jit::sync()?`; whatever reads elements waits by itself"
);
name_of_another_library!(Array: clip(A, B) -> Self = "`clip` is `x.clamp(low, high)`");
name_of_another_library!(Array: cummax() -> Self = "`cummax` is `x.prefix_reduce(ReduceOp::Max)`");
name_of_another_library!(Array: cummin() -> Self = "`cummin` is `x.prefix_reduce(ReduceOp::Min)`");
name_of_another_library!(Array: cumprod() -> Self = "`cumprod` is `x.prefix_reduce(ReduceOp::Mul)`");
name_of_another_library!(Array: cumsum() -> Self = "`cumsum` is `x.prefix_sum()`");
name_of_another_library!(Array: flip() -> Self = "`flip` is `x.reverse()`");
name_of_another_library!(Array: fmod(A) -> Self = "`fmod` is `x % y`, with the sign of `x`");
name_of_another_library!(Array: index_add(A, B) -> Self = "`index_add` is `x.scatter_add(&values, &indices)`");
name_of_another_library!(Array: index_select(A) -> Self = "`index_select` is `x.gather(&indices)`");
name_of_another_library!(
    Array: log() -> Self =
        "`log` is `x.ln()`; for other bases there are `x.log2()` and `x.log10()`"
);
name_of_another_library!(Array: log1p() -> Self = "`log1p` is `x.ln_1p()`");
name_of_another_library!(
    Array: logical_and(A) -> Self =
        "`logical_and` is `a & b` on masks, and `a && b` in a `#[jit]` function"
);
name_of_another_library!(
    Array: logical_or(A) -> Self =
        "`logical_or` is `a | b` on masks, and `a || b` in a `#[jit]` function"
);
name_of_another_library!(Array: masked_select(A) -> Self = "`masked_select` is `x.filter(&mask)`");
name_of_another_library!(
    Array: maximum(A) -> Self =
        "`maximum` is `x.max(y)`, and `x.reduce_max()` for the greatest element"
);
name_of_another_library!(
    Array: minimum(A) -> Self =
        "`minimum` is `x.min(y)`, and `x.reduce_min()` for the least element"
);
name_of_another_library!(Array: nan_to_num() -> Self = "`nan_to_num` is `x.is_nan().select(0.0, &x)`");
name_of_another_library!(
    Array: nonzero() -> UInt =
        "`nonzero` is `x.ne(0.0).compress()`: the indices of the lanes where a mask is true"
);
name_of_another_library!(Array: numpy() -> Self = "`numpy` is `x.to_vec()?`");
name_of_another_library!(Array: prod() -> Self = "`prod` is `x.product()`");
name_of_another_library!(Array: requires_grad_() -> Self = "`requires_grad_` is `x.enable_grad()`");
name_of_another_library!(Array: tolist() -> Self = "`tolist` is `x.to_vec()?`");
name_of_another_library!(Array: zero_grad() -> Self = "`zero_grad` is `x.clear_grad()`");
