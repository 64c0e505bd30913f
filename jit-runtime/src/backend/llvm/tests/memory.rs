//! Shared indices, consecutive indices, and updates of one element by many lanes and threads.

use super::*;
use crate::ir::random::{Input, Rng};
use crate::ir::{Access, BinaryOp, Builder, CompareOp, Type, Value};

const WIDTH: usize = 700;

fn bytes(ty: Type, count: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..count).flat_map(|_| rng.value(ty).to_le_bytes()[..ty.size_bytes()].to_vec()).collect()
}

/// Gathers from a table at an index that is computed from the lane, for every element type, and compares the results.
fn gathers(elements: usize, index: impl Fn(&mut Builder) -> (Value, Option<Value>)) {
    for ty in Type::ALL {
        let mut builder = Builder::new();
        let (table, output) = (builder.buffer(ty, Access::Read), builder.buffer(ty, Access::Write));
        let (index, mask) = index(&mut builder);
        let value = builder.gather(table, index, mask);
        builder.store(output, value);
        let inputs = vec![Input::Buffer(bytes(ty, elements, 1)), Input::Buffer(bytes(ty, WIDTH, 2))];
        let case = Case { seed: 0, kernel: builder.finish(), width: WIDTH, inputs };
        for target in variants() {
            check(&case, &target, CodeOptions::default()).unwrap();
        }
    }
}

#[test]
fn consecutive_indices_with_lanes_out_of_range() {
    for ty in [Type::U32, Type::I32, Type::U64, Type::I64] {
        for offset in [-1i64, -17, -600, 5] {
            gathers(WIDTH, |b| {
                let lane = b.lane_index();
                let index = b.cast(ty, lane);
                let offset = b.constant(ty, offset as u64);
                let index = b.binary(BinaryOp::Add, index, offset);
                let length = b.constant(Type::I64, WIDTH as u64);
                let (lane, offset) = (b.cast(Type::I64, lane), b.cast(Type::I64, offset));
                let offset = if ty == Type::U32 { b.bitcast_to_signed(offset) } else { offset };
                let exact = b.binary(BinaryOp::Add, lane, offset);
                let zero = b.constant(Type::I64, 0);
                let (above, below) = (b.compare(CompareOp::Ge, exact, zero), b.compare(CompareOp::Lt, exact, length));
                (index, Some(b.binary(BinaryOp::And, above, below)))
            });
        }
    }
}

/// The indices of a list: in parts of 100 lanes consecutive, a few lanes excepted, also across both ends of the table.
fn list(part: usize, lane: usize) -> u64 {
    let lane = lane as u64;
    match part {
        0 => lane,
        1 => WIDTH as u64 - 40 + lane % 100,
        2 => (lane % 100).wrapping_sub(20),
        3 => lane ^ 1,
        4 if lane % 16 == 15 => 3,
        4 => lane - 7,
        5 => 1000 - lane,
        _ => 12,
    }
}

#[test]
fn lists_of_indices_that_are_consecutive_in_some_packets() {
    for (index_type, is_masked, moved) in [
        (Type::U32, false, 0u64),
        (Type::I32, true, 0),
        (Type::U64, true, 5),
        (Type::I64, false, 5),
        (Type::U32, true, 30),
    ] {
        for ty in [Type::F32, Type::I8, Type::F64] {
            let mut b = Builder::new();
            let (table, list_buffer) = (b.buffer(ty, Access::Read), b.buffer(index_type, Access::Read));
            let (masks, output) = (b.buffer(Type::Bool, Access::Read), b.buffer(ty, Access::Write));
            let loaded = b.load(list_buffer);
            let moved = b.constant(index_type, moved);
            let index = b.binary(BinaryOp::Add, moved, loaded);
            let mask = is_masked.then(|| b.load(masks));
            let value = b.gather(table, index, mask);
            b.store(output, value);
            let indices =
                (0..WIDTH).flat_map(|lane| list(lane / 100, lane).to_le_bytes()[..index_type.size_bytes()].to_vec());
            // Some packets have all lanes, some none.
            let masks = (0..WIDTH).map(|lane| u8::from(lane / 64 % 3 == 0 || lane / 64 % 3 == 1 && lane % 5 != 0));
            let inputs = vec![
                Input::Buffer(bytes(ty, WIDTH, 1)),
                Input::Buffer(indices.collect()),
                Input::Buffer(masks.collect()),
                Input::Buffer(bytes(ty, WIDTH, 2)),
            ];
            let case = Case { seed: 0, kernel: b.finish(), width: WIDTH, inputs };
            for target in variants() {
                check(&case, &target, CodeOptions::default()).unwrap();
            }
        }
    }
}

/// Sign extension of a 32-bit offset that was zero-extended.
trait SignExtend {
    fn bitcast_to_signed(&mut self, offset: Value) -> Value;
}

impl SignExtend for Builder {
    fn bitcast_to_signed(&mut self, offset: Value) -> Value {
        let narrow = self.cast(Type::I32, offset);
        self.cast(Type::I64, narrow)
    }
}

#[test]
fn rows_and_columns() {
    for columns in [64u64, 128, 100, 48] {
        for op in [BinaryOp::Div, BinaryOp::Rem] {
            gathers(WIDTH, |b| {
                let lane = b.lane_index();
                let columns = b.constant(Type::U32, columns);
                (b.binary(op, lane, columns), None)
            });
        }
    }
    for (op, constant) in [(BinaryOp::And, 63), (BinaryOp::And, 0x1c0), (BinaryOp::Shr, 6), (BinaryOp::And, 7)] {
        gathers(WIDTH, |b| {
            let lane = b.lane_index();
            let lane = b.cast(Type::I32, lane);
            let constant = b.constant(Type::I32, constant);
            (b.binary(op, lane, constant), None)
        });
    }
}

#[test]
fn neighbours_with_wrap_around() {
    for columns in [64u64, 50] {
        for step in [1, columns - 1] {
            for masked in [false, true] {
                gathers(WIDTH, |b| {
                    let lane = b.lane_index();
                    let (columns, step) = (b.constant(Type::U32, columns), b.constant(Type::U32, step));
                    let (row, column) =
                        (b.binary(BinaryOp::Div, lane, columns), b.binary(BinaryOp::Rem, lane, columns));
                    let column = b.binary(BinaryOp::Add, column, step);
                    let column = b.binary(BinaryOp::Rem, column, columns);
                    let index = b.fma(row, columns, column);
                    // Some inactive lanes have an index that is out of range.
                    let limit = b.constant(Type::U32, WIDTH as u64);
                    let in_range = b.compare(CompareOp::Lt, index, limit);
                    let zero = b.constant(Type::U32, 0);
                    let index = if masked { index } else { b.select(in_range, index, zero) };
                    (index, masked.then_some(in_range))
                });
            }
        }
    }
}

#[test]
fn an_index_that_all_lanes_share() {
    gathers(10, |b| (b.constant(Type::U8, 7), None));
    gathers(10, |b| {
        let lane = b.lane_index();
        let three = b.constant(Type::U32, 3);
        let remainder = b.binary(BinaryOp::Rem, lane, three);
        let zero = b.constant(Type::U32, 0);
        let mask = b.compare(CompareOp::Eq, remainder, zero);
        (b.constant(Type::I64, 9), Some(mask))
    });
    // Out of range, but no lane reads.
    gathers(1, |b| {
        let lane = b.lane_index();
        let mask = b.compare(CompareOp::Ne, lane, lane);
        (b.constant(Type::I64, 1 << 40), Some(mask))
    });
    gathers(1, |b| (b.constant(Type::U32, 0xffff_ffff), Some(b.constant(Type::Bool, 0))));
}

#[test]
fn large_unsigned_indices_are_not_negative() {
    // The table is 2^31 elements of one byte; only its last page is touched.
    let length = (1usize << 31) + 64;
    // SAFETY: a fresh anonymous mapping, reserved without memory until it is touched.
    let table = unsafe {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0).cast::<u8>()
    };
    assert_ne!(table as isize, -1);
    let mut builder = Builder::new();
    let (input, indices) = (builder.buffer(Type::U8, Access::Read), builder.buffer(Type::U32, Access::Read));
    let output = builder.buffer(Type::U8, Access::Write);
    let index = builder.load(indices);
    let value = builder.gather(input, index, None);
    builder.store(output, value);
    let kernel = builder.finish();
    let index: Vec<u32> = (0..32).map(|lane| (1 << 31) + (lane * 7) % 64).collect();
    for target in targets() {
        for &index in &index {
            // SAFETY: the index is inside the mapping.
            unsafe { table.add(index as usize).write(index as u8 ^ 0x5a) };
        }
        let executable = compile_for(&kernel, CodeOptions::default(), &target).unwrap();
        let mut output = [0u8; 128];
        let start = output.as_ptr().align_offset(64);
        let arguments =
            [(table as u64, length), (index.as_ptr() as u64, 32), (output[start..].as_mut_ptr() as u64, 32)];
        let arguments = arguments.map(|(word, length)| RawArgument { word, length: length as u64 });
        // SAFETY: the arguments fit the kernel's parameters.
        unsafe { executable.run(0..32, &arguments) };
        let expected: Vec<u8> = index.iter().map(|&index| index as u8 ^ 0x5a).collect();
        assert_eq!(output[start..start + 32], expected, "{}", target.cpu);
    }
    // SAFETY: this function made the mapping.
    unsafe { libc::munmap(table.cast(), length) };
}

#[test]
fn an_object_can_be_loaded_again() {
    let mut builder = Builder::new();
    let output = builder.buffer(Type::F32, Access::Write);
    let lane = builder.lane_index();
    let float = builder.cast(Type::F32, lane);
    let third = builder.constant(Type::F32, u64::from((1f32 / 3.0).to_bits()));
    let value = builder.binary(BinaryOp::Rem, float, third);
    builder.store(output, value);
    let case = Case { seed: 0, kernel: builder.finish(), width: 100, inputs: vec![Input::Buffer(vec![0; 400])] };
    for target in targets() {
        let first = compile_for(&case.kernel, CodeOptions::default(), &target).unwrap();
        // SAFETY: the object was made for this processor.
        let second = unsafe { MachineCode::load(first.object()) }.unwrap();
        assert_eq!(case.run(&first, None), case.run(&second, None));
        assert_eq!(first.lanes_per_step(), second.lanes_per_step());
        let again = compile_for(&case.kernel, CodeOptions::default(), &target).unwrap();
        assert_eq!(first.object(), again.object(), "the same kernel gives the same bytes");
    }
    // SAFETY: rejected before anything runs.
    assert!(unsafe { MachineCode::load(b"no object") }.is_err());
}

/// Gathers of some neighbours of an irregular position for elements of every size, in a given order; some lanes are
/// masked off and have an index that is out of range.
fn neighbours(offsets: &[i64], index_type: Type, masked: bool) {
    const ELEMENTS: u64 = 333;
    for ty in [Type::Bool, Type::U8, Type::BF16, Type::F32, Type::I64] {
        let mut b = Builder::new();
        let table = b.buffer(ty, Access::Read);
        let outputs: Vec<_> = offsets.iter().map(|_| b.buffer(ty, Access::Write)).collect();
        let lane = b.lane_index();
        let (factor, count) = (b.constant(Type::U32, 0x9e37_79b1), b.constant(Type::U32, ELEMENTS - 40));
        let hash = b.binary(BinaryOp::Mul, lane, factor);
        let hash = b.binary(BinaryOp::MulHi, hash, count);
        let middle = b.constant(Type::U32, 20);
        let at = b.binary(BinaryOp::Add, hash, middle);
        let bit = b.constant(Type::U32, 4);
        let bit = b.binary(BinaryOp::And, hash, bit);
        let zero = b.constant(Type::U32, 0);
        let is_on = b.compare(CompareOp::Ne, bit, zero);
        let wild = b.constant(Type::U32, 0x7000_0000);
        let at = if masked { b.select(is_on, at, wild) } else { at };
        let at = b.cast(index_type, at);
        let mut values = Vec::new();
        for &offset in offsets {
            let offset = b.constant(index_type, offset as u64);
            let index = b.binary(BinaryOp::Add, at, offset);
            values.push(b.gather(table, index, masked.then_some(is_on)));
        }
        for (&output, value) in outputs.iter().zip(values) {
            b.store(output, value);
        }
        let mut inputs = vec![Input::Buffer(bytes(ty, ELEMENTS as usize, 1))];
        inputs.extend(offsets.iter().map(|_| Input::Buffer(bytes(ty, WIDTH, 2))));
        let case = Case { seed: 1, kernel: b.finish(), width: WIDTH, inputs };
        for target in variants() {
            check(&case, &target, CodeOptions::default()).unwrap();
        }
    }
}

#[test]
fn neighbours_are_gathered_as_rows() {
    for length in [2, 3, 5, 8, 19] {
        let offsets: Vec<i64> = (0..length).collect();
        neighbours(&offsets, Type::U32, length % 2 == 0);
    }
    neighbours(&[0, 1, 2, 3], Type::I64, true);
    neighbours(&[0, 1], Type::U64, false);
    // Around the position, in any order, with a gap and one twice.
    neighbours(&[1, -1, 0, 7, 6, 1, -3], Type::I32, false);
    neighbours(&[1, -1, 0, 7, 6, 1, -3], Type::U32, true);
}

#[test]
fn the_last_rows_of_a_buffer_end_with_it() {
    for ty in [Type::U8, Type::F32, Type::F64] {
        for length in [3_u64, 5, 7] {
            let mut b = Builder::new();
            let table = b.buffer(ty, Access::Read);
            let outputs: Vec<_> = (0..length).map(|_| b.buffer(ty, Access::Write)).collect();
            let lane = b.lane_index();
            let (factor, mask) = (b.constant(Type::U32, 11), b.constant(Type::U32, 63));
            let row = b.fma(lane, factor, factor);
            let row = b.binary(BinaryOp::And, row, mask);
            let length_value = b.constant(Type::U32, length);
            let first = b.binary(BinaryOp::Mul, row, length_value);
            for (k, &output) in (0..).zip(&outputs) {
                let k = b.constant(Type::U32, k);
                let index = b.binary(BinaryOp::Add, first, k);
                let value = b.gather(table, index, None);
                b.store(output, value);
            }
            let mut inputs = vec![Input::Buffer(bytes(ty, 64 * length as usize, 3))];
            inputs.extend(outputs.iter().map(|_| Input::Buffer(bytes(ty, WIDTH, 2))));
            let case = Case { seed: 1, kernel: b.finish(), width: WIDTH, inputs };
            for target in variants() {
                check(&case, &target, CodeOptions::default()).unwrap();
            }
        }
    }
}
