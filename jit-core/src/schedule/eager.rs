//! Eager mode: each array is evaluated when the operation that makes it returns, for debugging.
//!
//! Everything is recorded as in lazy mode; only the moment of evaluation differs, on which no result depends. So an
//! operation is one that a program calls: its parts, if it is lowered to several, are one evaluation. Arrays that have
//! no contents yet stay as they are: in traced loops, branches and calls, in recordings, and those of placeholders.

use std::sync::atomic::{AtomicU8, Ordering};

use jit_runtime::ErrorKind;

use super::evaluate;
use crate::capture::launches;
use crate::graph::Var;
use crate::graph::node::flag;
use crate::misuse;
use crate::trace::region;

/// When arrays are evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// When a program needs contents.
    #[default]
    Lazy,
    /// When the operation that makes an array returns: for debugging, as failures and times then belong to one
    /// operation.
    Eager,
}

const LAZY: u8 = 0;
const EAGER: u8 = 1;
/// The variable of tests has not been read.
const UNKNOWN: u8 = 2;

/// Builds without debug assertions do not read the variable of tests, as this is on the path of each operation.
static MODE: AtomicU8 = AtomicU8::new(if cfg!(debug_assertions) { UNKNOWN } else { LAZY });

/// Sets when arrays are evaluated, for all threads, and returns the mode before. Arrays that exist stay as they are.
///
/// Results are the same in either mode, to the bit, but for the last bits of derivatives. In eager mode each operation
/// outside of traced regions and recordings is a kernel of its own, which writes its result to memory; so the line of a
/// failure is that of the operation, and [`kernel_history`](jit_runtime::stats::kernel_history) and a profile have an
/// entry for each. A failed launch panics there. Calls of frozen functions, executors and traced modules are one
/// operation each. A traced loop or branch is evaluated with the first operation that uses its result.
///
/// ```standalone_crate
/// # use jit_core as jit;
/// use jit::Mode;
/// use jit::prelude::*;
///
/// let before = jit::set_mode(Mode::Eager);
/// let y = Float::from([1.0, 2.0]).make_opaque() + 1.0;
/// assert!(y.is_evaluated());
/// jit::set_mode(before);
/// ```
pub fn set_mode(mode: Mode) -> Mode {
    let before = self::mode();
    MODE.store(if mode == Mode::Eager { EAGER } else { LAZY }, Ordering::Relaxed);
    before
}

/// Returns when arrays are evaluated.
#[must_use]
pub fn mode() -> Mode {
    match MODE.load(Ordering::Relaxed) {
        LAZY => Mode::Lazy,
        EAGER => Mode::Eager,
        _ => first_mode(),
    }
}

/// Tests select eager mode for a whole process.
#[cold]
fn first_mode() -> Mode {
    let is_eager = std::env::var_os("JIT_TEST_EAGER").is_some_and(|value| value == "1");
    let _ = MODE.compare_exchange(UNKNOWN, u8::from(is_eager), Ordering::Relaxed, Ordering::Relaxed);
    if MODE.load(Ordering::Relaxed) == EAGER { Mode::Eager } else { Mode::Lazy }
}

/// Evaluates an array that an operation has made, in eager mode.
#[inline]
pub(crate) fn after_operation(var: &Var) {
    if MODE.load(Ordering::Relaxed) != LAZY {
        evaluate_now(var);
    }
}

#[cold]
fn evaluate_now(var: &Var) {
    let is_wanted = mode() == Mode::Eager && !var.is_evaluated() && var.flags() & flag::LOCAL == 0;
    if !is_wanted || region::is_recording() || launches::is_recording() {
        return;
    }
    let site = var.site();
    match evaluate(&[var], "the mode is eager", site) {
        // Of a placeholder, or of a region that has ended: lazily, it is an error only when it is read.
        Err(error) if error.kind() == ErrorKind::NotEvaluated => {}
        Err(error) => misuse::panic_at(error.site().unwrap_or(site), error),
        Ok(()) => {}
    }
}
