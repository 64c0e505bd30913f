//! Repeats steps of a recording while a condition value is true.
//!
//! Parameters begin with the contents from before the loop, whose storage is read and never written. After each
//! iteration its outputs become the parameters, and the next iteration writes to the storage that is then free: from
//! the second iteration on, that of the parameters. So a loop needs storage for two of each, however many iterations it
//! has.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::memory::Buffer;
use crate::{Error, ErrorKind, cancel};

use super::replay::{State, unwritten};
use super::{Carried, LoopStep, Recording, RepeatStep, Step};

/// A loop of the current replay.
#[derive(Default)]
pub(crate) struct Running {
    iterations: u32,
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
        let test = self.operand(inner.carried[inner.test as usize].param, state);
        let mut byte = [0];
        test.buffer.read(0, &mut byte)?;
        let iterations = state.loops.last().map_or(0, |running| running.iterations);
        if byte[0] != 0 {
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

fn check_limit(inner: &LoopStep, iterations: u32) -> Result<(), Error> {
    match inner.limit {
        Some((limit, before)) if before.saturating_add(iterations) >= limit => {
            let message = format!("a loop runs more than the {limit} iterations that `#[max_iterations]` allows");
            Err(Error::new(ErrorKind::InvalidArgument, message).at(inner.site))
        }
        _ => Ok(()),
    }
}
