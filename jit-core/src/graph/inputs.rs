//! The single traversal of a node's inputs, with the role of each.
//!
//! Ordinary nodes store their operands in slots. Loops, branches, switches and scatters store them in a payload, whose
//! parts are numbered here. The number gives direct access to the part, so a walk may stop anywhere and continue later.

use std::ops::Range;

use super::node::Var;
use super::payload::Payload;

/// The role of a part of a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The value that lanes choose by: the condition of a loop or branch, the case of a switch.
    Choice,
    /// The checked index of a call.
    Check,
    /// The lanes of a case.
    Mask,
    /// A state of a loop at the begin of an iteration.
    Param,
    /// A state before the loop.
    Init,
    /// A state after the body.
    Next,
    /// A result of a branch or switch, in one of the cases.
    Value,
    /// The array that a scatter writes to, before the write.
    Target,
    /// The index, value and mask of a scatter.
    Write,
}

/// A part of a payload.
#[derive(Clone, Copy)]
pub(crate) struct Input<'e> {
    pub(crate) role: Role,
    /// The state or result that it belongs to, if any.
    pub(crate) position: Option<usize>,
    /// The node, if the part exists.
    pub(crate) var: Option<&'e Var>,
}

impl<'e> Input<'e> {
    fn shared(role: Role, var: Option<&'e Var>) -> Self {
        Input { role, position: None, var }
    }

    fn of(position: usize, role: Role, var: Option<&'e Var>) -> Self {
        Input { role, position: Some(position), var }
    }
}

/// The number of parts of a switch before the masks.
const BEFORE_MASKS: usize = 3;

impl Payload {
    /// Returns the part with a number; `None` after the last one.
    pub(crate) fn input(&self, number: usize) -> Option<Input<'_>> {
        match self {
            Payload::Loop(payload) => {
                let Some(number) = number.checked_sub(1) else {
                    return Some(Input::shared(Role::Choice, Some(&payload.condition)));
                };
                let state = payload.states.get(number / 3)?;
                let (role, var) = match number % 3 {
                    0 => (Role::Param, Some(&state.param)),
                    1 => (Role::Init, Some(&state.init)),
                    _ => (Role::Next, state.next.as_ref()),
                };
                Some(Input::of(number / 3, role, var))
            }
            Payload::Branch(payload) => {
                let Some(number) = number.checked_sub(1) else {
                    return Some(Input::shared(Role::Choice, Some(&payload.condition)));
                };
                let values = payload.results.get(number / 2)?;
                Some(Input::of(number / 2, Role::Value, Some(&values[number % 2])))
            }
            Payload::Switch(payload) => {
                let checked = payload.checked.as_ref();
                match number {
                    0 => return Some(Input::shared(Role::Choice, Some(&payload.index))),
                    1 => return Some(Input::shared(Role::Check, checked.map(|checked| &checked.index))),
                    2 => return Some(Input::shared(Role::Check, checked.map(|checked| &checked.mask))),
                    _ => {}
                }
                let number = number - BEFORE_MASKS;
                if let Some(mask) = payload.masks.get(number) {
                    return Some(Input::shared(Role::Mask, Some(mask)));
                }
                let (number, cases) = (number - payload.masks.len(), payload.masks.len() + 1);
                let values = payload.results.get(number / cases)?;
                Some(Input::of(number / cases, Role::Value, values.get(number % cases)))
            }
            Payload::Scatter(payload) => Some(match number {
                0 => Input::shared(Role::Target, Some(&payload.target)),
                1 => Input::shared(Role::Write, Some(&payload.index)),
                2 => Input::shared(Role::Write, Some(&payload.value)),
                3 => Input::shared(Role::Write, payload.expected.as_ref()),
                4 => Input::shared(Role::Write, payload.mask.as_ref()),
                _ => return None,
            }),
            Payload::LibraryCall(_) => None,
        }
    }

    /// Returns all existing parts, with the role of each.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (Role, &Var)> {
        (0..).map_while(|number| self.input(number)).filter_map(|input| Some((input.role, input.var?)))
    }

    /// Returns the parts of one state or result.
    pub(crate) fn inputs_at(&self, position: usize) -> impl Iterator<Item = (Role, &Var)> {
        let inputs = self.numbers_at(position).map_while(|number| self.input(number));
        inputs.filter_map(|input| Some((input.role, input.var?)))
    }

    fn numbers_at(&self, position: usize) -> Range<usize> {
        let (first, each) = match self {
            Payload::Loop(_) => (1, 3),
            Payload::Branch(_) => (1, 2),
            Payload::Switch(payload) => (BEFORE_MASKS + payload.masks.len(), payload.masks.len() + 1),
            Payload::Scatter(_) | Payload::LibraryCall(_) => (0, 0),
        };
        first + position * each..first + (position + 1) * each
    }

    /// Returns the number of states or results.
    pub(crate) fn positions(&self) -> usize {
        match self {
            Payload::Loop(payload) => payload.states.len(),
            Payload::Branch(payload) => payload.results.len(),
            Payload::Switch(payload) => payload.results.len(),
            Payload::Scatter(_) | Payload::LibraryCall(_) => 0,
        }
    }
}

impl Var {
    /// Calls a function with each input of this node that no evaluation has removed.
    pub(crate) fn for_each_input(&self, mut visit: impl FnMut(&Var)) {
        (0..self.op().slots()).filter_map(|slot| self.operand(slot)).for_each(|operand| visit(&operand));
        self.payload().into_iter().flat_map(Payload::inputs).for_each(|(_, input)| visit(input));
    }
}
