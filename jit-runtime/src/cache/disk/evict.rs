//! Keeps the folder within its bounds.
//!
//! Who writes counts the files, which costs less than the compilation before it. If there are too many, those are
//! removed whose loss costs least: a file costs the time to compile it again, times the chance that it is needed, which
//! falls with the time since its last use, for each byte that it takes. An eighth of the bound is freed at once, so
//! each file is looked at rarely. What a process that was killed left behind is removed after an hour.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::folder::{Folder, SECRET, UNPUBLISHED};
use super::format::{self, HEADER_BYTES};
use super::lease::LOCKS;

/// Each time a bound is exceeded, this part of it is freed.
const FREED_PART: u64 = 8;
/// After this many files the bytes are added up again, since other processes write, too.
const FILES_BETWEEN_SUMS: u64 = 64;
/// Unpublished files of this age belong to no living process.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Differences of age below this do not matter.
const RECENT: Duration = Duration::from_secs(60);
/// The least number of bytes that a file takes.
const LEAST_BYTES: u64 = 4096;

pub(super) struct Bounds {
    pub(super) entries: u64,
    pub(super) bytes: u64,
    /// The bytes when they were last added up, and those written since.
    known_bytes: AtomicU64,
    files_since: AtomicU64,
    pub(super) evictions: AtomicU64,
}

struct Candidate {
    path: PathBuf,
    bytes: u64,
    /// What its loss costs for each byte.
    value: f64,
}

impl Bounds {
    pub(super) fn new(entries: u64, bytes: u64) -> Bounds {
        let (known_bytes, files_since) = (AtomicU64::new(0), AtomicU64::new(FILES_BETWEEN_SUMS));
        Bounds { entries, bytes, known_bytes, files_since, evictions: AtomicU64::new(0) }
    }

    /// Restores the bounds after a file of this size was written, which is not evicted itself.
    pub(super) fn keep(&self, folder: &Folder<'_>, name: &str, written: u64) {
        let bytes = self.known_bytes.fetch_add(written, Ordering::Relaxed) + written;
        let is_due = self.files_since.fetch_add(1, Ordering::Relaxed) >= FILES_BETWEEN_SUMS;
        let Ok(paths) = folder.files.list(&folder.path) else { return };
        if is_due || bytes > self.bytes || paths.len() as u64 > self.entries {
            self.sweep(folder, name, paths);
        }
    }

    fn sweep(&self, folder: &Folder<'_>, written: &str, paths: Vec<PathBuf>) {
        let now = folder.files.now();
        let mut candidates: Vec<Candidate> =
            paths.into_iter().filter_map(|path| candidate(folder, path, now)).collect();
        let mut bytes: u64 = candidates.iter().map(|candidate| candidate.bytes).sum();
        let mut entries = candidates.len() as u64;
        if entries > self.entries || bytes > self.bytes {
            candidates.sort_by(|a, b| a.value.total_cmp(&b.value).then_with(|| a.path.cmp(&b.path)));
            let part = |bound: u64| (bound - bound / FREED_PART).max(1);
            for candidate in candidates {
                if entries <= part(self.entries) && bytes <= part(self.bytes) {
                    break;
                }
                if candidate.path.ends_with(written) {
                    continue;
                }
                if folder.files.remove(&candidate.path).is_ok() {
                    self.evictions.fetch_add(1, Ordering::Relaxed);
                }
                (entries, bytes) = (entries - 1, bytes - candidate.bytes);
            }
        }
        self.known_bytes.store(bytes, Ordering::Relaxed);
        self.files_since.store(0, Ordering::Relaxed);
    }
}

/// The time between two moments, whichever is earlier: clocks may run backwards.
fn distance(a: SystemTime, b: SystemTime) -> Duration {
    a.duration_since(b).unwrap_or_else(|error| error.duration())
}

/// A file that may be evicted. What is abandoned is removed at once.
fn candidate(folder: &Folder<'_>, path: PathBuf, now: SystemTime) -> Option<Candidate> {
    let name = path.file_name()?.to_str()?;
    let facts = folder.files.facts(&path).ok()?;
    let age = distance(now, facts.modified);
    if name.starts_with(UNPUBLISHED) {
        if age > ABANDONED {
            let _ = folder.files.remove(&path);
        }
        return None;
    }
    if name == SECRET || name == LOCKS || facts.is_folder {
        return None;
    }
    // A file that can't be read is worth nothing.
    let header = folder.files.read(&path, HEADER_BYTES as u64).map(|(header, _)| header).unwrap_or_default();
    let cost_ns = format::stated_cost(&header).unwrap_or(0);
    let value = cost_ns as f64 / (age.max(RECENT).as_secs_f64() * facts.size.max(LEAST_BYTES) as f64);
    Some(Candidate { path, bytes: facts.size, value })
}
