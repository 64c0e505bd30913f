//! Kernels that test indices: expressions of every integer operation and type over lanes, shared values, constants near
//! the ends of types and of buffers, data and counters. They are used to access memory of every kind.
//!
//! Kernels are small, so that all their indices may be in range, and each has several launches. The written values do
//! not depend on the order of lanes: they are sums of integers, or a function of the element.

use super::values::Rng;
use super::{Case, Input};
use crate::ir::builder::Builder;
use crate::ir::kernel::{Access, LocalId, Param, ParamId, Value};
use crate::ir::op::{AtomicOp, BinaryOp, CompareOp, Op, ReduceOp, UnaryOp};
use crate::ir::types::Type;

/// The widest launch; buffers in which each lane has its own element are as long.
const MAX_WIDTH: usize = 200;

/// Elements of buffers that are accessed by indices.
const LENGTHS: &[usize] = &[1, 2, 7, 16, 64, 100, MAX_WIDTH, 256, 300, 1000];

const INTEGERS: &[Type] =
    &[Type::I8, Type::I16, Type::I32, Type::I64, Type::U8, Type::U16, Type::U32, Type::U64, Type::I32, Type::U32];

struct Generator {
    rng: Rng,
    builder: Builder,
    inputs: Vec<Input>,
    /// The length of the buffer that the next index is for.
    length: usize,
    /// Shared values and elements of the lane, by type; counters and constants of the open regions.
    leaves: Vec<Value>,
    local: Option<LocalId>,
    depth: usize,
}

impl Case {
    /// The kernel about indices with this seed, and some launches of it.
    #[must_use]
    pub fn indices(seed: u64) -> Vec<Case> {
        let mut generator = Generator {
            rng: Rng::new(seed),
            builder: Builder::new(),
            inputs: Vec::new(),
            length: 1,
            leaves: Vec::new(),
            local: None,
            depth: 0,
        };
        generator.top();
        let Generator { mut rng, builder, inputs, .. } = generator;
        let kernel = builder.finish();
        (0..4)
            .map(|_| {
                let width = if rng.one_in(2) { MAX_WIDTH } else { 1 + rng.below(MAX_WIDTH) };
                let scalars = kernel.params.iter().zip(&inputs).map(|(param, input)| match param {
                    Param::Scalar { ty } => Input::Scalar(scalar(&mut rng, *ty)),
                    Param::Buffer { .. } => input.clone(),
                });
                Case { seed, inputs: scalars.collect(), kernel: kernel.clone(), width }
            })
            .collect()
    }
}

/// A shared value: mostly one that a real program would use.
fn scalar(rng: &mut Rng, ty: Type) -> u64 {
    let usual = *[0, 1, 2, 5, 16, 99, MAX_WIDTH as i64, -1, -3, -500_000_000].get(rng.below(10)).unwrap_or(&0);
    let bits = if rng.one_in(3) { rng.value(ty) } else { usual as u64 };
    bits & ty.bit_mask()
}

impl Generator {
    fn top(&mut self) {
        for _ in 0..1 + self.rng.below(3) {
            let ty = self.integer();
            self.inputs.push(Input::Scalar(0));
            let param = self.builder.scalar_param(ty);
            let value = self.builder.scalar(param);
            self.leaves.push(value);
        }
        if self.rng.one_in(3) {
            let ty = self.integer();
            let data = self.buffer(ty, Access::Read, MAX_WIDTH);
            let value = self.builder.load(data);
            self.leaves.push(value);
        }
        for _ in 0..1 + self.rng.below(3) {
            let result = self.statement();
            let output = self.buffer(Type::U32, Access::Write, MAX_WIDTH);
            self.builder.store(output, result);
        }
    }

    fn integer(&mut self) -> Type {
        self.rng.choose(INTEGERS)
    }

    fn buffer(&mut self, ty: Type, access: Access, elements: usize) -> ParamId {
        let bytes = (0..elements).flat_map(|_| self.rng.value(ty).to_le_bytes()[..ty.size_bytes()].to_vec()).collect();
        self.inputs.push(Input::Buffer(bytes));
        self.builder.buffer(ty, access)
    }

    // Statements; each returns a `u32`.

    fn statement(&mut self) -> Value {
        if self.depth > 1 {
            return self.access();
        }
        self.depth += 1;
        let value = match self.rng.below(10) {
            0..=2 => self.repeat(),
            3 => self.branch(),
            4 => self.switch(),
            5 => self.row(),
            _ => self.access(),
        };
        self.depth -= 1;
        value
    }

    fn access(&mut self) -> Value {
        match self.rng.below(12) {
            0 | 1 => self.scatter(),
            2 => self.local(),
            _ => self.gather(),
        }
    }

    fn gather(&mut self) -> Value {
        self.length = self.rng.choose(LENGTHS);
        let table = self.buffer(Type::U32, Access::Read, self.length);
        let (index, mask) = (self.index(), self.mask());
        let value = self.builder.gather(table, index, mask);
        if !self.rng.one_in(3) {
            return value;
        }
        let mask = if self.rng.one_in(2) { mask } else { None };
        let again = self.builder.gather(table, index, mask);
        self.builder.binary(BinaryOp::Xor, value, again)
    }

    /// Neighbouring elements.
    fn row(&mut self) -> Value {
        self.length = self.rng.choose(LENGTHS);
        let table = self.buffer(Type::U32, Access::Read, self.length);
        let (index, mask) = (self.index(), self.mask());
        let ty = self.builder.kernel().ty(index);
        let mut total = self.builder.gather(table, index, mask);
        for offset in 1..2 + self.rng.below(3) as u64 {
            let offset = self.builder.constant(ty, offset);
            let index = self.builder.binary(BinaryOp::Add, index, offset);
            let value = self.builder.gather(table, index, mask);
            total = self.builder.binary(BinaryOp::Add, total, value);
        }
        total
    }

    fn scatter(&mut self) -> Value {
        self.length = self.rng.choose(LENGTHS);
        let target = self.buffer(Type::U32, Access::ReadWrite, self.length);
        let (index, mask) = (self.index(), self.mask());
        let (element, lane) = (self.builder.cast(Type::U32, index), self.builder.lane_index());
        match self.rng.below(3) {
            0 => self.builder.scatter(None, target, index, element, mask),
            1 => self.builder.scatter(Some(ReduceOp::Add), target, index, lane, mask),
            // The old element depends on the order of the lanes.
            _ => _ = self.builder.atomic(AtomicOp::Reduce(ReduceOp::Max), target, index, lane, mask),
        }
        element
    }

    fn local(&mut self) -> Value {
        let len = 1 + self.rng.below(9) as u32;
        let local = match self.local {
            Some(local) => local,
            None => *self.local.insert(self.builder.local(Type::U32, len)),
        };
        self.length = self.builder.kernel().local(local).len as usize;
        let (to, from, lane) = (self.index(), self.index(), self.builder.lane_index());
        self.builder.local_write(local, to, lane);
        self.builder.local_read(local, from)
    }

    fn mask(&mut self) -> Option<Value> {
        self.rng.one_in(4).then(|| self.condition())
    }

    fn condition(&mut self) -> Value {
        let ty = self.integer();
        let (op, a, b) = (self.rng.choose(CompareOp::ALL), self.expression(ty, 1), self.leaf(ty));
        self.builder.compare(op, a, b)
    }

    fn region(&mut self) -> crate::ir::RegionId {
        let (region, _) = self.builder.open_region(&[]);
        let leaves = self.leaves.len();
        let value = self.statement();
        self.leaves.truncate(leaves);
        self.builder.close_region(vec![value]);
        region
    }

    fn branch(&mut self) -> Value {
        let condition = self.condition();
        let (then_region, else_region) = (self.region(), self.region());
        self.builder.append_one(Op::If { condition, then_region, else_region }, Type::U32)
    }

    fn switch(&mut self) -> Value {
        self.length = 3;
        let index = self.expression(Type::U32, 2);
        let cases = (0..self.rng.below(4)).map(|_| self.region()).collect();
        let default = self.region();
        self.builder.append_one(Op::Switch { index, cases, default }, Type::U32)
    }

    /// A loop whose first state variable more or less counts, and whose second one ensures that the loop ends.
    fn repeat(&mut self) -> Value {
        let ty = self.integer();
        let (first, limit) = (self.first(ty), self.leaf(ty));
        let zero = self.builder.constant(Type::U32, 0);
        let leaves = self.leaves.len();
        let (condition, state) = self.builder.open_region(&[ty, Type::U32, Type::U32]);
        self.leaves.push(state[0]);
        let read = if self.rng.one_in(3) { self.gather() } else { state[2] };
        let continues = match self.rng.below(8) {
            0 => self.builder.compare(CompareOp::Le, state[0], limit),
            1 => self.builder.compare(CompareOp::Ne, state[0], limit),
            2 => self.builder.compare(CompareOp::Gt, limit, state[0]),
            _ => self.builder.compare(CompareOp::Lt, state[0], limit),
        };
        let most = self.builder.constant(Type::U32, 9);
        let is_early = self.builder.compare(CompareOp::Lt, state[1], most);
        let other = if self.rng.one_in(4) { self.condition() } else { is_early };
        let continues = self.builder.binary(BinaryOp::And, continues, other);
        let continues = self.builder.binary(BinaryOp::And, is_early, continues);
        self.builder.close_region(vec![continues]);

        let (body, _) = self.builder.open_region(&[]);
        let found = self.statement();
        let total = self.builder.binary(BinaryOp::Add, state[2], found);
        let total = self.builder.binary(BinaryOp::Xor, total, read);
        let step = if self.rng.one_in(5) { self.rng.value(ty) } else { 1 };
        let step = self.builder.constant(ty, step);
        let mut next = self.builder.binary(BinaryOp::Add, state[0], step);
        if self.rng.one_in(6) {
            let (mask, other) = (self.condition(), self.leaf(ty));
            next = self.builder.select(mask, next, other);
        }
        let one = self.builder.constant(Type::U32, 1);
        let turns = self.builder.binary(BinaryOp::Add, state[1], one);
        self.builder.close_region(vec![next, turns, total]);
        self.leaves.truncate(leaves);
        let results = self.builder.loop_(vec![first, zero, zero], condition, body);
        self.leaves.push(results[0]);
        results[2]
    }

    fn first(&mut self, ty: Type) -> Value {
        match self.rng.below(3) {
            0 => self.leaf(ty),
            _ => {
                let first = self.rng.below(4) as u64;
                self.builder.constant(ty, first)
            }
        }
    }

    // Indices.

    /// An index, often kept in range in the way that programs do it.
    fn index(&mut self) -> Value {
        if self.rng.one_in(6) {
            return self.moved_lane();
        }
        let ty = self.integer();
        let depth = 1 + self.rng.below(4);
        let mut index = self.expression(ty, depth);
        for _ in 0..self.rng.below(3) {
            let op = self.rng.choose(&[BinaryOp::And, BinaryOp::Rem, BinaryOp::Min, BinaryOp::Max, BinaryOp::Shr]);
            let bound = match op {
                BinaryOp::Max => self.builder.constant(ty, 0),
                BinaryOp::Shr => self.small(ty),
                BinaryOp::And if self.rng.one_in(2) => {
                    let mask = (self.length.next_power_of_two() as u64 - 1) & ty.bit_mask();
                    self.builder.constant(ty, mask)
                }
                _ => self.leaf(ty),
            };
            index = self.builder.binary(op, index, bound);
        }
        index
    }

    /// The lane's index combined with a shared value.
    fn moved_lane(&mut self) -> Value {
        let ty = self.rng.choose(&[Type::U32, Type::I32, Type::U64, Type::I64]);
        let lane = self.builder.lane_index();
        let mut index = self.builder.cast(ty, lane);
        for _ in 0..1 + self.rng.below(2) {
            let offset = self.leaves[0];
            let offset = if self.rng.one_in(2) { self.small(ty) } else { self.builder.cast(ty, offset) };
            let op = self.rng.choose(&[BinaryOp::Add, BinaryOp::Sub]);
            index = self.builder.binary(op, index, offset);
        }
        index
    }

    fn expression(&mut self, ty: Type, depth: usize) -> Value {
        if depth == 0 {
            return self.leaf(ty);
        }
        match self.rng.below(16) {
            0 | 1 => {
                let from = self.integer();
                let a = self.expression(from, depth - 1);
                self.builder.cast(ty, a)
            }
            2 => {
                let (mask, a, b) = (self.condition(), self.expression(ty, depth - 1), self.leaf(ty));
                self.builder.select(mask, a, b)
            }
            3 => {
                let op = self.rng.choose(&[UnaryOp::Neg, UnaryOp::Not, UnaryOp::Abs, UnaryOp::CountOnes]);
                let a = self.expression(ty, depth - 1);
                if crate::ir::scalar::is_supported_unary(op, ty) { self.builder.unary(op, a) } else { a }
            }
            4 => {
                let (a, b, c) = (self.expression(ty, depth - 1), self.leaf(ty), self.leaf(ty));
                self.builder.fma(a, b, c)
            }
            5 => {
                let of_size = |other: &Type| other.is_integer() && other.size_bytes() == ty.size_bytes();
                let types: Vec<Type> = Type::ALL.into_iter().filter(of_size).collect();
                let from = self.rng.choose(&types);
                let a = self.expression(from, depth - 1);
                self.builder.bitcast(ty, a)
            }
            _ => self.binary(ty, depth),
        }
    }

    fn binary(&mut self, ty: Type, depth: usize) -> Value {
        use BinaryOp::{Add, And, Div, Max, Min, Mul, MulHi, Or, Rem, Shl, Shr, Sub, Xor};
        let op = self.rng.choose(&[Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor, Shl, Shr, MulHi, Add, Sub, Rem]);
        let a = self.expression(ty, depth - 1);
        let b = match op {
            Shl | Shr | Mul if self.rng.one_in(2) => self.small(ty),
            _ if self.rng.one_in(2) => self.expression(ty, depth - 1),
            _ => self.leaf(ty),
        };
        let is_swapped = self.rng.one_in(5);
        if is_swapped { self.builder.binary(op, b, a) } else { self.builder.binary(op, a, b) }
    }

    fn small(&mut self, ty: Type) -> Value {
        let number = self.rng.below(9) as u64;
        self.builder.constant(ty, number)
    }

    fn leaf(&mut self, ty: Type) -> Value {
        match self.rng.below(8) {
            0 => {
                let bits = self.rng.value(ty);
                self.builder.constant(ty, bits)
            }
            1 => self.small(ty),
            2 => {
                let near = (self.length as u64).wrapping_add(self.rng.below(5) as u64).wrapping_sub(2);
                self.builder.constant(ty, near & ty.bit_mask())
            }
            3 | 4 => {
                let lane = self.builder.lane_index();
                if ty == Type::U32 { lane } else { self.builder.cast(ty, lane) }
            }
            // Preferably a recent one: a counter.
            _ => {
                let count = self.leaves.len();
                let leaf = self.leaves[count - 1 - self.rng.below(count).min(self.rng.below(count))];
                if self.builder.kernel().ty(leaf) == ty { leaf } else { self.builder.cast(ty, leaf) }
            }
        }
    }
}
