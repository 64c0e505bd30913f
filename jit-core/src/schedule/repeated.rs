//! Values that an earlier evaluation has computed, and did not store as they were not wanted.
//!
//! A program that evaluates results, but not all of the state behind them, would compute more in each step: all steps
//! before. So what an evaluation computes a second time, it stores, too, if it is expensive. Cheap values are computed
//! again, and so are indices that depend on the lane alone: what is known of them is worth more than they cost.

use jit_runtime::memory::available_bytes;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::graph::Var;
use crate::graph::edges::Edges;
use crate::graph::node::flag;
use crate::graph::op::Op;
use crate::graph::payload::RegionId;
use crate::graph::tape::{self, Tape};

/// Properties of values that no other evaluation may compute, or that are not stored alone.
const EXCLUDED: u16 = flag::EFFECT | flag::LOCAL | flag::RECORDED | flag::HOSTED | flag::GRAD;
/// The part of the memory that what an evaluation stores besides may take: it may be much larger than what is wanted.
const SHARE_OF_MEMORY: usize = 16;
/// The number of nodes of an index that are searched for elements in memory.
const MAX_INDEX: usize = 64;

/// Returns those of some values, computed by an earlier evaluation, that should be stored besides the wanted ones.
pub(super) fn worth_storing<'a>(
    edges: &'a Edges,
    wanted: &[&Var],
    computed: impl Iterator<Item = &'a Var>,
) -> Vec<&'a Var> {
    let is_new = |var: &&Var| wanted.iter().all(|other| !other.is_same(var));
    let value = |var| value_of_variable(edges, var);
    let mut room = None;
    let has_room = |var: &&Var| {
        let room = room.get_or_insert_with(|| available_bytes() / SHARE_OF_MEMORY);
        let left = room.checked_sub(var.lanes() * var.ty().size_bytes());
        *room = left.unwrap_or(*room);
        left.is_some()
    };
    // A variable and its value are often both among them.
    let mut seen = FxHashSet::default();
    let computed = computed.filter_map(value).filter(is_new).filter(|var| seen.insert(var.address()));
    computed.filter(|var| is_worth_storing(edges, var)).filter(has_room).collect()
}

/// Returns the value that a variable was made from, and other values themselves; none if it is stored. A variable keeps
/// its gradients, so it is not evaluated itself.
fn value_of_variable<'a>(edges: &'a Edges, var: &'a Var) -> Option<&'a Var> {
    let is_variable = var.flags() & flag::GRAD != 0 && matches!(tape::of(var), Some(Tape::Variable));
    let value = if is_variable { edges.operand(var, 0) } else { Some(var) };
    value.filter(|value| !value.is_evaluated())
}

fn is_worth_storing(edges: &Edges, var: &Var) -> bool {
    let is_possible = var.region() == RegionId::NONE && var.flags() & EXCLUDED == 0 && var.lanes() != 0;
    let is_index = || var.lanes() > 1 && !var.ty().is_float() && depends_on_lane_alone(edges, var);
    let is_worth_it = is_possible && !is_index();
    if !is_worth_it {
        var.forget_computed();
    }
    is_worth_it
}

/// Returns whether a value is a short expression of the lane number and of values that are the same in all lanes.
fn depends_on_lane_alone(edges: &Edges, var: &Var) -> bool {
    let mut seen: SmallVec<[&Var; MAX_INDEX]> = SmallVec::new();
    seen.push(var);
    let mut next = 0;
    while next < seen.len() {
        let var = seen[next];
        next += 1;
        if var.lanes() == 1 {
            continue;
        }
        match var.op() {
            Op::LaneIndex | Op::Literal => {}
            Op::Broadcast | Op::Identity | Op::Cast | Op::Bitcast | Op::Unary(_) | Op::Binary(_) | Op::Fma => {}
            Op::Compare(_) | Op::Select => {}
            _ => return false,
        }
        if var.has_data() {
            return false;
        }
        for operand in (0..var.op().slots()).filter_map(|slot| edges.operand(var, slot)) {
            if seen.iter().all(|other| !other.is_same(operand)) {
                if seen.len() == MAX_INDEX {
                    return false;
                }
                seen.push(operand);
            }
        }
    }
    true
}
