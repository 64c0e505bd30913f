//! A recorded loop, as its derivative uses it.

use jit_runtime::{Error, Site};

use super::payload;
use crate::graph::Var;
use crate::graph::gradients::Scope;
use crate::graph::node::{Draft, flag};
use crate::graph::op::Op;
use crate::graph::payload::{Bound, LoopPayload, RegionId, State, Write};
use crate::graph::tape::{self, Tape};
use crate::size::Size;
use crate::trace::loops::Lanes;
use crate::trace::substitute::Substitution;
use crate::trace::{local, record, region};

/// A copy of a loop's body, through which gradients flow.
pub(super) struct Params {
    pub(super) copy: Carrying,
    /// The states at the begin of the iteration.
    pub(super) params: Vec<Var>,
}

/// Copies through which gradients flow as they do through the originals, also while others are recorded without.
pub(super) struct Carrying(Substitution);

impl Carrying {
    pub(super) fn carrying(&mut self, var: &Var) -> Result<Var, Error> {
        let _scope = Scope::begin(false);
        self.0.of(var)
    }

    pub(super) fn carrying_write(&mut self, write: &Write) -> Result<Write, Error> {
        let _scope = Scope::begin(false);
        self.0.write(write)
    }
}

/// Returns a value of a loop's body that stands for a state, or for the gradient of one.
pub(super) fn stand_in(like: &Var, region: RegionId) -> Var {
    let (op, ty, width, site) = (Op::Param, like.ty(), like.extent(), like.site());
    let flags = like.flags() & flag::LOCAL;
    let param = Var::new(Draft { op, ty, width, region, flags, operands: [None; 3], position: 0, word: 0, site });
    if let Some(len) = local::len_of(like) {
        param.set_local_len(len);
    }
    param
}

/// A recorded loop.
pub(super) struct Loop<'a> {
    pub(super) control: &'a Var,
    pub(super) payload: &'a LoopPayload,
    /// The number of lanes that have gradients of their own.
    pub(super) width: Size,
    pub(super) site: Site,
}

impl<'a> Loop<'a> {
    /// Describes a loop, in the body of one of some width, if in any: lanes of that may share all that this one
    /// computes, and yet have gradients of their own.
    pub(super) fn new(control: &'a Var, around: Option<Size>) -> Loop<'a> {
        let width = around.filter(|_| control.width() == 1).unwrap_or_else(|| control.width());
        Loop { control, payload: payload(control), width, site: control.site() }
    }

    pub(super) fn states(&self) -> &'a [State] {
        &self.payload.states
    }

    /// Returns the positions of the states for which a function says so.
    pub(super) fn positions(&self, is: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.states().len()).filter(|&position| is(position)).collect()
    }

    /// Returns the number of elements of a state that is per-lane local memory.
    pub(super) fn len(&self, position: usize) -> Option<u32> {
        local::len_of(&self.states()[position].init)
    }

    /// Returns a state before the loop, as wide as it is inside.
    pub(super) fn init(&self, position: usize) -> Var {
        let state = &self.states()[position];
        if state.is_memory || local::is_local(&state.init) || state.next.is_none() {
            return state.init.clone();
        }
        let lanes = Lanes { width: self.control.extent(), is_uniform: self.payload.is_uniform };
        record::broadcast(&state.init, lanes.width_of(state))
    }

    /// Returns the states that iterations do not change.
    pub(super) fn unchanged(&self) -> Vec<Option<Var>> {
        self.states().iter().map(|state| state.next.is_none().then(|| state.init.clone())).collect()
    }

    /// Begins copying the body into the innermost open region, with values for some states at the begin of an
    /// iteration. Of the others only those are used that iterations do not change.
    pub(super) fn copy(&self, values: impl IntoIterator<Item = (usize, Var)>) -> Substitution {
        let region = region::innermost_loop();
        let mut copy = Substitution::new(self.payload.id, region);
        for (state, value) in self.states().iter().zip(self.unchanged()) {
            value.into_iter().for_each(|value| copy.set(&state.param, value));
        }
        for state in self.states().iter().filter(|state| state.is_memory) {
            // Nothing reads it, but inner loops have it as a state. It belongs to no loop, so that copies can be
            // copied.
            copy.set(&state.param, record::placeholder(state.init.ty(), state.init.width()));
        }
        for (position, value) in values {
            copy.set(&self.states()[position].param, value);
        }
        copy
    }

    /// Begins copying the body with what its writes are made of, for some states at the begin of an iteration. The
    /// others are not used, but inner loops may write to several arrays.
    pub(super) fn copy_with_writes(&self, positions: &[usize], before: &[Var]) -> Substitution {
        let region = region::innermost_loop();
        let is_computed = |state: &State| !state.is_memory && state.next.is_some();
        let is_unused = |position: usize| !positions.contains(&position) && is_computed(&self.states()[position]);
        let unused = self.positions(is_unused).into_iter();
        let unused = unused.map(|position| (position, stand_in(&self.states()[position].init, region)));
        self.copy(positions.iter().copied().zip(before.iter().cloned()).chain(unused)).retaining_writes()
    }

    /// Begins copying the body so that gradients flow through the copy as they do through the original. States that
    /// are not given are not used.
    #[track_caller]
    pub(super) fn copy_carrying(&self, values: &[Option<Var>]) -> Params {
        let region = region::innermost_loop();
        let param = |(state, value): (&State, &Option<Var>)| {
            if state.is_memory {
                return record::placeholder(state.init.ty(), state.init.width());
            }
            let value = value.clone().unwrap_or_else(|| stand_in(&state.init, region));
            if !state.carries {
                return value;
            }
            if local::is_local(&value) {
                value.add_flag(flag::GRAD);
                return value;
            }
            tape::taped(&value, Tape::Argument(0), self.site)
        };
        let params: Vec<Var> = self.states().iter().zip(values).map(param).collect();
        Params { copy: Carrying(self.copy(params.iter().cloned().enumerate()).retaining_writes()), params }
    }

    /// Returns the states after an iteration, for some states before it.
    pub(super) fn step(&self, positions: &[usize], before: &[Var]) -> Result<Vec<Var>, Error> {
        let mut copy = self.copy(positions.iter().copied().zip(before.iter().cloned()));
        let next = |(&position, before): (&usize, &Var)| match &self.states()[position].next {
            Some(next) => copy.of(next),
            None => Ok(before.clone()),
        };
        positions.iter().zip(before).map(next).collect()
    }

    /// Returns the bound of the loop, for a run of some states that come after others.
    pub(super) fn bound_of_run(&self, run: &[usize], before: usize) -> Option<Bound> {
        let Bound { limit, position } = self.payload.bound?;
        let place = run.iter().position(|&other| other == position)?;
        Some(Bound { limit, position: before + place })
    }

    /// Returns whether another iteration follows.
    pub(super) fn condition(&self, positions: &[usize], before: &[Var]) -> Result<Var, Error> {
        self.copy(positions.iter().copied().zip(before.iter().cloned())).of(&self.payload.condition)
    }
}
