//! Memory that recordings retain from one replay to the next: a small amount, freed together with the allocator's
//! cache.

use std::sync::{Arc, LazyLock, Weak};

use crate::fork::{self, Handlers, Held};
use crate::sync::{Mutex, persist};

use super::replay::State;
use crate::memory::reclaim;

/// The retained state of completed replays of one recording: as many as ran in parallel.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "each replay takes one out and puts it back, which moves a pointer")]
pub(crate) struct States(Mutex<Vec<Box<State>>>);

/// Those of all recordings.
static ALL: LazyLock<Mutex<Vec<Weak<States>>>> = LazyLock::new(|| {
    reclaim::on_trim(release);
    fork::register(Handlers { hold, reset: || {} });
    Mutex::default()
});

impl States {
    pub(crate) fn new() -> Arc<States> {
        let states = Arc::new(States::default());
        let mut all = ALL.lock();
        all.retain(|states| states.strong_count() > 0);
        all.push(Arc::downgrade(&states));
        states
    }

    pub(crate) fn take(&self) -> Box<State> {
        self.0.lock().pop().unwrap_or_default()
    }

    pub(crate) fn put_back(&self, state: Box<State>) {
        self.0.lock().push(state);
    }
}

/// Takes the lock of the list, for a fork.
fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| ALL.try_lock()).map(|guard| Box::new(guard) as Held));
}

/// Releases all memory that recordings retain for later replays.
fn release() {
    let all: Vec<Arc<States>> = ALL.lock().iter().filter_map(Weak::upgrade).collect();
    for states in all {
        let kept = std::mem::take(&mut *states.0.lock());
        drop(kept);
    }
}
