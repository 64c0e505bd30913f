//! Tests every operation on every type that supports it, on corner cases and random values, on every target.

use super::*;
use crate::ir::random::{Input, Rng};
use crate::ir::{Access, BinaryOp, Builder, CompareOp, ParamId, Type, UnaryOp, Value, scalar};

const WIDTH: usize = 400;

/// Builds a kernel that applies operations to loaded operands, and converts it to a case.
struct Table {
    builder: Builder,
    rng: Rng,
    inputs: Vec<Input>,
}

impl Table {
    fn new(seed: u64) -> Self {
        Table { builder: Builder::new(), rng: Rng::new(seed), inputs: Vec::new() }
    }

    fn buffer(&mut self, ty: Type, access: Access) -> ParamId {
        let element = |rng: &mut Rng| rng.value(ty).to_le_bytes()[..ty.size_bytes()].to_vec();
        self.inputs.push(Input::Buffer((0..WIDTH).flat_map(|_| element(&mut self.rng)).collect()));
        self.builder.buffer(ty, access)
    }

    fn operand(&mut self, ty: Type) -> Value {
        let buffer = self.buffer(ty, Access::Read);
        self.builder.load(buffer)
    }

    fn scalar(&mut self, ty: Type) -> Value {
        let bits = self.rng.value(ty);
        self.inputs.push(Input::Scalar(bits));
        let param = self.builder.scalar_param(ty);
        self.builder.scalar(param)
    }

    fn store(&mut self, value: Value) {
        let buffer = self.buffer(self.builder.kernel().ty(value), Access::Write);
        self.builder.store(buffer, value);
    }

    fn check(self) {
        self.check_with(CodeOptions::default());
    }

    fn check_with(self, options: CodeOptions) {
        let case = Case { seed: 0, kernel: self.builder.finish(), width: WIDTH, inputs: self.inputs };
        for target in targets() {
            check(&case, &target, options).unwrap();
        }
    }
}

#[test]
fn unary() {
    for ty in Type::ALL {
        let mut table = Table::new(ty as u64);
        let (a, s) = (table.operand(ty), table.scalar(ty));
        for &op in UnaryOp::ALL {
            if scalar::is_supported_unary(op, ty) && !op.is_transcendental() {
                for operand in [a, s] {
                    let result = table.builder.unary(op, operand);
                    table.store(result);
                }
            }
        }
        table.check();
    }
}

#[test]
fn functions() {
    for ty in [Type::F16, Type::BF16, Type::F32, Type::F64] {
        let mut table = Table::new(50 + ty as u64);
        let (a, b) = (table.operand(ty), table.operand(ty));
        for &op in UnaryOp::ALL.iter().filter(|op| op.is_transcendental()) {
            let result = table.builder.unary(op, a);
            table.store(result);
        }
        for &op in BinaryOp::ALL.iter().filter(|op| op.is_transcendental()) {
            let result = table.builder.binary(op, a, b);
            table.store(result);
        }
        table.check();
    }
}

#[test]
fn binary() {
    for ty in Type::ALL {
        let mut table = Table::new(100 + ty as u64);
        let (a, b, s, t) = (table.operand(ty), table.operand(ty), table.scalar(ty), table.scalar(ty));
        let divisor = table.builder.constant(ty, scalar::cast(Type::I32, ty, 7));
        let minus_one = table.builder.constant(ty, scalar::cast(Type::I32, ty, u64::from(u32::MAX)));
        let zero = table.builder.constant(ty, 0);
        for &op in BinaryOp::ALL {
            if scalar::is_supported_binary(op, ty) && !op.is_transcendental() {
                for (x, y) in [(a, b), (a, s), (s, b), (s, t), (a, divisor), (a, minus_one), (a, zero), (s, zero)] {
                    if op == BinaryOp::CopySign && (x, y) != (a, divisor) {
                        continue;
                    }
                    let result = table.builder.binary(op, x, y);
                    table.store(result);
                }
            }
        }
        table.check();
    }
}

#[test]
fn fma_comparisons_and_selection() {
    for ty in Type::ALL {
        let mut table = Table::new(200 + ty as u64);
        let (a, b, c, s) = (table.operand(ty), table.operand(ty), table.operand(ty), table.scalar(ty));
        if scalar::is_supported_fma(ty) {
            for (x, y, z) in [(a, b, c), (s, s, s), (a, s, c)] {
                let result = table.builder.fma(x, y, z);
                table.store(result);
            }
        }
        let (mask, uniform) = (table.operand(Type::Bool), table.scalar(Type::Bool));
        for &op in CompareOp::ALL {
            for (x, y) in [(a, b), (a, s), (s, s), (a, a)] {
                let result = table.builder.compare(op, x, y);
                table.store(result);
                let selected = table.builder.select(result, x, c);
                table.store(selected);
            }
        }
        for mask in [mask, uniform] {
            let selected = table.builder.select(mask, a, s);
            table.store(selected);
        }
        table.check();
    }
}

#[test]
fn casts() {
    for from in Type::ALL {
        let mut table = Table::new(300 + from as u64);
        let (a, s) = (table.operand(from), table.scalar(from));
        for to in Type::ALL {
            for operand in [a, s] {
                let result = table.builder.cast(to, operand);
                table.store(result);
                if scalar::is_supported_bitcast(from, to) {
                    let result = table.builder.bitcast(to, operand);
                    // A NaN read as an integer has the same bits, since it was not computed.
                    table.store(result);
                }
            }
        }
        table.check();
    }
}

#[test]
fn a_copied_sign_that_all_lanes_share_rounds_to_half() {
    let mut table = Table::new(400);
    let (a, b) = (table.scalar(Type::F64), table.scalar(Type::F64));
    let copied = table.builder.binary(BinaryOp::CopySign, a, b);
    let half = table.builder.cast(Type::F16, copied);
    table.store(half);
    table.check_with(CodeOptions { streaming_stores: true, ..CodeOptions::default() });
}
