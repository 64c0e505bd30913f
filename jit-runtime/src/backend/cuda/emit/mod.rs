//! The code of one kernel.
//!
//! [`Emitter`] walks the regions of the kernel. Each value has one register of its class, which is written by the code
//! of its instruction; integer and float constants are literals instead. Files of this folder add the code of families
//! of operations.

mod arithmetic;
mod atomics;
mod cast;
mod code;
mod control;
mod float;
mod integer;
mod lanes;
mod local;
mod memory;
mod reduce;
mod remainder;
mod uniform;
mod vectors;

use std::ops::{Deref, DerefMut};

use super::layout::{ARGUMENTS, Content, Layout};
use super::ptx::{Class, Function, Line, Operand, Register};
use super::{Comments, Target, threads_per_block};
pub(super) use code::{Code, symbol};

use crate::Site;
use crate::ir::{Inst, Kernel, Op, ParamId, RegionId, Type, Value, scalar};

/// Emits the function of a kernel.
pub(super) fn function(name: &str, kernel: &Kernel, target: Target, comments: Comments) -> Function {
    let layout = Layout::of(kernel);
    let mut emitter = Emitter {
        kernel,
        code: Code::new(target, kernel.types.len() as u32),
        comments,
        layout: &layout,
        literals: vec![None; kernel.types.len()],
        is_uniform: uniform::uniform_values(kernel),
        vectors: vectors::Vectors::of(kernel),
        arguments: None,
        pointers: vec![None; kernel.params.len()],
        lengths: vec![None; kernel.params.len()],
        lane: None,
        locals: Vec::new(),
        accumulators: Vec::new(),
        last_line: None,
    };
    emitter.body();
    emitter.code.finish(name.to_owned(), layout.parameters(), threads_per_block(kernel))
}

/// The state of emitting one function.
struct Emitter<'a> {
    kernel: &'a Kernel,
    code: Code,
    comments: Comments,
    layout: &'a Layout,
    /// Constants that instructions take as literals.
    literals: Vec<Option<Operand>>,
    /// The values that are computed before the loop over lanes.
    is_uniform: Vec<bool>,
    /// Accesses to several elements.
    vectors: vectors::Vectors,
    /// The address of the arguments, if they are not passed by value.
    arguments: Option<Register>,
    /// The address of each buffer.
    pointers: Vec<Option<Register>>,
    /// The number of elements of each buffer.
    lengths: Vec<Option<Register>>,
    /// The lane that the thread runs.
    lane: Option<Register>,
    locals: Vec<local::Place>,
    /// The running result of each reduction, in the order of the top region.
    accumulators: Vec<Register>,
    /// The source line of the last comment that names one.
    last_line: Option<Site>,
}

impl Deref for Emitter<'_> {
    type Target = Code;

    fn deref(&self) -> &Code {
        &self.code
    }
}

impl DerefMut for Emitter<'_> {
    fn deref_mut(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl Emitter<'_> {
    // --- names

    /// The register of a value.
    fn result(&self, value: Value) -> Register {
        Register { class: Class::of(self.ty(value)), number: value.0 }
    }

    /// The register or literal of a value.
    fn operand(&self, value: Value) -> Operand {
        self.literals[value.index()].clone().unwrap_or_else(|| self.result(value).into())
    }

    /// The predicate of a `bool`.
    fn predicate(&self, value: Value) -> Register {
        self.result(value)
    }

    fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    fn pointer(&self, buffer: ParamId) -> Register {
        self.pointers[buffer.index()].expect("the prologue loads the address of each buffer")
    }

    fn length(&self, buffer: ParamId) -> Register {
        self.lengths[buffer.index()].expect("the prologue loads the length of each buffer that is indexed")
    }

    fn lane(&self) -> Register {
        self.lane.expect("lanes are run in the loop over them")
    }

    // --- parameters

    /// Loads a parameter.
    fn parameter(&mut self, content: Content, result: Register) {
        let slot = self.layout.slots().iter().find(|slot| slot.content == content);
        let slot = slot.expect("the layout has a place for each parameter");
        let (ty, name, offset) = (slot.parameter.ty, slot.parameter.name.clone(), slot.offset as u64);
        match self.arguments {
            None => self.write(format!("ld.param.{ty}"), result, &[Operand::Variable(name, 0)]),
            Some(block) => self.write(format!("ld.global.nc.{ty}"), result, &[Operand::Memory(block, offset)]),
        }
    }

    /// Loads a parameter of the launch.
    fn launch_parameter(&mut self, content: Content, class: Class) -> Register {
        let result = self.register(class);
        self.parameter(content, result);
        result
    }

    /// Loads the address of the arguments, the address of each buffer, and the length of those accessed by an index.
    fn load_buffers(&mut self) {
        let (layout, is_indexed) = (self.layout, indexed_buffers(self.kernel));
        if !layout.is_by_value() {
            let block = self.register(Class::Long);
            self.write("ld.param.u64", block, &[Operand::Variable(ARGUMENTS, 0)]);
            self.write("cvta.to.global.u64", block, &[block.into()]);
            self.arguments = Some(block);
        }
        for slot in layout.slots() {
            if let Content::Length(buffer) = slot.content {
                let address = self.launch_parameter(Content::Word(buffer, Type::U64), Class::Long);
                self.write("cvta.to.global.u64", address, &[address.into()]);
                self.pointers[buffer.index()] = Some(address);
                if is_indexed[buffer.index()] {
                    self.lengths[buffer.index()] = Some(self.launch_parameter(slot.content, Class::Word));
                }
            }
        }
    }

    // --- instructions

    fn region(&mut self, region: RegionId) {
        let kernel = self.kernel;
        for (position, inst) in kernel.region(region).insts.iter().enumerate() {
            if !inst.values().any(|value| self.is_uniform[value.index()]) {
                self.inst(region, position);
            }
        }
    }

    /// Where the source line of the code changes, a comment names it.
    fn comment(&mut self, inst: &Inst, line: Option<Site>) {
        if let Some(line) = line.filter(|line| self.last_line != Some(*line)) {
            self.last_line = Some(line);
            self.lines.push(Line::Comment(format!("{line}:")));
        }
        let text = self.kernel.display_inst(inst);
        self.lines.push(Line::Comment(text));
    }

    fn inst(&mut self, region: RegionId, position: usize) {
        let inst = &self.kernel.region(region).insts[position];
        if self.comments == Comments::Instructions {
            self.comment(inst, self.kernel.lines.of(region, position));
        }
        if let Some(role) = self.vectors.role(region, position) {
            return self.vector(role);
        }
        let first = inst.first;
        match inst.op {
            Op::Const(ty, bits) => self.constant(first, ty, bits),
            Op::LaneIndex => {
                let (d, lane) = (self.result(first), self.lane().into());
                self.move_to(d, &lane);
            }
            Op::Scalar(param) => self.scalar(first, param),
            Op::Load(buffer) => self.load(first, buffer),
            Op::Gather { buffer, index, mask } => self.gather(first, buffer, index, mask),
            Op::Store { buffer, value } => self.store(buffer, value),
            Op::Scatter { reduce, buffer, index, value, mask } => self.scatter(reduce, buffer, index, value, mask),
            Op::Atomic { op, buffer, index, value, mask } => self.atomic(Some(first), op, buffer, index, value, mask),
            Op::CompareExchange { buffer, index, expected, value, mask } => {
                self.compare_exchange(first, buffer, index, [expected, value], mask);
            }
            Op::Reduce { op, buffer, value } => self.accumulate(op, buffer, value),
            Op::Loop { ref inits, condition, body } => self.repeat(inst, inits, condition, body),
            Op::If { condition, then_region, else_region } => {
                self.choose(inst, condition, then_region, else_region);
            }
            Op::Switch { index, ref cases, default } => self.switch(inst, index, cases, default),
            Op::LocalRead { local, index } => self.local_read(first, local, index),
            Op::LocalWrite { local, index, value } => self.local_write(local, index, value),
            Op::Unary(..)
            | Op::Binary(..)
            | Op::Fma(..)
            | Op::Compare(..)
            | Op::Select(..)
            | Op::Cast(..)
            | Op::Bitcast(..) => self.arithmetic(first, &inst.op),
        }
    }

    /// Integers and floats are literals; the others need a register.
    fn constant(&mut self, result: Value, ty: Type, bits: u64) {
        let literal = match Class::of(ty) {
            Class::Single => Operand::Single(bits as u32),
            Class::Double => Operand::Double(bits),
            Class::Word | Class::Long if ty.is_signed_integer() => {
                Operand::Integer(scalar::cast(ty, Type::I64, bits).cast_signed())
            }
            Class::Word | Class::Long => Operand::Integer(bits.cast_signed()),
            Class::Predicate | Class::Half => {
                let d = self.result(result);
                return self.move_to(d, &Operand::Integer(bits.cast_signed()));
            }
        };
        self.literals[result.index()] = Some(literal);
    }

    fn scalar(&mut self, result: Value, param: ParamId) {
        let (ty, register) = (self.ty(result), self.result(result));
        let content = Content::Word(param, ty);
        if ty == Type::Bool {
            let word = self.launch_parameter(content, Class::Word);
            return self.write("setp.ne.u32", register, &[word.into(), 0.into()]);
        }
        self.parameter(content, register);
    }
}

/// For each parameter, whether it is a buffer that is accessed at indices that may be out of range.
fn indexed_buffers(kernel: &Kernel) -> Vec<bool> {
    let mut is_indexed = vec![false; kernel.params.len()];
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        if let Op::Gather { buffer, .. }
        | Op::Scatter { buffer, .. }
        | Op::Atomic { buffer, .. }
        | Op::CompareExchange { buffer, .. } = inst.op
        {
            is_indexed[buffer.index()] = true;
        }
    }
    is_indexed
}
