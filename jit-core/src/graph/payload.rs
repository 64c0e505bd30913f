//! The parts of nodes that do not fit into their cache line: those of loops, branches and switches, of scatters and
//! library calls.
//!
//! Such a node's word is the address of its payload, which is not changed while the node lives and holds one count of
//! each node in it. The results of the node are separate nodes that hold it.

use std::sync::{Arc, OnceLock};

use jit_runtime::Site;
use jit_runtime::ir::{AtomicOp, ReduceOp, Type};
use jit_runtime::launch::native::Call;
use jit_runtime::report::Assertion;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::device::Devices;
use super::node::{Draft, Var, flag};
use super::op::Op;
use super::weak::Weak;
use super::{numbering, scopes};
use crate::size::Size;
use crate::size::extent::Extent;

/// The parts of a node that do not fit into it.
pub(crate) enum Payload {
    Loop(LoopPayload),
    Branch(BranchPayload),
    Switch(SwitchPayload),
    Scatter(ScatterPayload),
    LibraryCall(LibraryCallPayload),
}

impl Payload {
    /// Passes every node that the payload holds to a function.
    pub(crate) fn take_apart(self, mut give: impl FnMut(Var)) {
        match self {
            Payload::Loop(LoopPayload { condition, states, omitted, .. }) => {
                give(condition);
                for (_, write) in omitted {
                    match write {
                        Write::Scatter { index, value, mask, .. } => {
                            [index, value].into_iter().chain(mask).for_each(&mut give);
                        }
                        Write::Loop { control, .. } => give(control),
                    }
                }
                for State { param, init, next, .. } in states {
                    [param, init].into_iter().chain(next).for_each(&mut give);
                }
            }
            Payload::Branch(BranchPayload { condition, results }) => {
                give(condition);
                results.into_iter().flatten().for_each(give);
            }
            Payload::Switch(SwitchPayload { index, masks, checked, results, .. }) => {
                give(index);
                masks.into_iter().for_each(&mut give);
                checked.into_iter().flat_map(|checked| [checked.index, checked.mask]).for_each(&mut give);
                results.into_iter().flatten().for_each(give);
            }
            Payload::Scatter(ScatterPayload { target, index, value, expected, mask, .. }) => {
                [target, index, value].into_iter().chain(expected).chain(mask).for_each(give);
            }
            Payload::LibraryCall(_) => {}
        }
    }

    /// Returns the results that have owners, if all of those must be computed together.
    pub(crate) fn held_results(&self) -> SmallVec<[Var; 2]> {
        match self {
            Payload::Scatter(payload) => payload.results.held(),
            Payload::Loop(payload) => payload.results.held(),
            Payload::Branch(_) | Payload::Switch(_) | Payload::LibraryCall(_) => SmallVec::new(),
        }
    }

    /// Returns the flags and the devices that a node inherits through the payload.
    pub(crate) fn inherited(&self) -> (u16, Devices) {
        let mut flags = if matches!(self, Payload::Scatter(_)) { flag::EFFECT } else { 0 };
        let mut devices = Devices::NONE;
        self.inputs().for_each(|(_, var)| {
            flags |= flag::for_users(var.flags(), var.has_data()) & (flag::EFFECT | flag::GRAD);
            devices = devices.and(var.devices());
        });
        match self {
            // Its parameters carry gradients wherever they could.
            Payload::Loop(payload) if !payload.states.iter().any(|state| state.carries) => {
                (flags & !flag::GRAD, devices)
            }
            _ => (flags, devices),
        }
    }

    /// Calls a function with each value that gradients may flow to.
    pub(super) fn for_each_value_mut(&mut self, change: impl FnMut(&mut Var)) {
        match self {
            Payload::Loop(payload) => {
                let values =
                    payload.states.iter_mut().flat_map(|state| [&mut state.init].into_iter().chain(&mut state.next));
                values.for_each(change);
            }
            Payload::Branch(payload) => payload.results.iter_mut().flatten().for_each(change),
            Payload::Switch(payload) => payload.results.iter_mut().flatten().for_each(change),
            Payload::Scatter(payload) => [&mut payload.target, &mut payload.value].into_iter().for_each(change),
            Payload::LibraryCall(_) => {}
        }
    }

    /// Returns the payload as a node's word.
    pub(crate) fn into_word(self) -> u64 {
        Box::into_raw(Box::new(self)).expose_provenance() as u64
    }
}

/// Identifies a loop's recording for as long as its values may live. A region that was opened later, on the same
/// thread, has a larger number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct RegionId(u32);

impl RegionId {
    /// No region: the value exists everywhere.
    pub(crate) const NONE: RegionId = RegionId(0);
    /// An array that lanes of an open region write: it can be written further, but not read.
    pub(crate) const WRITING: RegionId = RegionId(u32::MAX);

    /// Returns the region of a number.
    pub(crate) const fn new(id: u32) -> RegionId {
        RegionId(id)
    }

    #[inline]
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// Returns it in the form that nodes store.
    #[inline]
    pub(crate) const fn of(number: u32) -> RegionId {
        RegionId(number)
    }
}

/// One state variable of a loop.
pub(crate) struct State {
    /// Its value at the begin of an iteration.
    pub(crate) param: Var,
    /// Its value before the loop.
    pub(crate) init: Var,
    /// Its value after the body; `None` if the loop does not change it.
    pub(crate) next: Option<Var>,
    /// Whether it is an array in memory that all lanes share, and that the body writes by scatters.
    pub(crate) is_memory: bool,
    /// Whether gradients flow through it to a variable.
    pub(crate) carries: bool,
}

impl State {
    /// Returns whether it is an array that the loop, or one around it, writes: the body reads nothing from it.
    pub(crate) fn is_written(&self) -> bool {
        self.is_memory || self.init.region() == RegionId::WRITING
    }
}

/// The parts of a recorded loop.
pub(crate) struct LoopPayload {
    pub(crate) id: RegionId,
    /// The loop of which this one is a copy, otherwise the loop itself.
    pub(crate) origin: RegionId,
    pub(crate) condition: Var,
    pub(crate) states: Vec<State>,
    /// Whether values of width 1 in it are the same in all lanes.
    pub(crate) is_uniform: bool,
    /// The results of a loop with state in memory.
    pub(crate) results: Results,
    /// Whether it is in the condition of another loop.
    pub(crate) is_in_condition: bool,
    /// The maximum number of iterations of a lane, if bounded.
    pub(crate) bound: Option<Bound>,
    /// For a copy without effects, the writes that it leaves out, the last first: each with the position of the state.
    /// A copy that only computes values again retains none.
    pub(crate) omitted: Vec<(usize, Write)>,
    /// To what gradients flow from any state, set when it is wanted first.
    pub(crate) behind: OnceLock<Behind>,
}

impl LoopPayload {
    /// Describes a loop that is no copy, without a bound.
    pub(crate) fn new(id: RegionId, condition: Var, states: Vec<State>, is_uniform: bool) -> LoopPayload {
        LoopPayload {
            id,
            origin: id,
            condition,
            states,
            is_uniform,
            results: Results::default(),
            is_in_condition: false,
            bound: None,
            omitted: Vec::new(),
            behind: OnceLock::new(),
        }
    }
}

/// To what gradients flow from the states that a loop changes.
pub(crate) struct Behind {
    /// The values from outside.
    pub(crate) outside: Vec<Outside<Weak>>,
    /// By position, whether the state before the loop is one: that of an unchanged state is if the body reads it.
    pub(crate) states: Vec<bool>,
}

/// A value from outside of a loop to which gradients flow from its body.
#[derive(Clone)]
pub(crate) struct Outside<V = Var> {
    pub(crate) var: V,
    /// Whether the body gathers from it: it is an array in memory, which all lanes share.
    pub(crate) is_gathered: bool,
    /// Whether lanes of the body use their own elements.
    pub(crate) is_read: bool,
}

/// A write to an array in memory, in the body of a loop.
#[derive(Clone)]
pub(crate) enum Write {
    Scatter {
        how: How,
        index: Var,
        value: Var,
        mask: Option<Var>,
    },
    /// The writes of an inner loop, by its node and the position of its state.
    Loop {
        control: Var,
        position: usize,
    },
}

/// The maximum number of iterations of a lane. The condition of the loop allows one more, so that lanes that exceed the
/// bound are identified by their number of iterations afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bound {
    pub(crate) limit: u32,
    /// The state that counts iterations.
    pub(crate) position: usize,
}

/// The parts of a recorded branch.
pub(crate) struct BranchPayload {
    pub(crate) condition: Var,
    pub(crate) results: Vec<[Var; 2]>,
}

/// The parts of a recorded switch.
pub(crate) struct SwitchPayload {
    /// The case of each lane, `u32`; lanes beyond the last case take the default.
    pub(crate) index: Var,
    /// The mask under which each case was recorded: true on its lanes.
    pub(crate) masks: Vec<Var>,
    /// Whether each mask is false on all lanes of the other cases and of the default.
    pub(crate) is_exclusive: bool,
    /// For each result its value in each case, and by default.
    pub(crate) results: Vec<Vec<Var>>,
    /// The data for a check of indices.
    pub(crate) checked: Option<CheckedCall>,
}

/// The index of a call, to be checked.
#[derive(Clone)]
pub(crate) struct CheckedCall {
    /// The kind of target.
    pub(crate) what: &'static str,
    pub(crate) index: Var,
    pub(crate) mask: Var,
    /// The number of targets.
    pub(crate) count: usize,
}

/// The effect of a scatter on an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// Writes the value.
    Write,
    /// Combines it with the value.
    Reduce(ReduceOp),
    /// Changes it in one step, and returns the old value.
    Atomic(AtomicOp),
    /// Writes the value if the element equals the expected one, and returns the old value.
    CompareExchange,
}

impl How {
    /// Returns whether the scatter returns the old value.
    pub(crate) fn returns_old_value(self) -> bool {
        matches!(self, How::Atomic(_) | How::CompareExchange)
    }
}

/// The results of a node with several, to find those that have owners.
#[derive(Default)]
pub(crate) struct Results(Mutex<SmallVec<[Weak; 2]>>);

impl Results {
    /// Adds a result.
    pub(crate) fn add(&self, var: &Var) {
        self.0.lock().push(var.downgrade());
    }

    /// Returns the results that have owners and exist outside regions, in the order in which they were made.
    pub(crate) fn held(&self) -> SmallVec<[Var; 2]> {
        let results = self.0.lock();
        results.iter().filter_map(Weak::upgrade).filter(|var| var.region() == RegionId::NONE).collect()
    }
}

/// The parts of a recorded scatter.
pub(crate) struct ScatterPayload {
    pub(crate) how: How,
    /// The array before.
    pub(crate) target: Var,
    pub(crate) index: Var,
    pub(crate) value: Var,
    pub(crate) expected: Option<Var>,
    pub(crate) mask: Option<Var>,
    /// Whether it writes other elements than the scatter that made the target.
    pub(crate) is_disjoint: bool,
    /// Whether it is in the condition of a loop.
    pub(crate) is_in_condition: bool,
    /// Whether it writes to an array of a report.
    pub(crate) is_report: bool,
    /// The part of an assertion that it reports.
    pub(crate) part: Option<(Arc<Assertion>, Part)>,
    pub(crate) results: Results,
}

/// The reports of an assertion that fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The lowest failing lane.
    Lowest,
    /// The values of failing lanes.
    Records,
}

/// A library call.
pub(crate) struct LibraryCallPayload {
    pub(crate) call: Call,
    /// The sizes in the call, in the form that [`Call::with_sizes`] takes.
    pub(crate) sizes: Sizes,
    /// Types and widths of the results.
    pub(crate) results: SmallVec<[(Type, Size); 2]>,
}

/// Sizes in a call.
pub(crate) type Sizes = SmallVec<[Size; 4]>;

/// Creates the node of a loop, branch or scatter, which only its results refer to.
pub(crate) fn control_node(op: Op, width: Extent, mut payload: Payload, region: RegionId, site: Site) -> Var {
    scopes::restrict(&mut payload);
    let (flags, devices) = payload.inherited();
    let node = Var::new(Draft {
        op,
        ty: Type::Bool,
        width,
        region,
        flags: flag::CONTROL | flags,
        operands: [None; 3],
        position: 0,
        word: payload.into_word(),
        site,
    });
    node.set_devices(devices);
    node
}

/// Creates one result of a loop, branch or scatter.
pub(crate) fn result(
    op: Op,
    control: &Var,
    ty: Type,
    width: Extent,
    position: usize,
    region: RegionId,
    site: Site,
) -> Var {
    let operands = [Some(control), None, None];
    let result = Var::new(Draft { op, ty, width, region, flags: 0, operands, position, word: 0, site });
    numbering::note_made(&result);
    result
}
