//! Compares library calls with plain Rust.

use super::*;
use crate::ir::{ReduceOp, Type, scalar};
use crate::launch::native::{MatMul, Prefix, is_supported_matmul, is_supported_prefix, launch};
use crate::launch::{set_threads, sync};

/// A small generator of test data (Marsaglia 2003).
pub(super) struct XorShift(pub(super) u64);

impl XorShift {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Bits of a value: small integers, for floats also signed zeros, and occasionally special values.
    pub(super) fn bits(&mut self, ty: Type) -> u64 {
        let random = self.next();
        if ty == Type::Bool {
            return random >> 13 & 1;
        }
        match random % 64 {
            0 => random >> 8 & ty.bit_mask(),
            1 => 1 << (ty.bits() - 1),
            _ if ty.is_float() => {
                let value = ((random >> 16) % 2000) as f64 / 1000.0 - 1.0 + 1e-3;
                scalar::cast(Type::F64, ty, value.to_bits())
            }
            _ => (random >> 20) & ty.bit_mask(),
        }
    }
}

/// Memory with these values.
pub(super) fn operand(ty: Type, values: &[u64]) -> Operand {
    let bytes: Vec<u8> = values.iter().flat_map(|bits| bits.to_le_bytes()[..ty.size_bytes()].to_vec()).collect();
    Operand { buffer: Buffer::from_bytes(&bytes).unwrap(), ty, len: values.len() }
}

/// The values in memory.
pub(super) fn values(operand: &Operand) -> Vec<u64> {
    let mut bytes = vec![0; operand.len * operand.ty.size_bytes()];
    operand.buffer.read(0, &mut bytes).unwrap();
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    bytes.chunks(operand.ty.size_bytes()).map(value).collect()
}

pub(super) fn run(call: Call, inputs: Vec<Operand>, outputs: Vec<Operand>) -> Result<(), Error> {
    launch(Launch { device: Device::Cpu, call, inputs, outputs, site: None })
}

/// NaN match.
pub(super) fn canonical(ty: Type, bits: u64) -> u64 {
    let is_nan = ty.is_float() && f64::from_bits(scalar::cast(ty, Type::F64, bits)).is_nan();
    if is_nan { u64::MAX } else { bits }
}

/// The scan as the module documents it, on carriers.
fn expected_prefix(prefix: Prefix, ty: Type, input: &[u64]) -> Vec<u64> {
    let mut result = vec![0; input.len()];
    let wide = if matches!(ty, Type::F16 | Type::BF16) { Type::F32 } else { ty };
    let join = |a, b| scalar::reduce(prefix.op, wide, a, b);
    let identity = scalar::identity(prefix.op, wide);
    for first in (0..input.len()).step_by(prefix.restart) {
        let end = (first + prefix.restart).min(input.len());
        let mut order: Vec<usize> = (first..end).collect();
        if prefix.is_reverse {
            order.reverse();
        }
        let mut chunks = identity;
        for chunk in order.chunks(prefix::CHUNK) {
            let mut rows = identity;
            for row in chunk.chunks(prefix::ROW) {
                let mut sum = identity;
                for &index in row {
                    let next = join(sum, scalar::cast(ty, wide, input[index]));
                    let own = if prefix.is_exclusive { sum } else { next };
                    result[index] = scalar::cast(wide, ty, join(join(chunks, rows), own));
                    sum = next;
                }
                rows = join(rows, sum);
            }
            chunks = join(chunks, rows);
        }
    }
    result
}

fn check_prefix(prefix: Prefix, ty: Type, len: usize) {
    let mut random = XorShift(len as u64 * 77 + 3);
    let input: Vec<u64> = (0..len).map(|_| random.bits(ty)).collect();
    let output = Operand::alloc(ty, len).unwrap();
    run(Call::Prefix(prefix), vec![operand(ty, &input)], vec![output.clone()]).unwrap();
    let (got, wanted) = (values(&output), expected_prefix(prefix, ty, &input));
    for (index, (got, wanted)) in got.into_iter().zip(wanted).enumerate() {
        assert_eq!(canonical(ty, got), canonical(ty, wanted), "{prefix:?} of {ty} × {len}, element {index}");
    }
}

const OPS: [ReduceOp; 6] = [ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max, ReduceOp::And, ReduceOp::Or];

#[test]
fn prefixes_of_every_type_and_operation_are_as_documented() {
    for ty in Type::ALL {
        for op in OPS.into_iter().filter(|op| is_supported_prefix(*op, ty)) {
            for flags in 0..4 {
                let (is_exclusive, is_reverse) = (flags & 1 != 0, flags & 2 != 0);
                for restart in [usize::MAX, 1, 7, prefix::ROW + 1] {
                    check_prefix(Prefix { op, is_exclusive, is_reverse, restart }, ty, 3 * prefix::ROW + 5);
                }
            }
        }
    }
}

#[test]
fn prefixes_of_every_length_are_right_on_any_number_of_threads() {
    const CHUNK: usize = prefix::CHUNK;
    for threads in [1, 2, 5] {
        set_threads(threads);
        for len in [0, 1, 2, 63, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 1, 9 * CHUNK + 77] {
            for (ty, op) in [(Type::U32, ReduceOp::Add), (Type::F32, ReduceOp::Add), (Type::F16, ReduceOp::Mul)] {
                for restart in [usize::MAX, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
                    check_prefix(Prefix { op, is_exclusive: false, is_reverse: false, restart }, ty, len);
                    check_prefix(Prefix { op, is_exclusive: true, is_reverse: true, restart }, ty, len);
                }
            }
        }
    }
    set_threads(2);
}

/// Longer than the cache, so that stores bypass it.
#[test]
fn long_prefixes_are_right() {
    let len = (40 << 20) / 4 + 3;
    let input: Vec<u8> = (0..len as u32).flat_map(|i| (i % 19).to_le_bytes()).collect();
    let input = Operand { buffer: Buffer::from_bytes(&input).unwrap(), ty: Type::U32, len };
    for (is_exclusive, is_reverse) in [(true, false), (false, true)] {
        let output = Operand::alloc(Type::U32, len).unwrap();
        let prefix = Prefix { op: ReduceOp::Add, is_exclusive, is_reverse, restart: usize::MAX };
        run(Call::Prefix(prefix), vec![input.clone()], vec![output.clone()]).unwrap();
        let mut bytes = vec![0_u8; 4 * len];
        output.buffer.read(0, &mut bytes).unwrap();
        let result: &[u32] = bytemuck::cast_slice(&bytes);
        let mut sum = 0_u32;
        let indices: Box<dyn Iterator<Item = usize>> =
            if is_reverse { Box::new((0..len).rev()) } else { Box::new(0..len) };
        for index in indices {
            let next = sum.wrapping_add(index as u32 % 19);
            assert_eq!(result[index], if is_exclusive { sum } else { next }, "element {index}");
            sum = next;
        }
    }
}

#[test]
fn values_fill_memory_of_every_type() {
    for ty in Type::ALL {
        for len in [0, 1, 100, 200_003] {
            let bits = 0x8182_8384_8586_8788 & ty.bit_mask();
            let output = Operand::alloc(ty, len).unwrap();
            run(Call::Fill(bits), vec![], vec![output.clone()]).unwrap();
            assert!(values(&output).iter().all(|value| *value == bits), "{ty} × {len}");
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let (a, b) = (operand(Type::U32, &[1, 2, 3]), operand(Type::F32, &[1, 2, 3]));
    let prefix = Prefix { op: ReduceOp::Add, is_exclusive: false, is_reverse: false, restart: 5 };
    let message = |call, inputs, outputs| run(call, inputs, outputs).unwrap_err().to_string();
    let call = Call::Prefix(prefix);
    assert!(message(call, vec![a.clone()], vec![b.clone()]).contains("same type and width"));
    assert!(message(call, vec![a.clone()], vec![a.clone()]).contains("bound twice"));
    let too_long = Operand { len: 4, ..b.clone() };
    assert!(message(call, vec![too_long], vec![b.clone()]).contains("claims 4 elements in 12 bytes"));
    let bitwise = Call::Prefix(Prefix { op: ReduceOp::And, ..prefix });
    assert!(message(bitwise, vec![b.clone()], vec![operand(Type::F32, &[0; 3])]).contains("And does not combine f32"));
    assert!(message(Call::Fill(0), vec![a], vec![b]).contains("numbers of inputs or outputs"));
}

#[test]
fn steps_come_after_those_whose_results_they_read() {
    let len = 200_000;
    let first = Operand::alloc(Type::U64, len).unwrap();
    run(Call::Fill(1), vec![], vec![first.clone()]).unwrap();
    let prefix = Prefix { op: ReduceOp::Add, is_exclusive: false, is_reverse: false, restart: usize::MAX };
    let mut last = first;
    for _ in 0..3 {
        let next = Operand::alloc(Type::U64, len).unwrap();
        run(Call::Prefix(prefix), vec![last], vec![next.clone()]).unwrap();
        last = next;
    }
    let n = len as u64;
    assert_eq!(values(&last)[len - 1], n * (n + 1) * (n + 2) / 6);
    sync().unwrap();
}

/// The products, consecutively, in `f64` or wrapping.
fn expected_products(product: MatMul, ty: Type, a: &[u64], b: &[u64]) -> Vec<u64> {
    let MatMul { rows, inner, columns, .. } = product;
    let wide = if ty.is_float() { Type::F64 } else { ty };
    let element = |matrix: &[u64], index: usize| scalar::cast(ty, wide, matrix[index]);
    let mut result = Vec::new();
    for index in 0..product.batch * rows * columns {
        let (batch, row, column) = (index / (rows * columns), index / columns % rows, index % columns);
        let a_first = if product.is_a_shared { 0 } else { batch * rows * inner };
        let b_first = if product.is_b_shared { 0 } else { batch * inner * columns };
        let sum = (0..inner).fold(0, |sum, step| {
            let at = if product.is_a_transposed { step * rows + row } else { row * inner + step };
            let bt = if product.is_b_transposed { column * inner + step } else { step * columns + column };
            let factors = (element(a, a_first + at), element(b, b_first + bt));
            let term = scalar::binary(crate::ir::BinaryOp::Mul, wide, factors.0, factors.1);
            scalar::binary(crate::ir::BinaryOp::Add, wide, sum, term)
        });
        result.push(scalar::cast(wide, ty, sum));
    }
    result
}

fn check_products(product: MatMul, ty: Type) {
    let mut random = XorShift(product.rows as u64 * 1000 + product.inner as u64 * 10 + 1);
    let [a_len, b_len, c_len] = product.lens().unwrap();
    let mut number = |_| match ty.is_float() {
        true => scalar::cast(Type::F64, ty, ((random.next() >> 40) as f64 / f64::from(1 << 24)).to_bits()),
        false => random.bits(ty),
    };
    let (a, b): (Vec<u64>, Vec<u64>) = ((0..a_len).map(&mut number).collect(), (0..b_len).map(&mut number).collect());
    let c = Operand::alloc(ty, c_len).unwrap();
    run(Call::MatMul(product), vec![operand(ty, &a), operand(ty, &b)], vec![c.clone()]).unwrap();
    let as_f64 = |bits| f64::from_bits(scalar::cast(ty, Type::F64, bits));
    // For halves one unit in the last place: a sum in single precision may be on the other side of a tie.
    let tolerance = match ty {
        Type::F64 => 1e-14,
        Type::F32 => 1e-5,
        Type::F16 => 1.0 / 1024.0,
        _ => 1.0 / 128.0,
    };
    for (index, (got, wanted)) in values(&c).into_iter().zip(expected_products(product, ty, &a, &b)).enumerate() {
        let is_right = if ty.is_float() {
            (as_f64(got) - as_f64(wanted)).abs() <= tolerance * as_f64(wanted).abs()
        } else {
            got == wanted
        };
        assert!(is_right, "{product:?} of {ty}, element {index}: {got:x} instead of {wanted:x}");
    }
}

#[test]
fn products_of_matrices_of_every_type_and_shape_are_right() {
    for ty in Type::ALL.into_iter().filter(|ty| is_supported_matmul(*ty)) {
        for (rows, inner, columns) in [(1, 1, 1), (3, 5, 7), (130, 17, 20), (5, 40, 300), (4, 0, 3), (0, 2, 2)] {
            for flags in 0..4 {
                let (is_a_transposed, is_b_transposed) = (flags & 1 != 0, flags & 2 != 0);
                check_products(MatMul { is_a_transposed, is_b_transposed, ..MatMul::new(rows, inner, columns) }, ty);
            }
        }
        let batch = MatMul { batch: 3, ..MatMul::new(4, 5, 6) };
        check_products(batch, ty);
        check_products(MatMul { is_a_shared: true, ..batch }, ty);
        check_products(MatMul { is_b_shared: true, is_b_transposed: true, ..batch }, ty);
    }
}

#[test]
fn products_of_matrices_are_the_same_on_any_number_of_threads() {
    let product = MatMul::new(300, 257, 513);
    let mut random = XorShift(5);
    let [a, b] = [300 * 257, 257 * 513].map(|len| {
        let values: Vec<u64> = (0..len).map(|_| ((random.next() >> 40) as f32).to_bits().into()).collect();
        operand(Type::F32, &values)
    });
    let once = |threads| {
        set_threads(threads);
        let c = Operand::alloc(Type::F32, 300 * 513).unwrap();
        run(Call::MatMul(product), vec![a.clone(), b.clone()], vec![c.clone()]).unwrap();
        values(&c)
    };
    let expected = once(1);
    assert!(once(2) == expected && once(5) == expected);
    set_threads(2);
}
