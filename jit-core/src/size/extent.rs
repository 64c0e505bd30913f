//! The width of a node: how many lanes there are, and why.
//!
//! While a frozen function is recorded, widths are expressions of the sizes of its arguments (see [`crate::freeze`]),
//! and the node keeps which. What is decided by looking at a width then becomes a condition of the recording. Elsewhere
//! a width is just a number.

use std::panic::Location;

use super::{Size, table};
use crate::misuse::Misuse;
use jit_runtime::recording::SizeId;

/// The width of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub(crate) lanes: u32,
    /// The expression in the recording that is made, or 0.
    pub(crate) size: SizeId,
}

impl Extent {
    /// The width of what is the same in all lanes.
    pub(crate) const ONE: Extent = Extent { lanes: 1, size: SizeId(0) };

    /// What a node has that no recording owns and that several may use at once: each knows the expression. It is the
    /// number of no size.
    pub(crate) const OF_SESSION: SizeId = SizeId(u16::MAX);

    /// A width as nodes keep it. In a recording, a width below 2 is one that the recording relies on.
    #[inline]
    #[track_caller]
    pub(crate) fn of(size: impl Into<Size>) -> Extent {
        let size = size.into().here();
        let Ok(lanes) = u32::try_from(size.value()) else { too_wide(size) };
        if size.is_constant() {
            return Extent { lanes, size: SizeId(0) };
        }
        table::extent(size)
    }

    /// As a position that a node keeps.
    pub(crate) fn into_position(self) -> usize {
        self.lanes as usize | usize::from(self.size.0) << 32
    }

    /// From a position that a node keeps.
    pub(crate) fn from_position(position: usize) -> Extent {
        Extent { lanes: position as u32, size: SizeId((position >> 32) as u16) }
    }
}

/// The width that a node has is its size.
#[diagnostic::do_not_recommend]
impl From<Extent> for Size {
    #[inline]
    fn from(extent: Extent) -> Size {
        if extent.size == SizeId(0) { Size::from(extent.lanes as usize) } else { table::size_of(extent) }
    }
}

#[cold]
#[track_caller]
fn too_wide(size: Size) -> ! {
    Misuse::new(format!("an array of {size} elements is too wide"), Location::caller())
        .hint("arrays have fewer than 2^32 elements: cut the work into parts")
        .panic()
}
