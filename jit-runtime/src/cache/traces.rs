//! Kernels by the trace that they were built from: a program that is traced again finds its code without building
//! kernels.
//!
//! The language describes a trace in words, which hold everything that decides which kernels are built from it, and
//! with which arguments; only the bits of its literals are listed separately. A trace is known if its words are equal
//! to those of an earlier one, compared in full, and also its literals, except those that became parameters of all
//! kernels that use them (see [`super::literals`]). What is known are the kernels, and where their arguments come from.
//!
//! Entries do not keep code alive: they end with that of the memory level. Sizes are not part of a trace, so
//! [`KnownKernel::prepare`] also compares the code options that follow from them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::entry::Entry;
use super::{LevelStats, hash};
use crate::config;
use crate::fork::Held;
use crate::sync::{RwLock, persist};

/// The bytes of all words.
const MAX_BYTES: usize = 32 << 20;
/// The number of entries for one trace, which differ in literals and code options.
const MAX_VARIANTS: usize = 8;
/// Each time a bound is reached, this fraction of the entries is evicted.
const EVICTED_PART: usize = 8;

/// A trace, as the language describes it.
#[derive(Clone, Copy, Debug)]
pub struct TraceKey<'a> {
    /// Everything that decides which kernels are built, except the bits of literals.
    pub words: &'a [u64],
    /// The bits of the literals, in the order of the trace.
    pub literals: &'a [u64],
}

/// Where an argument of a kernel comes from. Numbers are those of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceArgument {
    /// The elements of a node: in memory, or temporary.
    Elements(u32),
    /// What one of the launches writes, that one included.
    Written {
        /// Its position among the launches.
        launch: u32,
        /// Among what it writes.
        position: u32,
    },
    /// The bits of an opaque value.
    Scalar(u32),
    /// The bits of a literal that became a parameter, by its position among the literals.
    Literal(u32),
    /// The same in each launch.
    Bits(u64),
}

/// A kernel of a known trace.
#[derive(Debug)]
pub struct KnownKernel {
    pub(crate) entry: Weak<Entry>,
    /// Where its arguments come from.
    pub arguments: Box<[TraceArgument]>,
    /// The literals that are constants in its code, by their positions among those of the trace.
    pub(crate) constants: Box<[u32]>,
    /// A node that is as wide as its launches.
    pub lanes: u32,
    /// A node whose position is the length of the blocks that it reduces, if it reduces blocks.
    pub block: Option<u32>,
    /// The nodes that it writes.
    pub written: Box<[u32]>,
    /// The nodes whose elements it writes for later kernels of the trace alone.
    pub temporary: Box<[u32]>,
    /// The temporary ones that no kernel after it reads.
    pub released: Box<[u32]>,
    /// The nodes whose lines name it, in this order.
    pub named_by: Box<[u32]>,
}

/// A trace whose kernels are known.
#[derive(Debug)]
pub struct KnownTrace {
    words: Box<[u64]>,
    literals: Box<[u64]>,
    /// For each literal, whether it must be the same: unless it is a parameter of all kernels that use it.
    is_fixed: Box<[bool]>,
    /// In the order of their launches.
    pub kernels: Box<[KnownKernel]>,
    last_used: AtomicU64,
}

impl KnownTrace {
    /// Describes a trace whose kernels were built.
    #[must_use]
    pub fn new(key: TraceKey<'_>, kernels: Box<[KnownKernel]>) -> KnownTrace {
        let mut is_fixed: Box<[bool]> = vec![true; key.literals.len()].into();
        let promoted = kernels.iter().flat_map(|kernel| &kernel.arguments).filter_map(|argument| match argument {
            TraceArgument::Literal(position) => Some(*position),
            _ => None,
        });
        promoted.for_each(|position| is_fixed[position as usize] = false);
        kernels.iter().flat_map(|kernel| &kernel.constants).for_each(|&position| is_fixed[position as usize] = true);
        let (words, literals, last_used) = (key.words.into(), key.literals.into(), AtomicU64::new(0));
        KnownTrace { words, literals, is_fixed, kernels, last_used }
    }

    /// Returns whether it is known of a trace.
    #[must_use]
    pub fn is_for(&self, key: TraceKey<'_>) -> bool {
        *self.words == *key.words && self.is_for_literals(key.literals)
    }

    /// Returns whether it is known of a trace with equal words and these literals.
    #[inline]
    #[must_use]
    pub fn is_for_literals(&self, literals: &[u64]) -> bool {
        let mut each = self.literals.iter().zip(literals).zip(&self.is_fixed);
        each.all(|((known, bits), is_fixed)| !is_fixed || known == bits)
    }

    /// Whether a launch that is described by the other one would find this one's code, or none at all.
    fn is_replaced_by(&self, other: &KnownTrace) -> bool {
        let options = |kernel: &KnownKernel| kernel.entry.upgrade().map(|entry| entry.options);
        let is_same = || {
            let each = || self.kernels.iter().zip(&other.kernels);
            each().all(|(kernel, other)| options(kernel) == options(other))
        };
        let is_gone = || self.kernels.iter().any(|kernel| kernel.entry.strong_count() == 0);
        is_gone() || (self.is_fixed == other.is_fixed && self.is_for(other.key()) && is_same())
    }

    fn key(&self) -> TraceKey<'_> {
        TraceKey { words: &self.words, literals: &self.literals }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.literals)
    }
}

/// All entries with one hash.
type Bucket = SmallVec<[Arc<KnownTrace>; 1]>;

/// The table of known traces.
pub(super) struct Traces {
    table: RwLock<Table>,
    /// Incremented with each hit: the age of entries.
    clock: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicUsize,
}

#[derive(Default)]
struct Table {
    buckets: FxHashMap<u64, Bucket>,
    entries: usize,
    bytes: usize,
}

impl Traces {
    pub(super) const fn new() -> Traces {
        let buckets = FxHashMap::with_hasher(rustc_hash::FxBuildHasher);
        Traces {
            table: RwLock::new(Table { buckets, entries: 0, bytes: 0 }),
            clock: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicUsize::new(0),
        }
    }

    /// Returns an entry of a trace, after as many others; they differ in the code options.
    pub(super) fn find(&self, key: TraceKey<'_>, skipped: usize) -> Option<Arc<KnownTrace>> {
        let table = self.table.read();
        let bucket = table.buckets.get(&hash::words(key.words))?;
        bucket.iter().filter(|known| known.is_for(key)).nth(skipped).cloned()
    }

    /// Counts a look-up.
    pub(super) fn count(&self, found: Option<&KnownTrace>) {
        match found {
            Some(known) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                known.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            }
            None => _ = self.misses.fetch_add(1, Ordering::Relaxed),
        }
    }

    pub(super) fn insert(&self, known: KnownTrace, max_entries: usize) {
        let bytes = known.bytes();
        if bytes > MAX_BYTES / EVICTED_PART {
            return;
        }
        known.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let mut table = self.table.write();
        table.make_room_for(&known);
        if table.entries >= max_entries.max(1) || table.bytes + bytes > MAX_BYTES {
            self.evictions.fetch_add(table.evict(), Ordering::Relaxed);
        }
        (table.entries, table.bytes) = (table.entries + 1, table.bytes + bytes);
        table.buckets.entry(hash::words(&known.words)).or_default().push(Arc::new(known));
    }

    pub(super) fn clear(&self) {
        *self.table.write() = Table::default();
    }

    pub(super) fn stats(&self) -> LevelStats {
        let table = self.table.read();
        let (max_entries, max_bytes) = self.bounds();
        LevelStats {
            entries: table.entries,
            bytes: table.bytes as u64,
            max_entries,
            max_bytes,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed) as u64,
        }
    }

    pub(super) fn bounds(&self) -> (usize, Option<u64>) {
        (config::get().cache_mem_max, Some(MAX_BYTES as u64))
    }

    /// Takes the lock of the table, for a fork.
    pub(super) fn hold(&'static self, held: &mut Vec<Held>) {
        held.extend(persist(|| self.table.try_write()).map(|guard| Box::new(guard) as Held));
    }
}

impl Table {
    /// Removes the entries that a new one replaces, and the oldest ones of the same trace beyond their bound.
    fn make_room_for(&mut self, new: &KnownTrace) {
        let Some(bucket) = self.buckets.get_mut(&hash::words(&new.words)) else { return };
        let (before, mut removed) = (bucket.len(), 0);
        bucket.retain(|known| {
            let is_kept = !known.is_replaced_by(new);
            removed += if is_kept { 0 } else { known.bytes() };
            is_kept
        });
        let is_same = |known: &&Arc<KnownTrace>| known.words == new.words;
        while bucket.iter().filter(is_same).count() >= MAX_VARIANTS {
            let oldest = bucket.iter().filter(is_same).map(|known| known.last_used.load(Ordering::Relaxed)).min();
            let is_oldest = |known: &Arc<KnownTrace>| {
                known.words == new.words && Some(known.last_used.load(Ordering::Relaxed)) == oldest
            };
            let Some(position) = bucket.iter().position(is_oldest) else { break };
            removed += bucket.remove(position).bytes();
        }
        self.entries -= before - bucket.len();
        self.bytes -= removed;
    }

    /// Evicts the least recently used entries; returns how many.
    fn evict(&mut self) -> usize {
        let age = |known: &KnownTrace| known.last_used.load(Ordering::Relaxed);
        let mut ages: Vec<u64> = self.buckets.values().flatten().map(|known| age(known)).collect();
        let count = (ages.len() / EVICTED_PART).max(1);
        if ages.is_empty() {
            return 0;
        }
        let (_, &mut oldest_kept, _) = ages.select_nth_unstable(count - 1);
        let (mut evicted, mut bytes) = (0, 0);
        self.buckets.retain(|_, bucket| {
            bucket.retain(|known| {
                let is_kept = age(known) > oldest_kept;
                (evicted, bytes) = if is_kept { (evicted, bytes) } else { (evicted + 1, bytes + known.bytes()) };
                is_kept
            });
            !bucket.is_empty()
        });
        (self.entries, self.bytes) = (self.entries - evicted, self.bytes - bytes);
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile::compile;
    use super::*;
    use crate::backend::CodeOptions;
    use crate::config::Device;
    use crate::ir::Builder;

    /// An entry without kernels: it never loses any code.
    fn trace(words: &[u64], literals: &[u64], is_fixed: &[bool]) -> KnownTrace {
        KnownTrace { is_fixed: is_fixed.into(), ..KnownTrace::new(TraceKey { words, literals }, Box::new([])) }
    }

    fn is_known(traces: &Traces, words: &[u64], literals: &[u64]) -> bool {
        traces.find(TraceKey { words, literals }, 0).is_some()
    }

    #[test]
    fn words_and_fixed_literals_are_compared() {
        let traces = Traces::new();
        traces.insert(trace(&[1, 2, 3], &[7, 8], &[true, false]), 100);
        assert!(is_known(&traces, &[1, 2, 3], &[7, 8]) && is_known(&traces, &[1, 2, 3], &[7, 9]));
        assert!(!is_known(&traces, &[1, 2, 3], &[6, 8]));
        for words in [&[1, 2][..], &[1, 2, 4], &[2, 2, 3], &[1, 2, 3, 3], &[]] {
            assert!(!is_known(&traces, words, &[7, 8]), "{words:?}");
        }
        // Whatever the hashes are.
        let known = trace(&[1, 2, 3], &[7], &[true]);
        assert!(known.is_for(TraceKey { words: &[1, 2, 3], literals: &[7] }));
        assert!(!known.is_for(TraceKey { words: &[1, 2, 4], literals: &[7] }));
    }

    #[test]
    fn a_literal_that_became_a_parameter_replaces_no_entry_in_which_it_is_a_constant() {
        let traces = Traces::new();
        traces.insert(trace(&[1], &[7], &[true]), 100);
        traces.insert(trace(&[1], &[7], &[false]), 100);
        assert_eq!(traces.stats().entries, 2);
        traces.insert(trace(&[1], &[8], &[true]), 100);
        assert_eq!(traces.stats().entries, 3);
    }

    #[test]
    fn entries_of_a_trace_that_differ_in_code_options_are_all_found() {
        let code = |streaming_stores| {
            let options = CodeOptions { streaming_stores, ..CodeOptions::default() };
            let kernel = Builder::new().finish();
            Arc::new(compile(0, Device::Interpreter, kernel, options, "code".into(), None).unwrap())
        };
        let (traces, codes) = (Traces::new(), [false, true].map(code));
        let key = TraceKey { words: &[1], literals: &[] };
        let insert = |entry: &Arc<Entry>| {
            let (entry, none) = (Arc::downgrade(entry), || Box::new([]));
            let (constants, written, temporary, released, named_by) = (none(), none(), none(), none(), none());
            let (arguments, lanes, block) = (Box::new([]) as _, 0, None);
            let kernel =
                KnownKernel { entry, arguments, constants, lanes, block, written, temporary, released, named_by };
            traces.insert(KnownTrace::new(key, Box::new([kernel])), 100);
        };
        codes.iter().chain(&codes).for_each(insert);
        let found = |skipped: usize| traces.find(key, skipped)?.kernels[0].entry.upgrade();
        let is_known = |code: &Arc<Entry>| (0..2).filter_map(found).any(|found| Arc::ptr_eq(&found, code));
        assert!(codes.iter().all(is_known) && found(2).is_none());
        drop(codes);
        traces.insert(KnownTrace::new(key, Box::new([])), 100);
        assert_eq!(traces.stats().entries, 1, "an entry replaces those whose code is gone");
    }

    #[test]
    fn an_entry_replaces_an_equal_one_and_the_oldest_of_many_variants() {
        let traces = Traces::new();
        for literal in 0..20 {
            traces.insert(trace(&[1], &[literal], &[true]), 100);
            traces.insert(trace(&[1], &[literal], &[true]), 100);
        }
        let stats = traces.stats();
        assert_eq!((stats.entries, stats.bytes), (MAX_VARIANTS, 16 * MAX_VARIANTS as u64));
        assert!(is_known(&traces, &[1], &[19]) && is_known(&traces, &[1], &[12]) && !is_known(&traces, &[1], &[11]));
    }

    #[test]
    fn the_least_recently_used_entries_are_evicted() {
        let traces = Traces::new();
        (0..16).for_each(|word| traces.insert(trace(&[word], &[], &[]), 16));
        let first = traces.find(TraceKey { words: &[0], literals: &[] }, 0);
        traces.count(first.as_deref());
        traces.insert(trace(&[99], &[], &[]), 16);
        let known: Vec<u64> = (0..100).filter(|&word| is_known(&traces, &[word], &[])).collect();
        assert_eq!(known, [0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 99]);
        let stats = traces.stats();
        assert_eq!((stats.entries, stats.bytes, stats.evictions, stats.hits), (15, 15 * 8, 2, 1));
        traces.insert(trace(&vec![0; MAX_BYTES / 8], &[], &[]), 16);
        assert_eq!(traces.stats().entries, 15, "a trace that would fill the table is not known");
        assert!(!is_known(&traces, &vec![0; MAX_BYTES / 8], &[]) && is_known(&traces, &[3], &[]));
        traces.clear();
        assert_eq!((traces.stats().entries, traces.stats().bytes), (0, 0));
    }
}
