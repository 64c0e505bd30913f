//! The traces that this thread found last, by the lines of their first results.
//!
//! A loop of the program evaluates the same lines again and again, mostly with equal traces. Each is compared with the
//! pattern of the last one before it is described and looked up. Entries keep neither code nor what is known of a trace
//! alive, so they end with the levels of the cache.

use std::cell::Cell;
use std::sync::{Arc, Weak};

use jit_runtime::cache::KnownTrace;

use super::trace_key::{Pattern, Trace};
use crate::graph::Var;
use crate::graph::edges::Edges;
use crate::thread_state::thread_state;

/// The number of lines that are remembered; several may have one place.
const LINES: usize = 16;

/// A trace that was found.
struct Recent {
    pattern: Pattern,
    known: Weak<KnownTrace>,
    /// The trace that was found last in its place: it replaces this one when it is found again, so traces that
    /// alternate do not cost a pattern each time.
    rival: Weak<KnownTrace>,
}

type Table = [Option<Box<Recent>>; LINES];

thread_state! {
    static TABLE: Cell<Option<Box<Table>>> = Cell::new(None);
}

/// Returns the trace of the wanted nodes without its words, and what is known of it, if it was found before.
pub(super) fn find<'e>(edges: &'e Edges, wanted: &[&'e Var]) -> Option<(Trace<'e>, Arc<KnownTrace>)> {
    let place = place_of(wanted)?;
    let table = TABLE.try_with(Cell::take).ok().flatten()?;
    let found = table[place].as_ref().and_then(|recent| recent.find(edges, wanted));
    let _ = TABLE.try_with(|spare| spare.set(Some(table)));
    found
}

/// Remembers a trace that was described and found.
pub(super) fn remember(trace: &Trace<'_>, wanted: &[&Var], known: &Arc<KnownTrace>) {
    let Some(place) = place_of(wanted) else { return };
    let mut table = TABLE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let is_replaced = |recent: &Recent| recent.known.strong_count() == 0 || is_same(&recent.rival, known);
    match &mut table[place] {
        Some(recent) if !is_replaced(recent) => recent.rival = Arc::downgrade(known),
        entry => {
            *entry = Pattern::of(trace).map(|pattern| {
                let (known, rival) = (Arc::downgrade(known), Weak::new());
                Box::new(Recent { pattern, known, rival })
            });
        }
    }
    let _ = TABLE.try_with(|spare| spare.set(Some(table)));
}

impl Recent {
    fn find<'e>(&self, edges: &'e Edges, wanted: &[&'e Var]) -> Option<(Trace<'e>, Arc<KnownTrace>)> {
        let known = self.known.upgrade()?;
        let trace = self.pattern.trace_of(edges, wanted).filter(|trace| known.is_for_literals(trace.key().literals))?;
        debug_assert!(
            is_as_described(&trace, &known, edges, wanted),
            "a pattern is equal to a trace that it is not for"
        );
        Some((trace, known))
    }
}

/// Returns whether the description of the wanted nodes would have found the same.
fn is_as_described(trace: &Trace<'_>, known: &KnownTrace, edges: &Edges, wanted: &[&Var]) -> bool {
    Trace::of(edges, wanted).is_some_and(|described| {
        let mut nodes = described.nodes().iter().zip(trace.nodes());
        let are_same = described.nodes().len() == trace.nodes().len() && nodes.all(|(a, b)| a.is_same(b));
        are_same && described.key().literals == trace.key().literals && known.is_for(described.key())
    })
}

fn is_same(known: &Weak<KnownTrace>, other: &Arc<KnownTrace>) -> bool {
    std::ptr::eq(known.as_ptr(), Arc::as_ptr(other))
}

/// Returns the place of what was found for a first result; none if nothing is wanted.
#[inline]
fn place_of(wanted: &[&Var]) -> Option<usize> {
    let site = wanted.first()?.site().id();
    Some((site as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(20) as usize % LINES)
}
