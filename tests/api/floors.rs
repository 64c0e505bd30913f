//! The crates form layers, and so do the parts of each: none depends on a higher one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Each crate, its folder, and the crates of the workspace that it may use.
const FLOORS: [(&str, &str, &[&str]); 9] = [
    ("ptx-interpreter", "ptx-interpreter", &[]),
    ("fake-cuda", "fake-cuda", &["ptx-interpreter"]),
    ("jit-runtime", "jit-runtime", &["fake-cuda", "ptx-interpreter"]),
    ("jit-macros", "jit-macros", &[]),
    ("jit-core", "jit-core", &["jit-runtime"]),
    ("jit", ".", &["fake-cuda", "jit-core", "jit-macros", "jit-runtime"]),
    ("jit-c", "jit-c", &["jit-core", "jit-runtime"]),
    ("jit-cli", "jit-cli", &["fake-cuda", "jit-runtime"]),
    ("ui-tests", "ui-tests", &["jit"]),
];

/// The names in the sections of a manifest that list dependencies.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut section = String::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']').to_owned();
            let table = section.split_once("dependencies.").map(|(_, name)| name.to_owned());
            names.extend(table.filter(|_| !section.starts_with("workspace")));
        } else if section.ends_with("dependencies") && !section.starts_with("workspace") {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default().trim_matches('"');
            names.extend(Some(name.to_owned()).filter(|name| !name.is_empty() && !name.starts_with('#')));
        }
    }
    names
}

#[test]
fn no_crate_depends_upwards() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, folder, allowed) in FLOORS {
        let manifest = fs::read_to_string(root.join(folder).join("Cargo.toml")).expect("a manifest");
        let used = dependencies(&manifest);
        assert!(!used.is_empty(), "{name} has dependencies");
        let ours = used.iter().filter(|used| FLOORS.iter().any(|(other, ..)| other == used));
        for used in ours {
            assert!(allowed.contains(&used.as_str()), "{name} depends on {used}, which is not beneath it");
        }
    }
}

#[test]
fn every_crate_of_the_workspace_has_its_floor() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the manifest of the workspace");
    let (_, members) = manifest.split_once("members = [").expect("the members");
    let (members, _) = members.split_once(']').expect("the end of the members");
    for member in members.split(',').map(|member| member.trim().trim_matches('"')).filter(|member| !member.is_empty()) {
        assert!(FLOORS.iter().any(|(_, folder, _)| *folder == member), "{member} has no floor");
    }
}

/// The layers of the crates whose parts are layered, lowest first: files and folders of `src`. Each refers only to
/// those before it; `lib.rs` refers to all.
const PARTS: [(&str, &[&str]); 2] = [
    (
        "jit-runtime",
        &[
            "sync",
            "fork",
            "site",
            "error",
            "float_mode",
            "clock",
            "cancel",
            "config",
            "current_device",
            "log",
            "dump",
            "ir",
            "memory",
            "report",
            "stats",
            "backend",
            "cache",
            "machine",
            "launch",
            "device",
            "recording",
            "profile",
            "file_tests",
        ],
    ),
    (
        "jit-core",
        &[
            "fork",
            "thread_state",
            "misuse",
            "size",
            "graph",
            "capture",
            "trace",
            "traverse",
            "schedule",
            "array",
            "autodiff",
            "evaluate",
            "profile",
            "control",
            "calls",
            "freeze",
            "executor",
            "check",
        ],
    ),
];

/// Every source file under a folder, with its path below that folder.
fn sources(folder: &Path, below: &str, found: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.unwrap()).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().into_string().expect("a name in Unicode");
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if entry.path().is_dir() {
            sources(&entry.path(), &path, found);
        } else if name.ends_with(".rs") {
            found.push((path, fs::read_to_string(entry.path()).expect("a source file")));
        }
    }
}

/// A source without comments, and without its tests at the end, which may refer to anything.
fn code(source: &str) -> String {
    let end = source.find("\n#[cfg(test)]\nmod tests").unwrap_or(source.len());
    source[..end].lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The modules of a file: `trace/fold/mod.rs` is `trace::fold`.
fn module(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    parts.pop_if(|last| *last == "mod");
    parts
}

/// The first names of a list of imports, `{a::b, c, d::{e, f}}` being that of `a`, `c` and `d`.
fn first_names(list: &str) -> Vec<&str> {
    let (mut depth, mut names, mut is_start) = (0, Vec::new(), true);
    for (position, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_start = true,
            _ if is_start && !character.is_whitespace() => {
                names.push(identifier(&list[position..]));
                is_start = false;
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The names that a file uses at the root of its crate: in paths that begin with `crate`, or with as many `super` as
/// lead there.
fn names_at_the_root(code: &str, depth: usize) -> BTreeSet<&str> {
    let up = "super::".repeat(depth);
    let mut names = BTreeSet::new();
    for root in ["crate::", &up] {
        for (position, _) in code.match_indices(root) {
            let before = code[..position].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | ':')) {
                continue;
            }
            let rest = &code[position + root.len()..];
            match rest.strip_prefix('{') {
                Some(list) => names.extend(first_names(list)),
                None => _ = names.insert(identifier(rest)),
            }
        }
    }
    names
}

/// The names that `lib.rs` re-exports from its parts, and which part each of them comes from.
fn handed_on(lib: &str) -> BTreeMap<&str, &str> {
    let statements = lib.split(';').filter_map(|statement| statement.split_once("pub use ").map(|(_, path)| path));
    let mut names = BTreeMap::new();
    for path in statements {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let words = path.split(|c: char| !is_name(c)).filter(|word| !word.is_empty());
        words.for_each(|word| _ = names.entry(word).or_insert_with(|| identifier(path)));
    }
    names
}

#[test]
fn no_part_of_a_crate_names_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut upward = Vec::new();
    for (name, floors) in PARTS {
        let (mut files, mut arrows) = (Vec::new(), 0);
        sources(&root.join(name).join("src"), "", &mut files);
        let lib = files.iter().find(|(path, _)| path == "lib.rs").map(|(_, source)| code(source)).expect("lib.rs");
        let handed_on = handed_on(&lib);
        for (path, source) in files.iter().filter(|(path, _)| path != "lib.rs") {
            let module = module(path);
            let is_test = module.contains(&"tests");
            let own = floors.iter().position(|floor| *floor == module[0]);
            let own = own.unwrap_or_else(|| panic!("{name}/src/{path} is on no floor"));
            let code = code(source);
            for used in names_at_the_root(&code, module.len()).into_iter().filter(|_| !is_test) {
                let part = handed_on.get(used).filter(|_| !floors.contains(&used)).unwrap_or(&used);
                let floor = floors.iter().position(|floor| floor == part);
                let floor = floor.unwrap_or_else(|| panic!("{name}/src/{path} names `{used}`, which is on no floor"));
                arrows += usize::from(floor < own);
                if floor > own {
                    upward.push(format!("{name}/src/{path} names `{used}`"));
                }
            }
        }
        assert!(arrows > 100, "{name}: only {arrows} arrows between its floors were found");
    }
    assert!(upward.is_empty(), "these name parts above them:\n{}", upward.join("\n"));
}

#[test]
fn arrows_are_found_in_all_forms_of_paths() {
    let code = "use crate::{array::{Array, Size}, trees};\nuse super::super::graph;\n\
                let x = crate::freeze::now();\n$crate::size;";
    let names: Vec<&str> = names_at_the_root(code, 2).into_iter().collect();
    assert_eq!(names, ["array", "freeze", "graph", "trees"]);
}
