//! The trace: what programs over arrays record instead of computing.
//!
//! | part | what |
//! |---|---|
//! | `node`, `op` | the graph: nodes of one cache line each, counted handles |
//! | `pool` | their memory |
//! | `number` | equal expressions become one node |
//! | `record`, `fold` | making nodes: checks, folding, numbering |
//! | `fast` | fast math: what is recorded in the place of exact operations |
//! | `region`, `loops`, `branch`, `switch` | recording of traced control flow |
//! | `merge`, `tables` | targets of a call that differ in values alone become one |
//! | `gather`, `reduce`, `blocks`, `native` | values that look at other lanes |
//! | `effect`, `written` | writing to elements at computed positions; what a loop writes is not read in it |
//! | `local` | memory of a lane's own |
//! | `report` | what lanes print, and assertions |
//! | `detach` | taking edges out of the graph while others walk it |
//! | `extent` | widths of nodes |
//! | `label`, `misuse` | names; messages for wrong programs |
//!
//! Recording computes nothing, takes no lock, and may go on in any number of threads; handles may be passed between them.

pub(crate) mod blocks;
pub(crate) mod branch;
mod dense;
pub(crate) mod detach;
pub(crate) mod effect;
pub(crate) mod extent;
pub(crate) mod fast;
pub(crate) mod fold;
pub(crate) mod gather;
pub(crate) mod inside;
pub(crate) mod label;
pub(crate) mod local;
pub(crate) mod loops;
mod merge;
#[doc(hidden)]
pub mod misuse;
pub(crate) mod native;
pub(crate) mod node;
pub(crate) mod number;
pub(crate) mod op;
pub(crate) mod pool;
pub(crate) mod record;
pub(crate) mod reduce;
pub(crate) mod region;
pub(crate) mod report;
pub(crate) mod switch;
pub(crate) mod tables;
pub(crate) mod written;

pub use branch::BranchRecorder;
pub use fast::{FastMath, fast_math};
pub use loops::LoopRecorder;
pub use node::Var;
pub(crate) use number::recorded_nodes;
pub use op::Op;
pub use region::current_mask;
pub use switch::SwitchRecorder;

/// Takes the locks of this folder, for a fork.
pub(crate) fn hold(held: &mut Vec<jit_runtime::fork::Held>) {
    detach::hold(held);
    label::hold(held);
    pool::hold(held);
}

#[cfg(test)]
mod tests;
