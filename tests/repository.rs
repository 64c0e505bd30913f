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
