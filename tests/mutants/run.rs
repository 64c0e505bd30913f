//! Runs test binaries with a mutant on.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tinyjson::JsonValue;

use crate::list::Tests;
use crate::rewrite::VARIABLE;

/// The packages whose tests are built.
const PACKAGES: [&str; 3] = ["jit", "jit-core", "jit-runtime"];

/// Tests may take this much longer with a mutant on than without one.
const PATIENCE: u32 = 8;

/// The test executables of the copy.
pub(crate) struct Binaries {
    /// The executable and its working directory, by name.
    found: BTreeMap<String, (PathBuf, PathBuf)>,
    output: PathBuf,
}

/// The outcome of some tests.
pub(crate) enum Outcome {
    Passed {
        tests: usize,
        time: Duration,
    },
    /// The test that failed, or the other event.
    Failed(String),
}

impl Binaries {
    /// Builds the tests of the copy.
    pub(crate) fn build(copy: &Path, target: &Path, output: PathBuf) -> Result<Binaries, String> {
        fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(copy).args([
            "test",
            "--no-run",
            "--lib",
            "--tests",
            "--message-format=json-render-diagnostics",
        ]);
        cargo.args(PACKAGES.iter().flat_map(|package| ["-p", package]));
        // One build, with as little besides the code as possible.
        cargo.env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0");
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_TEST_DEBUG", "0");
        let built = cargo.output().map_err(|error| format!("cargo: {error}"))?;
        if !built.status.success() {
            // There are many warnings: mutants leave code unused.
            let messages = String::from_utf8_lossy(&built.stderr);
            return Err(format!("the sources with mutants do not compile:\n{}", errors(&messages)));
        }
        let messages = String::from_utf8_lossy(&built.stdout);
        let found = messages.lines().filter_map(|line| executable(&line.parse().ok()?)).collect();
        Ok(Binaries { found, output })
    }

    /// Runs tests with a mutant on; with none, if the number is 0.
    pub(crate) fn run(&self, number: usize, tests: &Tests, limit: Option<Duration>) -> Result<Outcome, String> {
        let Some((executable, folder)) = self.found.get(&tests.binary) else {
            let known = self.found.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(format!("there are no tests `{}`; there are {known}", tests.binary));
        };
        let log = self.output.join(format!("{number}-{}.log", tests.binary.replace('/', "-")));
        let begin = Instant::now();
        let failed = |error: std::io::Error| format!("{}: {error}", executable.display());
        let file = File::create(&log).map_err(failed)?;
        let errors = file.try_clone().map_err(failed)?;
        let mut command = Command::new(executable);
        command.args(&tests.filters).current_dir(folder).env(VARIABLE, number.to_string());
        // What a mutant leaves on disk must not reach the next one.
        command.env("JIT_CACHE", "memory");
        // A separate process group: child processes of tests end with them.
        command.stdin(Stdio::null()).stdout(file).stderr(errors).process_group(0);
        let child = command.spawn().map_err(failed)?;
        let has_passed = wait(child, limit).map_err(failed)?;
        let text = String::from_utf8_lossy(&fs::read(&log).map_err(failed)?).into_owned();
        Ok(match has_passed {
            Some(true) => Outcome::Passed { tests: passed_tests(&text), time: begin.elapsed() },
            Some(false) => Outcome::Failed(format!("{} {}", tests.binary, failure(&text))),
            None => Outcome::Failed(format!("{tests} does not end")),
        })
    }
}

/// The errors among the messages of cargo: each begins a line and ends with an empty one.
fn errors(messages: &str) -> String {
    let mut is_error = false;
    let lines = messages.lines().filter(|line| {
        is_error = line.starts_with("error") || (is_error && !line.is_empty());
        is_error
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The time limit of tests that take a given time without a mutant.
pub(crate) fn patience(usual: Duration) -> Duration {
    Duration::from_secs(20) + usual * PATIENCE
}

/// The name, executable and folder of a test binary, if a message of cargo is about one.
fn executable(message: &JsonValue) -> Option<(String, (PathBuf, PathBuf))> {
    let text = |value: &JsonValue| value.get::<String>().cloned();
    let fields: &std::collections::HashMap<String, JsonValue> = message.get()?;
    let executable = text(fields.get("executable")?)?;
    let target: &std::collections::HashMap<String, JsonValue> = fields.get("target")?.get()?;
    let manifest = PathBuf::from(text(fields.get("manifest_path")?)?);
    let folder = manifest.parent()?.to_path_buf();
    let package = PACKAGES.into_iter().find(|package| folder.ends_with(package)).unwrap_or("jit");
    let kinds: &Vec<JsonValue> = target.get("kind")?.get()?;
    let is_library = kinds.iter().any(|kind| text(kind).as_deref() == Some("lib"));
    let name = if is_library { "lib".to_owned() } else { text(target.get("name")?)? };
    let name = if package == "jit" { name } else { format!("{package}/{name}") };
    Some((name, (PathBuf::from(executable), folder)))
}

/// Whether a process has ended successfully; none if it took too long and was killed.
fn wait(mut child: Child, limit: Option<Duration>) -> std::io::Result<Option<bool>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if limit.is_some_and(|limit| begin.elapsed() > limit) {
            Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The number of tests that a binary reports to have run.
fn passed_tests(log: &str) -> usize {
    let counts = log.lines().filter_map(|line| line.strip_prefix("running ")?.split(' ').next()?.parse::<usize>().ok());
    counts.sum()
}

/// The first test that failed.
fn failure(log: &str) -> String {
    let failed = log.lines().find_map(|line| line.strip_prefix("test ")?.split_once(" ... FAILED"));
    failed.map_or_else(|| "ended in the middle".to_owned(), |(name, _)| name.to_owned())
}
