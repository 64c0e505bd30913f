//! Accesses to neighbouring elements: gathers and scatters of one lane whose indices are one value plus consecutive
//! constants.
//!
//! Examples are the components of a vector, the colours of a pixel, a point and its neighbours. Backends execute them
//! together where one wide access replaces several narrow ones; which ones that are, each of them decides.

use rustc_hash::FxHashMap;

use crate::ir::{BinaryOp, Inst, Kernel, Op, ParamId, Region, Type, Value, scalar};

/// For each sum of an index and a constant: both.
pub(super) struct Offsets(FxHashMap<Value, (Value, i64)>);

impl Offsets {
    pub(super) fn of(kernel: &Kernel) -> Offsets {
        let insts = || kernel.regions.iter().flat_map(|region| &region.insts);
        let constant = |inst: &Inst| match inst.op {
            Op::Const(ty, bits) if is_wide(ty) => Some((inst.first, scalar::cast(signed(ty), Type::I64, bits) as i64)),
            _ => None,
        };
        let constants: FxHashMap<Value, i64> = insts().filter_map(constant).collect();
        let addition = |inst: &Inst| match inst.op {
            Op::Binary(BinaryOp::Add, a, b) => match (constants.get(&a), constants.get(&b)) {
                (None, Some(&offset)) => Some((inst.first, (a, offset))),
                (Some(&offset), None) => Some((inst.first, (b, offset))),
                _ => None,
            },
            _ => None,
        };
        // Distant offsets are not neighbours, and sums of them could overflow.
        Offsets(insts().filter_map(addition).filter(|(_, (_, offset))| offset.unsigned_abs() < 1 << 30).collect())
    }

    /// The value that an index is the sum of with a constant, and the constant.
    pub(super) fn of_index(&self, index: Value) -> (Value, i64) {
        self.0.get(&index).copied().unwrap_or((index, 0))
    }
}

/// Whether indices of a type are followed: what is added to narrower ones often wraps around.
pub(super) fn is_wide(ty: Type) -> bool {
    matches!(ty, Type::I32 | Type::U32 | Type::I64 | Type::U64)
}

fn signed(ty: Type) -> Type {
    if ty.size_bytes() == 4 { Type::I32 } else { Type::I64 }
}

/// Gathers whose offsets are consecutive. Several may be at one offset.
pub(super) struct GatherRun {
    pub(super) buffer: ParamId,
    pub(super) mask: Option<Value>,
    /// The value that all indices are the sums of.
    pub(super) base: Value,
    /// In ascending order of their offsets.
    pub(super) gathers: Vec<Gathered>,
}

/// A gather of a run.
pub(super) struct Gathered {
    /// Its place in the region.
    pub(super) position: usize,
    pub(super) result: Value,
    pub(super) index: Value,
    pub(super) offset: i64,
}

/// The common properties of the accesses of a run: buffer, the base value of their indices, mask.
type Key = (ParamId, Value, Option<Value>);

/// The runs of the gathers in a region that are candidates, by their results, buffers and indices.
pub(super) fn gather_runs(
    region: &Region,
    offsets: &Offsets,
    is_candidate: impl Fn(Value, ParamId, Value) -> bool,
) -> Vec<GatherRun> {
    // In the order in which they are found, since the code must not depend on hashes.
    let mut groups: Vec<(Key, Vec<Gathered>)> = Vec::new();
    for (position, inst) in region.insts.iter().enumerate() {
        let Op::Gather { buffer, index, mask } = inst.op else { continue };
        if !is_candidate(inst.first, buffer, index) {
            continue;
        }
        let (base, offset) = offsets.of_index(index);
        let gathered = Gathered { position, result: inst.first, index, offset };
        match groups.iter_mut().find(|(key, _)| *key == (buffer, base, mask)) {
            Some((_, group)) => group.push(gathered),
            None => groups.push(((buffer, base, mask), vec![gathered])),
        }
    }
    groups.into_iter().flat_map(|(key, group)| consecutive(key, group)).collect()
}

/// A run for each sequence of consecutive offsets.
fn consecutive((buffer, base, mask): Key, mut group: Vec<Gathered>) -> Vec<GatherRun> {
    group.sort_by_key(|gathered| gathered.offset);
    let mut runs: Vec<GatherRun> = Vec::new();
    let mut previous = None;
    for gathered in group {
        let continues = previous.is_some_and(|previous| gathered.offset - previous <= 1);
        previous = Some(gathered.offset);
        match runs.last_mut().filter(|_| continues) {
            Some(run) => run.gathers.push(gathered),
            None => runs.push(GatherRun { buffer, mask, base, gathers: vec![gathered] }),
        }
    }
    runs
}

/// Scatters to different elements, between which nothing else accesses the buffer: their order does not matter.
pub(super) struct ScatterRun {
    pub(super) buffer: ParamId,
    pub(super) mask: Option<Value>,
    /// What all indices have in common.
    pub(super) base: Value,
    /// In the order of the code.
    pub(super) scatters: Vec<Scattered>,
}

/// A scatter of a run.
#[derive(Clone, Copy)]
pub(super) struct Scattered {
    /// Its place in the region.
    pub(super) position: usize,
    pub(super) index: Value,
    /// The distance of its element from the one at the base.
    pub(super) offset: i64,
    pub(super) value: Value,
}

/// The runs of the scatters in a region whose place is known: a value and an offset from it.
pub(super) fn scatter_runs(region: &Region, place: impl Fn(Value) -> Option<(Value, i64)>) -> Vec<ScatterRun> {
    let mut runs = ScatterRuns::default();
    for (position, inst) in region.insts.iter().enumerate() {
        match inst.op {
            Op::Scatter { reduce: None, buffer, index, value, mask } => match place(index) {
                Some((base, offset)) => {
                    runs.add((buffer, base, mask), Scattered { position, index, offset, value });
                }
                None => runs.close(|run| run.buffer == buffer),
            },
            ref op if op.has_regions() => runs.close(|_| true),
            ref op => runs.close(|run| op.buffer() == Some(run.buffer)),
        }
    }
    runs.close(|_| true);
    runs.closed
}

#[derive(Default)]
struct ScatterRuns {
    /// Those that may go on. There is at most one for each buffer.
    open: Vec<ScatterRun>,
    closed: Vec<ScatterRun>,
}

impl ScatterRuns {
    fn add(&mut self, (buffer, base, mask): Key, scattered: Scattered) {
        let continues = |run: &ScatterRun| {
            (run.base, run.mask) == (base, mask) && run.scatters.iter().all(|other| other.offset != scattered.offset)
        };
        // A scatter elsewhere may overwrite what an earlier one has written.
        self.close(|run| run.buffer == buffer && !continues(run));
        match self.open.iter_mut().find(|run| run.buffer == buffer) {
            Some(run) => run.scatters.push(scattered),
            None => self.open.push(ScatterRun { buffer, mask, base, scatters: vec![scattered] }),
        }
    }

    fn close(&mut self, ends: impl Fn(&ScatterRun) -> bool) {
        self.closed.extend(self.open.extract_if(.., |run| ends(run)));
    }
}
