//! The grids of a launch: one, unless its threads need more scratch memory than there is for them. Then it has fewer
//! threads at a time, and where the kernel determines the threads of a chunk, several grids one after another.

use std::ops::Range;

use super::Cuda;
use super::combine::Parts;
use super::memory::Block;
use crate::Error;
use crate::backend::RawArgument;
use crate::backend::cuda::Grid;
use crate::backend::cuda::code::Code;
use crate::cache::Entry;
use crate::cache::determinism::is_deterministic;
use crate::ir::reduce_chunk;
use crate::memory::Remote;
use crate::stats::ParamFacts;

/// The blocks of a grid are this many times those that the device runs at once, so that lanes that take longer do not
/// leave others idle at the end.
const WAVES: u32 = 4;

/// The most bytes of scratch memory of a launch, on devices that have eight times as many.
const MOST_SCRATCH_BYTES: u64 = 512 << 20;

/// The lanes of a launch, and how it reduces them.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub(super) width: u32,
    /// Whether the results of reductions are those of all lanes.
    pub(super) is_over_all: bool,
    /// The lanes whose values are combined to one result.
    pub(super) per_reduction: u32,
    /// The lanes of these that one block of threads combines.
    pub(super) per_chunk: u32,
}

impl Lanes {
    /// The lanes of a launch that reduces blocks of lanes, or all of them.
    pub(super) fn of(width: u32, block: Option<usize>) -> Lanes {
        // Without lanes, a reduction of all of them has the identity as its result; one of blocks has no blocks.
        let per_reduction = block.map_or(width.max(1), |block| u32::try_from(block).unwrap_or(u32::MAX));
        let per_chunk = reduce_chunk(width as usize, per_reduction as usize) as u32;
        Lanes { width, is_over_all: block.is_none(), per_reduction, per_chunk }
    }
}

/// The grids of a launch, which run one after another.
pub(super) struct Grids {
    /// Blocks and threads of each, and the bytes of its parameters.
    pub(super) list: Vec<((u32, u32), Vec<u8>)>,
    /// Memory for lanes that need much.
    pub(super) scratch: Option<Block>,
}

/// A part of the lanes that one grid runs.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Piece {
    shape: (u32, u32),
    lanes: Range<u32>,
    /// The results of reductions before its own.
    results_before: u64,
}

impl Grids {
    /// The grids for these arguments: none if there is nothing to run.
    pub(super) fn of(
        machine: &Cuda,
        entry: &Entry,
        code: &Code,
        lanes: Lanes,
        arguments: &[RawArgument],
    ) -> Result<Grids, Error> {
        let per_thread = code.layout.scratch_bytes_per_thread();
        let most_threads = scratch_bytes(machine.gpu.total_bytes).checked_div(per_thread).unwrap_or(u64::MAX).max(1);
        let pieces = match code.threads_per_block {
            Some(threads) => chunked(lanes, threads, most_threads),
            None => vec![whole(entry, code, lanes.width, most_threads)],
        };
        let pieces: Vec<Piece> = pieces.into_iter().filter(|piece| piece.shape.0 > 0).collect();
        let threads = pieces.iter().map(|piece| u64::from(piece.shape.0) * u64::from(piece.shape.1)).max();
        let bytes = threads.unwrap_or_default() * per_thread;
        let scratch = if bytes > 0 { Some(machine.block(bytes as usize)?) } else { None };
        let address = scratch.as_ref().map_or(0, Block::address);
        let list = pieces.into_iter().map(|Piece { shape, lanes: Range { start, end }, results_before }| {
            let grid = Grid {
                first_lane: start,
                end_lane: end,
                lanes_per_reduction: lanes.per_reduction,
                lanes_per_chunk: lanes.per_chunk,
                scratch: address,
            };
            (shape, code.layout.pack(&grid, &behind(entry, arguments, results_before)))
        });
        Ok(Grids { list: list.collect(), scratch })
    }
}

fn scratch_bytes(total_bytes: usize) -> u64 {
    MOST_SCRATCH_BYTES.min(total_bytes as u64 / 8)
}

/// One grid of all lanes: each of its threads runs lanes that are a whole grid apart.
fn whole(entry: &Entry, code: &Code, width: u32, most_threads: u64) -> Piece {
    let (blocks, threads) = match code.module.occupancy {
        _ if entry.shown.depends_on_order() && is_deterministic() => (1, 1),
        (blocks, threads) => (blocks.saturating_mul(WAVES), threads),
    };
    let threads = u64::from(threads).min(most_threads) as u32;
    let most_blocks = (most_threads / u64::from(threads)).min(u64::from(blocks)) as u32;
    Piece { shape: (width.div_ceil(threads).min(most_blocks), threads), lanes: 0..width, results_before: 0 }
}

/// Grids with a block of threads for each chunk, of as many chunks as there may be threads: several reductions, or a
/// part of one.
fn chunked(lanes: Lanes, threads: u32, most_threads: u64) -> Vec<Piece> {
    let Lanes { width, is_over_all, per_reduction, per_chunk } = lanes;
    let most_chunks = (most_threads / u64::from(threads)).max(1);
    let chunks = |lanes: u64| Parts::chunks(lanes, per_reduction.into(), per_chunk.into());
    if chunks(width.into()) <= most_chunks {
        let blocks = chunks(width.into()).max(is_over_all.into());
        return vec![Piece { shape: (blocks as u32, threads), lanes: 0..width, results_before: 0 }];
    }
    let whole = most_chunks / chunks(per_reduction.into()) * u64::from(per_reduction);
    let step = if whole > 0 { whole } else { most_chunks * u64::from(per_chunk) };
    let (mut pieces, mut start, mut results_before) = (Vec::new(), 0, 0);
    while start < u64::from(width) {
        // A part of a reduction ends where the reduction does.
        let reduction_end = (start / u64::from(per_reduction) + 1) * u64::from(per_reduction);
        let limit = if whole > 0 { u64::from(width) } else { reduction_end.min(width.into()) };
        let end = (start + step).min(limit);
        let blocks = chunks(end - start);
        pieces.push(Piece { shape: (blocks as u32, threads), lanes: start as u32..end as u32, results_before });
        (start, results_before) = (end, results_before + blocks);
    }
    pieces
}

/// The arguments of a grid: it writes the results of reductions behind those of the grids before.
fn behind(entry: &Entry, arguments: &[RawArgument], results: u64) -> Vec<RawArgument> {
    let of_param = |(param, &argument): (&ParamFacts, &RawArgument)| match param.reduction {
        Some(_) => RawArgument {
            word: argument.word + results * param.ty.size_bytes() as u64,
            length: argument.length - results,
        },
        None => argument,
    };
    entry.facts.params.iter().zip(arguments).map(of_param).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: u32 = 1024;

    fn pieces(lanes: (u32, bool, u32), most_chunks: u64) -> Vec<(u32, Range<u32>, u64)> {
        let (width, is_over_all, per_reduction) = lanes;
        let lanes = Lanes { width, is_over_all, per_reduction, per_chunk: CHUNK };
        let pieces = chunked(lanes, 64, 64 * most_chunks);
        pieces.into_iter().map(|Piece { shape, lanes, results_before }| (shape.0, lanes, results_before)).collect()
    }

    #[test]
    fn one_grid_runs_all_chunks_where_there_is_memory() {
        assert_eq!(pieces((0, true, 1), 4), [(1, 0..0, 0)]);
        // Grids without blocks are left out.
        assert_eq!(pieces((0, false, 7), 4), [(0, 0..0, 0)]);
        assert_eq!(pieces((3 * CHUNK + 1, true, 3 * CHUNK + 1), 4), [(4, 0..3 * CHUNK + 1, 0)]);
        assert_eq!(pieces((28, false, 7), 4), [(4, 0..28, 0)]);
    }

    #[test]
    fn grids_with_few_chunks_run_one_after_another() {
        let all = pieces((5 * CHUNK + 9, true, 5 * CHUNK + 9), 2);
        assert_eq!(all, [(2, 0..2 * CHUNK, 0), (2, 2 * CHUNK..4 * CHUNK, 2), (2, 4 * CHUNK..5 * CHUNK + 9, 4)]);
        // Reductions of one chunk each.
        assert_eq!(pieces((30, false, 7), 2), [(2, 0..14, 0), (2, 14..28, 2), (1, 28..30, 4)]);
        // Reductions of two chunks each, one and a half of them at a time: grids begin where reductions do.
        let two = CHUNK + 5;
        assert_eq!(pieces((3 * two, false, two), 3), [(2, 0..two, 0), (2, two..2 * two, 2), (2, 2 * two..3 * two, 4)]);
        // Less than a reduction at a time.
        let all = pieces((2 * two, false, two), 1);
        assert_eq!(all, [(1, 0..CHUNK, 0), (1, CHUNK..two, 1), (1, two..two + CHUNK, 2), (1, two + CHUNK..2 * two, 3)]);
    }
}
