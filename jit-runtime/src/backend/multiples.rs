//! Integers that are multiples of powers of two, whatever the operands are: where elements in memory are aligned
//! together.
//!
//! Integers wrap around at a power of two, so sums and products remain multiples of smaller ones. What loops carry is
//! not followed.

use crate::ir::{BinaryOp, Inst, Kernel, Op, Type, UnaryOp, Value};

/// For each value, the number of low bits that are known to be zero. Values of other types than integers have none.
pub(super) fn zero_bits(kernel: &Kernel) -> Vec<u32> {
    let mut found = Finder { kernel, bits: vec![0; kernel.types.len()], shifts: vec![None; kernel.types.len()] };
    // A region usually comes after the one that it is nested in. If passes have changed that, a value is missed.
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        found.add(inst);
    }
    found.bits
}

struct Finder<'a> {
    kernel: &'a Kernel,
    bits: Vec<u32>,
    /// Constants, as counts of shifts.
    shifts: Vec<Option<u64>>,
}

impl Finder<'_> {
    fn add(&mut self, inst: &Inst) {
        if inst.results != 1 || !self.kernel.ty(inst.first).is_integer() {
            return;
        }
        let ty = self.kernel.ty(inst.first);
        if let Op::Const(_, bits) = inst.op {
            self.shifts[inst.first.index()] = Some(bits & ty.bit_mask());
        }
        self.bits[inst.first.index()] = self.of(&inst.op, ty).min(ty.bits());
    }

    /// A number of zero bits. It may be more than the type has.
    fn of(&self, op: &Op, ty: Type) -> u32 {
        let known = |value: Value| self.bits[value.index()];
        match *op {
            Op::Const(_, bits) => (bits & ty.bit_mask()).trailing_zeros(),
            Op::Unary(UnaryOp::Neg | UnaryOp::Abs, a) => known(a),
            Op::Binary(op, a, b) => self.binary(op, a, b, ty),
            Op::Select(_, a, b) => known(a).min(known(b)),
            Op::Cast(_, a) | Op::Bitcast(_, a) => self.converted(a, ty),
            _ => 0,
        }
    }

    fn binary(&self, op: BinaryOp, a: Value, b: Value, ty: Type) -> u32 {
        let (of_a, of_b) = (self.bits[a.index()], self.bits[b.index()]);
        match (op, self.shifts[b.index()]) {
            // The remainder is the difference of multiples; by zero it is the first operand.
            (
                BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::Min
                | BinaryOp::Max
                | BinaryOp::Rem,
                _,
            ) => of_a.min(of_b),
            (BinaryOp::And, _) => of_a.max(of_b),
            (BinaryOp::Mul, _) => of_a + of_b,
            (BinaryOp::Shl, Some(count)) => of_a.saturating_add(count.min(u64::from(ty.bits())) as u32),
            (BinaryOp::Shl, None) => of_a,
            (BinaryOp::Shr, Some(count)) if of_a < ty.bits() => of_a.saturating_sub(count.min(64) as u32),
            _ => 0,
        }
    }

    /// Zero remains zero; otherwise low bits remain.
    fn converted(&self, a: Value, ty: Type) -> u32 {
        let from = self.kernel.ty(a);
        match self.bits[a.index()] {
            bits if from.is_integer() && bits == from.bits() => ty.bits(),
            bits => bits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Executable, RawArgument, interpreter};
    use crate::ir::{Access, Builder, CompareOp};

    const LANES: usize = 1 << 16;

    /// Operations on all pairs of 8-bit integers, whose low bits were cleared by shifts.
    fn check(ty: Type, shifts: [u64; 2], to: Type, op: impl Fn(&mut Builder, [Value; 2]) -> Option<Value>) {
        let mut builder = Builder::new();
        let buffers = [(); 2].map(|()| builder.buffer(ty, Access::Read));
        let operands = [0, 1].map(|place| {
            let (operand, count) = (builder.load(buffers[place]), builder.constant(ty, shifts[place]));
            builder.binary(BinaryOp::Shl, operand, count)
        });
        let Some(result) = op(&mut builder, operands) else { return };
        let output = builder.buffer(to, Access::Write);
        builder.store(output, result);
        let kernel = builder.finish();
        let known = zero_bits(&kernel)[result.index()];
        let mut bytes: Vec<Vec<u64>> =
            vec![vec![0; LANES / 8], vec![0; LANES / 8], vec![0; LANES * to.size_bytes() / 8]];
        for lane in 0..LANES {
            bytemuck::cast_slice_mut::<u64, u8>(&mut bytes[0])[lane] = lane as u8;
            bytemuck::cast_slice_mut::<u64, u8>(&mut bytes[1])[lane] = (lane >> 8) as u8;
        }
        let arguments: Vec<_> = bytes
            .iter_mut()
            .map(|words| RawArgument { word: words.as_mut_ptr() as u64, length: LANES as u64 })
            .collect();
        // SAFETY: the buffers are those of the parameters, and live to the end of the function.
        unsafe { interpreter::prepare(kernel.clone()).run(0..LANES as u64, &arguments) };
        let results: &[u8] = bytemuck::cast_slice(&bytes[2]);
        let of_all = results.chunks(to.size_bytes()).map(|bytes| {
            let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
            if bits == 0 { to.bits() } else { bits.trailing_zeros() }
        });
        assert!(of_all.min().unwrap() >= known, "{known} bits of {ty} shifted by {shifts:?} in\n{kernel}");
    }

    fn for_all_shifts(check: impl Fn(Type, [u64; 2])) {
        for ty in [Type::I8, Type::U8] {
            (0..81).for_each(|pair| check(ty, [pair / 9, pair % 9]));
        }
    }

    #[test]
    fn low_bits_of_all_8_bit_results_are_zero() {
        for_all_shifts(|ty, shifts| {
            for &op in BinaryOp::ALL.iter().filter(|op| op.types().contain(ty)) {
                check(ty, shifts, ty, |builder, [a, b]| Some(builder.binary(op, a, b)));
            }
            check(ty, shifts, ty, |builder, [a, b]| {
                let mask = builder.compare(CompareOp::Lt, a, b);
                Some(builder.select(mask, a, b))
            });
        });
    }

    #[test]
    fn low_bits_of_all_8_bit_results_of_one_operand_are_zero() {
        for_all_shifts(|ty, shifts| {
            if shifts[1] > 0 {
                return;
            }
            for &op in UnaryOp::ALL.iter().filter(|op| op.types().contain(ty)) {
                check(ty, shifts, ty, |builder, [a, _]| Some(builder.append_one(Op::Unary(op, a), ty)));
            }
            for to in Type::ALL.into_iter().filter(|to| to.is_integer()) {
                check(ty, shifts, to, |builder, [a, _]| Some(builder.cast(to, a)));
            }
        });
    }

    #[test]
    fn low_bits_of_shifts_and_operations_with_constants_are_zero() {
        for_all_shifts(|ty, [shift, count]| {
            for constant in [0, 1, 4, 6, 0x80, 0xf0, count] {
                for op in [BinaryOp::Shl, BinaryOp::Shr, BinaryOp::And, BinaryOp::Mul, BinaryOp::Rem, BinaryOp::Div] {
                    check(ty, [shift, 0], ty, |builder, [a, _]| {
                        let constant = builder.constant(ty, constant);
                        Some(builder.binary(op, a, constant))
                    });
                }
            }
        });
    }

    #[test]
    fn multiples_are_found() {
        let mut builder = Builder::new();
        let lane = builder.lane_index();
        let constants = [3, 4, 12, 2].map(|bits| builder.constant(Type::U32, bits));
        let thirds = builder.binary(BinaryOp::Mul, lane, constants[0]);
        let quarters = builder.binary(BinaryOp::Mul, constants[1], lane);
        let twelfths = builder.binary(BinaryOp::Mul, lane, constants[2]);
        let shifted = builder.binary(BinaryOp::Shl, twelfths, constants[3]);
        let wide = builder.cast(Type::I64, shifted);
        let sum = builder.binary(BinaryOp::Add, quarters, shifted);
        let found = zero_bits(&builder.finish());
        let expected = [(lane, 0), (thirds, 0), (quarters, 2), (twelfths, 2), (shifted, 4), (wide, 4), (sum, 2)];
        expected.into_iter().for_each(|(value, bits)| assert_eq!(found[value.index()], bits, "{value}"));
    }
}
