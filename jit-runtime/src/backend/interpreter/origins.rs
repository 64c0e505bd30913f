//! Where values that are not finite come from: an interpretation that remembers, for each lane of each value, the
//! operation that made it NaN or infinite.
//!
//! A value that is computed from such a one has its origin, and a selection has that of the chosen operand. So an
//! operation is reported only if what it made reaches memory: lanes that are masked, and values that are selected away,
//! are not. An infinite constant or element is no finding, since programs use them on purpose; what an operation makes
//! of it may be one. NaN that is read from memory is a finding of the access, as no operation of the kernel made it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::frame::{Frame, Mask};
use crate::ir::{Inst, Op, ParamId, ReduceOp, Type, Value};
use crate::sync::Mutex;

/// An operation that made a value that is not finite, in one lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotFinite {
    /// The result of the operation; none for an update of memory.
    pub value: Option<Value>,
    /// The memory that was read, reduced to, or updated; none for arithmetic.
    pub param: Option<ParamId>,
    /// The name of the operation.
    pub operation: &'static str,
    /// The lane; none if lanes were combined.
    pub lane: Option<u64>,
    /// The result: its type and bits.
    pub result: (Type, u64),
    /// The operands: their types and bits.
    pub operands: SmallVec<[(Type, u64); 3]>,
}

impl NotFinite {
    /// The position in the kernel, then the lane.
    fn order(&self) -> (u32, u64) {
        (self.value.map_or(u32::MAX, |value| value.0), self.lane.unwrap_or(u64::MAX))
    }

    /// Whether the value was there before the operation, which only read it.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.param.is_some() && self.value.is_some()
    }
}

/// What the blocks of a launch found, on all threads.
#[derive(Default)]
pub struct Observer(Mutex<Findings>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.lock().fmt(f)
    }
}

#[derive(Debug, Default)]
struct Findings {
    written: Option<NotFinite>,
    /// By parameter, values that were reduced: they count only if the result is not finite.
    reduced: BTreeMap<u32, NotFinite>,
    /// Parameters that received a value that is not finite, whatever its origin.
    received: BTreeSet<u32>,
}

impl Observer {
    /// The first operation whose result was written to memory.
    pub fn written(&self) -> Option<NotFinite> {
        self.0.lock().written.clone()
    }

    /// The first operation whose result was reduced to a parameter.
    pub fn reduced(&self, param: ParamId) -> Option<NotFinite> {
        self.0.lock().reduced.get(&param.0).cloned()
    }

    /// Whether a value that is not finite was combined with a parameter.
    pub fn has_received(&self, param: ParamId) -> bool {
        self.0.lock().received.contains(&param.0)
    }

    fn note(&self, target: ParamId, is_reduced: bool, found: Option<NotFinite>) {
        let mut findings = self.0.lock();
        findings.received.insert(target.0);
        let Some(found) = found else { return };
        let is_first = |known: Option<&NotFinite>| known.is_none_or(|known| found.order() < known.order());
        if is_reduced {
            if is_first(findings.reduced.get(&target.0)) {
                findings.reduced.insert(target.0, found);
            }
        } else if is_first(findings.written.as_ref()) {
            findings.written = Some(found);
        }
    }
}

/// Whether an element of a float type is finite; others always are.
#[must_use]
pub fn is_finite(ty: Type, bits: u64) -> bool {
    exponent(ty).is_none_or(|exponent| bits & exponent != exponent)
}

/// Whether an element is NaN.
#[must_use]
pub fn is_nan(ty: Type, bits: u64) -> bool {
    let sign = 1 << (ty.bits() - 1);
    exponent(ty).is_some_and(|exponent| bits & exponent == exponent && bits & ty.bit_mask() & !exponent & !sign != 0)
}

/// The bits of the exponent.
fn exponent(ty: Type) -> Option<u64> {
    match ty {
        Type::F16 => Some(0x7c00),
        Type::BF16 => Some(0x7f80),
        Type::F32 => Some(0x7f80_0000),
        Type::F64 => Some(0x7ff0_0000_0000_0000),
        _ => None,
    }
}

/// The origins of the values of a block.
pub(super) struct Origins<'a> {
    observer: &'a Observer,
    /// Laid out as the columns of the frame: one more than the value that made the element, 0 if no operation did.
    columns: Vec<u32>,
    /// Laid out as the local memories of the frame.
    locals: Vec<Vec<u32>>,
    /// What happened in each of these operations, by value and lane, when it first did.
    made: FxHashMap<(u32, usize), NotFinite>,
}

impl<'a> Origins<'a> {
    pub(super) fn new(observer: &'a Observer) -> Self {
        Origins { observer, columns: Vec::new(), locals: Vec::new(), made: FxHashMap::default() }
    }

    /// Begins a block whose values take this many carriers.
    pub(super) fn begin(&mut self, carriers: usize, locals: &[Vec<u64>]) {
        self.columns.clear();
        self.columns.resize(carriers, 0);
        self.locals = locals.iter().map(|local| vec![0; local.len()]).collect();
        self.made.clear();
    }

    /// Copies the origins of a lane, as the frame copies its values.
    pub(super) fn copy(&mut self, targets: &[Value], sources: &[Value], (stride, lane): (usize, usize)) {
        let at = |value: &Value| value.index() * stride + lane;
        let origins: SmallVec<[u32; 8]> = sources.iter().map(|source| self.columns[at(source)]).collect();
        targets.iter().zip(origins).for_each(|(target, origin)| self.columns[at(target)] = origin);
    }

    /// Follows an operation that the frame has run. Loops, branches and switches are followed by their copies.
    pub(super) fn follow(&mut self, frame: &Frame<'_>, inst: &Inst, active: &Mask) {
        for (lane, _) in active.iter().enumerate().filter(|(_, active)| **active) {
            self.follow_lane(frame, inst, lane);
        }
    }

    fn follow_lane(&mut self, frame: &Frame<'_>, inst: &Inst, lane: usize) {
        let (out, at) = (inst.first, |value: Value| value.index() * frame.stride() + lane);
        match inst.op {
            Op::Loop { .. } | Op::If { .. } | Op::Switch { .. } => {}
            Op::Const(..) | Op::LaneIndex | Op::Bitcast(..) | Op::Compare(..) => self.columns[at(out)] = 0,
            Op::Scalar(param) | Op::Load(param) | Op::Gather { buffer: param, .. } => {
                self.read(frame, inst, param, lane)
            }
            Op::Store { buffer, value } => self.sink(frame, (buffer, false), value, lane),
            Op::Reduce { buffer, value, .. } => self.sink(frame, (buffer, true), value, lane),
            Op::Scatter { reduce, buffer, index, value, mask } => {
                let is_chosen = matches!(reduce, Some(ReduceOp::Min | ReduceOp::Max));
                if frame.writes(buffer, index, mask, lane) {
                    self.sink(frame, (buffer, is_chosen), value, lane);
                }
            }
            Op::Atomic { buffer, index, value, mask, .. } | Op::CompareExchange { buffer, index, value, mask, .. } => {
                if frame.writes(buffer, index, mask, lane) {
                    self.sink(frame, (buffer, false), value, lane);
                }
                self.read(frame, inst, buffer, lane);
            }
            Op::Select(mask, a, b) => {
                let chosen = if frame.at(mask, lane) != 0 { a } else { b };
                self.columns[at(out)] = self.columns[at(chosen)];
            }
            Op::LocalRead { local, index } => {
                let place = frame.local_place(local, index, lane);
                self.columns[at(out)] = place.map_or(0, |place| self.locals[local.index()][place]);
            }
            Op::LocalWrite { local, index, value } => {
                if let Some(place) = frame.local_place(local, index, lane) {
                    self.locals[local.index()][place] = self.columns[at(value)];
                }
            }
            Op::Unary(..) | Op::Binary(..) | Op::Fma(..) | Op::Cast(..) => self.computed(frame, inst, lane),
        }
    }

    /// Follows arithmetic: the result has the origin of an operand, or is a finding of its own.
    fn computed(&mut self, frame: &Frame<'_>, inst: &Inst, lane: usize) {
        let (ty, bits) = frame.element(inst.first, lane);
        let at = |value: Value| value.index() * frame.stride() + lane;
        let mut operands: SmallVec<[Value; 3]> = SmallVec::new();
        inst.op.for_each_operand(|operand| operands.push(operand));
        let of = |operand: &Value| frame.element(*operand, lane);
        let known = operands.iter().map(|&operand| self.columns[at(operand)]).find(|&origin| origin != 0);
        let is_given = |operand: &Value| match is_nan(ty, bits) {
            true => is_nan(of(operand).0, of(operand).1),
            false => !is_finite(of(operand).0, of(operand).1),
        };
        self.columns[at(inst.first)] = if is_finite(ty, bits) {
            0
        } else if let Some(known) = known {
            known
        } else if operands.iter().any(is_given) {
            0
        } else {
            let operands = operands.iter().map(of).collect();
            self.make(frame, inst, None, lane, operands)
        };
    }

    /// Follows an access to memory, or a scalar of the launch.
    fn read(&mut self, frame: &Frame<'_>, inst: &Inst, param: ParamId, lane: usize) {
        let (ty, bits) = frame.element(inst.first, lane);
        let origin = if is_nan(ty, bits) { self.make(frame, inst, Some(param), lane, SmallVec::new()) } else { 0 };
        self.columns[inst.first.index() * frame.stride() + lane] = origin;
    }

    fn make(
        &mut self,
        frame: &Frame<'_>,
        inst: &Inst,
        param: Option<ParamId>,
        lane: usize,
        operands: SmallVec<[(Type, u64); 3]>,
    ) -> u32 {
        let (value, result) = (inst.first, frame.element(inst.first, lane));
        let operation = operation(&inst.op);
        let lane_number = Some(frame.first_lane() + lane as u64);
        let found = NotFinite { value: Some(value), param, operation, lane: lane_number, result, operands };
        self.made.entry((value.0, lane)).or_insert(found);
        value.0 + 1
    }

    /// Notes what a value brings to memory.
    fn sink(&mut self, frame: &Frame<'_>, (target, is_reduced): (ParamId, bool), value: Value, lane: usize) {
        let (ty, bits) = frame.element(value, lane);
        if is_finite(ty, bits) {
            return;
        }
        let origin = self.columns[value.index() * frame.stride() + lane];
        let found = origin.checked_sub(1).and_then(|maker| self.made.get(&(maker, lane)).cloned());
        self.observer.note(target, is_reduced, found);
    }
}

/// The name of an operation, as users write it.
fn operation(op: &Op) -> &'static str {
    match op {
        Op::Unary(op, _) => op.name(),
        Op::Binary(op, ..) => op.name(),
        Op::Fma(..) => "mul_add",
        Op::Cast(..) => "cast",
        Op::Gather { .. } => "gather",
        Op::Scalar(_) | Op::Load(_) => "input",
        _ => "scatter",
    }
}
