//! References that do not keep nodes alive.

use std::ptr::NonNull;

use super::node::{Node, Var};

/// A weak reference to a node. Two references to the same node are equal, others never are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Weak {
    node: NonNull<Node>,
    generation: u32,
}

// SAFETY: addresses of nodes stay valid for ever, and nodes may be shared.
unsafe impl Send for Weak {}

// SAFETY: what it refers to is reached through atomics alone.
unsafe impl Sync for Weak {}

impl Weak {
    /// Returns the node, if it still lives.
    pub(crate) fn upgrade(&self) -> Option<Var> {
        let var = Node::revive(self.node)?;
        (var.generation() == self.generation).then_some(var)
    }
}

impl Var {
    /// Returns a reference that does not keep the node alive.
    pub(crate) fn downgrade(&self) -> Weak {
        Weak { node: self.address(), generation: self.generation() }
    }
}
