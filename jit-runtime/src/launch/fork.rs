//! Launches when the process forks: what is held meanwhile, and what the child does about threads that it has not got.

use std::sync::{LazyLock, Once};

use crate::fork::{self, Handlers, Held};
use crate::memory::order;
use crate::sync::persist;
use crate::{cache, memory, stats};

use super::{pool, private, team};

/// Sees to it that forks are noticed from now on.
#[inline]
pub fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| fork::register(Handlers { hold, reset }));
}

/// Takes all locks of the machine. Who holds one may take those after it.
fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| order::REGISTRATION.try_lock()).map(|guard| Box::new(guard) as Held));
    pool::hold(held);
    team::hold(held);
    cache::hold(held);
    held.extend(persist(|| LazyLock::force(&private::CODE).try_lock()).map(|guard| Box::new(guard) as Held));
    stats::hold(held);
    memory::hold(held);
}

fn reset() {
    pool::reset();
    team::reset();
    cache::reset();
}
