//! The trace graph: nodes, and what links them.
//!
//! | part | what |
//! |---|---|
//! | `node`, `op` | nodes of one cache line each, counted handles; what a node computes |
//! | `payload` | what does not fit into a node: parts of loops, branches, scatters, native calls |
//! | `inputs` | what a node is computed from, and what for |
//! | `pool` | their memory |
//! | `numbering` | equal expressions become one node |
//! | `watch` | who sees new nodes |
//! | `edges` | taking edges out of the graph while others walk it |
//! | `labels`, `describe` | names that users give to arrays; values in messages |

mod describe;
pub(crate) mod edges;
pub(crate) mod inputs;
pub(crate) mod labels;
pub(crate) mod node;
pub(crate) mod numbering;
pub(crate) mod op;
pub(crate) mod payload;
pub(crate) mod pool;
pub(crate) mod watch;

pub use node::Var;
pub(crate) use numbering::recorded_nodes;
pub use op::Op;

/// Takes the locks of this folder, for a fork.
pub(crate) fn hold(held: &mut Vec<jit_runtime::fork::Held>) {
    edges::hold(held);
    labels::hold(held);
    pool::hold(held);
}
