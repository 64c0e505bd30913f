//! The lists of mutants: text files next to this one, `*.txt`.
//!
//! ```text
//! file jit-core/src/trace/index_range.rs
//! tests jit-core/lib trace::index_range; conformance gathers
//!
//! - position >= width.value()
//! + position > width.value()
//! ? operations bounds
//! = why no test can kill it
//! ```
//!
//! A mutant is a piece of source that occurs once in its file (`-`), and its replacement (`+`); both may have several
//! lines. If the piece is neither an expression nor a statement that ends with a semicolon, the replacement contains
//! the word `MUTANT` for the test whether the mutant is on. `tests` names the tests that should kill the mutants that
//! follow, `?` those of one mutant: a test binary (`PACKAGE/TARGET`, or a target of the root package) and filters. `=`
//! states why a mutant is equivalent: no program computes anything else.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// A small change of the sources.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// In order of the list, from 1.
    pub(crate) number: usize,
    /// Where the list has it.
    pub(crate) place: String,
    pub(crate) file: String,
    pub(crate) original: String,
    pub(crate) replacement: String,
    /// The tests that should kill it, tried first.
    pub(crate) tests: Vec<Tests>,
    /// Why nothing kills it.
    pub(crate) equivalent: Option<String>,
}

/// Some tests of a test binary.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Tests {
    pub(crate) binary: String,
    /// All tests if there is none.
    pub(crate) filters: Vec<String>,
}

impl std::fmt::Display for Tests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.binary)?;
        self.filters.iter().try_for_each(|filter| write!(f, " {filter}"))
    }
}

/// Reads all lists of a folder, by name.
pub(crate) fn read(folder: &Path) -> Result<Vec<Mutant>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut lists: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    lists.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    lists.sort();
    let mut mutants = Vec::new();
    for list in lists {
        let text = std::fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
        let name = list.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        parse(&name, &text, &mut mutants)?;
    }
    Ok(mutants)
}

/// Appends the mutants of a list.
fn parse(list: &str, text: &str, mutants: &mut Vec<Mutant>) -> Result<(), String> {
    let (mut file, mut tests) = (String::new(), Vec::new());
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let place = format!("tests/mutants/{list}:{number}");
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        if !matches!(kind, "-" | "+" | "=" | "?") {
            is_open = false;
        }
        match (kind, mutants.last_mut().filter(|_| is_open)) {
            ("" | "#", _) => {}
            ("file", _) => (file, tests) = (rest.to_owned(), Vec::new()),
            ("tests", _) => tests = tests_of(rest),
            ("-", Some(mutant)) if mutant.replacement.is_empty() => append(&mut mutant.original, rest),
            ("-", None) => {
                is_open = true;
                mutants.push(Mutant {
                    number: mutants.len() + 1,
                    place,
                    file: file.clone(),
                    original: rest.to_owned(),
                    replacement: String::new(),
                    tests: tests.clone(),
                    equivalent: None,
                });
            }
            ("+", Some(mutant)) => append(&mut mutant.replacement, rest),
            ("?", Some(mutant)) => mutant.tests.splice(0..0, tests_of(rest)).for_each(drop),
            ("=", Some(mutant)) => append(mutant.equivalent.get_or_insert_default(), rest),
            _ => return Err(format!("{place}: not an entry of a list of mutants: {line}")),
        }
    }
    Ok(())
}

fn append(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

fn tests_of(text: &str) -> Vec<Tests> {
    let tests = |part: &str| {
        let mut words = part.split_whitespace().map(str::to_owned);
        Some(Tests { binary: words.next()?, filters: words.collect() })
    };
    text.split(';').filter_map(tests).collect()
}

/// The position of the original of a mutant in the text of its file, which must be unique.
pub(crate) fn locate(mutant: &Mutant, source: &str) -> Result<Range<usize>, String> {
    let Mutant { place, file, original, .. } = mutant;
    let mut found = source.match_indices(original.as_str());
    match (found.next(), found.next()) {
        (Some((begin, _)), None) => Ok(begin..begin + original.len()),
        (None, _) => Err(format!("{place}: {file} has no `{original}`")),
        _ => Err(format!("{place}: `{original}` occurs more than once in {file}: include more of its context")),
    }
}
