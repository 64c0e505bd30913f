//! Kernel IR → LLVM IR: one function that runs a range of lanes, a few packets at a time.
//!
//! The function is `extern "C" fn(start: u64, end: u64, arguments: *const RawArgument, scratch: *mut u8)`. Its name
//! contains the number of lanes of a group and the bytes of scratch memory that it needs. It first computes values that
//! are the same for all lanes, then iterates over groups of packets that begin at multiples of the group's size. Groups
//! that are entirely in the range run without masks; the partial ones at both ends run under a mask of the lanes that
//! are in the range. For that, small bodies are emitted twice, large ones once; see [`frame`].
//!
//! Invariants: code is reached only if at least one lane is active. Memory is accessed only by lanes that are active
//! and whose index is in range, see [`bounds`]. No emitted operation has undefined or poison results on inactive lanes.

mod arithmetic;
mod atomics;
mod bounds;
mod control;
mod convert;
mod division;
mod frame;
mod half_floats;
mod local;
mod memory;
mod near;
mod parts;
mod permute;
mod poll;
mod private;
mod recomputed;
mod records;
mod reduce;
mod rows;
mod streams;
mod strides;
mod switch;
mod tables;
mod two_rows;
mod verify;
mod within_rows;
mod words;
mod written_streams;

pub(super) use frame::{READABLE_PADDING, TWO_BODIES_LIMIT};
pub(super) use local::local_bytes;

use bounds::Reach;
use division::SharedDivisor;
use frame::Frame;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::AsValueRef;
use near::NearPackets;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use streams::{Iteration, Window};
use written_streams::Unwritten;

use super::analysis::{Analysis, Shape};
use super::emit::{Block, Conversion, Emitter, Raw};
use super::hints::Hint;
use super::near::Step;
use super::polls::Polls;
use super::recompute::Recompute;
use super::rows::Role;
use super::tables::Tables;
use super::within_rows::WithinRows;
use crate::backend::loader::stack::LARGEST_DIRECT;
use crate::backend::loader::{ENTRY, RECORD_BYTES, VERIFIED};
use crate::backend::target::Target;
use crate::backend::{CodeOptions, Scatters};
use crate::ir::{Inst, Kernel, Op, ParamId, RegionId, TOP, Type, Value};

/// One LLVM value for each packet of a group.
type Packets = SmallVec<[Raw; 4]>;

/// A store that is emitted after the rest of the body.
struct PendingStore {
    buffer: ParamId,
    value: Value,
}

/// The code that was generated for a value.
#[derive(Clone, Default)]
struct Slot {
    /// The value of all lanes, or of lane 0 if it is linear.
    scalar: Option<Raw>,
    linear: bool,
    /// One vector for each packet; for scalars created on first use.
    vectors: Option<Packets>,
    /// Whether it was computed before the loop over the packets.
    in_prologue: bool,
    /// For each packet, the base and the distances, if the lanes are near each other.
    near: Option<NearPackets>,
    /// For each packet, the address that it was loaded from without a mask; nothing writes there.
    loaded_from: Option<Packets>,
    /// Whether the code differs for LLVM from that of the definition, though the value is the same.
    is_recomputed: bool,
}

/// The state of generating one function.
struct Codegen<'a> {
    emit: Emitter,
    kernel: &'a Kernel,
    analysis: &'a Analysis,
    /// The facts about groups within a row, if they have code of their own.
    rows: Option<&'a WithinRows>,
    /// What is computed again instead of being kept.
    recompute: &'a Recompute,
    target: &'a Target,
    options: CodeOptions,
    /// For each parameter, whether plain operations combine into it.
    private: Vec<bool>,
    /// Packets in a group.
    packets: usize,
    /// Lanes in a packet.
    lanes: u32,
    slots: Vec<Slot>,
    /// The address of each buffer, or of each scalar's word.
    pointers: Vec<Raw>,
    /// The length of each buffer that is accessed by an index.
    lengths: Vec<Option<Raw>>,
    /// The limits that indices are compared with, as scalars and in all lanes.
    limits: FxHashMap<(ParamId, Reach, u64), Raw>,
    limit_vectors: FxHashMap<(ParamId, Reach, u64), Raw>,
    /// Divisors that are known before the first lane.
    shared_divisors: FxHashMap<Value, SharedDivisor>,
    /// For packets of indices that were compared with an expected pattern: whether they differ, and the first one.
    compared: FxHashMap<(Raw, Option<Hint>), (Raw, Raw)>,
    /// The innermost loop, if it has streams.
    iteration: Option<Iteration>,
    /// Gathers that select from tables of bytes, and the registers of these tables.
    tables: Tables,
    tables_read: FxHashMap<ParamId, [Raw; 4]>,
    /// The memory of streams, by their numbers.
    windows: FxHashMap<usize, Window>,
    /// What streams have not yet stored, by their buffers.
    unwritten: FxHashMap<ParamId, Unwritten>,
    /// The addresses of local memory, if it is accessed.
    locals: Vec<Option<Raw>>,
    /// The active lanes of each packet; all if none.
    mask: Option<Packets>,
    /// The first lane of the group, 64 bits.
    group_start: Option<Raw>,
    /// The running result of each reduction, in the order of the top region.
    accumulators: Vec<Packets>,
    in_prologue: bool,
    /// The region that code is generated for, and the instruction.
    region: RegionId,
    instruction: Option<&'a Inst>,
    frame: Frame,
    /// Stores that wait for the end of the body.
    pending_stores: Vec<PendingStore>,
    /// Whether float constants are read from memory, which the fast code generator prefers.
    constants_in_memory: bool,
    /// Whether this is the body for partial groups, if there is another one for whole groups.
    is_edge: bool,
    /// Whether this is the body for a part of a group, which need not begin with a packet.
    is_part: bool,
    /// The lanes whose whole groups use the other body: those of the range where all proofs hold.
    proven_lanes: Option<[Raw; 2]>,
    /// Whether packets are tied together, and the number of operations since the last time.
    ties_packets: bool,
    untied: usize,
    /// How often loops poll for cancellation.
    polls: Polls,
    /// The block that ends a cancelled run.
    leave: Option<Block>,
}

/// The input of code generation.
pub(super) struct Job<'a> {
    /// The kernel.
    pub(super) kernel: &'a Kernel,
    /// The facts about its values.
    pub(super) analysis: &'a Analysis,
    /// The facts about groups of lanes within a row, if they are others.
    pub(super) rows: Option<&'a WithinRows>,
    /// What is computed again instead of being kept.
    pub(super) recompute: &'a Recompute,
    /// For which processor.
    pub(super) target: &'a Target,
    /// The options, which are not part of the kernel.
    pub(super) options: CodeOptions,
    /// Packets in a group.
    pub(super) packets: usize,
    /// Whether the optimising code generator follows, not the fast one.
    pub(super) optimised: bool,
}

/// Adds the function of a kernel to a module.
pub(super) fn generate<'ctx>(context: &'ctx Context, module: &Module<'ctx>, job: &Job<'_>) {
    let Job { kernel, analysis, rows, recompute, target, options, packets, optimised } = *job;
    let frame = Frame::of(kernel, analysis, target, packets);
    let (word, pointer) = (context.i64_type(), context.ptr_type(inkwell::AddressSpace::default()));
    let signature =
        context.void_type().fn_type(&[word.into(), word.into(), pointer.into(), pointer.into(), pointer.into()], false);
    let step = packets * target.lanes;
    let local_bytes = local::scratch_bytes(kernel, step);
    let name = match target.verifies_accesses {
        true => format!("{ENTRY}{step}_{}{VERIFIED}", local_bytes + RECORD_BYTES),
        false => format!("{ENTRY}{step}_{local_bytes}"),
    };
    let function = module.add_function(&name, signature, None);
    for name in ["nounwind", "willreturn"].iter().take(if kernel.has_loop() { 1 } else { 2 }) {
        let kind = inkwell::attributes::Attribute::get_named_enum_kind_id(name);
        function.add_attribute(inkwell::attributes::AttributeLoc::Function, context.create_enum_attribute(kind, 0));
    }
    // A large frame is reported, and touched page by page: without room for it, the program ends instead of writing
    // what lies behind the stack.
    let largest_frame = LARGEST_DIRECT.to_string();
    for (name, value) in [("no-builtins", ""), ("warn-stack-size", &*largest_frame), ("probe-stack", "inline-asm")] {
        let attribute = context.create_string_attribute(name, value);
        function.add_attribute(inkwell::attributes::AttributeLoc::Function, attribute);
    }
    let mut codegen = Codegen {
        emit: Emitter::new(context.raw(), module.as_mut_ptr(), function.as_value_ref()),
        kernel,
        analysis,
        rows,
        recompute,
        target,
        options,
        private: private_buffers(kernel, options),
        packets,
        lanes: target.lanes as u32,
        slots: vec![Slot::default(); kernel.types.len()],
        pointers: Vec::new(),
        lengths: Vec::new(),
        limits: FxHashMap::default(),
        limit_vectors: FxHashMap::default(),
        shared_divisors: FxHashMap::default(),
        compared: FxHashMap::default(),
        iteration: None,
        tables: Tables::of(kernel, analysis, target),
        tables_read: FxHashMap::default(),
        windows: FxHashMap::default(),
        unwritten: FxHashMap::default(),
        locals: Vec::new(),
        mask: None,
        group_start: None,
        accumulators: Vec::new(),
        in_prologue: true,
        region: TOP,
        instruction: None,
        frame,
        pending_stores: Vec::new(),
        constants_in_memory: !optimised,
        is_edge: false,
        is_part: false,
        proven_lanes: None,
        ties_packets: false,
        untied: 0,
        polls: Polls::of(kernel, analysis),
        leave: None,
    };
    codegen.ties_packets = optimised && codegen.is_long();
    codegen.function();
}

fn private_buffers(kernel: &Kernel, options: CodeOptions) -> Vec<bool> {
    match options.scatters {
        Scatters::Shared => vec![false; kernel.params.len()],
        Scatters::Private { .. } => kernel.combined_buffers().iter().map(Option::is_some).collect(),
    }
}

impl<'a> Codegen<'a> {
    fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    /// Lanes in a group.
    fn step(&self) -> u64 {
        self.packets as u64 * u64::from(self.lanes)
    }

    // --- values

    fn set_scalar(&mut self, value: Value, scalar: Raw, linear: bool) {
        self.slots[value.index()] =
            Slot { scalar: Some(scalar), linear, in_prologue: self.in_prologue, ..Slot::default() };
    }

    fn set_vectors(&mut self, value: Value, vectors: Packets) {
        self.slots[value.index()] = Slot { vectors: Some(vectors), in_prologue: self.in_prologue, ..Slot::default() };
    }

    /// The value that all lanes have, or that of lane 0 of a linear value.
    fn scalar(&self, value: Value) -> Raw {
        self.slots[value.index()].scalar.expect("the analysis found the value to be scalar or linear")
    }

    /// One vector for each packet.
    fn vectors(&mut self, value: Value) -> Packets {
        let slot = &self.slots[value.index()];
        if let Some(vectors) = &slot.vectors {
            let mut vectors = vectors.clone();
            // What is computed before the loop is the same in each packet, of which some bodies have more than others.
            vectors.resize(self.packets, vectors[0]);
            return vectors;
        }
        let scalar = slot.scalar.expect("values are defined before they are used");
        let vectors = if slot.linear { self.spread(scalar, self.ty(value).bits()) } else { self.broadcast(scalar) };
        self.slots[value.index()].vectors = Some(vectors.clone());
        vectors
    }

    /// A scalar in all lanes; built where the scalar is defined, so that every later use can share it.
    fn broadcast(&self, scalar: Raw) -> Packets {
        let vector = self.emit.after_definition(scalar, |emit| self.splat_with(emit, scalar));
        SmallVec::from_elem(vector, self.packets)
    }

    fn splat_with(&self, emit: &Emitter, scalar: Raw) -> Raw {
        let is_bit = emit.type_of(scalar) == emit.int(1);
        if is_bit && self.target.has_masks() && !emit.is_constant(scalar) {
            // Through a general register to a mask register, rather than lane by lane.
            let bits = emit.convert(Conversion::SExt, scalar, emit.int(self.lanes));
            return emit.convert(Conversion::Bitcast, bits, emit.vector(emit.int(1), self.lanes));
        }
        emit.splat(scalar, self.lanes)
    }

    /// `scalar, scalar + 1, …` over the lanes of the group.
    fn spread(&self, scalar: Raw, bits: u32) -> Packets {
        let mut vectors = Packets::new();
        self.emit.after_definition(scalar, |emit| {
            let first = emit.splat(scalar, self.lanes);
            for packet in 0..self.packets as u64 {
                vectors.push(emit.add(first, emit.iota(bits, self.lanes, packet * u64::from(self.lanes))));
            }
            first
        });
        vectors
    }

    // --- instructions

    fn region(&mut self, region: RegionId) {
        let (outer, kernel) = (std::mem::replace(&mut self.region, region), self.kernel);
        for inst in &kernel.region(region).insts {
            self.inst(inst);
        }
        self.region = outer;
    }

    fn inst(&mut self, inst: &'a Inst) {
        let result = inst.first;
        self.instruction = Some(inst);
        match &inst.op {
            Op::Const(ty, bits) => {
                let constant = self.emit.bits_constant(*ty, 1, *bits);
                self.set_scalar(result, constant, false);
            }
            Op::LaneIndex => {
                let start = self.group_start.expect("the lane index is not uniform");
                let lane = self.emit.convert(Conversion::Trunc, start, self.emit.int(32));
                self.set_scalar(result, lane, true);
            }
            Op::Scalar(param) => {
                let scalar = self.scalar_argument(*param);
                self.set_scalar(result, scalar, false);
            }
            Op::Load(buffer) => self.load(result, *buffer),
            Op::Gather { buffer, index, mask } => match self.analysis.rows.role(result) {
                None => match self.analysis.streams.number(result) {
                    None => self.gather(result, *buffer, *index, *mask),
                    Some(stream) => self.gather_stream(stream, result, *buffer, *index, *mask),
                },
                Some(Role::First(row)) => self.gather_row(row),
                Some(Role::Other) => {}
            },
            Op::Store { buffer, value } => self.store(*buffer, *value),
            Op::Scatter { reduce, buffer, index, value, mask } => self.scatter(*reduce, *buffer, *index, *value, *mask),
            Op::Atomic { op, buffer, index, value, mask } => {
                self.atomic(result, *op, *buffer, *index, *value, *mask);
            }
            Op::CompareExchange { buffer, index, expected, value, mask } => {
                self.compare_exchange(result, *buffer, *index, [*expected, *value], *mask);
            }
            Op::Reduce { .. } => unreachable!("reductions are in the top region, whose body handles them"),
            Op::Loop { inits, condition, body } => self.loop_(inst, inits, *condition, *body),
            Op::If { condition, then_region, else_region } => self.if_(inst, *condition, *then_region, *else_region),
            Op::Switch { index, cases, default } => self.switch(inst, *index, cases, *default),
            Op::LocalRead { local, index } => self.local_read(result, *local, *index),
            Op::LocalWrite { local, index, value } => self.local_write(*local, *index, *value),
            op => self.pure(result, op),
        }
    }

    fn scalar_argument(&self, param: ParamId) -> Raw {
        let ty = self.kernel.param(param).ty();
        let load = self.emit.load(self.emit.memory_type(ty), self.pointers[param.index()], ty.size_bytes());
        if ty == Type::Bool { self.emit.convert(Conversion::Trunc, load, self.emit.int(1)) } else { load }
    }

    /// An operation whose result depends only on its operands.
    fn pure(&mut self, result: Value, op: &Op) {
        match self.analysis.shape(result) {
            Shape::Varying => {
                let near = self.analysis.near[result.index()].filter(|near| near.step != Step::Small);
                let (near, known) = near.map(|near| self.begin_near(&near, self.ty(result))).unzip();
                let vectors = known
                    .flatten()
                    .unwrap_or_else(|| (0..self.packets).map(|packet| self.operation(op, Some(packet))).collect());
                self.set_vectors(result, vectors);
                self.slots[result.index()].near = near;
                self.tie_packets(result);
            }
            shape => {
                let scalar = self.operation(op, None);
                self.set_scalar(result, scalar, !shape.is_scalar());
            }
        }
    }

    /// An operation on one packet, or on scalars.
    fn operation(&mut self, op: &Op, packet: Option<usize>) -> Raw {
        let lanes = if packet.is_some() { self.lanes } else { 1 };
        if let (Op::Binary(op, a, b), Some(packet)) = (op, packet)
            && let Some(divisor) = self.shared_divisor(*op, *b)
        {
            let a = self.vectors(*a)[packet];
            return self.divide_by_shared(*op, a, divisor);
        }
        let mut get = |value: Value| match packet {
            Some(packet) => match self.analysis.constant(value) {
                Some(bits)
                    if self.constants_in_memory && bits != 0 && matches!(self.ty(value), Type::F32 | Type::F64) =>
                {
                    self.emit.constant_from_memory(self.ty(value), self.lanes, bits)
                }
                _ => self.vectors(value)[packet],
            },
            None => self.scalar(value),
        };
        match *op {
            Op::Unary(op, a) => {
                let a_raw = get(a);
                self.unary(op, self.ty(a), a_raw, lanes)
            }
            Op::Binary(op, a, b) => {
                let (a_raw, b_raw) = (get(a), get(b));
                self.binary(op, self.ty(a), a_raw, b_raw, lanes, self.analysis.constant(b))
            }
            Op::Fma(a, b, c) => {
                let (a_raw, b_raw, c_raw) = (get(a), get(b), get(c));
                self.fma(self.ty(a), a_raw, b_raw, c_raw, lanes)
            }
            Op::Compare(op, a, b) => {
                let (a_raw, b_raw) = (get(a), get(b));
                self.compare(op, self.ty(a), a_raw, b_raw, lanes)
            }
            Op::Select(mask, a, b) => {
                let (mask, a, b) = (get(mask), get(a), get(b));
                self.emit.select(mask, a, b)
            }
            Op::Cast(to, a) => {
                let a_raw = get(a);
                self.cast(self.ty(a), to, a_raw, lanes)
            }
            Op::Bitcast(to, a) => {
                let a_raw = get(a);
                self.bitcast(self.ty(a), to, a_raw, lanes)
            }
            _ => unreachable!("operations with effects or regions are handled before"),
        }
    }
}
