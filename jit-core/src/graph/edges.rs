//! The lock between those who walk the graph and those who take edges out of it.
//!
//! When nodes get their elements, their operand edges go. A walk over the graph reads edges without counting
//! references, so it holds this lock for reading; the removal holds it for writing, for the few stores that it takes,
//! and drops the nodes behind the edges after that. Recording takes no lock.

use jit_runtime::fork::Held;
use parking_lot::{RwLock, RwLockReadGuard};

use super::node::Var;
use crate::fork;

static EDGES: RwLock<()> = RwLock::new(());

/// While this lives, no edge of the graph is taken away.
pub(crate) struct Edges(#[expect(dead_code, reason = "held for its drop")] RwLockReadGuard<'static, ()>);

impl Edges {
    /// An operand of a node.
    #[inline]
    pub(crate) fn operand<'e>(&'e self, var: &'e Var, slot: usize) -> Option<&'e Var> {
        // SAFETY: edges stay in place while the lock is held.
        unsafe { var.operand_in_place(slot) }
    }
}

/// Keeps the edges of the graph in place.
pub(crate) fn read() -> Edges {
    // A thread that walks may wait for one that removes, never the other way round, so recursion cannot lock up.
    Edges(EDGES.read_recursive())
}

/// Takes away the operands of nodes that have data.
pub(crate) fn detach<'a>(nodes: impl Iterator<Item = &'a Var>) {
    let mut dropped = Vec::new();
    let guard = EDGES.write();
    nodes.filter(|node| node.has_data()).for_each(|node| node.detach(&mut dropped));
    drop(guard);
    drop(dropped);
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    fork::hold_rw_lock(held, &EDGES);
}
