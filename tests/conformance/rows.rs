//! The table in `docs/conformance.md` and the tests refer to each other. A row names tests or states why it needs none.
//! Each of these tests has a marker that names the row, since its author has compared the two. Each of these tests runs
//! on every device, or states why not.
//!
//! A marker is a comment before the test's attributes, right before its `fn`, or at the end of its line:
//! `// rows: C001 C002`. In a program of `ui-tests` it is the last line, and the table names the program by its topic
//! and file: `indexing/fail/float_index`. Why a test runs on no device, or on one, is in the same place:
//! `// no device: nothing is computed`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The facts about one test in the sources.
#[derive(Default)]
struct Marked {
    rows: BTreeSet<String>,
    /// Whether it runs on every device, or states why not.
    is_on_each_device: bool,
}

/// For each test with markers: their contents.
type Markers = BTreeMap<String, Marked>;

/// The functions that run a test on every device, whichever file they are in.
const ON_EACH_DEVICE: [&str; 10] = [
    "on_each_device(",
    "on_each(",
    "in_each_mode!(",
    "alike(",
    "tested_devices::all()",
    "unary(",
    "binary(",
    "ternary(",
    "check_layer(",
    "check_module(",
];

/// The markers of all sources in a folder.
fn read_markers(folder: &Path, markers: &mut Markers) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_markers(&path, markers);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            match program_of(&path) {
                Some(program) => markers_of_program(program, &text, markers),
                None => markers_of(&text, markers),
            }
        }
    }
}

/// The name of a program of `ui-tests`: its topic, whether it passes, and its file.
fn program_of(path: &Path) -> Option<String> {
    let (_, program) = path.to_str()?.split_once("ui-tests/tests/")?;
    program.contains('/').then(|| program.trim_end_matches(".rs").to_owned())
}

/// Only the compiler takes part in these.
fn markers_of_program(program: String, text: &str, markers: &mut Markers) {
    let rows: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("// rows:"))
        .flat_map(|rows| rows.split_whitespace().map(str::to_owned))
        .collect();
    if !rows.is_empty() {
        markers.insert(program, Marked { rows, is_on_each_device: true });
    }
}

fn markers_of(text: &str, markers: &mut Markers) {
    let (mut rows, mut needs_no_device): (Vec<&str>, bool) = (Vec::new(), false);
    for (number, line) in text.lines().map(str::trim_start).enumerate() {
        needs_no_device |= line.starts_with("// no device: ") || line.starts_with("// one device: ");
        let (code, comment) = line.split_once("// rows:").unwrap_or((line, ""));
        rows.extend(comment.split_whitespace());
        if let Some(name) = function(code) {
            // A test without one may belong to a test of the same name elsewhere.
            if !rows.is_empty() {
                let marked = markers.entry(name.to_owned()).or_default();
                marked.rows.extend(rows.drain(..).map(str::to_owned));
                marked.is_on_each_device |= needs_no_device || runs_on_each_device(text, number, 3);
            }
            needs_no_device = false;
        } else if !code.is_empty() && !code.starts_with("#[") && !code.starts_with("//") {
            rows.clear();
            needs_no_device = false;
        }
    }
}

/// The name of the function that begins at a line.
fn function(code: &str) -> Option<&str> {
    let code = code.strip_prefix("pub ").unwrap_or(code);
    code.strip_prefix("fn ")?.split_once(['(', '<']).map(|(name, _)| name)
}

/// Whether the function, or macro, that begins at a line runs code on every device: directly, through other functions
/// of the same file, up to this many calls away, or through the macro that generates a test from it.
fn runs_on_each_device(text: &str, line: usize, calls: usize) -> bool {
    let rest: Vec<&str> = text.lines().skip(line).collect();
    let indentation = rest[0].len() - rest[0].trim_start().len();
    let is_end =
        |line: &&str| line.trim_start().starts_with('}') && line.len() - line.trim_start().len() <= indentation;
    let length = rest.iter().position(is_end).unwrap_or(rest.len());
    let body = rest[..length].join("\n");
    if ON_EACH_DEVICE.iter().any(|call| body.contains(call)) {
        return true;
    }
    let makes_tests = |line: &&str| line.ends_with("! {") && !line.starts_with([' ', '/']);
    let maker = text.lines().take(line).filter(|_| indentation > 0).filter(makes_tests).last();
    let maker = maker.map(|line| line.trim_end_matches(" {").to_owned());
    calls > 0
        && text.lines().enumerate().any(|(at, code)| {
            let name = match code.trim_start().strip_prefix("macro_rules! ") {
                Some(name) => name.split_once(' ').map(|(name, _)| format!("{name}!")),
                None => function(code.trim_start()).map(|name| format!("{name}(")),
            };
            let is_called = |name: &String| body[rest[0].len()..].contains(name) || maker.as_ref() == Some(name);
            at != line && name.as_ref().is_some_and(is_called) && runs_on_each_device(text, at, calls - 1)
        })
}

/// The rows of the table: id, and the names of tests; none if it states why.
fn table() -> Vec<(&'static str, Vec<&'static str>)> {
    let table = include_str!("../../docs/conformance.md");
    let is_row = |line: &&str| {
        let mut start = line.strip_prefix("| ").unwrap_or_default().chars();
        start.next().is_some_and(|letter| "ACEFIKNOPX".contains(letter))
            && start.next().is_some_and(|c| c.is_ascii_digit())
    };
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

fn all_markers() -> Markers {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut markers = Markers::new();
    for folder in [
        "tests",
        "jit-c/tests",
        "jit-cli/tests",
        "jit-core/tests",
        "jit-core/src",
        "jit-runtime/tests",
        "jit-runtime/src",
        "src",
        "ui-tests/tests",
    ] {
        read_markers(&root.join(folder), &mut markers);
    }
    markers
}

#[test]
fn every_row_and_its_tests_name_each_other() {
    let (markers, table) = (all_markers(), table());
    assert!(table.len() > 450, "the table has {} rows", table.len());
    let mut named: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (id, tests) in table {
        for test in tests {
            named.entry(test).or_default().insert(id.to_owned());
        }
    }
    let mut faults = Vec::new();
    for test in named.keys().copied().chain(markers.keys().map(String::as_str)).collect::<BTreeSet<_>>() {
        let none = BTreeSet::new();
        let of_table = named.get(test).unwrap_or(&none);
        let of_test = markers.get(test).map_or(&none, |marked| &marked.rows);
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
fn rows_have_ids_of_their_own() {
    let mut ids = BTreeSet::new();
    let twice: Vec<_> = table().into_iter().map(|(id, _)| id).filter(|id| !ids.insert(*id)).collect();
    assert!(twice.is_empty(), "rows that the table has twice: {twice:?}");
}

#[test]
fn tests_of_rows_run_on_each_device() {
    let markers = all_markers();
    let elsewhere: Vec<_> =
        markers.iter().filter(|(_, marked)| !marked.is_on_each_device).map(|(name, _)| name).collect();
    assert!(elsewhere.is_empty(), "tests that run on the default device alone, and do not say why: {elsewhere:#?}");
}

#[test]
fn markers_belong_to_the_function_that_follows() {
    let mut markers = Markers::new();
    let text = "// rows: C1 C2\n// rows: C3\n#[test]\nfn a() {\n}\n\
                // rows: C4\nconst X: u8 = 1;\nfn b() {}\nfn c() { // rows: C5\n}";
    markers_of(text, &mut markers);
    let rows = |name: &str| markers.get(name).map(|marked| marked.rows.iter().cloned().collect::<Vec<_>>().join(" "));
    assert_eq!([rows("a"), rows("b"), rows("c")], [Some("C1 C2 C3".into()), None, Some("C5".into())]);
}

#[test]
fn devices_of_tests_are_found_through_what_they_call() {
    let mut markers = Markers::new();
    let text = "fn helper(x: u8) {\n    on_each_device(|| ());\n}\n// rows: C1\nfn direct() {\n    alike(1);\n}\n\
                // rows: C1\nfn through() {\n    helper(1);\n}\n// rows: C1\nfn without() {\n    other(1);\n}\n\
                // rows: C1\n// no device: nothing is computed\nfn excused() {\n}\n\
                macro_rules! makes {\n    () => { helper(2) };\n}\nmakes! {\n    // rows: C1\n    fn made() {\n    \
                }\n}";
    markers_of(text, &mut markers);
    let is_on_each = ["direct", "through", "without", "excused", "made"].map(|name| markers[name].is_on_each_device);
    assert_eq!(is_on_each, [true, true, false, true, true]);
}
