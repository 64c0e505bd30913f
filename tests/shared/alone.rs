//! A test in a process of its own, where no other test counts launches, uses memory or writes lines.

use std::process::Command;

/// Runs a test in a separate process, after shell commands. Returns its output. Returns none in that process itself,
/// which continues with the test.
pub(crate) fn alone(test: &str, before: &str) -> Option<String> {
    const MARK: &str = "JIT_TEST_IS_ALONE";
    if std::env::var_os(MARK).is_some() {
        return None;
    }
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} exec \"$0\" --exact \"$1\" --nocapture --test-threads=1")]);
    let output = command.arg(std::env::current_exe().unwrap()).arg(test).env(MARK, "1").output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{test} in a separate process: {text}");
    Some(text)
}
