//! `jit cache why [HASH]`: why programs here do not find a kernel.

use jit_runtime::cache::{CacheFileKind, CacheHost, Miss, MissReason};
use serde::Serialize;

use super::entries::{Entry, all, find};
use crate::output::{Failure, Output, Status};

#[derive(Serialize)]
struct Answer {
    hash: String,
    label: String,
    /// Whether programs here find it.
    found: bool,
    reasons: Vec<Reason>,
    /// The launches that it was made for, where that depends on sizes.
    conditions: Vec<&'static str>,
}

#[derive(Serialize)]
struct Reason {
    part: &'static str,
    message: String,
    remedy: String,
}

#[derive(Serialize)]
struct Answers {
    /// Why no program here reads the disk, if that is so.
    switched_off: Option<String>,
    entries: Vec<Answer>,
}

pub(super) fn run(hash: Option<&str>, output: &mut Output) -> Result<Status, Failure> {
    let is_kernel = |entry: &Entry| entry.file.kind == CacheFileKind::Kernel;
    let entries = match hash {
        Some(hash) => vec![find(hash)?],
        None => all()?.into_iter().filter(is_kernel).collect(),
    };
    let host = CacheHost::detect();
    let answers = Answers {
        switched_off: jit_runtime::config::check_cache_on_disk().err().map(|value| format!("JIT_CACHE={value}")),
        entries: entries.iter().map(|entry| answer(entry, &host)).collect(),
    };
    output.write(&answers, |output| write(&answers, hash.is_none(), output))?;
    Ok(Status::Good)
}

fn answer(entry: &Entry, host: &CacheHost) -> Answer {
    let kernel = entry.file.kernel.as_ref();
    let misses = kernel.map(|kernel| kernel.misses(host)).unwrap_or_default();
    let mut reasons: Vec<Reason> = misses.into_iter().map(reason).collect();
    if let Some(flaw) = &entry.file.flaw {
        let remedy = "nothing: programs that need it remove it, and compile it again; so does `jit cache clear`";
        reasons.insert(0, Reason { part: "file", message: flaw.clone(), remedy: remedy.to_owned() });
    }
    Answer {
        hash: entry.short_hash().to_owned(),
        label: entry.label(),
        found: reasons.is_empty(),
        reasons,
        conditions: kernel.map(|kernel| kernel.conditions()).unwrap_or_default(),
    }
}

fn reason(miss: Miss) -> Reason {
    let part = match miss.reason {
        MissReason::CodeGenerator => "library",
        MissReason::Llvm => "LLVM",
        MissReason::Driver => "driver",
        MissReason::Processor => "processor",
        MissReason::Options => "options",
        _ => "key",
    };
    Reason { part, message: miss.message, remedy: miss.remedy }
}

fn write(answers: &Answers, is_summary: bool, output: &mut Output) -> Result<(), Failure> {
    if let Some(setting) = &answers.switched_off {
        output.line(format_args!("programs in this environment read no kernel from disk: {setting} is set"))?;
    }
    for answer in answers.entries.iter().filter(|answer| !is_summary || !answer.found) {
        let Answer { hash, label, .. } = answer;
        if answer.found {
            output.line(format_args!("{hash} `{label}` is found by programs here"))?;
            for condition in &answer.conditions {
                output.line(format_args!("  it was made for {condition}; others have code of their own"))?;
            }
            continue;
        }
        output.line(format_args!("{hash} `{label}` is not found by programs here"))?;
        for Reason { part, message, remedy } in &answer.reasons {
            output.line(format_args!("  {part}: {message}"))?;
            output.line(format_args!("    help: {remedy}"))?;
        }
    }
    if is_summary {
        let found = answers.entries.iter().filter(|answer| answer.found).count();
        output.line(format_args!("{found} of {} kernels are found by programs here", answers.entries.len()))?;
    }
    Ok(())
}
