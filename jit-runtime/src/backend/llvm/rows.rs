//! Gathers of neighbouring elements: each lane reads a row of memory as a whole.
//!
//! Gathers from one buffer under one mask, whose indices are one value plus consecutive constants, read a row in each
//! lane ([`neighbours`](crate::backend::neighbours)): the components of a vector, the weights of a cell, a point and
//! its neighbours. One wide load replaces the loads of several elements, and a hardware gather takes about as long as
//! loading its elements one by one.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::analysis::{Analysis, Shape};
use crate::backend::neighbours::{GatherRun, Offsets, gather_runs, is_wide};
use crate::ir::{Access, Kernel, Param, ParamId, Value};

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

impl Rows {
    /// Finds the rows of a kernel.
    pub(super) fn of(kernel: &Kernel, analysis: &Analysis) -> Rows {
        let mut rows = Rows::default();
        let offsets = Offsets::of(kernel);
        let is_candidate = |result, buffer, index| is_candidate(kernel, analysis, result, buffer, index);
        for region in &kernel.regions {
            gather_runs(region, &offsets, is_candidate).into_iter().for_each(|run| rows.add(run));
        }
        rows
    }

    /// The role of the gather with this result; none if it is not part of a row.
    pub(super) fn role(&self, result: Value) -> Option<Role> {
        self.roles.get(&result).copied()
    }

    /// Creates a row for a run of more than one element.
    fn add(&mut self, run: GatherRun) {
        let GatherRun { buffer, mask, gathers, .. } = run;
        let start = gathers[0].offset;
        let mut columns = vec![SmallVec::new(); (gathers[gathers.len() - 1].offset - start) as usize + 1];
        if columns.len() == 1 {
            return;
        }
        for gathered in &gathers {
            columns[(gathered.offset - start) as usize].push(gathered.result);
            self.roles.insert(gathered.result, Role::Other);
        }
        let Some(first) = gathers.iter().min_by_key(|gathered| gathered.position) else { return };
        self.roles.insert(first.result, Role::First(self.rows.len() as u32));
        let indices = gathers.iter().map(|gathered| gathered.index).collect();
        self.rows.push(Row { buffer, index: first.index, start: start - first.offset, mask, indices, columns });
    }
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
