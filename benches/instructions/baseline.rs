//! The file of counts, and the comparison with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::callgrind::Counts;

/// The fraction by which the count of a program may rise.
const TOLERANCE: f64 = 0.03;

const HEADER: &str = "\
# Instructions of one run of each program of `cargo bench --bench instructions`, which fails where one takes 3 % more.
# `BLESS=1 cargo bench --bench instructions` writes this file.
";

/// Prints each count next to that of the file; an error names all programs that take more. `BLESS=1` writes the file.
pub(crate) fn compare(counts: &Counts) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.txt");
    let known = read(&path)?;
    for (name, count) in counts {
        match known.get(name) {
            Some(before) => println!("{name:24}{count:>12}{:>+9.2} %", 100.0 * rise(*before, *count)),
            None => println!("{name:24}{count:>12}      new"),
        }
    }
    match std::env::var_os("BLESS") {
        Some(_) => write(path, known, counts),
        None => check(&known, counts),
    }
}

fn rise(before: u64, now: u64) -> f64 {
    now as f64 / before as f64 - 1.0
}

fn check(known: &BTreeMap<String, u64>, counts: &Counts) -> Result<(), String> {
    let mut faults = Vec::new();
    for (name, count) in counts {
        match known.get(name) {
            None => faults.push(format!("program `{name}` has no count yet")),
            Some(before) if rise(*before, *count) > TOLERANCE => faults.push(format!(
                "program `{name}` executes {count} instructions, {:.1} % more than {before}",
                100.0 * rise(*before, *count)
            )),
            Some(_) => {}
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    let hint = "find out why, or accept it with `BLESS=1 cargo bench --bench instructions`";
    Err(format!("{}\n{hint}", faults.join("\n")))
}

fn read(path: &Path) -> Result<BTreeMap<String, u64>, String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
    };
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| parsed(line).ok_or(line))
        .collect::<Result<_, _>>()
        .map_err(|line| format!("{}: expected a name and a count, found `{line}`", path.display()))
}

fn parsed(line: &str) -> Option<(String, u64)> {
    let (name, count) = line.split_once(' ')?;
    Some((name.to_owned(), count.trim().parse().ok()?))
}

/// Writes the counts, and the previous ones of programs that were not selected in this run.
fn write(path: PathBuf, mut known: BTreeMap<String, u64>, counts: &Counts) -> Result<(), String> {
    known.retain(|name, _| crate::PROGRAMS.iter().any(|program| program.name == name));
    known.extend(counts.iter().cloned());
    let lines: String = known.iter().map(|(name, count)| format!("{name} {count}\n")).collect();
    std::fs::write(&path, format!("{HEADER}{lines}"))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}
