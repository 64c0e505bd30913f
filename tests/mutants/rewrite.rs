//! Creates a copy of the sources in which all mutants are compiled, each behind a test whether it is on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::list::{Mutant, locate};

/// The variable with the number of the active mutant.
pub(crate) const VARIABLE: &str = "MUTANT";

/// Folders that are not copied, besides those whose names begin with `target`.
const LEFT_OUT: [&str; 2] = [".git", "out"];

/// The additional module of the copy, which returns whether a mutant is on.
const MODULE: &str = r#"//! Whether a mutant is on.
#![allow(missing_docs)]
use std::sync::LazyLock;

pub fn on(number: u32) -> bool {
    static ACTIVE: LazyLock<u32> =
        LazyLock::new(|| std::env::var("MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0));
    *ACTIVE == number
}
"#;

/// Writes the copy. Unchanged files keep their time, so that little is recompiled.
pub(crate) fn write(root: &Path, copy: &Path, mutants: &[Mutant]) -> Result<(), String> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    read_folder(root, "", &mut files)?;
    let changed: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
    for file in changed {
        let of_file: Vec<&Mutant> = mutants.iter().filter(|mutant| mutant.file == file).collect();
        let bytes = files.get_mut(file).ok_or_else(|| format!("{}: there is no {file}", of_file[0].place))?;
        *bytes = mutated(&String::from_utf8_lossy(bytes), &of_file)?.into_bytes();
    }
    files.insert("jit-runtime/src/mutant.rs".to_owned(), MODULE.into());
    if let Some(bytes) = files.get_mut("jit-runtime/src/lib.rs") {
        bytes.extend_from_slice(b"\npub mod mutant;\n");
    }
    remove_others(copy, "", &files)?;
    for (file, bytes) in files {
        let path = copy.join(&file);
        if fs::read(&path).is_ok_and(|old| old == bytes) {
            continue;
        }
        let written = fs::create_dir_all(path.parent().unwrap_or(copy)).and_then(|()| fs::write(&path, bytes));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<(String, bool)>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let entry = |entry: fs::DirEntry| Some((entry.file_name().into_string().ok()?, entry.path().is_dir()));
    Ok(entries
        .filter_map(|found| entry(found.ok()?))
        .filter(|(name, is_folder)| !(*is_folder && is_left_out(name)))
        .collect())
}

fn is_left_out(folder: &str) -> bool {
    LEFT_OUT.contains(&folder) || folder.starts_with("target")
}

fn read_folder(root: &Path, folder: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    for (name, is_folder) in entries(&root.join(folder))? {
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if is_folder {
            read_folder(root, &path, files)?;
        } else {
            let bytes = fs::read(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
            files.insert(path, bytes);
        }
    }
    Ok(())
}

/// Removes files of an earlier copy.
fn remove_others(copy: &Path, folder: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    if !copy.join(folder).exists() {
        return Ok(());
    }
    for (name, is_folder) in entries(&copy.join(folder))? {
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if is_folder {
            remove_others(copy, &path, files)?;
        } else if !files.contains_key(&path) {
            fs::remove_file(copy.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        }
    }
    Ok(())
}

/// The text of a file with all its mutants.
pub(crate) fn mutated(source: &str, mutants: &[&Mutant]) -> Result<String, String> {
    let mut located = Vec::new();
    for mutant in mutants {
        located.push((locate(mutant, source)?, *mutant));
    }
    // Longer ones first, since others may be nested in them.
    located.sort_by_key(|(range, mutant)| (range.start, std::cmp::Reverse(range.end), mutant.number));
    let mut text = with_mutants(source, 0..source.len(), &located)?;
    // Code that queries an environment variable is not constant.
    for name in located.iter().filter_map(|(range, _)| constant_around(&source[..range.start])) {
        text = text.replacen(&format!("const fn {name}("), &format!("fn {name}("), 1);
    }
    Ok(text)
}

/// The name of the function that is open at the end of a text, if it is a `const` one.
fn constant_around(text: &str) -> Option<&str> {
    let (before, function) = text.rsplit_once(" fn ")?;
    before.ends_with("const").then(|| function.split('(').next()).flatten()
}

/// A part of a source with the mutants in it, which are in order.
fn with_mutants(source: &str, part: Range<usize>, located: &[(Range<usize>, &Mutant)]) -> Result<String, String> {
    let (mut text, mut end, mut rest) = (String::new(), part.start, located);
    while let Some((range, first)) = rest.first() {
        let same = rest.iter().take_while(|(other, _)| other == range).count();
        let inner = rest[same..].iter().take_while(|(other, _)| other.start < range.end).count();
        let (here, inside) = (&rest[..same], &rest[same..same + inner]);
        if let Some((_, other)) = inside.iter().find(|(other, _)| other.end > range.end) {
            return Err(format!("{} and {} overlap", first.place, other.place));
        }
        if let Some((_, other)) =
            inside.first().filter(|_| here.iter().any(|(_, it)| it.replacement.contains(VARIABLE)))
        {
            return Err(format!(
                "{} replaces the text that {} changes: include less of its context",
                first.place, other.place
            ));
        }
        text.push_str(&source[end..range.start]);
        text.push_str(&switched(with_mutants(source, range.clone(), inside)?, here)?);
        (end, rest) = (range.end, &rest[same + inner..]);
    }
    text.push_str(&source[end..part.end]);
    Ok(text)
}

/// An expression, statement or other piece of source, or its replacement by the active mutant.
fn switched(original: String, mutants: &[(Range<usize>, &Mutant)]) -> Result<String, String> {
    let is_on = |mutant: &Mutant| {
        let path = if mutant.file.starts_with("jit-runtime/") { "crate" } else { "jit_runtime" };
        format!("{path}::mutant::on({})", mutant.number)
    };
    // For a variable, the assigned value is selected.
    let (variable, original) = match original.split_once(" = ") {
        Some((variable, value)) if variable.starts_with("let ") => (format!("{variable} = "), value.to_owned()),
        _ => (String::new(), original),
    };
    let mut text = String::new();
    for (_, mutant) in mutants {
        let replacement = mutant.replacement.as_str();
        if replacement.contains(VARIABLE) {
            return match mutants.len() {
                1 => Ok(replacement.replace(VARIABLE, &is_on(mutant))),
                _ => Err(format!("{}: another mutant changes the same text", mutant.place)),
            };
        }
        let replacement = replacement.strip_prefix(&variable).unwrap_or(replacement);
        let replacement = if variable.is_empty() { replacement } else { replacement.trim_end_matches(';') };
        text.push_str(&format!("if {} {{ {replacement} }} else ", is_on(mutant)));
    }
    Ok(match (variable.is_empty(), original.trim_end().strip_suffix(';')) {
        (false, Some(value)) => format!("{variable}{text}{{ {value} }};"),
        (_, Some(_)) => format!("{text}{{ {original} }}"),
        (_, None) => format!("({text}{{ {original} }})"),
    })
}
