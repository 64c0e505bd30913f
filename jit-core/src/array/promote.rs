//! Promotion: the element type of an operation on arrays of two types.
//!
//! | | `bool` | integer | `f16` | `bf16` | `f32` | `f64` |
//! |---|---|---|---|---|---|---|
//! | `bool` | `bool` | the integer | `f16` | `bf16` | `f32` | `f64` |
//! | integer | the integer | see below | `f16` | `bf16` | `f32` | `f64` |
//! | `f16` | `f16` | `f16` | `f16` | `f32` | `f32` | `f64` |
//! | `bf16` | `bf16` | `bf16` | `f32` | `bf16` | `f32` | `f64` |
//! | `f32` | `f32` | `f32` | `f32` | `f32` | `f32` | `f64` |
//! | `f64` | `f64` | `f64` | `f64` | `f64` | `f64` | `f64` |
//!
//! Of two integers of the same signedness the wider one wins. For different signedness, the result is the smallest
//! signed type that holds all values of both. `u64` and a signed integer have none, which is a compile-time error. The
//! operands are converted as by [`Array::cast`], before the operation.
//!
//! Host numbers are weakly typed: they take the array's type if it is of the same class, so that `half_array * 0.5`
//! stays `f16` and `int_array + 1` stays `i32`. A float combined with integers yields `f32`, an integer combined with a
//! mask `i32`.

use half::{bf16, f16};
use jit_runtime::ir::Type;

use super::{Array, Element};
use crate::graph::Var;
use crate::trace::record;

/// Element types that can be combined in one operation; `Output` is the type in which it is computed.
#[diagnostic::on_unimplemented(
    message = "arrays of `{Self}` and `{B}` have no common element type",
    label = "convert one side: `.cast::<{B}>()` on the left or `.cast::<{Self}>()` on the right",
    note = "no integer type holds all values of `u64` and of a signed integer"
)]
pub trait Promote<B> {
    /// The element type of the result.
    type Output: Element;
}

/// The common element type of arrays of two types.
pub type Promoted<A, B> = <A as Promote<B>>::Output;

/// Element types whose arrays are accepted where an array of `T` is expected: those that promote into `T`.
#[diagnostic::on_unimplemented(
    message = "an array of `{Self}` is not converted to an array of `{T}` implicitly",
    label = "expected an array of `{T}` or of a type that promotes into it",
    note = "`{T}` cannot represent all values of `{Self}`: write `.cast::<{T}>()`"
)]
pub trait PromotesTo<T> {}

/// One row for each type: the types that promote into it.
macro_rules! into {
    ($($into:ident: $($from:ident)*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Promote<$into> for $into {
            type Output = $into;
        }

        #[diagnostic::do_not_recommend]
        impl PromotesTo<$into> for $into {}

        $(
            #[diagnostic::do_not_recommend]
            impl Promote<$from> for $into {
                type Output = $into;
            }

            #[diagnostic::do_not_recommend]
            impl Promote<$into> for $from {
                type Output = $into;
            }

            #[diagnostic::do_not_recommend]
            impl PromotesTo<$into> for $from {}
        )*
    )*};
}

into! {
    bool:;
    i8: bool;
    i16: bool i8 u8;
    i32: bool i8 i16 u8 u16;
    i64: bool i8 i16 i32 u8 u16 u32;
    u8: bool;
    u16: bool u8;
    u32: bool u8 u16;
    u64: bool u8 u16 u32;
    f16: bool i8 i16 i32 i64 u8 u16 u32 u64;
    bf16: bool i8 i16 i32 i64 u8 u16 u32 u64;
    f32: bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16;
    f64: bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32;
}

/// Pairs of types with a common third type.
macro_rules! meet {
    ($($a:ident $b:ident: $both:ident;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Promote<$b> for $a {
            type Output = $both;
        }

        #[diagnostic::do_not_recommend]
        impl Promote<$a> for $b {
            type Output = $both;
        }
    )*};
}

meet! {
    i8 u8: i16;
    i8 u16: i32;
    i16 u16: i32;
    i8 u32: i64;
    i16 u32: i64;
    i32 u32: i64;
    f16 bf16: f32;
}

impl<T: Element> Array<T> {
    /// Returns the array, converted to the type that it promotes into.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn promoted<U: Element>(&self) -> Array<U> {
        Array::recorded(cast(U::TYPE, self.var()))
    }
}

/// Identity conversion, which costs nothing, for the most frequent case.
#[inline(always)]
#[track_caller]
fn cast(ty: Type, var: &Var) -> Var {
    if var.ty() == ty { var.clone() } else { record::cast(ty, var) }
}
