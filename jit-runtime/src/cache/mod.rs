//! Kernels in memory: kernel IR → code that was generated before.
//!
//! The key is the kernel as the scheduler built it, with the device and the code options, compared in full after the
//! hash. A hit formats no text and runs no pass. On a miss one thread compiles, outside of all locks, and others that
//! want the same kernel wait for it; errors are not kept. The cache holds a bounded number of kernels and
//! forgets those first that were not used for the longest time.
//!
//! | part | file |
//! |---|---|
//! | a cached kernel and what is known about it | `entry` |
//! | how long its launches take | `cost` |
//! | the hash of a kernel | `hash` |
//! | the table | `store` |
//! | literals that keep changing | `literals` |
//! | kernel → code | `compile` |
//! | better code for kernels that run much | `hot` |
//! | forms for people to read | `forms` |

mod compile;
pub(crate) mod cost;
pub(crate) mod determinism;
mod entry;
mod forms;
mod hash;
mod hot;
mod literals;
mod store;

use std::panic::Location;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use smallvec::SmallVec;

use crate::backend::CodeOptions;
use crate::config::{self, Device};
use crate::dump::Form;
use crate::fork::Held;
use crate::ir::{self, Kernel, Value};
use crate::log::{self, Level};
use crate::{Error, stats};

pub(crate) use entry::Entry;
use literals::{Literal, Promoted, Skeletons};
use store::Store;

static STORE: LazyLock<Store> = LazyLock::new(|| Store::new(config::get().cache_mem_max));

static SKELETONS: LazyLock<Skeletons> = LazyLock::new(|| Skeletons::new(config::get().cache_mem_max));

/// Takes the locks of the cache, for a fork.
pub(crate) fn hold(held: &mut Vec<Held>) {
    STORE.hold(held);
    LazyLock::force(&SKELETONS).hold(held);
    hot::hold(held);
}

/// Forgets what threads were at that do not exist in a forked process.
pub(crate) fn reset() {
    STORE.forget_compiling();
    hot::reset();
}

/// The lines of the user's program that some values of a kernel come from.
pub(crate) type Sites<'a> = &'a [(Value, &'static Location<'static>)];

/// Who wants a kernel.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// What the kernel is called.
    pub(crate) label: &'static str,
    /// Where the user's program caused the launch.
    pub(crate) site: Option<&'static Location<'static>>,
    /// Where its literals come from, as far as that is known.
    pub(crate) literals: Sites<'a>,
}

/// The code of a kernel.
pub(crate) struct Found {
    pub(crate) entry: Arc<Entry>,
    /// Whether it was there already.
    pub(crate) is_hit: bool,
    /// What the code takes after the kernel's own arguments: literals that became parameters.
    pub(crate) scalars: SmallVec<[u64; 4]>,
}

/// The code of a kernel, compiled if it is not there.
pub(crate) fn find_or_compile(
    device: Device,
    mut kernel: Kernel,
    options: CodeOptions,
    origin: Origin<'_>,
) -> Result<Found, Error> {
    let hash = hash::kernel(&kernel, device, options);
    let compile = |hash, kernel| compile::compile(hash, device, kernel, options, origin.label, origin.site);
    if !config::get().is_cache_on {
        return Ok(Found { entry: Arc::new(compile(hash, kernel)?), is_hit: false, scalars: SmallVec::new() });
    }
    if let Some(entry) = STORE.look_up(hash, device, options, &kernel) {
        return Ok(Found { entry, is_hit: true, scalars: SmallVec::new() });
    }
    let Promoted { scalars, new } = SKELETONS.promote(&mut kernel, device, options);
    report(&new, origin);
    let hash = if scalars.is_empty() { hash } else { hash::kernel(&kernel, device, options) };
    let (entry, is_hit) = STORE.find_or_insert(hash, device, options, kernel, |kernel| compile(hash, kernel))?;
    Ok(Found { entry, is_hit, scalars })
}

/// Says which literals became parameters. Sizes of which code had been made are no literals of the program.
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

/// How the cache is set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CacheConfig {
    /// Whether kernels are kept at all (`JIT_CACHE`).
    pub is_on: bool,
    /// How many kernels are kept in memory at most (`JIT_CACHE_MEM_MAX`).
    pub max_entries: usize,
}

/// What the cache holds and has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CacheStats {
    /// Kernels that are held.
    pub entries: usize,
    /// Bytes of their code.
    pub code_bytes: usize,
    /// Launches whose kernel was there.
    pub hits: u64,
    /// Launches whose kernel was not there.
    pub misses: u64,
    /// Kernels that were forgotten to keep the bound.
    pub evictions: u64,
}

/// A kernel that the cache holds.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct CacheEntry {
    /// The label of the launch that caused the compilation.
    pub label: &'static str,
    /// Hash of kernel, device and options; the same in every run of this build.
    pub hash: u64,
    /// Where it runs.
    pub device: Device,
    /// Operations in the kernel as it was built.
    pub ops: usize,
    /// Bytes of generated code; 0 for kernels that are interpreted.
    pub code_bytes: usize,
    /// Whether it has run so much that it was compiled once more, with more effort.
    pub is_improved: bool,
    /// Time that compilation took.
    pub compile_time: Duration,
    /// Launches so far.
    pub launches: u64,
    /// Average time that a lane takes one core, where measured.
    pub ns_per_lane: Option<f32>,
}

/// How the cache is set up.
#[must_use]
pub fn config() -> CacheConfig {
    CacheConfig { is_on: config::get().is_cache_on, max_entries: config::get().cache_mem_max }
}

/// What the cache holds and has done.
#[must_use]
pub fn stats() -> CacheStats {
    STORE.stats()
}

/// Forgets all kernels. Launches that run keep their code until they are done.
pub fn clear() {
    STORE.clear();
    SKELETONS.clear();
}

/// A form of a kernel that the cache holds, for people to read. It is made anew for each call.
///
/// None if the cache holds no kernel with this hash, or its device has no such form.
#[must_use]
pub fn dump(hash: u64, form: Form) -> Option<String> {
    let entry = STORE.entries().into_iter().find(|entry| entry.facts.hash == hash)?;
    forms::render(&entry, &compile::optimised(&entry.kernel), form)
}

/// The kernels that the cache holds, the most launched ones first.
#[must_use]
pub fn entries() -> Vec<CacheEntry> {
    let mut entries: Vec<CacheEntry> = STORE.entries().iter().map(|entry| entry.describe()).collect();
    entries.sort_by_key(|entry| (std::cmp::Reverse(entry.launches), entry.hash));
    entries
}
