//! The trace graph: nodes and their edges.
//!
//! | part | contents |
//! |---|---|
//! | `node`, `op` | nodes of one cache line each, counted handles; the operations of nodes |
//! | `weak` | references that do not keep nodes alive |
//! | `contents` | the elements of nodes in memory |
//! | `cost`, `device` | what recording an expression again costs; the device of a value |
//! | `payload` | the parts of a node outside its cache line: loops, branches, scatters, library calls |
//! | `inputs` | the inputs of a node, with their roles |
//! | `pool` | their memory |
//! | `numbering` | value numbering: equal expressions become one node |
//! | `watch` | notification of new nodes |
//! | `edges` | removing edges from the graph during walks of other threads |
//! | `gradients`, `scopes`, `tape` | through which nodes gradients flow; what nodes keep for differentiation |
//! | `labels`, `describe` | names that users give to arrays; values in messages |

mod contents;
pub(crate) mod cost;
mod describe;
pub(crate) mod device;
pub(crate) mod edges;
pub(crate) mod gradients;
pub(crate) mod inputs;
pub(crate) mod labels;
pub(crate) mod node;
pub(crate) mod numbering;
pub(crate) mod op;
pub(crate) mod payload;
pub(crate) mod pool;
pub(crate) mod scopes;
pub(crate) mod tape;
pub(crate) mod watch;
pub(crate) mod weak;
mod window;

pub use node::Var;
pub(crate) use numbering::recorded_nodes;
pub use op::Op;

/// Takes the locks of this folder, for a fork.
pub(crate) fn hold(held: &mut Vec<jit_runtime::fork::Held>) {
    edges::hold(held);
    labels::hold(held);
    tape::hold(held);
    pool::hold(held);
}
