//! Calls whose target depends on the lane.
//!
//! Every target that can occur is traced once, under the mask of the lanes that want it, on the caller's own values:
//! what is constant for the caller is constant inside. A lane that wants no target, because its index is out of range,
//! its pointer null or its mask false, gets zero of every result and does nothing.
//!
//! | part | what |
//! |---|---|
//! | `switch` | functions and closures by number: [`switch()`], [`switch_masked`] |
//! | `sorted` | the same, each target in kernels of its own: [`switch_sorted`] |
//! | `instances`, `ptr` | objects by number: [`Instances`], [`Ptr`] |
//! | [`dispatch`] | what the generated methods of a [`Ptr`] call |
//! | `guard` | what all calls share: state, results, checks |
//! | `chain` | calls within calls, and where that has to end |

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
