//! The file by which profilers name generated code: `/tmp/perf-PID.map`, of Linux's `perf` ("jit-interface.txt" in its
//! sources). Written if `JIT_PERF_MAP` asks for it; without it samples in kernels have addresses and no names.
//!
//! A line has the first address and the size of a kernel's code in hexadecimal digits, and its name. Code that is freed
//! stays in the file; `perf` takes the last line for an address.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::backend::Executable;
use crate::config;
use crate::log::{self, Level};
use crate::stats::Facts;

/// What is behind the name of code that was compiled again with more effort, or for values that it often has.
const BETTER: &str = " again";

/// Names the first code of a kernel.
pub(super) fn note(facts: &Facts, code: &dyn Executable) {
    note_as(facts, code, "");
}

/// Names later code of a kernel.
pub(super) fn note_better(facts: &Facts, code: &dyn Executable) {
    note_as(facts, code, BETTER);
}

fn note_as(facts: &Facts, code: &dyn Executable, suffix: &str) {
    let Some(range) = code.addresses().filter(|_| config::get().is_perf_map_on) else { return };
    // A line has one name.
    let label = facts.label.as_str().replace(['\n', '\r'], " ");
    let line = format!("{:x} {:x} {label} ({:016x}){suffix}\n", range.start, range.len(), facts.hash);
    let path = PathBuf::from(format!("/tmp/perf-{}.map", std::process::id()));
    if let Err(error) = append(&path, &line) {
        static HAS_WARNED: Once = Once::new();
        let path = path.display();
        HAS_WARNED.call_once(|| log::emit(Level::Warn, || format!("JIT_PERF_MAP: {path} cannot be written: {error}")));
    }
}

/// Adds a line by one write, so that threads need no lock, and a process that forks holds none.
fn append(path: &Path, line: &str) -> io::Result<()> {
    static IS_FRESH: Once = Once::new();
    // What an earlier process of this number has left. Anybody may write to the folder, so no link is followed, and
    // what belongs to others remains and is an error.
    IS_FRESH.call_once(|| _ = fs::remove_file(path));
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(path)?.write_all(line.as_bytes())
}
