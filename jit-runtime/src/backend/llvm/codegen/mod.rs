//! Kernel IR → LLVM IR: one function that runs a range of lanes, a few packets at a time.
//!
//! The function is `extern "C" fn(start: u64, end: u64, arguments: *const RawArgument)`. It first computes what is the
//! same for all lanes, then walks over groups of packets that begin at multiples of the group's size. Groups that the
//! range covers wholly run without masks; the partial ones at both ends run under a mask of the lanes that are in the
//! range. Small bodies are emitted twice for that, big ones once, always masked.
//!
//! Always holds: code is reached only if at least one lane is active, so memory at an index that all lanes share may be
//! read. No operation that is emitted has undefined or poison results on lanes that are not active.

mod arithmetic;
mod atomics;
mod control;
mod convert;
mod division;
mod half_floats;
mod memory;
mod reduce;

use inkwell::context::Context;
use inkwell::llvm_sys::LLVMIntPredicate::{LLVMIntUGE, LLVMIntULE, LLVMIntULT};
use inkwell::module::Module;
use inkwell::values::AsValueRef;
use smallvec::SmallVec;

use super::analysis::{Analysis, Shape};
use super::emit::{Block, Conversion, Emitter, Raw};
use super::object::ENTRY;
use super::target::Target;
use crate::backend::{CodeOptions, RawArgument};
use crate::ir::{Access, Inst, Kernel, Op, Param, ParamId, RegionId, TOP, Type, Value};

/// One LLVM value for each packet of a group.
type Packets = SmallVec<[Raw; 4]>;

/// Instructions (times packets) up to which the body is emitted twice, without and with masks.
const TWO_BODIES_LIMIT: usize = 256;

/// The same for bodies of which only the stores need masks.
const TWO_PLAIN_BODIES_LIMIT: usize = 24;

/// How far loads may reach past the end of a buffer.
const READABLE_PADDING: usize = 64;

/// How groups that the range covers only in part are dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frame {
    /// One body without masks for whole groups, one with masks for the others.
    TwoBodies,
    /// One body whose operations all have masks.
    Masked,
    /// One body without masks, but for its stores: nothing in it can go wrong on lanes outside of the range.
    Plain,
}

impl Frame {
    fn of(kernel: &Kernel, analysis: &Analysis, target: &Target, packets: usize) -> Frame {
        let insts = kernel.region(TOP).insts.iter().zip(&analysis.hoisted);
        let is_plain = insts.filter(|(_, hoisted)| !**hoisted).all(|(inst, _)| match &inst.op {
            Op::Load(buffer) => packets * target.lanes * kernel.param(*buffer).ty().size_bytes() <= READABLE_PADDING,
            Op::Store { buffer, .. } => is_only_written(kernel.param(*buffer)),
            Op::Gather { .. } | Op::Scatter { .. } | Op::Reduce { .. } | Op::Loop { .. } | Op::If { .. } => false,
            _ => true,
        });
        let limit = if is_plain { TWO_PLAIN_BODIES_LIMIT } else { TWO_BODIES_LIMIT };
        if kernel.op_count() * packets <= limit {
            Frame::TwoBodies
        } else if is_plain {
            Frame::Plain
        } else {
            Frame::Masked
        }
    }
}

fn is_only_written(param: Param) -> bool {
    matches!(param, Param::Buffer { access: Access::Write, .. })
}

/// A store that is emitted after the rest of the body.
struct PendingStore {
    buffer: ParamId,
    value: Value,
}

/// What code is generated for a value.
#[derive(Clone, Default)]
struct Slot {
    /// The value of all lanes, or of lane 0 if it is linear.
    scalar: Option<Raw>,
    linear: bool,
    /// One vector for each packet; for scalars made when first asked for.
    vectors: Option<Packets>,
    /// Computed before the loop over the packets.
    in_prologue: bool,
}

/// The state of generating one function.
struct Codegen<'a> {
    emit: Emitter,
    kernel: &'a Kernel,
    analysis: &'a Analysis,
    target: &'a Target,
    options: CodeOptions,
    /// Packets in a group.
    packets: usize,
    /// Lanes in a packet.
    lanes: u32,
    slots: Vec<Slot>,
    /// The address of each buffer, or of each scalar's word.
    pointers: Vec<Raw>,
    /// Active lanes of each packet; all if there is none.
    mask: Option<Packets>,
    /// The first lane of the group, 64 bits.
    group_start: Option<Raw>,
    /// The running result of each reduction, in the order of the top region.
    accumulators: Vec<Packets>,
    in_prologue: bool,
    frame: Frame,
    /// Stores that wait for the end of the body: address of each packet, value, and alignment.
    pending_stores: Vec<PendingStore>,
    /// Float constants are read from memory, which the fast code generator prefers.
    constants_in_memory: bool,
    /// Stack memory that is read instead of an element that no lane wants.
    scratch: Option<Raw>,
}

/// What to generate code from, and how.
pub(super) struct Job<'a> {
    /// The kernel.
    pub(super) kernel: &'a Kernel,
    /// What is known about its values.
    pub(super) analysis: &'a Analysis,
    /// For which processor.
    pub(super) target: &'a Target,
    /// What the kernel does not say.
    pub(super) options: CodeOptions,
    /// Packets in a group.
    pub(super) packets: usize,
    /// The optimising code generator follows, not the fast one.
    pub(super) optimised: bool,
}

/// Adds the function of a kernel to a module.
pub(super) fn generate<'ctx>(context: &'ctx Context, module: &Module<'ctx>, job: &Job<'_>) {
    let Job { kernel, analysis, target, options, packets, optimised } = *job;
    let frame = Frame::of(kernel, analysis, target, packets);
    let (word, pointer) = (context.i64_type(), context.ptr_type(inkwell::AddressSpace::default()));
    let signature = context.void_type().fn_type(&[word.into(), word.into(), pointer.into()], false);
    let function = module.add_function(&format!("{ENTRY}{}", packets * target.lanes), signature, None);
    for name in ["nounwind", "willreturn"].iter().take(if kernel.has_loop() { 1 } else { 2 }) {
        let kind = inkwell::attributes::Attribute::get_named_enum_kind_id(name);
        function.add_attribute(inkwell::attributes::AttributeLoc::Function, context.create_enum_attribute(kind, 0));
    }
    let no_builtins = context.create_string_attribute("no-builtins", "");
    function.add_attribute(inkwell::attributes::AttributeLoc::Function, no_builtins);
    let mut codegen = Codegen {
        emit: Emitter::new(context.raw(), module.as_mut_ptr(), function.as_value_ref()),
        kernel,
        analysis,
        target,
        options,
        packets,
        lanes: target.lanes as u32,
        slots: vec![Slot::default(); kernel.types.len()],
        pointers: Vec::new(),
        mask: None,
        group_start: None,
        accumulators: Vec::new(),
        in_prologue: true,
        frame,
        pending_stores: Vec::new(),
        constants_in_memory: !optimised,
        scratch: None,
    };
    codegen.function();
}

impl Codegen<'_> {
    fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    /// Lanes in a group.
    fn step(&self) -> u64 {
        self.packets as u64 * u64::from(self.lanes)
    }

    // --- the frame of the function

    fn function(&mut self) {
        let (entry, prologue, leave) =
            (self.emit.new_block("entry"), self.emit.new_block("prologue"), self.emit.new_block("leave"));
        let (start, end) = (self.emit.parameter(0), self.emit.parameter(1));
        self.emit.position_at_end(leave);
        self.emit.ret();
        self.emit.position_at_end(entry);
        let some = self.emit.icmp(LLVMIntULT, start, end);
        self.emit.cond_br(some, prologue, leave);
        self.emit.position_at_end(prologue);
        self.load_pointers();
        self.prologue();
        self.start_accumulators();
        let first = self.emit.and(start, self.emit.i64(!(self.step() - 1)));
        if self.frame == Frame::TwoBodies {
            self.loop_with_two_bodies(first)
        } else {
            self.loop_with_one_body(first)
        }
        self.store_accumulators(start);
        self.emit.ret();
        self.emit.finish_constants();
    }

    fn load_pointers(&mut self) {
        let arguments = self.emit.parameter(2);
        for (index, param) in self.kernel.params.iter().enumerate() {
            let offset = self.emit.i64((index * size_of::<RawArgument>()) as u64);
            let word = self.emit.address(self.emit.int(8), arguments, offset);
            let pointer = match param {
                Param::Buffer { .. } => {
                    let load = self.emit.load(self.emit.ptr(), word, 8);
                    self.emit.mark_invariant(load);
                    load
                }
                Param::Scalar { .. } => word,
            };
            self.pointers.push(pointer);
        }
    }

    /// What all lanes of the launch share.
    fn prologue(&mut self) {
        for (position, inst) in self.kernel.region(TOP).insts.iter().enumerate() {
            if self.analysis.hoisted[position] {
                self.inst(inst);
            }
        }
        self.in_prologue = false;
    }

    /// Everything else, for the group that begins at a lane.
    fn body(&mut self, group_start: Raw, mask: Option<Packets>) {
        self.slots.iter_mut().filter(|slot| !slot.in_prologue).for_each(|slot| *slot = Slot::default());
        self.group_start = Some(group_start);
        self.mask = mask;
        let mut reductions = 0;
        for (position, inst) in self.kernel.region(TOP).insts.iter().enumerate() {
            if let Op::Reduce { op, value, .. } = inst.op {
                self.reduce(reductions, op, value);
                reductions += 1;
            } else if !self.analysis.hoisted[position] {
                self.inst(inst);
            }
        }
        self.mask = None;
    }

    fn loop_with_two_bodies(&mut self, first: Raw) {
        let [dispatch, full, check, partial, exit] =
            ["dispatch", "full", "check", "partial", "exit"].map(|name| self.emit.new_block(name));
        let (end, step) = (self.emit.parameter(1), self.emit.i64(self.step()));
        let before = self.emit.block();
        self.emit.br(dispatch);

        self.emit.position_at_end(dispatch);
        let lane = self.group_phi(first, before);
        let reductions = self.accumulator_phis(before);
        let is_whole = self.is_whole(lane);
        self.emit.cond_br(is_whole, full, check);

        self.emit.position_at_end(full);
        let full_lane = self.group_phi(lane, dispatch);
        let full_reductions = self.accumulator_phis(dispatch);
        self.body(full_lane, None);
        let next = self.emit.add(full_lane, step);
        let again = self.emit.icmp(LLVMIntULE, self.emit.add(next, step), end);
        let latch = self.emit.block();
        self.emit.cond_br(again, full, dispatch);
        for (phi, reductions) in [(full_lane, &full_reductions), (lane, &reductions)] {
            self.emit.add_incoming(phi, next, latch);
            self.add_accumulators(reductions, latch);
        }

        self.emit.position_at_end(check);
        self.emit.cond_br(self.emit.icmp(LLVMIntULT, lane, end), partial, exit);
        self.emit.position_at_end(partial);
        self.accumulators.clone_from(&reductions);
        let mask = self.range_mask(lane);
        self.body(lane, Some(mask));
        self.emit.add_incoming(lane, self.emit.add(lane, step), self.emit.block());
        self.add_accumulators(&reductions, self.emit.block());
        self.emit.br(dispatch);
        self.emit.position_at_end(exit);
        self.accumulators = reductions;
    }

    fn loop_with_one_body(&mut self, first: Raw) {
        let [repeat, exit] = ["repeat", "exit"].map(|name| self.emit.new_block(name));
        let (end, step) = (self.emit.parameter(1), self.emit.i64(self.step()));
        let before = self.emit.block();
        self.emit.br(repeat);
        self.emit.position_at_end(repeat);
        let lane = self.group_phi(first, before);
        let reductions = self.accumulator_phis(before);
        let mask = (self.frame == Frame::Masked).then(|| self.range_mask(lane));
        self.body(lane, mask.clone());
        self.finish_stores(lane, mask);
        let next = self.emit.add(lane, step);
        let latch = self.emit.block();
        self.emit.add_incoming(lane, next, latch);
        self.add_accumulators(&reductions, latch);
        self.emit.cond_br(self.emit.icmp(LLVMIntULT, next, end), repeat, exit);
        self.emit.position_at_end(exit);
    }

    /// Emits the stores of a body that serves whole and partial groups: without masks for the former.
    fn finish_stores(&mut self, lane: Raw, mask: Option<Packets>) {
        let pending = std::mem::take(&mut self.pending_stores);
        let values: Vec<Packets> = pending.iter().map(|store| self.vectors(store.value)).collect();
        let [full, partial, join] = ["full", "partial", "join"].map(|name| self.emit.new_block(name));
        let is_whole = self.is_whole(lane);
        self.emit.cond_br(is_whole, full, partial);
        for (block, is_partial) in [(full, false), (partial, true)] {
            self.emit.position_at_end(block);
            let mask = is_partial.then(|| mask.clone().unwrap_or_else(|| self.range_mask(lane)));
            for (store, values) in pending.iter().zip(&values) {
                self.store_vectors(store.buffer, values, mask.as_ref());
            }
            self.emit.br(join);
        }
        self.emit.position_at_end(join);
    }

    /// Whether the range covers the group that begins at a lane.
    fn is_whole(&self, lane: Raw) -> Raw {
        let (start, end, step) = (self.emit.parameter(0), self.emit.parameter(1), self.emit.i64(self.step()));
        let covers_start = self.emit.icmp(LLVMIntULE, start, lane);
        let covers_end = self.emit.icmp(LLVMIntULE, self.emit.add(lane, step), end);
        self.emit.and(covers_start, covers_end)
    }

    fn group_phi(&self, first: Raw, from: Block) -> Raw {
        let phi = self.emit.phi(self.emit.int(64));
        self.emit.add_incoming(phi, first, from);
        phi
    }

    /// The lanes of a group that are in the range.
    fn range_mask(&self, lane: Raw) -> Packets {
        let (start, end, step) = (self.emit.parameter(0), self.emit.parameter(1), self.emit.i64(self.step()));
        let word = self.emit.int(64);
        let left = self.emit.intrinsic("llvm.umin", &[word], &[self.emit.sub(end, lane), step]);
        let skipped = self.emit.intrinsic("llvm.usub.sat", &[word], &[start, lane]);
        let [left, skipped] = [left, skipped].map(|count| {
            let narrow = self.emit.convert(Conversion::Trunc, count, self.emit.int(32));
            self.emit.splat(narrow, self.lanes)
        });
        let packet = |packet: usize| {
            let lane = self.emit.iota(32, self.lanes, packet as u64 * u64::from(self.lanes));
            let before_end = self.emit.icmp(LLVMIntULT, lane, left);
            self.emit.and(before_end, self.emit.icmp(LLVMIntUGE, lane, skipped))
        };
        (0..self.packets).map(packet).collect()
    }

    // --- values

    fn set_scalar(&mut self, value: Value, scalar: Raw, linear: bool) {
        self.slots[value.index()] = Slot { scalar: Some(scalar), linear, vectors: None, in_prologue: self.in_prologue };
    }

    fn set_vectors(&mut self, value: Value, vectors: Packets) {
        self.slots[value.index()] =
            Slot { scalar: None, linear: false, vectors: Some(vectors), in_prologue: self.in_prologue };
    }

    /// The value that all lanes have, or that of lane 0 of a linear value.
    fn scalar(&self, value: Value) -> Raw {
        self.slots[value.index()].scalar.expect("the analysis found the value to be scalar or linear")
    }

    /// One vector for each packet.
    fn vectors(&mut self, value: Value) -> Packets {
        let slot = &self.slots[value.index()];
        if let Some(vectors) = &slot.vectors {
            return vectors.clone();
        }
        let scalar = slot.scalar.expect("values are defined before they are used");
        let vectors = if slot.linear { self.spread(scalar, self.ty(value).bits()) } else { self.broadcast(scalar) };
        self.slots[value.index()].vectors = Some(vectors.clone());
        vectors
    }

    /// A scalar in all lanes; built where the scalar is defined, so that it can serve every later use.
    fn broadcast(&self, scalar: Raw) -> Packets {
        let vector = self.emit.after_definition(scalar, |emit| self.splat_with(emit, scalar));
        SmallVec::from_elem(vector, self.packets)
    }

    fn splat_with(&self, emit: &Emitter, scalar: Raw) -> Raw {
        let is_bit = emit.type_of(scalar) == emit.int(1);
        if is_bit && self.target.has_masks() && !emit.is_constant(scalar) {
            // Through a general register into a mask register, rather than lane by lane.
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
        for inst in &self.kernel.region(region).insts {
            self.inst(inst);
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let result = inst.first;
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
            Op::Gather { buffer, index, mask } => self.gather(result, *buffer, *index, *mask),
            Op::Store { buffer, value } => self.store(*buffer, *value),
            Op::Scatter { reduce, buffer, index, value, mask } => self.scatter(*reduce, *buffer, *index, *value, *mask),
            Op::Reduce { .. } => unreachable!("reductions stand in the top region, whose body handles them"),
            Op::Loop { inits, condition, body } => self.loop_(inst, inits, *condition, *body),
            Op::If { condition, then_region, else_region } => self.if_(inst, *condition, *then_region, *else_region),
            op => self.pure(result, op),
        }
    }

    fn scalar_argument(&self, param: ParamId) -> Raw {
        let ty = self.kernel.param(param).ty();
        let load = self.emit.load(self.emit.memory_type(ty), self.pointers[param.index()], ty.size_bytes());
        if ty == Type::Bool { self.emit.convert(Conversion::Trunc, load, self.emit.int(1)) } else { load }
    }

    /// An operation whose result depends on its operands alone.
    fn pure(&mut self, result: Value, op: &Op) {
        match self.analysis.shape(result) {
            Shape::Varying => {
                let vectors = (0..self.packets).map(|packet| self.operation(op, Some(packet))).collect();
                self.set_vectors(result, vectors);
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
