//! Operations on an element at an index: one trait for each operator, whose message is that of the operator.

use crate::array::{Array, Element, Integer, Logic, Number, Operand};
use jit_runtime::ir::ReduceOp;

/// Indices of arrays: arrays of integers, and host integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index of an array",
    label = "expected an array of integers, or an integer",
    note = "convert with `.cast::<u32>()`, or `as u32` in a `#[jit]` function"
)]
pub trait ArrayIndex {
    /// The element type.
    type Element: Integer;
    /// Converts the index to an array.
    #[track_caller]
    fn into_index(self) -> Array<Self::Element>;
}

impl<J: Integer> ArrayIndex for Array<J> {
    type Element = J;
    fn into_index(self) -> Array<J> {
        self
    }
}

impl<J: Integer> ArrayIndex for &Array<J> {
    type Element = J;
    fn into_index(self) -> Array<J> {
        self.clone()
    }
}

macro_rules! host_indices {
    ($($ty:ty => $element:ty),*) => {$(
        impl ArrayIndex for $ty {
            type Element = $element;
            #[track_caller]
            fn into_index(self) -> Array<$element> {
                Array::from(self as $element)
            }
        }
    )*};
}

host_indices!(
    u8 => u8, u16 => u16, u32 => u32, u64 => u64, usize => u64, i8 => i8, i16 => i16, i32 => i32, i64 => i64,
    isize => i64
);

/// Types that return an element at an index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is indexed by arrays of integers and by integers, not by `{I}`",
    label = "`{I}` is not an index of `{Self}`",
    note = "convert with `.cast::<u32>()`, or `as u32` in a `#[jit]` function; a range is `.slice(a..b)`"
)]
pub trait ReadAt<I> {
    /// The element.
    type Value;
    /// Returns the element at an index.
    #[track_caller]
    fn read_at(&self, index: I) -> Self::Value;
}

/// Types that store an element at an index.
#[diagnostic::on_unimplemented(
    message = "`{V}` cannot be written to `{Self}` at an index of type `{I}`",
    label = "no assignment of `{V}` to an element of `{Self}`",
    note = "an array takes values of its element type, at an array of integers; convert other types with `as` or \
        `.cast::<T>()`"
)]
pub trait AssignAt<I, V> {
    /// `self[index] = value`
    #[track_caller]
    fn assign_at(&mut self, index: I, value: V);
}

#[diagnostic::do_not_recommend]
impl<T: Element, I: ArrayIndex> ReadAt<I> for Array<T> {
    type Value = Array<T>;
    fn read_at(&self, index: I) -> Array<T> {
        self.gather(&index.into_index())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Element, I: ArrayIndex, V: Operand<T>> AssignAt<I, V> for Array<T> {
    fn assign_at(&mut self, index: I, value: V) {
        self.scatter(value, &index.into_index());
    }
}

/// Types that add to an element at an index.
#[diagnostic::on_unimplemented(
    message = "`+=` cannot add `{V}` to an element of `{Self}` at an index of type `{I}`",
    label = "no `+=` of `{V}` on an element of `{Self}`",
    note = "arrays of numbers add values of their element type, at an array of integers"
)]
pub trait AddAt<I, V> {
    /// `self[index] += value`
    #[track_caller]
    fn add_at(&mut self, index: I, value: V);
}

/// Types that subtract from an element at an index.
#[diagnostic::on_unimplemented(
    message = "`-=` cannot subtract `{V}` from an element of `{Self}` at an index of type `{I}`",
    label = "no `-=` of `{V}` on an element of `{Self}`",
    note = "arrays of numbers subtract values of their element type, at an array of integers"
)]
pub trait SubAt<I, V> {
    /// `self[index] -= value`
    #[track_caller]
    fn sub_at(&mut self, index: I, value: V);
}

/// Types that combine an element at an index by "and".
#[diagnostic::on_unimplemented(
    message = "`&=` cannot combine `{V}` with an element of `{Self}` at an index of type `{I}`",
    label = "no `&=` of `{V}` on an element of `{Self}`",
    note = "arrays of integers or `bool` combine values of their element type, at an array of integers"
)]
pub trait BitAndAt<I, V> {
    /// `self[index] &= value`
    #[track_caller]
    fn bitand_at(&mut self, index: I, value: V);
}

/// Types that combine an element at an index by "or".
#[diagnostic::on_unimplemented(
    message = "`|=` cannot combine `{V}` with an element of `{Self}` at an index of type `{I}`",
    label = "no `|=` of `{V}` on an element of `{Self}`",
    note = "arrays of integers or `bool` combine values of their element type, at an array of integers"
)]
pub trait BitOrAt<I, V> {
    /// `self[index] |= value`
    #[track_caller]
    fn bitor_at(&mut self, index: I, value: V);
}

/// Types that multiply an element at an index.
#[diagnostic::on_unimplemented(
    message = "`*=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would multiply an element of `{Self}` that other lanes may change at the same time",
    note = "if no two lanes have the same index: `let x = a[i]; a[i] = x * v;`"
)]
pub trait MulAt<I, V> {
    /// `self[index] *= value`
    #[track_caller]
    fn mul_at(&mut self, index: I, value: V);
}

/// Types that divide an element at an index.
#[diagnostic::on_unimplemented(
    message = "`/=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would divide an element of `{Self}` that other lanes may change at the same time",
    note = "if no two lanes have the same index: `let x = a[i]; a[i] = x / v;`"
)]
pub trait DivAt<I, V> {
    /// `self[index] /= value`
    #[track_caller]
    fn div_at(&mut self, index: I, value: V);
}

/// Types that take the remainder of an element at an index.
#[diagnostic::on_unimplemented(
    message = "`%=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would divide an element of `{Self}` that other lanes may change at the same time",
    note = "if no two lanes have the same index: `let x = a[i]; a[i] = x % v;`"
)]
pub trait RemAt<I, V> {
    /// `self[index] %= value`
    #[track_caller]
    fn rem_at(&mut self, index: I, value: V);
}

/// Types that combine an element at an index by "exclusive or".
#[diagnostic::on_unimplemented(
    message = "`^=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would change an element of `{Self}` that other lanes may change at the same time",
    note = "if no two lanes have the same index: `let x = a[i]; a[i] = x ^ v;`"
)]
pub trait BitXorAt<I, V> {
    /// `self[index] ^= value`
    #[track_caller]
    fn bitxor_at(&mut self, index: I, value: V);
}

/// Types that shift an element at an index to the left.
#[diagnostic::on_unimplemented(
    message = "`<<=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would shift an element of `{Self}` that other lanes may change at the same time",
    note = "if no two lanes have the same index: `let x = a[i]; a[i] = x << v;`"
)]
pub trait ShlAt<I, V> {
    /// `self[index] <<= value`
    #[track_caller]
    fn shl_at(&mut self, index: I, value: V);
}

/// Types that shift an element at an index to the right.
#[diagnostic::on_unimplemented(
    message = "`>>=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would shift an element of `{Self}` that other lanes may change at the same time",
    note = "if no two lanes have the same index: `let x = a[i]; a[i] = x >> v;`"
)]
pub trait ShrAt<I, V> {
    /// `self[index] >>= value`
    #[track_caller]
    fn shr_at(&mut self, index: I, value: V);
}

#[diagnostic::do_not_recommend]
impl<T: Number, I: ArrayIndex, V: Operand<T>> AddAt<I, V> for Array<T> {
    fn add_at(&mut self, index: I, value: V) {
        self.scatter_add(value, &index.into_index());
    }
}

#[diagnostic::do_not_recommend]
impl<T: Number, I: ArrayIndex, V: Operand<T>> SubAt<I, V> for Array<T> {
    fn sub_at(&mut self, index: I, value: V) {
        let negated = Array::from(T::default()) - value.into_array();
        self.scatter_add(negated, &index.into_index());
    }
}

#[diagnostic::do_not_recommend]
impl<T: Logic, I: ArrayIndex, V: Operand<T>> BitAndAt<I, V> for Array<T> {
    fn bitand_at(&mut self, index: I, value: V) {
        self.scatter_reduce(ReduceOp::And, value, &index.into_index());
    }
}

#[diagnostic::do_not_recommend]
impl<T: Logic, I: ArrayIndex, V: Operand<T>> BitOrAt<I, V> for Array<T> {
    fn bitor_at(&mut self, index: I, value: V) {
        self.scatter_reduce(ReduceOp::Or, value, &index.into_index());
    }
}
