//! Prefix reductions, in the order of [`crate::backend::library`].
//!
//! If the order does not matter, one launch scans tiles, and each block finds the total of those before its own while
//! they are still at work (`look_back`). Memory is read once and written once.
//!
//! Sums and products of floats have an order, in which rows are combined one element after another: one thread scans a
//! row (`rows`). There are three launches: each row alone, and the totals of the rows before it in its chunk
//! (`Totals`); the totals of the chunks before each (`Carries`); each row again, from the total before it on (`Write`).
//! Parts of one row need only the last one. Memory is read twice and written once.

mod look_back;
mod rows;

use super::super::Target;
use super::Routine;
use super::block::WARP;
use super::builder::Builder;
use super::element::combined_type;
use super::plan::{Argument, Plan};
use crate::backend::library::{PREFIX_CHUNK, PREFIX_ROW, Prefix};
use crate::ir::{ReduceOp, Type};

/// The rows of a chunk.
const CHUNK_ROWS: usize = PREFIX_CHUNK / PREFIX_ROW;

/// A pass of a prefix reduction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scan {
    pass: Pass,
    op: ReduceOp,
    ty: Type,
    is_exclusive: bool,
    is_reverse: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Pass {
    /// All of it, if the order does not matter.
    LookBack,
    /// The total of each row, reduced over the rows before it in its chunk; that of each chunk.
    Totals,
    /// The totals of the chunks before each one in its part.
    Carries,
    /// The results, from the totals before each row on.
    Write,
    /// The results of parts of one row.
    WriteRows,
}

impl Scan {
    /// Each pass of each prefix reduction, also those that are in no plan.
    pub(super) fn all() -> impl Iterator<Item = Scan> {
        use Pass::{Carries, LookBack, Totals, Write, WriteRows};
        let forms = [(false, false), (false, true), (true, false), (true, true)];
        let passes = [LookBack, Totals, Carries, Write, WriteRows].into_iter();
        let of_op = move |pass| ReduceOp::ALL.iter().map(move |&op| (pass, op));
        let of_type = |(pass, op)| Type::ALL.map(|ty| (pass, op, ty));
        passes.flat_map(of_op).flat_map(of_type).flat_map(move |(pass, op, ty)| {
            forms.map(|(is_exclusive, is_reverse)| Scan { pass, op, ty, is_exclusive, is_reverse })
        })
    }

    pub(super) fn name(self) -> String {
        let pass = match self.pass {
            Pass::LookBack => "look_back",
            Pass::Totals => "totals",
            Pass::Carries => "carries",
            Pass::Write => "write",
            Pass::WriteRows => "rows",
        };
        let exclusive = if self.is_exclusive { "_exclusive" } else { "" };
        let reverse = if self.is_reverse { "_reverse" } else { "" };
        format!("prefix_{pass}_{}_{}{exclusive}{reverse}", self.op.name(), self.ty)
    }

    pub(super) fn threads(self) -> u32 {
        if self.pass == Pass::LookBack { look_back::THREADS } else { WARP }
    }
}

pub(super) fn plan(prefix: Prefix, ty: Type, len: usize) -> Plan {
    let mut plan = Plan::default();
    add_to_plan(&mut plan, prefix, ty, len, [Argument::Input(0), Argument::Output(0)]);
    plan
}

/// Adds a prefix reduction from one array to another.
pub(super) fn add_to_plan(plan: &mut Plan, prefix: Prefix, ty: Type, len: usize, [input, output]: [Argument; 2]) {
    if len == 0 {
        return;
    }
    let restart = prefix.restart.min(len);
    let Prefix { op, is_exclusive, is_reverse, .. } = prefix;
    let pass = |pass| Routine::Prefix(Scan { pass, op, ty, is_exclusive, is_reverse });
    if !depends_on_order(op, ty) {
        return look_back::add_to_plan(plan, pass(Pass::LookBack), [len, restart], [input, output]);
    }
    let parts = len.div_ceil(restart);
    let is_one_row = restart <= PREFIX_ROW;
    // Rows are numbered as if all parts were as long as the first one, and consisted of whole chunks.
    let rows_per_part = if is_one_row { 1 } else { restart.div_ceil(PREFIX_CHUNK) * CHUNK_ROWS };
    let rows = parts * rows_per_part;
    let sizes = [len, restart, rows_per_part, rows].map(|size| Argument::Word(size as u32));
    let blocks = rows.div_ceil(WARP as usize);
    let arguments = |memory: &[Argument]| memory.iter().copied().chain(sizes).collect();
    if is_one_row {
        return plan.launch(pass(Pass::WriteRows), blocks, arguments(&[input, output]));
    }
    let (chunks, size) = (rows / CHUNK_ROWS, combined_type(ty).size_bytes() as u64);
    // Blocks have two chunks, so the last one may write more than there are.
    let befores = plan.temporary((rows.next_multiple_of(WARP as usize) as u64) * size);
    let [totals, carries] = [(); 2].map(|()| plan.temporary((chunks as u64 + 1) * size));
    let totals_pass = Routine::Prefix(Scan { pass: Pass::Totals, op, ty, is_exclusive: false, is_reverse });
    plan.launch(totals_pass, blocks, arguments(&[input, befores, totals]));
    let combined = combined_type(ty);
    let carries_pass =
        Routine::Prefix(Scan { pass: Pass::Carries, op, ty: combined, is_exclusive: true, is_reverse: false });
    let chunks_per_part = Argument::Word((rows_per_part / CHUNK_ROWS) as u32);
    plan.launch(carries_pass, parts, vec![totals, carries, chunks_per_part]);
    plan.launch(pass(Pass::Write), blocks, arguments(&[input, befores, carries, output]));
}

/// Whether elements must be combined in the defined order, because each combination rounds.
fn depends_on_order(op: ReduceOp, ty: Type) -> bool {
    ty.is_float() && matches!(op, ReduceOp::Add | ReduceOp::Mul)
}

pub(super) fn body(scan: Scan, target: Target) -> Builder {
    match scan.pass {
        Pass::LookBack => look_back::scan(scan, target),
        Pass::Carries => rows::carries(scan, target),
        _ => rows::rows(scan, target),
    }
}
