//! What costs more than necessary, with the line of the user's program and what to write instead.
//!
//! Each warning is about something that this profile measured: its cost is a time that was spent in it. Whether there
//! is one depends on counts alone, so the same program gets the same warnings on any machine.
//!
//! | part | file |
//! |---|---|
//! | elements that are read again and again | `reads` |
//! | frozen functions that are recorded again and again | `recordings` |
//! | lines that compile again and again | `compiles` |
//! | what the scheduler remarked about kernels | `remarks` |
//! | many launches of few lanes | `tiny` |

use std::fmt;
use std::time::Duration;

use super::KernelProfile;
use super::timeline::Timeline;
use crate::Site;

mod compiles;
mod reads;
mod recordings;
mod remarks;
mod tiny;

/// Something that costs more than necessary. `{}` prints it with its cost and the remedy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Warning {
    /// What it is.
    pub kind: WarningKind,
    /// The line of the user's program that it is about.
    pub site: Option<Site>,
    /// How often it happened.
    pub count: u64,
    /// The time that it took, as far as it was unnecessary.
    pub cost: Duration,
    /// What happens.
    pub message: String,
    /// What to write instead.
    pub hint: &'static str,
}

/// The kinds of warnings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WarningKind {
    /// A line evaluates and reads elements again and again, and waits each time.
    ReadsInLoop,
    /// A frozen function is recorded more often than it is replayed.
    RecordsOften,
    /// Evaluations of one line compile again and again.
    CompilesOften,
    /// A scatter copies the array that it writes, because the array is still referenced elsewhere.
    CopiesTarget,
    /// Several kernels compute the same value.
    Recomputes,
    /// Evaluations compute a value again that an earlier one computed, and did not store.
    RecomputesLater,
    /// A kernel gathers from an expression, and computes it at each index.
    RecomputesGathered,
    /// An operand of a product of matrices is copied to move its elements, such as a slice.
    CopiesOperand,
    /// Kernels of few lanes are launched thousands of times.
    TinyLaunches,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.cost.as_secs_f64() * 1e3;
        write!(f, "{ms:.2} ms: {}\n  help: {}", self.message, self.hint)
    }
}

/// All warnings, the most expensive first.
pub(super) fn of(timeline: &Timeline, kernels: &[KernelProfile]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    reads::find(timeline, &mut warnings);
    recordings::find(timeline, &mut warnings);
    compiles::find(timeline, &mut warnings);
    remarks::find(timeline, &mut warnings);
    tiny::find(timeline, kernels, &mut warnings);
    warnings.sort_by_key(|warning| std::cmp::Reverse(warning.cost));
    warnings
}

/// A line as messages name it.
fn line(site: Site) -> String {
    format!("{}:{}", site.file(), site.line())
}
