//! The table of cached kernels.
//!
//! Entries are stored in shards by hash, each with its own lock, so that threads that launch different kernels rarely
//! contend. A kernel that is being compiled is already in the table, where other threads wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::fork::Held;
use crate::sync::{Condvar, Mutex, RwLock, persist};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::CacheStats;
use super::entry::Entry;
use crate::Error;
use crate::backend::CodeOptions;
use crate::config::Device;
use crate::ir::Kernel;
use crate::log::{self, Level};

const SHARDS: usize = 16;
/// Each time the bound is reached, this fraction of the entries is evicted, so that searching for the oldest is rare.
const EVICTED_PART: usize = 8;

/// All entries with one hash: nearly always one.
type Bucket = SmallVec<[Arc<Entry>; 1]>;

#[derive(Default)]
struct Shard {
    ready: RwLock<FxHashMap<u64, Bucket>>,
    /// Kernels that are being compiled. Few, and seldom searched.
    compiling: Mutex<Vec<Arc<Compiling>>>,
}

/// A kernel that a thread is compiling at this moment.
struct Compiling {
    hash: u64,
    device: Device,
    options: CodeOptions,
    kernel: Kernel,
    is_over: Mutex<bool>,
    over: Condvar,
}

pub(super) struct Store {
    shards: [Shard; SHARDS],
    max_entries: usize,
    count: AtomicUsize,
    /// Incremented with each lookup: the age of entries.
    clock: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
}

impl Store {
    pub(super) fn new(max_entries: usize) -> Store {
        Store {
            shards: std::array::from_fn(|_| Shard::default()),
            max_entries: max_entries.max(1),
            count: AtomicUsize::new(0),
            clock: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        }
    }

    fn shard(&self, hash: u64) -> &Shard {
        // The table inside a shard uses the upper bits of the hash, so the shard is chosen by middle ones.
        &self.shards[(hash >> 24) as usize % SHARDS]
    }

    /// Returns the entry of a kernel, and whether it was in the table. Compiles it if not; concurrent callers wait for
    /// the first one.
    pub(super) fn find_or_insert(
        &self,
        hash: u64,
        device: Device,
        options: CodeOptions,
        kernel: Kernel,
        compile: impl FnOnce(Kernel) -> Result<Entry, Error>,
    ) -> Result<(Arc<Entry>, bool), Error> {
        loop {
            if let Some(entry) = self.look_up(hash, device, options, &kernel) {
                return Ok((entry, true));
            }
            match self.begin(hash, device, options, &kernel) {
                Turn::Mine(claim) => {
                    self.misses.fetch_add(1, Ordering::Relaxed);
                    let entry = Arc::new(compile(kernel)?);
                    self.insert(&entry);
                    drop(claim);
                    return Ok((entry, false));
                }
                Turn::Others(other) => other.wait(),
                Turn::JustDone => {}
            }
        }
    }

    /// The entry of a kernel, if it is in the table.
    pub(super) fn look_up(
        &self,
        hash: u64,
        device: Device,
        options: CodeOptions,
        kernel: &Kernel,
    ) -> Option<Arc<Entry>> {
        let entry = self.find(hash, device, options, kernel)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(entry)
    }

    fn find(&self, hash: u64, device: Device, options: CodeOptions, kernel: &Kernel) -> Option<Arc<Entry>> {
        let shard = self.shard(hash).ready.read();
        let entry = shard.get(&hash)?.iter().find(|entry| entry.is_for(device, options, kernel))?;
        self.note_use(entry);
        Some(Arc::clone(entry))
    }

    /// Counts that an entry was found without the table.
    pub(super) fn note_hit(&self, entry: &Entry) {
        self.hits.fetch_add(1, Ordering::Relaxed);
        self.note_use(entry);
    }

    #[inline]
    fn note_use(&self, entry: &Entry) {
        entry.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Claims the compilation of a kernel, unless another thread has.
    fn begin(&self, hash: u64, device: Device, options: CodeOptions, kernel: &Kernel) -> Turn<'_> {
        let shard = self.shard(hash);
        let mut compiling = shard.compiling.lock();
        if let Some(other) = compiling.iter().find(|other| other.is_for(hash, device, options, kernel)) {
            return Turn::Others(Arc::clone(other));
        }
        // It may have been finished between the lookup and the lock.
        if self.find(hash, device, options, kernel).is_some() {
            return Turn::JustDone;
        }
        let (is_over, over) = (Mutex::new(false), Condvar::new());
        let mine = Arc::new(Compiling { hash, device, options, kernel: kernel.clone(), is_over, over });
        compiling.push(Arc::clone(&mine));
        Turn::Mine(Claim { shard, compiling: mine })
    }

    fn insert(&self, entry: &Arc<Entry>) {
        if self.count.fetch_add(1, Ordering::Relaxed) >= self.max_entries {
            self.evict();
        }
        entry.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let hash = entry.facts.hash;
        self.shard(hash).ready.write().entry(hash).or_default().push(Arc::clone(entry));
    }

    /// Evicts the least recently used entries.
    fn evict(&self) {
        let mut ages: Vec<u64> = self.entries().iter().map(|entry| entry.last_used.load(Ordering::Relaxed)).collect();
        let count = (ages.len() / EVICTED_PART).max(1).min(ages.len());
        if count == 0 {
            return;
        }
        let (_, &mut oldest_kept, _) = ages.select_nth_unstable(count - 1);
        let forgotten = self.remove(|entry| entry.last_used.load(Ordering::Relaxed) <= oldest_kept);
        self.evictions.fetch_add(forgotten as u64, Ordering::Relaxed);
        log::emit(Level::Debug, || format!("evicted {forgotten} kernels: the cache holds {}", self.max_entries));
    }

    fn remove(&self, is_unwanted: impl Fn(&Entry) -> bool) -> usize {
        let mut removed: Vec<Arc<Entry>> = Vec::new();
        for shard in &self.shards {
            shard.ready.write().retain(|_, bucket| {
                removed.extend(bucket.iter().filter(|entry| is_unwanted(entry)).cloned());
                bucket.retain(|entry| !is_unwanted(entry));
                !bucket.is_empty()
            });
        }
        self.count.fetch_sub(removed.len(), Ordering::Relaxed);
        removed.len()
    }

    pub(super) fn clear(&self) {
        self.remove(|_| true);
    }

    /// Takes the locks of the table.
    pub(super) fn hold(&'static self, held: &mut Vec<Held>) {
        for shard in &self.shards {
            held.extend(persist(|| shard.compiling.try_lock()).map(|guard| Box::new(guard) as Held));
            held.extend(persist(|| shard.ready.try_write()).map(|guard| Box::new(guard) as Held));
        }
    }

    /// Removes kernels that are being compiled by threads that do not exist in a forked process.
    pub(super) fn forget_compiling(&self) {
        self.shards.iter().for_each(|shard| shard.compiling.lock().clear());
    }

    pub(super) fn entries(&self) -> Vec<Arc<Entry>> {
        self.shards
            .iter()
            .flat_map(|shard| shard.ready.read().values().flatten().cloned().collect::<Vec<_>>())
            .collect()
    }

    pub(super) fn stats(&self) -> CacheStats {
        let entries = self.entries();
        CacheStats {
            entries: entries.len(),
            code_bytes: entries.iter().map(|entry| entry.facts.code_bytes).sum(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
        }
    }
}

enum Turn<'a> {
    Mine(Claim<'a>),
    Others(Arc<Compiling>),
    JustDone,
}

/// The obligation to compile a kernel. Whether that succeeds, fails or panics, waiting threads continue when it is
/// dropped.
struct Claim<'a> {
    shard: &'a Shard,
    compiling: Arc<Compiling>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.shard.compiling.lock().retain(|other| !Arc::ptr_eq(other, &self.compiling));
        *self.compiling.is_over.lock() = true;
        self.compiling.over.notify_all();
    }
}

impl Compiling {
    fn is_for(&self, hash: u64, device: Device, options: CodeOptions, kernel: &Kernel) -> bool {
        self.hash == hash && self.device == device && self.options == options && self.kernel == *kernel
    }

    fn wait(&self) {
        let mut is_over = self.is_over.lock();
        while !*is_over {
            is_over = self.over.wait(is_over);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::ErrorKind;
    use crate::backend::{Executable, RawArgument};
    use crate::cancel::Poll;
    use crate::ir::{Access, Builder, Type};

    struct Nothing;

    impl Executable for Nothing {
        unsafe fn run_polled(&self, _lanes: Range<u64>, _arguments: &[RawArgument], _poll: Poll<'_>) {}

        fn lanes_per_step(&self) -> usize {
            1
        }

        fn code_bytes(&self) -> usize {
            10
        }
    }

    fn kernel(constant: u64) -> Kernel {
        let mut builder = Builder::new();
        let out = builder.buffer(Type::U64, Access::Write);
        let value = builder.constant(Type::U64, constant);
        builder.store(out, value);
        builder.finish()
    }

    fn find(store: &Store, hash: u64, constant: u64, options: CodeOptions) -> (Arc<Entry>, bool) {
        find_with(store, hash, constant, options, |kernel| Ok(entry(hash, kernel, options))).unwrap()
    }

    fn find_with(
        store: &Store,
        hash: u64,
        constant: u64,
        options: CodeOptions,
        compile: impl FnOnce(Kernel) -> Result<Entry, Error>,
    ) -> Result<(Arc<Entry>, bool), Error> {
        store.find_or_insert(hash, Device::Interpreter, options, kernel(constant), compile)
    }

    fn entry(hash: u64, kernel: Kernel, options: CodeOptions) -> Entry {
        Entry::for_test(hash, kernel, options, Box::new(Nothing))
    }

    #[test]
    fn kernels_with_equal_hashes_are_distinguished() {
        let store = Store::new(100);
        let plain = CodeOptions::default();
        let streaming = CodeOptions { streaming_stores: true, ..CodeOptions::default() };
        let (first, _) = find(&store, 7, 1, plain);
        let (second, was_there) = find(&store, 7, 2, plain);
        assert!(!was_there);
        let (third, was_there) = find(&store, 7, 1, streaming);
        assert!(!was_there);
        assert_eq!((first.kernel.clone(), second.kernel.clone()), (kernel(1), kernel(2)));
        for (constant, options, expected) in [(1, plain, &first), (2, plain, &second), (1, streaming, &third)] {
            let (found, was_there) = find(&store, 7, constant, options);
            assert!(was_there && Arc::ptr_eq(&found, expected));
        }
        let stats = store.stats();
        assert_eq!((stats.entries, stats.code_bytes, stats.hits, stats.misses), (3, 30, 3, 3));
    }

    #[test]
    fn kernels_of_other_devices_and_parameters_are_distinguished() {
        let store = Store::new(100);
        let options = CodeOptions::default();
        let (first, _) = find(&store, 7, 1, options);
        let on_another = |kernel| Ok(entry(7, kernel, options));
        let (second, was_there) = store.find_or_insert(7, Device::Cpu, options, kernel(1), on_another).unwrap();
        assert!(!was_there && !Arc::ptr_eq(&first, &second));
        // The same instructions, with one more parameter.
        let mut more = kernel(1);
        more.params.push(crate::ir::Param::Scalar { ty: Type::U8 });
        let on_another = |kernel| Ok(entry(7, kernel, options));
        let (third, was_there) = store.find_or_insert(7, Device::Interpreter, options, more, on_another).unwrap();
        assert!(!was_there && third.kernel.params.len() == 2 && first.kernel.params.len() == 1);
    }

    // no device: only the store is looked at
    // rows: K125
    #[test]
    fn the_least_recently_used_kernel_is_evicted() {
        let store = Store::new(16);
        for constant in 0..16 {
            find(&store, constant, constant, CodeOptions::default());
        }
        assert!(find(&store, 0, 0, CodeOptions::default()).1);
        find(&store, 99, 99, CodeOptions::default());
        assert_eq!(store.stats().evictions, 2);
        assert_eq!(store.stats().entries, 15);
        assert!(find(&store, 0, 0, CodeOptions::default()).1, "used just before");
        assert!(!find(&store, 1, 1, CodeOptions::default()).1, "the oldest");
        store.clear();
        assert_eq!(store.stats().entries, 0);
        let evictions = store.stats().evictions;
        (0..16).for_each(|constant| _ = find(&store, constant, constant, CodeOptions::default()));
        let stats = store.stats();
        assert_eq!((stats.entries, stats.evictions), (16, evictions), "there was room again");
    }

    #[test]
    fn errors_and_panics_are_not_cached() {
        let store = Store::new(16);
        let fails = |_| Err(Error::new(ErrorKind::Compile, "no"));
        assert!(find_with(&store, 1, 1, CodeOptions::default(), fails).is_err());
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = find_with(&store, 1, 1, CodeOptions::default(), |_| panic!("on purpose"));
        }));
        assert_eq!(panics.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
        assert!(!find(&store, 1, 1, CodeOptions::default()).1);
        assert!(find(&store, 1, 1, CodeOptions::default()).1);
    }

    // no device: only the store is looked at
    // rows: K122
    #[test]
    fn threads_that_want_one_kernel_compile_it_once() {
        let store = Store::new(16);
        let barrier = std::sync::Barrier::new(8);
        let compiled = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    let compile = |kernel| {
                        compiled.fetch_add(1, Ordering::Relaxed);
                        std::thread::yield_now();
                        Ok(entry(5, kernel, CodeOptions::default()))
                    };
                    find_with(&store, 5, 5, CodeOptions::default(), compile).unwrap();
                });
            }
        });
        assert_eq!(compiled.load(Ordering::Relaxed), 1);
        assert_eq!(store.stats().entries, 1);
    }
}
