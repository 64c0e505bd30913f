//! Forward mode: the tangents of states are further states.

use jit_runtime::Error;
use rustc_hash::FxHashSet;

use super::super::forward::{Lent, Tangents};
use super::super::memory;
use super::super::vertex::{Key, Vertex, carries, key_of, order_from};
use super::analysis::outside;
use super::history::closure;
use super::parts::{Carrying, Loop, Params};
use super::record_run;
use super::writes::{self, Written};
use crate::graph::Var;
use crate::graph::payload::Write;
use crate::trace::record;

/// The states of a loop whose tangents are recorded.
struct Moved<'a> {
    of: &'a Loop<'a>,
    /// The states that are computed, in order.
    run: Vec<usize>,
    /// Those that have tangents, arrays in memory among them.
    moved: Vec<usize>,
    /// The values from outside that the body reads.
    outside: Vec<Var>,
    /// The tangents of arrays that the loop writes to, before it.
    written: Vec<Option<Written>>,
}

/// An array that an iteration writes to.
struct Target {
    /// Where its tangent is found.
    place: Lent,
    /// The scatters of the body itself, the last first.
    scatters: Vec<Write>,
}

/// Lets tangents flow through a loop.
#[track_caller]
pub(in crate::autodiff) fn forward(tangents: &mut Tangents, control: &Var) -> Result<(), Error> {
    let of = Loop::new(control, None);
    let all: Vec<bool> = of.states().iter().map(|state| state.carries).collect();
    let outside: Vec<Var> = outside(of.payload)?.into_iter().map(|outside| outside.var).collect();
    let inits = of.states().iter().map(|state| &state.init);
    if !inits.chain(&outside).any(|var| tangents.has(var)) {
        return Ok(());
    }
    let is_needed = |position: usize| !of.states()[position].is_memory || tangents.needs_written(control, position);
    let moved = of.positions(|position| all[position] && is_needed(position));
    let values = moved.iter().copied().filter(|&position| !of.states()[position].is_memory);
    let arrays = moved.iter().copied().filter(|&position| of.states()[position].is_memory);
    let mut read: Vec<Var> = arrays.flat_map(|position| writes::inputs(of.payload, position)).collect();
    read.push(of.payload.condition.clone());
    let run = closure(&of, values, &read);
    let written = moved.iter().map(|&position| written(&of, position, tangents)).collect::<Result<_, _>>()?;
    let tangent = |(place, &position): (usize, &usize)| {
        let written: &Vec<Option<Written>> = &written;
        match &written[place] {
            Some(written) => written.gradient.clone(),
            None => initial(&of, position, tangents),
        }
    };
    let mut states: Vec<Var> = run.iter().map(|&position| of.init(position)).collect();
    states.extend(moved.iter().enumerate().map(tangent));
    let moved = Moved { of: &of, run, moved, outside, written };
    let end = moved.run.len();
    let after = record_run(
        &states,
        (of.site, of.bound_of_run(&moved.run, 0)),
        |states| of.condition(&moved.run, &states[..end]),
        |states| moved.step(states, tangents),
    )?;
    for (&position, tangent) in moved.moved.iter().zip(&after[end..]) {
        tangents.set_state(control, position, of.states().len(), tangent.clone());
        tangents.give_back(control, position, tangent);
    }
    Ok(())
}

/// Returns the tangent of an array that the loop writes to, before the loop.
#[track_caller]
fn written(of: &Loop<'_>, position: usize, tangents: &Tangents) -> Result<Option<Written>, Error> {
    let state = &of.states()[position];
    if !state.is_memory {
        return Ok(None);
    }
    if let Some(written) = tangents.lent(of.control, position) {
        return Ok(Some(written));
    }
    let tangent = tangents.of(&state.init);
    let tangent = tangent.unwrap_or_else(|| record::literal(state.init.ty(), 0, state.init.width()));
    let is_result = |result: &Var| result.position() == position && result.ty() == state.init.ty();
    let after = of.payload.results.held().into_iter().find(is_result).unwrap_or_else(|| state.init.clone());
    let mut written = Written::of(of.control, position, tangent, &after)?;
    written.gradient = written.before(&state.init);
    Ok(Some(written))
}

/// Returns the tangent of a state before the loop.
#[track_caller]
fn initial(of: &Loop<'_>, position: usize, tangents: &Tangents) -> Var {
    let init = of.init(position);
    match (tangents.of(&of.states()[position].init), of.len(position)) {
        (Some(tangent), Some(_)) => tangent,
        (Some(tangent), None) => record::broadcast(&tangent, init.width()),
        (None, Some(len)) => memory::zeros(init.ty(), len, init.width()),
        (None, None) => record::literal(init.ty(), 0, init.width()),
    }
}

impl Moved<'_> {
    /// Records an iteration; returns the states and tangents at its end.
    #[track_caller]
    fn step(&self, mut states: Vec<Var>, tangents: &Tangents) -> Result<Vec<Var>, Error> {
        let own = states.split_off(self.run.len());
        let mut values = self.of.unchanged();
        for (&position, value) in self.run.iter().zip(&states) {
            values[position] = Some(value.clone());
        }
        let Params { mut copy, params } = self.of.copy_carrying(&values);
        let mut inner = tangents.inside(&self.outside);
        let mut roots = Vec::new();
        let is_unchanged = |position: usize| self.of.states()[position].next.is_none();
        let unchanged = |(position, param): (usize, &Var)| is_unchanged(position).then(|| param.clone());
        let mut nexts: Vec<Option<Var>> = params.iter().enumerate().map(unchanged).collect();
        for &position in &self.run {
            nexts[position] = self.of.states()[position].next.as_ref().map(|next| copy.carrying(next)).transpose()?;
        }
        let mut targets = Vec::new();
        for ((&position, written), tangent) in self.moved.iter().zip(&self.written).zip(own) {
            match (written, &nexts[position]) {
                (Some(written), _) => {
                    let place = inner.lend(Written { gradient: tangent, ..written.clone() });
                    let scatters = self.writes(position, place, &mut copy, &mut inner, &mut roots)?;
                    targets.push(Target { place, scatters });
                }
                (None, Some(next)) => {
                    inner.set(&params[position], tangent);
                    roots.extend(Some(next).filter(|next| carries(next)).map(Vertex::of));
                }
                (None, None) => {}
            }
        }
        let ends: FxHashSet<Key> = params.iter().chain(&self.outside).map(key_of).collect();
        inner.ends.clone_from(&ends);
        inner.flow(&order_from(roots, &|var| ends.contains(&key_of(var)))?)?;
        let mut after: Vec<Var> = self.run.iter().filter_map(|&position| nexts[position].clone()).collect();
        let mut targets = targets.into_iter();
        for &position in &self.moved {
            after.push(match &nexts[position] {
                _ if self.of.states()[position].is_memory => {
                    let Some(target) = targets.next() else { continue };
                    target.after(&inner)
                }
                Some(next) => inner.of(next).unwrap_or_else(|| self.no_tangent(position)),
                None => self.no_tangent(position),
            });
        }
        Ok(after)
    }

    /// Copies the writes of an iteration to an array; returns the scatters of the body itself. Inner loops get the
    /// tangent of the array one after another.
    fn writes(
        &self,
        position: usize,
        place: Lent,
        copy: &mut Carrying,
        inner: &mut Tangents,
        roots: &mut Vec<Vertex>,
    ) -> Result<Vec<Write>, Error> {
        let mut scatters = Vec::new();
        for write in writes::of(self.of.payload, position) {
            match copy.carrying_write(&write)? {
                Write::Loop { control, position } => {
                    inner.lend_to(&control, position, place);
                    roots.push(Vertex::Loop(control));
                }
                scatter => {
                    if let Write::Scatter { value, .. } = &scatter {
                        roots.extend(Some(value).filter(|value| carries(value)).map(Vertex::of));
                    }
                    scatters.push(scatter);
                }
            }
        }
        Ok(scatters)
    }

    #[track_caller]
    fn no_tangent(&self, position: usize) -> Var {
        let init = self.of.init(position);
        match self.of.len(position) {
            Some(len) => memory::zeros(init.ty(), len, init.width()),
            None => record::literal(init.ty(), 0, init.width()),
        }
    }
}

impl Target {
    /// Returns the tangent of the array after an iteration, whose inner loops have written theirs.
    #[track_caller]
    fn after(self, inner: &Tangents) -> Var {
        let mut written = inner.after_loops(self.place);
        for write in self.scatters.iter().rev() {
            if let Write::Scatter { index, value, mask, .. } = write {
                let tangent = inner.of(value).unwrap_or_else(|| record::literal(value.ty(), 0, 1));
                written.write(index, value, mask.as_ref(), &tangent);
            }
        }
        written.gradient
    }
}
