//! Values of straight-line code that are computed again where they are used, rather than kept.
//!
//! The derivative of a long chain of operations needs the values of the chain, the last one first. Thousands of them
//! are more than registers and the nearest cache hold, so each costs a store and a load of a cache further away. To
//! compute a value again from one that is kept costs less, if the operations between are cheap. This is checkpointing
//! (A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
//! differentiation", 1992) with checkpoints at equal distances; what is computed again on the way to a value is used
//! next.
//!
//! The plan is made by going through the code with a model of the registers: a value that was neither computed nor used
//! recently is not in one. A wrong guess costs time alone.

use super::analysis::{Analysis, Shape};
use crate::backend::target::Target;
use crate::ir::{Inst, Kernel, Op, TOP, Type, Value, for_each_nested_operand};

/// The bytes of live values from which computing them again pays. Half of the nearest cache of most processors holds
/// them otherwise, which is as fast.
const LEAST_BYTES: usize = 16 << 10;

/// The number of operations between a value that is kept and the last one that is computed again from it.
const DISTANCE: u32 = 16;

/// The number of operations for which a value is expected to stay in a register, or to be in the nearest cache.
const WINDOW: usize = 48;

/// The number of operations that may be executed to obtain a value.
const MOST_FOR_ONE: usize = 2 * DISTANCE as usize;

/// An operation costs at most as much as this many additions to be executed again.
const MOST_EXPENSIVE: u32 = 1;

/// What is computed again before the instructions of the top region.
#[derive(Debug, Default)]
pub(super) struct Recompute {
    /// For each position that needs some, the values, in the order of their computation.
    again: Vec<(usize, Vec<Value>)>,
    /// The position of the instruction that defines a value.
    definitions: Vec<usize>,
}

impl Recompute {
    /// The plan for a kernel whose code computes this many packets at once; empty if nothing is gained.
    pub(super) fn of(kernel: &Kernel, analysis: &Analysis, target: &Target, packets: usize) -> Recompute {
        let mut planner = Planner::new(kernel, analysis);
        let bytes = planner.live_lane_bytes() * target.lanes * packets;
        if bytes < LEAST_BYTES {
            return Recompute::default();
        }
        planner.plan();
        let pays = planner.is_worthwhile();
        let Planner { again, definitions, .. } = planner;
        if pays { Recompute { again, definitions } } else { Recompute::default() }
    }

    /// The instructions that are executed again before the one at a position, in order.
    pub(super) fn before<'k>(&self, kernel: &'k Kernel, position: usize) -> impl Iterator<Item = &'k Inst> {
        let found = self.again.binary_search_by_key(&position, |(position, _)| *position);
        let values = found.map_or(&[][..], |at| &self.again[at].1);
        let insts = &kernel.region(TOP).insts;
        values.iter().map(|value| &insts[self.definitions[value.index()]]).collect::<Vec<_>>().into_iter()
    }
}

struct Planner<'k> {
    kernel: &'k Kernel,
    analysis: &'k Analysis,
    /// For each value, the position of its definition in the top region; the largest number for others.
    definitions: Vec<usize>,
    /// The number of operations to compute a value again from one that is kept; 0 if it is kept itself.
    distances: Vec<u32>,
    /// When a value was computed or used last.
    touched: Vec<usize>,
    /// The number of operations until now, with those that are executed again.
    now: usize,
    again: Vec<(usize, Vec<Value>)>,
    /// The values that are loaded when they are needed.
    loaded: Vec<bool>,
}

impl<'k> Planner<'k> {
    fn new(kernel: &'k Kernel, analysis: &'k Analysis) -> Self {
        let count = kernel.types.len();
        let mut definitions = vec![usize::MAX; count];
        for (position, inst) in kernel.region(TOP).insts.iter().enumerate() {
            inst.values().for_each(|value| definitions[value.index()] = position);
        }
        let mut planner = Planner {
            kernel,
            analysis,
            definitions,
            distances: vec![0; count],
            touched: vec![0; count],
            now: 0,
            again: Vec::new(),
            loaded: vec![false; count],
        };
        planner.choose_kept();
        planner
    }

    /// Whether a value is in a vector register, or in memory for those.
    fn is_by_lane(&self, value: Value) -> bool {
        self.definitions[value.index()] != usize::MAX && self.analysis.shape(value) == Shape::Varying
    }

    /// The operands of the instruction at a position that are in vector registers.
    fn operands(&self, position: usize) -> Vec<Value> {
        let mut operands = Vec::new();
        for_each_nested_operand(self.kernel, &self.kernel.region(TOP).insts[position].op, &mut |value| {
            if self.is_by_lane(value) && self.definitions[value.index()] < position {
                operands.push(value);
            }
        });
        operands
    }

    /// The largest number of bytes of live vectors, for one lane.
    fn live_lane_bytes(&self) -> usize {
        let insts = &self.kernel.region(TOP).insts;
        let mut last_uses = vec![None; self.kernel.types.len()];
        for position in 0..insts.len() {
            self.operands(position).iter().for_each(|value| last_uses[value.index()] = Some(position));
        }
        let size = |value: Value| self.kernel.ty(value).size_bytes();
        let mut ended = vec![0; insts.len()];
        let (mut live, mut most) = (0, 0);
        for (position, inst) in insts.iter().enumerate() {
            for value in inst.values().filter(|&value| self.is_by_lane(value)) {
                if let Some(last) = last_uses[value.index()] {
                    ended[last] += size(value);
                    live += size(value);
                }
            }
            most = most.max(live);
            live -= ended[position];
        }
        most
    }

    /// Chooses the values that are kept: those that are not cheap, and one after each so many others.
    fn choose_kept(&mut self) {
        for (position, inst) in self.kernel.region(TOP).insts.iter().enumerate() {
            if !is_cheap(self.kernel, inst) || !self.is_by_lane(inst.first) {
                continue;
            }
            let operands = self.operands(position);
            let nearest = operands.iter().map(|value| self.distances[value.index()]).max().unwrap_or(0);
            self.distances[inst.first.index()] = (nearest + 1) % DISTANCE;
        }
    }

    fn is_near(&self, value: Value) -> bool {
        self.now - self.touched[value.index()] <= WINDOW
    }

    fn touch(&mut self, value: Value) {
        self.now += 1;
        self.touched[value.index()] = self.now;
    }

    fn plan(&mut self) {
        for (position, inst) in self.kernel.region(TOP).insts.iter().enumerate() {
            let mut again = Vec::new();
            let operands = self.operands(position);
            for &value in &operands {
                self.obtain(value, &mut again);
            }
            operands.iter().for_each(|value| self.touched[value.index()] = self.now);
            inst.values().for_each(|value| self.touch(value));
            if !again.is_empty() {
                self.again.push((position, again));
            }
        }
    }

    /// Plans how a value gets to a register.
    fn obtain(&mut self, value: Value, again: &mut Vec<Value>) {
        if self.is_near(value) {
            return;
        }
        let mut needed = Vec::new();
        if !self.collect(value, &mut needed) {
            self.load(value);
            return;
        }
        for &value in &needed {
            for operand in self.operands(self.definitions[value.index()]) {
                if !self.is_near(operand) {
                    self.load(operand);
                }
            }
            self.touch(value);
        }
        again.append(&mut needed);
    }

    fn load(&mut self, value: Value) {
        self.loaded[value.index()] = true;
        self.touched[value.index()] = self.now;
    }

    /// Lists what is computed to obtain a value, in order. Returns whether it is possible and not too much.
    fn collect(&self, value: Value, needed: &mut Vec<Value>) -> bool {
        if self.distances[value.index()] == 0 || needed.len() >= MOST_FOR_ONE {
            return false;
        }
        for operand in self.operands(self.definitions[value.index()]) {
            let is_there = self.is_near(operand) || self.distances[operand.index()] == 0 || needed.contains(&operand);
            if !is_there && !self.collect(operand, needed) {
                return false;
            }
        }
        needed.push(value);
        needed.len() <= MOST_FOR_ONE
    }

    /// The number of values that are loaded when they are needed, if nothing is computed again.
    fn loaded_otherwise(&self) -> usize {
        let mut touched = vec![0; self.kernel.types.len()];
        let mut loaded = vec![false; self.kernel.types.len()];
        for (now, inst) in self.kernel.region(TOP).insts.iter().enumerate() {
            for operand in self.operands(now) {
                loaded[operand.index()] |= now - touched[operand.index()] > WINDOW;
                touched[operand.index()] = now;
            }
            inst.values().for_each(|value| touched[value.index()] = now);
        }
        loaded.iter().filter(|loaded| **loaded).count()
    }

    /// Whether most values are not kept any more, for at most as many operations as there are already.
    fn is_worthwhile(&self) -> bool {
        let executed: usize = self.again.iter().map(|(_, values)| values.len()).sum();
        let loaded = self.loaded.iter().filter(|loaded| **loaded).count();
        3 * loaded <= self.loaded_otherwise() && executed <= self.kernel.region(TOP).insts.len()
    }
}

/// Whether an instruction may be executed again.
fn is_cheap(kernel: &Kernel, inst: &Inst) -> bool {
    let is_wide = |value: Value| kernel.ty(value).bits() >= 32 || kernel.ty(value) == Type::Bool;
    let is_cheap = match inst.op {
        Op::Unary(op, _) => op.cost() <= MOST_EXPENSIVE,
        Op::Binary(op, ..) => op.cost() <= MOST_EXPENSIVE,
        Op::Fma(..) | Op::Compare(..) | Op::Select(..) | Op::Cast(..) | Op::Bitcast(..) => true,
        _ => false,
    };
    let mut all_wide = is_cheap && is_wide(inst.first);
    inst.op.for_each_operand(|value| all_wide &= is_wide(value));
    all_wide
}
