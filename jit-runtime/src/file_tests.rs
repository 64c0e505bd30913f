//! Tests from files: `tests/files/*.ir` contain a kernel, the operation to run on it, and the expected output.
//!
//! ```text
//! // What the file shows.
//! // run: deduplicate
//! kernel(p0: read f32, p1: write f32) { … }
//! ---
//! what comes out
//! ```
//!
//! | `run:` | output |
//! |---|---|
//! | the name of a pass | the kernel after it |
//! | `optimise` | the kernel after all passes |
//! | `facts` | the results of the code generator's analyses (`backend/llvm/tests/facts.rs`) |
//! | `ptx` | the code for a GPU |
//! | `code` | how often the LLVM IR accesses memory, divides and switches in which way (the same file) |
//!
//! `BLESS=1 cargo test -p jit-runtime file_tests` writes the actual output to the files.

use std::path::{Path, PathBuf};

use crate::backend::cuda;
use crate::ir::passes::{self, PASSES};
use crate::ir::{Kernel, parse, verify};

/// A file, taken apart.
struct FileTest {
    path: PathBuf,
    /// Comments and kernel.
    input: String,
    run: String,
    expected: String,
}

const SEPARATOR: &str = "---\n";

impl FileTest {
    fn read(path: PathBuf) -> FileTest {
        let text = std::fs::read_to_string(&path).unwrap();
        let (input, expected) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        let run = input.lines().find_map(|line| line.strip_prefix("// run: "));
        let run = run.unwrap_or_else(|| panic!("{} has no line `// run: …`", path.display())).trim().to_owned();
        FileTest { run, input: input.to_owned(), expected: expected.to_owned(), path }
    }

    fn kernel(&self) -> Kernel {
        let kernel = parse(&self.input).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        verify(&kernel).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        kernel
    }

    /// The output; none if a requirement is missing.
    fn outcome(&self) -> Option<String> {
        let mut kernel = self.kernel();
        match self.run.as_str() {
            "optimise" => passes::optimise(&mut kernel),
            "ptx" => return Some(cuda::tests::text(&kernel)),
            "facts" | "code" => return of_the_code_generator(&self.run, &kernel),
            name => {
                let pass = PASSES.iter().find(|(pass, _)| *pass == name);
                let (_, pass) = pass.unwrap_or_else(|| panic!("{}: `{name}` is not a pass", self.path.display()));
                pass(&mut kernel);
            }
        }
        verify(&kernel).unwrap_or_else(|error| panic!("{}: {error}\n{kernel}", self.path.display()));
        Some(kernel.to_string())
    }

    /// Compares, or writes the file. Returns the difference, if any.
    fn check(&self) -> Option<String> {
        let actual = self.outcome()?;
        if actual == self.expected {
            return None;
        }
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&self.path, format!("{}{SEPARATOR}{actual}", self.input)).unwrap();
            return None;
        }
        Some(format!("{}\n{}", self.path.display(), difference(&self.expected, &actual)))
    }
}

/// The first lines that differ.
fn difference(expected: &str, actual: &str) -> String {
    let (mut expected_lines, mut actual_lines) = (expected.lines(), actual.lines());
    for number in 1.. {
        match (expected_lines.next(), actual_lines.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                let [a, b] = [a, b].map(|line| line.unwrap_or("the end"));
                return format!("  line {number} of the output, expected: {a}\n  actual: {b}\nall of it:\n{actual}");
            }
        }
    }
    "  the ends of lines differ".to_owned()
}

#[cfg(all(feature = "llvm", target_os = "linux"))]
fn of_the_code_generator(run: &str, kernel: &Kernel) -> Option<String> {
    use crate::backend::llvm::tests::facts;
    if run == "facts" { Some(facts::facts(kernel)) } else { facts::code(kernel) }
}

#[cfg(not(all(feature = "llvm", target_os = "linux")))]
fn of_the_code_generator(_run: &str, _kernel: &Kernel) -> Option<String> {
    None
}

fn files() -> Vec<FileTest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(FileTest::read).collect()
}

#[test]
fn every_file_gives_what_it_says() {
    let faults: Vec<String> = files().iter().filter_map(FileTest::check).collect();
    assert!(faults.is_empty(), "{}\n`BLESS=1` accepts this", faults.join("\n"));
}

#[test]
fn every_pass_and_every_analysis_has_a_file() {
    let files = files();
    let names = PASSES.iter().map(|(name, _)| *name).chain(["optimise", "facts", "code", "ptx"]);
    let missing: Vec<&str> = names.filter(|name| !files.iter().any(|file| file.run == *name)).collect();
    assert!(missing.is_empty(), "no file of `tests/files` runs {missing:?}");
}
