//! Builds kernels, one instruction at a time, in the order in which they run.
//!
//! The builder computes result types and numbers values. The caller must pass operands of the right types, which the
//! verifier checks.

use super::kernel::{Access, Inst, Kernel, LocalId, LocalMemory, Param, ParamId, Region, RegionId, TOP, Value};
use super::lines::Lines;
use super::op::{AtomicOp, BinaryOp, CompareOp, Op, ReduceOp, UnaryOp};
use super::types::Type;
use crate::Site;

/// Local memory with at most this many elements is written by straight-line code.
const UNROLLED_ELEMENTS: u32 = 16;

/// Appends instructions to a kernel. A stack of open regions determines where the next one is appended.
#[derive(Debug)]
pub struct Builder {
    kernel: Kernel,
    open: Vec<RegionId>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// Returns an empty kernel whose top region is open.
    #[must_use]
    pub fn new() -> Self {
        let kernel = Kernel { regions: vec![Region::default()], ..Kernel::default() };
        Builder { kernel, open: vec![TOP] }
    }

    /// Returns an empty kernel with capacity for a number of instructions in its top region.
    #[must_use]
    pub fn with_capacity(instructions: usize) -> Self {
        let mut builder = Builder::new();
        builder.kernel.types.reserve(instructions);
        builder.kernel.regions[TOP.index()].insts.reserve(instructions);
        builder
    }

    /// Records the source lines of the instructions ([`Builder::set_line`]), for readable forms.
    pub fn record_lines(&mut self) {
        self.kernel.lines = Lines::recorded();
    }

    /// Whether the source lines of the instructions are recorded.
    #[must_use]
    #[inline]
    pub fn records_lines(&self) -> bool {
        self.kernel.lines.are_recorded()
    }

    /// Sets the source line of the instructions that follow. It has no effect unless lines are recorded.
    pub fn set_line(&mut self, line: Site) {
        self.kernel.lines.set_next(Some(line));
    }

    /// The source lines that were recorded, of which passes copy those of the instructions that they replace.
    pub(super) fn lines(&mut self) -> &mut Lines {
        &mut self.kernel.lines
    }

    /// The finished kernel.
    #[must_use]
    pub fn finish(self) -> Kernel {
        debug_assert_eq!(self.open, [TOP], "a nested region is still open");
        self.kernel
    }

    /// Returns the kernel as built so far.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Adds a buffer parameter.
    pub fn buffer(&mut self, ty: Type, access: Access) -> ParamId {
        self.param(Param::Buffer { ty, access })
    }

    /// Adds a scalar parameter.
    pub fn scalar_param(&mut self, ty: Type) -> ParamId {
        self.param(Param::Scalar { ty })
    }

    #[inline]
    fn param(&mut self, param: Param) -> ParamId {
        self.kernel.params.push(param);
        ParamId(self.kernel.params.len() as u32 - 1)
    }

    /// Adds a per-lane local memory, which is zero at first.
    pub fn local(&mut self, ty: Type, len: u32) -> LocalId {
        self.kernel.locals.push(LocalMemory { ty, len });
        LocalId(self.kernel.locals.len() as u32 - 1)
    }

    /// Opens a new region with parameters of these types. Instructions are appended to it until
    /// [`Builder::close_region`].
    pub fn open_region(&mut self, param_types: &[Type]) -> (RegionId, Vec<Value>) {
        let params: Vec<Value> = param_types.iter().map(|&ty| self.value(ty)).collect();
        let id = RegionId(self.kernel.regions.len() as u32);
        self.kernel.regions.push(Region { params: params.clone(), ..Region::default() });
        self.open.push(id);
        (id, params)
    }

    /// Closes the innermost open region, which yields these values.
    pub fn close_region(&mut self, yields: Vec<Value>) {
        let region = self.open.pop().expect("close_region follows open_region");
        self.kernel.regions[region.index()].yields = yields;
    }

    #[inline]
    fn value(&mut self, ty: Type) -> Value {
        self.kernel.types.push(ty);
        Value(self.kernel.types.len() as u32 - 1)
    }

    /// Appends an operation with any number of results to the innermost open region.
    pub fn append(&mut self, op: Op, result_types: &[Type]) -> Vec<Value> {
        if result_types.is_empty() {
            self.append_none(op);
            return Vec::new();
        }
        let first = Value(self.kernel.types.len() as u32);
        self.kernel.types.extend_from_slice(result_types);
        self.push(Inst { op, first, results: result_types.len() as u32 });
        (first.0..self.kernel.types.len() as u32).map(Value).collect()
    }

    #[inline(always)]
    fn push(&mut self, inst: Inst) {
        let region = *self.open.last().expect("the top region is always open");
        self.kernel.regions[region.index()].insts.push(inst);
        if self.kernel.lines.are_recorded() {
            self.kernel.lines.note(region);
        }
    }

    /// Appends an operation with one result of the given type.
    #[inline(always)]
    pub fn append_one(&mut self, op: Op, ty: Type) -> Value {
        let first = self.value(ty);
        self.push(Inst { op, first, results: 1 });
        first
    }

    fn append_none(&mut self, op: Op) {
        self.push(Inst { op, first: Value(0), results: 0 });
    }

    /// A constant from the low bits of a carrier.
    #[inline]
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.append_one(Op::Const(ty, bits & ty.bit_mask()), ty)
    }

    /// The lane's index.
    #[inline]
    pub fn lane_index(&mut self) -> Value {
        self.append_one(Op::LaneIndex, Type::U32)
    }

    /// The value of a scalar parameter.
    #[inline]
    pub fn scalar(&mut self, param: ParamId) -> Value {
        let ty = self.kernel.param(param).ty();
        self.append_one(Op::Scalar(param), ty)
    }

    /// An operation on one value.
    #[inline]
    pub fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        self.append_one(Op::Unary(op, a), self.kernel.ty(a))
    }

    /// An operation on two values of one type.
    #[inline]
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.append_one(Op::Binary(op, a, b), self.kernel.ty(a))
    }

    /// `a * b + c`.
    #[inline]
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.append_one(Op::Fma(a, b, c), self.kernel.ty(a))
    }

    /// A comparison.
    #[inline]
    pub fn compare(&mut self, op: CompareOp, a: Value, b: Value) -> Value {
        self.append_one(Op::Compare(op, a, b), Type::Bool)
    }

    /// `a` where the mask is true, else `b`.
    #[inline]
    pub fn select(&mut self, mask: Value, a: Value, b: Value) -> Value {
        self.append_one(Op::Select(mask, a, b), self.kernel.ty(a))
    }

    /// Conversion by value.
    #[inline]
    pub fn cast(&mut self, ty: Type, a: Value) -> Value {
        self.append_one(Op::Cast(ty, a), ty)
    }

    /// The same bits as another type.
    #[inline]
    pub fn bitcast(&mut self, ty: Type, a: Value) -> Value {
        self.append_one(Op::Bitcast(ty, a), ty)
    }

    /// The element at the lane's index.
    #[inline]
    pub fn load(&mut self, buffer: ParamId) -> Value {
        let ty = self.kernel.param(buffer).ty();
        self.append_one(Op::Load(buffer), ty)
    }

    /// The element at an index.
    #[inline]
    pub fn gather(&mut self, buffer: ParamId, index: Value, mask: Option<Value>) -> Value {
        let ty = self.kernel.param(buffer).ty();
        self.append_one(Op::Gather { buffer, index, mask }, ty)
    }

    /// Writes the element at the lane's index.
    #[inline]
    pub fn store(&mut self, buffer: ParamId, value: Value) {
        self.append_none(Op::Store { buffer, value });
    }

    /// Writes or combines into the element at an index.
    pub fn scatter(
        &mut self,
        reduce: Option<ReduceOp>,
        buffer: ParamId,
        index: Value,
        value: Value,
        mask: Option<Value>,
    ) {
        self.append_none(Op::Scatter { reduce, buffer, index, value, mask });
    }

    /// Combines into or replaces the element at an index. Returns the old element.
    pub fn atomic(&mut self, op: AtomicOp, buffer: ParamId, index: Value, value: Value, mask: Option<Value>) -> Value {
        let ty = self.kernel.param(buffer).ty();
        self.append_one(Op::Atomic { op, buffer, index, value, mask }, ty)
    }

    /// Replaces the element at an index if it equals the expected value. Returns the old element, and whether it was
    /// replaced.
    pub fn compare_exchange(
        &mut self,
        buffer: ParamId,
        index: Value,
        expected: Value,
        value: Value,
        mask: Option<Value>,
    ) -> (Value, Value) {
        let types = [self.kernel.param(buffer).ty(), Type::Bool];
        let results = self.append(Op::CompareExchange { buffer, index, expected, value, mask }, &types);
        (results[0], results[1])
    }

    /// Combines over all lanes into element 0.
    pub fn reduce(&mut self, op: ReduceOp, buffer: ParamId, value: Value) {
        self.append_none(Op::Reduce { op, buffer, value });
    }

    /// A loop over regions that have been opened and closed already.
    pub fn loop_(&mut self, inits: Vec<Value>, condition: RegionId, body: RegionId) -> Vec<Value> {
        let types: Vec<Type> = inits.iter().map(|&v| self.kernel.ty(v)).collect();
        self.append(Op::Loop { inits, condition, body }, &types)
    }

    /// A branch over regions that have been opened and closed already.
    pub fn if_(&mut self, condition: Value, then_region: RegionId, else_region: RegionId) -> Vec<Value> {
        let yields = &self.kernel.region(then_region).yields;
        let types: Vec<Type> = yields.iter().map(|&v| self.kernel.ty(v)).collect();
        self.append(Op::If { condition, then_region, else_region }, &types)
    }

    /// A branch with many cases over regions that have been opened and closed already, the default last.
    pub fn switch(&mut self, index: Value, cases: Vec<RegionId>, default: RegionId) -> Vec<Value> {
        let yields = &self.kernel.region(default).yields;
        let types: Vec<Type> = yields.iter().map(|&v| self.kernel.ty(v)).collect();
        self.append(Op::Switch { index, cases, default }, &types)
    }

    /// Reads an element of per-lane local memory.
    pub fn local_read(&mut self, local: LocalId, index: Value) -> Value {
        let ty = self.kernel.local(local).ty;
        self.append_one(Op::LocalRead { local, index }, ty)
    }

    /// Writes an element of per-lane local memory.
    pub fn local_write(&mut self, local: LocalId, index: Value, value: Value) {
        self.append_none(Op::LocalWrite { local, index, value });
    }

    /// Writes a value to each element of a per-lane local memory.
    pub fn local_fill(&mut self, local: LocalId, value: Value) {
        self.for_each_element(local, |builder, index| builder.local_write(local, index, value));
    }

    /// Copies the elements of one per-lane local memory to another of the same type and length.
    pub fn local_copy(&mut self, from: LocalId, to: LocalId) {
        self.for_each_element(from, |builder, index| {
            let element = builder.local_read(from, index);
            builder.local_write(to, index, element);
        });
    }

    /// Returns the type and length of a per-lane local memory.
    #[must_use]
    pub fn local_memory(&self, local: LocalId) -> LocalMemory {
        self.kernel.local(local)
    }

    /// Sets each element of a per-lane local memory to the value from one of two others, selected by a mask.
    pub fn local_select(&mut self, mask: Value, [a, b]: [LocalId; 2], to: LocalId) {
        self.for_each_element(to, |builder, index| {
            let [a, b] = [a, b].map(|from| builder.local_read(from, index));
            let element = builder.select(mask, a, b);
            builder.local_write(to, index, element);
        });
    }

    /// Visits few elements one by one, so that they can be held in registers, and many in a loop.
    fn for_each_element(&mut self, local: LocalId, mut each: impl FnMut(&mut Self, Value)) {
        let len = self.kernel.local(local).len;
        if len <= UNROLLED_ELEMENTS {
            for index in 0..len {
                let index = self.constant(Type::U32, index.into());
                each(self, index);
            }
            return;
        }
        let [zero, one, end] = [0, 1, len.into()].map(|number| self.constant(Type::U32, number));
        let (condition, state) = self.open_region(&[Type::U32]);
        let continues = self.compare(CompareOp::Lt, state[0], end);
        self.close_region(vec![continues]);
        let (body, _) = self.open_region(&[]);
        each(self, state[0]);
        let next = self.binary(BinaryOp::Add, state[0], one);
        self.close_region(vec![next]);
        self.loop_(vec![zero], condition, body);
    }
}
