//! The files of the folders as this command describes them.

use std::path::PathBuf;
use std::time::SystemTime;

use jit_runtime::backend::Effort;
use jit_runtime::cache::{CacheFile, CacheFileKind, CacheFolder};
use serde::Serialize;

use crate::output::Failure;
use crate::text;

/// The digits of a hash that tables show.
const SHOWN_DIGITS: usize = 12;

/// A file with its folder.
pub(super) struct Entry {
    pub(super) folder: CacheFolder,
    pub(super) file: CacheFile,
}

/// The kernels, and files about literals, of all folders: the last used ones first.
pub(super) fn all() -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    for folder in CacheFolder::all() {
        let files = folder.files()?;
        let is_entry = |file: &CacheFile| matches!(file.kind, CacheFileKind::Kernel | CacheFileKind::Literals);
        entries.extend(files.into_iter().filter(is_entry).map(|file| Entry { folder: folder.clone(), file }));
    }
    entries.sort_by(|a, b| b.file.last_used.cmp(&a.file.last_used).then_with(|| a.file.name.cmp(&b.file.name)));
    Ok(entries)
}

/// The only entry whose hash begins so.
pub(super) fn find(hash: &str) -> Result<Entry, Failure> {
    let mut found: Vec<Entry> = all()?.into_iter().filter(|entry| entry.is_named(hash)).collect();
    // One kernel in both folders is one: programs take that of their own folder.
    found.dedup_by(|a, b| a.file.name == b.file.name);
    if found.len() > 1 {
        let names: Vec<String> =
            found.iter().map(|entry| format!("{} {}", entry.short_hash(), entry.label())).collect();
        let message = format!("{} entries have a hash that begins with `{hash}`", found.len());
        return Err(Failure::Request(message, format!("give more digits: {}", names.join(", "))));
    }
    found.pop().ok_or_else(|| {
        let folders: Vec<String> = CacheFolder::all().iter().map(|folder| folder.path.display().to_string()).collect();
        let message = format!("no entry has a hash that begins with `{hash}` in {}", folders.join(" and "));
        Failure::Request(message, "`jit cache ls` lists all entries".to_owned())
    })
}

impl Entry {
    pub(super) fn short_hash(&self) -> &str {
        &self.file.name[..SHOWN_DIGITS]
    }

    /// The hash that messages of the library have.
    pub(super) fn message_hash(&self) -> Option<String> {
        self.file.kernel.as_ref()?.hash().map(|hash| format!("{hash:016x}"))
    }

    fn is_named(&self, hash: &str) -> bool {
        self.file.name.starts_with(hash) || self.message_hash().is_some_and(|own| own.starts_with(hash))
    }

    pub(super) fn label(&self) -> String {
        match (&self.file.kernel, self.file.kind) {
            (Some(kernel), _) => text::plain(&kernel.label),
            (None, CacheFileKind::Literals) => "(literals)".to_owned(),
            (None, _) => "?".to_owned(),
        }
    }

    /// The level of the instruction set that it was compiled for.
    pub(super) fn level(&self) -> String {
        let level = self.file.kernel.as_ref().and_then(|kernel| kernel.target.split(' ').nth(1));
        level.unwrap_or_default().to_owned()
    }

    pub(super) fn view(&self) -> View {
        let (file, kernel) = (&self.file, self.file.kernel.as_ref());
        let unix = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).ok().map(|time| time.as_secs());
        View {
            hash: file.name.clone(),
            message_hash: self.message_hash(),
            label: kernel.map(|kernel| kernel.label.clone()),
            kind: if file.kind == CacheFileKind::Literals { "literals" } else { "kernel" },
            folder: self.folder.path.clone(),
            shared: self.folder.is_shared,
            bytes: file.bytes,
            compile_seconds: file.cost.as_secs_f64(),
            uses: file.uses,
            saved_seconds: file.time_saved().as_secs_f64(),
            last_used: file.last_used.and_then(unix),
            target: kernel.map(|kernel| kernel.target.clone()),
            llvm: kernel.map(|kernel| kernel.llvm.clone()).filter(|llvm| !llvm.is_empty()),
            driver: kernel.and_then(|kernel| kernel.driver.clone()),
            thorough: kernel.map(|kernel| kernel.options.effort == Effort::Thorough),
            flaw: file.flaw.clone(),
        }
    }
}

/// An entry as JSON.
#[derive(Serialize)]
pub(super) struct View {
    pub(super) hash: String,
    pub(super) message_hash: Option<String>,
    label: Option<String>,
    kind: &'static str,
    folder: PathBuf,
    shared: bool,
    bytes: u64,
    compile_seconds: f64,
    /// How many processes read it.
    uses: u64,
    saved_seconds: f64,
    /// Seconds since 1970.
    last_used: Option<u64>,
    target: Option<String>,
    /// Who compiled it: LLVM, or the driver of GPUs.
    llvm: Option<String>,
    driver: Option<String>,
    thorough: Option<bool>,
    /// Why it is not used.
    flaw: Option<String>,
}
