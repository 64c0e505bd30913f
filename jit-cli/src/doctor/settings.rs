//! The folders of kernels, and the environment.

use jit_runtime::cache::{CacheFile, CacheFileKind, CacheFolder, CacheLevel, bounds};
use jit_runtime::config::{check_cache_on_disk, environment};
use jit_runtime::device::{check_usable, current_device};

use super::Check;
use crate::text;

pub(super) fn checks() -> Vec<Check> {
    let mut checks = cache();
    let variables = environment();
    if variables.is_empty() {
        checks.push(Check::good("environment", "JIT_…", "no variable is set"));
    }
    let unusable = check_usable(current_device()).err();
    checks.extend(variables.into_iter().map(|setting| {
        // Programs fail at their first value where the device that it names cannot be used.
        let no_device = unusable.as_ref().filter(|_| setting.name == "JIT_DEVICE");
        match setting.error.as_ref().or(no_device) {
            Some(error) => Check::problem("environment", setting.name, error),
            None => Check::good("environment", setting.name, text::plain(&setting.value)),
        }
    }));
    checks
}

fn cache() -> Vec<Check> {
    let folders = CacheFolder::all();
    let mut checks = Vec::new();
    let mode = check_cache_on_disk();
    if let Err(value) = mode {
        let value = format!("kernels are not kept on disk: JIT_CACHE={value}");
        checks.push(Check::note("cache", "mode", value, "unset JIT_CACHE, so that later processes compile nothing"));
    }
    if folders.iter().all(|folder| folder.is_shared) {
        let value = "there is no folder for kernels: neither HOME nor XDG_CACHE_HOME is set";
        checks.push(Check::note("cache", "folder", value, "set JIT_CACHE_DIR, or JIT_CACHE=memory"));
    }
    // A folder that is not used is not made, and does not need to work.
    checks.extend(folders.iter().filter(|folder| mode.is_ok() || folder.exists()).map(|folder| {
        let name = if folder.is_shared { "shared folder" } else { "folder" };
        match (folder.check(), mode) {
            (Ok(()), _) => Check::good("cache", name, contents(folder)),
            (Err(error), Ok(())) => Check::problem("cache", name, &error),
            (Err(error), Err(_)) => Check::note("cache", name, error.message(), "it is not used here"),
        }
    }));
    checks
}

/// Where a folder is, what it contains, and its bounds.
fn contents(folder: &CacheFolder) -> String {
    let path = folder.path.display();
    let files = folder.files().unwrap_or_default();
    let is_entry = |file: &&CacheFile| matches!(file.kind, CacheFileKind::Kernel | CacheFileKind::Literals);
    let entries: Vec<&CacheFile> = files.iter().filter(is_entry).collect();
    let bytes = entries.iter().map(|file| file.bytes).sum();
    let damaged = entries.iter().filter(|file| file.flaw.is_some()).count();
    let damaged = if damaged > 0 { format!(", {damaged} damaged") } else { String::new() };
    if folder.is_shared {
        return format!("{path}: {} entries, {}{damaged}", entries.len(), text::bytes(bytes));
    }
    let (max_entries, max_bytes) = bounds(CacheLevel::Disk);
    let max_bytes = text::bytes(max_bytes.unwrap_or(u64::MAX));
    format!(
        "{path}, writable: {} entries of {max_entries}, {} of {max_bytes}{damaged}",
        entries.len(),
        text::bytes(bytes)
    )
}
