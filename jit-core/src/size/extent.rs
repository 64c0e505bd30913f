//! The width of a node: its number of lanes, and the expression for it.
//!
//! While a frozen function is recorded, widths are expressions of the sizes of its arguments (see [`crate::freeze`]),
//! and each node stores its expression. A decision by a width then becomes a guard of the recording. Elsewhere a width
//! is just a number.

use super::{Size, table};
use crate::misuse::Misuse;
use jit_runtime::Site;
use jit_runtime::recording::SizeId;

/// The width of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Extent {
    pub(crate) lanes: u32,
    /// The expression in the current recording, or 0.
    pub(crate) size: SizeId,
}

impl Extent {
    /// The width of values that are the same in all lanes.
    pub(crate) const ONE: Extent = Extent { lanes: 1, size: SizeId(0) };

    /// The size of nodes that no recording owns and that several recordings may use at once: each of them knows the
    /// expression. It is never the number of a size.
    pub(crate) const OF_SESSION: SizeId = SizeId(u16::MAX);

    /// Returns a width in the form that nodes store. In a recording, the recording relies on a width below 2.
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

    /// Returns the width that represents all those which are equal to it in the current recording.
    #[inline]
    pub(crate) fn representative(self) -> Extent {
        if self.size == SizeId(0) { self } else { table::representative(self) }
    }

    /// Converts to a position that a node stores.
    pub(crate) fn into_position(self) -> usize {
        self.lanes as usize | usize::from(self.size.0) << 32
    }

    /// Converts from a position that a node stores.
    pub(crate) fn from_position(position: usize) -> Extent {
        Extent { lanes: position as u32, size: SizeId((position >> 32) as u16) }
    }
}

/// The width that a node stores is its size.
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
    Misuse::new(format!("an array of {size} elements is too wide"), Site::here())
        .hint("arrays have fewer than 2^32 elements: split the work into parts")
        .panic()
}
