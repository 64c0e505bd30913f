//! Host `for` loops that record so many nodes that they are probably unintended.

use std::sync::LazyLock;

use jit_runtime::Site;
use jit_runtime::log::{self, Level};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::graph::recorded_nodes;

/// The loops that a warning has named: a function that is called again does not repeat it.
static WARNED: LazyLock<Mutex<FxHashSet<Site>>> = LazyLock::new(Mutex::default);

/// Warns from this many iterations on, if they record anything.
const ITERATIONS: u32 = 1000;
/// Warns from this many nodes on, in all iterations together.
const NODES: u64 = 50_000;

/// Counts the iterations of a loop, and the nodes that they record.
pub struct Unrolled {
    iterations: u32,
    /// No iteration before this one is counted.
    next_look: u32,
    /// The iteration from which on nodes are counted, and the number of nodes at that time.
    counted_from: Option<(u32, u64)>,
    site: Site,
}

/// Begins to count for a loop that may have `accepted` iterations, whatever they record.
#[must_use]
#[track_caller]
#[inline(always)]
pub fn unrolled(accepted: u32) -> Unrolled {
    let next_look = accepted.saturating_add(LOOK_EVERY);
    Unrolled { iterations: 0, next_look, counted_from: None, site: Site::here() }
}

/// The interval at which nodes are counted.
const LOOK_EVERY: u32 = 50;

impl Unrolled {
    /// Counts an iteration.
    #[inline]
    pub fn begin_iteration(&mut self) {
        self.iterations = self.iterations.wrapping_add(1);
        if self.iterations == self.next_look {
            self.look();
        }
    }

    #[cold]
    fn look(&mut self) {
        let (iterations, site) = (self.iterations, self.site);
        let (first, before) = *self.counted_from.get_or_insert_with(|| (iterations, recorded_nodes()));
        let per_iteration = (recorded_nodes() - before) / u64::from(iterations - first).max(1);
        let nodes = per_iteration * u64::from(iterations);
        if nodes >= NODES || (iterations >= ITERATIONS && per_iteration > 0) {
            self.next_look = 0;
            if WARNED.lock().insert(site) {
                log::emit(Level::Warn, || {
                    format!(
                        "{site}: unrolled {iterations} × ({per_iteration} nodes); use `#[symbolic]` or a traced bound, \
                         or accept it with `#[unroll]`"
                    )
                });
            }
        } else {
            self.next_look = self.next_look.saturating_add(LOOK_EVERY);
        }
    }
}
