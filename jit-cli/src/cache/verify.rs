//! `jit cache verify`: whether the files are what was written, and whether compiling makes the same code.

use jit_runtime::cache::CacheHost;
use serde::Serialize;

use super::entries::{Entry, all};
use crate::output::{Failure, Output, Status};

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// The checksum is right.
    Intact,
    /// The checksum is right, and compiling makes the same code.
    Reproduced,
    /// Compiling makes other code.
    Differs,
    /// It cannot be compiled here.
    NotCompiled,
    Damaged,
}

#[derive(Serialize)]
struct Verified {
    hash: String,
    label: String,
    outcome: Outcome,
    /// What is wrong, or why it was not compiled.
    reason: Option<String>,
}

pub(super) fn run(compile: bool, output: &mut Output) -> Result<Status, Failure> {
    let host = compile.then(CacheHost::detect);
    let verified: Vec<Verified> = all()?.iter().map(|entry| verify(entry, host.as_ref())).collect();
    output.write(&verified, |output| write(&verified, output))?;
    Ok(Status::bad_if(verified.iter().any(|entry| matches!(entry.outcome, Outcome::Damaged | Outcome::Differs))))
}

fn verify(entry: &Entry, host: Option<&CacheHost>) -> Verified {
    let (outcome, reason) = match (&entry.file.flaw, &entry.file.kernel, host) {
        (Some(flaw), ..) => (Outcome::Damaged, Some(flaw.clone())),
        (None, Some(kernel), Some(host)) => match kernel.is_reproduced(host) {
            Ok(true) => (Outcome::Reproduced, None),
            Ok(false) => (Outcome::Differs, Some("compiling it makes other code".to_owned())),
            Err(error) => (Outcome::NotCompiled, Some(error.message().to_owned())),
        },
        _ => (Outcome::Intact, None),
    };
    Verified { hash: entry.short_hash().to_owned(), label: entry.label(), outcome, reason }
}

fn write(verified: &[Verified], output: &mut Output) -> Result<(), Failure> {
    for Verified { hash, label, outcome, reason } in verified {
        let what = match outcome {
            Outcome::Intact | Outcome::Reproduced => continue,
            Outcome::Damaged => "is damaged",
            Outcome::Differs => "is not reproduced; this is a bug of the library, please report it",
            Outcome::NotCompiled => "was not compiled",
        };
        output.line(format_args!("{hash} `{label}` {what}: {}", reason.as_deref().unwrap_or_default()))?;
    }
    let count = |outcome| verified.iter().filter(|entry| entry.outcome == outcome).count();
    let damaged = count(Outcome::Damaged);
    output.line(format_args!("{} of {} entries are intact", verified.len() - damaged, verified.len()))?;
    if damaged > 0 {
        output.line("  help: programs remove damaged files when they need them; `jit cache clear` removes all")?;
    }
    let compiled = [Outcome::Reproduced, Outcome::Differs, Outcome::NotCompiled].map(count);
    if compiled != [0; 3] {
        let [same, other, none] = compiled;
        output.line(format_args!("compiled again: {same} with the same code, {other} with other code, {none} not"))?;
    }
    Ok(())
}
