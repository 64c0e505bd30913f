//! Computes the digest of the sources that determine generated code, which is a part of cache keys. Links LLVM into the
//! program if the feature `llvm-static` is on; otherwise libLLVM is loaded at run time.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory where LLVM is installed, for installations that are not found automatically.
const PREFIX_VARIABLE: &str = "LLVM_SYS_221_PREFIX";

const MAJOR: &str = "22";

/// The sources that the machine code of a kernel depends on: its meaning, its passes, its code, and how code is called.
const CODE_SOURCES: [&str; 9] = [
    "src/ir",
    "src/backend/llvm",
    "src/backend/loader",
    "src/backend/host.rs",
    "src/backend/levels.rs",
    "src/backend/mod.rs",
    "src/backend/neighbours.rs",
    "src/backend/target.rs",
    "src/cancel.rs",
];

/// Those of PTX, and of the order that library calls combine in.
const CUDA_CODE_SOURCES: [&str; 7] = [
    "src/ir",
    "src/backend/cuda",
    "src/backend/library",
    "src/backend/library.rs",
    "src/backend/mod.rs",
    "src/backend/multiples.rs",
    "src/backend/neighbours.rs",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(loads_code)");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_OS") == "linux"
        && ["x86_64", "aarch64"].contains(&variable("CARGO_CFG_TARGET_ARCH").as_str())
    {
        println!("cargo:rustc-cfg=loads_code");
    }
    println!("cargo:rustc-env=JIT_CODE_DIGEST={}", digest(&CODE_SOURCES));
    println!("cargo:rustc-env=JIT_CUDA_CODE_DIGEST={}", digest(&CUDA_CODE_SOURCES));
    link_llvm();
}

/// The digest of the sources that determine code, by path and contents, without their tests.
fn digest(all: &[&str]) -> String {
    let mut files = Vec::new();
    all.iter().for_each(|source| sources(Path::new(source), &mut files));
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        let contents = std::fs::read(file).unwrap_or_default();
        hasher.update(&(file.as_os_str().len() as u64).to_le_bytes());
        hasher.update(file.as_os_str().as_encoded_bytes());
        hasher.update(&(contents.len() as u64).to_le_bytes());
        hasher.update(&contents);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

fn sources(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(path) else { return files.push(path.to_owned()) };
    // A new file changes its folder.
    println!("cargo:rerun-if-changed={}", path.display());
    for entry in entries.flatten().map(|entry| entry.path()) {
        let name = entry.file_name().unwrap_or_default();
        if entry.is_dir() && name != "tests" && name != "random" {
            sources(&entry, files);
        } else if entry.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
            files.push(entry);
        }
    }
}

fn link_llvm() {
    println!("cargo:rerun-if-env-changed={PREFIX_VARIABLE}");
    if env::var_os("CARGO_FEATURE_LLVM_STATIC").is_none() {
        return;
    }
    let Some(config) = llvm_config() else {
        println!(
            "cargo:warning=no llvm-config of version {MAJOR} was found, linking will fail: install llvm-{MAJOR}-dev or \
            set {PREFIX_VARIABLE}"
        );
        return;
    };
    link(&config);
}

/// The first llvm-config that has the right version.
fn llvm_config() -> Option<PathBuf> {
    let prefix = env::var_os(PREFIX_VARIABLE).map(|prefix| Path::new(&prefix).join("bin/llvm-config"));
    let names =
        [format!("llvm-config-{MAJOR}"), "llvm-config".into(), format!("/usr/lib/llvm-{MAJOR}/bin/llvm-config")];
    let mut candidates = prefix.into_iter().chain(names.into_iter().map(PathBuf::from));
    candidates
        .find(|config| ask(config, &["--version"]).is_some_and(|version| version.starts_with(&format!("{MAJOR}."))))
}

/// The output of llvm-config.
fn ask(config: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(config).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn link(config: &Path) {
    if let Some(directory) = ask(config, &["--libdir"]) {
        println!("cargo:rustc-link-search=native={directory}");
    }
    let answer = |arguments: &[&str]| ask(config, arguments).unwrap_or_default();
    for library in answer(&["--link-static", "--libnames", "x86", "aarch64", "passes", "mcjit"]).split_whitespace() {
        let name = library.trim_start_matches("lib").trim_end_matches(".a");
        println!("cargo:rustc-link-lib=static={name}");
    }
    for library in answer(&["--link-static", "--system-libs"]).split_whitespace() {
        // `-lz`, or the path of a library.
        let name = Path::new(library.trim_start_matches("-l")).file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".so").and_then(|name| name.strip_prefix("lib")).unwrap_or(&name);
        println!("cargo:rustc-link-lib=dylib={name}");
    }
    println!("cargo:rustc-link-lib=dylib=stdc++");
}
