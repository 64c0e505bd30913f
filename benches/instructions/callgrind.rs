//! Runs this executable under valgrind, and reads its counts.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Instructions of one run of each program, in the order in which they ran.
pub(crate) type Counts = Vec<(String, u64)>;

/// Counts the programs with these names.
pub(crate) fn count(names: &[&str]) -> Result<Counts, String> {
    let folder = std::env::temp_dir().join(format!("jit-instructions-{}", std::process::id()));
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
    let counts = run(names, &folder).and_then(|()| totals(names, &folder));
    // The folder is in the system's directory for temporary files; a leftover one is harmless.
    let _ = std::fs::remove_dir_all(&folder);
    counts
}

/// Runs the executable under valgrind, with a fixed value for every setting that could change the executed code.
fn run(names: &[&str], folder: &Path) -> Result<(), String> {
    let executable = std::env::current_exe().map_err(|error| format!("the executable has no path: {error}"))?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--collect-atstart=no", "--error-exitcode=3", "--log-file=/dev/null"]);
    command.args(["--toggle-collect=instructions::counted*", "--dump-before=instructions::finished*"]);
    command.arg(format!("--callgrind-out-file={}", folder.join("out").display()));
    command.arg(executable).arg(crate::CHILD).args(names);
    for (name, _) in std::env::vars_os() {
        // The location of the LLVM library does not affect the counts.
        if name.to_string_lossy().starts_with("JIT_") && name != "JIT_LLVM_PATH" {
            command.env_remove(name);
        }
    }
    command.env("JIT_THREADS", "1").env("JIT_TIER", "quick");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the programs under valgrind: {status}")),
        Err(error) => Err(format!("cannot run valgrind, which counts instructions: {error}; install it")),
    }
}

/// Reads the dumps, one for each program.
fn totals(names: &[&str], folder: &Path) -> Result<Counts, String> {
    let total = |(index, name): (usize, &&str)| {
        let dump = folder.join(format!("out.{}", index + 1));
        let total = total(&dump).ok_or(format!("{} has no count of `{name}`", dump.display()))?;
        if total == 0 {
            return Err(format!("valgrind counted nothing in `{name}`; it finds the code by the names of functions"));
        }
        Ok(((*name).to_owned(), total / crate::REPEATS))
    };
    names.iter().enumerate().map(total).collect()
}

fn total(dump: &PathBuf) -> Option<u64> {
    let text = std::fs::read_to_string(dump).ok()?;
    let line = text.lines().rev().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")))?;
    line.trim().parse().ok()
}
