//! The current host calls of this thread: their permitted uses of arrays of the frozen function around them, and the
//! arrays that they have read.

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::Arc;

use jit_runtime::recording::{HostGiven, HostInput, HostSource, SizeId};
use jit_runtime::{Error, ErrorKind, Site};

use super::CAPTURE;
use super::launches::{self, Paused};
use crate::graph::Op;
use crate::graph::node::{Var, flag};
use crate::misuse::{self, Misuse};
use crate::size::scope::{self, Entered, Scope};
use crate::size::table;

/// Runs a function on the current host calls of this thread, innermost last.
fn with_calls<R>(look: impl FnOnce(&mut Vec<Running>) -> R) -> R {
    CAPTURE.with(|capture| look(&mut capture.calls.borrow_mut()))
}

/// A current host call of this thread.
pub(super) enum Running {
    /// The function around it is recorded; the arrays of it that the call has read.
    Recorded { paused: Box<Paused>, reads: Vec<(Var, HostSource)> },
    /// The function is replayed. The call reads these nodes, which are these inputs; `is_strange` is set if it does
    /// something that the recording does not contain.
    Replayed { nodes: Arc<[Var]>, inputs: Vec<HostInput>, numbers: Vec<u64>, is_strange: bool },
}

/// Ends a host call when dropped.
pub(crate) struct Call {
    depth: usize,
    _scope: Entered,
}

impl Call {
    /// Begins a call while the function is recorded, whose recording is suspended. Also returns the serial of the
    /// recording.
    pub(crate) fn begin_recorded(site: Site) -> (Call, u32) {
        let paused = Box::new(launches::pause(site));
        let serial = paused.serial();
        let running = Running::Recorded { paused, reads: Vec::new() };
        (Call::begin(running, Scope::SetAside { serial }), serial)
    }

    /// Begins a call in a replay; in the recording it has read these nodes.
    pub(crate) fn begin_replayed(serial: u32, nodes: Arc<[Var]>, given: HostGiven) -> Call {
        let HostGiven { inputs, sizes } = given;
        let numbers = CAPTURE.with(|capture| capture.numbers.borrow().clone());
        let running = Running::Replayed { nodes, inputs, numbers, is_strange: false };
        Call::begin(running, Scope::Replayed { serial, sizes })
    }

    fn begin(running: Running, scope: Scope) -> Call {
        with_calls(|all| {
            all.push(running);
            Call { depth: all.len() - 1, _scope: scope::enter(scope) }
        })
    }

    fn end(self) -> Option<Running> {
        let running = with_calls(|all| all.split_off(self.depth.min(all.len())));
        running.into_iter().next()
    }

    /// Ends a call and resumes the recording; returns the arrays read. `None` if the recording was lost.
    pub(crate) fn end_recorded(self) -> Option<Vec<(Var, HostSource)>> {
        let Some(Running::Recorded { paused, reads }) = self.end() else { return None };
        launches::resume(*paused);
        Some(reads)
    }

    /// Ends a call in a replay. Returns whether it did nothing that the recording does not contain.
    pub(crate) fn end_replayed(self) -> bool {
        matches!(self.end(), Some(Running::Replayed { is_strange: false, .. }))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let running = with_calls(|all| all.split_off(self.depth.min(all.len())));
        for running in running {
            if let Running::Recorded { paused, .. } = running {
                launches::resume(*paused);
                launches::give_up(|| "a `freeze::host` closure panicked".to_owned());
            }
        }
    }
}

/// The payload with which a replay aborts a host call that reads an array the recording does not know. No panic message
/// is printed.
pub(crate) struct ReplayAborted;

/// Returns whether this thread is in a host call, and records nothing inside it.
pub(crate) fn is_inside() -> bool {
    !table::is_recording() && CAPTURE.try_with(|capture| !capture.calls.borrow().is_empty()).unwrap_or_default()
}

/// Returns whether an array belongs to the frozen function around the current host call.
pub(crate) fn is_foreign(var: &Var) -> bool {
    is_inside() && !is_constant(var) && with_calls(|all| all.iter().any(|running| running.is_foreign(var)))
}

/// Returns whether it is the same in all replays.
fn is_constant(var: &Var) -> bool {
    var.op() == Op::Literal && var.extent().size == SizeId(0)
}

impl Running {
    fn is_foreign(&self, var: &Var) -> bool {
        match self {
            Running::Recorded { paused, .. } => paused.is_own(var),
            Running::Replayed { nodes, .. } => {
                var.flags() & flag::HOSTED != 0 || nodes.iter().any(|node| node.is_same(var))
            }
        }
    }
}

/// Returns whether an array that a host call may hold is used where neither that call runs nor the function is
/// recorded, for example on another thread: its meaning is unknown there.
pub(crate) fn is_stray(var: &Var) -> bool {
    let is_somewhere_else = || !is_inside() && !table::is_recording() && !is_constant(var);
    var.flags() & flag::HOSTED != 0 && is_somewhere_else() && !launches::is_lent(var)
}

#[cold]
pub(crate) fn stray(var: &Var) -> Error {
    let made = var.site();
    let message = format!(
        "an array of a frozen function that calls `jit::freeze::host` is used elsewhere: {} × {}, made at {}:{}",
        var.ty(),
        var.lanes(),
        made.file(),
        made.line()
    );
    let hint = "read it on the thread that runs the closure, and pass the elements on; return arrays that are used \
        outside of the function";
    Error::new(ErrorKind::NotRecordable, message).with_hint(hint)
}

/// Rejects a node that a host call makes of arrays of the frozen function.
#[cold]
pub(crate) fn check_operands(user: &Var) {
    if table::is_recording() {
        return;
    }
    user.for_each_input(|var| refuse_use(var, user.site()));
}

/// Rejects any use but reading of an array of the frozen function around the current host call.
pub(crate) fn refuse_use(var: &Var, site: Site) {
    if is_stray(var) {
        misuse::panic_at(site, stray(var));
    }
    if is_foreign(var) {
        Misuse::new("the closure of `jit::freeze::host` computes with an array of the frozen function", site)
            .value("it", var)
            .hint(
                "compute before or after the call; the closure may read arrays, as with `to_vec`, and make new ones \
                 from host values",
            )
            .panic();
    }
}

/// Resumes the recording for an operation that belongs to it.
pub(crate) fn while_recording<T>(site: Site, run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let running = with_calls(Vec::pop);
    let Some(Running::Recorded { paused, reads }) = running else {
        return Err(Error::new(ErrorKind::Internal, "a host call lost its recording").at(site));
    };
    launches::resume(*paused);
    let outcome = run();
    let paused = Box::new(launches::pause(site));
    with_calls(|all| all.push(Running::Recorded { paused, reads }));
    outcome
}

/// Aborts the current host call of this thread, if it belongs to a replay: the value that it reads is known only in the
/// recording.
pub fn refuse_replay() {
    if with_calls(|all| matches!(all.last(), Some(Running::Replayed { .. }))) {
        resume_unwind(Box::new(ReplayAborted) as Box<dyn Any + Send>);
    }
}

/// Passes the plain numbers among the arguments of a call to host calls, until the result is dropped.
pub(crate) fn give_numbers(numbers: &[u64]) -> Numbers {
    Numbers(CAPTURE.with(|capture| capture.numbers.replace(numbers.to_vec())))
}

/// The numbers of the outer call, which are restored when this is dropped.
pub(crate) struct Numbers(Vec<u64>);

impl Drop for Numbers {
    fn drop(&mut self) {
        CAPTURE.with(|capture| *capture.numbers.borrow_mut() = std::mem::take(&mut self.0));
    }
}

/// Returns, in a host call, a plain number among the arguments of the call that is replayed.
#[cold]
pub(crate) fn number(position: usize) -> Option<u64> {
    with_calls(|all| match all.last() {
        Some(Running::Replayed { numbers, .. }) => numbers.get(position).copied(),
        _ => None,
    })
}

/// Records that a decision of a host call depends on some of the plain numbers among the arguments of the frozen
/// function.
#[cold]
pub(crate) fn decide(numbers: &[usize]) {
    with_calls(|all| {
        if let Some(Running::Recorded { paused, .. }) = all.last_mut() {
            paused.decide(numbers);
        }
    });
}

/// Returns whether the current host call of this thread runs while its function is recorded.
pub(crate) fn is_recorded() -> bool {
    with_calls(|all| matches!(all.last(), Some(Running::Recorded { .. })))
}

/// Registers an array that the current host call of this thread reads while its function is recorded.
pub(crate) fn note_read(var: &Var, source: &HostSource) {
    with_calls(|all| {
        if let Some(Running::Recorded { reads, .. }) = all.last_mut()
            && !reads.iter().any(|(node, _)| node.is_same(var))
        {
            reads.push((var.clone(), source.clone()));
        }
    });
}

/// Returns the value of an array of the frozen function in this replay, in the current host call of this thread.
///
/// # Errors
///
/// When the call did not read it while the function was recorded. If panics unwind, the call is aborted.
pub(crate) fn replayed(var: &Var, site: Site) -> Result<HostInput, Error> {
    let found = with_calls(|all| match all.last_mut() {
        Some(Running::Replayed { nodes, inputs, is_strange, .. }) => {
            let position = nodes.iter().position(|node| node.is_same(var));
            let found = position.and_then(|position| inputs.get(position)).cloned();
            *is_strange |= found.is_none();
            found
        }
        _ => None,
    });
    match found {
        Some(input) => Ok(input),
        None if cfg!(panic = "unwind") => resume_unwind(Box::new(ReplayAborted) as Box<dyn Any + Send>),
        None => {
            let message = "`jit::freeze::host` reads an array that it did not read when the function was recorded";
            Err(Error::new(ErrorKind::NotEvaluated, message).at(site))
        }
    }
}
