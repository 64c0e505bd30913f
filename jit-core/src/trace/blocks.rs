//! Recording block reductions: every block of consecutive lanes is combined into one value.
//!
//! The code of a reducing kernel is called once for each block, which costs as much as a few hundred lanes. So short
//! blocks are combined by a kernel with one lane per block, each reading its own elements. The choice depends only on
//! the length of the blocks, and so does the order in which floats are added.

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type, scalar};

use super::loops::LoopRecorder;
use super::{gather, record, reduce, region};
use crate::graph::node::Var;
use crate::size::Size;

/// Blocks of at most this many lanes are combined by one lane, in ascending order.
const SHORT: usize = 32;
/// Blocks of at most this many lanes are combined without a loop.
const UNROLLED: usize = 8;

/// Combines each block of lanes into one value; the last block may be shorter.
#[track_caller]
pub(crate) fn block_reduce(op: ReduceOp, a: &Var, block: Size) -> Var {
    debug_assert_ne!(block.value(), 0);
    reduce::refuse_inside_of_loops(a);
    if a.width() == 0 || block == 1 {
        return a.clone();
    }
    if block >= a.width() {
        return reduce::reduce(op, a);
    }
    if let Some(folded) = repeated(op, a, block) {
        return folded;
    }
    if reduce::is_rounded_once(op, a.ty()) {
        return record::cast(a.ty(), &block_reduce(op, &record::cast(Type::F32, a), block));
    }
    if block <= SHORT { short_blocks(op, a, block) } else { record::block_reduce_node(op, a, block) }
}

/// Returns the reductions of a value that is the same in every lane, if they are exact.
#[track_caller]
fn repeated(op: ReduceOp, a: &Var, block: Size) -> Option<Var> {
    let (bits, blocks, rest) = (a.literal()?, a.width().div_ceil(block), a.width() % block);
    let folded = |lanes: Size| Some(record::literal(a.ty(), reduce::repeated_bits(op, a.ty(), bits, lanes)?, blocks));
    let (whole, last) = (folded(block)?, folded(rest)?);
    if whole.literal() == last.literal() || rest == 0 {
        return Some(whole);
    }
    let is_whole = is_below(&record::lane_index(blocks), blocks - 1);
    Some(record::select(&is_whole, &whole, &last))
}

/// Combines each block by one lane.
#[track_caller]
fn short_blocks(op: ReduceOp, a: &Var, block: Size) -> Var {
    // These lanes are independent of the regions around us.
    let _outside = region::exit_all();
    if block <= UNROLLED {
        let block = block.get();
        Blocks::new(op, a, block.into()).unrolled(block)
    } else {
        Blocks::new(op, a, block).in_loop()
    }
}

/// Blocks and the lanes that combine them.
struct Blocks<'a> {
    op: BinaryOp,
    source: &'a Var,
    block: Size,
    /// The lanes of the last block, if it is shorter.
    rest: Size,
    identity: Var,
    /// The start of each lane's block.
    first: Var,
    /// The lanes whose blocks are complete.
    is_whole: Var,
}

impl<'a> Blocks<'a> {
    #[track_caller]
    fn new(op: ReduceOp, source: &'a Var, block: Size) -> Self {
        let ty = source.ty();
        let lane = record::lane_index(source.width().div_ceil(block));
        let first = record::binary(BinaryOp::Mul, &lane, &record::size(block));
        let is_whole = is_below(&lane, source.width() / block);
        let identity = record::literal(ty, scalar::identity(op, ty), 1);
        Blocks { op: op.as_binary(), source, block, rest: source.width() % block, identity, first, is_whole }
    }

    #[track_caller]
    fn unrolled(&self, block: usize) -> Var {
        let mut total = self.identity.clone();
        // The length of the last block is no decision: a recording, and a kernel, serves any length.
        let is_last_short = self.rest != 0;
        for position in 0..block {
            let index = record::binary(BinaryOp::Add, &self.first, &number(position));
            // Each block has at least one lane.
            let is_there = (is_last_short && position > 0).then(|| is_below(&index, self.source.width()));
            let combined = self.combined(&total, &gather::gather(self.source, &index, is_there.as_ref()));
            total = is_there.map_or(combined.clone(), |is_there| record::select(&is_there, &combined, &total));
        }
        total
    }

    #[track_caller]
    fn in_loop(&self) -> Var {
        let length = match self.rest.is_always(Size::from(0)) {
            true => record::size(self.block),
            // If all blocks are whole in this call, no block is shorter.
            false => record::select(&self.is_whole, &record::size(self.block), &record::size(self.rest)),
        };
        let inits = [number(0), self.identity.clone()];
        let (mut recorder, state) = LoopRecorder::begin(&inits, Site::here());
        let [position, total] = [&state[0], &state[1]];
        recorder.condition(&record::compare(CompareOp::Lt, position, &length));
        let index = record::binary(BinaryOp::Add, &self.first, position);
        let combined = self.combined(total, &gather::gather(self.source, &index, None));
        let next = record::binary(BinaryOp::Add, position, &number(1));
        let mut results = recorder.finish(vec![next, combined]);
        results.swap_remove(1)
    }

    #[track_caller]
    fn combined(&self, total: &Var, value: &Var) -> Var {
        record::binary(self.op, total, value)
    }
}

#[track_caller]
fn number(value: usize) -> Var {
    record::literal(Type::U32, value as u64, 1)
}

#[track_caller]
fn is_below(lane: &Var, bound: impl Into<Size>) -> Var {
    record::compare(CompareOp::Lt, lane, &record::size(bound))
}
