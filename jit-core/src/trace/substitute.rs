//! Recording the values of a loop's body again, in another region, with other values for the parameters.
//!
//! Only what is asked for is recorded, and each value once. Values from outside of the loop are used as they are. Inner
//! loops, branches, switches and per-lane local memory come along, and so do derivatives that operations bring
//! themselves. Writes to arrays in memory do not: a copy has no effects. The copy of an inner loop can retain what its
//! writes are made of, for derivatives of the arrays.

use std::ptr::NonNull;
use std::sync::Arc;

use jit_runtime::{Error, ErrorKind};
use rustc_hash::FxHashMap;

use super::region::BodyOnly;
use super::{activity, loop_alias_check, loops, record, region};
use crate::graph::gradients::Scope;
use crate::graph::node::{Draft, Node, Var, flag};
use crate::graph::op::Op;
use crate::graph::payload::{
    BranchPayload, LoopPayload, Payload, RegionId, State, SwitchPayload, Write, control_node, result,
};
use crate::graph::tape::{self, Call, Tape};
use crate::size::extent::Extent;

/// The parts of a loop: its condition, its states, and the writes that it leaves out.
type Parts = (Var, Vec<State>, Vec<(usize, Write)>);

/// Copies of the values of a loop's body.
pub(crate) struct Substitution {
    /// The loop.
    id: RegionId,
    copies: FxHashMap<NonNull<Node>, Var>,
    /// The copied regions, and those that represent them.
    regions: FxHashMap<RegionId, RegionId>,
    /// The originals, which must live as long as their addresses are used.
    originals: Vec<Var>,
    /// Whether copies of inner loops retain the writes that they leave out. What those read is copied, too.
    retains_writes: bool,
}

impl Substitution {
    /// Begins copying values of a loop into another region, which is open.
    pub(crate) fn new(id: RegionId, into: RegionId) -> Substitution {
        let regions = FxHashMap::from_iter([(id, into)]);
        Substitution { id, copies: FxHashMap::default(), regions, originals: Vec::new(), retains_writes: false }
    }

    /// Lets copies of inner loops retain the writes that they leave out.
    pub(crate) fn retaining_writes(self) -> Substitution {
        Substitution { retains_writes: true, ..self }
    }

    /// Sets what is used in place of a value.
    pub(crate) fn set(&mut self, original: &Var, copy: Var) {
        self.originals.push(original.clone());
        self.copies.insert(original.address(), copy);
    }

    /// Returns the copy of a value.
    ///
    /// # Errors
    ///
    /// When the value depends on the effect of a write.
    pub(crate) fn of(&mut self, root: &Var) -> Result<Var, Error> {
        let mut pending = vec![root.clone()];
        while let Some(var) = pending.last().cloned() {
            if self.known(&var).is_some() {
                pending.pop();
                continue;
            }
            let before = pending.len();
            self.for_each_needed(&var, &mut |input| {
                if self.known(input).is_none() {
                    pending.push(input.clone());
                }
            });
            if pending.len() == before {
                let copy = self.copy(&var)?;
                self.set(&var, copy);
                pending.pop();
            }
        }
        Ok(self.known(root).unwrap_or_else(|| root.clone()))
    }

    /// Returns whether a value exists only in the loop.
    fn is_inside(&self, var: &Var) -> bool {
        var.region().get() >= self.id.get()
    }

    fn known(&self, var: &Var) -> Option<Var> {
        if self.is_inside(var) { self.copies.get(&var.address()).cloned() } else { Some(var.clone()) }
    }

    /// Calls a function with the values that the copy of a value is made of.
    fn for_each_needed(&self, var: &Var, visit: &mut dyn FnMut(&Var)) {
        if let Some(original) = var.original() {
            return visit(&original);
        }
        match var.payload() {
            // Its other parts are copied when its region is open.
            Some(Payload::Loop(payload)) => {
                // An array that is written depends on the writes before.
                let values = payload.states.iter().filter(|state| !state.is_written());
                values.for_each(|state| visit(&state.init));
            }
            _ => var.for_each_input(&mut *visit),
        }
        if let Some(Tape::Result { call, .. }) = tape::of(var) {
            call.inputs.iter().chain(&call.saved).for_each(&mut *visit);
            call.results().iter().flatten().filter_map(|output| output.operand(0)).for_each(|value| visit(&value));
        }
    }

    fn need(&self, var: &Var) -> Var {
        self.known(var).unwrap_or_else(|| var.clone())
    }

    /// Copies a value, whose inputs are copied.
    fn copy(&mut self, var: &Var) -> Result<Var, Error> {
        if let Some(original) = var.original() {
            return Ok(self.need(&original));
        }
        match tape::of(var) {
            Some(Tape::Result { call, .. }) => return Ok(self.result_of_call(var, &call)),
            Some(Tape::Variable) => return Ok(record::detached(&self.operand(var, 0)?)),
            _ => {}
        }
        // What was recorded without gradients carries none in the copy.
        let is_constant = var.flags() & flag::GRAD == 0 && var.payload().is_none();
        let _scope = Scope::begin(is_constant);
        match var.op() {
            Op::Loop => self.copy_loop(var),
            Op::Branch | Op::Switch => Ok(self.choice(var)),
            Op::LoopResult => Ok(loops::loop_result(&self.operand(var, 0)?, var.position())),
            Op::BranchResult | Op::SwitchResult => {
                let control = self.operand(var, 0)?;
                let (region, width) = (control.region(), control.extent());
                Ok(result(var.op(), &control, var.ty(), width, var.position(), region, var.site()))
            }
            Op::Gather => self.gather(var),
            Op::Scatter | Op::ScatterResult | Op::LibraryCall | Op::LibraryResult | Op::Param => Err(refuse(var)),
            _ => Ok(self.operation(var)),
        }
    }

    fn operand(&self, var: &Var, slot: usize) -> Result<Var, Error> {
        var.operand(slot).map(|operand| self.need(&operand)).ok_or_else(|| refuse(var))
    }

    /// Returns the region that represents the one that a value was recorded in.
    fn region_of(&self, var: &Var) -> RegionId {
        self.regions.get(&var.recorded_region()).copied().unwrap_or(RegionId::NONE)
    }

    fn gather(&self, var: &Var) -> Result<Var, Error> {
        let (source, index) = (self.operand(var, 0)?, self.operand(var, 1)?);
        let mask = var.operand(2).map(|mask| self.need(&mask));
        let (flags, pinned) = if var.is_pinned() { (flag::PINNED, self.region_of(var)) } else { (0, RegionId::NONE) };
        Ok(record::gather_node(&source, &index, mask.as_ref(), flags, pinned))
    }

    fn operation(&self, var: &Var) -> Var {
        let (op, ty, site) = (var.op(), var.ty(), var.site());
        let slots = [0, 1, 2].map(|slot| {
            let operand = if slot < op.slots() { var.operand(slot) } else { None };
            operand.map(|operand| self.need(&operand))
        });
        let operands = slots.each_ref().map(Option::as_ref);
        let width = match op {
            Op::Broadcast => var.extent(),
            _ => widest(operands.into_iter().flatten(), var.extent()),
        };
        if op == Op::Broadcast && operands[0].is_some_and(|operand| operand.extent() == width) {
            return self.need(&var.operand(0).expect("a broadcast has an operand"));
        }
        let of_operands = operands.into_iter().flatten().map(Var::region).max().unwrap_or(RegionId::NONE);
        let region = if var.is_pinned() { of_operands.max(self.region_of(var)) } else { of_operands };
        let flags = var.flags() & (flag::PINNED | flag::LOCAL);
        // Operations that have fewer slots store a position in the last one.
        let position = if op == Op::Local { var.position() } else { 0 };
        let copy = Draft { op, ty, width, region, flags, operands, position, word: 0, site }.number();
        if op == Op::LocalWrite {
            region::note_write(&copy);
        }
        copy
    }

    /// Copies a branch or a switch.
    fn choice(&self, var: &Var) -> Var {
        let need = |var: &Var| self.need(var);
        let payload = match var.payload() {
            Some(Payload::Branch(branch)) => {
                let results = branch.results.iter().map(|values| values.each_ref().map(need)).collect();
                Payload::Branch(BranchPayload { condition: need(&branch.condition), results })
            }
            Some(Payload::Switch(switch)) => Payload::Switch(SwitchPayload {
                index: need(&switch.index),
                masks: switch.masks.iter().map(need).collect(),
                is_exclusive: switch.is_exclusive,
                results: switch.results.iter().map(|values| values.iter().map(need).collect()).collect(),
                checked: None,
            }),
            _ => unreachable!("the node of a choice has its parts"),
        };
        let inputs: Vec<&Var> = payload.inputs().map(|(_, input)| input).collect();
        let width = widest(inputs.iter().copied(), var.extent());
        let of_inputs = inputs.iter().map(|input| input.region()).max().unwrap_or(RegionId::NONE);
        control_node(var.op(), width, payload, of_inputs.max(self.region_of(var)), var.site())
    }

    /// Copies a loop, whose initial states are copied.
    fn copy_loop(&mut self, var: &Var) -> Result<Var, Error> {
        let Some(Payload::Loop(payload)) = var.payload() else { return Err(refuse(var)) };
        let site = var.site();
        let around = self.region_of(var);
        let body = BodyOnly::open(site);
        let mark = body.mark;
        self.regions.insert(payload.id, mark.id);
        let (condition, mut states, omitted) = self.parts_of_loop(payload, mark)?;
        drop(body);
        activity::mark(mark.id, &mut states);
        for (copy, state) in states.iter_mut().zip(&payload.states) {
            copy.carries = if state.is_memory { self.retains_writes && state.carries } else { copy.carries };
        }
        let lanes = loops::Lanes::of(&condition, &states, site);
        let (origin, bound) = (payload.origin, payload.bound);
        let payload = LoopPayload::new(mark.id, condition, states, lanes.is_uniform);
        let payload = LoopPayload { origin, bound, omitted, ..payload };
        Ok(control_node(Op::Loop, lanes.width, Payload::Loop(payload), around, site))
    }

    fn parts_of_loop(&mut self, payload: &LoopPayload, mark: region::Mark) -> Result<Parts, Error> {
        let mut states = Vec::new();
        for (position, state) in payload.states.iter().enumerate() {
            let init = match &state.init {
                // Nothing reads it, and the copy does not write it. It belongs to no loop, so copies can be copied.
                array if state.is_written() => record::placeholder(array.ty(), array.width()),
                init => self.need(init),
            };
            let param = loops::param(mark.id, position, &init);
            self.set(&state.param, param.clone());
            states.push(State { param, init, next: None, is_memory: state.is_memory, carries: false });
        }
        let condition = self.of(&payload.condition)?;
        region::begin_body(mark);
        for (state, copy) in payload.states.iter().zip(&mut states) {
            copy.next = match &state.next {
                Some(next) if !state.is_memory => Some(self.of(next)?),
                _ => None,
            };
        }
        let mut omitted = Vec::new();
        let is_retained = |&position: &usize| self.retains_writes && payload.states[position].is_memory;
        let retained: Vec<usize> = (0..payload.states.len()).filter(is_retained).collect();
        for position in retained {
            for write in loop_alias_check::writes(payload, position) {
                omitted.push((position, self.write(&write)?));
            }
        }
        Ok((condition, states, omitted))
    }

    /// Copies what a write is made of.
    pub(crate) fn write(&mut self, write: &Write) -> Result<Write, Error> {
        Ok(match write {
            Write::Scatter { how, index, value, mask } => Write::Scatter {
                how: *how,
                index: self.of(index)?,
                value: self.of(value)?,
                mask: mask.as_ref().map(|mask| self.of(mask)).transpose()?,
            },
            Write::Loop { control, position } => Write::Loop { control: self.of(control)?, position: *position },
        })
    }

    /// Copies the results of an operation with a derivative of its own, whose values and other inputs are copied.
    /// Returns the copy of one of them.
    fn result_of_call(&mut self, var: &Var, call: &Arc<Call>) -> Var {
        let value_of =
            |this: &Self, output: &Var| output.operand(0).map_or_else(|| output.clone(), |of| this.need(&of));
        let need = |vars: &[Var]| vars.iter().map(|var| self.need(var)).collect::<Vec<_>>();
        let (inputs, saved) = (need(&call.inputs), need(&call.saved));
        if !inputs.iter().any(|input| input.flags() & flag::GRAD != 0) {
            return value_of(self, var);
        }
        let outputs = call.outputs.lock().clone();
        let copied = Call::new(inputs, saved, outputs, Arc::clone(&call.rule), call.site);
        for (position, output) in call.results().into_iter().enumerate() {
            let Some(output) = output else { continue };
            let tape = Tape::Result { call: Arc::clone(&copied), position };
            let copy = tape::taped(&value_of(self, &output), tape, output.site());
            copied.outputs.lock()[position] = copy.downgrade();
            self.set(&output, copy);
        }
        self.need(var)
    }
}

/// Returns the width of the first of some values that is wider than one; of none, 1, if those have any width.
fn widest<'a>(vars: impl Iterator<Item = &'a Var>, own: Extent) -> Extent {
    let mut any = false;
    let wide = vars.inspect(|_| any = true).map(Var::extent).find(|width| width.lanes != 1);
    wide.unwrap_or(if any { Extent::ONE } else { own })
}

#[cold]
fn refuse(var: &Var) -> Error {
    let what = "the body of a traced loop depends on the previous elements of a scatter, and cannot be computed again";
    Error::new(ErrorKind::InvalidArgument, what)
        .at(var.site())
        .with_hint("gather from the array before the loop, or keep the value in a variable")
}
