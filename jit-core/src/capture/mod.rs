//! What this thread's recording of a frozen function knows.
//!
//! | part | what |
//! |---|---|
//! | `nodes` | the nodes that were made, values that are sizes |
//! | `launches` | the launches, noted while they happen |
//! | `host_call` | calls of the host |

pub(crate) mod host_call;
pub(crate) mod launches;
pub(crate) mod nodes;

/// Takes the locks of this folder, for a fork.
pub(crate) fn hold(held: &mut Vec<jit_runtime::fork::Held>) {
    launches::hold(held);
}
