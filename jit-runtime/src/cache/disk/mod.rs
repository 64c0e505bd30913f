//! Kernels on disk: a process runs code that another one compiled, without LLVM, or the linker of a GPU's driver.
//!
//! One file for each kernel, named by the hash of its key. It is written when the kernel was compiled, and read when a
//! kernel is needed that is not in memory. Nothing here fails for the program: whatever is wrong with a folder or a
//! file, the kernel is compiled, and the first failure is reported.
//!
//! | part | file |
//! |---|---|
//! | what code depends on | `key` |
//! | the form of files, their checksum | `format` |
//! | what the file of a kernel contains | `contents` |
//! | who may write the folder; reading and publishing | `folder` |
//! | one compilation for several processes | `lease` |
//! | the bounds | `evict` |
//! | LLVM's version, without loading it | `library` |
//! | what is in the folders, for people | `inspect` |
//! | operations of the file system, which tests make fail | `files` |
//!
//! Machine code from a file is executed. Before it is mapped, four things are checked, each of which is a boundary of
//! trust: folder and file belong to the user and nobody else can write them, the checksum is keyed by the user's
//! secret, the key is equal in full, and the key names only instructions that this processor has, or this GPU.

mod contents;
mod evict;
mod files;
mod folder;
mod format;
pub(super) mod inspect;
mod key;
mod lease;
mod library;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use super::LevelStats;
#[cfg(feature = "cuda")]
use crate::backend::cuda::GpuMaker;
use crate::backend::{self, CodeOptions, Effort, Executable, MachineCode, Target};
use crate::config::{self, CacheMode, Device, Tier};
use crate::ir::{Kernel, encode};
use crate::log::{self, Level};
use crate::{Error, ErrorKind, Label, stats};
use contents::Contents;
use evict::Bounds;
use files::{Files, System};
use folder::{Access, Folder, Refused};
use format::Kind;
use key::Key;
use lease::{Lease, Locks, Turn};

/// Kernels that take less time to compile are not stored: reading one takes nearly as long.
const LEAST_COMPILE_TIME: Duration = Duration::from_micros(500);

/// What knowing the literals of a kernel saves: compiling it once more. About what quick code takes, so that these
/// small files do not outlive kernels.
const COMPILE_TIME_PER_OP: Duration = Duration::from_micros(50);
/// What a kernel of library calls is as long as, for the time that compiling it should take.
#[cfg(feature = "cuda")]
const ROUTINE_OPS: usize = 2000;

/// The length of the names of entries: digests in hexadecimal.
const ENTRY_NAME: usize = 64;

/// The code of a kernel from a file.
pub(super) struct Stored<T = Box<dyn Executable>> {
    pub(super) code: T,
    /// The options with which it was compiled: those requested, or better or standing in for them.
    pub(super) options: CodeOptions,
    pub(super) compile_time: Duration,
    /// The number of operations that were compiled.
    pub(super) compiled_ops: usize,
}

/// Where the cache is, and its bounds.
struct Settings {
    /// None if the user has no folder for caches.
    own: Option<PathBuf>,
    shared: Option<PathBuf>,
    user: u32,
    entries: u64,
    bytes: u64,
    verify: Option<u64>,
    /// Whether kernels that were compiled with more effort than requested are used, and others until better code is
    /// made.
    takes_better: bool,
}

pub(super) struct Disk<'f> {
    /// The user's folder, and the shared one.
    folders: [Option<Folder<'f>>; 2],
    locks: Locks,
    bounds: Bounds,
    versions: OnceLock<Vec<String>>,
    verify: Option<u64>,
    takes_better: bool,
    has_warned: AtomicBool,
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
}

/// The disk cache, if it is switched on.
pub(super) fn get() -> Option<&'static Disk<'static>> {
    static DISK: LazyLock<Option<Disk<'static>>> = LazyLock::new(|| {
        let config = config::get();
        (config.cache == CacheMode::Disk).then(|| Disk::open(&Settings::of(config), &System))
    });
    DISK.as_ref()
}

/// The key of the code of a kernel, whose canonical bytes are given: everything that the code depends on.
pub(super) fn key_of_code(kernel: &[u8], options: CodeOptions, target: &Target, llvm: &str) -> Vec<u8> {
    Key::of_code(kernel, options, target, llvm).bytes
}

impl Settings {
    fn of(config: &config::Config) -> Settings {
        Settings {
            own: config.cache_dir.clone().or_else(default_folder),
            shared: config.cache_shared_dir.clone(),
            // SAFETY: a call without preconditions.
            user: unsafe { libc::geteuid() },
            entries: config.cache_capacity as u64,
            bytes: config.cache_max_bytes as u64,
            verify: config.cache_verify.map(|number| number as u64),
            takes_better: config.tier == Tier::Auto,
        }
    }
}

/// `jit` in the user's folder for caches ("XDG Base Directory Specification").
fn default_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(caches.join("jit"))
}

impl<'f> Disk<'f> {
    fn open(settings: &Settings, files: &'f dyn Files) -> Disk<'f> {
        let has_warned = AtomicBool::new(false);
        let opened = |path: Option<&Path>, access| match path.map(|path| Folder::open(path, access, files)) {
            Some(Ok(folder)) => Some(folder),
            Some(Err(refused)) => {
                let what = match access {
                    Access::Own { .. } => NOT_CACHED,
                    Access::Shared => "no kernels are taken from the shared folder",
                };
                warn(&has_warned, what, &refused);
                None
            }
            None => None,
        };
        let own = opened(settings.own.as_deref(), Access::Own { user: settings.user });
        if settings.own.is_none() {
            let reason = "there is no folder for caches: neither HOME nor XDG_CACHE_HOME is set".to_owned();
            let refused = Refused { reason, hint: "set JIT_CACHE_DIR, or JIT_CACHE=memory".to_owned() };
            warn(&has_warned, NOT_CACHED, &refused);
        }
        let locks = own.as_ref().map_or_else(Locks::none, |own| Locks::open(&own.path));
        Disk {
            folders: [own, opened(settings.shared.as_deref(), Access::Shared)],
            locks,
            bounds: Bounds::new(settings.entries, settings.bytes),
            versions: OnceLock::new(),
            verify: settings.verify,
            takes_better: settings.takes_better,
            has_warned,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The code of a kernel. If another process is compiling it, this waits for a limited time; if there is none, the
    /// caller should compile it, store it, and then drop the lease.
    pub(super) fn find(
        &self,
        device: Device,
        kernel: &Kernel,
        options: CodeOptions,
    ) -> Result<Stored, Option<Lease<'_>>> {
        let Ok(keys) = self.keys(device, kernel, options) else { return Err(None) };
        self.find_or_wait(&keys, kernel.op_count(), |object| load(device, kernel, object))
    }

    /// As [`Disk::find`], for a kernel of library calls of a GPU, as `load` makes it of its machine code.
    #[cfg(feature = "cuda")]
    pub(super) fn find_routine<T>(
        &self,
        maker: &GpuMaker,
        routine: &str,
        load: impl Fn(&[u8]) -> Result<T, Error>,
    ) -> Result<Stored<T>, Option<Lease<'_>>> {
        let keys = [(CodeOptions::default(), Key::of_routine(routine, maker))];
        self.find_or_wait(&keys, ROUTINE_OPS, |object| load(object).map_err(as_flaw))
    }

    fn find_or_wait<T>(
        &self,
        keys: &[(CodeOptions, Key)],
        ops: usize,
        load: impl Fn(&[u8]) -> io::Result<T>,
    ) -> Result<Stored<T>, Option<Lease<'_>>> {
        if let Some(found) = self.read_any(keys, &load) {
            return Ok(self.count_hit(found));
        }
        let first = keys.first().filter(|_| self.folders[0].is_some());
        let turn = first.map_or(Turn::Mine(None), |key| {
            self.locks
                .wait(&key.1.digest, lease::time_to_wait(lease::expected_time(ops)), || self.read_any(keys, &load))
        });
        match turn {
            Turn::Found(found) => Ok(self.count_hit(found)),
            Turn::Mine(lease) => {
                self.misses.fetch_add(1, Ordering::Relaxed);
                Err(lease)
            }
        }
    }

    /// Removes the user's files of kernels and literals.
    pub(super) fn clear(&self) {
        let Some(own) = &self.folders[0] else { return };
        let is_entry = |path: &PathBuf| path.file_name().is_some_and(|name| name.len() == ENTRY_NAME);
        let files = own.files.list(&own.path).unwrap_or_default();
        files.iter().filter(|path| is_entry(path)).for_each(|path| _ = own.files.remove(path));
    }

    fn count_hit<T>(&self, found: Stored<T>) -> Stored<T> {
        self.hits.fetch_add(1, Ordering::Relaxed);
        stats::count_disk_hit();
        found
    }

    /// The user's files, bounds and counters.
    pub(super) fn stats(&self) -> LevelStats {
        let own = self.folders[0].as_ref();
        let files = own.and_then(|own| own.files.list(&own.path).ok()).unwrap_or_default();
        let sizes = files.iter().filter_map(|path| {
            let is_entry = path.file_name().is_some_and(|name| name.len() == ENTRY_NAME);
            is_entry.then(|| own?.files.facts(path).ok()).flatten().map(|facts| facts.size)
        });
        let (entries, bytes) = sizes.fold((0, 0), |(entries, bytes), size| (entries + 1, bytes + size));
        LevelStats {
            entries,
            bytes,
            max_entries: self.bounds.entries as usize,
            max_bytes: Some(self.bounds.bytes),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.bounds.evictions.load(Ordering::Relaxed),
        }
    }

    /// Whether the code that was just found should be compared with new code.
    pub(super) fn is_verify_due(&self) -> bool {
        let hits = self.hits.load(Ordering::Relaxed);
        self.verify.is_some_and(|each| hits.is_multiple_of(each))
    }

    /// The options of code that fits, the best first.
    ///
    /// Ordinary stores may stand in for stores that bypass the cache: results are the same, and a hot kernel gets its
    /// own code later. The converse would write small arrays to memory each time. Scatters are as requested, since the
    /// order of floating-point additions depends on them.
    fn options_that_fit(&self, options: CodeOptions) -> impl Iterator<Item = CodeOptions> + use<> {
        let better = (self.takes_better && options.effort == Effort::Quick).then_some(Effort::Thorough);
        let stores = [Some(options.streaming_stores), (self.takes_better && options.streaming_stores).then_some(false)];
        stores.into_iter().flatten().flat_map(move |streaming_stores| {
            let efforts = better.into_iter().chain([options.effort]);
            efforts.map(move |effort| CodeOptions { effort, streaming_stores, ..options })
        })
    }

    /// The keys of code that fits, the best first.
    fn keys(&self, device: Device, kernel: &Kernel, options: CodeOptions) -> Result<Vec<(CodeOptions, Key)>, Error> {
        let bytes = encode::to_bytes(kernel);
        if let Device::Cuda(number) = device {
            let key = Key::of_gpu_code(&bytes, options, &backend::gpu_maker(number)?);
            return Ok(vec![(options, key)]);
        }
        let target = Target::host()?;
        let versions = self.versions.get_or_init(|| library::versions(&self.folders));
        let mut keys = Vec::new();
        for options in self.options_that_fit(options) {
            keys.extend(versions.iter().map(|version| (options, Key::of_code(&bytes, options, target, version))));
        }
        Ok(keys)
    }

    fn read_any<T>(&self, keys: &[(CodeOptions, Key)], load: &impl Fn(&[u8]) -> io::Result<T>) -> Option<Stored<T>> {
        let folders = self.folders.iter().flatten();
        keys.iter().find_map(|(options, key)| folders.clone().find_map(|folder| self.read(folder, key, *options, load)))
    }

    fn read<T>(
        &self,
        folder: &Folder<'_>,
        key: &Key,
        options: CodeOptions,
        load: &impl Fn(&[u8]) -> io::Result<T>,
    ) -> Option<Stored<T>> {
        let name = key.name();
        let found = folder.find(&name, Kind::Kernel, &key.bytes, |parts| {
            let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its contents are not those of a kernel");
            let Contents { compiled_ops, object, .. } = Contents::decode(parts.contents).ok_or_else(damaged)?;
            let code = load(object)?;
            let compile_time = Duration::from_nanos(parts.cost_ns);
            Ok((Stored { code, options, compile_time, compiled_ops }, parts.uses))
        });
        match found {
            Ok((found, uses)) => {
                self.note_use(folder, &name, uses);
                Some(found)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                let path = folder.path.join(&name);
                log::emit(Level::Info, || format!("the file {} is not used: {error}", path.display()));
                if error.kind() == io::ErrorKind::InvalidData && self.is_own(folder) {
                    let _ = folder.files.remove(&path);
                }
                None
            }
        }
    }

    fn is_own(&self, folder: &Folder<'_>) -> bool {
        self.folders[0].as_ref().is_some_and(|own| std::ptr::eq(own, folder))
    }

    /// Notes that a file was used once more, and when.
    fn note_use(&self, folder: &Folder<'_>, name: &str, uses: u64) {
        if self.is_own(folder) {
            let (path, uses) = (folder.path.join(name), uses.saturating_add(1));
            let _ = folder.files.note_use(&path, format::USES_AT as u64, &uses.to_le_bytes(), folder.files.now());
        }
    }

    /// Stores the code of a kernel; code of more effort replaces that of less.
    pub(super) fn store(
        &self,
        device: Device,
        kernel: &Kernel,
        options: CodeOptions,
        code: &dyn Executable,
        time: Duration,
        (label, compiled_ops): (Label, usize),
    ) {
        let (Some(own), Some(object)) = (&self.folders[0], code.object()) else { return };
        let is_new = options.effort == Effort::Quick;
        // The driver's compiler always takes longer than reading.
        if device == Device::Cpu && time < LEAST_COMPILE_TIME && is_new {
            return;
        }
        let Ok(keys) = self.keys(device, kernel, options) else { return };
        let Some((_, key)) = keys.iter().find(|(fits, _)| *fits == options) else { return };
        self.publish(own, key, &Contents { compiled_ops, label: label.as_str(), object }, time);
        if self.takes_better && !is_new {
            let quick = CodeOptions { effort: Effort::Quick, ..options };
            let worse = self.keys(device, kernel, quick).unwrap_or_default();
            let worse = worse.iter().filter(|(fits, _)| *fits == quick);
            worse.for_each(|(_, key)| _ = own.files.remove(&own.path.join(key.name())));
        }
    }

    /// Stores the machine code of a kernel of library calls of a GPU, with its name for people.
    #[cfg(feature = "cuda")]
    pub(super) fn store_routine(&self, maker: &GpuMaker, routine: &str, name: &str, object: &[u8], time: Duration) {
        let Some(own) = &self.folders[0] else { return };
        self.publish(own, &Key::of_routine(routine, maker), &Contents { compiled_ops: 0, label: name, object }, time);
    }

    fn publish(&self, own: &Folder<'_>, key: &Key, contents: &Contents<'_>, time: Duration) {
        let name = key.name();
        match own.publish(&name, Kind::Kernel, &key.bytes, &contents.encode(), time.as_nanos() as u64) {
            Ok(bytes) => self.bounds.keep(own, &name, bytes),
            Err(error) => self.warn_of(own, &error),
        }
    }

    /// Which literals of a kernel are parameters, if that is known; the kernel is given without their values.
    pub(super) fn literals(&self, skeleton: &Kernel, options: CodeOptions) -> Option<Box<[bool]>> {
        let key = Key::of_literals(&encode::to_bytes(skeleton), options);
        let (name, folders) = (key.name(), self.folders.iter().flatten());
        let varies = |contents: &[u8]| contents.iter().map(|byte| *byte != 0).collect();
        folders
            .into_iter()
            .find_map(|folder| folder.find(&name, Kind::Literals, &key.bytes, |parts| Ok(varies(parts.contents))).ok())
    }

    /// Remembers which literals of a kernel are parameters.
    pub(super) fn remember_literals(&self, skeleton: &Kernel, options: CodeOptions, varies: &[bool]) {
        let Some(own) = &self.folders[0] else { return };
        let key = Key::of_literals(&encode::to_bytes(skeleton), options);
        let contents: Vec<u8> = varies.iter().map(|varies| u8::from(*varies)).collect();
        let saved = COMPILE_TIME_PER_OP * u32::try_from(skeleton.op_count()).unwrap_or(u32::MAX);
        let (name, cost_ns) = (key.name(), saved.as_nanos() as u64);
        match own.publish(&name, Kind::Literals, &key.bytes, &contents, cost_ns) {
            Ok(bytes) => self.bounds.keep(own, &name, bytes),
            Err(error) => self.warn_of(own, &error),
        }
    }

    fn warn_of(&self, folder: &Folder<'_>, error: &io::Error) {
        let reason = format!("the folder {} cannot be written: {error}", folder.path.display());
        let hint = "set JIT_CACHE_DIR to another one, or JIT_CACHE=memory".into();
        warn(&self.has_warned, NOT_CACHED, &Refused { reason, hint });
    }
}

/// Loads the object file of a kernel.
fn load(device: Device, kernel: &Kernel, object: &[u8]) -> io::Result<Box<dyn Executable>> {
    if let Device::Cuda(number) = device {
        return backend::load_gpu_code(number, &kernel.params, object).map_err(as_flaw);
    }
    // SAFETY: the checks before: only this user (or the owner of a folder that he trusts) could write the file, its
    // checksum says that all of it was written by this library, and its key is that of this kernel, with only
    // instructions that this processor has.
    Ok(Box::new(unsafe { MachineCode::load(object) }.map_err(io::Error::other)?))
}

/// Code that the driver refuses is as good as damaged. Other failures say nothing about the file.
fn as_flaw(error: Error) -> io::Error {
    if error.kind() == ErrorKind::Compile {
        return io::Error::new(io::ErrorKind::InvalidData, error);
    }
    io::Error::other(error)
}

/// What follows from a failure of the user's own folder.
const NOT_CACHED: &str = "kernels are not cached on disk";

/// Reports the first failure as a warning.
fn warn(has_warned: &AtomicBool, what: &str, refused: &Refused) {
    let level = if has_warned.swap(true, Ordering::Relaxed) { Level::Debug } else { Level::Warn };
    let Refused { reason, hint } = refused;
    log::emit(level, || format!("{what}: {reason}\n  help: {hint}"));
}
