//! Recording block reductions: every block of consecutive lanes is combined into one value.
//!
//! The code of a reducing kernel is called once for each block, which costs as much as a few hundred lanes. So short
//! blocks are combined by a kernel with one lane per block, each reading its own elements: several neighbours at a
//! time, which is one wide read. The choice depends only on the length of the blocks, and so does the order in which
//! floats are added.

use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type, scalar};

use super::loops::LoopRecorder;
use super::{gather, record, reduce, region};
use crate::graph::node::Var;
use crate::size::Size;

/// Blocks of at most this many lanes are combined by one lane, in ascending order …
const SHORT: usize = 32;
/// … and longer ones in this many running results, as long as the block is at most …
const RUNNING: usize = 8;
/// … this long.
const LONG: usize = 512;
/// Blocks of at most this many lanes are combined without a loop.
const UNROLLED: usize = 8;
/// So many elements are read at a time.
const ROUND: usize = 8;
/// Elements that cost more than this to compute are not computed several at a time …
const MAX_COST: u32 = 32;
/// … unless that is because of what other kernels compute, and the rest costs no more than this: less than writing it
/// to memory and reading it, even if it is computed a second time for something else.
const CHEAP: u32 = 16;

/// Combines each block of lanes into one value; the last block may be shorter.
#[track_caller]
pub(crate) fn block_reduce(op: ReduceOp, a: &Var, block: Size) -> Var {
    debug_assert_ne!(block.value(), 0);
    reduce::refuse_inside_of_loops(a);
    if a.width() == 0 || block == 1 {
        return record::folded_to(a.clone());
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
    if block <= LONG { short_blocks(op, a, block) } else { record::block_reduce_node(op, a, block) }
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
        return Blocks::new(op, a, block.into()).unrolled(block);
    }
    let blocks = Blocks::new(op, a, block);
    match () {
        () if block > SHORT => blocks.in_rounds(RUNNING),
        () if !a.is_evaluated() && blocks.coordinates.is_none() => {
            blocks.combined_one_by_one(&number(0), &blocks.identity)
        }
        () => blocks.in_rounds(1),
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
    /// Each lane, and the start of its block.
    lane: Var,
    first: Var,
    /// The number of a block and the position in it, as expressions of the source's lane, if that is an expression
    /// which is recorded again for each element of a round. Others are read from memory.
    coordinates: Option<[Var; 2]>,
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
        let coordinates = (!source.is_evaluated()).then(|| {
            let (element, length) = (record::lane_index(source.width()), record::size(block));
            [BinaryOp::Div, BinaryOp::Rem].map(|op| record::binary(op, &element, &length))
        });
        let is_copied = |known: &[Var; 2]| {
            let is_cheap = || gather::cost_at_another_lane(source, known, CHEAP) <= CHEAP;
            block <= UNROLLED || source.cost() <= MAX_COST || is_cheap()
        };
        let coordinates = coordinates.filter(is_copied);
        let (op, rest) = (op.as_binary(), source.width() % block);
        Blocks { op, source, block, rest, identity, lane, first, coordinates, is_whole }
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
            let value = self.read_behind(&number(0), position, is_there.as_ref());
            let combined = self.combined(&total, &value);
            total = is_there.map_or(combined.clone(), |is_there| record::select(&is_there, &combined, &total));
        }
        total
    }

    /// Combines the elements from a position on into a result.
    #[track_caller]
    fn combined_one_by_one(&self, first: &Var, result: &Var) -> Var {
        let length = self.of_length(|length| length);
        let (mut recorder, state) = LoopRecorder::begin(&[first.clone(), result.clone()], Site::here());
        let [position, total] = [&state[0], &state[1]];
        recorder.condition(&record::compare(CompareOp::Lt, position, &length));
        let combined = self.combined(total, &self.read_behind(position, 0, None));
        let next = record::binary(BinaryOp::Add, position, &number(1));
        let mut results = recorder.finish(vec![next, combined]);
        results.swap_remove(1)
    }

    /// Combines element `i` into running result `i` modulo their number; what is left over after the last round, into
    /// the first one. The running results are combined in pairs.
    #[track_caller]
    fn in_rounds(&self, running: usize) -> Var {
        let rounds = self.of_length(|length| length / ROUND);
        let mut inits = vec![number(0)];
        inits.resize(1 + running, self.identity.clone());
        let (mut recorder, state) = LoopRecorder::begin(&inits, Site::here());
        // Rounds are counted, since a position that grows in steps would have a bound that is too large by a step.
        let round = &state[0];
        recorder.condition(&record::compare(CompareOp::Lt, round, &rounds));
        let mut next = state.clone();
        next[0] = record::binary(BinaryOp::Add, round, &number(1));
        let position = record::binary(BinaryOp::Mul, round, &number(ROUND));
        for distance in 0..ROUND {
            let result = &mut next[1 + distance % running];
            *result = self.combined(result, &self.read_behind(&position, distance, None));
        }
        let mut results = recorder.finish(next).split_off(1);
        results[0] = self.with_left_over(&rounds, results[0].clone());
        while results.len() > 1 {
            results = results.chunks(2).map(|pair| self.combined(&pair[0], &pair[1])).collect();
        }
        results.swap_remove(0)
    }

    /// Combines the elements after the last round into a result: without a loop if their number is known.
    #[track_caller]
    fn with_left_over(&self, rounds: &Var, result: Var) -> Var {
        let first = record::binary(BinaryOp::Mul, rounds, &number(ROUND));
        if !self.block.is_number() || !self.rest.is_always(Size::from(0)) {
            return self.combined_one_by_one(&first, &result);
        }
        let count = self.block.value() % ROUND;
        (0..count).fold(result, |result, distance| self.combined(&result, &self.read_behind(&first, distance, None)))
    }

    /// Returns a function of the length of each lane's block.
    #[track_caller]
    fn of_length(&self, function: impl Fn(Size) -> Size) -> Var {
        let [whole, last] = [self.block, self.rest].map(|length| record::size(function(length)));
        match self.rest.is_always(Size::from(0)) {
            true => whole,
            // If all blocks are whole in this call, no block is shorter.
            false => record::select(&self.is_whole, &whole, &last),
        }
    }

    /// Reads the element at a distance from a position in each lane's block. Reads that differ only in the distance are
    /// reads of neighbours.
    #[track_caller]
    fn read_behind(&self, position: &Var, distance: usize, mask: Option<&Var>) -> Var {
        let add = |a: &Var, b: &Var| record::binary(BinaryOp::Add, a, b);
        let index = add(&add(&self.first, position), &number(distance));
        let Some([of_number, of_position]) = &self.coordinates else {
            return gather::gather(self.source, &index, mask);
        };
        let position = add(position, &number(distance));
        let known = || [(of_number.clone(), self.lane.clone()), (of_position.clone(), position)].into_iter().collect();
        gather::gather_once(self.source, &index, mask, known)
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
