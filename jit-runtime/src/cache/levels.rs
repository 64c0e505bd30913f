//! The levels of the cache: what each contains, its bounds, its counters, and how to clear it.
//!
//! Behind the hash of each level stands a full comparison. Hashes are short, and two different keys may have the same.

use std::sync::OnceLock;

use super::{CacheStats, OPTIMISED, SKELETONS, STORE, TRACES};
use crate::config;
#[cfg(loads_code)]
use crate::config::CacheMode;
use crate::stats::Stats;

/// A level of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CacheLevel {
    /// Recordings of `#[freeze]` functions, by the layout of their arguments.
    Recordings,
    /// Kernels of a trace, by its operations: a program that is traced again.
    Traces,
    /// Code in memory, of this process.
    Memory,
    /// Kernels after the passes, which are compiled again with other options or more effort.
    Optimised,
    /// Code on disk, of all processes of the user.
    Disk,
}

impl CacheLevel {
    /// Every level, in the order in which a call asks them.
    pub const ALL: [CacheLevel; 5] =
        [CacheLevel::Recordings, CacheLevel::Traces, CacheLevel::Memory, CacheLevel::Optimised, CacheLevel::Disk];
}

/// Contents, bounds and counters of a level. The counters are those of this process; those of recordings are reset when
/// their functions are cleared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LevelStats {
    /// Recordings, traces, kernels in memory, or files on disk.
    pub entries: usize,
    /// Bytes of their code, of the keys of traces, or of the files; operations of optimised kernels; 0 for recordings.
    pub bytes: u64,
    /// The maximum number of entries. That of recordings is `usize::MAX`: each function has a limit of its own.
    pub max_entries: usize,
    /// The maximum number of what `bytes` counts, if it is bounded.
    pub max_bytes: Option<u64>,
    /// How often something was found.
    pub hits: u64,
    /// How often something was not found.
    pub misses: u64,
    /// Entries that were removed to keep the bounds.
    pub evictions: u64,
}

/// The level above this crate.
#[derive(Clone, Copy, Debug)]
struct Recordings {
    stats: fn() -> LevelStats,
    clear: fn(),
}

static RECORDINGS: OnceLock<Recordings> = OnceLock::new();

/// Registers the level of recordings, which the language keeps.
#[doc(hidden)]
pub fn watch_recordings(stats: fn() -> LevelStats, clear: fn()) {
    let _ = RECORDINGS.set(Recordings { stats, clear });
}

/// Returns the contents, bounds and counters of a level; all zero for one that is off.
#[must_use]
pub fn level(level: CacheLevel) -> LevelStats {
    match level {
        CacheLevel::Recordings => RECORDINGS.get().map(|level| (level.stats)()).unwrap_or_default(),
        CacheLevel::Traces => TRACES.stats(),
        CacheLevel::Memory => {
            let (CacheStats { entries, code_bytes, hits, misses, evictions }, bytes) = (super::stats(), None);
            let max_entries = config::get().cache_mem_max;
            LevelStats { entries, bytes: code_bytes as u64, max_entries, max_bytes: bytes, hits, misses, evictions }
        }
        CacheLevel::Optimised => OPTIMISED.stats(),
        #[cfg(loads_code)]
        CacheLevel::Disk => super::disk::get().map(super::disk::Disk::stats).unwrap_or_default(),
        #[cfg(not(loads_code))]
        CacheLevel::Disk => LevelStats::default(),
    }
}

/// Removes everything from a level. Launches, executors and replays that are in progress keep what they use. Files of a
/// shared folder remain, and what other processes have in memory.
///
/// Clearing [`CacheLevel::Memory`] also clears [`CacheLevel::Traces`], which refers to it, and forgets which literals
/// keep changing.
pub fn clear_level(level: CacheLevel) {
    match level {
        CacheLevel::Recordings => RECORDINGS.get().into_iter().for_each(|level| (level.clear)()),
        CacheLevel::Traces => TRACES.clear(),
        CacheLevel::Memory => {
            // Executors may keep code alive that traces would find.
            TRACES.clear();
            STORE.clear();
            SKELETONS.clear();
        }
        CacheLevel::Optimised => OPTIMISED.clear(),
        #[cfg(loads_code)]
        CacheLevel::Disk if config::get().cache == CacheMode::Disk => {
            super::disk::get().into_iter().for_each(super::disk::Disk::clear);
        }
        CacheLevel::Disk => {}
    }
}

/// The bounds of a level: of its entries, and of their bytes if these are bounded. Those of the disk are the ones of
/// this environment, whether or not it is switched on.
#[must_use]
pub fn bounds(level: CacheLevel) -> (usize, Option<u64>) {
    let config = config::get();
    match level {
        CacheLevel::Recordings => (usize::MAX, None),
        CacheLevel::Traces => TRACES.bounds(),
        CacheLevel::Memory => (config.cache_mem_max, None),
        CacheLevel::Optimised => OPTIMISED.bounds(),
        CacheLevel::Disk => (config.cache_capacity, Some(config.cache_max_bytes as u64)),
    }
}

impl Stats {
    /// The contents, bounds and counters of a level of the cache, as they are now; see [`level`].
    #[must_use]
    pub fn cache(&self, of: CacheLevel) -> LevelStats {
        level(of)
    }
}
