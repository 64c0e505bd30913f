//! Runs tests again in a process in which every hash in the caches is zero: they pass since keys are compared in full.

use std::process::Command;

/// Runs the tests of this program whose names contain one of these, except for this one. At least `least` must run.
/// With `all`, value numbering is concerned, too; it then finds few equal expressions.
pub(crate) fn run_again(value: &str, filters: &[&str], skipped: &[&str], least: usize) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(filters).args(["--skip", "if_every_hash_is_zero"]).env("JIT_TEST_ZERO_HASHES", value);
    skipped.iter().for_each(|name| _ = command.args(["--skip", name]));
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    let (_, rest) = text.split_once("test result: ok. ").unwrap_or_else(|| panic!("{text}"));
    let passed: usize = rest.split(' ').next().unwrap().parse().unwrap();
    assert!(passed >= least, "{passed} tests ran:\n{text}");
}
