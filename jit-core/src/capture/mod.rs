//! The per-thread state of recordings of frozen functions.
//!
//! | part | contents |
//! |---|---|
//! | `nodes` | the nodes that were made, values that are sizes |
//! | `launches` | the launches, recorded while they happen |
//! | `host_call` | host calls |

pub(crate) mod host_call;
pub(crate) mod launches;
pub(crate) mod nodes;

use std::cell::{Cell, RefCell};

use host_call::Running;
use launches::Session;

use crate::thread_state::{Clear, thread_state};

/// The per-thread state of recordings.
struct Capture {
    /// The current recording.
    session: RefCell<Option<Session>>,
    /// The current host calls, innermost last.
    calls: RefCell<Vec<Running>>,
    /// The plain numbers among the arguments of the frozen function that is replayed, for its host calls.
    numbers: RefCell<Vec<u64>>,
    /// Whether a body runs to be compared with a replay: functions that it calls are neither recorded nor replayed.
    is_comparing: Cell<bool>,
}

impl Clear for Capture {
    fn clear(&self) {
        self.session.clear();
        self.calls.clear();
        self.numbers.clear();
    }
}

thread_state! {
    static CAPTURE: Capture = Capture {
        session: RefCell::new(None),
        calls: RefCell::new(Vec::new()),
        numbers: RefCell::new(Vec::new()),
        is_comparing: Cell::new(false),
    };
}

/// Returns whether a body runs to be compared with a replay: functions that it calls run unfrozen, too.
pub(crate) fn is_comparing() -> bool {
    CAPTURE.with(|capture| capture.is_comparing.get())
}

/// Until this is dropped, a body runs to be compared with a replay.
pub(crate) struct Comparing(());

/// Begins to run a body that is compared with a replay.
#[must_use]
pub(crate) fn compare() -> Comparing {
    CAPTURE.with(|capture| capture.is_comparing.set(true));
    Comparing(())
}

impl Drop for Comparing {
    fn drop(&mut self) {
        CAPTURE.with(|capture| capture.is_comparing.set(false));
    }
}

/// Takes the locks of this folder, for a fork.
pub(crate) fn hold(held: &mut Vec<jit_runtime::fork::Held>) {
    launches::hold(held);
}
