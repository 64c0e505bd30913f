//! Values that only the graph behind evaluated ones holds, and that are cheap to compute again, are not kept.
//!
//! A program that evaluates each of many steps, `y = y * x`, leaves the previous values of `y` to the derivative alone.
//! Their operations are kept instead of their elements, so the memory is used again while it is in a cache, and few
//! arrays are in use at any time. Derivatives compute the elements where they are read, in their own kernels, with the
//! same bits (checkpointing by recomputation: A. Griewank, A. Walther: Evaluating Derivatives, 2008, chapter 12).

use rustc_hash::FxHashMap;

use super::simplify::Part;
use super::vertex::{Key, Source, Value, Vertex, carries, key_of};
use crate::graph::Var;
use crate::graph::gradients;
use crate::graph::node::Draft;
use crate::graph::payload::RegionId;
use crate::graph::tape::{self, Tape};
use crate::graph::weak::Weak;

/// The largest weight of the operations that compute a value again: no more than some twenty steps.
const MAX_COST: u32 = 40;
/// Smaller values stay: their memory is in a cache anyway, and kernels of derivatives stay the same.
const MIN_BYTES: usize = 256 << 10;

/// Releases the elements of cheap values that only the graph behind some evaluated ones holds. Returns whether values
/// remain there only since computing them again has become expensive.
pub(super) fn release(behind: &[Weak]) -> bool {
    if gradients::is_suspended() || gradients::is_scoped() {
        return false;
    }
    behind.iter().filter_map(Weak::upgrade).fold(false, |is_full, head| release_behind(&head) | is_full)
}

fn release_behind(head: &Var) -> bool {
    if head.lanes() * head.ty().size_bytes() < MIN_BYTES {
        return false;
    }
    let Some(part) = Part::of(head.clone()) else { return false };
    let mut copies = Copies::default();
    let mut is_full = false;
    for vertex in part.vertices() {
        let Vertex::Value(Value { var, source: Source::Operands(node) }) = vertex else { continue };
        if var.is_same(head) {
            copies.replace_operands(head, node);
        } else if !var.has_data() {
            copies.copy(var, node);
        } else if carries(node) {
            is_full |= !copies.release(var, node);
        }
    }
    is_full
}

/// What takes the place of values, as operands of others.
#[derive(Default)]
struct Copies(FxHashMap<Key, Var>);

impl Copies {
    /// Records an operation on the copies of its operands. None if none of them has a copy.
    fn of(&self, node: &Var) -> Option<Var> {
        let mut is_other = false;
        let operands = [0, 1, 2].map(|slot| {
            let operand = if slot < node.op().slots() { node.operand(slot)? } else { return None };
            let copy = self.0.get(&key_of(&operand)).cloned();
            is_other |= copy.is_some();
            Some(copy.unwrap_or(operand))
        });
        if !is_other {
            return None;
        }
        let (op, ty, width, site) = (node.op(), node.ty(), node.extent(), node.site());
        let (region, operands) = (RegionId::NONE, operands.each_ref().map(Option::as_ref));
        Some(Var::new(Draft { op, ty, width, region, flags: 0, operands, position: 0, word: 0, site }))
    }

    /// Copies a value that has no elements, if its operands have copies.
    fn copy(&mut self, var: &Var, node: &Var) {
        if let Some(copy) = self.of(node) {
            self.0.insert(key_of(var), copy);
        }
    }

    /// Makes the operation that computes an evaluated value its copy; returns false if that is too expensive.
    fn release(&mut self, var: &Var, node: &Var) -> bool {
        let copy = self.of(node).unwrap_or_else(|| node.clone());
        let is_cheap = copy.cost() <= MAX_COST;
        if is_cheap {
            self.0.insert(key_of(var), copy);
        }
        is_cheap
    }

    /// Makes an evaluated value keep the copies of its operands.
    fn replace_operands(&self, head: &Var, node: &Var) {
        if let Some(copy) = self.of(node) {
            let kept = tape::with_record(head, |record| record.tape.replace(Tape::Evaluated(copy)));
            drop(kept);
        }
    }
}
