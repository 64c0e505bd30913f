//! Rows of numbers, one for each lane.

use std::fmt::{self, Display, Formatter};

use crate::{Error, Traverse, leaves};

/// More lanes than this are shortened to their ends.
const MOST_LANES: usize = 100;
/// The number of lanes then shown at each end.
const END: usize = 3;

/// Returns whether one of the arrays is computed inside a traced loop or branch, so that it has no elements yet.
pub(super) fn is_symbolic(tree: &impl Traverse) -> bool {
    leaves(tree).iter().any(|(_, leaf)| leaf.state == "symbolic")
}

/// Writes `[[1, 2],\n [3, 4]]`; `lane` returns the value of each lane.
pub(super) fn write_lanes<T: Display>(
    f: &mut Formatter<'_>,
    lanes: usize,
    lane: impl Fn(usize) -> Result<Vec<T>, Error>,
) -> fmt::Result {
    let shown = |index: &usize| lanes <= MOST_LANES || *index < END || *index >= lanes - END;
    let mut separator = "";
    f.write_str("[")?;
    for index in (0..lanes).filter(shown) {
        if index > END && !shown(&(index - 1)) {
            write!(f, "{separator}…")?;
        }
        f.write_str(separator)?;
        separator = ",\n ";
        match lane(index) {
            Ok(values) => write_row(f, &values)?,
            Err(error) => write!(f, "<{error}>")?,
        }
    }
    f.write_str("]")
}

fn write_row<T: Display>(f: &mut Formatter<'_>, values: &[T]) -> fmt::Result {
    let mut separator = "";
    f.write_str("[")?;
    for value in values {
        f.write_str(separator)?;
        value.fmt(f)?;
        separator = ", ";
    }
    f.write_str("]")
}
