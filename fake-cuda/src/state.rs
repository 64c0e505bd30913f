//! All that the driver knows, behind one lock.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::codes::{self, Code};
use crate::event::Event;
use crate::failures::Failures;
use crate::graph::Graph;
use crate::link::Linker;
use crate::memory::{Allocation, Pinned};
use crate::module::Module;
use crate::order::Clock;
use crate::stream::Stream;
use crate::violation;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) is_initialised: bool,
    /// The code that all calls return from some failure of the device on.
    pub(crate) lost: HashMap<usize, Code>,
    /// Memory of devices, by its first address.
    pub(crate) allocations: BTreeMap<u64, Allocation>,
    pub(crate) next_address: HashMap<usize, u64>,
    pub(crate) pinned: BTreeMap<usize, Pinned>,
    pub(crate) streams: BTreeMap<usize, Stream>,
    pub(crate) events: HashMap<usize, Event>,
    pub(crate) modules: HashMap<usize, Arc<Module>>,
    pub(crate) linkers: HashMap<usize, Linker>,
    pub(crate) graphs: HashMap<usize, Graph>,
    pub(crate) graphs_made: usize,
    pub(crate) graphs_queued: usize,
    pub(crate) failures: Failures,
    pub(crate) is_executing: bool,
    /// Whether launches stay queued.
    pub(crate) is_held: bool,
    /// How often a stream was to wait for an event.
    pub(crate) waits: usize,
    /// What the host has seen of the streams.
    pub(crate) seen: Clock,
    handles: usize,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
/// Something was queued or done.
pub(crate) static CHANGED: Condvar = Condvar::new();

/// The state, locked.
pub(crate) struct Locked(Option<MutexGuard<'static, Option<State>>>);

pub(crate) fn lock() -> Locked {
    let mut guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    guard.get_or_insert_default();
    Locked(Some(guard))
}

impl Locked {
    /// Waits until something was queued or done.
    pub(crate) fn wait(&mut self) {
        let guard = self.0.take().expect("it is locked");
        self.0 = Some(CHANGED.wait(guard).unwrap_or_else(PoisonError::into_inner));
    }
}

impl std::ops::Deref for Locked {
    type Target = State;

    fn deref(&self) -> &State {
        self.0.as_deref().and_then(Option::as_ref).expect("it is locked")
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_deref_mut().and_then(Option::as_mut).expect("it is locked")
    }
}

impl State {
    /// A handle that no other object has, and that is no address.
    pub(crate) fn new_handle(&mut self) -> usize {
        self.handles += 1;
        0xfa_0000 + 16 * self.handles
    }

    /// The code of the failure because of which a device was lost.
    pub(crate) fn check(&self, device: usize) -> Result<(), Code> {
        if !self.is_initialised {
            return Err(codes::NOT_INITIALIZED);
        }
        self.lost.get(&device).map_or(Ok(()), |code| Err(*code))
    }

    pub(crate) fn stream(&mut self, stream: usize) -> &mut Stream {
        self.streams.get_mut(&stream).unwrap_or_else(|| violation(&format!("{stream:#x} is no stream")))
    }

    pub(crate) fn event(&mut self, event: usize) -> &mut Event {
        self.events.get_mut(&event).unwrap_or_else(|| violation(&format!("{event:#x} is no event")))
    }
}

/// The value of a variable of the environment that is a number.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Err(_) => default,
        Ok(text) => text.parse().unwrap_or_else(|_| violation(&format!("{name} is a number, not {text}"))),
    }
}
