//! The table in `docs/conformance.md` names tests that exist, or says why a row needs none.

use std::path::Path;

/// The text of all test sources.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_row_names_a_test_or_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for folder in ["tests", "jit-core/tests", "jit-core/src", "src", "ui-tests"] {
        sources(&root.join(folder), &mut text);
    }
    let table = include_str!("../../docs/conformance.md");
    let is_row = |line: &&str| ["| C", "| F", "| X"].iter().any(|start| line.starts_with(start));
    let rows: Vec<&str> = table.lines().filter(is_row).collect();
    assert!(rows.len() > 50, "the table has {} rows", rows.len());
    for row in rows {
        let tests = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        if tests.trim_start().starts_with("none: ") {
            continue;
        }
        let mut names = tests.split('`').skip(1).step_by(2).peekable();
        assert!(names.peek().is_some(), "a row names no test: {row}");
        for name in names {
            assert!(text.contains(&format!("fn {name}(")), "there is no test {name}: {row}");
        }
    }
}
