//! Arrays: typed handles to nodes of the trace.
//!
//! Operations on arrays compute nothing; they record. The elements of an array are computed when it is read
//! ([`Array::to_vec`], printing) or when [`crate::eval`] requests it.
//!
//! | part | file |
//! |---|---|
//! | element types | [`element`] |
//! | constructors | `make` |
//! | operators, comparison, selection | `operators`, `compare`, `comparable`, `host_comparison`, `choose` |
//! | the result type of an operation on two types | [`promote`] |
//! | element-wise functions | `math`, `bits`, `helpers` |
//! | writing to elements: scatter | `scatter` |
//! | neighbouring elements together | `packets` |
//! | other lanes: gather, reductions | `lanes`, `reductions`, `shape` |
//! | reductions of blocks, prefix reductions | `blocks`, `prefix` |
//! | lanes where a mask is true | `compress` |
//! | histograms | `histogram` |
//! | sorting, medians, distinct elements; searching | `order`, `search` |
//! | reductions of segments | `segments` |
//! | derivatives of operations that are lowered to others | `derivatives` |
//! | reading back, printing | `read`, `view`, `convert`, `print`, `columns` |
//! | copies on other devices | `transfer` |

use std::marker::PhantomData;

use half::{bf16, f16};
use jit_runtime::Site;
use jit_runtime::device::Device;
use jit_runtime::ir::{BinaryOp, CompareOp, Type, UnaryOp};

use crate::graph::Var;
use crate::misuse::Misuse;
use crate::schedule::eager;
use crate::size::Size;
use crate::trace::{local as lane_memory, record};

// The documentation shows implementations in module order: constructors and reading come first.
mod make;
mod read;

mod bits;
mod blocks;
mod choose;
mod columns;
mod comparable;
mod compare;
pub(crate) mod compress;
mod concat;
mod convert;
pub(crate) mod derivatives;
mod doubling;
pub mod element;
pub mod enums;
mod helpers;
mod hints;
mod histogram;
mod host_comparison;
mod lanes;
pub mod length;
mod local;
mod math;
mod nan;
pub mod native;
mod operand;
mod operators;
mod order;
mod packets;
pub mod piecewise;
pub(crate) mod prefix;
mod prefix_derivatives;
pub(crate) mod print;
pub mod promote;
mod reductions;
mod scatter;
mod search;
mod segments;
mod shape;
mod transfer;
mod traverse;
pub mod trees;
mod view;

pub use choose::{Choice, select};
pub use comparable::{Equal, Order};
pub use compare::Comparand;
pub use element::{Element, FloatElement, Integer, Logic, Number, Signed};
#[doc(hidden)]
pub use host_comparison::{Compare, OperatorsOutsideOfJit};
pub use local::{IntoEntry, Local, LocalEntry};
pub use operand::Operand;
pub use order::{Sorting, Unique};
pub use prefix::Scan;
pub use promote::{Promote, Promoted, PromotesTo};
pub use shape::{meshgrid, meshgrid_all, meshgrid3};
pub(crate) use transfer::transferred;
pub use view::View;

/// A one-dimensional array of elements of one type.
///
/// The handle is small and cheap to clone; clones are the same array. Arrays of width 1 combine with arrays of any
/// width.
#[repr(transparent)]
pub struct Array<T: Element> {
    var: Var,
    element: PhantomData<T>,
}

/// An array of `f32`.
pub type Float = Array<f32>;
/// An array of `f64`.
pub type Float64 = Array<f64>;
/// An array of `f16`.
pub type Half = Array<f16>;
/// An array of `bf16`.
pub type BFloat = Array<bf16>;
/// An array of `i8`.
pub type Int8 = Array<i8>;
/// An array of `i16`.
pub type Int16 = Array<i16>;
/// An array of `i32`.
pub type Int = Array<i32>;
/// An array of `i64`.
pub type Int64 = Array<i64>;
/// An array of `u8`.
pub type UInt8 = Array<u8>;
/// An array of `u16`.
pub type UInt16 = Array<u16>;
/// An array of `u32`.
pub type UInt = Array<u32>;
/// An array of `u64`.
pub type UInt64 = Array<u64>;
/// An array of truth values.
pub type Mask = Array<bool>;

impl<T: Element> Clone for Array<T> {
    #[inline]
    fn clone(&self) -> Self {
        Array { var: self.var.clone(), element: PhantomData }
    }
}

#[cold]
fn refuse_type(var: &Var, wanted: Type) -> ! {
    let memory = if lane_memory::is_local(var) { "per-lane local memory" } else { "a value" };
    Misuse::new(format!("{memory} of {} is not an array of {wanted}", var.ty()), var.site()).value("it", var).panic()
}

impl<T: Element> Array<T> {
    /// Wraps a node of the trace as an array.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn from_var(var: Var) -> Self {
        // Safe code can call this function.
        if var.ty() != T::TYPE || lane_memory::is_local(&var) {
            refuse_type(&var, T::TYPE);
        }
        eager::after_operation(&var);
        Array { var, element: PhantomData }
    }

    /// Like [`Array::from_var`], for a node that an operation on arrays has just made for this element type.
    #[inline]
    pub(crate) fn recorded(var: Var) -> Self {
        debug_assert!(var.ty() == T::TYPE && !lane_memory::is_local(&var), "{var:?} is not an array of {}", T::TYPE);
        eager::after_operation(&var);
        Array { var, element: PhantomData }
    }

    /// Returns the node of the trace.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn var(&self) -> &Var {
        &self.var
    }

    /// Returns the node of the trace mutably, to be replaced by one of the same element type.
    #[inline]
    pub(crate) fn var_mut(&mut self) -> &mut Var {
        &mut self.var
    }

    /// Returns the node of the trace.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn into_var(self) -> Var {
        self.var
    }

    /// Returns the number of elements. Evaluates nothing. Inside a `#[freeze]` function, a recording that uses this
    /// number is valid for it alone. [`Array::width`] returns it as a size, with which arrays of other widths can be
    /// made.
    #[inline]
    #[must_use]
    #[track_caller]
    #[expect(clippy::len_without_is_empty, reason = "an array is not a collection; widths are compared")]
    pub fn len(&self) -> usize {
        self.var.width().get()
    }

    /// Returns the number of elements, to make arrays of the same width.
    #[inline]
    #[must_use]
    pub fn width(&self) -> Size {
        self.var.width()
    }

    /// Returns the device that the array is on: that of its memory, or of what it is computed from. An array that is
    /// computed from constants alone has none until it is evaluated; the result is then the device of new arrays.
    #[must_use]
    pub fn device(&self) -> Device {
        self.var.devices().or_current()
    }

    /// Gives the array a name, shown by [`crate::whos`], drawings and messages. Returns the array.
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        self.var.set_label(label);
        self
    }

    /// Gives the array a name; see [`Array::with_label`]. The gradient of a variable `a` is listed as `a.grad`.
    pub fn set_label(&self, label: impl Into<String>) {
        self.var.set_label(label);
    }

    /// Returns the value as a constant for differentiation: no gradients flow through the result.
    #[must_use]
    #[track_caller]
    pub fn detach(&self) -> Self {
        Array::recorded(record::detached(&self.var))
    }

    /// Converts each element to another type, like Rust's `as`. From float to integer it truncates and saturates, and
    /// NaN becomes 0; integers wrap; to `bool` it means “is not zero”.
    #[must_use]
    #[track_caller]
    #[doc(alias = "astype")]
    pub fn cast<U: Element>(&self) -> Array<U> {
        Array::recorded(record::cast(U::TYPE, &self.var))
    }

    /// Reinterprets the bits of each element as another type of the same size. Every NaN has the bits of Rust's `NAN`
    /// here, since the sign and payload that operations produce differ between processors.
    #[must_use]
    #[track_caller]
    pub fn bitcast<U: Element>(&self) -> Array<U> {
        const {
            assert!(T::TYPE.bits() == U::TYPE.bits(), "`bitcast` converts between types of the same size");
        }
        let is_read = T::TYPE.is_float() && T::TYPE != U::TYPE;
        let bits = if is_read { nan::canonical(&self.var) } else { self.var.clone() };
        Array::recorded(record::bitcast(U::TYPE, &bits))
    }

    #[inline]
    #[track_caller]
    fn unary(&self, op: UnaryOp) -> Self {
        Array::recorded(record::unary(op, &self.var))
    }

    #[inline]
    #[track_caller]
    fn binary(&self, op: BinaryOp, other: &Array<T>) -> Self {
        Array::recorded(record::binary(op, &self.var, &other.var))
    }

    #[inline]
    #[track_caller]
    fn compare(&self, op: CompareOp, other: &Array<T>) -> Mask {
        Array::recorded(record::compare(op, &self.var, &other.var))
    }

    /// Returns the line of the program that made the value.
    #[must_use]
    pub fn site(&self) -> Site {
        self.var.site()
    }
}
