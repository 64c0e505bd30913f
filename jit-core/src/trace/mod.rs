//! The trace: the nodes that programs over arrays record instead of computing.
//!
//! | part | contents |
//! |---|---|
//! | `record`, `fold` | making nodes: checks, folding, value numbering |
//! | `fast` | fast math: cheaper operations in place of exact ones |
//! | `region`, `loops`, `branch`, `switch` | recording of traced control flow |
//! | `substitute` | recording the body of a loop again, for other states |
//! | `activity` | which states of a loop carry gradients |
//! | `merge`, `tables` | merging targets of a call that differ only in values |
//! | `gather`, `reduce`, `blocks`, `native` | values that read other lanes |
//! | `effect`, `written` | writing to elements at computed positions; what a loop writes is not read in it |
//! | `local` | per-lane local memory |
//! | `unaffected` | constants that the program computes from variables |
//! | `function_label` | the functions that are traced, whose names label kernels |
//! | `report` | what lanes print, and assertions |
//!
//! Recording computes nothing, takes no lock, and may run in any number of threads; handles may be passed between them.

pub(crate) mod activity;
pub(crate) mod blocks;
pub(crate) mod branch;
mod branches_to_switch;
pub(crate) mod columns;
pub(crate) mod fast;
pub(crate) mod fold;
pub(crate) mod function_label;
pub(crate) mod gather;
pub(crate) mod history;
pub(crate) mod index_range;
pub(crate) mod local;
pub(crate) mod loop_alias_check;
pub(crate) mod loops;
mod merge;
pub(crate) mod native;
pub(crate) mod record;
pub(crate) mod reduce;
pub(crate) mod region;
pub(crate) mod report;
mod residue;
pub(crate) mod scatter;
pub(crate) mod substitute;
pub(crate) mod switch;
pub(crate) mod tables;
pub(crate) mod unaffected;

pub use branch::BranchRecorder;
pub use fast::{FastMath, fast_math};
pub use loops::LoopRecorder;
pub use region::current_mask;
pub use switch::SwitchRecorder;

/// Takes the locks of this folder, for a fork.
pub(crate) fn hold(held: &mut Vec<jit_runtime::fork::Held>) {
    function_label::hold(held);
}

#[cfg(test)]
mod tests;
