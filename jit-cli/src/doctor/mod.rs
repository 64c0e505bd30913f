//! `jit doctor`: what `jit` needs from this machine, each with what is wrong and what to do.
//!
//! | part | file |
//! |---|---|
//! | devices, processor, LLVM | `machine` |
//! | threads and memory, and the limits of a container | `limits` |
//! | folders of kernels, the environment | `settings` |

mod limits;
mod machine;
mod settings;

use serde::Serialize;

use crate::output::{Failure, Output, Status};

/// What a check found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Good,
    /// It works, but perhaps not as expected.
    Note,
    /// It does not work.
    Problem,
}

/// One line of the report.
#[derive(Debug, Serialize)]
struct Check {
    section: &'static str,
    name: String,
    verdict: Verdict,
    value: String,
    /// What to do about it.
    remedy: Option<String>,
}

impl Check {
    fn good(section: &'static str, name: impl Into<String>, value: impl Into<String>) -> Check {
        Check { section, name: name.into(), verdict: Verdict::Good, value: value.into(), remedy: None }
    }

    fn note(section: &'static str, name: impl Into<String>, value: impl Into<String>, remedy: &str) -> Check {
        let check = Check::good(section, name, value);
        Check { verdict: Verdict::Note, remedy: Some(remedy.to_owned()), ..check }
    }

    fn problem(section: &'static str, name: impl Into<String>, error: &jit_runtime::Error) -> Check {
        let check = Check::good(section, name, error.message());
        Check { verdict: Verdict::Problem, remedy: error.hint().map(str::to_owned), ..check }
    }
}

#[derive(Serialize)]
struct Report {
    works: bool,
    checks: Vec<Check>,
}

pub(crate) fn run(output: &mut Output) -> Result<Status, Failure> {
    let parts = [versions(), machine::checks(), limits::checks(), settings::checks()];
    let checks: Vec<Check> = parts.into_iter().flatten().collect();
    let works = checks.iter().all(|check| check.verdict != Verdict::Problem);
    let report = Report { works, checks };
    output.write(&report, |output| write(&report, output))?;
    Ok(Status::bad_if(!works))
}

fn versions() -> Vec<Check> {
    let digest = jit_runtime::backend::CODE_DIGEST;
    vec![Check::good("versions", "jit", env!("CARGO_PKG_VERSION")), Check::good("versions", "code generator", digest)]
}

fn write(report: &Report, output: &mut Output) -> Result<(), Failure> {
    let mut section = "";
    for check in &report.checks {
        if check.section != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            section = check.section;
            output.line(format_args!("{gap}{section}"))?;
        }
        let mark = match check.verdict {
            Verdict::Good => "ok",
            Verdict::Note => "note",
            Verdict::Problem => "PROBLEM",
        };
        output.line(format_args!("  {mark:<7}  {:<18} {}", check.name, check.value))?;
        if let Some(remedy) = &check.remedy {
            output.line(format_args!("  {:<7}  {:<18} help: {remedy}", "", ""))?;
        }
    }
    let problems = report.checks.iter().filter(|check| check.verdict == Verdict::Problem).count();
    match problems {
        0 => output.line("\neverything works"),
        1 => output.line("\n1 thing does not work"),
        _ => output.line(format_args!("\n{problems} things do not work")),
    }
}
