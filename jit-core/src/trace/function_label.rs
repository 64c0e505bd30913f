//! The functions that are being traced: their names label kernels.
//!
//! A kernel is launched when values are requested, usually after the function that recorded them has returned. Each
//! function and labelled statement therefore registers the lines of the program that it covers. The label of a kernel
//! is found from the line of the values that it computes.

use super::history::History;
use crate::fork;
use crate::thread_state::{Clear, thread_state};
use jit_runtime::Site;
use jit_runtime::fork::Held;
use parking_lot::RwLock;
use rustc_hash::FxBuildHasher;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The stacks of this thread's open traces, each innermost last.
pub(crate) struct Traced {
    /// Labels of the functions and statements that are open.
    labels: RefCell<Vec<&'static str>>,
    /// Functions, with the number of regions open around each.
    pub(crate) functions: RefCell<Vec<(&'static Labelled, usize)>>,
    /// Names of calls whose targets are traced.
    pub(crate) calls: RefCell<Vec<&'static str>>,
}

impl Clear for Traced {
    fn clear(&self) {
        self.labels.clear();
        self.functions.clear();
        self.calls.clear();
    }
}

thread_state! {
    pub(crate) static TRACED: Traced =
        Traced { labels: RefCell::new(Vec::new()), functions: RefCell::new(Vec::new()),
            calls: RefCell::new(Vec::new()) };
}

/// Registered labels, by file.
static LABELLED: RwLock<hashbrown::HashMap<&'static str, Vec<&'static Labelled>, FxBuildHasher>> =
    RwLock::new(hashbrown::HashMap::with_hasher(FxBuildHasher));

/// The number of registered labels. Programs without labels launch their kernels without a look-up in the table.
static LABELS: AtomicU32 = AtomicU32::new(0);

/// The places whose pieces a thread remembers, by the low bits of their numbers.
const REMEMBERED: usize = 64;

/// A place, the number of labels when it was looked up, and its piece.
type Remembered = (usize, u32, Option<&'static Labelled>);

thread_local! {
    /// Recent look-ups: each launch makes several, usually those of the launch before.
    static RECENT: [Cell<Remembered>; REMEMBERED] = const { [const { Cell::new((0, 0, None)) }; REMEMBERED] };
}

/// A piece of a program with a label: a function or a statement.
#[derive(Debug)]
pub struct Labelled {
    label: &'static str,
    file: &'static str,
    first_line: u32,
    last_line: u32,
    is_registered: AtomicBool,
    pub(crate) history: History,
}

impl Labelled {
    /// Creates a label for some lines of a file.
    #[must_use]
    pub const fn new(label: &'static str, file: &'static str, first_line: u32, last_line: u32) -> Self {
        Labelled { label, file, first_line, last_line, is_registered: AtomicBool::new(false), history: History::new() }
    }

    /// Returns its name.
    pub(crate) fn label(&self) -> &'static str {
        self.label
    }

    #[inline]
    fn register(&'static self) {
        if !self.is_registered.load(Ordering::Relaxed) {
            self.register_first();
        }
    }

    #[cold]
    fn register_first(&'static self) {
        if !self.is_registered.swap(true, Ordering::Relaxed) {
            LABELLED.write().entry(self.file).or_default().push(self);
            LABELS.fetch_add(1, Ordering::Release);
        }
    }

    fn lines(&self) -> u32 {
        self.last_line.saturating_sub(self.first_line)
    }

    fn covers(&self, line: u32) -> bool {
        (self.first_line..=self.last_line).contains(&line)
    }
}

/// Returns the smallest traced piece of the program that covers a place.
pub(crate) fn piece_at(site: Site) -> Option<&'static Labelled> {
    let count = LABELS.load(Ordering::Acquire);
    if count == 0 {
        return None;
    }
    let slot = site.id() / align_of::<usize>() % REMEMBERED;
    let remembered = RECENT.with(|recent| recent[slot].get());
    if (remembered.0, remembered.1) == (site.id(), count) {
        return remembered.2;
    }
    let found = search(site);
    RECENT.with(|recent| recent[slot].set((site.id(), count, found)));
    found
}

fn search(site: Site) -> Option<&'static Labelled> {
    let labelled = LABELLED.read();
    let here = labelled.get(site.file())?.iter().filter(|piece| piece.covers(site.line()));
    here.min_by_key(|piece| piece.lines()).copied()
}

/// Returns the label of the smallest traced piece of the program that covers a place.
#[must_use]
pub fn label_at(site: Site) -> Option<&'static str> {
    piece_at(site).map(|piece| piece.label)
}

/// Returns the pieces with a label that begin at a line: those of a function, once it was traced.
pub(crate) fn pieces_of(label: &str, file: &str, line: u32) -> Vec<&'static Labelled> {
    let labelled = LABELLED.read();
    let all = labelled.get(file).into_iter().flatten();
    all.filter(|piece| piece.label == label && piece.first_line == line).copied().collect()
}

/// Returns the label of the innermost traced function or labelled statement of this thread.
#[must_use]
pub fn current_label() -> Option<&'static str> {
    TRACED.with(|traced| traced.labels.borrow().last().copied())
}

/// One label on the thread's stack, popped when dropped.
#[derive(Debug)]
pub struct LabelScope(());

/// Labels everything traced until the result is dropped.
#[must_use]
pub fn label(piece: &'static Labelled) -> LabelScope {
    piece.register();
    TRACED.with(|traced| traced.labels.borrow_mut().push(piece.label));
    LabelScope(())
}

/// Labels what is traced until the result is dropped, as far as its lines have no label.
#[must_use]
pub(crate) fn named(name: &'static str) -> LabelScope {
    TRACED.with(|traced| traced.labels.borrow_mut().push(name));
    LabelScope(())
}

impl Drop for LabelScope {
    fn drop(&mut self) {
        TRACED.with(|traced| traced.labels.borrow_mut().pop());
    }
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    fork::hold_rw_lock(held, &LABELLED);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_nest() {
        static OUTER: Labelled = Labelled::new("outer", "labels_nest.rs", 1, 9);
        static INNER: Labelled = Labelled::new("inner", "labels_nest.rs", 3, 4);
        assert_eq!(current_label(), None);
        let outer = label(&OUTER);
        {
            let _inner = label(&INNER);
            assert_eq!(current_label(), Some("inner"));
        }
        assert_eq!(current_label(), Some("outer"));
        drop(outer);
        assert_eq!(current_label(), None);
    }

    #[test]
    fn the_smallest_piece_of_the_program_gives_the_label() {
        let site = Site::here();
        let piece = |label, first: u32, last: u32| -> &'static Labelled {
            Box::leak(Box::new(Labelled::new(label, site.file(), first, last)))
        };
        assert_eq!(label_at(site), None);
        for piece in
            [piece("file", 0, 10_000), piece("line", site.line(), site.line()), piece("before", 0, site.line() - 1)]
        {
            drop(label(piece));
        }
        assert_eq!(label_at(site), Some("line"));
    }
}
