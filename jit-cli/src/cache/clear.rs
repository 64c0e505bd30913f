//! `jit cache clear`: removes files of the user's own folder.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jit_runtime::cache::{CacheFile, CacheFileKind, CacheFolder};
use serde::Serialize;

use super::entries::Entry;
use crate::output::{Failure, Output, Status};
use crate::text;

#[derive(Serialize)]
struct Removed {
    name: String,
    label: String,
    bytes: u64,
}

/// So many of the removed files are listed; `--json` lists all.
const SHOWN: usize = 20;

#[derive(Serialize)]
struct Cleared {
    folder: Option<PathBuf>,
    removed: Vec<Removed>,
    bytes: u64,
    /// Files that are still there, and why.
    failures: Vec<String>,
}

pub(super) fn run(older_than: Option<Duration>, all: bool, output: &mut Output) -> Result<Status, Failure> {
    let own = CacheFolder::all().into_iter().find(|folder| !folder.is_shared);
    let mut cleared = Cleared {
        folder: own.as_ref().map(|own| own.path.clone()),
        removed: Vec::new(),
        bytes: 0,
        failures: Vec::new(),
    };
    let files = own.as_ref().map_or(Ok(Vec::new()), CacheFolder::files)?;
    for (folder, file) in own.iter().cycle().zip(files).filter(|(_, file)| is_wanted(file, older_than, all)) {
        cleared.remove(Entry { folder: folder.clone(), file });
    }
    output.write(&cleared, |output| write(&cleared, output))?;
    Ok(Status::bad_if(!cleared.failures.is_empty()))
}

impl Cleared {
    fn remove(&mut self, entry: Entry) {
        match entry.folder.remove(&entry.file) {
            Ok(()) => {
                let (label, bytes) = (label(&entry), entry.file.bytes);
                self.bytes += bytes;
                self.removed.push(Removed { name: entry.file.name, label, bytes });
            }
            Err(error) => self.failures.push(error.message().to_owned()),
        }
    }
}

/// Whether a file is to be removed.
fn is_wanted(file: &CacheFile, older_than: Option<Duration>, all: bool) -> bool {
    let is_entry = matches!(file.kind, CacheFileKind::Kernel | CacheFileKind::Literals);
    let is_old = older_than.is_none_or(|least| {
        let age = file.last_used.and_then(|then| SystemTime::now().duration_since(then).ok());
        age.is_some_and(|age| age >= least)
    });
    if all { file.kind != CacheFileKind::Foreign } else { is_entry && is_old }
}

fn label(entry: &Entry) -> String {
    match entry.file.kind {
        CacheFileKind::Kernel | CacheFileKind::Literals => entry.label(),
        CacheFileKind::Library => "(which LLVM was found)".to_owned(),
        CacheFileKind::Secret => "(the key of checksums)".to_owned(),
        CacheFileKind::Locks => "(locks of compilations)".to_owned(),
        _ => "(not published)".to_owned(),
    }
}

fn write(cleared: &Cleared, output: &mut Output) -> Result<(), Failure> {
    let name = |removed: &Removed| removed.name.get(..12).unwrap_or(&removed.name).to_owned();
    let row = |removed: &Removed| vec![name(removed), removed.label.clone(), text::bytes(removed.bytes)];
    if !cleared.removed.is_empty() {
        output.table(&["removed", "label", "size"], cleared.removed.iter().take(SHOWN).map(row), &[2])?;
        let others = cleared.removed.len().saturating_sub(SHOWN);
        output.line(if others == 0 { String::new() } else { format!("… and {others} more\n") })?;
    }
    cleared.failures.iter().try_for_each(|failure| output.line(failure))?;
    let folder = cleared.folder.as_ref().map_or("nowhere".into(), |folder| folder.display().to_string());
    output.line(format_args!("removed {} files, {} from {folder}", cleared.removed.len(), text::bytes(cleared.bytes)))
}
