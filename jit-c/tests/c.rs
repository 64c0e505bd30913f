//! A program in C is compiled against the header and both forms of the library, and run on files that programs in Rust
//! have saved.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

// The library is built because it is linked here.
use jit_c as _;
use jit_runtime::ir::Type;

fn manifest() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder in which cargo puts the libraries of this crate.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// Compiles the program, and runs it. `link` is how the library is linked.
fn run(name: &str, link: &[&str]) {
    let program = std::env::temp_dir().join(format!("jit-c-{}-{name}", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-D_POSIX_C_SOURCE=200809L"]);
    compiler.arg("-I").arg(manifest().join("include")).arg(manifest().join("tests/program.c"));
    let compiled = compiler.arg("-o").arg(&program).args(link).args(["-lpthread", "-ldl", "-lm"]).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let saved = std::env::var_os("JIT_TEST_SAVED_FILE")
        .map_or_else(|| manifest().join("../tests/saved/saxpy-1.jit"), PathBuf::from);
    let mut command = Command::new(&program);
    command.arg(saved).arg(manifest().join("../tests/bundle/golden/kernels.jit"));
    let version = jit_runtime::recording::file::VERSION;
    command.arg(manifest().join(format!("../tests/saved/layered-{version}.jit")));
    let output = command.env("JIT_LLVM_PATH", "/nowhere/libLLVM.so").env("JIT_LOG", "error").output().unwrap();
    let _ = std::fs::remove_file(&program);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("all holds"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

// one device: files without code are interpreted
// rows: K80 K81
#[test]
fn a_program_in_c_calls_functions_of_files() {
    let folder = libraries().display().to_string();
    run("shared", &[&format!("-L{folder}"), "-ljit_c", &format!("-Wl,-rpath,{folder}")]);
}

// one device: files without code are interpreted
#[test]
fn a_program_in_c_contains_the_library() {
    run("static", &[&libraries().join("libjit_c.a").display().to_string()]);
}

#[test]
fn the_header_has_the_numbers_of_types() {
    let header = std::fs::read_to_string(manifest().join("include/jit.h")).unwrap();
    for (number, ty) in Type::ALL.iter().enumerate() {
        let line = format!("JIT_{} = {number}", ty.name().to_uppercase());
        assert!(header.contains(&line), "{line}");
    }
    assert!(header.contains(&format!("#define JIT_ABI_VERSION {}", jit_c::jit_abi_version())));
}
