//! The container: a header with a checksum, and the contents.
//!
//! | bytes | |
//! |---|---|
//! | 8 | `JITSAVED` |
//! | 4 | the version of the form |
//! | 4 | what it is: an executor, a frozen function, a bundle, or code |
//! | 8 | the bytes of the contents |
//! | 32 | BLAKE3 of all other bytes |
//! | … | the contents |
//!
//! The checksum finds damage. It is no signature: who can write a file can run code in the programs that load it, as
//! with a shared library.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, ErrorKind};

const MAGIC: &[u8; 8] = b"JITSAVED";

/// The version that is written.
pub const VERSION: u32 = 2;

/// The oldest version that is read. It rises only with the first number of the library's version.
pub const OLDEST: u32 = 1;

pub(super) const HEADER_BYTES: usize = 56;
const CHECKSUM_AT: usize = 24;

/// What a file contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FileKind {
    /// A function that was compiled for all calls: one recording.
    Executor,
    /// A frozen function: its recordings.
    Frozen,
    /// Several executors, by name: a [`Bundle`](super::Bundle).
    Bundle,
    /// Machine code without recordings, which the next bundle may use.
    Code,
}

impl FileKind {
    const ALL: [FileKind; 4] = [FileKind::Executor, FileKind::Frozen, FileKind::Bundle, FileKind::Code];

    /// What it is called in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FileKind::Executor => "an executor",
            FileKind::Frozen => "a frozen function",
            FileKind::Bundle => "a bundle of executors",
            FileKind::Code => "code without recordings",
        }
    }
}

/// Adds the header to contents.
#[must_use]
pub(super) fn seal(kind: FileKind, contents: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + contents.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(kind as u32).to_le_bytes());
    bytes.extend_from_slice(&(contents.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; HEADER_BYTES - CHECKSUM_AT]);
    bytes.extend_from_slice(contents);
    let checksum = checksum(&bytes);
    bytes[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(checksum.as_bytes());
    bytes
}

fn checksum(bytes: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes[..CHECKSUM_AT]).update(&bytes[HEADER_BYTES..]);
    hasher.finalize()
}

/// Checks the header. Returns what the file is, and its contents.
///
/// # Errors
///
/// A file that is foreign, too new, too old, cut off, or damaged.
pub(super) fn open(bytes: &[u8]) -> Result<(FileKind, &[u8]), Error> {
    let refuse = |what: String, hint: &str| Err(Error::new(ErrorKind::Io, what).with_hint(hint));
    if !bytes.starts_with(MAGIC) {
        let hint = "pass a file that `save` has written";
        return refuse("it is not a file of recordings".to_owned(), hint);
    }
    let Some(header) = bytes.get(..HEADER_BYTES) else {
        return refuse(format!("it is cut off: it has {} bytes", bytes.len()), "copy it anew");
    };
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    match word(8) {
        OLDEST..=VERSION => {}
        version if version > VERSION => {
            let what = format!("its form has version {version}, and this library reads up to version {VERSION}");
            return refuse(what, "it was saved by a newer version of the library: update the program, or save it anew");
        }
        version => {
            let what = format!("its form has version {version}, and this library reads from version {OLDEST} on");
            return refuse(what, "save it anew with this version of the library");
        }
    }
    let contents = &bytes[HEADER_BYTES..];
    let stated = u64::from(word(16)) | u64::from(word(20)) << 32;
    if stated != contents.len() as u64 {
        let what = format!("it has {} bytes of contents, and should have {stated}", contents.len());
        return refuse(what, "it is cut off, or two files in one: copy it anew");
    }
    if checksum(bytes).as_bytes()[..] != header[CHECKSUM_AT..] {
        return refuse("its checksum is wrong: it is damaged".to_owned(), "copy it anew, or save it anew");
    }
    match FileKind::ALL.get(word(12) as usize) {
        Some(&kind) => Ok((kind, contents)),
        None => refuse(format!("it contains something unknown, number {}", word(12)), "update the library"),
    }
}

/// Writes a file whose name then has all of the new contents or all of the old ones. A link still leads to it, and what
/// is no file, as a pipe or `/dev/stdout`, is written to.
///
/// # Errors
///
/// A failure of the file system.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let is_special = std::fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir());
    let outcome = if is_special { std::fs::write(path, bytes) } else { replace(path, bytes) };
    outcome.map_err(|error| {
        Error::new(ErrorKind::Io, format!("the file {} cannot be written", path.display())).caused_by(error)
    })
}

/// Writes another file, which then takes the place of the one at a path.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    /// Threads may write one file at once.
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}-{}", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
    let unpublished = path.with_file_name(name);
    let outcome = std::fs::write(&unpublished, bytes).and_then(|()| std::fs::rename(&unpublished, &path));
    outcome.inspect_err(|_| _ = std::fs::remove_file(&unpublished))
}

/// Reads a file.
///
/// # Errors
///
/// A failure of the file system.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| {
        Error::new(ErrorKind::Io, format!("the file {} cannot be read", path.display())).caused_by(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let bytes = seal(FileKind::Frozen, b"the contents");
        assert_eq!(open(&bytes).unwrap(), (FileKind::Frozen, &b"the contents"[..]));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(open(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(open(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn links_and_pipes_are_written_to_and_not_replaced() {
        let folder = std::env::temp_dir().join(format!("jit-format-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.join(name));
        std::fs::write(&file, b"old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| write(&link, b"new").unwrap())));
        });
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "a file that was not published is left");
        let (mut reader, writer) = std::io::pipe().unwrap();
        let pipe = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        write(Path::new(&pipe), b"piped").unwrap();
        drop(writer);
        let mut piped = Vec::new();
        std::io::Read::read_to_end(&mut reader, &mut piped).unwrap();
        assert_eq!(piped, b"piped");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn foreign_and_newer_files_are_named() {
        let message = |bytes: &[u8]| open(bytes).unwrap_err().to_string();
        assert!(message(b"\x7fELF and more").contains("it is not a file of recordings"));
        let mut newer = seal(FileKind::Executor, b"");
        newer[8] = 200;
        assert!(message(&newer).contains("its form has version 200"), "{}", message(&newer));
        newer[8] = 0;
        assert!(message(&newer).contains("reads from version 1 on"));
    }
}
