//! Gathers of neighbouring elements: each lane reads a row of memory as a whole.
//!
//! Gathers from one buffer under one mask, whose indices are one value plus consecutive constants, read a row in each
//! lane: the components of a vector, the weights of a cell, a point and its neighbours. One wide load replaces the
//! loads of several elements, and a hardware gather takes about as long as loading its elements one by one.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::analysis::{Analysis, Shape};
use crate::ir::{Access, BinaryOp, Kernel, Op, Param, ParamId, Region, Type, Value};

/// Gathers that are executed together.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) buffer: ParamId,
    /// The index of the gather that comes first in the kernel, which represents all.
    pub(super) index: Value,
    /// The distance of the row's first element from the element at that index.
    pub(super) start: i64,
    pub(super) mask: Option<Value>,
    /// The indices of all gathers.
    pub(super) indices: SmallVec<[Value; 4]>,
    /// The results of the gathers at each element of the row.
    pub(super) columns: Vec<SmallVec<[Value; 1]>>,
}

/// The role of a gather in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// It reads this row for all gathers.
    First(u32),
    /// Another gather reads it.
    Other,
}

/// The rows of a kernel, and the gathers in them, by result.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    roles: FxHashMap<Value, Role>,
}

/// The common properties of the gathers of a row: buffer, the base value of their indices, mask.
type Key = (ParamId, Value, Option<Value>);

/// A gather that may be part of a row.
struct Candidate {
    result: Value,
    index: Value,
    offset: i64,
}

impl Rows {
    /// Finds the rows of a kernel.
    pub(super) fn of(kernel: &Kernel, analysis: &Analysis) -> Rows {
        let mut rows = Rows::default();
        let definitions = additions(kernel);
        for region in &kernel.regions {
            rows.search(kernel, analysis, &definitions, region);
        }
        rows
    }

    /// The role of the gather with this result; none if it is not part of a row.
    pub(super) fn role(&self, result: Value) -> Option<Role> {
        self.roles.get(&result).copied()
    }

    fn search(&mut self, kernel: &Kernel, analysis: &Analysis, additions: &Additions, region: &Region) {
        // In the order in which they are found, since the code must not depend on hashes.
        let mut groups: Vec<(Key, Vec<Candidate>)> = Vec::new();
        for inst in &region.insts {
            let Op::Gather { buffer, index, mask } = inst.op else { continue };
            if !is_candidate(kernel, analysis, inst.first, buffer, index) {
                continue;
            }
            let (base, offset) = additions.get(&index).copied().unwrap_or((index, 0));
            let candidate = Candidate { result: inst.first, index, offset };
            match groups.iter_mut().find(|(key, _)| *key == (buffer, base, mask)) {
                Some((_, group)) => group.push(candidate),
                None => groups.push(((buffer, base, mask), vec![candidate])),
            }
        }
        for ((buffer, _, mask), group) in groups.into_iter().filter(|(_, group)| group.len() > 1) {
            self.add_runs(buffer, mask, group);
        }
    }

    /// Creates a row for each run of consecutive offsets.
    fn add_runs(&mut self, buffer: ParamId, mask: Option<Value>, mut group: Vec<Candidate>) {
        group.sort_by_key(|candidate| candidate.offset);
        for run in group.chunk_by(|a, b| b.offset - a.offset <= 1) {
            let start = run[0].offset;
            let mut columns = vec![SmallVec::new(); (run[run.len() - 1].offset - start) as usize + 1];
            if columns.len() == 1 {
                continue;
            }
            for candidate in run {
                columns[(candidate.offset - start) as usize].push(candidate.result);
                self.roles.insert(candidate.result, Role::Other);
            }
            // Values are numbered in the order of the code.
            let Some(first) = run.iter().min_by_key(|candidate| candidate.result) else { continue };
            self.roles.insert(first.result, Role::First(self.rows.len() as u32));
            let indices = run.iter().map(|candidate| candidate.index).collect();
            self.rows.push(Row { buffer, index: first.index, start: start - first.offset, mask, indices, columns });
        }
    }
}

/// For each sum of a value and a constant: both.
type Additions = FxHashMap<Value, (Value, i64)>;

fn additions(kernel: &Kernel) -> Additions {
    let insts = || kernel.regions.iter().flat_map(|region| &region.insts);
    let constant = |inst: &crate::ir::Inst| match inst.op {
        Op::Const(ty, bits) if is_wide(ty) => {
            Some((inst.first, crate::ir::scalar::cast(signed(ty), Type::I64, bits) as i64))
        }
        _ => None,
    };
    let constants: FxHashMap<Value, i64> = insts().filter_map(constant).collect();
    let addition = |inst: &crate::ir::Inst| match inst.op {
        Op::Binary(BinaryOp::Add, a, b) => match (constants.get(&a), constants.get(&b)) {
            (None, Some(&offset)) => Some((inst.first, (a, offset))),
            (Some(&offset), None) => Some((inst.first, (b, offset))),
            _ => None,
        },
        _ => None,
    };
    // Distant offsets are not neighbours, and sums of them could overflow.
    insts().filter_map(addition).filter(|(_, (_, offset))| offset.unsigned_abs() < 1 << 30).collect()
}

pub(super) fn is_wide(ty: Type) -> bool {
    matches!(ty, Type::I32 | Type::U32 | Type::I64 | Type::U64)
}

fn signed(ty: Type) -> Type {
    if ty.size_bytes() == 4 { Type::I32 } else { Type::I64 }
}

/// Whether a gather reads different elements in each lane, from memory that does not change.
fn is_candidate(kernel: &Kernel, analysis: &Analysis, result: Value, buffer: ParamId, index: Value) -> bool {
    matches!(kernel.param(buffer), Param::Buffer { access: Access::Read, .. })
        && is_wide(kernel.ty(index))
        && analysis.shape(result) == Shape::Varying
        && analysis.shape(index) == Shape::Varying
        && analysis.index_hint(kernel, index).is_none()
        && !analysis.repeats_elements(kernel, buffer, index)
}
