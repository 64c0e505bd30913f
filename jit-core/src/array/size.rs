//! How many elements an array has, and arithmetic on that.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Rem, Sub};
use std::panic::Location;

use crate::trace::misuse::Misuse;

/// A number of elements: what constructors take and [`Array::width`](super::Array::width) gives.
///
/// A `usize` converts to it, and it converts to a `usize`. Arithmetic with either is checked: what has no size as its
/// result panics and names the line.
///
/// ```
/// use jit_core::{Float, Size};
///
/// let x = Float::zeros(10);
/// let padded: Size = (x.width() + 3).div_ceil(4) * 4;
/// assert_eq!(Float::zeros(padded).len(), 16);
/// assert!(x.width() < 11 && x.width() / 3 == 3);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(usize);

impl Size {
    /// The number.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }

    /// The smaller one.
    #[must_use]
    pub fn min(self, other: impl Into<Size>) -> Size {
        Ord::min(self, other.into())
    }

    /// The larger one.
    #[must_use]
    pub fn max(self, other: impl Into<Size>) -> Size {
        Ord::max(self, other.into())
    }

    /// The quotient rounded up: how many blocks of a size cover this many elements.
    ///
    /// # Panics
    ///
    /// When the divisor is zero.
    #[must_use]
    #[track_caller]
    pub fn div_ceil(self, divisor: impl Into<Size>) -> Size {
        let divisor = divisor.into();
        match divisor.0 {
            0 => refuse(self, "/", divisor),
            divisor => Size(self.0.div_ceil(divisor)),
        }
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
    Misuse::new(format!("the size {left} {operator} {right} {why}"), Location::caller())
        .hint("sizes count elements: compare them first, or use `min` and `max` to stay in range")
        .panic()
}

macro_rules! operators {
    ($($trait:ident $method:ident $checked:ident $symbol:literal;)*) => {$(
        impl $trait for Size {
            type Output = Size;

            #[track_caller]
            fn $method(self, right: Size) -> Size {
                match self.0.$checked(right.0) {
                    Some(size) => Size(size),
                    None => refuse(self, $symbol, right),
                }
            }
        }

        impl $trait<usize> for Size {
            type Output = Size;

            #[track_caller]
            fn $method(self, right: usize) -> Size {
                self.$method(Size(right))
            }
        }

        impl $trait<Size> for usize {
            type Output = Size;

            #[track_caller]
            fn $method(self, right: Size) -> Size {
                Size(self).$method(right)
            }
        }
    )*};
}

operators! {
    Add add checked_add "+";
    Sub sub checked_sub "-";
    Mul mul checked_mul "*";
    Div div checked_div "/";
    Rem rem checked_rem "%";
}

impl From<usize> for Size {
    fn from(size: usize) -> Self {
        Size(size)
    }
}

impl From<Size> for usize {
    fn from(size: Size) -> Self {
        size.0
    }
}

impl PartialEq<usize> for Size {
    fn eq(&self, other: &usize) -> bool {
        self.0 == *other
    }
}

impl PartialEq<Size> for usize {
    fn eq(&self, other: &Size) -> bool {
        *self == other.0
    }
}

impl PartialOrd<usize> for Size {
    fn partial_cmp(&self, other: &usize) -> Option<Ordering> {
        self.0.partial_cmp(other)
    }
}

impl PartialOrd<Size> for usize {
    fn partial_cmp(&self, other: &Size) -> Option<Ordering> {
        self.partial_cmp(&other.0)
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
