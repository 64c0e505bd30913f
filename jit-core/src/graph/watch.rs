//! Who sees new nodes: recordings of frozen functions, which know of the graph while the graph knows nothing of them.
//!
//! There is one watcher for the process, in place before anything is watched: nodes are seen that are made while their
//! thread records, and those that use what a host call may hold.

use std::sync::OnceLock;

use super::node::Var;

/// What is called for new nodes.
pub(crate) struct Watch {
    /// A node was made while this thread records.
    pub(crate) recorded: fn(&Var),
    /// A node has operands of which one may be held by a host call, or was held by one.
    pub(crate) used: fn(&Var),
}

static WATCH: OnceLock<Watch> = OnceLock::new();

/// Begins to watch, if nobody does yet.
pub(crate) fn begin(watch: Watch) {
    let _ = WATCH.set(watch);
}

#[cold]
pub(super) fn recorded(var: &Var) {
    if let Some(watch) = WATCH.get() {
        (watch.recorded)(var);
    }
}

#[cold]
pub(super) fn used(var: &Var) {
    if let Some(watch) = WATCH.get() {
        (watch.used)(var);
    }
}
