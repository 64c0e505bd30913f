//! Repeats steps of a recording while a condition value is true.
//!
//! Parameters begin with the contents from before the loop, whose storage is read and never written. After each
//! iteration its outputs become the parameters, and the next iteration writes to the storage that is then free: from
//! the second iteration on, that of the parameters. So a loop needs storage for two of each, however many iterations it
//! has.
//!
//! Where a value is read from a machine with memory of its own, the device would be idle in each iteration until the
//! host has seen the condition and queued the next one. So after some iterations the host looks at the condition of the
//! iteration before: the next one is queued while the device computes. Such a loop runs one iteration more, on no lane,
//! which changes nothing (see [`loop_rolling`](super::loop_rolling)).

use std::sync::Arc;

use smallvec::SmallVec;

use crate::machine::{self, LateValue, Selected};
use crate::memory::Buffer;
use crate::{Error, ErrorKind, cancel};

use super::replay::{State, unwritten};
use super::{Carried, LoopStep, Recording, RepeatStep, Step};

/// From this iteration on, conditions are read late: one iteration more is then at most a ninth of the work.
const READ_AT_ONCE: u32 = 8;

/// A loop of the current replay.
#[derive(Default)]
pub(crate) struct Running {
    iterations: u32,
    /// The condition after the last iteration, where it is read late.
    condition: Option<Box<dyn LateValue>>,
    /// The memory of the parameters, while they are still in the memory of the initial values.
    spare: SmallVec<[Option<Arc<Buffer>>; 4]>,
}

impl Recording {
    /// Begins a loop. Returns the step to continue with.
    pub(crate) fn enter(&self, at: usize, inner: &LoopStep, state: &mut State) -> Result<usize, Error> {
        let mut running = Running::default();
        for Carried { param, init, .. } in &inner.carried {
            let before = state.slots[init.index()].clone().ok_or_else(unwritten)?;
            running.spare.push(state.slots[param.index()].replace(before));
        }
        state.loops.push(running);
        self.go_on(at, inner, state)
    }

    /// Ends an iteration. Returns the step to continue with.
    pub(crate) fn repeat(&self, at: usize, end: &RepeatStep, state: &mut State) -> Result<usize, Error> {
        let begin = at - end.length as usize - 1;
        let Step::Loop(inner) = &self.steps[begin] else { unreachable!("a loop begins where its end says") };
        let running = state.loops.last_mut().expect("an iteration ends in its loop");
        running.iterations += 1;
        let mut spare = std::mem::take(&mut running.spare).into_iter();
        let is_first = running.iterations == 1;
        for Carried { param, out, .. } in &inner.carried {
            let made = state.slots[out.index()].take().ok_or_else(unwritten)?;
            let before = state.slots[param.index()].replace(made);
            state.slots[out.index()] = if is_first { spare.next().flatten() } else { before };
        }
        self.go_on(begin, inner, state)
    }

    /// Checks whether there is another iteration.
    fn go_on(&self, begin: usize, inner: &LoopStep, state: &mut State) -> Result<usize, Error> {
        cancel::check_loop(inner.site)?;
        if let Some(iterations) = self.may_go_on(begin, inner, state)? {
            return check_limit(inner, iterations).map(|()| begin + 1);
        }
        let running = state.loops.pop().unwrap_or_default();
        if running.iterations == 0 {
            self.copy_all(inner, running, state)?;
        }
        let end = begin + inner.length as usize + 1;
        if self.counts {
            self.let_go(end as u32, state);
        }
        Ok(end + 1)
    }

    /// The number of iterations after which the condition was true, if it was. Where it is read late, that is one less
    /// than there were.
    fn may_go_on(&self, begin: usize, inner: &LoopStep, state: &mut State) -> Result<Option<u32>, Error> {
        let buffer = self.operand(inner.carried[inner.test as usize].param, state).buffer;
        let running = state.loops.last_mut().expect("the condition is that of the innermost loop");
        let (mut byte, iterations) = ([0], running.iterations);
        let is_late = || (READ_AT_ONCE..most_late(inner)).contains(&iterations) && self.launches_only(begin, inner);
        let next = match machine::of(self.device)? {
            Selected::Other(machine) if is_late() => machine.read_late(&buffer, 1)?,
            _ => None,
        };
        let Some(next) = next else {
            buffer.read(0, &mut byte)?;
            return Ok((byte[0] != 0).then_some(iterations));
        };
        match running.condition.replace(next) {
            Some(before) => before.wait(&mut byte)?,
            // Nothing is known yet: the iteration before was allowed by a condition that was read at once.
            None => return Ok(iterations.checked_sub(1)),
        }
        Ok((byte[0] != 0).then(|| iterations - 1))
    }

    /// Whether iterations do nothing but launch, so that one on no lane has no effect.
    fn launches_only(&self, begin: usize, inner: &LoopStep) -> bool {
        let body = &self.steps[begin + 1..][..inner.length as usize];
        body.iter().all(|step| matches!(step, Step::Kernel(_) | Step::Library(_)))
    }

    /// Copies values that no iteration has written to separate memory: steps after the loop may overwrite them, and
    /// callers may receive them.
    fn copy_all(&self, inner: &LoopStep, running: Running, state: &mut State) -> Result<(), Error> {
        for (Carried { param, .. }, spare) in inner.carried.iter().zip(running.spare) {
            let bytes = self.bytes_of(param.index(), &state.values);
            let own = spare.map_or_else(|| Buffer::alloc(bytes), Ok)?;
            if let Some(before) = &state.slots[param.index()] {
                own.overwrite(before.bytes()?.get(..bytes).ok_or_else(unwritten)?)?;
            }
            state.slots[param.index()] = Some(own);
        }
        Ok(())
    }
}

/// The number of iterations from which on conditions are read at once again: a loop that runs too often is an error
/// before it has done so.
fn most_late(inner: &LoopStep) -> u32 {
    inner.limit.map_or(u32::MAX, |(limit, before)| limit.saturating_sub(before))
}

fn check_limit(inner: &LoopStep, iterations: u32) -> Result<(), Error> {
    match inner.limit {
        Some((limit, before)) if before.saturating_add(iterations) >= limit => {
            let message = format!("a loop runs more than the {limit} iterations that `#[max_iterations]` allows");
            Err(Error::new(ErrorKind::InvalidArgument, message).at(inner.site))
        }
        _ => Ok(()),
    }
}
