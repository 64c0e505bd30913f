//! Kernels in memory and on disk: finds the code of a kernel that was compiled before.
//!
//! The key is the kernel as the scheduler built it, with the device and the code options; keys with the same hash are
//! compared in full. A hit formats no text and runs no pass. On a miss one thread compiles, outside all locks, and
//! others that need the same kernel wait for it; errors are not cached. The cache contains a bounded number of kernels
//! and evicts the least recently used ones first.
//!
//! | part | file |
//! |---|---|
//! | a cached kernel and facts about it | `entry` |
//! | how long its launches take | `cost` |
//! | kernels of a trace | `traces` |
//! | the hash of a kernel | `hash` |
//! | the table | `store` |
//! | literals that change often | `literals` |
//! | kernels after the passes | `optimised` |
//! | contents, bounds and counters of each level | `levels` |
//! | kernel → code | `compile` |
//! | kernels on disk | `disk` |
//! | kernels of library calls of GPUs on disk | `routines` |
//! | better code for frequently run kernels | `hot` |
//! | code for values that frequently run kernels have | `specialised` |
//! | what is on disk, for people | `stored` |
//! | readable forms | `forms` |
//! | names of code for profilers of the system | `perf_map` |
//! | launches that read columns, or only move elements | `transposed`, `permuted`, by `digits` |
//! | how executors use it | `policy` |
//! | code that travels with recordings in files | `portable`; for which processors: `code_maker` |

mod code_maker;
mod compile;
pub(crate) mod cost;
pub(crate) mod determinism;
mod digits;
#[cfg(loads_code)]
mod disk;
mod entry;
mod forms;
mod hash;
mod hot;
mod levels;
mod literals;
mod optimised;
mod perf_map;
pub(crate) mod permuted;
mod policy;
mod portable;
#[cfg(feature = "cuda")]
pub(crate) mod routines;
mod specialised;
mod store;
mod stored;
mod traces;
pub(crate) mod transposed;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use smallvec::SmallVec;

use crate::backend::CodeOptions;
use crate::config::{self, CacheMode, Device};
use crate::dump::Form;
use crate::fork::Held;
use crate::ir::{self, Kernel, Value};
use crate::log::{self, Level};
use crate::stats::CacheOutcome;
use crate::{Error, stats};
use crate::{Label, Site};

pub use code_maker::{CodeMaker, CodeTarget};
pub(crate) use entry::Entry;
pub use hash::{are_all_zero as are_all_hashes_zero, are_zero as are_hashes_zero};
pub use levels::{CacheLevel, LevelStats, bounds, clear_level, level, watch_recordings};
use literals::{Literal, Promoted, Skeletons};
use optimised::OptimisedKernels;
pub use policy::{CachePolicy, PolicyScope};
pub(crate) use portable::{PortableCode, entries_of, entry_as_is};
use store::Store;
pub use stored::{CacheFile, CacheFileKind, CacheFolder, CacheHost, Miss, MissReason, StoredKernel};
use traces::Traces;
pub use traces::{KnownKernel, KnownTrace, TraceArgument, TraceKey};

static STORE: LazyLock<Store> = LazyLock::new(|| Store::new(config::get().cache_mem_max));

static SKELETONS: LazyLock<Skeletons> = LazyLock::new(|| Skeletons::new(config::get().cache_mem_max));

static OPTIMISED: OptimisedKernels = OptimisedKernels::new();

static TRACES: Traces = Traces::new();

/// Takes the locks of the cache, for a fork.
pub(crate) fn hold(held: &mut Vec<Held>) {
    TRACES.hold(held);
    OPTIMISED.hold(held);
    STORE.hold(held);
    LazyLock::force(&SKELETONS).hold(held);
    hot::hold(held);
}

/// Resets the state of threads that do not exist in a forked process.
pub(crate) fn reset() {
    STORE.forget_compiling();
    hot::reset();
}

/// The lines of the user's program that define some values of a kernel.
pub(crate) type Sites<'a> = &'a [(Value, Site)];

/// Who wants a kernel.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// The name of the kernel.
    pub(crate) label: Label,
    /// The line of the user's program that caused the launch.
    pub(crate) site: Option<Site>,
    /// The lines of its literals, as far as they are known.
    pub(crate) literals: Sites<'a>,
}

/// The code of a kernel.
pub(crate) struct Found {
    pub(crate) entry: Arc<Entry>,
    /// Where it came from.
    pub(crate) outcome: CacheOutcome,
    /// Additional arguments of the code after the kernel's own: literals that became parameters.
    pub(crate) scalars: Scalars,
}

/// Literals that became parameters, and their bits.
pub(crate) type Scalars = SmallVec<[(Value, u64); 4]>;

/// Returns the code of a kernel, and compiles it if it is not in the cache.
pub(crate) fn find_or_compile(
    device: Device,
    mut kernel: Kernel,
    options: CodeOptions,
    origin: Origin<'_>,
) -> Result<Found, Error> {
    let hash = hash::kernel(&kernel, device, options);
    let Origin { label, site, .. } = origin;
    let policy = CachePolicy::current();
    let found = |entry: Entry| {
        let outcome = made(&entry);
        Found { entry: Arc::new(entry), outcome, scalars: SmallVec::new() }
    };
    if config::get().cache == CacheMode::Off || policy == CachePolicy::Bypass {
        return compile::compile(hash, device, kernel, options, label, site).map(found);
    }
    let is_stored = policy != CachePolicy::ReadOnly;
    let make = |hash, kernel| compile::find_or_compile(hash, device, kernel, options, (label, site), is_stored);
    if let Some(entry) = STORE.look_up(hash, device, options, &kernel) {
        return Ok(Found { entry, outcome: CacheOutcome::Memory, scalars: SmallVec::new() });
    }
    if !is_stored {
        return make(hash, kernel).map(found);
    }
    let Promoted { scalars, new } = SKELETONS.promote(&mut kernel, device, options);
    report(&new, origin);
    let hash = if scalars.is_empty() { hash } else { hash::kernel(&kernel, device, options) };
    let (entry, is_hit) = STORE.find_or_insert(hash, device, options, kernel, |kernel| make(hash, kernel))?;
    let outcome = if is_hit { CacheOutcome::Memory } else { made(&entry) };
    Ok(Found { entry, outcome, scalars })
}

/// Whether kernels are found by their traces at present.
#[must_use]
pub fn finds_traces() -> bool {
    config::get().cache != CacheMode::Off && CachePolicy::current() == CachePolicy::ReadWrite
}

/// Returns what is known of a trace, after as many others with code for other sizes.
#[must_use]
pub fn find_trace(key: TraceKey<'_>, skipped: usize) -> Option<Arc<KnownTrace>> {
    TRACES.find(key, skipped)
}

/// Counts the look-up of a trace.
pub fn count_trace_look_up(found: Option<&KnownTrace>) {
    TRACES.count(found);
}

/// Counts that code was found by its trace, which saves a look-up in memory.
pub(crate) fn count_hit(entry: &Entry) {
    STORE.note_hit(entry);
}

/// Adds a trace whose kernels were built.
pub fn insert_trace(known: KnownTrace) {
    TRACES.insert(known, config::get().cache_mem_max);
}

/// Where the code of a new entry came from.
fn made(entry: &Entry) -> CacheOutcome {
    if entry.facts.load_time.is_some() { CacheOutcome::Disk } else { CacheOutcome::Compiled }
}

/// Reports which literals became parameters. Sizes for which code had been specialised are not literals of the program.
fn report(promoted: &[Literal], origin: Origin<'_>) {
    stats::count_promoted(promoted.len());
    for &(value, ty, bits) in promoted {
        let Some((_, site)) = origin.literals.iter().find(|(literal, _)| *literal == value) else { continue };
        log::emit(Level::Info, || {
            let (literal, file, line) = (ir::print::Literal(ty, bits), site.file(), site.line());
            let label = origin.label;
            format!("`{label}`: the literal {literal} ({ty}) of {file}:{line} keeps changing: it is a parameter now")
        });
    }
}

/// The configuration of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CacheConfig {
    /// Whether kernels are cached at all (`JIT_CACHE`).
    pub is_on: bool,
    /// The maximum number of kernels in memory (`JIT_CACHE_MEM_MAX`).
    pub max_entries: usize,
}

/// Contents and counters of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CacheStats {
    /// Kernels that are held.
    pub entries: usize,
    /// Bytes of their code.
    pub code_bytes: usize,
    /// Launches whose kernel was in the cache.
    pub hits: u64,
    /// Launches whose kernel was not in the cache.
    pub misses: u64,
    /// Kernels that were evicted to limit the size.
    pub evictions: u64,
}

/// A cached kernel.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct CacheEntry {
    /// The label of the launch that caused the compilation.
    pub label: Label,
    /// Hash of kernel, device and options; the same in every run of this build.
    pub hash: u64,
    /// Where it runs.
    pub device: Device,
    /// The number of operations in the kernel as it was built.
    pub ops: usize,
    /// Bytes of generated code; 0 for interpreted kernels.
    pub code_bytes: usize,
    /// Whether it ran so often that it was recompiled, with more effort.
    pub is_improved: bool,
    /// Time that compilation took.
    pub compile_time: Duration,
    /// Launches so far.
    pub launches: u64,
    /// Average nanoseconds of one lane on one core, if measured.
    pub ns_per_lane: Option<f32>,
}

/// Returns the configuration of the cache.
#[must_use]
pub fn config() -> CacheConfig {
    CacheConfig { is_on: config::get().cache != CacheMode::Off, max_entries: config::get().cache_mem_max }
}

/// Returns the contents and counters of the cache.
#[must_use]
pub fn stats() -> CacheStats {
    STORE.stats()
}

/// Removes all kernels from memory. Files on disk remain. Running launches retain their code until they are done.
pub fn clear() {
    clear_level(CacheLevel::Memory);
}

/// A readable form of a cached kernel. It is generated anew for each call.
///
/// None if no cached kernel has this hash, or its device does not support the form.
#[must_use]
pub fn dump(hash: u64, form: Form) -> Option<String> {
    let entry = STORE.entries().into_iter().find(|entry| entry.facts.hash == hash)?;
    text(&entry, form)
}

/// A readable form of a kernel; none if its device does not support it.
pub(crate) fn text(entry: &Entry, form: Form) -> Option<String> {
    forms::render(entry, &OPTIMISED.of(&entry.kernel), form)
}

/// The cached kernels, the most launched ones first.
#[must_use]
pub fn entries() -> Vec<CacheEntry> {
    let mut entries: Vec<CacheEntry> = STORE.entries().iter().map(|entry| entry.describe()).collect();
    entries.sort_by_key(|entry| (std::cmp::Reverse(entry.launches), entry.hash));
    entries
}
