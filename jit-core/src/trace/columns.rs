//! Recording prefix reductions along an axis that is not the last one: of `outer × length × inner` elements, those that
//! differ only in the middle coordinate are a column.
//!
//! A lane goes through a column, or through a part of a long one, so neighbouring lanes read and write neighbouring
//! elements. A part begins with the reduction of those before it, which is found in the same way.

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type, scalar};
use smallvec::SmallVec;

use super::loops::LoopRecorder;
use super::scatter::{self, Request};
use super::{gather, record, reduce, region};
use crate::graph::node::Var;
use crate::graph::payload::How;
use crate::size::Size;

/// Columns of at most this many elements are one part: as many as other prefix reductions combine one after another,
/// so the results are the same …
const LONGEST: usize = 2048;
/// … and the parts of longer ones have this many.
const PART: usize = 1024;

/// A prefix reduction of columns.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    pub(crate) op: ReduceOp,
    pub(crate) is_exclusive: bool,
    pub(crate) is_reverse: bool,
    /// The lengths of the axes before, of, and after the columns.
    pub(crate) lengths: [Size; 3],
}

impl Columns {
    /// Records the prefix reduction of an array that is not empty.
    #[track_caller]
    pub(crate) fn of(self, source: &Var) -> Var {
        reduce::refuse_inside_of_loops(source);
        // The lanes are independent of the regions around us.
        let _outside = region::exit_all();
        let ty = source.ty();
        if reduce::is_rounded_once(self.op, ty) {
            return record::cast(ty, &self.in_parts(&record::cast(Type::F32, source)));
        }
        self.in_parts(source)
    }

    #[track_caller]
    fn in_parts(self, source: &Var) -> Var {
        let [outer, length, inner] = self.lengths;
        if length <= LONGEST {
            return Parts::new(self, source, length).scanned(None);
        }
        let parts = Parts::new(self, source, PART.into());
        let totals = Columns { is_exclusive: true, lengths: [outer, length.div_ceil(PART), inner], ..self };
        let before = totals.in_parts(&parts.totals());
        parts.scanned(Some(&before))
    }
}

/// The parts of columns, and the lanes that go through them.
struct Parts<'a> {
    columns: Columns,
    source: &'a Var,
    /// The number of elements of each lane's part.
    count: Var,
    /// The position of the first one in the order of the scan, and the distance between rows.
    first: Var,
    row_length: Var,
}

impl<'a> Parts<'a> {
    #[track_caller]
    fn new(columns: Columns, source: &'a Var, part: Size) -> Self {
        let [outer, length, inner] = columns.lengths;
        let parts = length.div_ceil(part);
        let lane = record::lane_index(outer * parts * inner);
        let [row_length, column_length] = [inner, length].map(record::size);
        let [is_one_matrix, is_one_part] = [outer, parts].map(|count| count.is_always(Size::from(1)));
        let (above, column) = match is_one_matrix && is_one_part {
            true => (number(0), lane),
            false => divided(&lane, &row_length),
        };
        let (matrix, row, count) = match is_one_part {
            true => (above, number(0), column_length.clone()),
            false => {
                let [parts, part] = [parts, part].map(record::size);
                let (matrix, own) = if is_one_matrix { (number(0), above) } else { divided(&above, &parts) };
                let row = binary(BinaryOp::Mul, &own, &part);
                let count = binary(BinaryOp::Min, &part, &binary(BinaryOp::Sub, &column_length, &row));
                (matrix, row, count)
            }
        };
        let row = match columns.is_reverse {
            true => binary(BinaryOp::Add, &row, &binary(BinaryOp::Sub, &count, &number(1))),
            false => row,
        };
        let row = binary(BinaryOp::Add, &binary(BinaryOp::Mul, &matrix, &column_length), &row);
        let first = binary(BinaryOp::Add, &binary(BinaryOp::Mul, &row, &row_length), &column);
        Parts { columns, source, count, first, row_length }
    }

    /// Returns the reduction of each part.
    #[track_caller]
    fn totals(&self) -> Var {
        let (mut recorder, state) = LoopRecorder::begin(&[number(0), self.identity()], Site::here());
        recorder.condition(&self.is_there(&state[0]));
        let element = gather::gather(self.source, &self.position(&state[0]), None);
        let total = self.combined(&state[1], &element);
        recorder.finish(vec![next(&state[0]), total]).swap_remove(1)
    }

    /// Returns the prefix reductions. Those of a part begin with the reduction of the parts before it, if there are
    /// any.
    #[track_caller]
    fn scanned(&self, before: Option<&Var>) -> Var {
        let target = record::literal(self.source.ty(), 0, self.source.width());
        let (mut recorder, mut state) = LoopRecorder::begin(&[number(0), self.identity(), target], Site::here());
        let mut target = state.swap_remove(2);
        let [count, total] = [&state[0], &state[1]];
        recorder.condition(&self.is_there(count));
        let index = &self.position(count);
        let element = match before {
            None => gather::gather_once(self.source, index, None, SmallVec::new),
            // The element was read for the reduction of its part, too.
            Some(_) => gather::gather(self.source, index, None),
        };
        let following = self.combined(total, &element);
        let within = if self.columns.is_exclusive { total } else { &following };
        let value = &before.map_or(within.clone(), |before| self.combined(before, within));
        scatter::scatter(&mut target, &Request { how: How::Write, index, value, expected: None, mask: None });
        recorder.finish(vec![next(count), following, target]).swap_remove(2)
    }

    fn identity(&self) -> Var {
        let ty = self.source.ty();
        record::literal(ty, scalar::identity(self.columns.op, ty), 1)
    }

    #[track_caller]
    fn is_there(&self, count: &Var) -> Var {
        record::compare(CompareOp::Lt, count, &self.count)
    }

    /// Returns the position of an element of the part, counted in the order of the scan.
    #[track_caller]
    fn position(&self, count: &Var) -> Var {
        let distance = binary(BinaryOp::Mul, count, &self.row_length);
        binary(if self.columns.is_reverse { BinaryOp::Sub } else { BinaryOp::Add }, &self.first, &distance)
    }

    #[track_caller]
    fn combined(&self, total: &Var, element: &Var) -> Var {
        binary(self.columns.op.as_binary(), total, element)
    }
}

/// Returns the quotient and the remainder.
#[track_caller]
fn divided(a: &Var, b: &Var) -> (Var, Var) {
    (binary(BinaryOp::Div, a, b), binary(BinaryOp::Rem, a, b))
}

#[track_caller]
fn next(count: &Var) -> Var {
    binary(BinaryOp::Add, count, &number(1))
}

#[track_caller]
fn number(value: u64) -> Var {
    record::literal(Type::U32, value, 1)
}

#[track_caller]
fn binary(op: BinaryOp, a: &Var, b: &Var) -> Var {
    record::binary(op, a, b)
}
