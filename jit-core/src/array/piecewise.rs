//! Arrays that consist of pieces: each lane takes its value from one of them.

use super::{Array, Mask, UInt};
use crate::graph::Var;
use crate::size::Size;
use crate::trace::{BranchRecorder, record};
use jit_runtime::Site;

/// Up to this many pieces, each lane tests all of them.
pub(super) const FEW: usize = 8;
/// Of more, each lane finds the half that it belongs to, until at most this many are left.
const MAX_TESTED: usize = 4;

/// The pieces of an array, one after another.
///
/// Lanes that are computed together mostly belong to one piece. So if there are many, they branch as in a binary search
/// and read a few, where a test of each piece would take longer the more there are.
#[allow(missing_debug_implementations, reason = "it is an argument")]
pub struct Pieces<'a> {
    /// The place of each lane within the whole.
    pub place: &'a UInt,
    /// The place at which each piece begins, in ascending order. The first one is not read.
    pub begins: &'a [Size],
    /// Returns the values of a piece, on those lanes where a mask holds if there is one.
    pub read: &'a dyn Fn(usize, Option<&Mask>) -> Var,
}

/// Returns where pieces of some lengths begin, and the length of all.
#[must_use]
#[track_caller]
pub fn begins(lengths: impl Iterator<Item = Size>) -> (Vec<Size>, Size) {
    let mut end = Size::from(0);
    let mut begins = Vec::with_capacity(lengths.size_hint().0);
    for length in lengths {
        begins.push(end);
        end = end + length;
    }
    (begins, end)
}

impl Pieces<'_> {
    /// Returns the values of all pieces; there is at least one.
    #[must_use]
    #[track_caller]
    pub fn join(&self) -> Var {
        let (count, site) = (self.begins.len(), Site::here());
        if count <= FEW { self.tested(0, count, site) } else { self.searched(0, count, site) }
    }

    /// Finds the piece of each lane between two numbers of pieces.
    fn searched(&self, begin: usize, end: usize, site: Site) -> Var {
        if end - begin <= MAX_TESTED {
            return self.tested(begin, end, site);
        }
        let middle = begin.midpoint(end);
        let mut recorder = BranchRecorder::begin(self.is_before(middle).var(), site);
        let before = self.searched(begin, middle, site);
        recorder.otherwise();
        let after = self.searched(middle, end, site);
        recorder.finish(vec![before], vec![after]).swap_remove(0)
    }

    /// Tests each piece between two numbers of pieces.
    fn tested(&self, begin: usize, end: usize, site: Site) -> Var {
        let last = end - 1;
        let is_last = (last > begin).then(|| self.is_from(last));
        let mut joined = (self.read)(last, is_last.as_ref());
        for piece in (begin..last).rev() {
            let is_before = self.is_before(piece + 1);
            let values = match piece > begin {
                true => (self.read)(piece, Some(&(&is_before & self.is_from(piece)))),
                false => (self.read)(piece, Some(&is_before)),
            };
            joined = record::select_at(site, is_before.var(), &values, &joined);
        }
        joined
    }

    /// Where lanes come before a piece.
    fn is_before(&self, piece: usize) -> Mask {
        self.place.lt(self.begin(piece))
    }

    /// Where lanes belong to a piece, or come after it.
    fn is_from(&self, piece: usize) -> Mask {
        self.place.ge(self.begin(piece))
    }

    fn begin(&self, piece: usize) -> UInt {
        Array::from_var(record::size(self.begins[piece]))
    }
}
