//! Runs the command on folders that are made for one test.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jit_runtime::config::VARIABLES;
use serde_json::Value;

#[path = "../../../tests/shared/tested_devices.rs"]
mod tested_devices;

pub(crate) use tested_devices::has_llvm;

/// A folder for one test, which does not exist yet.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    folder
}

/// Without the variables of whoever runs the tests, except for the one that finds LLVM.
pub(crate) fn clean(command: &mut Command) {
    VARIABLES.iter().filter(|variable| variable.name != "JIT_LLVM_PATH").for_each(|variable| {
        command.env_remove(variable.name);
    });
}

/// The command, on a folder of kernels.
pub(crate) fn command(cache: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jit"));
    clean(&mut command);
    command.args(arguments).env("JIT_CACHE_DIR", cache);
    command
}

pub(crate) fn run(cache: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    command(cache, arguments).envs(variables.iter().copied()).output().unwrap()
}

/// What it writes to standard output; it must end with this status and write no message.
pub(crate) fn text(cache: &Path, arguments: &[&str], variables: &[(&str, &str)], status: i32) -> String {
    let output = run(cache, arguments, variables);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}: {text}");
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
    text
}

/// The same as JSON.
pub(crate) fn json(cache: &Path, arguments: &[&str], variables: &[(&str, &str)], status: i32) -> Value {
    let text = text(cache, &[arguments, &["--json"]].concat(), variables, status);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The message with which it fails; nothing is written to standard output.
pub(crate) fn failure(cache: &Path, arguments: &[&str], variables: &[(&str, &str)], status: i32) -> String {
    let output = run(cache, arguments, variables);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}
