//! Differentiation of recorded loops.
//!
//! Forward mode records a loop over the states and their tangents (`forward`). Reverse mode runs the iterations of each
//! lane from the last to the first. An iteration's derivative reads states at its begin; these are recovered in one of
//! three ways (`history`):
//!
//! * Integers that change by invertible steps, as counters and random generators do, are *undone*: nothing is stored.
//! * If the number of iterations has a small bound, the states are stored in per-lane local memory.
//! * Otherwise blocks of iterations are run again, from stored states before some of them. Memory is fixed, and the
//!   number of times that an iteration is run again grows with the logarithm of the number of iterations.
//!
//! Only states that the derivative reads are stored; which ones, is found by recording the derivative once, in a region
//! that is thrown away (`adjoint`). A loop that only adds up needs none. Values from outside of the loop get the sum of
//! the gradients of all iterations; arrays that the loop gathers from get them by `scatter_add`, as states in memory.
//! Arrays that the loop writes to are differentiated by the rules of their scatters (`writes`, `products`,
//! `last_writes`).

mod adjoint;
mod affine;
mod analysis;
mod block;
mod blocks;
mod body;
mod forward;
mod history;
mod last_writes;
mod parts;
mod products;
mod reverse;
mod writes;

use std::cell::RefCell;

use jit_runtime::{Error, Site};
use rustc_hash::FxHashMap;

pub(in crate::autodiff) use analysis::Uses;
pub(in crate::autodiff) use block::for_each_element;
pub(in crate::autodiff) use body::Body;
pub(in crate::autodiff) use forward::forward;
pub(in crate::autodiff) use reverse::backward;
pub(in crate::autodiff) use writes::Written;

use crate::graph::Var;
use crate::graph::payload::{Bound, LoopPayload, Payload, RegionId};
use crate::trace::LoopRecorder;

/// What is known about loops, by their origin: copies of a loop are alike.
#[derive(Default)]
pub(in crate::autodiff) struct Known {
    /// The states that the derivative reads, for each way of gradients through the body.
    used: RefCell<FxHashMap<Way, Vec<bool>>>,
}

/// The origin of a loop, the states that carry gradients, those that gradients flow to, and what they flow through.
type Way = (RegionId, Vec<bool>, Vec<bool>, analysis::Walk);

/// Returns the values that gradients may flow to from the results of a loop.
pub(in crate::autodiff) fn inputs(control: &Var) -> Result<Vec<Var>, Error> {
    let payload = payload(control);
    let outside = analysis::outside(payload)?.into_iter().map(|outside| outside.var);
    Ok(analysis::inits(payload)?.cloned().chain(outside).collect())
}

/// Returns a state before the loop, whether iterations change it, and whether it carries gradients.
pub(in crate::autodiff) fn state(control: &Var, position: usize) -> (&Var, bool, bool) {
    let state = &payload(control).states[position];
    (&state.init, state.next.is_some(), state.carries)
}

/// Returns whether a state is an array in memory.
pub(in crate::autodiff) fn is_array(control: &Var, position: usize) -> bool {
    payload(control).states[position].is_memory
}

fn payload(control: &Var) -> &LoopPayload {
    match control.payload() {
        Some(Payload::Loop(payload)) => payload,
        _ => unreachable!("the node of a loop has its parts"),
    }
}

/// Records a loop.
fn record_loop(
    inits: &[Var],
    site: Site,
    condition: impl FnOnce(&[Var]) -> Result<Var, Error>,
    body: impl FnOnce(Vec<Var>) -> Result<Vec<Var>, Error>,
) -> Result<Vec<Var>, Error> {
    record_run(inits, (site, None), condition, body)
}

/// Records a loop that runs as another one does, whose bound it keeps to.
fn record_run(
    inits: &[Var],
    (site, bound): (Site, Option<Bound>),
    condition: impl FnOnce(&[Var]) -> Result<Var, Error>,
    body: impl FnOnce(Vec<Var>) -> Result<Vec<Var>, Error>,
) -> Result<Vec<Var>, Error> {
    let (mut recorder, states) = LoopRecorder::begin(inits, site);
    bound.into_iter().for_each(|bound| recorder.keeps_to(bound));
    let condition = condition(&states)?;
    recorder.condition(&condition);
    drop(condition);
    Ok(recorder.finish(body(states)?))
}
