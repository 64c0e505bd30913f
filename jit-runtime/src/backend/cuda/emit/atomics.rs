//! Operations that read and write an element in one indivisible step.
//!
//! Where there is an instruction, it is used. Everything else compares and exchanges in a loop, until no other thread
//! wrote in between; elements of 8 and 16 bits together with their neighbours in the same 32 bits.

use super::super::ptx::{Class, Operand, Register};
use super::Emitter;
use crate::ir::{AtomicOp, ParamId, ReduceOp, Type, Value};

/// The bits of an element within a word of memory.
struct Bits {
    /// The address of the word.
    word: Operand,
    /// The number of bits below those of the element; none if it is a word of 32 or 64 bits.
    shift: Option<Operand>,
    ty: Type,
}

impl Bits {
    fn class(&self) -> Class {
        if self.ty.size_bytes() == 8 { Class::Long } else { Class::Word }
    }

    fn suffix(&self) -> &'static str {
        if self.ty.size_bytes() == 8 { "b64" } else { "b32" }
    }
}

/// The suffix of the instruction of an operation.
fn instruction(op: AtomicOp, ty: Type) -> Option<&'static str> {
    use ReduceOp::{Add, And, Max, Min, Or};
    let reduce = match op {
        AtomicOp::Exchange => return exchange(ty),
        AtomicOp::Reduce(op) => op,
    };
    Some(match (reduce, ty) {
        (Add, Type::I32 | Type::U32) => "add.u32",
        (Add, Type::I64 | Type::U64) => "add.u64",
        (Add, Type::F32) => "add.f32",
        (Add, Type::F64) => "add.f64",
        (Min, Type::I32) => "min.s32",
        (Min, Type::U32) => "min.u32",
        (Min, Type::I64) => "min.s64",
        (Min, Type::U64) => "min.u64",
        (Max, Type::I32) => "max.s32",
        (Max, Type::U32) => "max.u32",
        (Max, Type::I64) => "max.s64",
        (Max, Type::U64) => "max.u64",
        (And, Type::I32 | Type::U32) => "and.b32",
        (And, Type::I64 | Type::U64) => "and.b64",
        (Or, Type::I32 | Type::U32) => "or.b32",
        (Or, Type::I64 | Type::U64) => "or.b64",
        _ => return None,
    })
}

fn exchange(ty: Type) -> Option<&'static str> {
    match ty.size_bytes() {
        4 => Some("exch.b32"),
        8 => Some("exch.b64"),
        _ => None,
    }
}

impl Emitter<'_> {
    /// Combines into or replaces an element. The result, if it is used, is the old one.
    pub(super) fn atomic(
        &mut self,
        result: Option<Value>,
        op: AtomicOp,
        buffer: ParamId,
        index: Value,
        value: Value,
        mask: Option<Value>,
    ) {
        let (ty, operand) = (self.ty(value), self.operand(value));
        let index = self.index(index);
        let (memory, guard) = self.indexed(buffer, &index, mask);
        let result = result.map(|result| self.result(result));
        if let Some(result) = result {
            self.clear(result);
        }
        match (instruction(op, ty), result) {
            (Some(suffix), Some(result)) => {
                self.write_if(Some(guard), format!("atom.global.{suffix}"), result, &[memory, operand]);
            }
            (Some(suffix), None) => self.effect(Some(guard), format!("red.global.{suffix}"), &[memory, operand]),
            (None, _) => {
                let done = self.label("atomic");
                self.branch(Some((guard.0, false)), done);
                let old = self.update(ty, memory, |this, old| match op {
                    AtomicOp::Exchange => operand,
                    AtomicOp::Reduce(op) => {
                        let new = this.register(Class::of(ty));
                        this.binary(op.as_binary(), ty, new, &old, &operand);
                        new.into()
                    }
                });
                if let Some(result) = result {
                    self.move_to(result, &old);
                }
                self.place(done);
            }
        }
    }

    /// Replaces an element by a function of it. Returns the old element.
    fn update(&mut self, ty: Type, memory: Operand, new: impl FnOnce(&mut Self, Operand) -> Operand) -> Operand {
        let bits = self.bits_at(ty, memory);
        let word = self.register(bits.class());
        self.write_one(format!("ld.relaxed.gpu.global.{}", bits.suffix()), word, &bits.word);
        let retry = self.label("retry");
        self.place(retry);
        let old = self.extract(&bits, word);
        let new = new(self, old.clone());
        let replaced = self.insert(&bits, word, &new);
        let seen = self.register(bits.class());
        let operands = [bits.word.clone(), word.into(), replaced];
        self.write(format!("atom.global.cas.{}", bits.suffix()), seen, &operands);
        let differs = self.test(format!("setp.ne.{}", bits.suffix()), &seen.into(), word);
        self.move_to(word, &seen.into());
        self.branch(Some((differs, true)), retry);
        old
    }

    /// The word that an element is in.
    fn bits_at(&mut self, ty: Type, memory: Operand) -> Bits {
        let Operand::Memory(address, _) = memory else { unreachable!("elements are at addresses in registers") };
        if ty.size_bytes() >= 4 {
            return Bits { word: memory, shift: None, ty };
        }
        let word = self.register(Class::Long);
        self.write("and.b64", word, &[address.into(), Operand::Integer(!3)]);
        let low = self.compute("cvt.u32.u64", Class::Word, &[address.into()]);
        let byte = self.compute("and.b32", Class::Word, &[low, 3.into()]);
        let shift = self.compute("shl.b32", Class::Word, &[byte, 3.into()]);
        Bits { word: Operand::Memory(word, 0), shift: Some(shift), ty }
    }

    /// The element in a word of memory.
    fn extract(&mut self, bits: &Bits, word: Register) -> Operand {
        let Some(shift) = &bits.shift else { return self.value_of_bits(bits.ty, word.into()) };
        let shifted = self.compute("shr.u32", Class::Word, &[word.into(), shift.clone()]);
        let mask = (1u32 << (8 * bits.ty.size_bytes())) - 1;
        let masked = self.compute("and.b32", Class::Word, &[shifted, mask.into()]);
        self.value_of_bits(bits.ty, masked)
    }

    /// The word of memory with an element replaced.
    fn insert(&mut self, bits: &Bits, word: Register, element: &Operand) -> Operand {
        let element = self.bits_of_value(bits.ty, element);
        let Some(shift) = &bits.shift else { return element };
        let mask = (1u32 << (8 * bits.ty.size_bytes())) - 1;
        let hole = self.compute("shl.b32", Class::Word, &[mask.into(), shift.clone()]);
        let hole = self.compute("not.b32", Class::Word, &[hole]);
        let others = self.compute("and.b32", Class::Word, &[word.into(), hole]);
        let shifted = self.compute("shl.b32", Class::Word, &[element, shift.clone()]);
        self.compute("or.b32", Class::Word, &[others, shifted])
    }

    /// The value of a type with these bits, above which are zeros.
    fn value_of_bits(&mut self, ty: Type, bits: Operand) -> Operand {
        let result = self.register(Class::of(ty));
        match ty {
            Type::Bool => self.write("setp.ne.u32", result, &[bits, 0.into()]),
            Type::F16 | Type::BF16 => self.write("cvt.u16.u32", result, &[bits]),
            Type::F32 | Type::F64 => self.write(format!("mov.b{}", ty.bits()), result, &[bits]),
            Type::I8 | Type::I16 => self.extend(ty, result, &bits),
            _ => return bits,
        }
        result.into()
    }

    /// The bits of a value, with zeros above them.
    fn bits_of_value(&mut self, ty: Type, value: &Operand) -> Operand {
        match ty {
            Type::Bool => self.number_of(value),
            Type::F16 | Type::BF16 => self.compute_one("cvt.u32.u16", Class::Word, value),
            Type::F32 => self.compute_one("mov.b32", Class::Word, value),
            Type::F64 => self.compute_one("mov.b64", Class::Long, value),
            Type::I8 | Type::I16 => {
                self.compute("and.b32", Class::Word, &[value.clone(), (ty.bit_mask() as u32).into()])
            }
            _ => value.clone(),
        }
    }

    /// Replaces an element that has the expected bits. The results are the old one, and whether it was replaced.
    pub(super) fn compare_exchange(
        &mut self,
        result: Value,
        buffer: ParamId,
        index: Value,
        [expected, value]: [Value; 2],
        mask: Option<Value>,
    ) {
        let ty = self.ty(value);
        let index = self.index(index);
        let (memory, guard) = self.indexed(buffer, &index, mask);
        let (old, is_replaced) = (self.result(result), self.result(Value(result.0 + 1)));
        self.clear(old);
        self.clear(is_replaced);
        let done = self.label("exchange");
        self.branch(Some((guard.0, false)), done);
        let bits = self.bits_at(ty, memory);
        let [expected, value] = [expected, value].map(|value| self.bits_of_value(ty, &self.operand(value)));
        let seen = match bits.shift {
            None => self.compute(
                format!("atom.global.cas.{}", bits.suffix()),
                bits.class(),
                &[bits.word.clone(), expected.clone(), value],
            ),
            Some(_) => self.exchange_part(&bits, &expected, &value),
        };
        self.write(format!("setp.eq.{}", bits.suffix()), is_replaced, &[seen.clone(), expected]);
        let element = self.value_of_bits(ty, seen);
        self.move_to(old, &element);
        self.place(done);
    }

    /// Replaces the bits of an element in a word if they are the expected ones. Returns the old bits.
    fn exchange_part(&mut self, bits: &Bits, expected: &Operand, value: &Operand) -> Operand {
        let (retry, end) = (self.label("retry"), self.label("seen"));
        let word = self.register(Class::Word);
        let raw = Bits { word: bits.word.clone(), shift: bits.shift.clone(), ty: unsigned(bits.ty) };
        self.write_one("ld.relaxed.gpu.global.b32", word, &raw.word);
        self.place(retry);
        let part = self.extract(&raw, word);
        let differs = self.test("setp.ne.b32", &part, expected.clone());
        self.branch(Some((differs, true)), end);
        let replaced = self.insert(&raw, word, value);
        let seen = self.compute("atom.global.cas.b32", Class::Word, &[raw.word.clone(), word.into(), replaced]);
        let was_changed = self.test("setp.ne.b32", &seen, word);
        self.move_to(word, &seen);
        self.branch(Some((was_changed, true)), retry);
        self.place(end);
        part
    }
}

/// The unsigned integer of the same size in memory.
fn unsigned(ty: Type) -> Type {
    if ty.size_bytes() == 1 { Type::U8 } else { Type::U16 }
}
