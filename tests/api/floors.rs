//! The crates stand on floors, and none depends on one above it.

use std::fs;
use std::path::Path;

/// Each crate, where it lies, and the crates of the workspace that it may use.
const FLOORS: [(&str, &str, &[&str]); 5] = [
    ("jit-runtime", "jit-runtime", &[]),
    ("jit-macros", "jit-macros", &[]),
    ("jit-core", "jit-core", &["jit-runtime"]),
    ("jit", ".", &["jit-core", "jit-macros", "jit-runtime"]),
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
