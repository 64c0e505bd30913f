//! The trace graph: nodes, and what links them.
//!
//! | part | what |
//! |---|---|
//! | `node`, `op` | nodes of one cache line each, counted handles; what a node computes |
//! | `pool` | their memory |
//! | `numbering` | equal expressions become one node |
//! | `edges` | taking edges out of the graph while others walk it |
//! | `labels` | names that users give to arrays |

pub(crate) mod edges;
pub(crate) mod labels;
pub(crate) mod node;
pub(crate) mod numbering;
pub(crate) mod op;
pub(crate) mod pool;

pub use node::Var;
pub(crate) use numbering::recorded_nodes;
pub use op::Op;
