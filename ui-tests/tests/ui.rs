//! Compiles right and wrong programs that use `jit`, and compares the compiler's output.
//!
//! A case is in `tests/<topic>/fail/` or `tests/<topic>/pass/`. The first line of a failing one contains the expected
//! message. The `.stderr` next to it contains the whole output of the pinned compiler, and is rewritten by
//! `TRYBUILD=overwrite`.

#![allow(clippy::panic, reason = "test helpers may panic, too")]

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn messages() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/*/fail/*.rs");
    cases.pass("tests/*/pass/*.rs");
}

/// The failing cases and the compiler's output for each.
fn failing() -> Vec<(PathBuf, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let topics =
        fs::read_dir(root).expect("the folder of the tests").map(|entry| entry.expect("an entry").path().join("fail"));
    let cases =
        topics.filter_map(|topic| fs::read_dir(topic).ok()).flatten().map(|entry| entry.expect("an entry").path());
    let sources = cases.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources
        .map(|path| {
            let source = fs::read_to_string(&path).expect("a case");
            let stderr = fs::read_to_string(path.with_extension("stderr")).expect("each case has its .stderr");
            (path, source, stderr)
        })
        .collect()
}

#[test]
fn each_case_gets_the_message_that_it_wants() {
    let cases = failing();
    assert!(cases.len() >= 60, "only {} cases were found", cases.len());
    for (path, source, stderr) in cases {
        let first = source.lines().next().unwrap_or_default();
        let wanted = first.strip_prefix("// wanted: ").unwrap_or_else(|| panic!("{} expects nothing", path.display()));
        // The compiler writes the path of a type if there are several types of that name.
        let stderr_text = stderr.replace("jit::Array", "Array");
        assert!(stderr_text.contains(wanted), "{}: “{wanted}” is missing in:\n{stderr}", path.display());
    }
}

#[test]
fn messages_point_at_the_users_tokens() {
    for (path, source, stderr) in failing() {
        assert!(!stderr.contains("originates in"), "{}:\n{stderr}", path.display());
        let shows_helper = stderr.contains("__jit_") && !source.contains("__jit_");
        assert!(!shows_helper, "{} shows a helper:\n{stderr}", path.display());
        let lines: Vec<&str> = stderr.lines().collect();
        for pair in lines.windows(2) {
            let marked_code = pair[0].split_once('|').map_or("", |(_, code)| code.trim());
            let is_blamed = pair[1].split_once('|').is_some_and(|(_, marks)| marks.trim_start().starts_with('^'));
            let is_about_the_attribute = path.ends_with("given_twice.rs");
            let blames = marked_code == "#[jit]" && is_blamed && !is_about_the_attribute;
            assert!(!blames, "{} blames the attribute:\n{stderr}", path.display());
        }
    }
}
