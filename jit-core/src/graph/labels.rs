//! Names that users give to arrays. Few arrays have one, so they are stored outside the nodes.

use std::ptr::NonNull;
use std::sync::Arc;

use jit_runtime::fork::Held;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;

use super::node::{Node, Var, flag};
use crate::fork;

/// What users say of an array.
#[derive(Default)]
struct Label {
    name: Option<String>,
    /// The scope of differentiation in which it was made.
    scope: Option<Arc<str>>,
}

static LABELS: Mutex<hashbrown::HashMap<usize, Label, FxBuildHasher>> =
    Mutex::new(hashbrown::HashMap::with_hasher(FxBuildHasher));

impl Var {
    /// Names the node, for listings and drawings. Equal expressions share a node and therefore its name, the last one
    /// given.
    pub fn set_label(&self, label: impl Into<String>) {
        self.change_label(|entry| entry.name = Some(label.into()));
    }

    /// Returns the node's name.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        self.read_label(|entry| entry.name.clone())
    }

    /// Sets the scope of differentiation in which the node was made.
    pub(super) fn set_scope(&self, scope: Arc<str>) {
        self.change_label(|entry| entry.scope = Some(scope));
    }

    /// Returns the scope of differentiation in which the node was made.
    pub(crate) fn scope(&self) -> Option<Arc<str>> {
        self.read_label(|entry| entry.scope.clone())
    }

    fn change_label(&self, change: impl FnOnce(&mut Label)) {
        change(LABELS.lock().entry(self.address().addr().get()).or_default());
        self.add_flag(flag::LABELLED);
    }

    fn read_label<T>(&self, read: impl FnOnce(&Label) -> Option<T>) -> Option<T> {
        if self.flags() & flag::LABELLED == 0 {
            return None;
        }
        LABELS.lock().get(&self.address().addr().get()).and_then(read)
    }
}

/// Removes the name of a node that dies.
#[cold]
pub(crate) fn remove(node: NonNull<Node>) {
    LABELS.lock().remove(&node.addr().get());
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    fork::hold_mutex(held, &LABELS);
}
