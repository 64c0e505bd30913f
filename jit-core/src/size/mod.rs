//! The number of elements of an array, and arithmetic on it.
//!
//! | part | contents |
//! |---|---|
//! | this file | [`Size`] |
//! | `extent` | the width of a node |
//! | `table` | expressions and guards of the sizes of a recording |
//! | `scope` | sizes of a recording that is suspended or replayed |

pub(crate) mod extent;
pub(crate) mod scope;
pub(crate) mod table;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, Div, Mul, Rem, Sub};

use jit_runtime::Site;
use jit_runtime::recording::{Relation, SizeId, SizeOp};

use crate::misuse::Misuse;

/// A number of elements: constructors take it and [`Array::width`](crate::array::Array::width) returns it.
///
/// It converts from and to `usize`. Arithmetic with either is checked: it panics, naming the line, if the result is not
/// a valid size. Combined with an array it is a number of the array's type, as converted by `Array::from`.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let x = Float::zeros(10);
/// let padded: Size = (x.width() + 3).div_ceil(4) * 4;
/// assert_eq!(Float::zeros(padded).len(), 16);
/// assert!(x.width() < 11 && x.width() / 3 == 3);
/// assert_eq!((UInt::from([9, 10, 11]) % x.width()).to_vec()?, [9, 0, 1]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Size {
    value: usize,
    /// In a recording, the expression for the value; 0 for a constant.
    id: SizeId,
    /// The recording.
    serial: u32,
}

impl Size {
    /// Returns the number. While a frozen function is recorded, this is a decision of the host: the recording is then
    /// valid for this size alone.
    #[must_use]
    #[track_caller]
    pub fn get(self) -> usize {
        let size = self.here();
        if !size.is_constant() {
            table::pin(size);
        }
        size.value
    }

    /// Returns the size in the current context. In a host call, a size of the frozen function around it is its number
    /// in this replay.
    #[inline]
    pub(crate) fn here(self) -> Size {
        if self.is_constant() { self } else { scope::settle(self) }
    }

    /// Returns the smaller one.
    #[must_use]
    #[track_caller]
    pub fn min(self, other: impl Into<Size>) -> Size {
        let (size, other) = (self.here(), other.into().here());
        size.with(other, SizeOp::Min, size.value.min(other.value))
    }

    /// Returns the larger one.
    #[must_use]
    #[track_caller]
    pub fn max(self, other: impl Into<Size>) -> Size {
        let (size, other) = (self.here(), other.into().here());
        size.with(other, SizeOp::Max, size.value.max(other.value))
    }

    /// Returns the quotient rounded up: the number of blocks of a size that cover this many elements.
    ///
    /// # Panics
    ///
    /// When the divisor is zero.
    #[must_use]
    #[track_caller]
    pub fn div_ceil(self, divisor: impl Into<Size>) -> Size {
        let (size, divisor) = (self.here(), divisor.into().here());
        match divisor.value {
            0 => refuse(size, "/", divisor),
            value => size.with(divisor, SizeOp::DivCeil, size.value.div_ceil(value)),
        }
    }

    /// Creates a size that a recording knows as an expression.
    pub(crate) fn symbolic(value: usize, id: SizeId, serial: u32) -> Size {
        Size { value, id, serial }
    }

    /// Returns the number without a decision: for messages, and for uses that are correct for any other number, too.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn now(self) -> usize {
        self.here().value
    }

    /// Returns the number where it was computed, without a decision.
    #[inline]
    pub(crate) const fn value(self) -> usize {
        self.value
    }

    /// Returns the expression in the recording.
    pub(crate) const fn id(self) -> SizeId {
        self.id
    }

    /// Returns the serial of the recording that it belongs to.
    pub(crate) const fn serial(self) -> u32 {
        self.serial
    }

    /// Returns whether it is the same in all replays.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub const fn is_constant(self) -> bool {
        self.id.0 == 0
    }

    #[inline]
    #[track_caller]
    fn with(self, other: Size, op: SizeOp, value: usize) -> Size {
        match self.is_constant() && other.is_constant() {
            true => Size::from(value),
            false => table::binary(op, value, self, other),
        }
    }

    /// Compares two sizes; records a guard if a recording relies on the result.
    #[inline]
    #[track_caller]
    fn decide(self, other: Size) -> Ordering {
        let (size, other) = (self.here(), other.here());
        let ordering = size.value.cmp(&other.value);
        if size.is_same(other) || (size.is_constant() && other.is_constant()) {
            return ordering;
        }
        let relation = match ordering {
            Ordering::Less => Relation::Lt,
            Ordering::Equal => Relation::Eq,
            Ordering::Greater => return size.note(Relation::Lt, other, size, ordering),
        };
        size.note(relation, size, other, ordering)
    }

    #[cold]
    #[track_caller]
    fn note(self, relation: Relation, left: Size, right: Size, ordering: Ordering) -> Ordering {
        table::require(relation, left, right);
        ordering
    }

    /// Returns the same number, after the recording has settled whether it is 0, 1, or at least 2, as for widths of
    /// arrays.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn settled(self) -> Size {
        let size = self.here();
        if size.is_constant() { size } else { table::settled(size) }
    }

    /// Returns whether both are the same number, also in all replays, without a decision.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn is_always(self, other: Size) -> bool {
        let (size, other) = (self.here(), other.here());
        size.value == other.value && size.is_same(other)
    }

    /// Returns whether it is the same number in all replays, without a decision.
    pub(crate) fn is_number(self) -> bool {
        self.is_always(Size::from(self.value()))
    }

    /// Returns whether it is smaller; records a guard if a recording relies on it.
    #[inline]
    #[track_caller]
    fn is_below(self, other: Size) -> bool {
        let (size, other) = (self.here(), other.here());
        let is_below = size.value < other.value;
        let is_known = size.is_constant() && other.is_constant() || size.is_same(other);
        if !is_known {
            table::require(if is_below { Relation::Lt } else { Relation::Ge }, size, other);
        }
        is_below
    }

    /// Returns whether both are the same expression of the same recording, or equal by a guard of it.
    #[inline]
    fn is_same(self, other: Size) -> bool {
        self.id.0 == other.id.0 && self.serial == other.serial || table::is_recording() && table::is_same(self, other)
    }
}

impl PartialEq for Size {
    #[inline]
    #[track_caller]
    fn eq(&self, other: &Size) -> bool {
        let (size, other) = (self.here(), other.here());
        if size.is_constant() && other.is_constant() {
            return size.value == other.value;
        }
        if size.is_same(other) {
            return true;
        }
        let is_equal = size.value == other.value;
        table::require(if is_equal { Relation::Eq } else { Relation::Ne }, size, other);
        is_equal
    }

    #[expect(clippy::partialeq_ne_impl, reason = "the provided method would hide the line of the comparison")]
    #[inline]
    #[track_caller]
    fn ne(&self, other: &Size) -> bool {
        !self.eq(other)
    }
}

impl Eq for Size {}

impl PartialOrd for Size {
    #[inline]
    #[track_caller]
    fn partial_cmp(&self, other: &Size) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // Each decides no more than its own condition.

    #[inline]
    #[track_caller]
    fn lt(&self, other: &Size) -> bool {
        self.is_below(*other)
    }

    #[inline]
    #[track_caller]
    fn le(&self, other: &Size) -> bool {
        !other.is_below(*self)
    }

    #[inline]
    #[track_caller]
    fn gt(&self, other: &Size) -> bool {
        other.is_below(*self)
    }

    #[inline]
    #[track_caller]
    fn ge(&self, other: &Size) -> bool {
        !self.is_below(*other)
    }
}

impl Ord for Size {
    #[inline]
    #[track_caller]
    fn cmp(&self, other: &Size) -> Ordering {
        self.decide(*other)
    }
}

impl Hash for Size {
    /// A decision, like [`Size::get`], because the key may be missing from a table.
    #[track_caller]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}

#[cold]
#[track_caller]
fn refuse(left: Size, operator: &str, right: Size) -> ! {
    let why = match operator {
        "-" => "would be below zero",
        "/" | "%" => "divides by zero",
        _ => "is larger than any size",
    };
    Misuse::new(format!("the size {left} {operator} {right} {why}"), Site::here())
        .hint("sizes count elements: compare them first, or use `min` and `max` to stay in range")
        .panic()
}

macro_rules! operators {
    ($($trait:ident $method:ident $checked:ident $op:ident $symbol:literal;)*) => {$(
        impl $trait for Size {
            type Output = Size;

            #[inline]
            #[track_caller]
            fn $method(self, right: Size) -> Size {
                let (left, right) = (self.here(), right.here());
                match left.value.$checked(right.value) {
                    Some(value) => left.with(right, SizeOp::$op, value),
                    None => refuse(left, $symbol, right),
                }
            }
        }

        impl $trait<usize> for Size {
            type Output = Size;

            #[inline]
            #[track_caller]
            fn $method(self, right: usize) -> Size {
                self.$method(Size::from(right))
            }
        }

        impl $trait<Size> for usize {
            type Output = Size;

            #[inline]
            #[track_caller]
            fn $method(self, right: Size) -> Size {
                Size::from(self).$method(right)
            }
        }
    )*};
}

operators! {
    Add add checked_add Add "+";
    Sub sub checked_sub Sub "-";
    Mul mul checked_mul Mul "*";
    Div div checked_div Div "/";
    Rem rem checked_rem Rem "%";
}

impl From<usize> for Size {
    #[inline]
    fn from(value: usize) -> Self {
        Size { value, id: SizeId(0), serial: 0 }
    }
}

impl From<Size> for usize {
    #[track_caller]
    fn from(size: Size) -> Self {
        size.get()
    }
}

/// Comparisons of a size and a number, in either order. Each is a decision at the comparing line, like those of two
/// sizes, so no provided method may be in between.
macro_rules! comparisons {
    ($($left:ty, $right:ty;)*) => {$(
        impl PartialEq<$right> for $left {
            #[inline]
            #[track_caller]
            fn eq(&self, other: &$right) -> bool {
                Size::from(*self).eq(&Size::from(*other))
            }

            #[expect(clippy::partialeq_ne_impl, reason = "the provided method would hide the line of the comparison")]
            #[inline]
            #[track_caller]
            fn ne(&self, other: &$right) -> bool {
                !Size::from(*self).eq(&Size::from(*other))
            }
        }

        impl PartialOrd<$right> for $left {
            #[inline]
            #[track_caller]
            fn partial_cmp(&self, other: &$right) -> Option<Ordering> {
                Size::from(*self).partial_cmp(&Size::from(*other))
            }

            comparisons!(@ordered $right: lt le gt ge);
        }
    )*};
    (@ordered $right:ty: $($method:ident)*) => {$(
        #[inline]
        #[track_caller]
        fn $method(&self, other: &$right) -> bool {
            PartialOrd::$method(&Size::from(*self), &Size::from(*other))
        }
    )*};
}

comparisons! {
    Size, usize;
    usize, Size;
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.here().value.fmt(f)
    }
}

impl fmt::Display for Size {
    /// A decision, like [`Size::get`], because the text may become a key or a name. `{:?}` shows the number without
    /// one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
