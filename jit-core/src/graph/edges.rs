//! The lock that protects edges of the graph from removal during walks.
//!
//! When nodes get their elements, their operand edges are removed. A walk over the graph reads edges without counting
//! references, so it holds this lock for reading. The removal holds it for writing, for only a few stores, and drops
//! the nodes behind the edges after that. Recording takes no lock.

use jit_runtime::fork::Held;
use parking_lot::{RwLock, RwLockReadGuard};
use smallvec::SmallVec;

use super::node::{OfEvaluated, Var};
use crate::fork;

static EDGES: RwLock<()> = RwLock::new(());

/// Operands that were removed; usually few.
pub(super) type Dropped = SmallVec<[OfEvaluated; 8]>;

/// While this lives, no edge of the graph is removed.
pub(crate) struct Edges(#[expect(dead_code, reason = "its drop ends the read lock")] RwLockReadGuard<'static, ()>);

impl Edges {
    /// Returns an operand of a node.
    #[inline]
    pub(crate) fn operand<'e>(&'e self, var: &'e Var, slot: usize) -> Option<&'e Var> {
        // SAFETY: edges stay in place while the lock is held.
        unsafe { var.operand_in_place(slot) }
    }
}

/// Protects the edges of the graph from removal.
pub(crate) fn read() -> Edges {
    // A walking thread may wait for a removing one, never the reverse, so recursion cannot deadlock.
    Edges(EDGES.read_recursive())
}

/// Removes the operands of nodes that an evaluation has given data.
pub(crate) fn detach<'a>(nodes: impl Iterator<Item = &'a Var>) {
    let mut dropped = Dropped::new();
    let guard = EDGES.write();
    nodes.filter(|node| node.has_data()).for_each(|node| node.detach(&mut dropped));
    drop(guard);
    drop(dropped);
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    fork::hold_rw_lock(held, &EDGES);
}
