//! Running the regions of a kernel over blocks of lanes.

use std::ops::Range;

use super::memory::Elements;
use super::origins::{Observer, Origins};
use crate::backend::{RawArgument, Scatters, filled};
use crate::cancel::Poll;
use crate::ir::scalar::{self, BinaryFn};
use crate::ir::{
    AtomicOp, Inst, Kernel, LocalId, MAX_REDUCE_CHUNK, Op, ParamId, REDUCE_ROW, ReduceOp, RegionId, TOP, Type, Value,
};

/// The active lanes of the block.
pub(super) type Mask = Vec<bool>;

/// The state of one run over a range of lanes.
///
/// Invariant: column `v` of the block is `columns[v * stride..][..stride]`, and every carrier in it is zero above the
/// bits of the value's type.
pub(super) struct Frame<'a> {
    kernel: &'a Kernel,
    arguments: &'a [RawArgument],
    columns: Vec<u64>,
    stride: usize,
    first_lane: u64,
    /// The number of lanes of the run before the first one of the block.
    lanes_before: u64,
    /// For each parameter that receives a reduction: the running results, see [`Op::Reduce`].
    partials: Vec<Vec<u64>>,
    block: usize,
    /// The carriers of local memory: element `i` of the block is at `i * stride`, with its lanes consecutive.
    locals: Vec<Vec<u64>>,
    /// For each parameter: the logarithm of the number of neighbours in memory that represent one element.
    copies_log2: Vec<u8>,
    poll: Poll<'a>,
    /// Where values that are not finite come from, if that is observed.
    origins: Option<Box<Origins<'a>>>,
}

impl<'a> Frame<'a> {
    /// A frame for a valid kernel and its arguments.
    ///
    /// # Safety
    ///
    /// The guarantees of [`crate::backend::Executable::run`] must hold for the arguments and all lanes that are run.
    pub(super) unsafe fn new(
        kernel: &'a Kernel,
        arguments: &'a [RawArgument],
        block: usize,
        scatters: Scatters,
        poll: Poll<'a>,
    ) -> Self {
        let partials = vec![Vec::new(); kernel.params.len()];
        let copies_log2 = match scatters.copies_log2() {
            0 => vec![0; kernel.params.len()],
            log2 => kernel.combined_buffers().into_iter().map(|op| if op.is_some() { log2 } else { 0 }).collect(),
        };
        Frame {
            kernel,
            arguments,
            columns: Vec::new(),
            stride: 0,
            first_lane: 0,
            lanes_before: 0,
            partials,
            block,
            locals: Vec::new(),
            copies_log2,
            poll,
            origins: None,
        }
    }

    /// Observes where values that are not finite come from.
    pub(super) fn observe(&mut self, observer: &'a Observer) {
        self.origins = Some(Box::new(Origins::new(observer)));
    }

    /// Runs a range of lanes and writes the partial results of its reductions.
    pub(super) fn run(&mut self, lanes: Range<u64>) {
        let width = usize::try_from(lanes.end - lanes.start).map_or(self.block, |width| width.min(self.block));
        self.columns = filled(width * self.kernel.types.len(), 0);
        self.stride = width;
        self.locals = self.kernel.locals.iter().map(|local| filled(local.len as usize * width, 0)).collect();
        self.start_reductions();
        let poll = self.poll;
        for first in lanes.clone().step_by(width).take_while(|_| !poll.is_cancelled()) {
            let count = (lanes.end - first).min(width as u64) as usize;
            (self.first_lane, self.lanes_before) = (first, first - lanes.start);
            self.locals.iter_mut().for_each(|local| local.fill(0));
            if let Some(origins) = &mut self.origins {
                origins.begin(self.columns.len(), &self.locals);
            }
            let active = (0..width).map(|lane| lane < count).collect();
            self.region(TOP, &active);
        }
        self.finish_reductions(&lanes);
    }

    fn reductions(&self) -> impl Iterator<Item = (ReduceOp, ParamId)> + use<'a> {
        self.kernel.region(TOP).insts.iter().filter_map(|inst| match inst.op {
            Op::Reduce { op, buffer, .. } => Some((op, buffer)),
            _ => None,
        })
    }

    fn start_reductions(&mut self) {
        for (op, buffer) in self.reductions() {
            let ty = accumulator(self.kernel.param(buffer).ty());
            self.partials[buffer.index()] = vec![scalar::identity(op, ty); REDUCE_ROW];
        }
    }

    fn finish_reductions(&mut self, lanes: &Range<u64>) {
        for (op, buffer) in self.reductions() {
            debug_assert!(lanes.end - lanes.start <= MAX_REDUCE_CHUNK as u64, "lanes {lanes:?} are more than a chunk");
            let ty = self.kernel.param(buffer).ty();
            let function = legal(scalar::reduce_function(op, accumulator(ty)));
            let row = &mut self.partials[buffer.index()];
            while row.len() > 1 {
                let upper = row.split_off(row.len() / 2);
                row.iter_mut().zip(upper).for_each(|(lower, upper)| *lower = function(*lower, upper));
            }
            let total = scalar::cast(accumulator(ty), ty, row[0]);
            // SAFETY: the argument of a reduction has room for the result of the chunk.
            unsafe { self.elements(buffer).write(0, total) };
        }
    }

    fn region(&mut self, region: RegionId, active: &Mask) {
        let kernel = self.kernel;
        for inst in &kernel.region(region).insts {
            self.instruction(inst, active);
            if let Some(mut origins) = self.origins.take() {
                origins.follow(self, inst, active);
                self.origins = Some(origins);
            }
        }
    }

    fn instruction(&mut self, inst: &Inst, active: &Mask) {
        let out = inst.first;
        match inst.op {
            Op::Const(_, bits) => self.fill(out, |_, _| bits),
            Op::LaneIndex => {
                let first = self.first_lane;
                self.fill(out, |_, lane| u64::from((first + lane as u64) as u32));
            }
            Op::Scalar(param) => {
                let bits = self.arguments[param.index()].word & self.ty(out).bit_mask();
                self.fill(out, |_, _| bits);
            }
            Op::Unary(op, a) => self.map(out, [a], {
                let function = legal(scalar::unary_function(op, self.ty(a)));
                move |[a]| function(a)
            }),
            Op::Binary(op, a, b) => self.map(out, [a, b], {
                let function = legal(scalar::binary_function(op, self.ty(a)));
                move |[a, b]| function(a, b)
            }),
            Op::Fma(a, b, c) => self.map(out, [a, b, c], {
                let function = legal(scalar::fma_function(self.ty(a)));
                move |[a, b, c]| function(a, b, c)
            }),
            Op::Compare(op, a, b) => self.map(out, [a, b], {
                let function = scalar::compare_function(op, self.ty(a));
                move |[a, b]| u64::from(function(a, b))
            }),
            Op::Select(mask, a, b) => self.map(out, [mask, a, b], |[mask, a, b]| scalar::select(mask, a, b)),
            Op::Cast(to, a) => self.map(out, [a], {
                let function = scalar::cast_function(self.ty(a), to);
                move |[a]| function(a)
            }),
            Op::Bitcast(to, a) => self.map(out, [a], |[a]| scalar::bitcast(to, a)),
            Op::Load(buffer) => self.load(out, buffer, active),
            Op::Gather { buffer, index, mask } => self.gather(out, buffer, index, &self.and(active, mask)),
            Op::Store { buffer, value } => self.store(buffer, value, active),
            Op::Scatter { reduce, buffer, index, value, mask } => {
                let combine = reduce.map(|op| legal(scalar::reduce_function(op, self.ty(value))));
                self.scatter(combine, buffer, index, value, &self.and(active, mask));
            }
            Op::Atomic { op, buffer, index, value, mask } => {
                let combine: BinaryFn = match op {
                    AtomicOp::Reduce(op) => legal(scalar::reduce_function(op, self.ty(value))),
                    AtomicOp::Exchange => |_, new| new,
                };
                self.atomic(out, combine, buffer, index, value, &self.and(active, mask));
            }
            Op::CompareExchange { buffer, index, expected, value, mask } => {
                self.compare_exchange(out, buffer, index, [expected, value], &self.and(active, mask));
            }
            Op::Reduce { op, buffer, value } => self.reduce(op, buffer, value, active),
            Op::Loop { ref inits, condition, body } => self.run_loop(inst, inits, condition, body, active),
            Op::If { condition, then_region, else_region } => {
                self.run_if(inst, condition, then_region, else_region, active);
            }
            Op::Switch { index, ref cases, default } => self.run_switch(inst, index, cases, default, active),
            Op::LocalRead { local, index } => self.local_read(out, local, index, active),
            Op::LocalWrite { local, index, value } => self.local_write(local, index, value, active),
        }
    }

    fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    /// The distance between columns.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// The number of the first lane of the block.
    pub(super) fn first_lane(&self) -> u64 {
        self.first_lane
    }

    /// The type and the bits of a value.
    pub(super) fn element(&self, value: Value, lane: usize) -> (Type, u64) {
        (self.ty(value), self.at(value, lane))
    }

    /// Whether an active lane writes to an element of a buffer.
    pub(super) fn writes(&self, buffer: ParamId, index: Value, mask: Option<Value>, lane: usize) -> bool {
        mask.is_none_or(|mask| self.at(mask, lane) != 0)
            && self.elements(buffer).place(self.index(index, lane)).is_some()
    }

    pub(super) fn at(&self, value: Value, lane: usize) -> u64 {
        self.columns[value.index() * self.stride + lane]
    }

    fn set(&mut self, value: Value, lane: usize, bits: u64) {
        self.columns[value.index() * self.stride + lane] = bits;
    }

    /// The start of the column of a value.
    fn start(&self, value: Value) -> usize {
        value.index() * self.stride
    }

    /// Computes a column lane by lane from all columns.
    fn fill(&mut self, out: Value, function: impl Fn(&[u64], usize) -> u64) {
        let (start, columns) = (self.start(out), &mut self.columns[..]);
        for lane in 0..self.stride {
            columns[start + lane] = function(columns, lane);
        }
    }

    /// Computes a column lane by lane from some others.
    fn map<const N: usize>(&mut self, out: Value, operands: [Value; N], function: impl Fn([u64; N]) -> u64) {
        let starts = operands.map(|operand| self.start(operand));
        self.fill(out, |columns, lane| function(starts.map(|start| columns[start + lane])));
    }

    /// The active lanes whose mask is on.
    fn and(&self, active: &Mask, mask: Option<Value>) -> Mask {
        let is_on = |lane| mask.is_none_or(|mask| self.at(mask, lane) != 0);
        active.iter().enumerate().map(|(lane, &active)| active && is_on(lane)).collect()
    }

    fn elements(&self, buffer: ParamId) -> Elements {
        Elements::new(self.arguments[buffer.index()], self.kernel.param(buffer).ty())
    }

    /// An index by value. A negative one is larger than any length.
    fn index(&self, index: Value, lane: usize) -> u64 {
        let (bits, ty) = (self.at(index, lane), self.ty(index));
        if !ty.is_signed_integer() {
            return bits;
        }
        let unused = 64 - ty.bits();
        ((bits << unused).cast_signed() >> unused).cast_unsigned()
    }

    fn load(&mut self, out: Value, buffer: ParamId, active: &Mask) {
        let elements = self.elements(buffer);
        for (lane, _) in active.iter().enumerate().filter(|(_, active)| **active) {
            let index = self.first_lane + lane as u64;
            // SAFETY: loaded buffers reach to the end of the range of lanes.
            let bits = unsafe { elements.read(index) };
            self.set(out, lane, bits);
        }
    }

    fn store(&mut self, buffer: ParamId, value: Value, active: &Mask) {
        let elements = self.elements(buffer);
        for (lane, _) in active.iter().enumerate().filter(|(_, active)| **active) {
            let index = self.first_lane + lane as u64;
            // SAFETY: stored buffers reach to the end of the range of lanes.
            unsafe { elements.write(index, self.at(value, lane)) };
        }
    }

    fn gather(&mut self, out: Value, buffer: ParamId, index: Value, mask: &Mask) {
        let elements = self.elements(buffer);
        for (lane, &on) in mask.iter().enumerate() {
            let place = elements.place(self.index(index, lane)).filter(|_| on);
            // SAFETY: the index is in range.
            let bits = place.map_or(0, |index| unsafe { elements.read(index) });
            self.set(out, lane, bits);
        }
    }

    fn scatter(&mut self, combine: Option<BinaryFn>, buffer: ParamId, index: Value, value: Value, mask: &Mask) {
        let elements = self.elements(buffer);
        let copies_log2 = self.copies_log2[buffer.index()];
        for (lane, _) in mask.iter().enumerate().filter(|(_, on)| **on) {
            let Some(index) = elements.place(self.index(index, lane)) else { continue };
            let neighbour = (self.lanes_before + lane as u64) & ((1 << copies_log2) - 1);
            let index = index << copies_log2 | neighbour;
            let bits = self.at(value, lane);
            // SAFETY: the index is in range.
            unsafe {
                match combine {
                    Some(function) => {
                        elements.combine(index, bits, function);
                    }
                    None => elements.write(index, bits),
                }
            }
        }
    }

    fn atomic(&mut self, out: Value, combine: BinaryFn, buffer: ParamId, index: Value, value: Value, mask: &Mask) {
        let elements = self.elements(buffer);
        for (lane, &on) in mask.iter().enumerate() {
            let place = elements.place(self.index(index, lane)).filter(|_| on);
            // SAFETY: the index is in range.
            let old = place.map_or(0, |index| unsafe { elements.combine(index, self.at(value, lane), combine) });
            self.set(out, lane, old);
        }
    }

    fn compare_exchange(&mut self, out: Value, buffer: ParamId, index: Value, values: [Value; 2], mask: &Mask) {
        let elements = self.elements(buffer);
        for (lane, &on) in mask.iter().enumerate() {
            let place = elements.place(self.index(index, lane)).filter(|_| on);
            let (old, is_exchanged) = place.map_or((0, false), |index| {
                let [expected, new] = values.map(|value| self.at(value, lane));
                // SAFETY: the index is in range.
                let old = unsafe { elements.combine(index, new, |old, new| if old == expected { new } else { old }) };
                (old, old == expected)
            });
            self.set(out, lane, old);
            self.set(Value(out.0 + 1), lane, u64::from(is_exchanged));
        }
    }

    fn reduce(&mut self, op: ReduceOp, buffer: ParamId, value: Value, active: &Mask) {
        let ty = self.ty(value);
        let function = legal(scalar::reduce_function(op, accumulator(ty)));
        let widen = scalar::cast_function(ty, accumulator(ty));
        for (lane, _) in active.iter().enumerate().filter(|(_, active)| **active) {
            let bits = widen(self.at(value, lane));
            let partial = &mut self.partials[buffer.index()][(self.lanes_before as usize + lane) % REDUCE_ROW];
            *partial = function(*partial, bits);
        }
    }

    fn run_loop(&mut self, inst: &Inst, inits: &[Value], condition: RegionId, body: RegionId, active: &Mask) {
        let kernel = self.kernel;
        let state = &kernel.region(condition).params;
        let everywhere = vec![true; self.stride];
        self.copy(state, inits, &everywhere);
        let mut running = active.clone();
        loop {
            self.region(condition, &running);
            running = self.and(&running, kernel.region(condition).yields.first().copied());
            if !running.contains(&true) || self.poll.is_cancelled() {
                break;
            }
            self.region(body, &running);
            self.copy(state, &kernel.region(body).yields, &running);
        }
        let results: Vec<Value> = inst.values().collect();
        self.copy(&results, state, &everywhere);
    }

    fn run_if(&mut self, inst: &Inst, condition: Value, then_region: RegionId, else_region: RegionId, active: &Mask) {
        let results: Vec<Value> = inst.values().collect();
        let then_mask = self.and(active, Some(condition));
        let else_mask: Mask = active.iter().zip(&then_mask).map(|(&active, &then)| active && !then).collect();
        for (region, mask) in [(then_region, then_mask), (else_region, else_mask)] {
            if mask.contains(&true) {
                self.region(region, &mask);
                let kernel = self.kernel;
                self.copy(&results, &kernel.region(region).yields, &mask);
            }
        }
    }

    fn run_switch(&mut self, inst: &Inst, index: Value, cases: &[RegionId], default: RegionId, active: &Mask) {
        let kernel = self.kernel;
        let results: Vec<Value> = inst.values().collect();
        // Regions do not change values that were computed before them, so the index is constant.
        for (position, &region) in cases.iter().chain([&default]).enumerate() {
            let is_default = position == cases.len();
            let chosen = |bits: u64| bits == position as u64 || is_default && bits >= cases.len() as u64;
            let mask: Mask =
                active.iter().enumerate().map(|(lane, &active)| active && chosen(self.at(index, lane))).collect();
            if mask.contains(&true) {
                self.region(region, &mask);
                self.copy(&results, &kernel.region(region).yields, &mask);
            }
        }
    }

    /// The position of an element of local memory; none if the index is out of range.
    pub(super) fn local_place(&self, local: LocalId, index: Value, lane: usize) -> Option<usize> {
        let index = usize::try_from(self.index(index, lane)).ok()?;
        (index < self.kernel.local(local).len as usize).then(|| index * self.stride + lane)
    }

    fn local_read(&mut self, out: Value, local: LocalId, index: Value, active: &Mask) {
        for (lane, &active) in active.iter().enumerate() {
            let place = self.local_place(local, index, lane).filter(|_| active);
            let bits = place.map_or(0, |place| self.locals[local.index()][place]);
            self.set(out, lane, bits);
        }
    }

    fn local_write(&mut self, local: LocalId, index: Value, value: Value, active: &Mask) {
        for (lane, _) in active.iter().enumerate().filter(|(_, active)| **active) {
            if let Some(place) = self.local_place(local, index, lane) {
                self.locals[local.index()][place] = self.at(value, lane);
            }
        }
    }

    /// Copies columns where the mask is on, all at once, since targets may be among the sources.
    fn copy(&mut self, targets: &[Value], sources: &[Value], mask: &Mask) {
        for (lane, _) in mask.iter().enumerate().filter(|(_, on)| **on) {
            let bits: smallvec::SmallVec<[u64; 8]> = sources.iter().map(|&source| self.at(source, lane)).collect();
            for (&target, bits) in targets.iter().zip(bits) {
                self.set(target, lane, bits);
            }
            if let Some(origins) = &mut self.origins {
                origins.copy(targets, sources, (self.stride, lane));
            }
        }
    }
}

/// The type in which a reduction is computed.
fn accumulator(ty: Type) -> Type {
    if matches!(ty, Type::F16 | Type::BF16) { Type::F32 } else { ty }
}

/// The function of an operation in a kernel that was verified.
fn legal<F>(function: Option<F>) -> F {
    function.expect("a valid kernel uses operations only on types that support them")
}
