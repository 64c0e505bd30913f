//! Explanations of why a frozen function was recorded again.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use jit_runtime::recording::GuardFailure;
use jit_runtime::{Error, ErrorKind, Site};

use super::function::{Entry, Function};
use super::layout::{ArgumentSummary, Layout};
use crate::trace::history::CodeChange;

/// The reason why a frozen function was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Retrace {
    /// The difference from the recording before.
    pub cause: Cause,
    /// The line of the call.
    pub site: Site,
    /// A remedy, if there is one.
    pub hint: Option<&'static str>,
}

/// The difference from the recording before.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// There was no recording before.
    First,
    /// A property of the arguments.
    Argument {
        /// The argument, and the place in it: `scene.lights[3].color`.
        path: String,
        /// Its value when the function was recorded before.
        before: String,
        /// Its value now.
        now: String,
    },
    /// A size by which the function made decisions.
    Size {
        /// The line of the decision.
        decided: Site,
        /// The condition that held when it was recorded: `x.shape[1] == 3`.
        condition: String,
    },
    /// The number of iterations of an `#[evaluated]` loop.
    Iterations {
        /// The line of the loop.
        decided: Site,
    },
    /// A size that the function computes has no value, such as the difference of a size and a larger one.
    NoSize,
    /// A host call ([`host`](super::host())) returned something else besides arrays and sizes, or read other arrays.
    Host {
        /// The line of the call.
        call: Site,
    },
    /// The recording was dropped because of the `limit`.
    Evicted,
    /// A kernel of a `#[jit]` function was compiled.
    Code(CodeChange),
}

impl Retrace {
    /// Returns the reason in one line, without the remedy.
    pub(super) fn line(&self) -> String {
        format!("{} ({}:{})", self.cause, self.site.file(), self.site.line())
    }

    /// Returns whether the reason is that of another recording, apart from the values that have changed.
    pub(super) fn has_same_cause(&self, other: &Retrace) -> bool {
        let is_same = match (&self.cause, &other.cause) {
            (Cause::Argument { path, .. }, Cause::Argument { path: other, .. }) => path == other,
            (Cause::Size { decided, .. }, Cause::Size { decided: other, .. }) => decided == other,
            (Cause::Code(change), Cause::Code(other)) => change.has_same_place(other),
            (cause, other) => cause == other,
        };
        let [own, other] = [self, other].map(|retrace| (retrace.site.file(), retrace.site.line()));
        is_same && own == other
    }
}

impl fmt::Display for Retrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line())?;
        match self.hint {
            Some(hint) => write!(f, "\n  help: {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::First => f.write_str("the first call is recorded"),
            Cause::Argument { path, before, now } => write!(f, "`{path}` was {before} and is {now}"),
            Cause::Size { decided, condition } => {
                write!(f, "`{condition}`, which {}:{} requires, does not hold any more", decided.file(), decided.line())
            }
            Cause::Iterations { decided } => {
                write!(
                    f,
                    "the `#[evaluated]` loop at {}:{} ran a different number of iterations",
                    decided.file(),
                    decided.line()
                )
            }
            Cause::NoSize => f.write_str("a size that the function computes has no value"),
            Cause::Host { call } => write!(
                f,
                "`jit::freeze::host` at {}:{} returned a different number, length or variant, or read different arrays",
                call.file(),
                call.line()
            ),
            Cause::Code(change) => change.fmt(f),
            Cause::Evicted => f.write_str("its recording was evicted because of the `limit`"),
        }
    }
}

/// Finds the reason for a recording.
pub(super) fn why(
    (function, of): (&Function, TypeId),
    (summary, names): (&[ArgumentSummary], &dyn Fn() -> Vec<String>),
    layout: &Layout,
    guard_failure: Option<&(Arc<Entry>, GuardFailure)>,
    site: Site,
) -> Retrace {
    let table = function.table.lock();
    if table.retraces.is_empty() {
        return Retrace { cause: Cause::First, site, hint: None };
    }
    match guard_failure {
        Some((entry, GuardFailure::Guard(guard))) => {
            let condition = entry.condition(guard, &names());
            let hint = "`x.width()`, and `x.size(axis)` of a tensor, are symbolic sizes, which may change and have \
                arithmetic; `x.len()`, `x.shape()` and comparisons add a guard";
            return Retrace { cause: Cause::Size { decided: guard.site, condition }, site, hint: Some(hint) };
        }
        Some((_, GuardFailure::Value(Some(decided)))) => {
            let hint = "an `#[evaluated]` loop has a recording for each number of iterations if host variables or \
                widths differ between iterations; a recorded loop, without `#[evaluated]`, runs as many iterations as \
                each call needs";
            return Retrace { cause: Cause::Iterations { decided: *decided }, site, hint: Some(hint) };
        }
        Some((_, GuardFailure::Host(call))) => {
            let hint =
                "return a value that changes from call to call in an array, as `Float::opaque(x)`, or as a `Size`";
            return Retrace { cause: Cause::Host { call: *call }, site, hint: Some(hint) };
        }
        Some(_) => return Retrace { cause: Cause::NoSize, site, hint: None },
        None => {}
    }
    let differs = |(before, now): &(&ArgumentSummary, &ArgumentSummary)| {
        before.path != now.path || kind(&before.what) != kind(&now.what)
    };
    let first = table.last.iter().zip(summary).find(differs);
    let ends = || {
        let (before, now) = (table.last.get(summary.len()), summary.get(table.last.len()));
        before.or(now).map(|leaf| (leaf, before.is_some()))
    };
    let cause = match (first, ends()) {
        (Some((before, now)), _) if before.path == now.path => {
            Cause::Argument { path: now.path.clone(), before: before.what.clone(), now: now.what.clone() }
        }
        (Some((_, now)), _) => {
            Cause::Argument { path: now.path.clone(), before: "not there".into(), now: now.what.clone() }
        }
        (None, Some((leaf, true))) => {
            Cause::Argument { path: leaf.path.clone(), before: leaf.what.clone(), now: "not there".into() }
        }
        (None, Some((leaf, false))) => {
            Cause::Argument { path: leaf.path.clone(), before: "not there".into(), now: leaf.what.clone() }
        }
        (None, None) => match table.place_that_stays(of, layout, function.parameters) {
            Some(path) => Cause::Argument {
                path,
                before: "an array behind `&`, `Rc` or `Arc`".into(),
                now: "a different one, while lengths or numbers change in the argument".into(),
            },
            None => Cause::Evicted,
        },
    };
    let hint = match (&cause, layout.inputs.is_empty()) {
        (Cause::Argument { before, .. }, _) if is_number(before) => {
            Some("a host number is part of a recording: pass one that changes as an array, `Float::opaque(x)`")
        }
        (Cause::Evicted, _) => Some("raise the `limit`"),
        _ => None,
    };
    Retrace { cause, site, hint }
}

/// Returns whether the description of a leaf is a number.
fn is_number(what: &str) -> bool {
    what.split_once(" (").map_or(what, |(number, _)| number).parse::<f64>().is_ok()
}

/// Returns the part of a leaf's description that recordings depend on: all but the width of an array.
fn kind(what: &str) -> &str {
    what.rsplit_once(" × ").map_or(what, |(kind, _)| kind)
}

/// Returns the warning for a function that is recorded again and again.
pub(super) fn warning(function: &Function, why: &Retrace) -> String {
    let place = function.site;
    format!("{why}\n  the function is at {}:{}", place.file(), place.line())
}

#[cold]
pub(super) fn over_budget(text: String, site: Site) -> Error {
    Error::new(ErrorKind::NotRecordable, text)
        .at(site)
        .with_hint("raise the `budget`, or keep changing values out of the arguments")
}

#[cold]
pub(super) fn shared_changed(noun: &str, place: &str, site: Site) -> Error {
    let message = format!("{noun} replaces or changes an array behind `&`, `Rc` or `Arc`, at `{place}`");
    Error::new(ErrorKind::NotRecordable, message).at(site).with_hint(
        "a shared array cannot be replaced in later calls: put the array itself into the argument, or return the new \
         one",
    )
}

#[cold]
pub(super) fn shared_unevaluated(site: Site) -> Error {
    let message = "an argument has an array behind `&`, `Rc` or `Arc` that has not been evaluated";
    Error::new(ErrorKind::NotRecordable, message)
        .at(site)
        .with_hint("evaluate it before, with `jit::eval`, or put the array itself into the argument")
}

#[cold]
pub(super) fn shared_result(noun: &str, path: &str, site: Site) -> Error {
    let place = if path.is_empty() { String::new() } else { format!(", at `{path}`") };
    let message = format!("the result of {noun} holds an array behind `&`, `Rc` or `Arc`{place}");
    Error::new(ErrorKind::NotRecordable, message)
        .at(site)
        .with_hint("return the array itself: a later call returns a new one, and a shared array cannot be replaced")
}
