//! Faults: whatever the file system does, the cache remains usable, and what it returns is what was stored.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;

use super::files::Facts;
use super::*;
use crate::backend::Scatters;
use crate::ir::{Access, BinaryOp, Builder, Type, passes};

/// What happens at the chosen operation, and after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// One operation fails without an effect.
    Error,
    /// The device is full: what is written is cut off, and later writes fail, too.
    Full,
    /// The process is killed: what is written is cut off, and nothing happens any more.
    Kill,
}

/// The file system, which fails at one operation.
struct Failing {
    fault: Fault,
    /// The number of the operation.
    at: usize,
    count: AtomicUsize,
    /// What the clock says.
    now: Mutex<SystemTime>,
}

impl Failing {
    fn new(fault: Fault, at: usize) -> Failing {
        Failing { fault, at, count: AtomicUsize::new(0), now: Mutex::new(SystemTime::now()) }
    }

    fn never() -> Failing {
        Failing::new(Fault::Error, usize::MAX)
    }

    /// Counts an operation, and decides whether it fails.
    fn step(&self, writes: bool) -> io::Result<()> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let fails = match self.fault {
            Fault::Error => number == self.at,
            Fault::Full => writes && number >= self.at,
            Fault::Kill => number >= self.at,
        };
        if fails { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
    }
}

impl Files for Failing {
    fn read(&self, path: &Path, limit: u64) -> io::Result<(Vec<u8>, Facts)> {
        self.step(false)?;
        System.read(path, limit)
    }

    fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.step(true).inspect_err(|_| {
            let is_dead = self.fault == Fault::Kill && self.count.load(Ordering::Relaxed) > self.at + 1;
            if self.fault != Fault::Error && !is_dead {
                let _ = System.write_new(path, &bytes[..bytes.len() / 2]);
            }
        })?;
        System.write_new(path, bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(false)?;
        System.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(true)?;
        System.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(false)?;
        System.remove(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.step(false)?;
        System.list(folder)
    }

    fn facts(&self, path: &Path) -> io::Result<Facts> {
        self.step(false)?;
        System.facts(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.step(true)?;
        System.make_folder(path)
    }

    fn note_use(&self, path: &Path, at: u64, bytes: &[u8], now: SystemTime) -> io::Result<()> {
        self.step(true)?;
        System.note_use(path, at, bytes, now)
    }

    fn now(&self) -> SystemTime {
        *self.now.lock().unwrap()
    }
}

/// A folder that is removed when the test ends.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        let path = std::env::temp_dir().join(format!("jit-disk-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Temporary(path)
    }

    fn settings(&self) -> Settings {
        Settings {
            own: Some(self.0.clone()),
            shared: None,
            // SAFETY: a call without preconditions.
            user: unsafe { libc::geteuid() },
            entries: 100,
            bytes: 1 << 30,
            verify: None,
            takes_better: true,
        }
    }

    fn open<'f>(&self, files: &'f dyn Files) -> Disk<'f> {
        Disk::open(&self.settings(), files)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn kernel(constant: u64) -> Kernel {
    let mut builder = Builder::new();
    let output = builder.buffer(Type::U32, Access::Write);
    let (lane, constant) = (builder.lane_index(), builder.constant(Type::U32, constant));
    let product = builder.binary(BinaryOp::Mul, lane, constant);
    builder.store(output, product);
    builder.finish()
}

const QUICK: CodeOptions =
    CodeOptions { streaming_stores: false, scatters: backend::Scatters::Shared, effort: Effort::Quick };

/// Compiles a kernel, or returns none without LLVM.
fn compiled(kernel: &Kernel) -> Option<Box<dyn Executable>> {
    crate::tested_devices::has_llvm().then(|| {
        let mut kernel = kernel.clone();
        passes::optimise(&mut kernel);
        backend::compile(Device::Cpu, &kernel, QUICK).unwrap()
    })
}

const LONG: Duration = Duration::from_millis(20);
/// The label and the number of operations of kernels here.
fn about() -> (Label, usize) {
    ("multiplied".into(), 7)
}

fn store(disk: &Disk<'_>, number: u64, code: &dyn Executable) {
    disk.store(Device::Cpu, &kernel(number), QUICK, code, LONG, about());
}

/// Looks a kernel up; what is found must be what was stored.
fn is_found(disk: &Disk<'_>, number: u64, code: &dyn Executable) -> bool {
    disk.find(Device::Cpu, &kernel(number), QUICK).is_ok_and(|found| {
        assert_eq!(found.code.object(), code.object());
        assert_eq!((found.compile_time, found.compiled_ops, found.options), (LONG, 7, QUICK));
        true
    })
}

/// The file of the only kernel.
fn only_entry(folder: &Path) -> PathBuf {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut entries = files.filter(|path| path.file_name().is_some_and(|name| name.len() == 64));
    let entry = entries.next().expect("an entry");
    assert!(entries.next().is_none());
    entry
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K146 N07
#[test]
fn a_changed_or_truncated_file_is_a_miss_and_is_replaced() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("changed");
    let disk = folder.open(&System);
    store(&disk, 3, &*code);
    assert!(is_found(&disk, 3, &*code));
    let entry = only_entry(&folder.0);
    let bytes = std::fs::read(&entry).unwrap();
    let damaged = |damaged: &[u8], what: &str| {
        std::fs::write(&entry, damaged).unwrap();
        assert!(!is_found(&disk, 3, &*code), "{what}");
        assert!(!entry.exists(), "{what}: removed");
        let publish = || System.write_new(&entry, &bytes);
        publish().unwrap();
    };
    let uses = format::USES_AT..format::USES_AT + 8;
    for at in uses.clone() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&entry, &flipped).unwrap();
        assert!(is_found(&disk, 3, &*code), "the number of uses is not covered by the checksum");
    }
    std::fs::write(&entry, &bytes).unwrap();
    let key_end = bytes.windows(4).position(|window| window == b"\x7fELF").unwrap();
    for at in (0..bytes.len()).filter(|at| !uses.contains(at)) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        damaged(&flipped, &format!("byte {at}"));
        // All bits of header and key.
        for bit in (0..8).filter(|_| at < key_end && at % 16 == 0) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            damaged(&flipped, &format!("bit {bit} of byte {at}"));
        }
    }
    (0..bytes.len()).for_each(|length| damaged(&bytes[..length], &format!("{length} bytes")));
    assert!(is_found(&disk, 3, &*code));
}

#[test]
fn uses_are_counted_across_processes_with_the_time_of_the_last_one() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("uses");
    let files = Failing::never();
    store(&folder.open(&files), 3, &*code);
    let entry = only_entry(&folder.0);
    let uses = || format::stated_uses(&std::fs::read(&entry).unwrap());
    assert_eq!(uses(), Some(0));
    for number in 1..4 {
        *files.now.lock().unwrap() += Duration::from_secs(5);
        assert!(is_found(&folder.open(&files), 3, &*code));
        assert_eq!(uses(), Some(number));
        assert_eq!(System.facts(&entry).unwrap().modified, *files.now.lock().unwrap());
    }
    let shared = Settings { own: None, shared: Some(folder.0.clone()), ..folder.settings() };
    assert!(is_found(&Disk::open(&shared, &System), 3, &*code));
    assert_eq!(uses(), Some(3), "a shared folder is not written");
}

#[test]
fn an_entry_of_another_kernel_is_not_taken_for_this_one() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("other");
    let disk = folder.open(&System);
    store(&disk, 3, &*code);
    let entry = only_entry(&folder.0);
    let keys = disk.keys(Device::Cpu, &kernel(4), QUICK).unwrap();
    let (_, wanted) = keys.iter().find(|(options, _)| *options == QUICK).unwrap();
    std::fs::rename(entry, folder.0.join(wanted.name())).unwrap();
    assert!(!is_found(&disk, 4, &*code), "authentic, but its key is another one");
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: N07
#[test]
fn whatever_fails_the_cache_remains_usable() {
    let Some(code) = compiled(&kernel(3)) else { return };
    for fault in [Fault::Error, Fault::Full, Fault::Kill] {
        for at in 0.. {
            let folder = Temporary::new(&format!("fault-{fault:?}"));
            let failing = Failing::new(fault, at);
            let disk = folder.open(&failing);
            store(&disk, 3, &*code);
            is_found(&disk, 3, &*code);
            store(&disk, 4, &*code);
            disk.remember_literals(&kernel(0), QUICK, &[true]);
            drop(disk);
            // Another process, without faults: it finds all of a file or nothing, and can store.
            let disk = folder.open(&System);
            is_found(&disk, 3, &*code);
            is_found(&disk, 4, &*code);
            store(&disk, 3, &*code);
            assert!(is_found(&disk, 3, &*code), "{fault:?} at operation {at}");
            assert!(disk.literals(&kernel(0), QUICK).is_none_or(|varies| varies[..] == [true]));
            if failing.count.load(Ordering::Relaxed) <= at {
                assert!(at > 15, "{at} operations");
                break;
            }
        }
    }
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K145
#[test]
fn what_a_killed_process_left_is_removed_after_an_hour() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("left");
    let files = Failing::never();
    let disk = folder.open(&files);
    store(&disk, 3, &*code);
    let left = folder.0.join("new-1-2-3");
    std::fs::write(&left, "half").unwrap();
    let sweep = || Bounds::new(100, 1 << 30).keep(disk.folders[0].as_ref().unwrap(), "", 0);
    sweep();
    assert!(left.exists(), "it may be about to be published");
    *files.now.lock().unwrap() += Duration::from_secs(2 * 3600);
    sweep();
    assert!(!left.exists() && is_found(&disk, 3, &*code));
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: N07
#[test]
fn a_clock_that_runs_backwards_does_no_harm() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("clock");
    let files = Failing::never();
    let settings = Settings { entries: 8, ..folder.settings() };
    let disk = Disk::open(&settings, &files);
    for number in 0..40 {
        store(&disk, number, &*code);
        assert!(is_found(&disk, number, &*code));
        *files.now.lock().unwrap() -= Duration::from_secs(86_400);
    }
    let count = std::fs::read_dir(&folder.0).unwrap().count();
    assert!(count <= 10, "{count} files, with the secret and the locks");
}

// one device: tests/cuda/stored.rs is about code of GPUs
// rows: K143
#[test]
fn the_file_whose_loss_costs_least_is_evicted() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("evicted");
    let files = Failing::never();
    let settings = Settings { entries: 8, ..folder.settings() };
    let disk = Disk::open(&settings, &files);
    let store = |number: u64, millis: u64| {
        disk.store(Device::Cpu, &kernel(number), QUICK, &*code, Duration::from_millis(millis), about());
    };
    let is_kept = |number: u64| disk.find(Device::Cpu, &kernel(number), QUICK).is_ok();
    // The file that remembers LLVM counts, too.
    (0..7).for_each(|number| store(number, 10 + 100 * (number % 3)));
    store(7, 5);
    assert_eq!(disk.bounds.evictions.load(Ordering::Relaxed), 2);
    assert_eq!([0, 3, 6].map(is_kept).into_iter().filter(|kept| *kept).count(), 1, "those that cost 10 ms");
    assert!([1, 2, 4, 5, 7].into_iter().all(is_kept));
}

// one device: tests/cuda/stored.rs is about code of GPUs
#[test]
fn kernels_outlive_what_is_known_about_literals() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("literals-evicted");
    let files = Failing::never();
    let disk = Disk::open(&Settings { entries: 8, ..folder.settings() }, &files);
    for number in 0..20 {
        disk.remember_literals(&kernel(number), QUICK, &[true]);
        if number < 4 {
            disk.store(Device::Cpu, &kernel(number), QUICK, &*code, Duration::from_millis(1), about());
        }
    }
    assert!((0..4).all(|number| disk.find(Device::Cpu, &kernel(number), QUICK).is_ok()));
}

#[test]
fn the_level_counts_what_happened() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("level");
    let disk = folder.open(&System);
    assert!(disk.find(Device::Cpu, &kernel(3), QUICK).is_err());
    store(&disk, 3, &*code);
    assert!(is_found(&disk, 3, &*code) && is_found(&disk, 3, &*code));
    let stats = disk.stats();
    assert_eq!((stats.entries, stats.hits, stats.misses, stats.evictions), (1, 2, 1, 0));
    assert_eq!(stats.bytes, std::fs::metadata(only_entry(&folder.0)).unwrap().len());
    assert_eq!((stats.max_entries, stats.max_bytes), (100, Some(1 << 30)));
}

#[test]
fn bytes_are_bounded_too() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("bytes");
    let size = code.object().unwrap().len() as u64;
    let disk = Disk::open(&Settings { bytes: 10 * size, ..folder.settings() }, &System);
    (0..30).for_each(|number| store(&disk, number, &*code));
    let files = std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    let total: u64 = files.sum();
    assert!((4 * size..=10 * size + 200).contains(&total), "{total} of {}", 10 * size);
}

#[test]
fn kernels_that_compile_quickly_are_not_stored() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("quick");
    let disk = folder.open(&System);
    disk.store(Device::Cpu, &kernel(3), QUICK, &*code, LEAST_COMPILE_TIME - Duration::from_nanos(1), about());
    assert!(disk.find(Device::Cpu, &kernel(3), QUICK).is_err());
    disk.store(Device::Cpu, &kernel(3), QUICK, &*code, LEAST_COMPILE_TIME, about());
    assert!(disk.find(Device::Cpu, &kernel(3), QUICK).is_ok());
}

#[test]
fn better_code_replaces_the_first() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("better");
    let disk = folder.open(&System);
    store(&disk, 3, &*code);
    let first = only_entry(&folder.0);
    disk.store(Device::Cpu, &kernel(3), CodeOptions { effort: Effort::Thorough, ..QUICK }, &*code, LONG, about());
    assert_ne!(only_entry(&folder.0), first);
    assert!(disk.find(Device::Cpu, &kernel(3), QUICK).is_ok_and(|found| found.options.effort == Effort::Thorough));
    let exact = Disk::open(&Settings { takes_better: false, ..folder.settings() }, &System);
    assert!(exact.find(Device::Cpu, &kernel(3), QUICK).is_err(), "with JIT_TIER=quick");
}

#[test]
fn ordinary_stores_stand_in_for_others_but_not_the_converse() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let streaming = CodeOptions { streaming_stores: true, ..QUICK };
    let thorough = CodeOptions { effort: Effort::Thorough, ..QUICK };
    let folder = Temporary::new("stand_in");
    let disk = folder.open(&System);
    store(&disk, 3, &*code);
    assert!(disk.find(Device::Cpu, &kernel(3), streaming).is_ok_and(|found| found.options == QUICK));
    let private = CodeOptions { scatters: Scatters::Private { copies_log2: 0 }, ..QUICK };
    assert!(disk.find(Device::Cpu, &kernel(3), private).is_err(), "the order of additions may differ");
    let exact = Disk::open(&Settings { takes_better: false, ..folder.settings() }, &System);
    assert!(exact.find(Device::Cpu, &kernel(3), streaming).is_err(), "nothing would replace it");
    disk.store(Device::Cpu, &kernel(3), thorough, &*code, LONG, about());
    assert!(disk.find(Device::Cpu, &kernel(3), streaming).is_ok_and(|found| found.options == thorough));
    disk.store(Device::Cpu, &kernel(3), streaming, &*code, LONG, about());
    assert!(
        disk.find(Device::Cpu, &kernel(3), streaming).is_ok_and(|found| found.options == streaming),
        "its own comes first"
    );

    let folder = Temporary::new("no_stand_in");
    let disk = folder.open(&System);
    disk.store(Device::Cpu, &kernel(3), streaming, &*code, LONG, about());
    assert!(disk.find(Device::Cpu, &kernel(3), QUICK).is_err());
}

#[test]
fn a_damaged_secret_is_replaced_and_a_foreign_folder_refused() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("secret");
    let disk = folder.open(&System);
    store(&disk, 3, &*code);
    std::fs::write(folder.0.join(folder::SECRET), "short").unwrap();
    let disk = folder.open(&System);
    assert!(!is_found(&disk, 3, &*code), "made with the first secret");
    store(&disk, 3, &*code);
    assert!(is_found(&folder.open(&System), 3, &*code));
    // To another user, the folder and its files belong to somebody else.
    let settings = Settings { user: folder.settings().user + 1, ..folder.settings() };
    let disk = Disk::open(&settings, &System);
    assert!(disk.folders[0].is_none() && disk.has_warned.load(Ordering::Relaxed));
}

#[test]
fn a_file_of_another_user_is_refused() {
    let Some(code) = compiled(&kernel(3)) else { return };
    let folder = Temporary::new("foreign");
    store(&folder.open(&System), 3, &*code);
    let entry = only_entry(&folder.0);
    if std::os::unix::fs::chown(&entry, Some(12345), None).is_ok() {
        assert!(!is_found(&folder.open(&System), 3, &*code));
    }
}
