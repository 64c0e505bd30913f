//! How many elements an array has.

use std::fmt;

/// A number of elements: what constructors take and [`Array::width`](super::Array::width) gives.
///
/// A `usize` converts to it, and it converts to a `usize`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(usize);

impl Size {
    /// The number.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }
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
