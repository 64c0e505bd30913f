//! `#[compress]`: compaction removes finished lanes from an evaluated loop.
//!
//! When half of the lanes have finished, the state of the others is gathered into narrow arrays. The program does not
//! notice: the state that it sees has the same width as before, as an expression of the narrow arrays. So lane numbers
//! and arrays from outside still match their lanes. Only the next state is computed for the remaining lanes alone: the
//! kernel runs over a list of lane numbers (see [`schedule::Selection`]). Arrays that lanes scatter to are shared by
//! all lanes and are not narrowed; per-lane local memory is carried element by element. Any other value is computed for
//! all lanes.

use jit_runtime::ir::Type;
use jit_runtime::{Error, Site};

use crate::array::{Array, Mask, UInt};
use crate::graph::Var;
use crate::graph::node::flag;
use crate::graph::payload::How;
use crate::schedule::{self, Selected, Selection};
use crate::trace::region::{self, Writes};
use crate::trace::scatter::{self, Request};
use crate::trace::{gather, record};

/// With fewer lanes than this, a further compaction does not pay.
const FEWEST: usize = 32;

/// The active lanes, and the part of the state that belongs to them.
pub(super) struct Compaction {
    /// The numbers of the active lanes; and for each lane its position among them, if it is active.
    lanes: Var,
    position: Var,
    is_there: Var,
    width: usize,
    states: Vec<Option<Narrow>>,
    active: Narrow,
}

/// An array of the state.
struct Narrow {
    /// Its value on the active lanes.
    narrow: Var,
    /// Its last value on the other lanes.
    wide: Var,
    /// The array that the program sees.
    shown: Var,
}

/// An array of the state, as the loop stores it.
pub(super) struct Part<'a> {
    pub(super) var: &'a Var,
    /// Lanes write it by scatters: it is not an array with one element per lane.
    pub(super) is_memory: bool,
}

/// The computations of an iteration, to be finished after the previous state has been dropped.
pub(super) struct Computed(Selection, Selected);

impl Computed {
    pub(super) fn finish(self, site: Site) -> Result<(), Error> {
        self.1.finish(&self.0, site)
    }
}

/// Returns whether so few lanes continue that a compaction pays.
pub(super) fn is_worth(remaining: usize, lanes: usize) -> bool {
    lanes >= FEWEST && remaining * 2 <= lanes
}

impl Compaction {
    /// Returns the number of active lanes.
    pub(super) fn lanes(&self) -> usize {
        self.lanes.lanes()
    }

    /// Removes the lanes on which a mask is false, from all lanes or from those that an earlier compaction has
    /// retained. The state that the program sees is unchanged.
    pub(super) fn of(
        before: Option<&Compaction>,
        states: &[Part<'_>],
        active: &Var,
        site: Site,
    ) -> Result<Compaction, Error> {
        // These values are computed on the selected lanes, whatever masks are around the loop.
        let _outside = region::exit_all();
        let width = active.lanes();
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
        // The body may have computed it for all lanes; then the narrow copy is stale.
        let known = |position: usize, shown: &Var| {
            let narrow = before.and_then(|before| before.states[position].as_ref());
            narrow.filter(|narrow| narrow.shown.is_same(shown))
        };
        let states = states.iter().enumerate().map(|(position, &Part { var: shown, is_memory })| {
            let known = known(position, shown);
            let is_carried = shown.lanes() == width && !is_memory && (shown.has_data() || known.is_some());
            is_carried.then(|| take(shown, known))
        });
        let states: Vec<Option<Narrow>> = states.collect();
        let count = lanes.lanes();
        let narrow = record::literal(Type::Bool, 1, count);
        let active = Narrow { narrow, wide: record::literal(Type::Bool, 0, width), shown: active.clone() };
        let mut position = UInt::zeros(width).var().clone();
        scatter(&mut position, UInt::arange(count).var(), &lanes, Mask::from(true).var());
        let mut is_there = Mask::from(false).tile(width).var().clone();
        scatter(&mut is_there, Mask::from(true).var(), &lanes, Mask::from(true).var());
        let mut compaction = Compaction { lanes, position, is_there, width, states, active };
        let arrays = compaction.states.iter().flatten().flat_map(|state| [&state.narrow, &state.wide]);
        let wanted: Vec<&Var> = arrays.chain([&compaction.lanes, &compaction.position, &compaction.is_there]).collect();
        schedule::evaluate(&wanted, "finished lanes exit a loop", site)?;
        compaction.forget_origins();
        Ok(compaction)
    }

    /// Replaces the arrays by their values: they were written, but expressions of them were not. Those through which
    /// gradients flow keep what they were computed from.
    fn forget_origins(&mut self) {
        let forget = |var: &mut Var| {
            if let Some(buffer) = var.data().filter(|_| var.flags() & flag::GRAD == 0) {
                *var = record::data_at(var.site(), var.ty(), var.width(), buffer);
            }
        };
        [&mut self.lanes, &mut self.position, &mut self.is_there].into_iter().for_each(forget);
        self.states.iter_mut().flatten().flat_map(|state| [&mut state.narrow, &mut state.wide]).for_each(forget);
    }

    /// Computes the state after an iteration on the active lanes, and returns the arrays to show; `None` if that cannot
    /// be done for these lanes alone.
    pub(super) fn advance(
        &mut self,
        next: &[Part<'_>],
        writes: &Writes,
        site: Site,
    ) -> Result<Option<(Vec<Var>, Computed)>, Error> {
        let is_new = |var: &Var, state: &Option<Narrow>| {
            !var.is_evaluated() && state.as_ref().is_none_or(|state| !state.shown.is_same(var))
        };
        let changed: Vec<usize> = (0..next.len()).filter(|&at| is_new(next[at].var, &self.states[at])).collect();
        let is_of_lanes = |at: usize| self.states[at].is_some() && next[at].var.lanes() == self.width;
        let is_written = |at: usize| self.states[at].is_none() && scatter::before(next[at].var).is_some();
        if changed.iter().any(|&at| if next[at].is_memory { !is_written(at) } else { !is_of_lanes(at) }) {
            return Ok(None);
        }
        let wanted: Vec<&Var> = changed.iter().map(|&at| next[at].var).collect();
        let Some((selection, computed)) = self.compute(&wanted, writes.clone(), site)? else { return Ok(None) };
        let narrow = computed.values.clone();
        let mut shown: Vec<Var> = next.iter().map(|part| part.var.clone()).collect();
        for (at, narrow) in changed.into_iter().zip(narrow) {
            if next[at].is_memory {
                continue;
            }
            let wide = self.states[at].take().map_or_else(|| shown[at].clone(), |state| state.wide);
            shown[at] = self.shown(&narrow, &wide);
            self.states[at] = Some(Narrow { narrow, wide, shown: shown[at].clone() });
        }
        Ok(Some((shown, Computed(selection, computed))))
    }

    /// Computes which lanes continue; returns their mask and their number.
    pub(super) fn test(&mut self, active: &Var, site: Site) -> Result<Option<(Var, usize)>, Error> {
        let count = Mask::from_var(active.clone()).count();
        let computed = self.compute(&[active, count.var()], Writes::default(), site)?;
        let Some((_, Selected { mut values, .. })) = computed else { return Ok(None) };
        let (Some(count), Some(narrow)) = (values.pop(), values.pop()) else { return Ok(None) };
        let count = Array::<u32>::from_var(count).item()?;
        let wide = record::literal(Type::Bool, 0, self.width);
        let shown = self.shown(&narrow, &wide);
        self.active = Narrow { narrow, wide, shown: shown.clone() };
        Ok(Some((shown, count as usize)))
    }

    fn compute(&self, wanted: &[&Var], writes: Writes, site: Site) -> Result<Option<(Selection, Selected)>, Error> {
        let states = self.states.iter().flatten().chain([&self.active]);
        let selection = Selection {
            width: self.width,
            lanes: self.lanes.clone(),
            narrow: states.map(|state| (state.shown.clone(), state.narrow.clone())).collect(),
            writes,
        };
        let why = "the lanes that remain in an `#[evaluated]` loop are computed";
        let computed = schedule::evaluate_selected(&selection, wanted, why, site)?;
        Ok(computed.map(|computed| (selection, computed)))
    }

    /// Returns an array of all lanes, as an expression.
    fn shown(&self, narrow: &Var, wide: &Var) -> Var {
        let _outside = region::exit_all();
        record::select(&self.is_there, &gather::gather(narrow, &self.position, Some(&self.is_there)), wide)
    }
}

fn scatter(target: &mut Var, value: &Var, index: &Var, mask: &Var) {
    scatter::scatter(target, &Request { how: How::Write, index, value, expected: None, mask: Some(mask) });
}
