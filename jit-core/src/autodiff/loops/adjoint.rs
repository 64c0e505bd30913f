//! The derivative of one iteration.

use std::rc::Rc;

use jit_runtime::Error;
use rustc_hash::FxHashSet;

use super::super::factors::Factors;
use super::super::reverse::Gradients;
use super::super::vertex::{Key, Vertex, carries, key_of, order_from};
use super::analysis::Flows;
use super::last_writes::LastWrites;
use super::parts::{Loop, Params, stand_in};
use super::writes::{self, Written};
use super::{Body, Known};
use crate::graph::Var;
use crate::graph::payload::{RegionId, Write};
use crate::trace::region::{self, BodyOnly};
use crate::trace::{local, record};

/// The derivative of an iteration of a loop, in the innermost open region.
pub(super) struct Adjoint<'a> {
    pub(super) of: &'a Loop<'a>,
    pub(super) flows: &'a Flows,
    pub(super) known: &'a Rc<Known>,
}

/// Gradients at the begin or at the end of an iteration.
pub(super) struct Gradient {
    /// Those of the states; none where they are zero, and for arrays in memory.
    pub(super) states: Vec<Option<Var>>,
    /// Those of the values from outside that lanes read, which add up.
    pub(super) outside: Vec<Option<Var>>,
    /// Those of the arrays that the loop writes to.
    pub(super) written: Vec<Option<Written>>,
}

impl Adjoint<'_> {
    /// Returns the gradients at the begin of an iteration from those at its end, and the body in which they have
    /// flowed. States that are not given are not used.
    #[track_caller]
    pub(super) fn record(
        &self,
        values: &[Option<Var>],
        after: Gradient,
        mut body: Body,
    ) -> Result<(Gradient, Body), Error> {
        let Gradient { states, outside, mut written } = after;
        let Params { mut copy, params } = self.of.copy_carrying(values);
        let ends: FxHashSet<Key> = params.iter().chain(self.outside()).map(key_of).collect();
        body.ends.clone_from(&ends);
        let mut gradients = Gradients::in_body(body, self.known);
        let mut roots = Vec::new();
        for (position, gradient) in states.iter().enumerate() {
            let Some(gradient) = gradient else { continue };
            let next = match &self.of.states()[position].next {
                Some(next) => copy.carrying(next)?,
                None => params[position].clone(),
            };
            if carries(&next) {
                gradients.add(&next, gradient.clone());
                roots.push(Vertex::of(&next));
            }
        }
        let mut inner = Vec::new();
        for (position, written) in written.iter_mut().enumerate() {
            let Some(written) = written else { continue };
            let writes = writes::of(self.of.payload, position);
            let is_single = writes.len() == 1;
            for write in writes {
                match copy.carrying_write(&write)? {
                    Write::Scatter { index, value, mask, .. } => {
                        let flow = written.flow(&index, &value, mask.as_ref());
                        if carries(&value) {
                            gradients.add(&value, flow);
                            roots.push(Vertex::of(&value));
                        }
                    }
                    Write::Loop { control, position: of_inner } => {
                        gradients.set_written(&control, of_inner, written.clone());
                        roots.push(Vertex::Loop(control.clone()));
                        match is_single {
                            true => inner.push((position, control, of_inner)),
                            false => written.pass(&control, of_inner)?,
                        }
                    }
                }
            }
        }
        for (outside, gradient) in self.flows.outside.iter().zip(&outside) {
            gradient.iter().for_each(|gradient| gradients.add(&outside.var, gradient.clone()));
        }
        gradients.flow(&order_from(roots, &|var| ends.contains(&key_of(var)))?)?;
        for (position, control, of_inner) in inner {
            written[position] = gradients.take_written(&control, of_inner);
        }
        self.collect(gradients, &params, written)
    }

    fn outside(&self) -> impl Iterator<Item = &Var> {
        self.flows.outside.iter().map(|outside| &outside.var)
    }

    /// Returns the gradients that have arrived.
    #[track_caller]
    fn collect(
        &self,
        mut gradients: Gradients,
        params: &[Var],
        written: Vec<Option<Written>>,
    ) -> Result<(Gradient, Body), Error> {
        let width = self.of.width;
        let state = |(position, param): (usize, &Var)| gradients.take(param, self.of.len(position), width);
        let states = params.iter().enumerate().map(state).collect::<Result<_, _>>()?;
        let outside = self.outside().map(|var| gradients.take(var, local::len_of(var), width));
        let outside = outside.collect::<Result<_, _>>()?;
        let body = gradients.body.take().expect("gradients of an iteration flow in a body");
        Ok((Gradient { states, outside, written }, body))
    }

    /// Returns the states that the derivative of an iteration reads.
    #[track_caller]
    pub(super) fn used(&self) -> Result<Vec<bool>, Error> {
        let carries = self.of.states().iter().map(|state| state.carries).collect();
        let key = (self.of.payload.origin, carries, self.flows.relevant.clone(), self.flows.walk.clone());
        if let Some(used) = self.known.used.borrow().get(&key) {
            return Ok(used.clone());
        }
        let body = BodyOnly::open(self.of.site);
        region::begin_body(body.mark);
        let used = self.try_out(body.mark.id)?;
        drop(body);
        self.known.used.borrow_mut().insert(key, used.clone());
        Ok(used)
    }

    /// Records the derivative to see what it reads.
    #[track_caller]
    fn try_out(&self, region: RegionId) -> Result<Vec<bool>, Error> {
        let states = self.of.states();
        let values: Vec<Var> = states.iter().map(|state| stand_in(&state.init, region)).collect();
        let gradient = |position: usize| {
            let is_value = self.flows.relevant[position] && !states[position].is_memory;
            is_value.then(|| stand_in(&states[position].init, region))
        };
        let written = |position: usize| -> Result<Option<Written>, Error> {
            if !self.flows.relevant[position] || !states[position].is_memory {
                return Ok(None);
            }
            let how = writes::how(self.of.control, position)?;
            let like = &states[position].init;
            let after = record::placeholder(like.ty(), like.width());
            let (factors, last) = (Factors::placeholder(like), LastWrites::placeholder(like, self.of.width));
            Ok(Some(Written { how, gradient: after.clone(), after, factors: Some(factors), last: Some(last) }))
        };
        let after = Gradient {
            states: (0..states.len()).map(gradient).collect(),
            outside: vec![None; self.flows.outside.len()],
            written: (0..states.len()).map(written).collect::<Result<_, _>>()?,
        };
        let given: Vec<Option<Var>> = values.iter().cloned().map(Some).collect();
        let (before, body) = self.record(&given, after, Body::tried(self.of.width))?;
        let last_writes = before.written.into_iter().flatten().filter_map(|written| written.last);
        let results = before.states.into_iter().chain(before.outside).flatten();
        let results = results.chain(last_writes.map(|last| last.count)).chain(body.into_noted());
        Ok(reads(&results.collect::<Vec<_>>(), region, &values))
    }
}

/// Returns which of some values others depend on, as far as those belong to a region.
fn reads(results: &[Var], region: RegionId, values: &[Var]) -> Vec<bool> {
    let mut seen: FxHashSet<usize> = results.iter().map(key_of).collect();
    let mut pending = results.to_vec();
    while let Some(var) = pending.pop() {
        if var.region().get() < region.get() {
            continue;
        }
        var.for_each_input(|input| {
            if seen.insert(key_of(input)) {
                pending.push(input.clone());
            }
        });
    }
    values.iter().map(|value| seen.contains(&key_of(value))).collect()
}
