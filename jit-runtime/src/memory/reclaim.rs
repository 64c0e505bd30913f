//! Those who hold memory that they can give back: floors above register here what is asked of them.

use crate::fork::Held;
use crate::sync::{Mutex, persist};

/// What is called to give memory back.
struct Holders {
    /// When the allocator gives back what it caches.
    on_trim: Vec<fn()>,
    /// When there is no memory left: returns when what will be freed soon is free.
    on_shortage: Vec<fn()>,
}

static HOLDERS: Mutex<Holders> = Mutex::new(Holders { on_trim: Vec::new(), on_shortage: Vec::new() });

/// Has a function called whenever the allocator gives back what it caches. Register each once.
pub(crate) fn on_trim(give_back: fn()) {
    HOLDERS.lock().on_trim.push(give_back);
}

/// Has a function called when there is no memory left. Register each once.
pub(crate) fn on_shortage(wait: fn()) {
    HOLDERS.lock().on_shortage.push(wait);
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| HOLDERS.try_lock()).map(|guard| Box::new(guard) as Held));
}

pub(super) fn trim() {
    let holders = HOLDERS.lock().on_trim.clone();
    holders.into_iter().for_each(|give_back| give_back());
}

pub(super) fn wait() {
    let holders = HOLDERS.lock().on_shortage.clone();
    holders.into_iter().for_each(|wait| wait());
}
