//! Comparisons, and choosing by their results.

use jit_runtime::ir::{CompareOp, Type};

use super::{Array, Element, Mask, Operand};
use crate::trace::record;

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<T: Element> Array<T> {
            $(
                $(#[$doc])*
                #[inline]
                #[must_use]
                #[track_caller]
                pub fn $name(&self, other: impl Operand<T>) -> Mask {
                    self.compare(CompareOp::$op, &other.into_array())
                }
            )*
        }
    };
}

comparisons! {
    /// Where this is less; false for NaN.
    lt Lt;
    /// Where this is less or equal; false for NaN.
    le Le;
    /// Where this is greater; false for NaN.
    gt Gt;
    /// Where this is greater or equal; false for NaN.
    ge Ge;
    /// Where both are equal; false for NaN.
    eq Eq;
    /// Where they differ; true for NaN.
    ne Ne;
}

impl Mask {
    /// The one where the mask is true, the other where it is false.
    #[must_use]
    #[track_caller]
    pub fn select<T: Element>(&self, if_true: impl Operand<T>, if_false: impl Operand<T>) -> Array<T> {
        let (a, b) = (if_true.into_array(), if_false.into_array());
        debug_assert_eq!(self.var.ty(), Type::Bool);
        Array::from_var(record::select(&self.var, &a.var, &b.var))
    }
}

/// The one where the mask is true, the other where it is false.
#[must_use]
#[track_caller]
pub fn select<T: Element>(mask: &Mask, if_true: impl Operand<T>, if_false: impl Operand<T>) -> Array<T> {
    mask.select(if_true, if_false)
}
