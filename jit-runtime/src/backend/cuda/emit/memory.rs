//! Loads and stores of elements: of the lane itself, and at indices that are checked.

use super::super::ptx::{Class, Guard, Operand, Register, memory_type};
use super::{Code, Emitter};
use crate::ir::{Access, AtomicOp, Param, ParamId, ReduceOp, Type, Value};

/// An integer that elements are accessed at.
pub(super) struct Index {
    pub(super) ty: Type,
    pub(super) operand: Operand,
}

impl Code {
    /// The memory of an element of a buffer.
    pub(in crate::backend::cuda) fn element(&mut self, base: Register, index: &Operand, ty: Type) -> Operand {
        let address = self.register(Class::Long);
        self.write("mad.wide.u32", address, &[index.clone(), (ty.size_bytes() as u32).into(), base.into()]);
        Operand::Memory(address, 0)
    }

    /// Loads from a state space: `global`, `global.nc`, `shared` or `local`.
    pub(in crate::backend::cuda) fn load_from(
        &mut self,
        space: &str,
        guard: Option<Guard>,
        ty: Type,
        memory: Operand,
        result: Register,
    ) {
        let opcode = format!("ld.{space}.{}", memory_type(ty));
        if ty != Type::Bool {
            return self.write_if(guard, opcode, result, &[memory]);
        }
        let byte = self.register(Class::Word);
        if guard.is_some() {
            self.move_to(byte, &0.into());
        }
        self.write_if(guard, opcode, byte, &[memory]);
        self.write("setp.ne.u32", result, &[byte.into(), 0.into()]);
    }

    /// Stores to a state space.
    pub(in crate::backend::cuda) fn store_to(
        &mut self,
        space: &str,
        guard: Option<Guard>,
        ty: Type,
        memory: Operand,
        value: &Operand,
    ) {
        let opcode = format!("st.{space}.{}", memory_type(ty));
        let value = if ty == Type::Bool { self.number_of(value) } else { value.clone() };
        self.effect(guard, opcode, &[memory, value]);
    }

    /// 1 for true, 0 for false.
    pub(super) fn number_of(&mut self, predicate: &Operand) -> Operand {
        self.compute("selp.u32", Class::Word, &[1.into(), 0.into(), predicate.clone()])
    }

    /// Loads where the guard holds; zero elsewhere.
    pub(super) fn load_or_zero(
        &mut self,
        space: &str,
        guard: Option<Guard>,
        ty: Type,
        memory: Operand,
        result: Register,
    ) {
        if guard.is_some() {
            self.clear(result);
        }
        self.load_from(space, guard, ty, memory, result);
    }

    /// Sets a register to the value whose bits are zero.
    pub(super) fn clear(&mut self, result: Register) {
        let zero = match result.class {
            Class::Single => Operand::Single(0),
            Class::Double => Operand::Double(0),
            _ => Operand::Integer(0),
        };
        self.move_to(result, &zero);
    }
}

impl Emitter<'_> {
    /// The state space of loads from a buffer: the read-only cache, if the kernel does not write it.
    pub(super) fn space(&self, buffer: ParamId) -> &'static str {
        match self.kernel.param(buffer) {
            Param::Buffer { access: Access::Read, .. } => "global.nc",
            _ => "global",
        }
    }

    pub(super) fn load(&mut self, result: Value, buffer: ParamId) {
        let (ty, d) = (self.ty(result), self.result(result));
        let (space, memory) = (self.space(buffer), self.element_of_lane(buffer, ty));
        self.load_from(space, None, ty, memory, d);
    }

    pub(super) fn store(&mut self, buffer: ParamId, value: Value) {
        let (ty, value) = (self.ty(value), self.operand(value));
        let memory = self.element_of_lane(buffer, ty);
        self.store_to("global", None, ty, memory, &value);
    }

    fn element_of_lane(&mut self, buffer: ParamId, ty: Type) -> Operand {
        let (base, lane) = (self.pointer(buffer), self.lane().into());
        self.element(base, &lane, ty)
    }

    pub(super) fn gather(&mut self, result: Value, buffer: ParamId, index: Value, mask: Option<Value>) {
        let index = self.index(index);
        self.gather_at(result, buffer, &index, mask);
    }

    pub(super) fn gather_at(&mut self, result: Value, buffer: ParamId, index: &Index, mask: Option<Value>) {
        let (ty, space) = (self.ty(result), self.space(buffer));
        let (memory, guard) = self.indexed(buffer, index, mask);
        let d = self.result(result);
        self.load_or_zero(space, Some(guard), ty, memory, d);
    }

    pub(super) fn scatter(
        &mut self,
        reduce: Option<ReduceOp>,
        buffer: ParamId,
        index: Value,
        value: Value,
        mask: Option<Value>,
    ) {
        if let Some(op) = reduce {
            return self.atomic(None, AtomicOp::Reduce(op), buffer, index, value, mask);
        }
        let index = self.index(index);
        let (memory, guard) = self.indexed(buffer, &index, mask);
        let (ty, value) = (self.ty(value), self.operand(value));
        self.store_to("global", Some(guard), ty, memory, &value);
    }

    /// An index of the kernel.
    pub(super) fn index(&self, index: Value) -> Index {
        Index { ty: self.ty(index), operand: self.operand(index) }
    }

    /// The memory of the element at an index, and where it may be accessed: the mask is on and the index in range.
    pub(super) fn indexed(&mut self, buffer: ParamId, index: &Index, mask: Option<Value>) -> (Operand, Guard) {
        let length = self.length(buffer).into();
        self.below(buffer, index, &length, mask)
    }

    /// As [`Emitter::indexed`], in a part of the buffer that has a length of its own.
    pub(super) fn below(
        &mut self,
        buffer: ParamId,
        index: &Index,
        length: &Operand,
        mask: Option<Value>,
    ) -> (Operand, Guard) {
        let (ty, base) = (self.kernel.param(buffer).ty(), self.pointer(buffer));
        let (index, is_in_range) = self.checked_index(index, length);
        let memory = self.element(base, &index, ty);
        let Some(mask) = mask else { return (memory, (is_in_range, true)) };
        let is_on = self.register(Class::Predicate);
        let mask = self.predicate(mask).into();
        self.write("and.pred", is_on, &[is_in_range.into(), mask]);
        (memory, (is_on, true))
    }
}

impl Code {
    /// An index in 32 bits, and whether it is below a length of 32 bits. A negative one is not.
    pub(super) fn checked_index(&mut self, index: &Index, length: &Operand) -> (Operand, Register) {
        let Index { ty, operand } = index;
        if Class::of(*ty) == Class::Long {
            let wide_length = match length {
                Operand::Register(_) => self.compute_one("cvt.u64.u32", Class::Long, length),
                literal => literal.clone(),
            };
            let is_in_range = self.test("setp.lt.u64", operand, wide_length);
            return (self.compute_one("cvt.u32.u64", Class::Word, operand), is_in_range);
        }
        let limit = match length {
            // As an unsigned number, a negative index may be below a length of more than 31 bits.
            Operand::Register(_) if ty.is_signed_integer() => {
                self.compute("min.u32", Class::Word, &[length.clone(), Operand::Integer(1 << 31)])
            }
            _ => length.clone(),
        };
        let is_in_range = self.test("setp.lt.u32", operand, limit);
        (operand.clone(), is_in_range)
    }
}
