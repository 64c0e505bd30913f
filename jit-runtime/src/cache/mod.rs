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
//! | the hash of a kernel | `hash` |
//! | the table | `store` |
//! | kernel → code | `compile` |

mod compile;
mod entry;
mod hash;
mod store;

use std::panic::Location;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::backend::CodeOptions;
use crate::device::Device;
use crate::dump::{self, Form};
use crate::ir::Kernel;
use crate::{Error, config};

pub(crate) use entry::{Entry, Facts, ParamFacts};
use store::Store;

static STORE: LazyLock<Store> = LazyLock::new(|| Store::new(config::get().cache_mem_max));

/// The code of a kernel, and whether it was there already.
pub(crate) fn find_or_compile(
    device: Device,
    kernel: Kernel,
    options: CodeOptions,
    label: &'static str,
    site: Option<&'static Location<'static>>,
) -> Result<(Arc<Entry>, bool), Error> {
    let hash = hash::kernel(&kernel, device, options);
    let compile = |kernel| compile::compile(hash, device, kernel, options, label, site);
    if !config::get().is_cache_on {
        return Ok((Arc::new(compile(kernel)?), false));
    }
    STORE.find_or_insert(hash, device, options, kernel, compile)
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
}

/// A form of a kernel that the cache holds, for people to read. It is made anew for each call.
///
/// None if the cache holds no kernel with this hash, or its device has no such form.
#[must_use]
pub fn dump(hash: u64, form: Form) -> Option<String> {
    let entry = STORE.entries().into_iter().find(|entry| entry.facts.hash == hash)?;
    dump::render(&entry, &compile::optimised(&entry.kernel), form)
}

/// The kernels that the cache holds, the most launched ones first.
#[must_use]
pub fn entries() -> Vec<CacheEntry> {
    let mut entries: Vec<CacheEntry> = STORE.entries().iter().map(|entry| entry.describe()).collect();
    entries.sort_by_key(|entry| (std::cmp::Reverse(entry.launches), entry.hash));
    entries
}
