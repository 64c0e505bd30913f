//! `#[compress]`: lanes that are done leave the launches of an evaluated loop.
//!
//! When half of the lanes are done, the state of the others is gathered into narrow arrays. The program does not notice: the state
//! that it sees stays as wide as before, an expression of the narrow arrays, so lane numbers and arrays from outside go on to
//! belong to their lanes. Only what an iteration makes of the state is computed for the remaining lanes alone: the kernel runs
//! over a list of lane numbers (see [`schedule::Selection`]). Whatever else the program asks for is computed for all lanes.

use std::panic::Location;

use jit_runtime::Error;
use jit_runtime::ir::Type;

use crate::array::{Array, Mask, UInt};
use crate::schedule::{self, Selection};
use crate::trace::effect::{self, How, Request};
use crate::trace::{Var, gather, record, region};

/// Fewer lanes than this are not worth a further step.
const FEWEST: usize = 32;

/// The lanes that take part, and what of the state belongs to them.
pub(super) struct Compaction {
    /// The numbers of the lanes, and for each lane of all where it is among them, if it is.
    lanes: Var,
    position: Var,
    is_there: Var,
    width: usize,
    states: Vec<Option<Narrow>>,
    active: Narrow,
}

/// An array of the state.
struct Narrow {
    /// On the lanes that take part.
    narrow: Var,
    /// Its last value on those that do not.
    wide: Var,
    /// What the program sees.
    shown: Var,
}

/// Whether so few lanes go on that the others should leave.
pub(super) fn is_worth(going_on: usize, lanes: usize) -> bool {
    lanes >= FEWEST && going_on * 2 <= lanes
}

impl Compaction {
    /// How many lanes take part.
    pub(super) fn lanes(&self) -> usize {
        self.lanes.width()
    }

    /// Lets go of the lanes on which a mask is false, of all or of those that a compaction has left. What is shown of the state
    /// stays the same.
    pub(super) fn of(
        before: Option<&Compaction>,
        states: &[Var],
        active: &Var,
        site: &'static Location<'static>,
    ) -> Result<Compaction, Error> {
        // What is computed here concerns the lanes that take part, whatever masks are around the loop.
        let _outside = region::leave_all();
        let width = active.width();
        let mask = Mask::from_var(before.map_or(active, |before| &before.active.narrow).clone());
        let kept = mask.try_compress()?;
        let finished = !&mask;
        let lanes = match before {
            Some(before) => gather::gather(&before.lanes, kept.var(), None),
            None => kept.var().clone(),
        };
        let take = |shown: &Var, known: Option<&Narrow>| match (before, known) {
            (Some(before), Some(known)) => {
                let mut wide = known.wide.clone();
                scatter(&mut wide, &known.narrow, &before.lanes, finished.var());
                Narrow { narrow: gather::gather(&known.narrow, kept.var(), None), wide, shown: shown.clone() }
            }
            _ => Narrow { narrow: gather::gather(shown, &lanes, None), wide: shown.clone(), shown: shown.clone() },
        };
        let known = |position: usize| before.and_then(|before| before.states[position].as_ref());
        let states = states.iter().enumerate().map(|(position, shown)| {
            let is_carried = shown.width() == width && (shown.has_data() || known(position).is_some());
            is_carried.then(|| take(shown, known(position)))
        });
        let states: Vec<Option<Narrow>> = states.collect();
        let count = lanes.width();
        let narrow = record::literal(Type::Bool, 1, count);
        let active = Narrow { narrow, wide: record::literal(Type::Bool, 0, width), shown: active.clone() };
        let mut position = UInt::zeros(width).var().clone();
        scatter(&mut position, UInt::arange(count).var(), &lanes, Mask::from(true).var());
        let mut is_there = Mask::from(false).tile(width).var().clone();
        scatter(&mut is_there, Mask::from(true).var(), &lanes, Mask::from(true).var());
        let mut compaction = Compaction { lanes, position, is_there, width, states, active };
        let arrays = compaction.states.iter().flatten().flat_map(|state| [&state.narrow, &state.wide]);
        let wanted: Vec<&Var> = arrays.chain([&compaction.lanes, &compaction.position, &compaction.is_there]).collect();
        schedule::evaluate(&wanted, "lanes that are done leave a loop", site)?;
        compaction.forget_origins();
        Ok(compaction)
    }

    /// Makes the arrays values without a history: they were written, and what is computed from them is not.
    fn forget_origins(&mut self) {
        let forget = |var: &mut Var| {
            if let Some(buffer) = var.data() {
                *var = record::data_at(var.site(), var.ty(), var.width(), buffer);
            }
        };
        [&mut self.lanes, &mut self.position, &mut self.is_there].into_iter().for_each(forget);
        self.states.iter_mut().flatten().flat_map(|state| [&mut state.narrow, &mut state.wide]).for_each(forget);
    }

    /// Computes the state after an iteration on the lanes that take part, and gives what to show of it; nothing if that cannot be
    /// done for these lanes alone.
    pub(super) fn advance(
        &mut self,
        next: &[Var],
        site: &'static Location<'static>,
    ) -> Result<Option<Vec<Var>>, Error> {
        let is_new = |var: &Var, state: &Option<Narrow>| {
            !var.is_evaluated() && state.as_ref().is_none_or(|state| !state.shown.is_same(var))
        };
        let changed: Vec<usize> = (0..next.len()).filter(|&at| is_new(&next[at], &self.states[at])).collect();
        if changed.iter().any(|&at| self.states[at].is_none() || next[at].width() != self.width) {
            return Ok(None);
        }
        let wanted: Vec<&Var> = changed.iter().map(|&at| &next[at]).collect();
        let Some(narrow) = self.compute(&wanted, site)? else { return Ok(None) };
        let mut shown = next.to_vec();
        for (at, narrow) in changed.into_iter().zip(narrow) {
            let wide = self.states[at].take().map_or_else(|| next[at].clone(), |state| state.wide);
            shown[at] = self.shown(&narrow, &wide);
            self.states[at] = Some(Narrow { narrow, wide, shown: shown[at].clone() });
        }
        Ok(Some(shown))
    }

    /// Computes which lanes go on; gives their mask and how many there are.
    pub(super) fn test(
        &mut self,
        active: &Var,
        site: &'static Location<'static>,
    ) -> Result<Option<(Var, usize)>, Error> {
        let count = Mask::from_var(active.clone()).count();
        let Some(mut narrow) = self.compute(&[active, count.var()], site)? else { return Ok(None) };
        let (Some(count), Some(narrow)) = (narrow.pop(), narrow.pop()) else { return Ok(None) };
        let count = Array::<u32>::from_var(count).item()?;
        let wide = record::literal(Type::Bool, 0, self.width);
        let shown = self.shown(&narrow, &wide);
        self.active = Narrow { narrow, wide, shown: shown.clone() };
        Ok(Some((shown, count as usize)))
    }

    fn compute(&self, wanted: &[&Var], site: &'static Location<'static>) -> Result<Option<Vec<Var>>, Error> {
        let states = self.states.iter().flatten().chain([&self.active]);
        let selection = Selection {
            width: self.width,
            lanes: self.lanes.clone(),
            narrow: states.map(|state| (state.shown.clone(), state.narrow.clone())).collect(),
        };
        schedule::evaluate_selected(&selection, wanted, "lanes that go on in an `#[evaluated]` loop are computed", site)
    }

    /// An array of all lanes, as an expression.
    fn shown(&self, narrow: &Var, wide: &Var) -> Var {
        let _outside = region::leave_all();
        record::select(&self.is_there, &gather::gather(narrow, &self.position, Some(&self.is_there)), wide)
    }
}

fn scatter(target: &mut Var, value: &Var, index: &Var, mask: &Var) {
    effect::scatter(target, &Request { how: How::Write, index, value, expected: None, mask: Some(mask) });
}
