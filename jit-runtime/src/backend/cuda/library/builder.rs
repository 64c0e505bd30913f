//! Writes the code of routines: arithmetic on words, memory, branches and loops.
//!
//! A method with a result appends an instruction and returns its register. Words have 32 bits and are unsigned.

use std::ops::{Deref, DerefMut};

use super::super::Target;
use super::super::emit::{Code, symbol};
use super::super::ptx::{Class, Function, Operand, Parameter, Register, Symbol, Variable};
use crate::ir::Type;

/// All lanes of a warp.
const ALL_LANES: i64 = 0xffff_ffff;

/// The code of a routine, with its parameters in the order in which they were asked for.
pub(super) struct Builder {
    code: Code,
    parameters: Vec<Parameter>,
}

impl Deref for Builder {
    type Target = Code;

    fn deref(&self) -> &Code {
        &self.code
    }
}

impl DerefMut for Builder {
    fn deref_mut(&mut self) -> &mut Code {
        &mut self.code
    }
}

/// Methods for instructions with two operands and a result of a class.
macro_rules! instructions {
    ($($class:ident { $($name:ident: $opcode:literal;)* })*) => {$($(
        pub(super) fn $name(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Register {
            let result = self.register(Class::$class);
            self.write($opcode, result, &[a.into(), b.into()]);
            result
        }
    )*)*};
}

impl Builder {
    pub(super) fn new(target: Target) -> Builder {
        Builder { code: Code::new(target, 0), parameters: Vec::new() }
    }

    pub(super) fn finish(mut self, name: String, threads: u32) -> Function {
        self.effect(None, "ret", &[]);
        self.code.finish(name, self.parameters, Some(threads))
    }

    // --- parameters and memory

    fn parameter(&mut self, name: &'static str, ty: &'static str, class: Class) -> Register {
        let name = Symbol(name.into());
        self.parameters.push(Parameter { name: name.clone(), ty, comment: String::new() });
        let result = self.register(class);
        self.write(format!("ld.param.{ty}"), result, &[Operand::Variable(name, 0)]);
        result
    }

    /// The next parameter, a number of 32 bits.
    pub(super) fn size(&mut self, name: &'static str) -> Register {
        self.parameter(name, "u32", Class::Word)
    }

    /// The next parameter, a number of 64 bits.
    pub(super) fn long_parameter(&mut self, name: &'static str) -> Register {
        self.parameter(name, "u64", Class::Long)
    }

    /// The next parameter, an address in global memory.
    pub(super) fn pointer(&mut self, name: &'static str) -> Register {
        let generic = self.long_parameter(name);
        let address = self.register(Class::Long);
        self.write("cvta.to.global.u64", address, &[generic.into()]);
        address
    }

    /// The address of shared memory of a block.
    pub(super) fn shared(&mut self, name: &str, size_bytes: u32) -> Register {
        let name = symbol(name.to_owned());
        self.variables.push(Variable { space: "shared", name: name.clone(), size_bytes: size_bytes.into() });
        let address = self.register(Class::Long);
        self.write("mov.u64", address, &[Operand::Address(name)]);
        address
    }

    /// The address of the element at an index.
    pub(super) fn at(&mut self, base: Register, index: impl Into<Operand>, size_bytes: u32) -> Register {
        let address = self.register(Class::Long);
        self.write("mad.wide.u32", address, &[index.into(), size_bytes.into(), base.into()]);
        address
    }

    /// Loads a word from a state space at an address and an offset.
    pub(super) fn load_word(&mut self, space: &str, address: Register, offset: u32) -> Register {
        let result = self.register(Class::Word);
        self.load_from(space, None, Type::U32, Operand::Memory(address, offset.into()), result);
        result
    }

    pub(super) fn store_word(&mut self, space: &str, address: Register, offset: u32, word: impl Into<Operand>) {
        self.store_to(space, None, Type::U32, Operand::Memory(address, offset.into()), &word.into());
    }

    /// Waits until all threads of the block are here, and see what the others wrote.
    pub(super) fn barrier(&mut self) {
        self.effect(None, "bar.sync", &[0.into()]);
    }

    /// As [`Builder::barrier`], for the threads of a warp.
    pub(super) fn warp_barrier(&mut self) {
        self.effect(None, "bar.warp.sync", &[Operand::Integer(ALL_LANES)]);
    }

    // --- words

    instructions! {
        Word {
            add: "add.u32";
            sub: "sub.u32";
            mul: "mul.lo.u32";
            div: "div.u32";
            rem: "rem.u32";
            min: "min.u32";
            max: "max.u32";
            and: "and.b32";
            shl: "shl.b32";
            shr: "shr.u32";
        }
        Predicate {
            is_less: "setp.lt.u32";
            at_most: "setp.le.u32";
            is_equal: "setp.eq.u32";
            differs: "setp.ne.u32";
            both: "and.pred";
            either: "or.pred";
        }
    }

    pub(super) fn negated(&mut self, condition: Register) -> Register {
        let result = self.register(Class::Predicate);
        self.write("not.pred", result, &[condition.into()]);
        result
    }

    /// A comparison of numbers of 64 bits.
    pub(super) fn test_long(&mut self, opcode: &'static str, a: Register, b: Register) -> Register {
        self.test(opcode, &a.into(), b)
    }

    /// `a * b + c`.
    pub(super) fn mad(&mut self, a: impl Into<Operand>, b: impl Into<Operand>, c: impl Into<Operand>) -> Register {
        let result = self.register(Class::Word);
        self.write("mad.lo.u32", result, &[a.into(), b.into(), c.into()]);
        result
    }

    /// A register that the code may change.
    pub(super) fn variable(&mut self, value: impl Into<Operand>) -> Register {
        let result = self.register(Class::Word);
        self.set(result, value);
        result
    }

    pub(super) fn set(&mut self, register: Register, value: impl Into<Operand>) {
        self.move_to(register, &value.into());
    }

    /// `value` where a condition holds, else `other`.
    pub(super) fn choose(
        &mut self,
        condition: Register,
        value: impl Into<Operand>,
        other: impl Into<Operand>,
    ) -> Register {
        let (value, other) = (value.into(), other.into());
        let class = [&value, &other].into_iter().find_map(|operand| match operand {
            Operand::Register(register) => Some(register.class),
            _ => None,
        });
        let class = class.unwrap_or(Class::Word);
        let result = self.register(class);
        self.write(format!("selp.{}", class.suffix()), result, &[value, other, condition.into()]);
        result
    }

    pub(super) fn count_ones(&mut self, bits: Register) -> Register {
        let result = self.register(Class::Word);
        self.write("popc.b32", result, &[bits.into()]);
        result
    }

    pub(super) fn thread(&mut self) -> Register {
        self.special("%tid.x")
    }

    pub(super) fn block(&mut self) -> Register {
        self.special("%ctaid.x")
    }

    // --- warps

    /// The lanes for whose threads a condition holds.
    pub(super) fn ballot(&mut self, condition: Register) -> Register {
        let result = self.register(Class::Word);
        self.write("vote.sync.ballot.b32", result, &[condition.into(), Operand::Integer(ALL_LANES)]);
        result
    }

    /// The lanes that have the same word.
    pub(super) fn equal_lanes(&mut self, word: Register) -> Register {
        let result = self.register(Class::Word);
        self.write("match.any.sync.b32", result, &[word.into(), Operand::Integer(ALL_LANES)]);
        result
    }

    /// The value of the lane so far before this one; the own one, if there is none.
    pub(super) fn value_before(&mut self, value: Register, distance: u32) -> Register {
        self.shuffle("up", value, distance.into(), 0)
    }

    /// The value of a lane.
    pub(super) fn value_of_lane(&mut self, value: Register, lane: impl Into<Operand>) -> Register {
        self.shuffle("idx", value, lane.into(), 31)
    }

    /// Instructions move 32 bits; longer values are moved in halves.
    fn shuffle(&mut self, kind: &'static str, value: Register, lane: Operand, bound: u32) -> Register {
        let half = |this: &mut Builder, value: Operand| {
            let sources = [value, lane.clone(), bound.into(), Operand::Integer(ALL_LANES)];
            this.compute(format!("shfl.sync.{kind}.b32"), Class::Word, &sources)
        };
        match value.class {
            Class::Long | Class::Double => {
                let bits = self.compute("mov.b64", Class::Long, &[value.into()]);
                let low = self.compute("cvt.u32.u64", Class::Word, std::slice::from_ref(&bits));
                let high = self.compute("shr.u64", Class::Long, &[bits, 32.into()]);
                let high = self.compute("cvt.u32.u64", Class::Word, &[high]);
                let (low, high) = (half(self, low), half(self, high));
                let low = self.compute("cvt.u64.u32", Class::Long, &[low]);
                let high = self.compute("cvt.u64.u32", Class::Long, &[high]);
                let high = self.compute("shl.b64", Class::Long, &[high, 32.into()]);
                let bits = self.compute("or.b64", Class::Long, &[low, high]);
                self.moved("mov.b64", value.class, bits)
            }
            _ => {
                let bits = self.compute("mov.b32", Class::Word, &[value.into()]);
                let bits = half(self, bits);
                self.moved("mov.b32", value.class, bits)
            }
        }
    }

    fn moved(&mut self, opcode: &'static str, class: Class, bits: Operand) -> Register {
        let result = self.register(class);
        self.write(opcode, result, &[bits]);
        result
    }

    // --- control flow

    /// Runs code where a condition holds.
    pub(super) fn when(&mut self, condition: Register, code: impl FnOnce(&mut Builder)) {
        let end = self.label("end");
        self.branch(Some((condition, false)), end);
        code(self);
        self.place(end);
    }

    /// Repeats code while the condition that it begins with holds.
    pub(super) fn repeat(&mut self, condition: impl FnOnce(&mut Builder) -> Register, code: impl FnOnce(&mut Builder)) {
        let (next, end) = (self.label("next"), self.label("end"));
        self.place(next);
        let goes_on = condition(self);
        self.branch(Some((goes_on, false)), end);
        code(self);
        self.branch(None, next);
        self.place(end);
    }

    /// Runs code for the numbers from one below another, a distance apart.
    pub(super) fn count(
        &mut self,
        first: impl Into<Operand>,
        end: impl Into<Operand>,
        step: impl Into<Operand>,
        code: impl FnOnce(&mut Builder, Register),
    ) {
        let (position, end, step) = (self.variable(first), end.into(), step.into());
        self.repeat(
            |this| this.is_less(position, end),
            |this| {
                code(this, position);
                let next = this.add(position, step);
                this.set(position, next);
            },
        );
    }
}
