//! Gathers of neighbours, which read whole rows of memory, against their definition: every set of a few offsets, in two
//! orders, at every position around and inside of buffers of every small length, and at the ends of the index's type.

use std::collections::BTreeMap;

use super::*;
use crate::backend::llvm::analysis::Analysis;
use crate::ir::random::Input;
use crate::ir::{Access, BinaryOp, Builder, Type, Value};

/// Offsets are below it.
const OFFSETS: i64 = 5;
const LENGTHS: Range<usize> = 0..7;

/// Gathers at all sets of offsets, each around an index of its own.
struct Gathers {
    kernel: Kernel,
    /// For each gather: the set, the offset, its result.
    gathers: Vec<(usize, i64, Value)>,
}

impl Gathers {
    fn new(ty: Type, index_type: Type, is_masked: bool, is_descending: bool) -> Gathers {
        let mut builder = Builder::new();
        let table = builder.buffer(ty, Access::Read);
        let indices = builder.buffer(index_type, Access::Read);
        let mask = is_masked.then(|| {
            let mask = builder.buffer(Type::Bool, Access::Read);
            builder.load(mask)
        });
        let mut gathers = Vec::new();
        for set in 1_usize..1 << OFFSETS {
            // A load is a value of its own, so that sets are separate.
            let base = builder.load(indices);
            let mut offsets: Vec<i64> = (0..OFFSETS).filter(|offset| set >> offset & 1 == 1).collect();
            if is_descending {
                offsets.reverse();
            }
            for offset in offsets {
                // Around the index, since offsets may be negative.
                let moved = builder.constant(index_type, (offset - 2) as u64 & index_type.bit_mask());
                let index = builder.binary(BinaryOp::Add, base, moved);
                gathers.push((set, offset - 2, builder.gather(table, index, mask)));
            }
        }
        for &(_, _, value) in &gathers {
            let output = builder.buffer(ty, Access::Write);
            builder.store(output, value);
        }
        Gathers { kernel: builder.finish(), gathers }
    }

    /// Neighbours are read together, and each gather at its place in the row.
    fn check_rows(&self, lanes: usize) {
        let rows = Analysis::new(&self.kernel, lanes).rows;
        let mut found = BTreeMap::new();
        for (number, row) in rows.rows.iter().enumerate() {
            for (column, results) in row.columns.iter().enumerate() {
                assert!(!results.is_empty(), "a row without a gap");
                found.extend(results.iter().map(|&result| (result, (number, column as i64))));
            }
        }
        for (set, offset, value) in &self.gathers {
            for (other_set, other_offset, other) in &self.gathers {
                if (set, offset + 1) == (other_set, *other_offset) {
                    let (row, column) = found[value];
                    assert_eq!(found.get(other), Some(&(row, column + 1)), "offsets {offset} and {other_offset}");
                }
            }
        }
        let alone = self.gathers.iter().filter(|(set, offset, _)| {
            let has = |offset: i64| offset >= 0 && set >> offset & 1 == 1;
            !has(offset + 1) && !has(offset + 3)
        });
        alone.for_each(|(set, _, value)| assert_eq!(found.get(value), None, "alone in set {set}"));
    }
}

/// Every position around and inside of the longest buffer, and near the ends of the type.
fn positions(index_type: Type) -> Vec<i64> {
    let most = (index_type.bit_mask() >> u32::from(index_type.is_signed_integer())) as i64;
    let near = -OFFSETS - 3..LENGTHS.end as i64 + OFFSETS + 3;
    let ends = (-4..=4).flat_map(|distance| [most.wrapping_add(distance), (1 << 31) + distance]);
    near.chain(ends).collect()
}

/// The index as the type has it; out of range if it is negative or too large for an `i64`.
fn wrapped(index_type: Type, index: i64) -> i64 {
    match index_type {
        Type::U32 => i64::from(index as u32),
        Type::I32 => i64::from(index as i32),
        _ => index,
    }
}

fn bytes(values: impl Iterator<Item = i64>, size: usize) -> Vec<u8> {
    values.flat_map(|value| value.to_le_bytes()[..size].to_vec()).collect()
}

fn check_all(ty: Type, index_type: Type, is_masked: bool, is_descending: bool) {
    let gathers = Gathers::new(ty, index_type, is_masked, is_descending);
    let positions = positions(index_type);
    // Positions are mixed with such that are in range, so that whole groups of lanes are in range, and parts of them.
    let positions: Vec<i64> =
        positions.iter().flat_map(|&at| (0..37).map(move |lane| if lane == 20 { at } else { 2 })).collect();
    let is_on = |lane: usize| !is_masked || lane % 3 != 1;
    let element = |at: i64| 11 * at + 7;
    for target in targets() {
        gathers.check_rows(target.lanes);
        let executable = compile_for(&gathers.kernel, CodeOptions::default(), &target).unwrap();
        for length in LENGTHS {
            let mut inputs = vec![
                Input::Buffer(bytes((0..length as i64).map(element), ty.size_bytes())),
                Input::Buffer(bytes(positions.iter().copied(), index_type.size_bytes())),
            ];
            if is_masked {
                inputs.push(Input::Buffer((0..positions.len()).map(|lane| u8::from(is_on(lane))).collect()));
            }
            let first = inputs.len();
            let empty = Input::Buffer(vec![0xee; positions.len() * ty.size_bytes()]);
            inputs.resize(first + gathers.gathers.len(), empty);
            let case = Case { seed: 0, kernel: gathers.kernel.clone(), width: positions.len(), inputs };
            let results = case.run(&executable, None);
            for ((set, offset, _), found) in gathers.gathers.iter().zip(&results[first..]) {
                let read = |(lane, &at): (usize, &i64)| {
                    let index = wrapped(index_type, at.wrapping_add(*offset));
                    if is_on(lane) && (0..length as i64).contains(&index) { element(index) } else { 0 }
                };
                let expected = bytes(positions.iter().enumerate().map(read), ty.size_bytes());
                let wrong = found.iter().zip(&expected).position(|(a, b)| a != b).map(|byte| byte / ty.size_bytes());
                assert_eq!(
                    wrong.map(|lane| positions[lane]),
                    None,
                    "offset {offset} of set {set:b}, {length} of {ty} at {index_type}, on {}",
                    target.cpu
                );
            }
        }
    }
}

#[test]
fn every_row_of_a_few_elements_is_read_where_it_is_and_nowhere_else() {
    for (ty, index_type) in
        [(Type::U8, Type::U32), (Type::I32, Type::I32), (Type::U32, Type::U32), (Type::I64, Type::I64)]
    {
        for is_descending in [false, true] {
            check_all(ty, index_type, is_descending, is_descending);
        }
        check_all(ty, index_type, true, false);
    }
    check_all(Type::I16, Type::U64, true, true);
}
