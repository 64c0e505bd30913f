//! The generator: a random walk over the builder.

use super::values::Rng;
use super::{Case, Input, Options};
use crate::ir::builder::Builder;
use crate::ir::kernel::{Access, LocalId, ParamId, Value};
use crate::ir::op::{AtomicOp, BinaryOp, CompareOp, Op, ReduceOp, UnaryOp};
use crate::ir::scalar;
use crate::ir::types::Type;

/// The number of elements of most buffers that are gathered from or reduced into: few enough for every integer type to
/// index them.
const TABLE: usize = 50;

/// The maximum nesting depth of loops and branches.
const MAX_DEPTH: usize = 3;

/// Widths around those of vectors, so that tails of every kind occur.
const WIDTHS: &[usize] = &[1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 127, 257, 1000];

/// A buffer that is scattered to. All scatters to one buffer use the same operation, so the order of lanes does not
/// matter.
#[derive(Clone, Copy)]
struct Target {
    param: ParamId,
    ty: Type,
    reduce: Option<ReduceOp>,
    /// The distance between a lane's index and its element, where each lane has an element of its own.
    own_element: Option<u32>,
    elements: usize,
}

struct Generator {
    rng: Rng,
    options: Options,
    width: usize,
    builder: Builder,
    inputs: Vec<Input>,
    /// Visible values by type.
    pool: [Vec<Value>; Type::ALL.len()],
    targets: Vec<Target>,
    locals: Vec<LocalId>,
    depth: usize,
}

/// Makes the case with a seed.
pub(super) fn case(seed: u64, options: &Options) -> Case {
    let mut rng = Rng::new(seed);
    let width = options.width.unwrap_or_else(|| rng.choose(WIDTHS));
    // Occasionally more than one chunk of a reduction.
    let wide = options.width.is_none() && options.reductions && rng.one_in(40);
    let width = if wide { crate::ir::MAX_REDUCE_CHUNK + width } else { width };
    let mut generator = Generator {
        rng,
        options: *options,
        width,
        builder: Builder::new(),
        inputs: Vec::new(),
        pool: Default::default(),
        targets: Vec::new(),
        locals: Vec::new(),
        depth: 0,
    };
    generator.top();
    Case { seed, kernel: generator.builder.finish(), width, inputs: generator.inputs }
}

impl Generator {
    fn top(&mut self) {
        for _ in 0..1 + self.rng.below(4) {
            self.load();
        }
        self.instructions(self.options.operations);
        for ty in Type::ALL {
            if let Some(&value) = self.pool[ty as usize].last() {
                self.store(value);
            }
        }
        for _ in 0..4 {
            let ty = self.any_type();
            let value = self.pick(ty);
            self.store(value);
        }
        if self.options.reductions {
            for _ in 0..self.rng.below(4) {
                self.reduce();
            }
        }
    }

    fn instructions(&mut self, count: usize) {
        for _ in 0..count {
            self.instruction(count);
        }
    }

    fn instruction(&mut self, budget: usize) {
        match self.rng.below(36) {
            0 => self.load(),
            1 => self.scalar(),
            2 => {
                let lane = self.builder.lane_index();
                self.add(lane);
            }
            3..=7 => self.unary(),
            8..=16 => self.binary(),
            17 | 18 => self.fma(),
            19 | 20 => self.compare(),
            21 | 22 => self.select(),
            23..=25 => self.cast(),
            26 => self.bitcast(),
            27 | 28 if self.options.indexed_memory => self.gather(),
            29 if self.options.indexed_memory && self.rng.one_in(3) => self.atomic(),
            29 if self.options.indexed_memory => self.scatter(),
            30 if self.options.structured && self.depth < MAX_DEPTH => self.branch(budget / 4),
            31 if self.options.structured && self.depth < MAX_DEPTH => self.repeat(budget / 4),
            32 if self.options.structured && self.depth < MAX_DEPTH => self.switch(budget),
            33..=35 if self.options.structured => self.local(),
            _ => self.binary(),
        }
    }

    // Operands.

    fn any_type(&mut self) -> Type {
        self.type_that(|_| true)
    }

    fn type_that(&mut self, test: impl Fn(Type) -> bool) -> Type {
        self.try_type_that(test).expect("a type of each size has every property that is asked for")
    }

    /// A type with a property, if one that may be used has it.
    fn try_type_that(&mut self, test: impl Fn(Type) -> bool) -> Option<Type> {
        let most_bytes = self.options.most_bytes;
        let is_used = |ty: &Type| ty.size_bytes() <= most_bytes && (most_bytes >= 4 || !ty.is_float());
        let is_right = |ty: &Type| is_used(ty) && test(*ty);
        // By trial, not from a list of those: seeds that are written down somewhere keep their kernels.
        let exists = Type::ALL.iter().any(is_right);
        exists.then(|| std::iter::repeat_with(|| self.rng.choose(&Type::ALL)).find(is_right)).flatten()
    }

    fn ty(&self, value: Value) -> Type {
        self.builder.kernel().ty(value)
    }

    fn add(&mut self, value: Value) {
        let ty = self.ty(value);
        self.pool[ty as usize].push(value);
    }

    /// A visible value of the type, preferably a recent one; occasionally a constant.
    fn pick(&mut self, ty: Type) -> Value {
        let count = self.pool[ty as usize].len();
        if count == 0 || self.rng.one_in(8) {
            return self.constant(ty);
        }
        let back = self.rng.below(count).min(self.rng.below(count));
        self.pool[ty as usize][count - 1 - back]
    }

    fn constant(&mut self, ty: Type) -> Value {
        let bits = self.rng.value(ty);
        let value = self.builder.constant(ty, bits);
        self.add(value);
        value
    }

    /// A value whose sign and bits are determined: NaN is replaced by 1.
    fn without_nan(&mut self, value: Value) -> Value {
        let ty = self.ty(value);
        if !ty.is_float() {
            return value;
        }
        let is_nan = self.builder.compare(CompareOp::Ne, value, value);
        let one = self.builder.constant(ty, scalar::cast(Type::U8, ty, 1));
        self.builder.select(is_nan, one, value)
    }

    /// An index into a number of elements, of any integer type, in range more or less often, of each kind that code
    /// generators distinguish.
    fn any_index(&mut self, elements: usize) -> Value {
        match self.rng.below(8) {
            0 => {
                let ty = self.type_that(Type::is_integer);
                self.pick(ty)
            }
            1 => {
                let ty = self.type_that(Type::is_integer);
                let near = (elements as u64 + 1).wrapping_sub(self.rng.below(4) as u64);
                let bits = if self.rng.one_in(2) { near } else { self.rng.below(elements + 1) as u64 };
                self.builder.constant(ty, bits & ty.bit_mask())
            }
            2 | 3 => self.moved_lane(),
            4 => self.folded_lane(elements),
            _ => self.remainder(elements),
        }
    }

    /// A value of any integer type modulo a number close to the number of elements; negative for some.
    fn remainder(&mut self, elements: usize) -> Value {
        let ty = self.type_that(Type::is_integer);
        let any = self.pick(ty);
        let most = (elements + self.rng.below(4)).saturating_sub(self.rng.below(3)).max(1) as u64;
        let most = self.builder.constant(ty, most & ty.bit_mask());
        let remainder = self.builder.binary(BinaryOp::Rem, any, most);
        let is_absolute = ty.is_signed_integer() && !self.rng.one_in(4);
        if is_absolute { self.builder.unary(UnaryOp::Abs, remainder) } else { remainder }
    }

    /// The lane's index plus or minus an offset, in a type that is wide enough.
    fn moved_lane(&mut self) -> Value {
        let lane = self.builder.lane_index();
        let ty = self.rng.choose(&[Type::U32, Type::I32, Type::U64, Type::I64]);
        let lane = self.builder.cast(ty, lane);
        let offset = self.rng.below(40) as u64;
        let op = if self.rng.one_in(2) { BinaryOp::Add } else { BinaryOp::Sub };
        let offset = if self.rng.one_in(20) { self.pick(ty) } else { self.builder.constant(ty, offset) };
        self.builder.binary(op, lane, offset)
    }

    /// A value that is consecutive, or the same, in most neighbouring lanes.
    fn folded_lane(&mut self, elements: usize) -> Value {
        let lane = self.moved_lane();
        let ty = self.ty(lane);
        let op = self.rng.choose(&[
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Rem,
            BinaryOp::Min,
            BinaryOp::Max,
            BinaryOp::Div,
            BinaryOp::Shr,
        ]);
        let constant = match op {
            BinaryOp::Shr => self.rng.below(8),
            BinaryOp::And if self.rng.one_in(2) => elements.next_power_of_two() - 1,
            _ => self.rng.below(elements + 4),
        };
        let constant = self.builder.constant(ty, constant as u64);
        self.builder.binary(op, lane, constant)
    }

    fn mask(&mut self) -> Option<Value> {
        if self.rng.one_in(2) { Some(self.pick(Type::Bool)) } else { None }
    }

    // Parameters.

    fn buffer(&mut self, ty: Type, access: Access, elements: usize) -> ParamId {
        let mut bytes = Vec::new();
        for _ in 0..elements {
            bytes.extend_from_slice(&self.rng.value(ty).to_le_bytes()[..ty.size_bytes()]);
        }
        self.inputs.push(Input::Buffer(bytes));
        self.builder.buffer(ty, access)
    }

    fn load(&mut self) {
        let ty = self.any_type();
        let buffer = self.buffer(ty, Access::Read, self.width);
        let value = self.builder.load(buffer);
        self.add(value);
    }

    fn scalar(&mut self) {
        let ty = self.any_type();
        let bits = self.rng.value(ty);
        self.inputs.push(Input::Scalar(bits));
        let param = self.builder.scalar_param(ty);
        let value = self.builder.scalar(param);
        self.add(value);
    }

    fn store(&mut self, value: Value) {
        let buffer = self.buffer(self.ty(value), Access::Write, self.width);
        self.builder.store(buffer, value);
    }

    // Element-wise operations.

    fn unary(&mut self) {
        let op = self.rng.choose(UnaryOp::ALL);
        // They expand to many operations, so few of them are enough.
        if op.is_transcendental() && !(self.options.transcendental && self.rng.one_in(3)) {
            return self.binary();
        }
        let Some(ty) = self.try_type_that(|ty| scalar::is_supported_unary(op, ty)) else { return self.binary() };
        let a = self.pick(ty);
        let value = self.builder.unary(op, a);
        self.add(value);
    }

    fn binary(&mut self) {
        let op = self.rng.choose(BinaryOp::ALL);
        if op.is_transcendental() && !(self.options.transcendental && self.rng.one_in(3)) {
            return self.fma();
        }
        let Some(ty) = self.try_type_that(|ty| scalar::is_supported_binary(op, ty)) else { return self.compare() };
        let a = self.pick(ty);
        let mut b = self.pick(ty);
        if op == BinaryOp::CopySign {
            b = self.without_nan(b);
        }
        let value = self.builder.binary(op, a, b);
        self.add(value);
    }

    fn fma(&mut self) {
        let Some(ty) = self.try_type_that(scalar::is_supported_fma) else { return self.compare() };
        let (a, b, c) = (self.pick(ty), self.pick(ty), self.pick(ty));
        let value = self.builder.fma(a, b, c);
        self.add(value);
    }

    fn compare(&mut self) {
        let op = self.rng.choose(CompareOp::ALL);
        let ty = self.any_type();
        let (a, b) = (self.pick(ty), self.pick(ty));
        let value = self.builder.compare(op, a, b);
        self.add(value);
    }

    fn select(&mut self) {
        let ty = self.any_type();
        let (mask, a, b) = (self.pick(Type::Bool), self.pick(ty), self.pick(ty));
        let value = self.builder.select(mask, a, b);
        self.add(value);
    }

    fn cast(&mut self) {
        let (from, to) = (self.any_type(), self.any_type());
        let a = self.pick(from);
        let value = self.builder.cast(to, a);
        self.add(value);
    }

    fn bitcast(&mut self) {
        let from = self.any_type();
        let to = self.type_that(|to| scalar::is_supported_bitcast(from, to));
        let a = self.pick(from);
        let a = if to == from { a } else { self.without_nan(a) };
        let value = self.builder.bitcast(to, a);
        self.add(value);
    }

    // Memory.

    fn gather(&mut self) {
        let (ty, elements) = (self.any_type(), self.elements());
        let buffer = self.buffer(ty, Access::Read, elements);
        let (index, mask) = (self.any_index(elements), self.mask());
        let value = self.builder.gather(buffer, index, mask);
        self.add(value);
        if self.rng.one_in(3) {
            self.gather_neighbours(buffer, index, mask);
        }
    }

    /// Elements before and after the one at an index.
    fn gather_neighbours(&mut self, buffer: ParamId, index: Value, mask: Option<Value>) {
        let ty = self.ty(index);
        for _ in 0..1 + self.rng.below(4) {
            let distance = self.rng.below(6) as u64;
            let distance = if self.rng.one_in(4) { distance.wrapping_neg() & ty.bit_mask() } else { distance };
            let distance = self.builder.constant(ty, distance);
            let index = self.builder.binary(BinaryOp::Add, index, distance);
            let value = self.builder.gather(buffer, index, mask);
            self.add(value);
        }
    }

    /// The length of a buffer that is accessed at any index.
    fn elements(&mut self) -> usize {
        match self.rng.below(6) {
            0 => self.rng.below(4),
            1 => self.width,
            2 => 256,
            _ => TABLE,
        }
    }

    /// The length of a buffer in which each lane accesses a different element; some lanes may have none.
    fn own_elements(&mut self, offset: u32) -> usize {
        let all = self.width + offset as usize + 3;
        if self.rng.one_in(3) { self.rng.below(all) } else { all }
    }

    fn scatter(&mut self) {
        let target = if self.targets.is_empty() || self.rng.one_in(2) { self.new_target() } else { self.any_target() };
        let value = self.pick(target.ty);
        let index = match target.own_element {
            Some(offset) => self.own_index(offset),
            None => self.any_index(target.elements),
        };
        let mask = self.mask();
        self.builder.scatter(target.reduce, target.param, index, value, mask);
    }

    /// An index that differs in each lane. All indices with one offset agree.
    fn own_index(&mut self, offset: u32) -> Value {
        let lane = self.builder.lane_index();
        let op = if offset.is_multiple_of(5) { BinaryOp::Sub } else { BinaryOp::Add };
        let offset = self.builder.constant(Type::U32, offset.into());
        self.builder.binary(op, lane, offset)
    }

    /// An operation that returns the old element. It does not depend on the order of lanes, since each has its own
    /// element.
    fn atomic(&mut self) {
        let ty = self.any_type();
        let offset = self.rng.below(20) as u32;
        let elements = self.own_elements(offset);
        let buffer = self.buffer(ty, Access::ReadWrite, elements);
        let op = self.rng.choose(&AtomicOp::ALL);
        let is_supported = match op {
            AtomicOp::Reduce(op) => scalar::is_supported_reduce(op, ty),
            AtomicOp::Exchange => true,
        };
        let (index, mask, value) = (self.own_index(offset), self.mask(), self.pick(ty));
        let op = if is_supported { op } else { AtomicOp::Exchange };
        let old = self.builder.atomic(op, buffer, index, value, mask);
        self.add(old);
        // The current element is known if the value was written over it. The bits of NaNs are unspecified.
        let expected = if self.rng.one_in(2) { value } else { self.pick(ty) };
        let (expected, mask, value) = (self.without_nan(expected), self.mask(), self.pick(ty));
        let (old, exchanged) = self.builder.compare_exchange(buffer, index, expected, value, mask);
        self.add(old);
        self.add(exchanged);
    }

    fn any_target(&mut self) -> Target {
        self.rng.choose(&self.targets)
    }

    fn new_target(&mut self) -> Target {
        let ty = self.any_type();
        let op = self.rng.choose(ReduceOp::ALL);
        let reduce = if self.rng.one_in(2) && scalar::is_supported_reduce(op, ty) { Some(op) } else { None };
        // Sums and products of floats depend on order and grouping, so each lane scatters once, to an element of its
        // own.
        let is_rounded = |op| ty.is_float() && matches!(op, ReduceOp::Add | ReduceOp::Mul);
        let reduce = reduce.filter(|&op| self.depth == 0 || !is_rounded(op));
        let is_once = reduce.is_some_and(is_rounded);
        let is_ordered = reduce.is_none() || is_once;
        let own_element = if is_ordered { Some(self.rng.below(20) as u32) } else { None };
        let elements = match own_element {
            Some(offset) => self.own_elements(offset),
            None => self.elements(),
        };
        let param = self.buffer(ty, Access::ReadWrite, elements);
        let target = Target { param, ty, reduce, own_element, elements };
        if !is_once {
            self.targets.push(target);
        }
        target
    }

    fn reduce(&mut self) {
        let op = self.rng.choose(ReduceOp::ALL);
        let ty = self.type_that(|ty| scalar::is_supported_reduce(op, ty));
        let mut value = self.pick(ty);
        if ty.is_float() && self.rng.one_in(2) {
            // Numbers of similar magnitude, whose sums and products reveal the order in which they are rounded.
            let (number, scale) = (self.pick(Type::I8), self.builder.constant(ty, scalar::cast(Type::U8, ty, 99)));
            let number = self.builder.cast(ty, number);
            value = self.builder.binary(BinaryOp::Div, number, scale);
        }
        let buffer = self.buffer(ty, Access::Reduce, 1);
        self.builder.reduce(op, buffer, value);
    }

    // Control flow.

    fn visible(&self) -> [usize; Type::ALL.len()] {
        std::array::from_fn(|ty| self.pool[ty].len())
    }

    fn hide_since(&mut self, visible: [usize; Type::ALL.len()]) {
        for (pool, count) in self.pool.iter_mut().zip(visible) {
            pool.truncate(count);
        }
    }

    fn some_types(&mut self) -> Vec<Type> {
        (0..self.rng.below(4)).map(|_| self.any_type()).collect()
    }

    fn branch(&mut self, budget: usize) {
        let condition = self.pick(Type::Bool);
        let types = self.some_types();
        let visible = self.visible();
        self.depth += 1;
        let [then_region, else_region] = [(); 2].map(|()| {
            let (region, _) = self.builder.open_region(&[]);
            self.instructions(budget);
            let yields = types.iter().map(|&ty| self.pick(ty)).collect();
            self.builder.close_region(yields);
            self.hide_since(visible);
            region
        });
        self.depth -= 1;
        let results = self.builder.append(Op::If { condition, then_region, else_region }, &types);
        results.into_iter().for_each(|value| self.add(value));
    }

    fn switch(&mut self, budget: usize) {
        let count = if self.rng.one_in(4) { 20 } else { self.rng.below(7) };
        let any = self.pick(Type::U32);
        // Indices without a case occur too, and occasionally any number.
        let most = self.builder.constant(Type::U32, count as u64 + 2);
        let index = if self.rng.one_in(6) { any } else { self.builder.binary(BinaryOp::Rem, any, most) };
        let types = self.some_types();
        let visible = self.visible();
        self.depth += 1;
        let mut regions = Vec::new();
        for _ in 0..=count {
            let (region, _) = self.builder.open_region(&[]);
            self.instructions(budget / (4 + 2 * count));
            let yields = types.iter().map(|&ty| self.pick(ty)).collect();
            self.builder.close_region(yields);
            self.hide_since(visible);
            regions.push(region);
        }
        self.depth -= 1;
        let default = regions.pop().expect("there is one region at least");
        let results = self.builder.append(Op::Switch { index, cases: regions, default }, &types);
        results.into_iter().for_each(|value| self.add(value));
    }

    /// A write to per-lane local memory, and a read at another index; both may be out of range.
    fn local(&mut self) {
        let local = if self.locals.is_empty() || self.rng.one_in(3) { self.new_local() } else { self.any_local() };
        let ty = self.builder.kernel().local(local).ty;
        let (index, value) = (self.local_index(local), self.pick(ty));
        self.builder.local_write(local, index, value);
        let index = if self.rng.one_in(3) { index } else { self.local_index(local) };
        let value = self.builder.local_read(local, index);
        self.add(value);
    }

    fn any_local(&mut self) -> LocalId {
        self.rng.choose(&self.locals)
    }

    fn new_local(&mut self) -> LocalId {
        // Occasionally more than the stack should hold.
        let len = if self.rng.one_in(8) { 300 } else { self.rng.below(20) };
        let ty = self.any_type();
        let local = self.builder.local(ty, len as u32);
        self.locals.push(local);
        local
    }

    fn local_index(&mut self, local: LocalId) -> Value {
        let ty = self.type_that(Type::is_integer);
        let len = u64::from(self.builder.kernel().local(local).len);
        match self.rng.below(4) {
            0 => self.pick(ty),
            1 => {
                let bits = self.rng.below(len as usize + 2) as u64 & ty.bit_mask();
                self.builder.constant(ty, bits)
            }
            _ => {
                let (any, len) = (self.pick(ty), self.builder.constant(ty, (len + 1) & ty.bit_mask()));
                self.builder.binary(BinaryOp::Rem, any, len)
            }
        }
    }

    /// A loop whose first state counts up to a bound that differs between lanes.
    fn repeat(&mut self, budget: usize) {
        let mut types = vec![Type::U32];
        types.extend(self.some_types());
        let any = self.pick(Type::U32);
        let most = self.builder.constant(Type::U32, 6);
        let bound = self.builder.binary(BinaryOp::Rem, any, most);
        let mut inits = vec![self.builder.constant(Type::U32, 0)];
        inits.extend(types[1..].iter().map(|&ty| self.pick(ty)));
        let visible = self.visible();
        self.depth += 1;

        let (condition, state) = self.builder.open_region(&types);
        state[1..].iter().for_each(|&value| self.add(value));
        self.instructions(budget / 4);
        let mut continues = self.builder.compare(CompareOp::Lt, state[0], bound);
        if self.rng.one_in(2) {
            let other = self.pick(Type::Bool);
            continues = self.builder.binary(BinaryOp::And, continues, other);
        }
        self.builder.close_region(vec![continues]);

        let (body, _) = self.builder.open_region(&[]);
        self.add(state[0]);
        self.instructions(budget);
        let one = self.builder.constant(Type::U32, 1);
        let mut yields = vec![self.builder.binary(BinaryOp::Add, state[0], one)];
        yields.extend(types[1..].iter().map(|&ty| self.pick(ty)));
        self.builder.close_region(yields);

        self.hide_since(visible);
        self.depth -= 1;
        let results = self.builder.loop_(inits, condition, body);
        results.into_iter().for_each(|value| self.add(value));
    }
}
