//! Reductions along an axis whose elements are rows in memory: of `outer × length × inner` elements, those that differ
//! only in the middle coordinate are combined.
//!
//! A lane folds elements of one column in a loop, so neighbouring lanes read neighbouring elements. If there are few
//! columns or long ones, each is first divided into parts, which are folded in the same way: a part takes rows that are
//! close together, so that each core reads memory from one end to the other. Parts of columns of few neighbours take
//! every 2nd to 64th row of a region, so that the lanes of a vector still read neighbours. Where the elements of a row
//! share something, as in `(x * e).sum(0)`, each row of lanes begins with a vector, and the lanes after the columns
//! compute nothing of use: what is shared is then read once for all lanes.
//!
//! The order depends on the shape alone, so results are the same on every device. The sum of `n` numbers is a tree
//! whose error grows with its depth, not with `n`.

use super::lengths::{is, number};
use crate::{Array, Element, Size, UInt, jit};

/// The most elements that one lane folds if more lanes could share them.
const LONGEST: usize = 64;
/// This many results keep all cores busy without being divided, …
const MANY: usize = 4096;
/// … unless one has more elements than this, so that its sum would lose accuracy.
const TOO_LONG: usize = 1024;
/// So few elements take one core less time than the launches that combine the parts.
const LITTLE: usize = 1 << 16;
/// The most elements that a lane folds because they are little in all.
const LONG: usize = 512;
/// The most parts of a result, about.
const MOST_PARTS: usize = 4096;

/// Rows of lanes with padding have a multiple of so many.
const VECTOR: usize = 16;
/// The lanes of a region are a multiple of this, if few rows make it so: then no vector has lanes of two regions, and
/// all lanes of a region together read memory without gaps.
const VECTORS: usize = 64;

/// The lengths of the axes before, of, and after the reduction.
pub(super) type Lengths = [Size; 3];

/// Combines the elements along the middle axis.
#[track_caller]
pub(super) fn fold_rows<T: Element>(
    source: &Array<T>,
    [outer, mut length, inner]: Lengths,
    combine: fn(&Array<T>, &Array<T>) -> Array<T>,
) -> Array<T> {
    let (mut source, mut row) = (source.clone(), inner);
    while !is(length, 1) {
        let mut step = Step::new([outer, length, inner], row);
        if !is(step.parts(), 1) && row.is_always(inner) && shares_within_rows(&source, inner) {
            step.pitch = padded(inner);
        }
        source = super::filled(fold(&source, &step, combine), step.lanes());
        (length, row) = (step.parts(), step.pitch);
    }
    if row.is_always(inner) { source } else { without_padding(&source, row, [outer, inner]) }
}

/// Returns whether an expression reads what the elements of a row share, such as another column.
#[track_caller]
fn shares_within_rows<T: Element>(source: &Array<T>, length: Size) -> bool {
    !source.is_evaluated() && source.contains_expression(&(UInt::arange(source.width()) / number(length)))
}

/// Returns the number of lanes for a row with which all lanes of a vector have the same row.
#[track_caller]
fn padded(inner: Size) -> Size {
    match [1, 2, 4, 8].into_iter().find(|&lanes| inner <= lanes) {
        Some(lanes) => Size::from(lanes),
        None => inner.div_ceil(VECTOR) * VECTOR,
    }
}

/// Returns the first elements of rows that are `pitch` elements apart.
#[track_caller]
fn without_padding<T: Element>(source: &Array<T>, pitch: Size, [rows, length]: [Size; 2]) -> Array<T> {
    let lane = UInt::arange(rows * length);
    let (row, column) = (&lane / number(length), &lane % number(length));
    source.gather(&(row * number(pitch) + column))
}

/// One fold: the lanes, and the elements of each.
struct Step {
    lengths: Lengths,
    /// The number of regions that a column is divided into.
    regions: Size,
    /// The distance of the rows that a lane folds; so many lanes share a region of a column.
    stride: usize,
    /// The distance of rows in memory: that of the lanes before, or the number of columns.
    row: Size,
    /// The number of lanes for each row of columns: those after the columns compute nothing of use.
    pitch: Size,
}

impl Step {
    /// What is combined depends on the lengths alone; rows in memory and lanes may have padding.
    #[track_caller]
    fn new(lengths: Lengths, row: Size) -> Step {
        let [outer, length, inner] = lengths;
        let is_little = length <= LONG && outer * length * inner <= LITTLE;
        if length <= LONGEST || is_little || (outer * inner >= MANY && length <= TOO_LONG) {
            return Step { lengths, regions: Size::from(1), stride: 1, row, pitch: row };
        }
        let parts = length.div_ceil(LONGEST).max(16).min(MOST_PARTS);
        // Fewer rows are better: the lanes that are computed at a time read more of a region's memory.
        let most = if inner < 4 { 64 } else { 16 };
        let stride = [1, 2, 4, 8].into_iter().find(|&stride| inner * stride % VECTORS == 0).unwrap_or(most);
        Step { lengths, regions: parts.div_ceil(stride), stride, row, pitch: row }
    }

    #[track_caller]
    fn parts(&self) -> Size {
        self.regions * self.stride
    }

    /// Returns the number of elements that each lane folds; some fold one more.
    #[track_caller]
    fn rows(&self) -> Size {
        self.lengths[1] / self.parts()
    }

    /// Returns the number of elements that these rows leave over.
    #[track_caller]
    fn rest(&self) -> Size {
        let [_, length, _] = self.lengths;
        if is(self.parts(), 1) { Size::from(0) } else { length - self.parts() * self.rows() }
    }

    #[track_caller]
    fn lanes(&self) -> Size {
        self.lengths[0] * self.parts() * self.pitch
    }
}

/// What each lane folds: the coordinates of its elements.
struct Lane<'a> {
    step: &'a Step,
    outer: UInt,
    part: UInt,
    column: UInt,
    /// The lane's number among those of its `outer`: neighbouring lanes have neighbouring columns of a part.
    within: UInt,
    /// The first row.
    row: UInt,
    /// The position of the first element.
    first: UInt,
}

impl<'a> Lane<'a> {
    #[track_caller]
    fn new(step: &'a Step) -> Self {
        let ([outer_length, length, _], pitch) = (step.lengths, step.pitch);
        let (lane, column_of_parts) = (UInt::arange(step.lanes()), step.parts() * pitch);
        let (outer, within) = match is(outer_length, 1) {
            true => (UInt::from(0), lane.clone()),
            false => (&lane / number(column_of_parts), &lane % number(column_of_parts)),
        };
        let (part, column) = (&within / number(pitch), &lane % number(pitch));
        let outer_first = match is(outer_length, 1) {
            true => UInt::from(0),
            false => &outer * number(length * step.row),
        };
        let region_rows = step.rows() * step.stride;
        // The lanes of a region begin at neighbouring elements.
        let (row, place) = match is(step.parts(), 1) {
            true => (UInt::from(0), within.clone()),
            false => {
                let lanes = pitch * step.stride;
                let (region, neighbour) = (&within / number(lanes), &within % number(lanes));
                let first = &region * number(region_rows);
                let row = if step.stride == 1 { first } else { first + &part % number(Size::from(step.stride)) };
                let place = match pitch.is_always(step.row) {
                    true => region * number(region_rows * step.row) + neighbour,
                    false => &row * number(step.row) + &column,
                };
                (row, place)
            }
        };
        Lane { step, outer, part, column, within, row, first: outer_first + place }
    }

    /// Reads the element `count` steps after the first one.
    #[track_caller]
    fn read<T: Element>(&self, source: &Array<T>, count: &UInt) -> Array<T> {
        let stride = Size::from(self.step.stride);
        let row = &self.row + count * number(stride);
        let index = &self.first + count * number(stride * self.step.row);
        source.gather_once(&index, None, || self.known(source.width(), &row, &index))
    }

    /// Combines the rows after those of all regions into the first lanes' results.
    #[track_caller]
    fn add_rest<T: Element>(
        &self,
        source: &Array<T>,
        result: Array<T>,
        combine: fn(&Array<T>, &Array<T>) -> Array<T>,
    ) -> Array<T> {
        let ([outer, length, _], distance) = (self.step.lengths, self.step.row);
        let folded = self.step.parts() * self.step.rows();
        let row = &self.part + number(folded);
        let is_there = row.lt(number(length));
        // Not from row and column: it shows that neighbouring lanes read neighbouring elements.
        let place = match self.step.pitch.is_always(distance) {
            true => &self.within + number(folded * distance),
            false => &row * number(distance) + &self.column,
        };
        let index = if is(outer, 1) { place } else { &self.outer * number(length * distance) + place };
        let value = source.gather_once(&index, Some(&is_there), || self.known(source.width(), &row, &index));
        is_there.select(combine(&result, &value), result)
    }

    /// Returns the coordinates of an element as expressions of its position compute them, each with its value. They
    /// replace the divisions in expressions that repeat their operands along an axis.
    #[track_caller]
    fn known(&self, width: Size, row: &UInt, index: &UInt) -> Vec<(UInt, UInt)> {
        let ([outer, length, _], distance) = (self.step.lengths, self.step.row);
        let position = UInt::arange(width);
        let (above, column) = (&position / number(distance), &position % number(distance));
        if is(outer, 1) {
            return vec![(above, row.clone()), (column, self.column.clone())];
        }
        let matrix = number(length * distance);
        vec![
            (&above % number(length), row.clone()),
            (above, &self.outer * number(length) + row),
            (column, self.column.clone()),
            (&position / &matrix, self.outer.clone()),
            (position % matrix, index - &self.outer * number(length * distance)),
        ]
    }
}

#[jit]
fn fold<T: Element>(source: &Array<T>, step: &Step, combine: fn(&Array<T>, &Array<T>) -> Array<T>) -> Array<T> {
    let lane = Lane::new(step);
    let rows = number(step.rows());
    let mut result = lane.read(source, &UInt::from(0));
    let mut count = UInt::from(1);
    while count < rows {
        result = combine(&result, &lane.read(source, &count));
        count += 1;
    }
    if is(step.rest(), 0) { result } else { lane.add_rest(source, result, combine) }
}
