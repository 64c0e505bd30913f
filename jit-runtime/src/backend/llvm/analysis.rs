//! Analyses values before code is generated: whether all lanes of a packet have the same value, or consecutive values.
//!
//! A value that is the same in all lanes is kept in a scalar register. Memory at such an index is read once; memory at
//! consecutive indices is read as a vector. Loops are solved by a fixpoint: the state is assumed to be as uniform as
//! its initial value and weakened until nothing changes.
//!
//! Inside a loop that lanes exit at different times, all *active* lanes have run the same number of iterations. So a
//! counter is uniform inside it, although its final value is not.

use super::codegen::READABLE_PADDING;
use super::hints::{self, Hint};
use super::near::{self, Near, NearRows};
use super::patterns::{self, Pattern};
use super::ranges::Ranges;
use super::records::Records;
use super::rows::Rows;
use super::streams::Streams;
use super::strides::{self, Stride};
use super::within_rows;
use crate::ir::{BinaryOp, Inst, Kernel, Op, ParamId, RegionId, TOP, Type, Value, for_each_nested_operand};

/// The relation between the lanes of a packet, for one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// The same in all lanes of a launch.
    Uniform,
    /// The same in all lanes of a packet.
    Packet,
    /// The value of lane `l` of a packet is that of lane 0 plus `l`, modulo the type's range.
    Linear {
        /// Whether lane 0 has a multiple of the packet's size, so that no lane of the packet wraps.
        aligned: bool,
    },
    /// Anything.
    Varying,
}

impl Shape {
    /// The same in all lanes of a packet.
    pub(super) fn is_scalar(self) -> bool {
        matches!(self, Shape::Uniform | Shape::Packet)
    }

    /// The shape of a value that has one or the other shape, chosen for all lanes together.
    fn join(self, other: Shape) -> Shape {
        match (self, other) {
            (Shape::Uniform, Shape::Uniform) => Shape::Uniform,
            (a, b) if a.is_scalar() && b.is_scalar() => Shape::Packet,
            (Shape::Linear { aligned: a }, Shape::Linear { aligned: b }) => Shape::Linear { aligned: a && b },
            _ => Shape::Varying,
        }
    }

    /// The shape of an ordinary operation's result for operands of both shapes.
    fn combine(self, other: Shape) -> Shape {
        if self.is_scalar() && other.is_scalar() { self.join(other) } else { Shape::Varying }
    }
}

/// Facts about the values of a kernel.
pub(super) struct Analysis {
    /// By value.
    pub(super) shapes: Vec<Shape>,
    /// The shapes in each packet of a group by itself; none if groups are packets.
    packet_shapes: Option<Vec<Shape>>,
    /// The bits of constants, by value.
    pub(super) constants: Vec<Option<u64>>,
    /// Whether anything reads the value.
    pub(super) used: Vec<bool>,
    /// Whether the instructions of the top region at these positions run once per launch instead of once per packet.
    pub(super) hoisted: Vec<bool>,
    /// The probable shapes of varying values.
    pub(super) hints: Vec<Option<Hint>>,
    /// Whether such a shape is that of lanes in rows that are not known to be short.
    pub(super) in_rows: Vec<bool>,
    /// The sums of such a value and a shared one.
    pub(super) moved: Vec<Option<(Value, Value)>>,
    /// The expected lanes of other varying integers.
    pub(super) patterns: Vec<Option<Pattern>>,
    /// Varying integers whose lanes are near each other.
    pub(super) near: Vec<Option<Near>>,
    /// Indices of what is near each other in a few rows.
    pub(super) near_rows: Vec<Option<NearRows>>,
    /// The distances between the lanes of varying integers.
    pub(super) strides: Vec<Option<Stride>>,
    /// The lanes of a packet, and whether groups begin at multiples of it: parts of groups within rows do not.
    pub(super) lanes: u64,
    pub(super) begins_with_packets: bool,
    /// Gathers that are executed together.
    pub(super) rows: Rows,
    /// Gathers that read streams.
    pub(super) streams: Streams,
    /// Scatters that are executed together.
    pub(super) records: Records,
    /// Accesses that can be proven to be in range.
    pub(super) ranges: Ranges,
}

impl Analysis {
    /// Analyses a kernel whose packets have `step` lanes and begin at multiples of it.
    pub(super) fn new(kernel: &Kernel, step: usize) -> Analysis {
        Analysis::of_packets(kernel, 1, step)
    }

    /// Analyses a kernel whose groups are some packets of so many lanes. Where the length of rows is a multiple of the
    /// packet's size, but not of the group's, the lanes are related in each packet alone.
    pub(super) fn of_packets(kernel: &Kernel, packets: usize, lanes: usize) -> Analysis {
        let mut solver = Solver::new(kernel, packets * lanes, None);
        solver.lanes = lanes as u64;
        solver.packet_shapes = (packets > 1).then(|| Solver::new(kernel, lanes, None).shapes());
        let mut analysis = solver.solved();
        analysis.ranges = Ranges::of(kernel, &analysis);
        analysis.records = Records::of(kernel, &analysis);
        analysis
    }

    /// Analyses groups of lanes that are within a row, as some packets of so many lanes. Returns also the values whose
    /// shape depends on that.
    pub(super) fn within_rows(kernel: &Kernel, step: usize, lanes: u64) -> (Analysis, Vec<Value>) {
        let mut solver = Solver::new(kernel, step, Some(Vec::new()));
        solver.lanes = lanes;
        let analysis = solver.solved();
        (analysis, solver.assumed.unwrap_or_default())
    }

    /// The shape of a value.
    pub(super) fn shape(&self, value: Value) -> Shape {
        self.shapes[value.index()]
    }

    /// Whether an index is compared at run time with what is expected.
    fn is_checkable(&self, kernel: &Kernel, index: Value) -> bool {
        self.shape(index) == Shape::Varying && kernel.ty(index).bits() >= 32
    }

    /// The probable shape of a varying index, if it can be checked at run time.
    pub(super) fn index_hint(&self, kernel: &Kernel, index: Value) -> Option<Hint> {
        let hint = || self.shape_in_packets(index).or(self.hints[index.index()]);
        if self.is_checkable(kernel, index) { hint() } else { None }
    }

    /// The shape that a value that varies in a group has in each of its packets. It holds only where no lanes are
    /// masked: masked ones do not advance in loops.
    fn shape_in_packets(&self, value: Value) -> Option<Hint> {
        match self.packet_shapes.as_ref()?[value.index()] {
            _ if self.shape(value) != Shape::Varying => None,
            Shape::Uniform | Shape::Packet => Some(Hint::Shared),
            Shape::Linear { .. } => Some(Hint::Consecutive),
            Shape::Varying => None,
        }
    }

    /// Whether the lanes of each packet have one value.
    pub(super) fn is_shared_in_packets(&self, value: Value) -> bool {
        let in_packets = self.packet_shapes.as_ref().map_or(Shape::Varying, |shapes| shapes[value.index()]);
        self.shape(value).is_scalar() || in_packets.is_scalar()
    }

    /// Whether the shape of a varying index in each packet is known: where no lanes are masked, nothing is compared.
    pub(super) fn is_known_in_packets(&self, kernel: &Kernel, index: Value) -> bool {
        self.is_checkable(kernel, index) && self.shape_in_packets(index).is_some()
    }

    /// Whether a gather may compare an index with what is expected.
    pub(super) fn is_checked_at_run_time(&self, kernel: &Kernel, index: Value) -> bool {
        self.index_hint(kernel, index).is_some()
            || self.patterns[index.index()].is_some()
            || self.near[index.index()].is_some()
            || self.near_rows[index.index()].is_some()
            || self.strides[index.index()].is_some()
    }

    /// What is near in the index of a gather that reads a few registers and moves their elements.
    pub(super) fn near_index(&self, kernel: &Kernel, buffer: ParamId, index: Value) -> Option<Near> {
        let is_expected = self.is_checkable(kernel, index) && self.shape_in_packets(index).is_none();
        let near = self.near[index.index()].filter(|_| is_expected)?;
        near.registers(kernel.param(buffer).ty(), self.lanes).map(|_| near)
    }

    /// Whether a gather reads elements one by one, or some that are near each other, instead of by an instruction that
    /// gathers.
    pub(super) fn is_easily_gathered(&self, kernel: &Kernel, buffer: ParamId, index: Value) -> bool {
        let is_found = self.strides[index.index()].is_some() || self.near_rows[index.index()].is_some();
        let is_known = is_found || self.shape_in_packets(index).is_some();
        is_known && self.shape(index) == Shape::Varying || self.near_index(kernel, buffer, index).is_some()
    }

    /// As [`Analysis::near_index`], if several lanes read the same elements. Then that is the best way to gather.
    pub(super) fn repeats_elements(&self, kernel: &Kernel, buffer: ParamId, index: Value) -> bool {
        self.near_index(kernel, buffer, index).is_some_and(|near| near.repeats)
    }

    /// The expected lanes of the index of a gather of elements of a type, if they can be checked at run time, are read
    /// as one vector, and are not what a hint may say.
    pub(super) fn index_pattern(&self, kernel: &Kernel, index: Value, ty: Type, lanes: u32) -> Option<&Pattern> {
        let is_expected = self.is_checkable(kernel, index) && self.shape_in_packets(index).is_none();
        let pattern = self.patterns[index.index()].as_ref().filter(|_| is_expected)?;
        let (count, size) = (pattern.part(lanes).count, ty.size_bytes() as u64);
        let read = count.next_power_of_two();
        // Two registers of words, and not more after the last element than may be read past the end of a buffer.
        let is_small = read * size <= 8 * u64::from(lanes) && (read - count) * size <= READABLE_PADDING as u64;
        (is_small && !pattern.is_simple(lanes)).then_some(pattern)
    }

    /// The bits of a value, if it is constant.
    pub(super) fn constant(&self, value: Value) -> Option<u64> {
        self.constants[value.index()]
    }
}

fn constants(kernel: &Kernel) -> Vec<Option<u64>> {
    let mut constants = vec![None; kernel.types.len()];
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        if let Op::Const(_, bits) = inst.op {
            constants[inst.first.index()] = Some(bits);
        }
    }
    constants
}

fn used(kernel: &Kernel) -> Vec<bool> {
    let mut used = vec![false; kernel.types.len()];
    for region in &kernel.regions {
        region.yields.iter().for_each(|value| used[value.index()] = true);
        for inst in &region.insts {
            inst.op.for_each_operand(|value| used[value.index()] = true);
        }
    }
    used
}

struct Solver<'k> {
    kernel: &'k Kernel,
    step: u64,
    shapes: Vec<Shape>,
    constants: Vec<Option<u64>>,
    /// The values of the top region whose shape is that of lanes within a row; none if nothing is assumed.
    assumed: Option<Vec<Value>>,
    packet_shapes: Option<Vec<Shape>>,
    lanes: u64,
}

impl<'k> Solver<'k> {
    fn new(kernel: &'k Kernel, step: usize, assumed: Option<Vec<Value>>) -> Self {
        let shapes = vec![Shape::Uniform; kernel.types.len()];
        let (step, constants) = (step as u64, constants(kernel));
        Solver { kernel, step, shapes, constants, assumed, packet_shapes: None, lanes: step }
    }

    fn shapes(mut self) -> Vec<Shape> {
        self.region(TOP);
        self.shapes
    }

    /// Everything but the ranges.
    fn solved(&mut self) -> Analysis {
        let kernel = self.kernel;
        self.region(TOP);
        let hoisted = self.hoisted();
        let (used, hints, moved, patterns) = (used(kernel), Vec::new(), Vec::new(), Vec::new());
        let (in_rows, near, lanes, begins_with_packets) = (Vec::new(), Vec::new(), self.lanes, self.assumed.is_none());
        let (rows, streams, ranges) = (Rows::default(), Streams::default(), Ranges::default());
        let records = Records::default();
        let (shapes, constants, packet_shapes) =
            (self.shapes.clone(), self.constants.clone(), self.packet_shapes.take());
        let mut analysis = Analysis {
            used,
            hoisted,
            hints,
            in_rows,
            moved,
            patterns,
            near,
            near_rows: Vec::new(),
            strides: Vec::new(),
            lanes,
            begins_with_packets,
            rows,
            streams,
            records,
            ranges,
            shapes,
            packet_shapes,
            constants,
        };
        (analysis.hints, analysis.in_rows) = hints::hints(kernel, &analysis);
        analysis.patterns = patterns::patterns(kernel, &analysis);
        (analysis.near, analysis.near_rows) = near::near(kernel, &analysis);
        analysis.strides = strides::strides(kernel, &analysis);
        analysis.rows = Rows::of(kernel, &analysis);
        analysis.streams = Streams::of(kernel, &analysis);
        // Only where nothing better is known.
        hints::add_loaded(kernel, &mut analysis);
        analysis.moved = hints::moved(kernel, &analysis);
        analysis
    }

    fn shape(&self, value: Value) -> Shape {
        self.shapes[value.index()]
    }

    fn region(&mut self, region: RegionId) {
        let kernel = self.kernel;
        for inst in &kernel.region(region).insts {
            match &inst.op {
                Op::Loop { inits, condition, body } => self.loop_(inst, inits, *condition, *body),
                Op::If { condition: selector, .. } | Op::Switch { index: selector, .. } => {
                    self.branches(inst, *selector)
                }
                // Each lane reads the result of the lanes before it, or has private memory.
                Op::Atomic { .. } | Op::CompareExchange { .. } | Op::LocalRead { .. } => {
                    inst.values().for_each(|value| self.shapes[value.index()] = Shape::Varying)
                }
                op if inst.results == 1 => {
                    let shape = match self.operation(op) {
                        Shape::Varying if region == TOP => self.assume(inst.first, op),
                        shape => shape,
                    };
                    self.shapes[inst.first.index()] = shape;
                }
                _ => {}
            }
        }
    }

    /// The shape of a result whose lanes are related if they are within a row, see [`within_rows`].
    fn assume(&mut self, result: Value, op: &Op) -> Shape {
        let shape = |value: Value| self.shapes[value.index()];
        let (kernel, step) = (self.kernel, self.step);
        let (Some(assumed), Some(found)) =
            (&mut self.assumed, within_rows::shape(kernel, op, &shape, &self.constants, step))
        else {
            return Shape::Varying;
        };
        assumed.push(result);
        found
    }

    fn loop_(&mut self, inst: &Inst, inits: &[Value], condition: RegionId, body: RegionId) {
        let kernel = self.kernel;
        let params = &kernel.region(condition).params;
        for (param, init) in params.iter().zip(inits) {
            self.shapes[param.index()] = self.shape(*init);
        }
        loop {
            self.region(condition);
            self.region(body);
            let mut changed = false;
            for (param, next) in params.iter().zip(&kernel.region(body).yields) {
                let joined = self.shape(*param).join(self.shape(*next));
                changed |= std::mem::replace(&mut self.shapes[param.index()], joined) != joined;
            }
            if !changed {
                break;
            }
        }
        let exits_together = self.shape(kernel.region(condition).yields[0]);
        for (result, param) in inst.values().zip(params) {
            self.shapes[result.index()] = match (exits_together, self.shape(*param)) {
                (Shape::Uniform, shape) => shape,
                (Shape::Packet, Shape::Uniform) => Shape::Packet,
                (Shape::Packet, shape) => shape,
                _ => Shape::Varying,
            };
        }
    }

    /// Regions of which one runs.
    fn branches(&mut self, inst: &Inst, selector: Value) {
        inst.op.regions().for_each(|region| self.region(region));
        let selector = self.shape(selector);
        let kernel = self.kernel;
        for (position, result) in inst.values().enumerate() {
            let yields = inst.op.regions().map(|region| self.shape(kernel.region(region).yields[position]));
            let joined = yields.reduce(Shape::join).expect("a branch has sides");
            self.shapes[result.index()] = match selector {
                Shape::Uniform => joined,
                Shape::Packet if joined == Shape::Uniform => Shape::Packet,
                Shape::Packet => joined,
                _ => Shape::Varying,
            };
        }
    }

    fn operation(&self, op: &Op) -> Shape {
        match op {
            Op::Const(..) | Op::Scalar(_) => Shape::Uniform,
            Op::LaneIndex => Shape::Linear { aligned: true },
            Op::Load(_) => Shape::Varying,
            Op::Gather { index, mask, .. } => {
                let mask = mask.map_or(Shape::Uniform, |mask| self.shape(mask));
                self.shape(*index).combine(mask)
            }
            Op::Binary(op, a, b) => self.binary(*op, *a, *b),
            Op::Select(mask, a, b) if self.shape(*mask).is_scalar() => {
                let joined = self.shape(*a).join(self.shape(*b));
                if joined.is_scalar() { joined.join(self.shape(*mask)) } else { joined }
            }
            Op::Cast(to, a) => self.cast(*to, *a),
            Op::Bitcast(to, a) if to.is_integer() && self.kernel.ty(*a).is_integer() => self.shape(*a),
            op => {
                let mut shape = Shape::Uniform;
                op.for_each_operand(|value| shape = shape.combine(self.shape(value)));
                shape
            }
        }
    }

    fn binary(&self, op: BinaryOp, a: Value, b: Value) -> Shape {
        let (sa, sb) = (self.shape(a), self.shape(b));
        if sa.is_scalar() && sb.is_scalar() {
            return sa.join(sb);
        }
        if !self.kernel.ty(a).is_integer() {
            return Shape::Varying;
        }
        match (op, sa, sb) {
            (BinaryOp::Add, Shape::Linear { aligned }, s) if s.is_scalar() => self.shifted(aligned, b),
            (BinaryOp::Add, s, Shape::Linear { aligned }) if s.is_scalar() => self.shifted(aligned, a),
            (BinaryOp::Sub, Shape::Linear { aligned }, s) if s.is_scalar() => self.shifted(aligned, b),
            (_, Shape::Linear { aligned: true }, Shape::Uniform) => self.split(op, a, b),
            (BinaryOp::And, Shape::Uniform, Shape::Linear { aligned: true }) => self.split(op, b, a),
            _ => Shape::Varying,
        }
    }

    /// Consecutive values plus an `offset`.
    fn shifted(&self, aligned: bool, offset: Value) -> Shape {
        let multiple = self.constants[offset.index()].is_some_and(|offset| offset % self.step == 0);
        Shape::Linear { aligned: aligned && multiple }
    }

    /// Row and column numbers: an aligned lane index divided by a constant whose parts are whole packets.
    fn split(&self, op: BinaryOp, a: Value, b: Value) -> Shape {
        let Some(constant) = self.constants[b.index()] else { return Shape::Varying };
        let unsigned = self.kernel.ty(a).is_unsigned_integer();
        let whole = |count: u64| count != 0 && count.is_multiple_of(self.step);
        match op {
            BinaryOp::Div if unsigned && whole(constant) => Shape::Packet,
            BinaryOp::Rem if unsigned && whole(constant) => Shape::Linear { aligned: true },
            BinaryOp::Shr if constant < 64 && whole(1 << constant) => Shape::Packet,
            BinaryOp::And if constant & (self.step - 1) == self.step - 1 => Shape::Linear { aligned: true },
            BinaryOp::And if constant & (self.step - 1) == 0 => Shape::Packet,
            _ => Shape::Varying,
        }
    }

    fn cast(&self, to: Type, a: Value) -> Shape {
        let from = self.kernel.ty(a);
        match self.shape(a) {
            Shape::Linear { aligned } if to.is_integer() && to.bits() >= 32 => {
                if to.bits() <= from.bits() || aligned {
                    Shape::Linear { aligned }
                } else {
                    Shape::Varying
                }
            }
            Shape::Linear { .. } => Shape::Varying,
            shape => shape,
        }
    }

    /// Determines which instructions of the top region can run before the loop over the packets: those that are
    /// entirely uniform and do not depend on an instruction that must remain in the loop.
    fn hoisted(&self) -> Vec<bool> {
        let mut stays = vec![false; self.kernel.types.len()];
        let mut hoisted = Vec::new();
        for inst in &self.kernel.region(TOP).insts {
            let mut hoist = self.is_hoistable(inst);
            for_each_nested_operand(self.kernel, &inst.op, &mut |value| hoist &= !stays[value.index()]);
            inst.values().for_each(|value| stays[value.index()] = !hoist);
            hoisted.push(hoist);
        }
        hoisted
    }

    /// Whether everything in an instruction is the same for all lanes of the launch, and nothing in it writes.
    fn is_hoistable(&self, inst: &Inst) -> bool {
        if inst.op.writes_memory() || matches!(inst.op, Op::LocalWrite { .. }) {
            return false;
        }
        inst.values().all(|value| self.shape(value) == Shape::Uniform)
            && inst.op.regions().all(|region| {
                let region = self.kernel.region(region);
                region.params.iter().all(|&param| self.shape(param) == Shape::Uniform)
                    && region.insts.iter().all(|inst| self.is_hoistable(inst))
            })
    }
}
