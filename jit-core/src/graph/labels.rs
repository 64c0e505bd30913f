//! Names that users give to arrays. Few arrays have one, so they are stored outside the nodes.

use std::ptr::NonNull;

use jit_runtime::fork::Held;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;

use super::node::{Node, Var, flag};
use crate::fork;

static LABELS: Mutex<hashbrown::HashMap<usize, String, FxBuildHasher>> =
    Mutex::new(hashbrown::HashMap::with_hasher(FxBuildHasher));

impl Var {
    /// Names the node, for listings and drawings. Equal expressions share a node and therefore its name, the last one
    /// given.
    pub fn set_label(&self, label: impl Into<String>) {
        LABELS.lock().insert(self.address().addr().get(), label.into());
        self.add_flag(flag::LABELLED);
    }

    /// Returns the node's name.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        if self.flags() & flag::LABELLED == 0 {
            return None;
        }
        LABELS.lock().get(&self.address().addr().get()).cloned()
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
