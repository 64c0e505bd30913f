//! Kernels of tests: those of the files, and one for each operation on each type.

use std::path::Path;

use crate::ir::random::{Case, Input, Rng};
use crate::ir::{
    Access, AtomicOp, BinaryOp, Builder, CompareOp, Kernel, Op, Param, ParamId, ReduceOp, Type, UnaryOp, Value, parse,
    scalar, verify,
};

/// Lanes of the cases, which is also the number of elements of most buffers.
const WIDTH: usize = 300;

/// The kernels of the file tests of this backend, by their names: small ones that people can read.
pub(super) fn readable() -> Vec<(String, Kernel)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().strip_prefix("ptx_").map(str::to_owned);
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        let kernel = parse(text.split("---\n").next().unwrap()).unwrap();
        verify(&kernel).unwrap();
        kernel
    };
    paths.iter().filter_map(|path| name(path).map(|name| (name, read(path)))).collect()
}

/// A kernel in the making, with the inputs of its parameters: corner cases and random values.
pub(super) struct Table {
    pub(super) builder: Builder,
    pub(super) rng: Rng,
    pub(super) inputs: Vec<Input>,
}

impl Table {
    pub(super) fn new(seed: u64) -> Self {
        Table { builder: Builder::new(), rng: Rng::new(seed), inputs: Vec::new() }
    }

    pub(super) fn buffer_of(&mut self, ty: Type, access: Access, elements: usize) -> ParamId {
        let element = |rng: &mut Rng| rng.value(ty).to_le_bytes()[..ty.size_bytes()].to_vec();
        self.inputs.push(Input::Buffer((0..elements).flat_map(|_| element(&mut self.rng)).collect()));
        self.builder.buffer(ty, access)
    }

    pub(super) fn buffer(&mut self, ty: Type, access: Access) -> ParamId {
        self.buffer_of(ty, access, WIDTH)
    }

    pub(super) fn operand(&mut self, ty: Type) -> Value {
        let buffer = self.buffer(ty, Access::Read);
        self.builder.load(buffer)
    }

    pub(super) fn scalar(&mut self, ty: Type) -> Value {
        let bits = self.rng.value(ty);
        self.inputs.push(Input::Scalar(bits));
        let param = self.builder.scalar_param(ty);
        self.builder.scalar(param)
    }

    pub(super) fn constant(&mut self, ty: Type) -> Value {
        let bits = self.rng.value(ty);
        self.builder.constant(ty, bits)
    }

    pub(super) fn store(&mut self, value: Value) {
        let buffer = self.buffer(self.builder.kernel().ty(value), Access::Write);
        self.builder.store(buffer, value);
    }

    /// The case. The seed is odd or even by whether the passes are to run.
    pub(super) fn finish(self, seed: u64) -> Case {
        let kernel = self.builder.finish();
        verify(&kernel).unwrap();
        Case { seed, kernel, width: WIDTH, inputs: self.inputs }
    }
}

/// Makes an operand of a type: in memory, uniform or literal.
type MakeOperand = fn(&mut Table, Type) -> Value;

/// One case for each operation and type, with operands in memory, uniform and literal.
pub(super) fn every_operation() -> Vec<(String, Case)> {
    let mut cases = Vec::new();
    for ty in Type::ALL {
        let mut add = |name: String, build: &dyn Fn(&mut Table)| {
            let seed = cases.len() as u64;
            let mut table = Table::new(seed);
            build(&mut table);
            cases.push((name, table.finish(2 * seed)));
        };
        for &op in UnaryOp::ALL {
            if op.types().contain(ty) && !op.is_transcendental() {
                add(format!("{}_{ty}", op.name()), &|table| of_one(table, ty, |a| (Op::Unary(op, a), ty)));
            }
        }
        for &op in BinaryOp::ALL {
            if op.types().contain(ty) && !op.is_transcendental() {
                add(format!("{}_{ty}", op.name()), &|table| of_two(table, ty, |a, b| (Op::Binary(op, a, b), ty)));
            }
        }
        for op in [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge] {
            let compare = |a, b| (Op::Compare(op, a, b), Type::Bool);
            add(format!("{}_{ty}", op.name()), &|table| of_two(table, ty, compare));
        }
        for to in Type::ALL {
            add(format!("cast_{ty}_{to}"), &|table| of_one(table, ty, |a| (Op::Cast(to, a), to)));
            if scalar::is_supported_bitcast(ty, to) {
                add(format!("bitcast_{ty}_{to}"), &|table| of_one(table, ty, |a| (Op::Bitcast(to, a), to)));
            }
        }
        if scalar::is_supported_fma(ty) {
            add(format!("fma_{ty}"), &|table| fma(table, ty));
        }
        add(format!("select_{ty}"), &|table| select(table, ty));
        add(format!("memory_{ty}"), &|table| indexed(table, ty));
        add(format!("local_{ty}"), &|table| local(table, ty));
        for op in AtomicOp::ALL {
            if !matches!(op, AtomicOp::Reduce(op) if !scalar::is_supported_reduce(op, ty)) {
                add(format!("atomic_{}_{ty}", op.name()), &|table| atomic(table, ty, op));
            }
        }
        add(format!("compare_exchange_{ty}"), &|table| compare_exchange(table, ty));
        for op in [ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max, ReduceOp::And, ReduceOp::Or] {
            if scalar::is_supported_reduce(op, ty) {
                add(format!("reduce_{}_{ty}", op.name()), &|table| reduce(table, ty, op));
            }
        }
    }
    cases
}

fn of_one(table: &mut Table, ty: Type, op: impl Fn(Value) -> (Op, Type)) {
    for operand in [Table::operand, Table::scalar, Table::constant] {
        let (op, ty) = op(operand(table, ty));
        let result = table.builder.append_one(op, ty);
        table.store(result);
    }
}

fn of_two(table: &mut Table, ty: Type, op: impl Fn(Value, Value) -> (Op, Type)) {
    let kinds = [Table::operand, Table::scalar, Table::constant];
    for (first, second) in kinds.iter().flat_map(|a| kinds.iter().map(move |b| (a, b))) {
        let (a, b) = (first(table, ty), second(table, ty));
        let (op, ty) = op(a, b);
        let result = table.builder.append_one(op, ty);
        table.store(result);
    }
    let a = table.operand(ty);
    let (op, result_type) = op(a, a);
    let result = table.builder.append_one(op, result_type);
    table.store(result);
}

fn fma(table: &mut Table, ty: Type) {
    let operand: MakeOperand = Table::operand;
    for [a, b, c] in [[operand; 3], [operand, Table::scalar, Table::constant]] {
        let (a, b, c) = (a(table, ty), b(table, ty), c(table, ty));
        let result = table.builder.fma(a, b, c);
        table.store(result);
    }
}

fn select(table: &mut Table, ty: Type) {
    let operand: MakeOperand = Table::operand;
    for [a, b] in [[operand; 2], [Table::scalar, Table::constant]] {
        let (mask, a, b) = (table.operand(Type::Bool), a(table, ty), b(table, ty));
        let result = table.builder.select(mask, a, b);
        table.store(result);
    }
}

/// Indices of each type, in range and not, with and without a mask.
fn indexed(table: &mut Table, ty: Type) {
    let source = table.buffer_of(ty, Access::Read, 100);
    for index in Type::ALL.into_iter().filter(|ty| ty.is_integer()) {
        let (index, mask) = (table.operand(index), table.operand(Type::Bool));
        for mask in [None, Some(mask)] {
            let element = table.builder.gather(source, index, mask);
            table.store(element);
        }
    }
    let uniform = table.scalar(Type::I32);
    let element = table.builder.gather(source, uniform, None);
    table.store(element);
    let (lane, value) = (table.builder.lane_index(), table.operand(ty));
    let target = table.buffer_of(ty, Access::ReadWrite, WIDTH / 2);
    let mask = table.operand(Type::Bool);
    table.builder.scatter(None, target, lane, value, Some(mask));
}

fn local(table: &mut Table, ty: Type) {
    // One of them is too large for the local memory of the device.
    for len in [0, 5, if ty.size_bytes() == 8 { 300 } else { 40 }] {
        let local = table.builder.local(ty, len);
        for index in [Type::I8, Type::U64, Type::I32] {
            let (index, value) = (table.operand(index), table.operand(ty));
            let before = table.builder.local_read(local, index);
            table.builder.local_write(local, index, value);
            let (two, three) = (table.builder.constant(Type::U32, 2), table.builder.constant(Type::U32, 3));
            table.builder.local_write(local, two, before);
            let element = table.builder.local_read(local, three);
            table.store(before);
            table.store(element);
        }
    }
}

/// Operations whose result does not depend on the order of the lanes, and the old elements where each lane has one of
/// its own. Sums of `f32` are of small whole numbers, which no instruction flushes.
fn atomic(table: &mut Table, ty: Type, op: AtomicOp) {
    let is_rounded = ty.is_float() && matches!(op, AtomicOp::Reduce(ReduceOp::Add | ReduceOp::Mul));
    let value = if is_rounded { small(table, ty) } else { table.operand(ty) };
    let own = small_buffer(table, ty);
    let (lane, mask) = (table.builder.lane_index(), table.operand(Type::Bool));
    let old = table.builder.atomic(op, own, lane, value, None);
    table.store(old);
    let again = table.builder.atomic(op, own, lane, value, Some(mask));
    table.store(again);
    if let (AtomicOp::Reduce(reduce), false) = (op, is_rounded) {
        let shared = table.buffer_of(ty, Access::ReadWrite, 7);
        let index = table.operand(Type::U8);
        table.builder.scatter(Some(reduce), shared, index, value, Some(mask));
    }
}

fn small(table: &mut Table, ty: Type) -> Value {
    let number = table.operand(Type::I8);
    table.builder.cast(ty, number)
}

/// Elements that are small whole numbers.
fn small_buffer(table: &mut Table, ty: Type) -> ParamId {
    let buffer = table.buffer(ty, Access::ReadWrite);
    let elements = (0..WIDTH).flat_map(|element| {
        let bits = scalar::cast(Type::U32, ty, element as u64 % 50);
        bits.to_le_bytes()[..ty.size_bytes()].to_vec()
    });
    table.inputs[buffer.index()] = Input::Buffer(elements.collect());
    buffer
}

fn compare_exchange(table: &mut Table, ty: Type) {
    let target = table.buffer(ty, Access::ReadWrite);
    let (lane, value, expected) = (table.builder.lane_index(), table.operand(ty), table.operand(ty));
    let (old, _) = table.builder.compare_exchange(target, lane, expected, value, None);
    let mask = table.operand(Type::Bool);
    let (again, is_exchanged) = table.builder.compare_exchange(target, lane, old, value, Some(mask));
    for value in [old, again] {
        table.store(value);
    }
    table.store(is_exchanged);
}

fn reduce(table: &mut Table, ty: Type, op: ReduceOp) {
    let value = table.operand(ty);
    let target = table.buffer_of(ty, Access::Reduce, 1);
    table.builder.reduce(op, target, value);
}

/// The parameters of a kernel that are buffers of an access.
pub(super) fn buffers(kernel: &Kernel, access: Access) -> impl Iterator<Item = usize> {
    let is_one = move |param: &Param| matches!(param, Param::Buffer { access: other, .. } if *other == access);
    kernel.params.iter().enumerate().filter(move |(_, param)| is_one(param)).map(|(index, _)| index)
}
