//! `jit cache show HASH`.

use std::time::SystemTime;

use serde::Serialize;

use super::entries::{Entry, View, find};
use crate::output::{Failure, Output, Status};
use crate::text;

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    entry: View,
    /// The text of the key, which the kernel follows.
    key: Option<String>,
    compiled_ops: Option<usize>,
    object_bytes: Option<usize>,
    ir: Option<String>,
    asm: Option<String>,
    /// Why something is not shown.
    missing: Vec<String>,
}

pub(super) fn run(hash: &str, output: &mut Output) -> Result<Status, Failure> {
    let entry = find(hash)?;
    let shown = Shown::of(&entry);
    output.write(&shown, |output| write(&entry, &shown, output))?;
    Ok(Status::bad_if(entry.file.flaw.is_some()))
}

impl Shown {
    fn of(entry: &Entry) -> Shown {
        let (kernel, mut missing) = (entry.file.kernel.as_ref(), Vec::new());
        let mut or_missing = |what: &str, text: Result<String, jit_runtime::Error>| match text {
            Ok(text) => Some(text),
            Err(error) => {
                let hint = error.hint().map_or(String::new(), |hint| format!("; {hint}"));
                missing.push(format!("the {what} cannot be shown: {}{hint}", error.message()));
                None
            }
        };
        Shown {
            ir: kernel.and_then(|kernel| or_missing("IR", kernel.ir().map(|ir| ir.to_string()))),
            asm: kernel.and_then(|kernel| or_missing("code", kernel.disassembly())),
            key: kernel.map(|kernel| kernel.key.clone()),
            compiled_ops: kernel.map(|kernel| kernel.compiled_ops),
            object_bytes: kernel.map(|kernel| kernel.object.len()),
            entry: entry.view(),
            missing,
        }
    }
}

fn write(entry: &Entry, shown: &Shown, output: &mut Output) -> Result<(), Failure> {
    let file = &entry.file;
    let mut facts = vec![
        ("hash", file.name.clone()),
        ("label", entry.label()),
        ("file", entry.folder.path.join(&file.name).display().to_string()),
        ("size", format!("{} ({} bytes)", text::bytes(file.bytes), file.bytes)),
        ("compiling", text::duration(file.cost)),
        ("uses", format!("{}, which saved {}", file.uses, text::duration(file.time_saved()))),
        ("last use", text::age(file.last_used, SystemTime::now())),
    ];
    let message_hash = shown.entry.message_hash.clone();
    facts.extend(message_hash.map(|hash| ("hash in messages", hash)));
    facts.extend(shown.compiled_ops.map(|ops| ("operations", ops.to_string())));
    facts.extend(shown.object_bytes.map(|bytes| ("object file", format!("{bytes} bytes"))));
    facts.extend(file.flaw.clone().map(|flaw| ("not used", flaw)));
    for (name, value) in facts {
        output.line(format_args!("{name:<17} {value}"))?;
    }
    section(output, "key", shown.key.as_deref())?;
    section(output, "kernel IR", shown.ir.as_deref())?;
    section(output, "code", shown.asm.as_deref())?;
    shown.missing.iter().try_for_each(|missing| output.line(format_args!("\n{missing}")))
}

fn section(output: &mut Output, name: &str, lines: Option<&str>) -> Result<(), Failure> {
    let Some(lines) = lines else { return Ok(()) };
    output.line(format_args!("\n{name}:"))?;
    lines.lines().try_for_each(|line| output.line(format_args!("  {}", text::plain(line))))
}
