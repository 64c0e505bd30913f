//! `jit cache ls` and `jit cache top`.

use std::cmp::Reverse;
use std::time::SystemTime;

use jit_runtime::cache::{CacheFolder, CacheLevel};
use serde::Serialize;

use super::entries::{Entry, View, all};
use crate::arguments::Order;
use crate::output::{Failure, Output, Status};
use crate::text;

#[derive(Serialize)]
struct Listing {
    entries: Vec<View>,
    /// The bounds of the user's own folder.
    max_entries: usize,
    max_bytes: Option<u64>,
}

impl Listing {
    fn of(entries: &[Entry]) -> Listing {
        let (max_entries, max_bytes) = jit_runtime::cache::bounds(CacheLevel::Disk);
        Listing { entries: entries.iter().map(Entry::view).collect(), max_entries, max_bytes }
    }
}

pub(super) fn ls(output: &mut Output) -> Result<Status, Failure> {
    let entries = all()?;
    let listing = Listing::of(&entries);
    output.write(&listing, |output| {
        if entries.is_empty() {
            return output.line(empty());
        }
        table(&entries, output)?;
        output.line("")?;
        CacheFolder::all().iter().try_for_each(|folder| output.line(sums(folder, &entries, &listing)))
    })?;
    Ok(Status::Good)
}

pub(super) fn top(by: Order, count: usize, output: &mut Output) -> Result<Status, Failure> {
    let mut entries = all()?;
    match by {
        Order::Saved => entries.sort_by_key(|entry| Reverse((entry.file.time_saved(), entry.file.cost))),
        Order::Size => entries.sort_by_key(|entry| Reverse(entry.file.bytes)),
    }
    entries.truncate(count);
    output.write(&Listing::of(&entries), |output| {
        if entries.is_empty() { output.line(empty()) } else { table(&entries, output) }
    })?;
    Ok(Status::Good)
}

fn table(entries: &[Entry], output: &mut Output) -> Result<(), Failure> {
    let now = SystemTime::now();
    let head = ["hash", "label", "size", "compiling", "uses", "saved", "last use", "target", ""];
    let row = |entry: &Entry| {
        let file = &entry.file;
        let shared = entry.folder.is_shared.then(|| "shared".to_owned());
        vec![
            entry.short_hash().to_owned(),
            entry.label(),
            text::bytes(file.bytes),
            text::duration(file.cost),
            file.uses.to_string(),
            text::duration(file.time_saved()),
            text::age(file.last_used, now),
            entry.level(),
            file.flaw.clone().or(shared).unwrap_or_default(),
        ]
    };
    output.table(&head, entries.iter().map(row), &[2, 3, 4, 5])
}

fn empty() -> String {
    let names: Vec<String> = CacheFolder::all().iter().map(|folder| folder.path.display().to_string()).collect();
    match names.len() {
        0 => "there is no folder for kernels: neither HOME nor XDG_CACHE_HOME is set, and JIT_CACHE_DIR neither".into(),
        _ => format!("no kernels in {}", names.join(" and ")),
    }
}

fn sums(folder: &CacheFolder, entries: &[Entry], listing: &Listing) -> String {
    let own = entries.iter().filter(|entry| entry.folder == *folder);
    let (count, bytes) = own.fold((0, 0), |(count, bytes), entry| (count + 1, bytes + entry.file.bytes));
    let path = folder.path.display();
    if folder.is_shared {
        return format!("{count} entries, {} in the shared folder {path}", text::bytes(bytes));
    }
    let bounds = format!(
        "of {}, {} of {}",
        listing.max_entries,
        text::bytes(bytes),
        text::bytes(listing.max_bytes.unwrap_or(u64::MAX))
    );
    format!("{count} entries {bounds} in {path}")
}
