//! Recording a loop: the condition and the body are each traced once, on parameters that represent the state.
//!
//! A state whose next value is made from its parameter only by scatters is in memory: all lanes share it, and it has
//! its own width. The body never reads it; the array after the loop is a result like the others.
//!
//! State that a loop changes becomes as wide as the loop. The one exception is a loop whose condition has width 1 and
//! in which no state of width 1 becomes wider: there values of width 1 are the same in all lanes, in every iteration,
//! and therefore after the loop. Writes of values of width 1 in such a loop happen once, not in each lane.

use std::marker::PhantomData;
use std::ops::Range;

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, CompareOp, Type};

use super::region::{self, Mark};
use super::report::Report;
use super::{activity, local, loop_alias_check, record, scatter};
use crate::graph::node::{Draft, Var, flag};
use crate::graph::op::Op;
use crate::graph::payload::{Bound, LoopPayload, Payload, RegionId, State, control_node, result};
use crate::graph::{gradients, numbering};
use crate::misuse::Misuse;
use crate::size::extent::Extent;

/// A loop that is being recorded. Dropping it before [`LoopRecorder::finish`] restores the trace to its state before.
///
/// Lanes run `state = inits; while condition(state) { state = body(state) }`, each for as long as its own condition
/// holds.
pub struct LoopRecorder {
    mark: Mark,
    inits: Vec<Var>,
    params: Vec<Var>,
    condition: Option<Var>,
    /// The maximum number of iterations of a lane; the last of the states counts them.
    bound: Option<Bound>,
    /// The bound of another loop that the condition keeps to.
    kept_bound: Option<Bound>,
    site: Site,
    /// The stack of open regions belongs to the thread.
    not_send: PhantomData<*const ()>,
}

impl LoopRecorder {
    /// Begins a loop over a state. The second result represents the state while the loop is recorded. The condition is
    /// recorded first.
    #[must_use]
    pub fn begin(inits: &[Var], site: Site) -> (LoopRecorder, Vec<Var>) {
        Self::begin_bounded(inits, None, site)
    }

    /// Like [`LoopRecorder::begin`], with a maximum number of iterations of each lane. The launch fails if a lane needs
    /// more.
    #[must_use]
    pub fn begin_bounded(inits: &[Var], limit: Option<u32>, site: Site) -> (LoopRecorder, Vec<Var>) {
        let mut inits = inits.to_vec();
        let visible = inits.len();
        let bound = limit.map(|limit| Bound { limit, position: visible });
        inits.extend(bound.map(|_| record::literal(Type::U32, 0, 1)));
        inits.iter().filter(|init| !is_being_written(init)).for_each(|init| region::check(init, site));
        let mark = region::open_loop(inits.len(), site);
        let params: Vec<Var> =
            inits.iter().enumerate().map(|(position, init)| param(mark.id, position, init)).collect();
        region::note_params(mark, &params, &inits);
        let all = params.clone();
        let (condition, kept_bound, not_send) = (None, None, PhantomData);
        let recorder = LoopRecorder { mark, inits, params: all, condition, bound, kept_bound, site, not_send };
        (recorder, params.into_iter().take(visible).collect())
    }

    /// States that the condition keeps to the bound of another loop, whose iterations one of the states counts. The
    /// launch fails if a lane exceeds it.
    pub(crate) fn keeps_to(&mut self, bound: Bound) {
        self.kept_bound = Some(bound);
    }

    /// Sets the condition, a mask that was computed from the parameters. The nodes recorded from here on are the body.
    ///
    /// # Panics
    ///
    /// When the condition is not a mask, is always true, or depends on a region that is closed.
    pub fn condition(&mut self, mask: &Var) {
        check_condition(mask, self.site);
        // Lanes that took another side of a branch around the loop must not run it, wherever it is placed.
        self.condition = Some(region::conjunction(&self.within_bound(mask)));
        region::begin_body(self.mark);
    }

    /// Returns the lanes of a mask that may continue.
    fn within_bound(&self, mask: &Var) -> Var {
        let Some(Bound { limit, position }) = self.bound else { return mask.clone() };
        let limit = record::literal(Type::U32, limit.into(), 1);
        record::and(mask, &record::compare(CompareOp::Le, &self.params[position], &limit))
    }

    /// Returns the number of iterations plus one.
    fn counted(&self) -> Option<Var> {
        let one = record::literal(Type::U32, 1, 1);
        self.bound.map(|bound| record::binary(BinaryOp::Add, &self.params[bound.position], &one))
    }

    /// Ends the loop with the state after the body; returns the state after the loop.
    ///
    /// # Panics
    ///
    /// When the type of a state variable changed, or widths do not match.
    #[must_use]
    pub fn finish(self, next: Vec<Var>) -> Vec<Var> {
        self.finish_with(next, Vec::new())
    }

    /// Like [`LoopRecorder::finish`]. The `late` variables are first assigned in the body: they are zero before, and
    /// come after the others in the result.
    #[must_use]
    pub fn finish_with(mut self, mut next: Vec<Var>, late: Vec<Var>) -> Vec<Var> {
        let visible = next.len();
        next.extend(self.counted());
        assert_eq!(next.len(), self.inits.len(), "a loop ends with as many state variables as it began with");
        let early = next.len();
        let Some(condition) = self.condition.take() else {
            Misuse::new("a loop ended without a condition", self.site).panic();
        };
        next.iter().filter(|next| !is_being_written(next)).for_each(|next| region::check(next, self.site));
        late.iter().for_each(|late| region::check(late, self.site));
        for value in late {
            let init = record::literal(value.ty(), 0, 1);
            self.params.push(param(self.mark.id, self.inits.len(), &init));
            self.inits.push(init);
            next.push(value);
        }
        let has_effect = region::has_effect(self.mark);
        let mut reports = region::take_reports(self.mark);
        let without_count = |mut results: Vec<Var>| {
            results.drain(visible..early);
            results
        };
        let mut states: Vec<State> = self.take_states(next);
        // States of reports come after the initial states of the loop.
        let late = states.split_off(early);
        let reported: Vec<Range<usize>> =
            reports.iter_mut().map(|report| add_states_of(report, self.mark.id, &mut states)).collect();
        let first_late = states.len();
        for state in late {
            let param = param(self.mark.id, states.len(), &state.init);
            states.push(State { param, ..state });
        }
        if has_effect || states.iter().any(|state| is_being_written(&state.init)) {
            loop_alias_check::check(self.mark.id, &condition, &states, self.site);
        }
        let lanes = Lanes::of(&condition, &states, self.site);
        refuse_shared_atomics(lanes, &states);
        // Nothing is rejected from here on.
        region::hand_on(region::complete(self.mark).written);
        if condition.literal() == Some(0) {
            let after = (0..early).chain(first_late..states.len()).map(|position| lanes.after_none(&states[position]));
            return without_count(after.collect());
        }
        let is_count = |position: usize| (visible..early).contains(&position);
        if states.iter().enumerate().all(|(position, state)| state.next.is_none() || is_count(position)) {
            return without_count(states.into_iter().map(|state| state.init).collect());
        }
        let kept = |position: usize| {
            let state = &states[position];
            (position, state.next.is_none().then(|| state.init.clone()))
        };
        let kept: Vec<(usize, Option<Var>)> = (0..early).chain(first_late..states.len()).map(kept).collect();
        if states.iter().any(|state| state.is_memory) {
            region::note_effect();
        }
        activity::mark(self.mark.id, &mut states);
        let (bound, is_in_condition) = (self.bound.or(self.kept_bound), region::is_at_condition());
        let payload = LoopPayload::new(self.mark.id, condition, states, lanes.is_uniform);
        let payload = LoopPayload { bound, is_in_condition, ..payload };
        let node = control_node(Op::Loop, lanes.width, Payload::Loop(payload), region::innermost_loop(), self.site);
        numbering::count_work(Op::Loop.weight());
        region::note_write(&node);
        for (report, positions) in reports.into_iter().zip(reported) {
            report.end_loop(&node, positions.map(|position| loop_result(&node, position)));
        }
        let results = kept.into_iter().filter(|(position, _)| !is_count(*position));
        results.map(|(position, kept)| kept.unwrap_or_else(|| loop_result(&node, position))).collect()
    }

    fn take_states(&mut self, next: Vec<Var>) -> Vec<State> {
        let before = std::mem::take(&mut self.inits).into_iter().zip(std::mem::take(&mut self.params));
        before.zip(next).map(|((init, param), next)| self.state(init, param, next)).collect()
    }

    fn state(&self, init: Var, param: Var, next: Var) -> State {
        check_type(&init, &next, self.site);
        let is_unchanged = next.is_same(&param) || is_same_value(&next, &init);
        let is_memory = !local::is_local(&init) && scatter::is_version_of(&next, &param);
        if !is_unchanged && !is_memory {
            // An array that is written in this region or in an outer one does not become a per-lane value.
            [&init, &next].into_iter().for_each(|var| loop_alias_check::refuse_reading(var, self.site));
        }
        State { param, next: (!is_unchanged).then_some(next), init, is_memory, carries: false }
    }
}

impl Drop for LoopRecorder {
    fn drop(&mut self) {
        region::give_up(self.mark);
    }
}

/// Rejects masks that cannot be the condition of a recorded loop.
pub(crate) fn check_condition(mask: &Var, site: Site) {
    check_mask(mask, site);
    if mask.literal() == Some(1) && mask.width() != 0 {
        Misuse::new("the condition of a traced loop is always true", site)
            .value("the condition", mask)
            .hint("a traced loop ends when its condition becomes false; compute the condition from the loop's state")
            .panic();
    }
}

/// Rejects masks that cannot be the condition of any loop.
pub(crate) fn check_mask(mask: &Var, site: Site) {
    region::check(mask, site);
    if mask.ty() != Type::Bool {
        Misuse::new("the condition of a loop must be a mask", site).value("the condition", mask).panic();
    }
}

/// Returns whether it is an array in memory that lanes of an open region write.
fn is_being_written(var: &Var) -> bool {
    var.region() == RegionId::WRITING
}

/// Returns the result of a loop for a state.
pub(crate) fn loop_result(node: &Var, position: usize) -> Var {
    let Some(Payload::Loop(payload)) = node.payload() else { unreachable!("the node of a loop has its parts") };
    let state = &payload.states[position];
    let init = &state.init;
    if state.is_memory {
        let array = scatter::array_after(node, init.ty(), init.extent(), position, node.site());
        activity::settle(&array, state);
        return array;
    }
    let lanes = Lanes { width: node.extent(), is_uniform: payload.is_uniform };
    let width = lanes.width_of(state);
    let value = result(Op::LoopResult, node, init.ty(), width, position, node.region(), node.site());
    value.add_flag(init.flags() & flag::LOCAL);
    activity::settle(&value, state);
    let writes = payload.states.iter().any(|state| state.is_memory);
    if local::is_local(&value) {
        return if writes && !region::is_recording() { kept_elements(node, &value, payload) } else { value };
    }
    if writes {
        payload.results.add(&value);
    }
    value
}

/// Per-lane local memory after a loop that cannot run again: its elements are stored with the other results of the
/// loop.
fn kept_elements(node: &Var, memory: &Var, payload: &LoopPayload) -> Var {
    let Some(len) = local::len_of(memory) else { return memory.clone() };
    let elements = local::elements(memory, len);
    let elements: Vec<Var> = elements.iter().map(|element| record::broadcast(element, node.width())).collect();
    elements.iter().for_each(|element| payload.results.add(element));
    local::of_elements(memory.ty(), &elements)
}

/// Returns whether both are the same node, or the same constant.
pub(crate) fn is_same_value(a: &Var, b: &Var) -> bool {
    a.is_same(b) || is_equal_literal(a, b)
}

/// Returns whether both are the same constant, of the same width.
pub(crate) fn is_equal_literal(a: &Var, b: &Var) -> bool {
    a.literal().is_some() && a.literal() == b.literal() && a.ty() == b.ty() && a.width() == b.width()
}

/// Adds the arrays of a report to the states of the loop that it was recorded in; returns their positions.
fn add_states_of(report: &mut Report, id: RegionId, states: &mut Vec<State>) -> Range<usize> {
    let (position, arrays) = report.leave_loop();
    // If a region inside the loop was aborted, states are missing.
    while states.len() < position {
        let init = super::record::literal(Type::Bool, 0, 1);
        let param = param(id, states.len(), &init);
        states.push(State { param, init, next: None, is_memory: false, carries: false });
    }
    states.extend(arrays);
    position..states.len()
}

pub(crate) fn param(id: RegionId, position: usize, init: &Var) -> Var {
    let param = Var::new(Draft {
        op: Op::Param,
        ty: init.ty(),
        width: init.extent(),
        region: id,
        flags: init.flags() & flag::LOCAL | gradients::flags_of_param(init.ty()),
        operands: [None; 3],
        position,
        word: 0,
        site: init.site(),
    });
    if let Some(len) = local::len_of(init) {
        param.set_local_len(len);
    }
    numbering::note_made(&param);
    param
}

/// Rejects a loop that changes the type of a state.
pub(crate) fn check_type(init: &Var, next: &Var, site: Site) {
    if local::is_local(next) != local::is_local(init) {
        Misuse::new("a loop replaces a `Local` by an array, or an array by a `Local`", site)
            .value("before the loop the value", init)
            .value("after the body it", next)
            .panic();
    }
    if next.ty() != init.ty() {
        let what = format!("a loop changes the type of a state variable from {} to {}", init.ty(), next.ty());
        Misuse::new(what, site).value("before the loop the value", init).value("after the body it", next).panic();
    }
}

/// The width of a loop.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    pub(crate) width: Extent,
    /// Values of width 1 are the same in all lanes.
    pub(crate) is_uniform: bool,
}

impl Lanes {
    /// Returns the width of a loop: that of its condition, of all state that changes, and of the values written to
    /// state in memory.
    pub(crate) fn of(condition: &Var, states: &[State], site: Site) -> Lanes {
        let writers: Vec<Var> = states.iter().flat_map(loop_alias_check::writers).collect();
        let mut widest = condition;
        let changed = || states.iter().filter(|state| !state.is_memory && state.next.is_some());
        let values = changed().filter_map(|state| state.next.as_ref().map(|next| [&state.init, next]));
        for var in values.flatten().chain(&writers) {
            if widest.width() == 1 {
                widest = var;
            } else if var.width() != 1 && var.width() != widest.width() {
                let what =
                    format!("a loop over {} lanes cannot carry an array of width {}", widest.lanes(), var.lanes());
                Misuse::new(what, site)
                    .value("the loop's width comes from a value that", widest)
                    .value("the state variable", var)
                    .hint("all state that a loop changes, and its condition, must have the same width, or width 1")
                    .panic();
            }
        }
        let grows =
            |state: &State| state.init.width() == 1 && state.next.as_ref().is_some_and(|next| next.width() != 1);
        Lanes { width: widest.extent(), is_uniform: condition.width() == 1 && !changed().any(grows) }
    }

    /// Returns a state after a loop that no lane runs: the initial state, with the width after any such loop.
    pub(crate) fn after_none(self, state: &State) -> Var {
        let is_changed = state.next.is_some() && !state.is_memory && !local::is_local(&state.init);
        if is_changed { record::broadcast(&state.init, self.width_of(state)) } else { state.init.clone() }
    }

    /// Returns the width after the loop of a state that is not an array in memory.
    pub(crate) fn width_of(self, state: &State) -> Extent {
        let is_single = |var: &Var| var.width() == 1;
        let is_uniform = self.is_uniform && is_single(&state.init) && state.next.as_ref().is_none_or(is_single);
        if is_uniform { Extent::ONE } else { self.width }
    }
}

/// A wide loop writes values of width 1 in only one of its lanes, so the other lanes would not receive the previous
/// contents.
fn refuse_shared_atomics(lanes: Lanes, states: &[State]) {
    if lanes.width.lanes == 1 || !lanes.is_uniform {
        return;
    }
    let mut writers: Vec<Var> = states.iter().flat_map(loop_alias_check::writers).collect();
    while let Some(writer) = writers.pop() {
        match writer.payload() {
            Some(Payload::Loop(payload)) => writers.extend(payload.states.iter().flat_map(loop_alias_check::writers)),
            Some(Payload::Scatter(payload))
                if writer.width() == 1 && payload.how.returns_old_value() && !payload.is_report =>
            {
                let what = format!(
                    "a value of width 1 is exchanged with memory inside of a loop over {} lanes",
                    lanes.width.lanes
                );
                Misuse::new(what, writer.site())
                    .value("the index", &payload.index)
                    .hint(
                        "make the index as wide as the loop, so that each lane gets the element that was there \
                        before",
                    )
                    .panic();
            }
            _ => {}
        }
    }
}
