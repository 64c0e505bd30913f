//! The number of packets of straight-line code: where another number would change the order of a sum of floats, there
//! is one packet, because better code that is generated later must return the same bits.

use super::super::interleave;
use super::*;
use crate::backend::Effort;
use crate::ir::{Access, BinaryOp, Builder, Kernel, ReduceOp, Type, Value};

/// A processor with packets of 8 lanes, whatever processor runs the tests.
fn target() -> Target {
    Target::new(Architecture::X86_64, "x86-64-v3".into(), "+sse4.2,+avx2,+fma".into())
}

/// Which element a lane changes.
#[derive(Clone, Copy)]
enum Place {
    /// Any.
    Any,
    /// The same as all others.
    One,
    /// The same as the other lanes of its packet.
    OfPacket,
}

/// A scatter that combines values of a type into memory.
#[derive(Clone, Copy)]
struct Combined {
    op: ReduceOp,
    ty: Type,
    place: Place,
}

const fn by_lane(op: ReduceOp, ty: Type) -> Combined {
    Combined { op, ty, place: Place::Any }
}

const fn at_one_place(op: ReduceOp, ty: Type) -> Combined {
    Combined { op, ty, place: Place::One }
}

const fn by_packet(op: ReduceOp, ty: Type) -> Combined {
    Combined { op, ty, place: Place::OfPacket }
}

impl Combined {
    fn record(self, builder: &mut Builder) {
        let [values, places] = [self.ty, Type::U32].map(|ty| builder.buffer(ty, Access::Read));
        let target = builder.buffer(self.ty, Access::ReadWrite);
        let value = builder.load(values);
        let place = match self.place {
            Place::Any => builder.load(places),
            Place::One => builder.constant(Type::U32, 3),
            Place::OfPacket => {
                let (lane, distance) = (builder.lane_index(), builder.constant(Type::U32, 3));
                builder.binary(BinaryOp::Shr, lane, distance)
            }
        };
        builder.scatter(Some(self.op), target, place, value, None);
    }
}

fn combining(scatters: &[Combined], first: impl FnOnce(&mut Builder)) -> Kernel {
    let mut builder = Builder::new();
    first(&mut builder);
    scatters.iter().for_each(|scatter| scatter.record(&mut builder));
    builder.finish()
}

fn packets(kernel: &Kernel, effort: Effort, streaming_stores: bool) -> usize {
    let options = CodeOptions { effort, streaming_stores, ..CodeOptions::default() };
    interleave::choose(kernel, &target(), options)
}

const FLOAT_SUM: Combined = by_lane(ReduceOp::Add, Type::F32);

/// Scatters, and whether the number of packets would show in their results.
const CASES: [(&[Combined], bool); 11] = [
    (&[FLOAT_SUM], false),
    (&[FLOAT_SUM, FLOAT_SUM], true),
    (&[FLOAT_SUM, by_lane(ReduceOp::Mul, Type::F64)], true),
    (&[at_one_place(ReduceOp::Add, Type::F32)], true),
    (&[at_one_place(ReduceOp::Mul, Type::F16)], true),
    (&[by_packet(ReduceOp::Add, Type::F32)], true),
    (&[by_packet(ReduceOp::Add, Type::U32)], false),
    (&[by_lane(ReduceOp::Max, Type::F32), by_lane(ReduceOp::Max, Type::F32)], false),
    (&[at_one_place(ReduceOp::Min, Type::F32)], false),
    (&[by_lane(ReduceOp::Add, Type::U32), by_lane(ReduceOp::Mul, Type::I32)], false),
    (&[at_one_place(ReduceOp::Add, Type::I64), FLOAT_SUM], false),
];

#[test]
fn the_number_of_packets_does_not_show_in_sums_of_floats() {
    for (number, (scatters, shows)) in CASES.into_iter().enumerate() {
        let kernel = combining(scatters, |_| {});
        let wanted = if shows { 1 } else { 2 };
        assert_eq!(packets(&kernel, Effort::Thorough, false), wanted, "case {number}");
        assert_eq!(packets(&kernel, Effort::Quick, false), 1, "case {number}, first code");
    }
}

/// Gathers neighbours in rows of 100 elements.
fn gather_neighbours(builder: &mut Builder) {
    let [table, result] = [Access::Read, Access::Write].map(|access| builder.buffer(Type::F32, access));
    let lane = builder.lane_index();
    let number = |builder: &mut Builder, bits| builder.constant(Type::U32, bits);
    let (one, length): (Value, Value) = (number(builder, 1), number(builder, 100));
    let next = builder.binary(BinaryOp::Add, lane, one);
    let column = builder.binary(BinaryOp::Rem, next, length);
    let element = builder.gather(table, column, None);
    builder.store(result, element);
}

#[test]
fn the_number_of_packets_within_rows_does_not_show_in_sums_of_floats() {
    for (number, (scatters, shows)) in CASES.into_iter().enumerate() {
        let kernel = combining(scatters, gather_neighbours);
        assert_eq!(packets(&kernel, Effort::Quick, false), if shows { 1 } else { 4 }, "case {number}");
    }
}

#[test]
fn code_that_bypasses_the_cache_has_few_packets() {
    let mut builder = Builder::new();
    let [x, y] = [Access::Read, Access::Write].map(|access| builder.buffer(Type::F32, access));
    let value = builder.load(x);
    let value = builder.binary(BinaryOp::Add, value, value);
    builder.store(y, value);
    let plain = builder.finish();
    assert_eq!([false, true].map(|streams| packets(&plain, Effort::Thorough, streams)), [2, 1]);
    let in_rows = combining(&[], gather_neighbours);
    assert_eq!([false, true].map(|streams| packets(&in_rows, Effort::Quick, streams)), [4, 2]);
}
