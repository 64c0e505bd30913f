//! `#[evaluated] while`: the body runs once for each iteration, and the state is evaluated before the next one.
//!
//! The state is in memory from the first iteration on, so all iterations have the same kernel, which also computes the
//! condition and whether any lane continues. The body runs under the mask of those lanes; the others retain their
//! state. The first iteration always runs, on no lane if necessary. So the set of changed state and its width do not
//! depend on the contents, and match those of a recorded loop.

use std::sync::Arc;

use jit_runtime::cancel::{self, Operation};
use jit_runtime::ir::{ReduceOp, Type};
use jit_runtime::memory::Buffer;
use jit_runtime::recording::{Scalar, Unchanged};
use jit_runtime::{Error, Site};

use super::compaction::{self, Compaction, Part};
use super::repeat::refuse_more;
use crate::array::{Array, Mask};
use crate::capture::launches;
use crate::graph::Var;
use crate::graph::device::Devices;
use crate::graph::payload::State;
use crate::misuse::{Misuse, panic_at};
use crate::schedule;
use crate::size::Size;
use crate::size::extent::Extent;
use crate::trace::loops::{self, Lanes};
use crate::trace::region::{self, Mark, Writes};
use crate::trace::{local, record, reduce, scatter};

/// The state of a loop that evaluates one iteration at a time.
pub(super) struct Evaluated {
    /// The state before the loop, where it is still unchanged.
    inits: Vec<Var>,
    /// The initial state of the next or current iteration.
    current: Vec<Var>,
    /// The elements of per-lane local memory in it.
    elements: Vec<Vec<Var>>,
    /// Which states are arrays that lanes write by scatters.
    is_memory: Vec<bool>,
    has_changed: Vec<bool>,
    /// The active lanes of the current iteration.
    active: Option<Var>,
    /// The current iteration.
    iteration: Option<Mark>,
    iterations: u32,
    /// The condition is false in every state.
    is_never_run: bool,
    /// No lane continues; the current run of the body is the last.
    is_ending: bool,
    max_iterations: Option<u32>,
    /// Whether finished lanes are removed from the launches.
    is_compressed: bool,
    compaction: Option<Compaction>,
    noted: Option<Noted>,
    site: Site,
    /// The iterations are cancelled together.
    _operation: Operation,
}

/// A loop's data for the recording of a frozen function.
struct Noted {
    /// The storage of the state in the current iteration.
    forms: Vec<Form>,
    /// The number of iterations without active lanes, made to find the common part of all iterations.
    extra: u32,
}

/// The form of an array of the state: its width, and its known value if it is not in memory.
type Form = (Extent, Option<(u64, Option<Scalar>)>);

/// The maximum of iterations without active lanes, in a recording. The first one begins with the state from before the
/// loop, the second one with the result of a first iteration, which may be in other memory. From then on two iterations
/// match if any do.
const MAX_EXTRA: u32 = 4;

/// The value that says whether any lane continues.
struct ConditionRead {
    is_true: bool,
    /// Its position in memory, if a recording is made.
    noted: Option<Arc<Buffer>>,
}

impl Evaluated {
    /// Creates a loop before its first iteration; the state is written to memory.
    pub(super) fn begin(inits: Vec<Var>, is_compressed: bool, max_iterations: Option<u32>, site: Site) -> Self {
        if let Some(outside) = region::recording_site() {
            Misuse::new("an `#[evaluated]` loop is inside of a traced region, which is recorded", site)
                .place("the region begins", outside)
                .hint(
                    "there are no values to evaluate: make this loop symbolic, or mark the loop or branch around it \
                     with `#[evaluated]`",
                )
                .panic();
        }
        inits.iter().for_each(|init| region::check(init, site));
        let operation = cancel::begin();
        let _scope = Devices::of_all(&inits).enter();
        let (current, elements) = stored_all(&inits, site);
        Evaluated {
            is_memory: vec![false; inits.len()],
            elements,
            has_changed: vec![false; inits.len()],
            inits,
            current,
            active: None,
            iteration: None,
            iterations: 0,
            is_never_run: false,
            is_ending: false,
            max_iterations,
            is_compressed,
            compaction: None,
            noted: launches::is_recording().then(|| {
                launches::begin_loop(max_iterations, site);
                Noted { forms: Vec::new(), extra: 0 }
            }),
            site,
            _operation: operation,
        }
    }

    /// Returns the state that the loop continues with.
    pub(super) fn state(&self) -> Vec<Var> {
        self.current.clone()
    }

    /// Returns whether all iterations have run.
    pub(super) fn is_done(&self) -> bool {
        self.is_ending && self.iteration.is_none()
    }

    /// Ends an iteration with the state after the body. A variable that is first assigned in the body is at the end of
    /// the state, and is zero before.
    pub(super) fn end_iteration(&mut self, next: Vec<Var>) {
        for late in next.iter().skip(self.current.len()) {
            let zero = record::literal(late.ty(), 0, 1);
            self.inits.push(zero.clone());
            self.current.push(zero);
            self.elements.push(Vec::new());
            self.is_memory.push(false);
            self.has_changed.push(false);
        }
        assert_eq!(next.len(), self.current.len(), "a loop ends with as many state variables as it began with");
        let writes = self.iteration.map(region::writes_of).unwrap_or_default();
        self.iteration.take().into_iter().for_each(region::give_up);
        let Some(active) = self.active.clone() else { return };
        let inits = if self.is_never_run { self.inits.clone() } else { Vec::new() };
        let states: Vec<State> = next.into_iter().enumerate().map(|(at, next)| self.take(at, next, &writes)).collect();
        let lanes = Lanes::of(&active, &states, self.site);
        if self.is_never_run {
            let states = states.into_iter().zip(inits).map(|(state, init)| State { init, ..state });
            self.current = states.map(|state| lanes.after_none(&state)).collect();
            return;
        }
        self.is_memory.iter_mut().zip(&states).for_each(|(is_memory, state)| *is_memory |= state.is_memory);
        let blended = states.into_iter().map(|state| self.blended(&active, lanes, state, &writes));
        let blended: Vec<Var> = blended.collect();
        self.current = self.compressed(blended, &writes).unwrap_or_else(|error| panic_at(self.site, error));
        // Otherwise local memory would be an expression of all iterations so far.
        if self.compaction.is_none() && self.current.iter().any(local::is_local) {
            (self.current, self.elements) = stored_all(&self.current, self.site);
        }
    }

    /// Computes the state for the remaining lanes.
    fn compressed(&mut self, state: Vec<Var>, writes: &Writes) -> Result<Vec<Var>, Error> {
        let Some(compaction) = &mut self.compaction else { return Ok(state) };
        let mut parts: Vec<Vec<Var>> = state.iter().map(elements_of).collect();
        let arrays = flat(&state, &parts, &self.is_memory);
        let Some((shown, computed)) = compaction.advance(&arrays, writes, self.site)? else {
            self.give_up();
            return Ok(state);
        };
        let mut shown = shown.into_iter();
        let mut whole = |(var, parts): (Var, &mut Vec<Var>)| {
            if !local::is_local(&var) {
                return shown.next().unwrap_or(var);
            }
            parts.iter_mut().zip(&mut shown).for_each(|(part, shown)| *part = shown);
            local::of_elements(var.ty(), parts)
        };
        let state = state.into_iter().zip(&mut parts).map(&mut whole).collect();
        self.elements = parts;
        computed.finish(self.site)?;
        Ok(state)
    }

    /// Continues with all lanes, if an iteration cannot be computed for some of them only.
    fn give_up(&mut self) {
        (self.is_compressed, self.compaction) = (false, None);
    }

    /// Returns a state before and after the body. Initial values are dropped as soon as they are not needed, so that
    /// arrays without another owner are written in place.
    fn take(&mut self, position: usize, next: Var, writes: &Writes) -> State {
        let nothing = || record::literal(Type::Bool, 0, 1);
        let before = std::mem::replace(&mut self.current[position], nothing());
        loops::check_type(&before, &next, self.site);
        let has_changed = &mut self.has_changed[position];
        let is_unchanged =
            next.is_same(&before) || (!*has_changed && loops::is_same_value(&next, &self.inits[position]));
        if is_unchanged {
            let init = if *has_changed { before } else { self.inits[position].clone() };
            return State { param: nothing(), init, next: None, is_memory: false, carries: false };
        }
        *has_changed = true;
        self.inits[position] = nothing();
        let is_memory = !local::is_local(&next) && scatter::continues_within(writes, &next, &before);
        State { param: nothing(), init: before, next: Some(next), is_memory, carries: false }
    }

    /// Returns the state after an iteration: inactive lanes retain theirs.
    fn blended(&self, active: &Var, lanes: Lanes, state: State, writes: &Writes) -> Var {
        let width = lanes.width_of(&state);
        match state.next {
            None => state.init,
            Some(next) if state.is_memory => scatter::settle(&next),
            // Writes in an iteration are already masked.
            Some(next) if local::is_local(&next) && scatter::continues_within(writes, &next, &state.init) => next,
            Some(next) if local::is_local(&next) => local::select(self.site, active, &next, &state.init),
            Some(next) => record::broadcast(&record::select_at(self.site, active, &next, &state.init), width),
        }
    }

    /// Computes the state and the lanes that continue; returns whether to run the body. A loop that ends only by its
    /// exits runs its body once more at the end, on no lane. `is_steady`: the host values in the state are unchanged
    /// since the last iteration.
    pub(super) fn test(&mut self, condition: &Var, is_endless: bool, is_steady: bool) -> bool {
        // It may be uniform and constant: the host recomputes it for each iteration.
        loops::check_mask(condition, self.site);
        cancel::check_loop(self.site).unwrap_or_else(|error| panic_at(self.site, error));
        let is_never = condition.literal() == Some(0);
        let condition = region::conjunction(condition);
        let active = match &self.active {
            Some(before) => record::and(before, &condition),
            None => condition,
        };
        let is_first = self.active.is_none();
        if active.literal() == Some(0) && !is_first {
            self.note_end(None, is_steady).unwrap_or_else(|error| panic_at(self.site, error));
            return is_endless && self.end(active.width());
        }
        let (active, read) = self.compute(active).unwrap_or_else(|error| panic_at(self.site, error));
        let is_run = is_first || read.is_true;
        let is_run = self.note(&read, is_run, is_steady).unwrap_or_else(|error| panic_at(self.site, error));
        if !is_run {
            return is_endless && self.end(active.width());
        }
        // As in a recorded loop, which does not depend on the mask around it.
        self.is_never_run = is_never;
        let is_known = !read.is_true && read.noted.is_none();
        let active = if is_known { record::literal(Type::Bool, 0, active.width()) } else { active };
        self.count(read.is_true);
        self.iteration = Some(region::open_evaluated(active.clone(), self.site));
        self.active = Some(active);
        true
    }

    /// Adds to a recording that an iteration begins, or that the loop ends; returns whether there is another iteration.
    /// Iterations without active lanes follow until two match, so that the recording serves any number of iterations
    /// that a replay needs.
    fn note(&mut self, read: &ConditionRead, is_run: bool, is_steady: bool) -> Result<bool, Error> {
        if self.noted.is_none() {
            return Ok(is_run);
        }
        let looked = read.noted.as_ref().map(|buffer| (buffer, read.is_true));
        self.note_state(is_steady);
        let Some(noted) = &mut self.noted else { return Ok(is_run) };
        let is_extra = !read.is_true && looked.is_some() && noted.extra < MAX_EXTRA;
        if !is_run && (!is_extra || launches::is_loop_settled()) {
            self.noted = None;
            return launches::end_loop(looked, self.site).map(|()| false);
        }
        noted.extra += u32::from(!is_run);
        launches::begin_iteration(looked, self.site).map(|()| true)
    }

    fn note_end(&mut self, looked: Option<(&Arc<Buffer>, bool)>, is_steady: bool) -> Result<(), Error> {
        if self.noted.is_none() {
            return Ok(());
        }
        self.note_state(is_steady);
        self.noted = None;
        launches::end_loop(looked, self.site)
    }

    /// Records which state the current iteration has left unchanged.
    fn note_state(&mut self, is_steady: bool) {
        let arrays = flat(&self.current, &self.elements, &self.is_memory);
        let forms: Vec<Form> = arrays.iter().map(|part| form(part.var)).collect();
        let Some(noted) = &mut self.noted else { return };
        let before = std::mem::replace(&mut noted.forms, forms);
        launches::end_iteration(Unchanged { host: is_steady, forms: before == noted.forms });
    }

    /// Computes the state and a mask; returns the mask, and whether it holds on any lane.
    fn compute(&mut self, active: Var) -> Result<(Var, ConditionRead), Error> {
        if !self.is_compressed || launches::is_recording() || active.width() == 1 || active.literal().is_some() {
            let read = self.compute_all(&active)?;
            return Ok((active, read));
        }
        let (active, remaining) = self.count_lanes(active)?;
        let lanes = self.compaction.as_ref().map_or(active.lanes(), Compaction::lanes);
        if remaining > 0 && compaction::is_worth(remaining, lanes) {
            let arrays = flat(&self.current, &self.elements, &self.is_memory);
            self.compaction = Some(Compaction::of(self.compaction.as_ref(), &arrays, &active, self.site)?);
        }
        Ok((active, ConditionRead { is_true: remaining > 0, noted: None }))
    }

    /// Computes the state and a mask; returns the mask, and the number of lanes on which it holds.
    fn count_lanes(&mut self, active: Var) -> Result<(Var, usize), Error> {
        if let Some(compaction) = &mut self.compaction {
            if let Some(counted) = compaction.test(&active, self.site)? {
                return Ok(counted);
            }
            self.give_up();
        }
        let count = Mask::from_var(active.clone()).count();
        self.compute_with(&active, count.var())?;
        Ok((active, count.item()? as usize))
    }

    fn compute_all(&self, active: &Var) -> Result<ConditionRead, Error> {
        let any = reduce::reduce(ReduceOp::Or, active);
        self.compute_with(active, &any)?;
        self.read(&any)
    }

    /// Reads whether any lane continues.
    fn read(&self, any: &Var) -> Result<ConditionRead, Error> {
        if any.literal().is_some() || !launches::is_recording() {
            let is_true = Array::<bool>::from_var(any.clone()).item()?;
            return Ok(ConditionRead { is_true, noted: None });
        }
        let Some(buffer) = any.data() else {
            launches::refuse_reading(any, self.site)?;
            return Ok(ConditionRead { is_true: any.known_bits() == Some(1), noted: None });
        };
        launches::refuse_unknown("has an `#[evaluated]` loop or branch, which tests a mask", self.site)?;
        let mut byte = [0];
        buffer.read(0, &mut byte)?;
        Ok(ConditionRead { is_true: byte[0] != 0, noted: Some(buffer) })
    }

    fn compute_with(&self, active: &Var, reduced: &Var) -> Result<(), Error> {
        let arrays = self.current.iter().filter(|var| !local::is_local(var));
        let wanted: Vec<&Var> = arrays.chain([active, reduced]).collect();
        schedule::evaluate(&wanted, "an `#[evaluated]` loop needs its state for the next iteration", self.site)
    }

    /// Begins the last run of the body, on no lane.
    fn end(&mut self, width: Size) -> bool {
        self.is_ending = true;
        self.iteration = Some(region::open_evaluated(record::literal(Type::Bool, 0, width), self.site));
        self.active = Some(record::literal(Type::Bool, 0, width));
        true
    }

    fn count(&mut self, is_run: bool) {
        self.iterations += u32::from(is_run);
        if let Some(limit) = self.max_iterations.filter(|&limit| self.iterations > limit) {
            refuse_more(limit, self.site);
        }
    }
}

impl Drop for Evaluated {
    fn drop(&mut self) {
        self.iteration.take().into_iter().for_each(region::give_up);
        if self.noted.take().is_some() {
            // The last iteration was recorded, but no condition value that ends the loop was read.
            let _ = launches::end_loop(None, self.site);
        }
    }
}

fn form(var: &Var) -> Form {
    (var.extent(), var.known_bits().map(|bits| (bits, launches::scalar_of(var))))
}

/// Returns the same state, entirely in memory, with per-lane local memory as its elements: a kernel reads it in the
/// same way as the result of an iteration.
fn stored_all(vars: &[Var], site: Site) -> (Vec<Var>, Vec<Vec<Var>>) {
    in_memory(vars, site).unwrap_or_else(|error| panic_at(site, error))
}

fn in_memory(vars: &[Var], site: Site) -> Result<(Vec<Var>, Vec<Vec<Var>>), Error> {
    let mut parts: Vec<Vec<Var>> = vars.iter().map(elements_of).collect();
    let arrays = vars.iter().filter(|var| !local::is_local(var));
    let wanted: Vec<&Var> = arrays.chain(parts.iter().flatten()).collect();
    schedule::evaluate(&wanted, "an `#[evaluated]` loop needs its state in memory", site)?;
    let stored = vars
        .iter()
        .zip(&mut parts)
        .map(|(var, parts)| stored(var, parts, site))
        .collect::<Result<Vec<Var>, Error>>()?;
    Ok((stored, parts))
}

/// Returns the elements of per-lane local memory; none for an array.
fn elements_of(var: &Var) -> Vec<Var> {
    let len = if local::is_local(var) { local::len_of(var) } else { None };
    len.map_or_else(Vec::new, |len| local::elements(var, len))
}

/// Returns the arrays of a state; for per-lane local memory its elements.
fn flat<'a>(state: &'a [Var], elements: &'a [Vec<Var>], is_memory: &'a [bool]) -> Vec<Part<'a>> {
    let arrays = |((var, elements), &is_memory): ((&'a Var, &'a Vec<Var>), &bool)| {
        let vars = if local::is_local(var) { elements.as_slice() } else { std::slice::from_ref(var) };
        vars.iter().map(move |var| Part { var, is_memory })
    };
    state.iter().zip(elements).zip(is_memory).flat_map(arrays).collect()
}

/// Returns a value in memory: a known value is written, an evaluated one returned unchanged, and per-lane local memory
/// composed of its elements.
fn stored(var: &Var, parts: &mut [Var], site: Site) -> Result<Var, Error> {
    if local::is_local(var) {
        for part in &mut *parts {
            *part = resident(part, site)?;
        }
        return Ok(local::of_elements(var.ty(), parts));
    }
    resident(var, site)
}

fn resident(var: &Var, site: Site) -> Result<Var, Error> {
    let Some(bits) = var.known_bits() else { return Ok(var.clone()) };
    let buffer = if launches::is_recording() && var.lanes() > 0 {
        schedule::filled(var, bits, site)?
    } else {
        let element = &bits.to_le_bytes()[..var.ty().size_bytes()];
        Buffer::repeated(element, var.lanes())?
    };
    let copy = record::constants_at(var.site(), var.ty(), var.width(), buffer);
    region::note_version(&copy, var);
    Ok(copy)
}
