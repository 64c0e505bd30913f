//! Reductions: the running results of the threads of a block, and their combination in the order that [`crate::ir`]
//! defines.
//!
//! The result of a chunk is written to the element of the buffer with the number of the block. The launch combines the
//! results of the chunks, as that of the host does, by [`scalar::reduce_in_pairs`].

use super::super::ptx::{Class, Operand, Register, Variable};
use super::{Emitter, symbol};
use crate::ir::{Inst, Op, ParamId, REDUCE_ROW, ReduceOp, TOP, Type, Value, scalar};

/// The type in which a reduction is computed.
fn accumulator_type(ty: Type) -> Type {
    if matches!(ty, Type::F16 | Type::BF16) { Type::F32 } else { ty }
}

/// The type of a running result in shared memory: `bool` takes a byte.
fn shared_size(ty: Type) -> u64 {
    accumulator_type(ty).size_bytes() as u64
}

impl<'a> Emitter<'a> {
    fn reductions(&self) -> impl Iterator<Item = (ReduceOp, ParamId)> + use<'a> {
        self.kernel.region(TOP).insts.iter().filter_map(|inst: &Inst| match inst.op {
            Op::Reduce { op, buffer, .. } => Some((op, buffer)),
            _ => None,
        })
    }

    /// Each thread starts from the identity.
    pub(super) fn start_reductions(&mut self) {
        for (op, buffer) in self.reductions() {
            let ty = accumulator_type(self.kernel.param(buffer).ty());
            let register = self.register(Class::of(ty));
            let identity = self.literal(ty, scalar::identity(op, ty));
            self.move_to(register, &identity);
            self.accumulators.push(register);
        }
    }

    fn literal(&self, ty: Type, bits: u64) -> Operand {
        match ty {
            Type::F32 => Operand::Single(bits as u32),
            Type::F64 => Operand::Double(bits),
            _ if ty.is_signed_integer() => Operand::Integer(scalar::cast(ty, Type::I64, bits).cast_signed()),
            _ => Operand::Integer(bits.cast_signed()),
        }
    }

    /// Combines the value of the lane into the running result of the thread.
    pub(super) fn accumulate(&mut self, op: ReduceOp, buffer: ParamId, value: Value) {
        let position = self.reductions().position(|(_, other)| other == buffer).expect("a reduction of the kernel");
        let (ty, register) = (self.ty(value), self.accumulators[position]);
        let wide = accumulator_type(ty);
        let operand = self.operand(value);
        let operand = if wide == ty { operand } else { self.widen_half(ty, &operand) };
        self.combine_into(op, wide, register, &operand);
    }

    fn combine_into(&mut self, op: ReduceOp, ty: Type, register: Register, operand: &Operand) {
        let combined = self.register(register.class);
        self.binary(op.as_binary(), ty, combined, &register.into(), operand);
        self.move_to(register, &combined.into());
    }

    /// Combines the upper half of the threads' results into the lower one until one is left, and writes it.
    pub(super) fn finish_reductions(&mut self) {
        if self.accumulators.is_empty() {
            return;
        }
        let thread = self.special("%tid.x");
        let rows: Vec<Register> = self.reductions().map(|(_, buffer)| self.row(buffer, thread)).collect();
        let mut half = REDUCE_ROW as u32 / 2;
        self.share_results(&rows);
        while half > 0 {
            self.combine_halves(&rows, thread, half);
            half /= 2;
        }
        self.write_results(thread);
    }

    /// Declares shared memory for the results of the threads. Returns the address of that of this thread.
    fn row(&mut self, buffer: ParamId, thread: Register) -> Register {
        let size = shared_size(self.kernel.param(buffer).ty());
        let name = symbol(format!("results_of_{buffer}"));
        let size_bytes = size * REDUCE_ROW as u64;
        self.variables.push(Variable { space: "shared", name: name.clone(), size_bytes });
        let base = self.compute("mov.u64", Class::Long, &[Operand::Address(name)]);
        let address = self.register(Class::Long);
        self.write("mad.wide.u32", address, &[thread.into(), (size as u32).into(), base]);
        address
    }

    fn share_results(&mut self, rows: &[Register]) {
        for ((_, buffer), position) in self.reductions().zip(0..) {
            let ty = accumulator_type(self.kernel.param(buffer).ty());
            let value = self.accumulators[position].into();
            self.store_to("shared", None, ty, Operand::Memory(rows[position], 0), &value);
        }
        self.effect(None, "bar.sync", &[0.into()]);
    }

    fn combine_halves(&mut self, rows: &[Register], thread: Register, half: u32) {
        let skip = self.label("upper_half");
        let is_upper = self.test("setp.ge.u32", &thread.into(), half);
        self.branch(Some((is_upper, true)), skip);
        for ((op, buffer), position) in self.reductions().zip(0..) {
            let ty = accumulator_type(self.kernel.param(buffer).ty());
            let (result, upper) = (self.accumulators[position], self.register(Class::of(ty)));
            let offset = u64::from(half) * shared_size(ty);
            self.load_from("shared", None, ty, Operand::Memory(rows[position], offset), upper);
            self.combine_into(op, ty, result, &upper.into());
            self.store_to("shared", None, ty, Operand::Memory(rows[position], 0), &result.into());
        }
        self.place(skip);
        self.effect(None, "bar.sync", &[0.into()]);
    }

    fn write_results(&mut self, thread: Register) {
        let skip = self.label("written");
        let is_other = self.test("setp.ne.u32", &thread.into(), 0);
        self.branch(Some((is_other, true)), skip);
        let chunk = Operand::from(self.special("%ctaid.x"));
        for ((_, buffer), position) in self.reductions().zip(0..) {
            let ty = self.kernel.param(buffer).ty();
            let result = Operand::from(self.accumulators[position]);
            let rounded = if accumulator_type(ty) == ty { result } else { self.round_to_half(ty, &result) };
            let base = self.pointer(buffer);
            let address = self.element(base, &chunk, ty);
            self.store_to("global", None, ty, address, &rounded);
        }
        self.place(skip);
    }
}
