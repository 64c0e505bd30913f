//! The file system as the disk cache uses it: a few operations that tests can make fail.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Facts about a file or folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) owner: u32,
    pub(super) mode: u32,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
    pub(super) is_folder: bool,
}

impl Facts {
    fn of(metadata: &fs::Metadata) -> Facts {
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let (owner, mode) = (metadata.uid(), metadata.mode());
        Facts { owner, mode, size: metadata.len(), modified, is_folder: metadata.is_dir() }
    }

    /// Whether users other than the owner can write it.
    pub(super) fn is_writable_by_others(&self) -> bool {
        self.mode & 0o022 != 0
    }
}

/// The operations. Each may fail at any time; what it began may remain.
pub(super) trait Files: Send + Sync {
    /// At most `limit` bytes of a regular file, and the facts of the file that was opened. Links are not followed.
    fn read(&self, path: &Path, limit: u64) -> io::Result<(Vec<u8>, Facts)>;
    /// Makes a file that only the user can read, which must not exist.
    fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name, unless something has it already.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;
    fn facts(&self, path: &Path) -> io::Result<Facts>;
    /// Makes a folder for the user alone, and the folders above it.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Changes bytes of a file in place, and sets the time of its last use to now. Links are not followed.
    fn note_use(&self, path: &Path, at: u64, bytes: &[u8], now: SystemTime) -> io::Result<()>;
    fn now(&self) -> SystemTime;
}

/// The file system of the machine.
pub(super) struct System;

impl Files for System {
    fn read(&self, path: &Path, limit: u64) -> io::Result<(Vec<u8>, Facts)> {
        // Opening a pipe would wait.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let mut bytes = Vec::with_capacity(metadata.len().min(limit) as usize);
        file.take(limit).read_to_end(&mut bytes)?;
        Ok((bytes, Facts::of(&metadata)))
    }

    fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
    }

    fn facts(&self, path: &Path) -> io::Result<Facts> {
        fs::metadata(path).map(|metadata| Facts::of(&metadata))
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    fn note_use(&self, path: &Path, at: u64, bytes: &[u8], now: SystemTime) -> io::Result<()> {
        let file = fs::OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
        file.write_all_at(bytes, at)?;
        file.set_modified(now)
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
