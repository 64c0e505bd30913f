//! Notification of new nodes, for recordings of frozen functions. The graph does not depend on them.
//!
//! There is one watcher for the process, installed before anything is watched. It sees nodes that are made while their
//! thread records, and nodes that use one that a host call may hold.

use std::sync::OnceLock;

use super::node::Var;

/// The functions called for new nodes.
pub(crate) struct Watch {
    /// A node was made while this thread records.
    pub(crate) recorded: fn(&Var),
    /// A node has an operand that a host call may hold, or held.
    pub(crate) used: fn(&Var),
}

static WATCH: OnceLock<Watch> = OnceLock::new();

/// Installs a watcher, if there is none yet.
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
