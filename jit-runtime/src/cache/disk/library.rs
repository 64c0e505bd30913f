//! Which LLVM would compile, without loading it.
//!
//! The version is a part of keys, but a hit should not load the library to learn it. So a file of the cache remembers
//! which library was found with which search path; it counts as long as the library has the same size and time. If
//! nothing is remembered, LLVM is loaded. Where there is none, code of any version that is remembered will do.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::folder::Folder;
use super::format::Kind;
use crate::backend;
use crate::log::{self, Level};

/// The name of the file.
pub(super) const NAME: &str = "library";
const KEY: &[u8] = b"library\n";
/// The number of libraries that are remembered.
const MOST: usize = 8;
/// The variables that decide which library is found.
const SEARCH: [&str; 5] = ["JIT_LLVM_PATH", "LD_LIBRARY_PATH", "RUSTUP_HOME", "HOME", "PATH"];

/// A library that was found, as a line of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Known {
    search: String,
    stamp: String,
    version: String,
    path: PathBuf,
}

impl Known {
    fn parse(line: &str) -> Option<Known> {
        let [search, stamp, version, path] = line.splitn(4, '\t').collect::<Vec<_>>().try_into().ok()?;
        Some(Known { search: search.into(), stamp: stamp.into(), version: version.into(), path: path.into() })
    }

    fn line(&self) -> String {
        format!("{}\t{}\t{}\t{}\n", self.search, self.stamp, self.version, self.path.display())
    }
}

/// The versions of LLVM whose code may be used: the one that would compile, or without one all that are known.
pub(super) fn versions(folders: &[Option<Folder<'_>>; 2]) -> Vec<String> {
    let known: Vec<Known> = folders.iter().flatten().flat_map(read).collect();
    let search = search();
    if backend::is_llvm_loaded() || !known.iter().any(|library| library.search == search && is_unchanged(library)) {
        match backend::llvm_version() {
            Ok((version, path)) => {
                remember(folders, known, Known { search, stamp: stamp(&path), version: version.clone(), path });
                return vec![version];
            }
            Err(error) => log::emit(Level::Debug, || format!("code of any LLVM is used: {error}")),
        }
        let mut versions: Vec<String> = known.into_iter().map(|library| library.version).collect();
        versions.sort();
        versions.dedup();
        return versions;
    }
    known.into_iter().find(|library| library.search == search).map(|library| library.version).into_iter().collect()
}

/// The versions that a folder remembers.
pub(super) fn known(folder: &Folder<'_>) -> Vec<String> {
    read(folder).into_iter().map(|library| library.version).collect()
}

fn is_unchanged(library: &Known) -> bool {
    library.stamp == stamp(&library.path)
}

/// Changes when the file changes; empty for a library that is linked into the program.
fn stamp(path: &Path) -> String {
    let Ok(facts) = std::fs::metadata(path) else { return "none".to_owned() };
    let time = facts.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    format!("{} {}", facts.len(), time.unwrap_or_default().as_nanos())
}

/// A digest of the variables that decide which library is found.
fn search() -> String {
    let mut hasher = blake3::Hasher::new();
    for name in SEARCH {
        let value = std::env::var_os(name).unwrap_or_default();
        hasher.update(&(value.len() as u64).to_le_bytes()).update(value.as_encoded_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

fn read(folder: &Folder<'_>) -> Vec<Known> {
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().filter_map(Known::parse).collect();
    folder.find(NAME, Kind::Library, KEY, |parts| Ok(lines(parts.contents))).unwrap_or_default()
}

fn remember(folders: &[Option<Folder<'_>>; 2], mut known: Vec<Known>, library: Known) {
    let Some(own) = &folders[0] else { return };
    if known.contains(&library) {
        return;
    }
    known.retain(|other| other.search != library.search);
    known.insert(0, library);
    known.truncate(MOST);
    let text: String = known.iter().map(Known::line).collect();
    // The highest cost, so that it is evicted last.
    if let Err(error) = own.publish(NAME, Kind::Library, KEY, text.as_bytes(), u64::MAX) {
        log::emit(Level::Debug, || format!("which LLVM was found is not remembered: {error}"));
    }
}
