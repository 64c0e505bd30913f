//! The positions of the true elements of a mask, in ascending order.
//!
//! The number of true elements is known only after counting, so there are two plans. The first one counts those of each
//! tile and sums the counts. Its last sum is the number, which the host reads. The second one writes the positions.

use super::super::Target;
use super::super::ptx::Register;
use super::Routine;
use super::block::WARP;
use super::builder::Builder;
use super::plan::{Argument, Plan};
use super::prefix;
use crate::backend::library::Prefix;
use crate::ir::{ReduceOp, Type};

pub(super) const THREADS: u32 = 256;
/// The elements of a word that is loaded at once.
const PER_WORD: u32 = 4;
/// The elements that the threads of a block load at once, and how often they do.
const ROUND: u32 = THREADS * PER_WORD;
const ROUNDS: u32 = 8;
/// The elements of a block.
const TILE: u32 = ROUND * ROUNDS;

/// A pass over a mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compress {
    /// Counts the true elements of each tile.
    Count,
    /// Writes the positions.
    List,
}

/// The plan that counts the true elements of a mask, and the number of its results: one input, the mask, and one
/// output of `u32`. Element *i* of the output is the number of true elements before tile *i*; the last one is that of
/// all, which the host reads.
#[must_use]
pub fn count_true(len: usize) -> (Plan, usize) {
    let tiles = len.div_ceil(TILE as usize);
    let mut plan = Plan::default();
    let counts = plan.temporary(4 * (tiles as u64 + 1));
    let arguments = vec![Argument::Input(0), counts, Argument::Word(len as u32), Argument::Word(tiles as u32)];
    plan.launch(Routine::Compress(Compress::Count), tiles.max(1), arguments);
    let sums = Prefix { op: ReduceOp::Add, is_exclusive: true, is_reverse: false, restart: usize::MAX };
    prefix::add_to_plan(&mut plan, sums, Type::U32, tiles + 1, [counts, Argument::Output(0)]);
    (plan, tiles + 1)
}

/// The plan that lists the true elements: two inputs, the mask and the results of [`count_true`], and one output of
/// `u32`, which has as many elements as were counted. It may be omitted if there are none.
#[must_use]
pub fn list_true(len: usize) -> Plan {
    let mut plan = Plan::default();
    let arguments = vec![Argument::Input(0), Argument::Input(1), Argument::Output(0), Argument::Word(len as u32)];
    plan.launch(Routine::Compress(Compress::List), len.div_ceil(TILE as usize), arguments);
    plan
}

pub(super) fn body(pass: Compress, target: Target) -> Builder {
    match pass {
        Compress::Count => count(target),
        Compress::List => list(target),
    }
}

/// Loads four elements. In the result, the lowest bit of each byte is set if the element is true.
fn load_four(b: &mut Builder, mask: Register, first: Register, len: Register) -> Register {
    let word = b.variable(0);
    let exists = b.is_less(first, len);
    b.when(exists, |b| {
        let address = b.at(mask, first, 1);
        let all = b.load_word("global.nc", address, 0);
        let left = b.sub(len, first);
        let left = b.min(left, PER_WORD);
        let unused = b.sub(PER_WORD, left);
        let unused = b.mul(unused, 8);
        let existing = b.shr(0x0101_0101, unused);
        let is_true = b.and(all, existing);
        b.set(word, is_true);
    });
    word
}

fn count(target: Target) -> Builder {
    let mut b = Builder::new(target);
    let (mask, counts) = (b.pointer("mask"), b.pointer("counts"));
    let (len, tiles) = (b.size("len"), b.size("tiles"));
    let totals = b.shared("totals", 4 * THREADS / WARP);
    let (thread, tile) = (b.thread(), b.block());
    let own = b.mul(thread, PER_WORD);
    let first = b.mad(tile, TILE, own);
    let sum = b.variable(0);
    for round in 0..ROUNDS {
        let first = b.add(first, round * ROUND);
        let word = load_four(&mut b, mask, first, len);
        let ones = b.count_ones(word);
        let next = b.add(sum, ones);
        b.set(sum, next);
    }
    let sums = b.block_sum(totals, THREADS / WARP, sum);
    let is_first = b.is_equal(thread, 0);
    b.when(is_first, |b| {
        let has_tile = b.is_less(tile, tiles);
        b.when(has_tile, |b| {
            let address = b.at(counts, tile, 4);
            b.store_word("global", address, 0, sums.total);
        });
        // Nothing is counted behind the last tile.
        let is_first = b.is_equal(tile, 0);
        b.when(is_first, |b| {
            let address = b.at(counts, tiles, 4);
            b.store_word("global", address, 0, 0);
        });
    });
    b
}

fn list(target: Target) -> Builder {
    let mut b = Builder::new(target);
    let (mask, starts, positions) = (b.pointer("mask"), b.pointer("starts"), b.pointer("positions"));
    let len = b.size("len");
    let totals = b.shared("totals", 4 * THREADS / WARP);
    let (thread, tile) = (b.thread(), b.block());
    let own = b.mul(thread, PER_WORD);
    let first = b.mad(tile, TILE, own);
    let start = b.at(starts, tile, 4);
    let start = b.load_word("global.nc", start, 0);
    let start = b.variable(start);
    b.count(0, TILE, ROUND, |b, done| {
        let first = b.add(first, done);
        let word = load_four(b, mask, first, len);
        let ones = b.count_ones(word);
        let sums = b.block_sum(totals, THREADS / WARP, ones);
        let place = b.add(start, sums.before);
        write_positions(b, positions, place, first, word);
        let next = b.add(start, sums.total);
        b.set(start, next);
        // The next round writes the totals again.
        b.barrier();
    });
    b
}

/// Writes the positions of the true ones of four elements, from a place on.
fn write_positions(b: &mut Builder, positions: Register, place: Register, first: Register, word: Register) {
    let place = b.variable(place);
    for element in 0..PER_WORD {
        let bit = b.and(word, 1 << (8 * element));
        let is_true = b.differs(bit, 0);
        b.when(is_true, |b| {
            let address = b.at(positions, place, 4);
            let position = b.add(first, element);
            b.store_word("global", address, 0, position);
            let next = b.add(place, 1);
            b.set(place, next);
        });
    }
}
