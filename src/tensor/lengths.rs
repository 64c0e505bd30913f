//! The lengths of the axes of a tensor.
//!
//! They are sizes: while a frozen function is recorded, they are expressions of the lengths of its arguments. Elsewhere
//! they are plain numbers, and so are positions computed from them.

use std::ops::Deref;

use smallvec::SmallVec;

use crate::{Size, UInt};

/// Lengths of axes, as computations pass them on.
pub(super) type Sizes = SmallVec<[Size; 4]>;

/// The lengths of the axes of a tensor: each is 0, 1, or at least 2 in every replay of a recording.
pub(super) struct Lengths {
    sizes: Sizes,
    /// The same as numbers in this call.
    plain: SmallVec<[usize; 4]>,
}

impl Lengths {
    /// Creates lengths that are settled: see [`Size::settled`].
    #[track_caller]
    pub(super) fn new(sizes: &[Size]) -> Self {
        let mut lengths = Lengths { sizes: Sizes::from_slice(sizes), plain: SmallVec::new() };
        // No closure, so that the reported line is that of our caller.
        for size in &mut lengths.sizes {
            *size = size.settled();
            lengths.plain.push(size.now());
        }
        lengths
    }

    /// Returns them as plain numbers, for text.
    pub(super) fn now(&self) -> &[usize] {
        &self.plain
    }

    /// Returns them as plain numbers, to which the recording is then pinned.
    #[track_caller]
    pub(super) fn plain(&self) -> &[usize] {
        for (size, &plain) in self.sizes.iter().zip(&self.plain) {
            if size.get() != plain {
                // In a host call of a replay with other lengths: the numbers are those of the recording.
                jit_core::freeze::refuse_replay();
            }
        }
        &self.plain
    }
}

impl Clone for Lengths {
    fn clone(&self) -> Self {
        Lengths { sizes: Sizes::from_slice(&self.sizes), plain: SmallVec::from_slice(&self.plain) }
    }
}

impl Deref for Lengths {
    type Target = [Size];

    fn deref(&self) -> &[Size] {
        &self.sizes
    }
}

/// Returns the product of lengths.
#[track_caller]
pub(super) fn product(lengths: &[Size]) -> Size {
    if is_empty(lengths) {
        return Size::from(0);
    }
    let mut product = Size::from(1);
    for &length in lengths {
        product = product * length;
    }
    product
}

/// Returns whether there are no elements.
pub(super) fn is_empty(lengths: &[Size]) -> bool {
    lengths.iter().any(|length| is(*length, 0))
}

/// Returns whether a settled length is 0 or 1.
pub(super) fn is(length: Size, number: usize) -> bool {
    length.is_always(Size::from(number))
}

/// Returns whether lists of lengths are the same in every replay.
pub(super) fn are_always(first: &[Size], second: &[Size]) -> bool {
    first.len() == second.len() && first.iter().zip(second).all(|(a, b)| a.is_always(*b))
}

/// Returns whether two shapes are the same, which a recording relies on.
#[track_caller]
pub(super) fn is_same_shape(first: &[Size], second: &[Size]) -> bool {
    let is_possible = first.len() == second.len();
    for (a, b) in first.iter().zip(second) {
        if !is_possible || (!a.is_always(*b) && a != b) {
            return false;
        }
    }
    is_possible
}

/// Returns whether two shapes are the same. The recording relies on the result only if they are, because the caller is
/// correct in either case.
#[track_caller]
pub(super) fn happens_to_be_shape(first: &[Size], second: &[Size]) -> bool {
    first.len() == second.len()
        && first.iter().zip(second).all(|(a, b)| a.now() == b.now())
        && is_same_shape(first, second)
}

/// Returns whether sizes are equal. The recording relies on the result only if they are, because the caller is correct
/// in either case.
#[track_caller]
pub(super) fn happens_to_be(first: Size, second: Size) -> bool {
    first.now() == second.now() && first == second
}

/// Returns a size as a number that lanes compute with: a constant if it is one.
#[track_caller]
pub(super) fn number(size: impl Into<Size>) -> UInt {
    UInt::from(size.into())
}
