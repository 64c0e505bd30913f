//! Groups of lanes within a row: programs that compute rows, columns and neighbours from the lane's number, at lengths
//! and limits near the number of lanes in a group, where a wrong condition would show.

use super::*;
use crate::backend::llvm::analysis::Analysis;
use crate::backend::llvm::within_rows::{WithinRows, row_of_mask};
use crate::ir::random::Rng;
use crate::ir::{Access, BinaryOp, Builder, CompareOp, ReduceOp, Type, Value};

const WIDTH: usize = 700;
/// Lengths of rows, and limits.
const NUMBERS: [u64; 17] = [0, 1, 7, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 128, 129, 500];
const COMPARISONS: [CompareOp; 6] =
    [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];

/// A program that is being written.
struct Grid {
    rng: Rng,
    builder: Builder,
    ty: Type,
    inputs: Vec<Input>,
}

impl Grid {
    /// A number that is part of the code or passed to it: small, negative, or near the ends of the type.
    fn number(&mut self) -> Value {
        let small = self.rng.choose(&NUMBERS);
        let bits = match self.rng.below(8) {
            0 => small.wrapping_neg(),
            1 => (self.ty.bit_mask() >> u32::from(self.ty.is_signed_integer())).wrapping_sub(small),
            _ => small,
        } & self.ty.bit_mask();
        if self.rng.one_in(2) {
            return self.builder.constant(self.ty, bits);
        }
        self.inputs.push(Input::Scalar(bits));
        let param = self.builder.scalar_param(self.ty);
        self.builder.scalar(param)
    }

    /// The lane's number, moved and transformed a few times.
    fn coordinate(&mut self, steps: usize) -> Value {
        let lane = self.builder.lane_index();
        let mut value = self.builder.cast(self.ty, lane);
        for _ in 0..steps {
            value = self.transformed(value);
        }
        value
    }

    fn transformed(&mut self, value: Value) -> Value {
        use BinaryOp::{Add, And, Div, Max, Min, Mul, Rem, Shr, Sub};
        match self.rng.below(12) {
            0 => {
                let (mask, distance) = (self.rng.below(9), self.rng.below(9) as u64);
                let (op, bits) = self.rng.choose(&[(And, (1_u64 << mask) - 1), (Shr, distance)]);
                let number = self.builder.constant(self.ty, bits);
                self.builder.binary(op, value, number)
            }
            1 | 2 => {
                let (limit, other) = (self.number(), self.number());
                let op = self.rng.choose(&COMPARISONS);
                let mask = if self.rng.one_in(2) {
                    self.builder.compare(op, value, limit)
                } else {
                    self.builder.compare(op, limit, value)
                };
                let moved = self.builder.binary(Add, value, other);
                if self.rng.one_in(2) {
                    self.builder.select(mask, moved, value)
                } else {
                    self.builder.select(mask, value, other)
                }
            }
            3 => {
                let number = self.number();
                self.builder.binary(self.rng.choose(&[Min, Max]), number, value)
            }
            _ => {
                let number = self.number();
                let op = self.rng.choose(&[Add, Add, Sub, Rem, Rem, Div, Min, Max, Mul]);
                self.builder.binary(op, value, number)
            }
        }
    }
}

fn grid(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let ty = rng.choose(&[Type::U32, Type::I32]);
    let mut grid = Grid { rng, builder: Builder::new(), ty, inputs: Vec::new() };
    // Packets have more lanes if all elements are small.
    let element_type = grid.rng.choose(&[Type::F32, Type::U16, Type::U8]);
    let size = element_type.size_bytes();
    let shows_indices = grid.rng.one_in(2);
    let [table, own] = [(); 2].map(|()| grid.builder.buffer(element_type, Access::Read));
    let elements = grid.builder.buffer(element_type, Access::Write);
    let indices = shows_indices.then(|| grid.builder.buffer(ty, Access::Write));
    let sizes = [(size, 90 + grid.rng.below(700)), (size, WIDTH), (size, WIDTH), (4, WIDTH)];
    for (size, count) in sizes.into_iter().take(if shows_indices { 4 } else { 3 }) {
        let bytes = (0..count * size).map(|_| grid.rng.bits() as u8 & 0x3f).collect();
        grid.inputs.push(Input::Buffer(bytes));
    }
    let steps = 1 + grid.rng.below(3);
    let column = grid.coordinate(steps);
    let steps = grid.rng.below(3);
    let (row, length) = (grid.coordinate(steps), grid.number());
    let row = grid.builder.binary(BinaryOp::Div, row, length);
    let row = grid.builder.binary(BinaryOp::Mul, row, length);
    let index = if grid.rng.one_in(3) { column } else { grid.builder.binary(BinaryOp::Add, row, column) };
    let wide = if grid.rng.one_in(4) { grid.builder.cast(Type::I64, index) } else { index };
    let element = grid.builder.gather(table, wide, None);
    let own = grid.builder.load(own);
    let sum = grid.builder.binary(BinaryOp::Add, element, own);
    grid.builder.store(elements, sum);
    if let Some(indices) = indices {
        grid.builder.store(indices, index);
    }
    Case { seed, kernel: grid.builder.finish(), width: WIDTH, inputs: grid.inputs }
}

fn check_grids(seeds: Range<u64>) {
    let (targets, mut with_rows) = (variants(), 0);
    for seed in seeds.clone() {
        let case = grid(seed);
        let Some(target) = targets.get(seed as usize % targets.len().max(1)) else { return };
        // Every fourth one checks all accesses: one that is out of range ends the process.
        let verified = seed.is_multiple_of(4).then(|| target.clone().with_verified_accesses());
        let target = verified.as_ref().unwrap_or(target);
        let options = CodeOptions::default();
        check(&case, target, options).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", case.kernel));
        let analysis = Analysis::new(&case.kernel, target.lanes);
        with_rows += u64::from(WithinRows::of(&case.kernel, &analysis, target.lanes).is_some());
    }
    let all = seeds.end - seeds.start;
    assert!(2 * with_rows > all, "only {with_rows} of {all} programs have code for rows");
}

#[test]
fn sums_of_floats_by_row_have_one_order() {
    for (ty, has_rows) in [(Type::F32, false), (Type::U32, true)] {
        let mut builder = Builder::new();
        let (values, sums) = (builder.buffer(ty, Access::Read), builder.buffer(ty, Access::ReadWrite));
        let (lane, length) = (builder.lane_index(), builder.constant(Type::U32, 100));
        let row = builder.binary(BinaryOp::Div, lane, length);
        let value = builder.load(values);
        builder.scatter(Some(ReduceOp::Add), sums, row, value, None);
        let kernel = builder.finish();
        let rows = WithinRows::of(&kernel, &Analysis::new(&kernel, 16), 16);
        assert_eq!(rows.is_some(), has_rows, "{ty}");
    }
}

/// Compares a kernel that gathers at an index computed from the lane's number with the interpreter, on every target.
fn check_gather_at(index_of: impl Fn(&mut Builder) -> Value) {
    let mut builder = Builder::new();
    let [table, elements] = [Access::Read, Access::Write].map(|access| builder.buffer(Type::U32, access));
    let index = index_of(&mut builder);
    let element = builder.gather(table, index, None);
    builder.store(elements, element);
    let numbers = (0..WIDTH as u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let inputs = vec![Input::Buffer(numbers), Input::Buffer(vec![0; 4 * WIDTH])];
    let case = Case { seed: 1, kernel: builder.finish(), width: WIDTH, inputs };
    for target in variants() {
        check(&case, &target, CodeOptions::default()).unwrap_or_else(|error| panic!("{error}\n{}", case.kernel));
    }
}

#[test]
fn a_mask_with_holes_is_no_row() {
    assert_eq!([0, 1, 0xff, u64::from(u32::MAX >> 1)].map(row_of_mask), [Some(1), Some(2), Some(0x100), Some(1 << 31)]);
    assert_eq!(row_of_mask(u32::MAX.into()), None);
    for mask in [0x17f, 0x1bf, 0x13f, 0x15f, 0xfe] {
        assert_eq!(row_of_mask(mask), None, "{mask:x}");
        check_gather_at(|builder| {
            let (lane, mask) = (builder.lane_index(), builder.constant(Type::U32, mask));
            let two = builder.constant(Type::U32, 2);
            let moved = builder.binary(BinaryOp::Add, lane, two);
            builder.binary(BinaryOp::And, moved, mask)
        });
    }
}

#[test]
fn programs_on_grids_compute_the_same_within_rows_and_across() {
    check_grids(0..700);
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn many_programs_on_grids_compute_the_same_within_rows_and_across() {
    check_grids(10_000..60_000);
}
