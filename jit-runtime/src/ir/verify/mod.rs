//! The verifier: whether a kernel is valid, and if not, where and why.
//!
//! It runs on the output of the front end and, in debug builds, after each pass. Later stages rely on it and check
//! nothing again.
//!
//! In a valid kernel, regions form a tree from the top region, and each value is defined once. Operands are visible and
//! have the types that the operation takes. Parameters are accessed as they are declared.

use std::fmt;

use super::kernel::{Access, Inst, Kernel, LocalId, MAX_LOCAL_BYTES, Param, ParamId, Region, RegionId, TOP, Value};
use super::op::{AtomicOp, Op};
use super::scalar;
use super::types::Type;

/// The maximum nesting depth of regions: small enough for recursive walks over kernels, here, in passes, in backends
/// and in LLVM. Front ends reject deeper programs before they build a kernel.
pub const MAX_DEPTH: usize = 200;

/// Why a kernel is invalid, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct VerifyError {
    /// The region.
    pub region: RegionId,
    /// The position of the instruction in it; none if the region itself is invalid.
    pub index: Option<usize>,
    /// The instruction in the text form.
    pub instruction: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in region {}", self.region)?;
        if let (Some(index), Some(instruction)) = (self.index, &self.instruction) {
            write!(f, ", instruction {index} `{instruction}`")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Checks a kernel.
///
/// # Errors
///
/// The first violation, with its position.
pub fn verify(kernel: &Kernel) -> Result<(), VerifyError> {
    let mut verifier = Verifier {
        kernel,
        region: TOP,
        index: None,
        state: vec![State::Undefined; kernel.types.len()],
        in_scope: Vec::new(),
        entered: vec![false; kernel.regions.len()],
        uses: vec![Use::default(); kernel.params.len()],
    };
    verifier.run().map_err(|message| {
        let inst = verifier.index.and_then(|index| kernel.regions.get(verifier.region.index())?.insts.get(index));
        VerifyError {
            region: verifier.region,
            index: verifier.index,
            instruction: inst.map(|inst| kernel.display_inst(inst)),
            message,
        }
    })
}

type Check = Result<(), String>;

#[derive(Clone, Copy, PartialEq)]
enum State {
    Undefined,
    Visible,
    /// Defined in a region that has ended.
    OutOfScope,
}

/// How a parameter is accessed in the kernel as a whole.
#[derive(Clone, Copy, Default)]
struct Use {
    is_gathered: bool,
    is_written: bool,
}

struct Verifier<'a> {
    kernel: &'a Kernel,
    /// The place that is verified, for errors.
    region: RegionId,
    index: Option<usize>,
    state: Vec<State>,
    /// Visible values of nested regions, in the order of their definition.
    in_scope: Vec<Value>,
    entered: Vec<bool>,
    uses: Vec<Use>,
}

/// An error unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

impl Verifier<'_> {
    fn run(&mut self) -> Check {
        ensure!(!self.kernel.regions.is_empty(), "there is no top region");
        let top = self.kernel.region(TOP);
        ensure!(top.params.is_empty(), "the top region takes parameters");
        ensure!(top.yields.is_empty(), "the top region yields values");
        let local_bytes = self.kernel.locals.iter().map(|local| local.size_bytes()).fold(0, u64::saturating_add);
        ensure!(
            local_bytes <= MAX_LOCAL_BYTES,
            "the per-lane local memory takes {local_bytes} bytes, expected at most {MAX_LOCAL_BYTES}"
        );
        self.enter(TOP, 0)?;
        self.index = None;
        if let Some(unused) = self.entered.iter().position(|entered| !entered) {
            self.region = RegionId(unused as u32);
            return Err("no instruction owns the region".into());
        }
        if let Some(undefined) = self.state.iter().position(|&state| state == State::Undefined) {
            return Err(format!("v{undefined} has a type but is never defined"));
        }
        for (param, used) in self.uses.iter().enumerate() {
            ensure!(!(used.is_gathered && used.is_written), "p{param} is gathered from and written");
        }
        Ok(())
    }

    /// Checks a region. Its definitions are visible until [`Verifier::exit_region`] is called with the count from
    /// before.
    fn enter(&mut self, region: RegionId, depth: usize) -> Check {
        ensure!(region.index() < self.kernel.regions.len(), "{region} does not exist");
        ensure!(!self.entered[region.index()], "{region} is used twice");
        ensure!(depth <= MAX_DEPTH, "regions nest deeper than {MAX_DEPTH}");
        self.entered[region.index()] = true;
        let kernel = self.kernel;
        let Region { params, insts, yields } = kernel.region(region);
        (self.region, self.index) = (region, None);
        for &param in params {
            self.define(param, depth)?;
        }
        for (index, inst) in insts.iter().enumerate() {
            (self.region, self.index) = (region, Some(index));
            self.inst(inst, depth)?;
            (self.region, self.index) = (region, Some(index));
            inst.values().try_for_each(|value| self.define(value, depth))?;
        }
        (self.region, self.index) = (region, None);
        yields.iter().try_for_each(|&value| self.visible(value).map(|_| ()))
    }

    /// Ends the visibility of everything that was defined since this many values were visible.
    fn exit_region(&mut self, visible: usize) {
        for value in self.in_scope.drain(visible..) {
            self.state[value.index()] = State::OutOfScope;
        }
    }

    #[inline]
    fn define(&mut self, value: Value, depth: usize) -> Check {
        let Some(state) = self.state.get_mut(value.index()) else { return Err(format!("{value} has no type")) };
        ensure!(*state == State::Undefined, "{value} is defined twice");
        *state = State::Visible;
        // The definitions of the top region remain visible.
        if depth > 0 {
            self.in_scope.push(value);
        }
        Ok(())
    }

    /// The type of an operand, which must be visible.
    #[inline]
    fn visible(&self, value: Value) -> Result<Type, String> {
        match self.state.get(value.index()) {
            Some(State::Visible) => Ok(self.kernel.ty(value)),
            state => Err(invisible(value, state)),
        }
    }

    #[inline]
    fn operand(&self, value: Value, expected: Type) -> Check {
        let ty = self.visible(value)?;
        if ty == expected { Ok(()) } else { Err(mistyped(value, ty, expected)) }
    }

    fn mask(&self, mask: Option<Value>) -> Check {
        mask.map_or(Ok(()), |mask| self.operand(mask, Type::Bool))
    }

    fn operands(&self, list: &[Value], types: &[Type], what: &str) -> Check {
        ensure!(list.len() == types.len(), "{what}: {} values, expected {}", list.len(), types.len());
        for (&value, &expected) in list.iter().zip(types) {
            let ty = self.visible(value)?;
            ensure!(ty == expected, "{what}: {value} is {ty}, expected {expected}");
        }
        Ok(())
    }

    /// The only result.
    #[inline]
    fn result(&self, inst: &Inst, ty: Type) -> Check {
        let is_right = inst.results == 1 && self.kernel.types.get(inst.first.index()) == Some(&ty);
        // The general check describes the error.
        if is_right { Ok(()) } else { self.results(inst, &[ty]) }
    }

    fn results(&self, inst: &Inst, types: &[Type]) -> Check {
        let count = inst.results as usize;
        ensure!(count == types.len(), "it has {count} results, expected {}", types.len());
        ensure!(count > 0 || inst.first == Value(0), "an instruction without results starts at {}, not v0", inst.first);
        for (index, &expected) in types.iter().enumerate() {
            // The wide addition prevents overflow for invalid indices.
            let value = inst.first.index() + index;
            let ty = self.kernel.types.get(value).ok_or_else(|| format!("v{value} has no type"))?;
            ensure!(*ty == expected, "the result v{value} is {ty}, expected {expected}");
        }
        Ok(())
    }

    fn inst(&mut self, inst: &Inst, depth: usize) -> Check {
        match inst.op {
            Op::Loop { .. } => self.loop_(inst, depth),
            Op::If { .. } | Op::Switch { .. } => self.branches(inst, depth),
            Op::LocalRead { .. } | Op::LocalWrite { .. } => self.local(inst),
            Op::Const(..) | Op::LaneIndex | Op::Scalar(_) => self.leaf(inst),
            Op::Load(_) | Op::Gather { .. } => self.read(inst),
            Op::Store { .. } | Op::Scatter { .. } | Op::Reduce { .. } => self.write(inst),
            Op::Atomic { .. } | Op::CompareExchange { .. } => self.atomic(inst),
            _ => {
                let result = self.elementwise(&inst.op)?;
                self.result(inst, result)
            }
        }
    }

    /// The type of the result of an operation on values.
    fn elementwise(&self, op: &Op) -> Result<Type, String> {
        let same = |a: Value, others: &[Value]| {
            let ty = self.visible(a)?;
            others.iter().try_for_each(|&other| self.operand(other, ty)).map(|()| ty)
        };
        let missing = |name: &str, ty: Type| Err(format!("{name} does not exist for {ty}"));
        match *op {
            Op::Unary(op, a) => {
                let ty = self.visible(a)?;
                if scalar::is_supported_unary(op, ty) { Ok(ty) } else { missing(op.name(), ty) }
            }
            Op::Binary(op, a, b) => {
                let ty = same(a, &[b])?;
                if scalar::is_supported_binary(op, ty) { Ok(ty) } else { missing(op.name(), ty) }
            }
            Op::Fma(a, b, c) => {
                let ty = same(a, &[b, c])?;
                if scalar::is_supported_fma(ty) { Ok(ty) } else { missing("fma", ty) }
            }
            Op::Compare(_, a, b) => same(a, &[b]).map(|_| Type::Bool),
            Op::Select(mask, a, b) => {
                self.operand(mask, Type::Bool)?;
                same(a, &[b])
            }
            Op::Cast(to, a) => self.visible(a).map(|_| to),
            Op::Bitcast(to, a) => {
                let from = self.visible(a)?;
                let is_supported = scalar::is_supported_bitcast(from, to);
                if is_supported { Ok(to) } else { Err(format!("{from} and {to} differ in size")) }
            }
            _ => unreachable!("other operations are checked elsewhere"),
        }
    }

    fn leaf(&self, inst: &Inst) -> Check {
        match inst.op {
            Op::Const(ty, bits) => {
                ensure!(bits & !ty.bit_mask() == 0, "the constant {bits:#x} does not fit into {ty}");
                self.result(inst, ty)
            }
            Op::Scalar(param) => match self.param(param)? {
                Param::Scalar { ty } => self.result(inst, ty),
                Param::Buffer { .. } => Err(format!("{param} is a buffer, expected a scalar")),
            },
            _ => self.result(inst, Type::U32),
        }
    }

    fn param(&self, param: ParamId) -> Result<Param, String> {
        self.kernel.params.get(param.index()).copied().ok_or_else(|| format!("{param} does not exist"))
    }

    /// The element type of a buffer, whose declared access must be one of these.
    fn buffer(&self, param: ParamId, allowed: &[Access]) -> Result<Type, String> {
        let Param::Buffer { ty, access } = self.param(param)? else {
            return Err(format!("{param} is a scalar, expected a buffer"));
        };
        let names = || allowed.iter().map(|access| access.name()).collect::<Vec<_>>().join(" or ");
        ensure!(allowed.contains(&access), "{param} is declared as {}, expected {}", access.name(), names());
        Ok(ty)
    }

    fn index(&self, index: Value) -> Check {
        let ty = self.visible(index)?;
        ensure!(ty.is_integer(), "the index {index} is {ty}, expected an integer");
        Ok(())
    }

    fn read(&mut self, inst: &Inst) -> Check {
        match inst.op {
            Op::Gather { buffer, index, mask } => {
                self.index(index)?;
                self.mask(mask)?;
                let ty = self.buffer(buffer, &[Access::Read, Access::ReadWrite])?;
                self.uses[buffer.index()].is_gathered = true;
                self.result(inst, ty)
            }
            Op::Load(buffer) => {
                let ty = self.buffer(buffer, &[Access::Read, Access::ReadWrite])?;
                self.result(inst, ty)
            }
            _ => unreachable!("other operations are checked elsewhere"),
        }
    }

    fn write(&mut self, inst: &Inst) -> Check {
        let top_only = |region| if region == TOP { Ok(()) } else { Err("it is outside of the top region".to_owned()) };
        self.results(inst, &[])?;
        match inst.op {
            Op::Store { buffer, value } => {
                top_only(self.region)?;
                let ty = self.buffer(buffer, &[Access::Write, Access::ReadWrite])?;
                self.operand(value, ty)?;
                let once = self.param(buffer)? == (Param::Buffer { ty, access: Access::Write });
                ensure!(!(once && self.uses[buffer.index()].is_written), "{buffer} is stored twice");
                self.written(buffer);
            }
            Op::Scatter { reduce, buffer, index, value, mask } => {
                let ty = self.buffer(buffer, &[Access::ReadWrite])?;
                self.index(index)?;
                self.operand(value, ty)?;
                self.mask(mask)?;
                let is_supported = reduce.is_none_or(|op| scalar::is_supported_reduce(op, ty));
                ensure!(is_supported, "the reduction does not exist for {ty}");
                self.written(buffer);
            }
            Op::Reduce { op, buffer, value } => {
                top_only(self.region)?;
                let ty = self.buffer(buffer, &[Access::Reduce])?;
                self.operand(value, ty)?;
                ensure!(scalar::is_supported_reduce(op, ty), "the reduction does not exist for {ty}");
                ensure!(!self.uses[buffer.index()].is_written, "{buffer} receives two reductions");
                self.written(buffer);
            }
            _ => unreachable!("other operations are checked elsewhere"),
        }
        Ok(())
    }

    fn atomic(&mut self, inst: &Inst) -> Check {
        match inst.op {
            Op::Atomic { op, buffer, index, value, mask } => {
                let ty = self.buffer(buffer, &[Access::ReadWrite])?;
                self.index(index)?;
                self.operand(value, ty)?;
                self.mask(mask)?;
                let is_supported = match op {
                    AtomicOp::Reduce(op) => scalar::is_supported_reduce(op, ty),
                    AtomicOp::Exchange => true,
                };
                ensure!(is_supported, "the reduction does not exist for {ty}");
                self.written(buffer);
                self.result(inst, ty)
            }
            Op::CompareExchange { buffer, index, expected, value, mask } => {
                let ty = self.buffer(buffer, &[Access::ReadWrite])?;
                self.index(index)?;
                self.operand(expected, ty)?;
                self.operand(value, ty)?;
                self.mask(mask)?;
                self.written(buffer);
                self.results(inst, &[ty, Type::Bool])
            }
            _ => unreachable!("other operations are checked elsewhere"),
        }
    }

    fn written(&mut self, buffer: ParamId) {
        self.uses[buffer.index()].is_written = true;
    }

    fn local(&self, inst: &Inst) -> Check {
        let known = |local: LocalId| {
            let found = self.kernel.locals.get(local.index()).map(|local| local.ty);
            found.ok_or_else(|| format!("{local} does not exist"))
        };
        match inst.op {
            Op::LocalRead { local, index } => {
                let ty = known(local)?;
                self.index(index)?;
                self.result(inst, ty)
            }
            Op::LocalWrite { local, index, value } => {
                let ty = known(local)?;
                self.index(index)?;
                self.operand(value, ty)?;
                self.results(inst, &[])
            }
            _ => unreachable!("other operations are checked elsewhere"),
        }
    }

    fn loop_(&mut self, inst: &Inst, depth: usize) -> Check {
        let Op::Loop { ref inits, condition, body } = inst.op else {
            unreachable!("other operations are checked elsewhere");
        };
        let state = self.types_of(&self.known(condition)?.params)?;
        self.operands(inits, &state, "the initial state")?;
        ensure!(self.known(body)?.params.is_empty(), "the body {body} takes parameters");
        self.results(inst, &state)?;
        let visible = self.in_scope.len();
        self.enter(condition, depth + 1)?;
        self.yields(condition, &[Type::Bool])?;
        self.enter(body, depth + 1)?;
        self.yields(body, &state)?;
        self.exit_region(visible);
        Ok(())
    }

    /// Regions of which one runs.
    fn branches(&mut self, inst: &Inst, depth: usize) -> Check {
        match inst.op {
            Op::If { condition, .. } => self.operand(condition, Type::Bool)?,
            Op::Switch { index, .. } => self.operand(index, Type::U32)?,
            _ => unreachable!("other operations are checked elsewhere"),
        }
        let mut types = None;
        for region in inst.op.regions() {
            let types = match &types {
                Some(types) => types,
                None => &*types.insert(self.types_of(&self.known(region)?.yields)?),
            };
            self.results(inst, types)?;
            ensure!(self.known(region)?.params.is_empty(), "the branch {region} takes parameters");
            let visible = self.in_scope.len();
            let (owner, index) = (self.region, self.index);
            self.enter(region, depth + 1)?;
            self.yields(region, types)?;
            self.exit_region(visible);
            (self.region, self.index) = (owner, index);
        }
        Ok(())
    }

    fn known(&self, region: RegionId) -> Result<&Region, String> {
        self.kernel.regions.get(region.index()).ok_or_else(|| format!("{region} does not exist"))
    }

    fn types_of(&self, list: &[Value]) -> Result<Vec<Type>, String> {
        let ty = |value: &Value| self.kernel.types.get(value.index()).copied().ok_or(format!("{value} has no type"));
        list.iter().map(ty).collect()
    }

    /// Checks the yields of the region that was just entered.
    fn yields(&self, region: RegionId, types: &[Type]) -> Check {
        self.operands(&self.kernel.region(region).yields, types, "what the region yields")
    }
}

#[cold]
fn invisible(value: Value, state: Option<&State>) -> String {
    match state {
        Some(State::OutOfScope) => format!("{value} is used outside of the region that defines it"),
        _ => format!("{value} is used before it is defined"),
    }
}

#[cold]
fn mistyped(value: Value, ty: Type, expected: Type) -> String {
    format!("{value} is {ty}, expected {expected}")
}

#[cfg(test)]
mod tests;
