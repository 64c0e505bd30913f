//! Checks that the repository's statements about itself are true.

use std::collections::BTreeSet;

/// The variables that a text names in the first cell of a table's line.
fn documented_variables(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.strip_prefix("| `JIT_")?.split('`').next()).collect()
}

// rows: K172
// no device: only the environment is read
#[test]
fn the_readme_lists_every_environment_variable() {
    let readme = include_str!("../README.md");
    let known: BTreeSet<&str> =
        jit_runtime::config::VARIABLES.iter().filter_map(|variable| variable.name.strip_prefix("JIT_")).collect();
    assert_eq!(documented_variables(readme), known);
    for variable in jit_runtime::config::VARIABLES {
        assert!(readme.contains(variable.takes), "what {} takes is not in the README", variable.name);
    }
}

#[test]
fn the_readme_shows_the_function_of_the_example() {
    let example = include_str!("../examples/mandelbrot.rs");
    let begin = example.find("#[jit]\nfn escape_time").expect("the example has the function");
    let end = begin + example[begin..].find("\n}\n").expect("the function ends") + 3;
    assert!(include_str!("../README.md").contains(&example[begin..end]));
}

#[test]
fn every_module_that_the_design_names_is_there() {
    let design = include_str!("../docs/design.md");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let paths: Vec<&str> =
        design.split('`').filter(|text| text.contains("/src/") && !text.contains(['{', ' '])).collect();
    assert!(paths.len() >= 5, "the design names the locations of code");
    for path in paths {
        assert!(root.join(path).exists(), "{path} is named in docs/design.md, but does not exist");
    }
}

#[test]
fn every_thread_local_of_the_language_is_in_the_design() {
    let (_, listed) =
        include_str!("../docs/design.md").split_once("## Thread-locals").expect("a page of thread-locals");
    let (listed, _) = listed.split_once("\n## ").expect("the end of the page");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("jit-core/src");
    let (mut folders, mut found) = (vec![root.clone()], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("a source").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).expect("a source file");
            let is_macro = path.ends_with("thread_state.rs");
            if !is_macro && (source.contains("thread_local! {") || source.contains("thread_state! {")) {
                let name = path.strip_prefix(&root).expect("a path below the sources").display().to_string();
                assert!(
                    listed.contains(&format!("`{name}`")),
                    "{name} has a thread-local that is not in docs/design.md"
                );
                found += 1;
            }
        }
    }
    assert!(found >= 10, "{found} files with thread-locals");
}

/// The source files below a folder.
fn sources(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    entries
        .map(|entry| entry.expect("a source").path())
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .collect()
}

#[test]
fn examples_name_the_crate_that_programs_use() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("jit-core/src");
    // `native` is not visible to programs.
    let shown = sources(&root).into_iter().filter(|path| !path.ends_with("array/native.rs"));
    let mut examples = 0;
    for path in shown {
        let source = std::fs::read_to_string(&path).expect("a source file");
        for line in source.lines().filter_map(|line| line.trim_start().strip_prefix("/// ")) {
            examples += usize::from(line.starts_with("use jit::"));
            let names_inner =
                line.starts_with("use jit_core::") || (line.contains("jit_core::") && line.ends_with(';'));
            assert!(!names_inner, "{}: {line}", path.display());
        }
    }
    assert!(examples > 20, "{examples} examples were found");
}

#[test]
fn the_guide_has_every_page_that_is_not_for_developers() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = include_str!("../src/guide.rs");
    for entry in std::fs::read_dir(root.join("docs")).expect("the pages") {
        let file = entry.expect("a page").file_name().into_string().expect("a name in Unicode");
        let is_for_developers = ["design.md", "conformance.md", "cuda.md"].contains(&&*file);
        let is_shown = guide.contains(&format!("include_str!(\"../docs/{file}\")"));
        assert_eq!(is_shown, !is_for_developers, "docs/{file} is shown: {is_shown}");
    }
    assert!(include_str!("../src/lib.rs").contains("[`guide`]"), "the front page does not lead to the guide");
}

#[test]
fn pages_of_arrays_begin_with_making_and_reading_them() {
    let module = include_str!("../jit-core/src/array/mod.rs");
    let modules: Vec<&str> = module.lines().filter(|line| line.starts_with("mod ")).collect();
    assert_eq!(modules[..2], ["mod make;", "mod read;"]);
}

#[allow(dead_code, reason = "the tests that entries name are for running mutants")]
#[path = "mutants/list.rs"]
mod list;

#[allow(dead_code, reason = "writing the copy is for running mutants")]
#[path = "mutants/rewrite.rs"]
mod rewrite;

#[test]
fn the_text_that_a_mutant_changes_occurs_once_in_its_file() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mutants = list::read(&root.join("tests/mutants")).expect("the lists can be read");
    let mut wrong = Vec::new();
    for mutant in &mutants {
        let located = match std::fs::read_to_string(root.join(&mutant.file)) {
            Ok(source) => list::locate(mutant, &source).map(drop),
            Err(error) => Err(format!("{}: {}: {error}", mutant.place, mutant.file)),
        };
        wrong.extend(located.err());
        if mutant.replacement.is_empty() || mutant.replacement == mutant.original || mutant.tests.is_empty() {
            wrong.push(format!("{}: it has no replacement, no tests, or changes nothing", mutant.place));
        }
    }
    assert!(wrong.is_empty(), "the lists of mutants must follow the code:\n{}", wrong.join("\n"));
    assert!(
        mutants.iter().zip(1..).all(|(mutant, number)| mutant.number == number),
        "mutants are named by their place"
    );
    // All of one file are compiled together, so they must not overlap.
    let files: std::collections::BTreeSet<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
    for file in files {
        let of_file: Vec<&list::Mutant> = mutants.iter().filter(|mutant| mutant.file == file).collect();
        let source = std::fs::read_to_string(root.join(file)).expect("the file of a mutant");
        let mutated = rewrite::mutated(&source, &of_file).and_then(|text| parsed(&text));
        wrong.extend(mutated.err().map(|error| format!("{file}: the lists cannot be built: {error}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let equivalent = mutants.iter().filter(|mutant| mutant.equivalent.is_some()).count();
    assert!(mutants.len() - equivalent >= 150, "{} mutants, {equivalent} of them equivalent", mutants.len());
}

/// Whether the compiler can parse a source: with one mutant that is no expression, none of them compiles.
fn parsed(source: &str) -> Result<(), String> {
    let mut rustfmt = std::process::Command::new("rustfmt")
        .args(["--edition", "2024", "--quiet"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .map_err(|error| format!("rustfmt, a component of the toolchain, cannot be run: {error}"))?;
    let mut input = rustfmt.stdin.take().expect("the input is a pipe");
    std::io::Write::write_all(&mut input, source.as_bytes()).map_err(|error| error.to_string())?;
    drop(input);
    let output = rustfmt.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// All Rust sources of the repository.
fn all_sources() -> Vec<std::path::PathBuf> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = ["jit-c", "jit-cli", "jit-core", "jit-macros", "jit-runtime"]
        .map(|name| ["src", "tests", "benches", "examples"].map(|folder| root.join(name).join(folder)));
    let of_root = ["benches", "examples", "fuzz", "src", "tests", "ui-tests/tests"].map(|folder| root.join(folder));
    let folders = crates.into_iter().flatten().chain(of_root).filter(|folder| folder.exists());
    let is_source = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    folders.flat_map(|folder| sources(&folder)).filter(is_source).collect()
}

#[test]
fn lines_of_sources_keep_to_120_columns() {
    let (mut too_long, mut lines) = (Vec::new(), 0);
    for path in all_sources() {
        let source = std::fs::read_to_string(&path).expect("a source file");
        for (line, number) in source.lines().zip(1..) {
            lines += 1;
            // A row of a table cannot be wrapped.
            let is_row = line.trim_start().trim_start_matches(['/', '!']).starts_with(" |");
            if line.chars().count() > 120 && !is_row {
                too_long.push(format!("{}:{number}", path.display()));
            }
        }
    }
    assert!(lines > 50_000, "{lines} lines were read");
    assert!(too_long.is_empty(), "lines of more than 120 columns:\n{}", too_long.join("\n"));
}
