//! Calls whose target depends on the lane.
//!
//! Every target that can occur is traced once, under the mask of the lanes that call it, on the caller's own values:
//! constants of the caller are constants in the target. A lane calls no target if its index is out of range, its
//! pointer null or its mask false; it gets zero of every result and does nothing.
//!
//! | part | contents |
//! |---|---|
//! | `switch` | functions and closures by number: [`switch()`], [`switch_masked`] |
//! | `sorted` | the same, each target in separate kernels: [`switch_sorted`] |
//! | `instances`, `ptr` | objects by number: [`Instances`], [`Ptr`] |
//! | [`dispatch`] | the runtime of generated methods of a [`Ptr`] |
//! | `guard` | the common part of all calls: state, results, checks |
//! | `chain` | nested calls, and the limit of their depth |

mod chain;
#[doc(hidden)]
pub mod dispatch;
mod guard;
mod instances;
mod ptr;
mod sorted;
mod switch;

pub use instances::{InstanceMut, InstanceRef, Instances};
pub use ptr::Ptr;
pub use sorted::switch_sorted;
pub use switch::{Callable, SwitchIndex, switch, switch_masked};
