//! Kernels that move elements: each lane reads one element and writes it.
//!
//! Transposed matrices and tensors with other orders of axes are such kernels, as methods of tensors and as gathers at
//! computed indices. If the place that a lane reads is a sum over the digits of its number, the launch is a few nested
//! loops, whatever its code is. Where neighbours in the target are far from each other in the source, and the other
//! way round, rectangles are transposed in registers: memory is read and written in whole lines. The code of the kernel
//! does not run.
//!
//! Invariant: all lanes read elements of the source. That follows from the sum, for all lanes of the launch at once.

use smallvec::SmallVec;

use super::digits::{Digits, Sum, Sums};
use crate::backend::RawArgument;
use crate::ir::{Access, Inst, Kernel, Op, Param, ParamId, TOP, Type, Value};

/// The bytes of a tile that are neighbours in the source, and the elements that are neighbours in the target: as many
/// as make prefetching useful, and few enough for the second cache.
const LINE_BYTES: u64 = 1024;
const COLUMNS: u64 = 64;
/// Shorter axes are moved by the kernel's own code.
const FEWEST_ROWS_BYTES: u64 = 16;
const FEWEST_COLUMNS: u64 = 8;

/// The gathers and stores of a kernel that does nothing else.
pub(crate) struct Moves {
    /// The instructions that compute indices.
    insts: Box<[Inst]>,
    /// The types of all values.
    types: Box<[Type]>,
    moves: SmallVec<[Move; 1]>,
}

/// Elements at an index that are written by lanes.
struct Move {
    source: ParamId,
    index: Value,
    target: ParamId,
    size: u64,
}

/// The moves of a launch.
pub(crate) struct Permutations(SmallVec<[Permutation; 1]>);

/// Nested loops over an array, with the axes whose neighbours are neighbours in the target and in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Permutation {
    /// The addresses of the first elements.
    source: u64,
    target: u64,
    size: u64,
    columns: Axis,
    rows: Axis,
    others: SmallVec<[Axis; 4]>,
}

/// A loop: how often, and the distances of elements in the target and in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Axis {
    count: u64,
    lanes: i64,
    distance: i64,
}

/// A part of an array whose rows are columns of the target. Distances are in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rectangle {
    /// The address of the first element. Those of a column are neighbours.
    pub(crate) source: u64,
    pub(crate) target: u64,
    /// The bytes of an element.
    pub(crate) size: u64,
    /// How many columns there are, and their distance in the source.
    pub(crate) columns: u64,
    pub(crate) across: i64,
    /// How many rows there are, and their distance in the target.
    pub(crate) rows: u64,
    pub(crate) down: i64,
}

impl Moves {
    /// Finds the moves of a kernel; none if it does anything else.
    pub(super) fn of(kernel: &Kernel) -> Option<Moves> {
        let mut gathers = vec![None; kernel.types.len()];
        let (mut insts, mut moves) = (Vec::new(), SmallVec::new());
        for inst in &kernel.region(TOP).insts {
            match inst.op {
                Op::Gather { buffer, index, mask: None } if has_access(kernel, buffer, Access::Read) => {
                    gathers[inst.first.index()] = Some((buffer, index));
                }
                Op::Store { buffer: target, value } if has_access(kernel, target, Access::Write) => {
                    let (source, index) = gathers[value.index()]?;
                    let size = kernel.param(target).ty().size_bytes() as u64;
                    moves.push(Move { source, index, target, size });
                }
                Op::LaneIndex | Op::Const(..) | Op::Scalar(_) | Op::Binary(..) | Op::Cast(..) | Op::Bitcast(..)
                    if kernel.ty(inst.first).is_integer() =>
                {
                    insts.push(inst.clone());
                }
                _ => return None,
            }
        }
        let is_plain = kernel.locals.is_empty() && !moves.is_empty();
        is_plain.then(|| Moves { insts: insts.into(), types: kernel.types.clone().into(), moves })
    }

    /// Returns the moves of a launch as rectangles, if that is faster.
    pub(crate) fn permutations(&self, arguments: &[RawArgument], width: u64) -> Option<Permutations> {
        let sums = Sums::new(&self.insts, arguments, &self.types, width)?;
        let of = |moved: &Move| {
            let [source, target] = [moved.source, moved.target].map(|param| arguments[param.index()]);
            Permutation::new(sums.of(moved.index)?, &sums.digits, (source, target.word), moved.size)
        };
        self.moves.iter().map(of).collect::<Option<_>>().map(Permutations)
    }
}

fn has_access(kernel: &Kernel, buffer: ParamId, wanted: Access) -> bool {
    matches!(kernel.param(buffer), Param::Buffer { access, .. } if access == wanted)
}

impl Permutation {
    /// The loops of a launch whose lanes read elements at a sum: none if some are out of range, or other loops are
    /// better.
    fn new(index: &Sum, digits: &Digits, (source, target): (RawArgument, u64), size: u64) -> Option<Permutation> {
        let [least, most] = digits.range(index)?;
        if least < 0 || u64::try_from(most).ok()? >= source.length || !digits.is_whole() {
            return None;
        }
        let mut others = axes(index, digits);
        let columns = others.first().copied().filter(|axis| axis.lanes == 1 && axis.distance != 1)?;
        let rows = others.iter().position(|axis| axis.distance == 1)?;
        let rows = others.remove(rows);
        others.remove(0);
        let is_wide = columns.count >= FEWEST_COLUMNS && rows.count * size >= FEWEST_ROWS_BYTES;
        let source = source.word.wrapping_add_signed(index.number * size as i64);
        is_wide.then_some(Permutation { source, target, size, columns, rows, others })
    }

    /// The most rows of a tile.
    fn rows_of_tile(&self) -> u64 {
        LINE_BYTES / self.size
    }

    /// More if rows are few, so that tiles have about the same size.
    fn columns_of_tile(&self) -> u64 {
        COLUMNS * self.rows_of_tile().div_ceil(self.rows.count)
    }

    fn tiles(&self) -> u64 {
        let others: u64 = self.others.iter().map(|axis| axis.count).product();
        self.columns.count.div_ceil(self.columns_of_tile()) * self.rows.count.div_ceil(self.rows_of_tile()) * others
    }

    fn rectangle(&self, tile: u64) -> Rectangle {
        let mut rest = tile;
        let mut digit = |count: u64| {
            let digit = rest % count;
            rest /= count;
            digit
        };
        let column = digit(self.columns.count.div_ceil(self.columns_of_tile())) * self.columns_of_tile();
        let row = digit(self.rows.count.div_ceil(self.rows_of_tile())) * self.rows_of_tile();
        let (mut read, mut written) = (0, 0);
        let mut advance = |axis: &Axis, by: u64| {
            read += axis.distance * by as i64;
            written += axis.lanes * by as i64;
        };
        advance(&self.columns, column);
        advance(&self.rows, row);
        self.others.iter().for_each(|axis| advance(axis, digit(axis.count)));
        let size = self.size as i64;
        Rectangle {
            source: self.source.wrapping_add_signed(read * size),
            target: self.target.wrapping_add_signed(written * size),
            size: self.size,
            columns: (self.columns.count - column).min(self.columns_of_tile()),
            across: self.columns.distance * size,
            rows: (self.rows.count - row).min(self.rows_of_tile()),
            down: self.rows.lanes * size,
        }
    }
}

/// The digits of an index as loops, from the shortest distance in the target on; as few as possible.
fn axes(index: &Sum, digits: &Digits) -> SmallVec<[Axis; 4]> {
    let mut axes = SmallVec::<[Axis; 4]>::new();
    for (digit, (&lanes, &distance)) in digits.places().iter().zip(&index.factors).enumerate() {
        let count = digits.count(digit) as u64;
        match axes.last_mut() {
            Some(before) if before.distance * before.count as i64 == distance => before.count *= count,
            _ => axes.push(Axis { count, lanes, distance }),
        }
    }
    axes.retain(|axis| axis.count > 1);
    axes
}

impl Permutations {
    /// The number of rectangles.
    pub(crate) fn tiles(&self) -> u64 {
        self.0.iter().map(Permutation::tiles).sum()
    }

    /// One of the rectangles. Together they are all elements, each once.
    pub(crate) fn rectangle(&self, mut tile: u64) -> Option<Rectangle> {
        for permutation in &self.0 {
            match tile.checked_sub(permutation.tiles()) {
                Some(rest) => tile = rest,
                None => return Some(permutation.rectangle(tile)),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
