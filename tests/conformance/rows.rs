//! The table in `docs/conformance.md` and the tests name each other: a row names tests or says why it needs none, and each of these tests
//! has a marker that names the row, as whoever wrote it has compared the two.
//!
//! A marker is a comment before the test's attributes, right before its `fn`, or at the end of its line: `// rows: C001 C002`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// For each test: the rows that its markers name.
type Markers = BTreeMap<String, BTreeSet<String>>;

/// The markers of all sources in a folder.
fn read_markers(folder: &Path, markers: &mut Markers) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_markers(&path, markers);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            markers_of(&std::fs::read_to_string(path).unwrap(), markers);
        }
    }
}

fn markers_of(text: &str, markers: &mut Markers) {
    let mut rows: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_start) {
        let (code, comment) = line.split_once("// rows:").unwrap_or((line, ""));
        rows.extend(comment.split_whitespace());
        if let Some(name) = function(code) {
            // One that has none may be of a test that has its namesake elsewhere.
            if !rows.is_empty() {
                markers.entry(name.to_owned()).or_default().extend(rows.drain(..).map(str::to_owned));
            }
        } else if !code.is_empty() && !code.starts_with("#[") && !code.starts_with("//") {
            rows.clear();
        }
    }
}

/// The name of the function that a line begins.
fn function(code: &str) -> Option<&str> {
    let code = code.strip_prefix("pub ").unwrap_or(code);
    code.strip_prefix("fn ")?.split_once('(').map(|(name, _)| name)
}

/// The rows of the table: id, and the names of tests; none where it says why.
fn table() -> Vec<(&'static str, Vec<&'static str>)> {
    let table = include_str!("../../docs/conformance.md");
    let is_row = |line: &&str| ["| C", "| F", "| X"].iter().any(|start| line.starts_with(start));
    let row = |line: &'static str| {
        let id = line.split('|').nth(1).unwrap_or_default().trim();
        let tests = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        if tests.trim_start().starts_with("none: ") {
            return (id, Vec::new());
        }
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "a row names no test: {line}");
        (id, names)
    };
    table.lines().filter(is_row).map(row).collect()
}

#[test]
fn every_row_and_its_tests_name_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut markers = Markers::new();
    for folder in ["tests", "jit-core/tests", "jit-core/src", "src", "ui-tests/tests"] {
        read_markers(&root.join(folder), &mut markers);
    }
    let table = table();
    assert!(table.len() > 50, "the table has {} rows", table.len());
    let mut named: Markers = Markers::new();
    for (id, tests) in table {
        for test in tests {
            named.entry(test.to_owned()).or_default().insert(id.to_owned());
        }
    }
    let mut faults = Vec::new();
    for test in named.keys().chain(markers.keys()).collect::<BTreeSet<_>>() {
        let none = BTreeSet::new();
        let (of_table, of_test) = (named.get(test).unwrap_or(&none), markers.get(test).unwrap_or(&none));
        let missing: Vec<_> = of_table.difference(of_test).collect();
        let surplus: Vec<_> = of_test.difference(of_table).collect();
        if !missing.is_empty() {
            faults.push(format!(
                "the table names the test `{test}` for {missing:?}, and it has no such marker, or does not exist"
            ));
        }
        if !surplus.is_empty() {
            faults.push(format!("the test `{test}` is marked for {surplus:?}, whose rows name others"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn markers_belong_to_the_function_that_follows() {
    let mut markers = Markers::new();
    let text = "// rows: C1 C2\n// rows: C3\n#[test]\nfn a() {\n}\n\
                // rows: C4\nconst X: u8 = 1;\nfn b() {}\nfn c() { // rows: C5\n}";
    markers_of(text, &mut markers);
    let rows = |name: &str| markers.get(name).map(|rows| rows.iter().cloned().collect::<Vec<_>>().join(" "));
    assert_eq!([rows("a"), rows("b"), rows("c")], [Some("C1 C2 C3".into()), None, Some("C5".into())]);
}
