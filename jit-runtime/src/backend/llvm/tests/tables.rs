//! Bytes that are gathered at numbers below 256: all of these numbers, of tables of all lengths around those of
//! registers, under masks and in loops.

use super::*;
use crate::backend::llvm::analysis::Analysis;
use crate::backend::llvm::tables::Tables;
use crate::ir::{Access, BinaryOp, Builder, CompareOp, Op, Type, Value};

/// All bytes, and some again.
const WIDTH: usize = 256 + 75;
const LENGTHS: [usize; 14] = [0, 1, 3, 63, 64, 65, 100, 127, 128, 129, 192, 255, 256, 300];

/// How a byte of memory becomes an index.
#[derive(Clone, Copy, Debug)]
enum Index {
    Byte,
    Converted(Type),
    /// A larger number, modulo 256.
    Remainder(Type),
    /// The index is needed for another result, too.
    Stored,
}

const INDICES: [Index; 7] = [
    Index::Byte,
    Index::Converted(Type::U32),
    Index::Converted(Type::I64),
    Index::Converted(Type::U16),
    Index::Remainder(Type::U32),
    Index::Remainder(Type::U64),
    Index::Stored,
];

fn computed(b: &mut Builder, byte: Value, index: Index) -> Value {
    match index {
        Index::Byte => byte,
        Index::Converted(ty) => b.cast(ty, byte),
        Index::Stored => b.cast(Type::U32, byte),
        Index::Remainder(ty) => {
            let [factor, mask] = [77, 255].map(|number| b.constant(ty, number));
            let number = b.cast(ty, byte);
            let number = b.binary(BinaryOp::Mul, number, factor);
            b.binary(BinaryOp::And, number, mask)
        }
    }
}

/// The elements of a table at indices, under a mask if that is wanted.
fn kernel(ty: Type, index: Index, is_masked: bool) -> Kernel {
    let mut b = Builder::new();
    let bytes = b.buffer(Type::U8, Access::Read);
    let table = b.buffer(ty, Access::Read);
    let result = b.buffer(ty, Access::Write);
    let byte = b.load(bytes);
    let mask = is_masked.then(|| {
        let three = b.constant(Type::U8, 3);
        let rest = b.binary(BinaryOp::Rem, byte, three);
        let one = b.constant(Type::U8, 1);
        b.compare(CompareOp::Ne, rest, one)
    });
    let place = computed(&mut b, byte, index);
    let found = b.gather(table, place, mask);
    b.store(result, found);
    if matches!(index, Index::Stored) {
        let numbers = b.buffer(Type::U32, Access::Write);
        b.store(numbers, place);
    }
    b.finish()
}

fn case(kernel: &Kernel, ty: Type, length: usize, seed: u64) -> Case {
    let bytes = (0..WIDTH).map(|lane| lane as u8).collect();
    let element = |at: usize| if ty == Type::Bool { at.is_multiple_of(3).into() } else { (at * 91 + 7) as u8 };
    let mut inputs = vec![Input::Buffer(bytes), Input::Buffer((0..length).map(element).collect())];
    let written = kernel.params[2..].iter().map(|param| Input::Buffer(vec![0; WIDTH * param.ty().size_bytes()]));
    inputs.extend(written);
    Case { seed, kernel: kernel.clone(), width: WIDTH, inputs }
}

#[test]
fn every_byte_of_tables_of_every_length() {
    for (number, index) in INDICES.into_iter().enumerate() {
        for (seed, ty) in (number as u64..).zip([Type::U8, Type::I8, Type::Bool]) {
            let kernel = kernel(ty, index, seed % 2 == 1);
            let cases: Vec<Case> = LENGTHS.map(|length| case(&kernel, ty, length, seed)).into();
            check_on_each_target(&cases, CodeOptions::default()).unwrap_or_else(|error| panic!("{index:?}: {error}"));
        }
    }
}

/// How a kernel reads the table, and the lanes of a packet, on a processor that selects bytes.
fn found(kernel: &Kernel) -> (bool, usize) {
    let features = "+sse4.2,+avx2,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+avx512vbmi";
    let target = Target::new(Architecture::X86_64, "x86-64-v4".into(), features.into());
    let tables = Tables::of(kernel, &Analysis::new(kernel, 64), &target);
    let selects =
        |inst: &crate::ir::Inst| matches!(inst.op, Op::Gather { .. }) && tables.selector(inst.first).is_some();
    (kernel.regions[0].insts.iter().any(selects), narrow::target_for(kernel, &target).lanes)
}

#[test]
fn bytes_select_from_registers_and_packets_are_of_bytes() {
    assert_eq!(found(&kernel(Type::U8, Index::Byte, false)), (true, 64));
    assert_eq!(found(&kernel(Type::I8, Index::Converted(Type::U32), true)), (true, 64));
    assert_eq!(found(&kernel(Type::U8, Index::Remainder(Type::U32), false)), (true, 16));
    assert_eq!(found(&kernel(Type::U8, Index::Stored, false)), (true, 16));
    assert_eq!(found(&kernel(Type::U16, Index::Byte, false)), (false, 16));
}
