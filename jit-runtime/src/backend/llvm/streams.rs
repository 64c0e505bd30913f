//! Accesses in loops whose index advances by one in each iteration: each lane reads, or writes, a stream of
//! neighbouring elements.
//!
//! Examples are the entries of a sparse matrix's row, a list of neighbours, and the bytes of a text. Such a gather
//! reads [`WINDOW`] elements of each lane at once, by wide loads and a transposition, into a window on the stack; the
//! following iterations read the window. A hardware gather takes about as long as loading its elements one by one, and
//! it waits for as many cache lines as there are lanes in each iteration.
//!
//! A scatter writes to such a window, which is stored row by row when it is full, and behind the loop. Where the rows
//! of lanes are a power of two apart, as those of signals often are, their elements share a set of the cache, which
//! has room for fewer lines than there are lanes. The scatter must be all that accesses its memory, and all lanes must
//! take part in each iteration, so that nothing tells when elements are stored.

use rustc_hash::{FxHashMap, FxHashSet};

use super::analysis::{Analysis, Shape};
use crate::backend::neighbours::is_wide;
use crate::ir::{Access, BinaryOp, Kernel, Op, Param, ParamId, Region, RegionId, TOP, Type, Value};

/// The elements that are read at once.
pub(super) const WINDOW: usize = 8;
/// The most streams of a kernel, whose windows are all on the stack.
const MOST: usize = 8;

/// The streams of a kernel.
#[derive(Default)]
pub(super) struct Streams {
    /// For each, the loop whose iterations advance it, by the region of its condition.
    pub(super) loops: Vec<RegionId>,
    /// By the result of the gather.
    numbers: FxHashMap<Value, usize>,
    written: Vec<Written>,
}

/// A stream that a loop writes.
pub(super) struct Written {
    /// The region of the loop's condition.
    condition: RegionId,
    pub(super) buffer: ParamId,
    pub(super) index: Value,
}

impl Streams {
    /// Finds the streams of a kernel. Rows and hints must be known.
    pub(super) fn of(kernel: &Kernel, analysis: &Analysis) -> Streams {
        let mut search = Search { kernel, analysis, accesses: accesses(kernel), streams: Streams::default() };
        search.region(TOP, None);
        search.streams
    }

    /// The number of the stream that the gather with this result reads.
    pub(super) fn number(&self, result: Value) -> Option<usize> {
        self.numbers.get(&result).copied()
    }

    /// The streams that a loop writes, by the region of its condition.
    pub(super) fn written_in(&self, condition: RegionId) -> impl Iterator<Item = &Written> {
        self.written.iter().filter(move |written| written.condition == condition)
    }

    /// The number of streams that are written.
    #[cfg(test)]
    pub(super) fn written_count(&self) -> usize {
        self.written.len()
    }

    /// Whether the scatter to a buffer at an index writes a stream.
    pub(super) fn is_written(&self, buffer: ParamId, index: Value) -> bool {
        self.written.iter().any(|written| (written.buffer, written.index) == (buffer, index))
    }
}

/// What is known about the innermost loop.
struct Iteration {
    condition: RegionId,
    body: RegionId,
    /// The values that are computed in the loop and differ between its iterations in another way than by one.
    other: FxHashSet<Value>,
    /// The values that advance by one.
    advancing: FxHashSet<Value>,
}

/// How a value changes from one iteration to the next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    ByOne,
    Other,
}

impl Iteration {
    fn of(kernel: &Kernel, condition: RegionId, body: RegionId) -> Iteration {
        let params = &kernel.region(condition).params;
        let yields = &kernel.region(body).yields;
        let (mut other, mut advancing) = (FxHashSet::default(), FxHashSet::default());
        for (&param, &next) in params.iter().zip(yields) {
            let set = if is_next(kernel, body, param, next) { &mut advancing } else { &mut other };
            set.insert(param);
        }
        Iteration { condition, body, other, advancing }
    }

    fn change(&self, value: Value) -> Change {
        match () {
            () if self.advancing.contains(&value) => Change::ByOne,
            () if self.other.contains(&value) => Change::Other,
            () => Change::None,
        }
    }

    /// Notes how the result of an operation changes.
    fn note(&mut self, kernel: &Kernel, result: Value, op: &Op) {
        match self.change_of(kernel, op) {
            Change::None => {}
            Change::ByOne => drop(self.advancing.insert(result)),
            Change::Other => drop(self.other.insert(result)),
        }
    }

    fn change_of(&self, kernel: &Kernel, op: &Op) -> Change {
        let changes = |a: Value, b: Value| (self.change(a), self.change(b));
        match *op {
            Op::Binary(BinaryOp::Add, a, b) => match changes(a, b) {
                (Change::None, change) | (change, Change::None) => change,
                _ => Change::Other,
            },
            Op::Binary(BinaryOp::Sub, a, b) => match changes(a, b) {
                (change, Change::None) => change,
                _ => Change::Other,
            },
            // Narrower integers wrap.
            Op::Cast(to, a) | Op::Bitcast(to, a) if is_wide(to) && is_wide(kernel.ty(a)) => self.change(a),
            _ => {
                let mut change = if is_pure(op) { Change::None } else { Change::Other };
                op.for_each_operand(|operand| {
                    change = if self.change(operand) == Change::None { change } else { Change::Other };
                });
                change
            }
        }
    }
}

/// Whether the result depends on the operands alone.
fn is_pure(op: &Op) -> bool {
    matches!(
        op,
        Op::Const(..)
            | Op::LaneIndex
            | Op::Scalar(_)
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Fma(..)
            | Op::Compare(..)
            | Op::Select(..)
            | Op::Cast(..)
            | Op::Bitcast(..)
    )
}

/// Whether the next value of a loop's state is the state plus one.
fn is_next(kernel: &Kernel, body: RegionId, param: Value, next: Value) -> bool {
    let insts = || kernel.regions.iter().flat_map(|region| &region.insts);
    let is_one = |value: Value| insts().any(|inst| inst.first == value && matches!(inst.op, Op::Const(_, 1)));
    is_wide(kernel.ty(param))
        && kernel.region(body).insts.iter().any(|inst| {
            inst.first == next
                && match inst.op {
                    Op::Binary(BinaryOp::Add, a, b) => (a == param && is_one(b)) || (b == param && is_one(a)),
                    _ => false,
                }
        })
}

/// The number of operations that access each parameter's memory.
fn accesses(kernel: &Kernel) -> Vec<usize> {
    let mut counts = vec![0; kernel.params.len()];
    let insts = kernel.regions.iter().flat_map(|region| &region.insts);
    insts.filter_map(|inst| inst.op.buffer()).for_each(|buffer| counts[buffer.index()] += 1);
    counts
}

struct Search<'k> {
    kernel: &'k Kernel,
    analysis: &'k Analysis,
    accesses: Vec<usize>,
    streams: Streams,
}

impl Search<'_> {
    fn region(&mut self, region: RegionId, mut iteration: Option<&mut Iteration>) {
        let kernel = self.kernel;
        let Region { insts, .. } = kernel.region(region);
        for inst in insts {
            match &inst.op {
                Op::Loop { condition, body, .. } => {
                    let mut inner = Iteration::of(kernel, *condition, *body);
                    self.region(*condition, Some(&mut inner));
                    self.region(*body, Some(&mut inner));
                }
                op => op.regions().for_each(|region| self.region(region, iteration.as_deref_mut())),
            }
            let Some(iteration) = iteration.as_deref_mut() else { continue };
            if let Op::Gather { buffer, index, .. } = inst.op
                && iteration.change(index) == Change::ByOne
                && self.is_worthwhile(inst.first, buffer, index)
            {
                self.streams.numbers.insert(inst.first, self.streams.loops.len());
                self.streams.loops.push(iteration.condition);
            }
            if let Op::Scatter { reduce: None, buffer, index, mask: None, .. } = inst.op
                && region == iteration.body
                && iteration.change(index) == Change::ByOne
                && self.is_writing_worthwhile(iteration.condition, buffer, index)
            {
                self.streams.written.push(Written { condition: iteration.condition, buffer, index });
            }
            match inst.results {
                1 if !inst.op.has_regions() => iteration.note(kernel, inst.first, &inst.op),
                _ => iteration.other.extend(inst.values()),
            }
        }
    }

    /// Whether a gather reads different elements in each lane, from memory that does not change.
    fn is_worthwhile(&self, result: Value, buffer: ParamId, index: Value) -> bool {
        let Param::Buffer { ty, access: Access::Read, .. } = self.kernel.param(buffer) else { return false };
        let analysis = self.analysis;
        self.streams.loops.len() < MOST
            && is_window_type(ty)
            && is_wide(self.kernel.ty(index))
            && analysis.shape(index) == Shape::Varying
            && analysis.shape(result) == Shape::Varying
            && analysis.rows.role(result).is_none()
            && analysis.index_hint(self.kernel, index).is_none()
            && !analysis.repeats_elements(self.kernel, buffer, index)
    }

    /// Whether all lanes write different elements in each iteration, to memory that nothing else accesses.
    fn is_writing_worthwhile(&self, condition: RegionId, buffer: ParamId, index: Value) -> bool {
        let (kernel, analysis) = (self.kernel, self.analysis);
        self.streams.written.len() < MOST
            && self.accesses[buffer.index()] == 1
            && analysis.shape(kernel.region(condition).yields[0]).is_scalar()
            && is_window_type(kernel.param(buffer).ty())
            && is_wide(kernel.ty(index))
            && analysis.shape(index) == Shape::Varying
    }
}

/// Whether elements of this type are the same in memory and in registers.
fn is_window_type(ty: Type) -> bool {
    ty.is_integer() || matches!(ty, Type::F32 | Type::F64)
}
