//! Accesses to neighbouring elements, which are loaded and stored together: random records, against the interpreter of
//! the IR. The interpreter of PTX refuses vectors at addresses that are no multiples of their size.

use super::kernels::Table;
use super::*;
use crate::ir::random::{Input, Rng};
use crate::ir::{Access, AtomicOp, BinaryOp, ParamId, ReduceOp, Type, Value};

const INDEX_TYPES: [Type; 4] = [Type::I32, Type::U32, Type::I64, Type::U64];
const WIDTH: usize = 300;
/// Numbers of elements in records.
const COUNTS: [usize; 7] = [1, 2, 3, 4, 6, 8, 12];

/// A kernel that reads and writes records.
struct Records {
    table: Table,
    index_type: Type,
    count: usize,
}

impl Records {
    fn new(seed: u64) -> Records {
        let mut table = Table::new(seed);
        let (index_type, count) = (table.rng.choose(&INDEX_TYPES), table.rng.choose(&COUNTS));
        Records { table, index_type, count }
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.table.rng
    }

    fn constant(&mut self, number: i64) -> Value {
        let bits = number.cast_unsigned() & self.index_type.bit_mask();
        self.table.builder.constant(self.index_type, bits)
    }

    /// A buffer of about so many records.
    fn buffer(&mut self, ty: Type, access: Access) -> ParamId {
        let count = self.count;
        let around = (WIDTH * count).saturating_sub(self.rng().below(2 * count + 3));
        let length = if self.rng().one_in(4) { self.rng().below(WIDTH) } else { around };
        self.table.buffer_of(ty, access, length)
    }

    /// The number of a record: one of the lane's own, or any, which may be out of range.
    fn number(&mut self, is_own: bool) -> Value {
        if is_own || self.rng().one_in(2) {
            let lane = self.table.builder.lane_index();
            return self.table.builder.cast(self.index_type, lane);
        }
        let numbers = self.table.buffer(self.index_type, Access::Read);
        let (size, is_any) = (self.index_type.size_bytes(), self.rng().one_in(8));
        let bytes = (0..WIDTH).flat_map(|_| {
            let near = self.table.rng.below(WIDTH + 20) as i64 - 10;
            let bits = if is_any { self.table.rng.bits() } else { near.cast_unsigned() };
            bits.to_le_bytes()[..size].to_vec()
        });
        self.table.inputs[numbers.index()] = Input::Buffer(bytes.collect());
        self.table.builder.load(numbers)
    }

    /// The index of the first element of a record.
    fn first(&mut self, is_own: bool) -> Value {
        let (number, count) = (self.number(is_own), self.count);
        let factor = self.constant(count as i64);
        if count.is_power_of_two() && self.rng().one_in(3) {
            let bits = self.constant(count.ilog2().into());
            return self.table.builder.binary(BinaryOp::Shl, number, bits);
        }
        self.table.builder.binary(BinaryOp::Mul, number, factor)
    }

    fn moved(&mut self, first: Value, offset: i64) -> Value {
        if offset == 0 {
            return first;
        }
        let offset = self.constant(offset);
        let (a, b) = if self.rng().one_in(2) { (first, offset) } else { (offset, first) };
        self.table.builder.binary(BinaryOp::Add, a, b)
    }

    /// Offsets of elements in a record and beside it, in any order; those that are needed once, once.
    fn offsets(&mut self, is_own: bool) -> Vec<i64> {
        let around = if is_own { 0 } else { self.rng().below(3) as i64 };
        let mut offsets: Vec<i64> = (-around..self.count as i64 + around).collect();
        for place in (1..offsets.len()).rev() {
            let other = self.rng().below(place + 1);
            offsets.swap(place, other);
        }
        if self.rng().one_in(3) {
            offsets.pop();
        }
        if !is_own && self.rng().one_in(4) {
            offsets.extend(offsets.first().copied());
        }
        offsets
    }

    fn mask(&mut self) -> Option<Value> {
        self.rng().one_in(3).then(|| self.table.operand(Type::Bool))
    }

    /// Gathers from some records, with loads of others between.
    fn gather(&mut self, ty: Type) {
        let (source, first, mask) = (self.buffer(ty, Access::Read), self.first(false), self.mask());
        let mut elements = Vec::new();
        for offset in self.offsets(false) {
            let index = self.moved(first, offset);
            elements.push(self.table.builder.gather(source, index, mask));
        }
        elements.into_iter().for_each(|element| self.table.store(element));
    }

    /// Scatters to the records of lanes, with other accesses of the same elements between.
    fn scatter(&mut self, ty: Type) {
        let (target, first, mask) = (self.buffer(ty, Access::ReadWrite), self.first(true), self.mask());
        let again = self.rng().one_in(3);
        for offset in self.offsets(true) {
            let (index, value) = (self.moved(first, offset), self.value(ty));
            self.table.builder.scatter(None, target, index, value, mask);
            if again && self.rng().one_in(3) {
                self.interfere(ty, target, index);
            }
        }
    }

    fn value(&mut self, ty: Type) -> Value {
        if self.rng().one_in(4) { self.table.constant(ty) } else { self.table.operand(ty) }
    }

    /// Another access of an element, whose outcome depends on what was written before.
    fn interfere(&mut self, ty: Type, target: ParamId, index: Value) {
        let value = self.value(ty);
        if ty.is_integer() && self.rng().one_in(2) {
            let op = AtomicOp::Reduce(ReduceOp::Max);
            let old = self.table.builder.atomic(op, target, index, value, None);
            return self.table.store(old);
        }
        let mask = self.table.operand(Type::Bool);
        self.table.builder.scatter(None, target, index, value, Some(mask));
    }

    /// Copies records in a branch.
    fn nested(&mut self, ty: Type) {
        let (source, target) = (self.buffer(ty, Access::Read), self.buffer(ty, Access::ReadWrite));
        let (first, own, is_on) = (self.first(false), self.first(true), self.table.operand(Type::Bool));
        let count = self.count as i64;
        let (then_region, _) = self.table.builder.open_region(&[]);
        for offset in 0..count {
            let (from, to) = (self.moved(first, offset), self.moved(own, offset));
            let element = self.table.builder.gather(source, from, None);
            self.table.builder.scatter(None, target, to, element, None);
        }
        self.table.builder.close_region(vec![]);
        let (else_region, _) = self.table.builder.open_region(&[]);
        self.table.builder.close_region(vec![]);
        self.table.builder.if_(is_on, then_region, else_region);
    }

    fn case(mut self, seed: u64) -> Case {
        for _ in 0..1 + self.rng().below(3) {
            let ty = self.rng().choose(&Type::ALL);
            match self.rng().below(5) {
                0 | 1 => self.gather(ty),
                2 | 3 => self.scatter(ty),
                _ => self.nested(ty),
            }
        }
        self.table.finish(seed)
    }
}

/// The accesses of vectors in the code of a kernel.
fn vectors(kernel: &Kernel) -> usize {
    let mut module = Module::new(TARGETS[0], Comments::None);
    module.add("kernel", kernel);
    module.to_string().lines().filter(|line| line.contains(".v2.") || line.contains(".v4.")).count()
}

#[test]
fn random_records_are_those_of_the_interpreter() {
    let (mut found, mut with_vectors) = (0, 0);
    for seed in 0..160 {
        let case = Records::new(seed).case(seed);
        check(&case, TARGETS[(seed % 2) as usize]).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let count = vectors(&prepared(&case));
        found += count;
        with_vectors += usize::from(count > 0);
    }
    assert!(found > 200 && with_vectors > 80, "{found} vectors in {with_vectors} kernels");
}

#[test]
fn random_records_assemble() {
    let kernel = |seed| (format!("kernel_{seed}"), prepared(&Records::new(seed).case(seed)));
    ptxas::accepts_all(&(0..160).map(kernel).collect::<Vec<_>>());
}

/// Records of `count` elements of each type: which sizes of vectors their loads and stores have.
#[test]
fn vectors_have_at_most_16_bytes_and_are_aligned() {
    for ty in Type::ALL {
        for count in COUNTS {
            let mut records = Records { table: Table::new(0), index_type: Type::U32, count };
            let (source, target) = (records.buffer(ty, Access::Read), records.buffer(ty, Access::ReadWrite));
            let lane = records.table.builder.lane_index();
            let factor = records.constant(count as i64);
            let first = records.table.builder.binary(BinaryOp::Mul, lane, factor);
            let indices: Vec<Value> = (0..count as i64).map(|offset| records.moved(first, offset)).collect();
            let elements: Vec<Value> =
                indices.iter().map(|index| records.table.builder.gather(source, *index, None)).collect();
            for (index, element) in indices.into_iter().zip(elements) {
                records.table.builder.scatter(None, target, index, element, None);
            }
            let most = (16 / ty.size_bytes()).min(4).min(1 << count.trailing_zeros());
            let each = if most == 1 { 0 } else { count / most };
            assert_eq!(vectors(records.table.builder.kernel()), 2 * each, "{count} elements of {ty}");
        }
    }
}
