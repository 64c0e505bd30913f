//! Small changes of semantics, each of which must make a test fail:
//! `cargo test -p jit --test mutants -- [FILE…|NUMBER…]`.
//!
//! The sources are copied to `target/mutants`, with all mutants of the lists next to this file compiled into one build.
//! Only the copy queries an environment variable that selects the active mutant. Each mutant first runs the tests that
//! should kill it, then wider ones. A mutant that no test kills is an error, unless the list states why it is
//! equivalent. So is a mutant that is killed although it was declared equivalent.
//!
//! Further words select mutants: by number, by a part of their file's path, or by that of their list. `--near` omits
//! the wider tests.
//!
//! | file | what |
//! |---|---|
//! | `*.txt` | the lists, one for each part of the project |
//! | `list.rs` | reads them |
//! | `rewrite.rs` | writes the copy |
//! | `run.rs` | builds it, and runs tests |
#![allow(clippy::print_stdout, reason = "this program prints the result of each mutant")]

mod list;
mod rewrite;
mod run;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use list::{Mutant, Tests};
use run::{Binaries, Outcome};

/// The tests that are run if those that a list names find nothing, in this order.
const WIDER: [&str; 10] = [
    "jit-runtime/lib",
    "jit-core/lib",
    "jit-core/control",
    "jit-core/structured",
    "conformance",
    "freeze",
    "evaluation",
    "operations",
    "api",
    "library",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match check(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Whether each of the mutants that the arguments select is killed, or equivalent.
fn check(arguments: &[String]) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (options, words): (Vec<&String>, Vec<&String>) = arguments.iter().partition(|word| word.starts_with("--"));
    let is_near = options.iter().any(|option| *option == "--near");
    let all = list::read(&root.join("tests/mutants"))?;
    let selected: Vec<&Mutant> = all.iter().filter(|mutant| is_selected(mutant, &words)).collect();
    let folder = root.join("target/mutants");
    rewrite::write(root, &folder.join("tree"), &all)?;
    let binaries = Binaries::build(&folder.join("tree"), &folder.join("build"), folder.join("output"))?;
    let usual = without_mutants(&binaries, &selected, is_near)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for mutant in selected {
        let killed = killed_by(&binaries, mutant, &usual, is_near)?;
        let (count, text) = match (&killed, &mutant.equivalent) {
            (Some(by), None) => ("killed", format!("killed by {by}")),
            (Some(by), Some(_)) => ("wrongly equivalent", format!("marked as equivalent, but killed by {by}")),
            (None, Some(_)) => ("equivalent", "equivalent".to_owned()),
            (None, None) => ("survived", format!("SURVIVED: {} -> {}", mutant.original, mutant.replacement)),
        };
        let line = format!("{} {} {}: {text}", mutant.number, mutant.place, mutant.file);
        println!("{line}");
        *counts.entry(count).or_default() += 1;
        if killed.is_some() == mutant.equivalent.is_some() {
            wrong.push(line);
        }
    }
    println!("== {counts:?}");
    wrong.iter().for_each(|line| println!("{line}"));
    Ok(wrong.is_empty())
}

fn is_selected(mutant: &Mutant, words: &[&String]) -> bool {
    let is_meant = |word: &String| match word.parse() {
        Ok(number) => mutant.number == number,
        Err(_) => mutant.file.contains(word.as_str()) || mutant.place.contains(word.as_str()),
    };
    words.is_empty() || words.iter().any(|word| is_meant(word))
}

/// The tests that may kill a mutant; those that should kill it come first.
fn tests_of(mutant: &Mutant, is_near: bool) -> Vec<Tests> {
    let wider = |binary: &&str| Tests { binary: (*binary).to_owned(), filters: Vec::new() };
    let wider = WIDER.iter().filter(|_| !is_near || mutant.tests.is_empty()).map(wider);
    let mut tests = mutant.tests.clone();
    // Lower layers are not tested by the tests of higher ones.
    tests.extend(wider.filter(|tests| mutant.file.starts_with("jit-runtime/") || tests.binary != "jit-runtime/lib"));
    tests
}

/// How long tests take without a mutant; an error if one fails.
fn without_mutants(
    binaries: &Binaries,
    selected: &[&Mutant],
    is_near: bool,
) -> Result<BTreeMap<Tests, Duration>, String> {
    let mut usual = BTreeMap::new();
    for mutant in selected {
        for tests in tests_of(mutant, is_near) {
            if usual.contains_key(&tests) {
                continue;
            }
            match binaries.run(0, &tests, None).map_err(|error| format!("{}: {error}", mutant.place))? {
                Outcome::Passed { tests: 0, .. } => {
                    return Err(format!("{}: there is no test `{tests}`", mutant.place));
                }
                Outcome::Passed { time, .. } => drop(usual.insert(tests, time)),
                Outcome::Failed(what) => return Err(format!("without a mutant: {what}")),
            }
        }
    }
    Ok(usual)
}

/// The tests that kill a mutant.
fn killed_by(
    binaries: &Binaries,
    mutant: &Mutant,
    usual: &BTreeMap<Tests, Duration>,
    is_near: bool,
) -> Result<Option<String>, String> {
    for tests in tests_of(mutant, is_near) {
        let limit = usual.get(&tests).copied().map(run::patience);
        if let Outcome::Failed(by) = binaries.run(mutant.number, &tests, limit)? {
            return Ok(Some(by));
        }
    }
    Ok(None)
}
