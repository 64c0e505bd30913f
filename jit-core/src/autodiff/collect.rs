//! Frees gradients that only they themselves keep alive.
//!
//! A stored gradient that is not evaluated refers to the values that it is computed from, among them the variable at
//! which it is stored. When the program drops the variable, the two keep each other alive. This searches for such
//! variables by trial deletion (D. F. Bacon, V. T. Rajan: Concurrent Cycle Collection in Reference Counted Systems,
//! 2001): a node all of whose references come from what gradients refer to is garbage, unless something else reaches
//! it. The cost is that of a walk over what unevaluated gradients refer to, and a search begins when there are twice as
//! many of them as the last one left. Counting them is a walk over all records: it waits until a share of as many was
//! stored as were counted last, so that a step costs the same however many gradients live.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::Var;
use crate::graph::edges::{self, Edges};
use crate::graph::node::Node;
use crate::graph::payload::Payload;
use crate::graph::tape::{self, AllRecords};

/// The number of unevaluated gradients that begins the next search.
static LIMIT: AtomicUsize = AtomicUsize::new(1);

/// The number of gradients that were stored since they were counted.
static STORED: AtomicUsize = AtomicUsize::new(0);

/// The number of stored gradients that begins the next count.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Notes that a gradient was stored.
pub(super) fn note_stored() {
    STORED.fetch_add(1, Ordering::Relaxed);
}

/// Searches, if there are enough gradients, and frees what it finds.
pub(super) fn collect() {
    if STORED.load(Ordering::Relaxed) < NEXT.load(Ordering::Relaxed) {
        return;
    }
    // An evaluation takes these locks in this order, too. No node may be dropped while the records are locked, since
    // its own record would be removed: all that the search holds is dropped after that.
    let edges = edges::read();
    let (holders, search, garbage) = tape::with_all(|records| {
        let holders = holders(records);
        let limit = LIMIT.load(Ordering::Relaxed);
        if holders.len() < limit {
            wait(limit, holders.len());
            return (holders, None, Vec::new());
        }
        let search = Search::of(&edges, records, &holders);
        let garbage = search.garbage(&holders);
        let left = holders.len() - garbage.len();
        let limit = (2 * left).max(1);
        LIMIT.store(limit, Ordering::Relaxed);
        wait(limit, left);
        (holders, Some(search), garbage)
    });
    drop(edges);
    for var in &garbage {
        let dropped = tape::read(var, |record| (record.gradient.take(), std::mem::take(&mut record.tangents)));
        drop(dropped);
    }
    drop((holders, search, garbage));
}

/// Lets the next count wait until there may be as many gradients as the limit, and a share of those there are is new.
fn wait(limit: usize, gradients: usize) {
    STORED.store(0, Ordering::Relaxed);
    NEXT.store((limit - gradients).max(gradients / 2), Ordering::Relaxed);
}

/// Returns the nodes whose gradients are not evaluated.
fn holders(records: &AllRecords<'_>) -> Vec<Var> {
    let is_lazy = |var: &Var| !var.is_evaluated();
    let with_lazy = records.with_gradients().filter(|(_, record)| {
        record.gradient.as_ref().is_some_and(is_lazy) || record.tangents.iter().any(|(_, tangent)| is_lazy(tangent))
    });
    with_lazy
        .filter_map(|(address, _)| Node::revive(NonNull::new(std::ptr::with_exposed_provenance_mut(address))?))
        .collect()
}

/// What gradients refer to.
struct Search {
    /// The nodes, each with the number of references from others of them.
    inner: FxHashMap<NonNull<Node>, (Var, u32)>,
    edges: FxHashMap<NonNull<Node>, Vec<NonNull<Node>>>,
}

impl Search {
    fn of(edges: &Edges, records: &AllRecords<'_>, holders: &[Var]) -> Search {
        let mut search = Search { inner: FxHashMap::default(), edges: FxHashMap::default() };
        let mut pending: Vec<Var> = holders.to_vec();
        // The results of an operation hold it together.
        let mut calls = FxHashSet::default();
        for var in holders {
            search.inner.insert(var.address(), (var.clone(), 0));
        }
        while let Some(var) = pending.pop() {
            let mut held_by = Vec::new();
            let mut visit = |held: &Var| {
                held_by.push(held.address());
                let entry = search.inner.entry(held.address()).or_insert_with(|| {
                    pending.push(held.clone());
                    (held.clone(), 0)
                });
                entry.1 += 1;
            };
            // Without counting references, which could be the last ones when they are dropped.
            (0..var.op().slots()).filter_map(|slot| edges.operand(&var, slot)).for_each(&mut visit);
            var.payload().into_iter().flat_map(Payload::inputs).for_each(|(_, input)| visit(input));
            if let Some(record) = records.at(var.address()) {
                record.for_each_held(&mut visit);
                let call = record.call().filter(|call| calls.insert(Arc::as_ptr(call)));
                call.into_iter().flat_map(|call| call.inputs.iter().chain(&call.saved)).for_each(&mut visit);
            }
            search.edges.insert(var.address(), held_by);
        }
        search
    }

    /// Returns the holders that nothing outside reaches.
    fn garbage(&self, holders: &[Var]) -> Vec<Var> {
        // This search holds each node once, and the holders once more.
        let held_here: FxHashSet<NonNull<Node>> = holders.iter().map(Var::address).collect();
        let is_reached = |address: &NonNull<Node>| {
            let (var, inner) = &self.inner[address];
            var.count() > inner + 1 + u32::from(held_here.contains(address))
        };
        let mut live: FxHashSet<NonNull<Node>> = self.inner.keys().copied().filter(is_reached).collect();
        let mut pending: Vec<NonNull<Node>> = live.iter().copied().collect();
        while let Some(address) = pending.pop() {
            pending.extend(self.edges[&address].iter().copied().filter(|&next| live.insert(next)));
        }
        holders.iter().filter(|var| !live.contains(&var.address())).cloned().collect()
    }
}
