//! Holders of memory that can be returned: higher layers register callbacks here.

use crate::fork::Held;
use crate::sync::{Mutex, persist};

/// Callbacks that return memory.
struct Holders {
    /// Called when the allocator returns its cached memory.
    on_trim: Vec<fn()>,
    /// Called when no memory is left: they return when memory that is about to be freed is free.
    on_shortage: Vec<fn()>,
}

static HOLDERS: Mutex<Holders> = Mutex::new(Holders { on_trim: Vec::new(), on_shortage: Vec::new() });

/// Registers a function that is called whenever the allocator returns its cached memory. Register each once.
pub(crate) fn on_trim(give_back: fn()) {
    HOLDERS.lock().on_trim.push(give_back);
}

/// Registers a function that is called when no memory is left. Register each once.
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
