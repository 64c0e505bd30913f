//! What the repository says about itself is true.

use std::collections::BTreeSet;

/// The variables that a text names in the first cell of a table's line.
fn documented_variables(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.strip_prefix("| `JIT_")?.split('`').next()).collect()
}

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
    assert!(paths.len() >= 5, "the design names where things are");
    for path in paths {
        assert!(root.join(path).exists(), "{path} is named in docs/design.md but is not there");
    }
}

/// The crates of this workspace that a manifest lists in a table, such as `dependencies`.
fn siblings_in(manifest: &str, table: &str) -> BTreeSet<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(manifest).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).expect("each crate has a manifest");
    let header = format!("[{table}]");
    let lines = text.lines().skip_while(|line| line.trim() != header).skip(1).take_while(|line| !line.starts_with('['));
    let name = |line: &str| line.split(['=', '.', ' ']).next().unwrap_or_default().to_owned();
    lines.map(name).filter(|name| name == "jit" || name.starts_with("jit-")).collect()
}

#[test]
fn no_crate_depends_upwards() {
    let floors: [(&str, &[&str]); 4] = [
        ("jit-runtime", &[]),
        ("jit-macros", &[]),
        ("jit-core", &["jit-runtime"]),
        (".", &["jit-core", "jit-macros", "jit-runtime"]),
    ];
    for (manifest, below) in floors {
        for table in ["dependencies", "build-dependencies"] {
            let upwards: Vec<String> =
                siblings_in(manifest, table).into_iter().filter(|name| !below.contains(&name.as_str())).collect();
            assert!(upwards.is_empty(), "{manifest} depends on {upwards:?}, which is not below it");
        }
    }
    assert!(siblings_in("jit-core", "dependencies").contains("jit-runtime"), "manifests are read");
    for crate_of_the_machine in ["jit-runtime", "jit-macros"] {
        assert!(
            siblings_in(crate_of_the_machine, "dev-dependencies").is_empty(),
            "{crate_of_the_machine} stands alone"
        );
    }
}
