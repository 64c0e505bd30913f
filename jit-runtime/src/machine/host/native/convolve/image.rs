//! Copies of tiles of the source, with zeros around it.

use super::super::matmul::vector::Lane;
use super::axis::{Copies, Line};
use super::{AXES, Element};

/// The elements of a target at one place of the first axis, a range of the second one, and of the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Area {
    pub(super) plane: usize,
    pub(super) first_row: usize,
    pub(super) rows: usize,
    pub(super) first_column: usize,
    pub(super) columns: usize,
}

/// How the source of a target is copied: for each channel, and for each copy of a line along each of the axes, the rows
/// of an area.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Image {
    pub(super) lines: [Line; AXES],
    copies: [Copies; AXES],
}

impl Image {
    pub(super) fn new(lines: [Line; AXES]) -> Image {
        let [planes, rows, columns] = &lines;
        // A tile has a single plane.
        let copies = [Copies::of_each_tap(planes), Copies::new(rows), Copies::new(columns)];
        Image { lines, copies }
    }

    /// Like [`new`](Self::new), without elements beyond those of the target at the ends of rows: all elements that a
    /// tap reads are consecutive.
    pub(super) fn with_dense_rows(lines: [Line; AXES]) -> Image {
        let [planes, rows, columns] = &lines;
        let copies = [Copies::of_each_tap(planes), Copies::new(rows), Copies::of_each_tap(columns)];
        Image { lines, copies }
    }

    /// The number of taps.
    pub(super) fn taps(&self) -> usize {
        self.lines.iter().map(|line| line.taps.len()).product()
    }

    /// The positions in the kernel of all taps, ascending.
    pub(super) fn taps_of_kernel(&self, [_, rows, columns]: [usize; AXES]) -> Vec<usize> {
        let [z, y, x] = &self.lines;
        let all = z.taps.iter().flat_map(|z| y.taps.iter().map(move |y| (z.0, y.0)));
        all.flat_map(|(z, y)| x.taps.iter().map(move |x| (z * rows + y) * columns + x.0)).collect()
    }

    /// The distance from a row of an area to the next in a copy.
    pub(super) fn row_length(&self, area: &Area) -> usize {
        area.columns + self.copies[2].more
    }

    /// The elements of a copy of an area.
    fn copy_length(&self, area: &Area) -> usize {
        (area.rows + self.copies[1].more) * self.row_length(area)
    }

    /// The elements that are copied for an area of a channel.
    pub(super) fn channel_length(&self, area: &Area) -> usize {
        self.copies.iter().map(|copies| copies.starts.len()).product::<usize>() * self.copy_length(area)
    }

    /// The distances of the first element that each tap of each channel reads, in ascending order.
    pub(super) fn offsets(&self, area: &Area, channels: usize) -> Vec<usize> {
        let [_, down, across] = &self.copies;
        let (length, row) = (self.copy_length(area), self.row_length(area));
        let mut offsets = Vec::with_capacity(channels * self.taps());
        for channel in 0..channels {
            let first = channel * self.channel_length(area);
            for plane in 0..self.copies[0].taps.len() {
                for (copy_down, y) in &down.taps {
                    for (copy_across, x) in &across.taps {
                        let copy = (plane * down.starts.len() + copy_down) * across.starts.len() + copy_across;
                        offsets.push(first + copy * length + y * row + x);
                    }
                }
            }
        }
        offsets
    }

    /// Whether each element of the target meets the element of the source at its own place, and no other.
    pub(super) fn is_same_place(&self) -> bool {
        self.lines.iter().all(|line| line.taps == [(0, 0)] && line.step == 1 && line.count == line.source)
    }

    /// The elements of a channel of the source.
    pub(super) fn source_length(&self) -> usize {
        self.lines.iter().map(|line| line.source).product()
    }

    /// Copies an area of consecutive channels.
    ///
    /// # Safety
    ///
    /// The target must have space for the copies of so many channels.
    pub(super) unsafe fn copy<T: Element>(&self, area: &Area, source: &[T], channels: usize, target: *mut T::Wide) {
        let (length, row_length) = (self.source_length(), self.row_length(area));
        if self.is_shifted(area) {
            let count = self.channel_length(area);
            for channel in 0..channels {
                // SAFETY: the caller's promise.
                let target = unsafe { std::slice::from_raw_parts_mut(target.add(channel * count), count) };
                self.copy_shifted(area, &source[channel * length..(channel + 1) * length], target);
            }
            return;
        }
        let mut next = target;
        for channel in 0..channels {
            let channel = &source[channel * length..(channel + 1) * length];
            self.each_row(area, |row, column| {
                // SAFETY: the copies have this many rows in all.
                let line = unsafe { std::slice::from_raw_parts_mut(next, row_length) };
                next = next.wrapping_add(row_length);
                match row {
                    Some(first) => {
                        copy_line(&channel[first..][..self.lines[2].source], column, self.lines[2].step, line)
                    }
                    None => line.fill(T::Wide::ZERO),
                }
            });
        }
    }

    /// Whether the rows of each copy are whole rows of the source, moved to one side.
    fn is_shifted(&self, area: &Area) -> bool {
        let [_, y, x] = &self.lines;
        y.step == 1 && x.step == 1 && self.row_length(area) == x.source && self.copies[2].more == 0 && x.source > 0
    }

    /// Copies an area of a channel whose copies are shifted: all rows at once.
    fn copy_shifted<T: Element>(&self, area: &Area, source: &[T], target: &mut [T::Wide]) {
        let ([z, y, x], rows) = (&self.lines, area.rows + self.copies[1].more);
        let mut copies = target.chunks_exact_mut(rows * x.source);
        for plane in self.planes(area) {
            let plane = place(plane, z.source);
            for row in &self.copies[1].starts {
                let [before, first, count] = match plane {
                    Some(_) => inside(y.source, row + area.first_row as isize, 1, rows),
                    None => [rows, 0, 0],
                };
                let first = (plane.unwrap_or_default() * y.source + first) * x.source;
                for (&columns, copy) in self.copies[2].starts.iter().zip(&mut copies) {
                    let (above, rest) = copy.split_at_mut(before * x.source);
                    let (copied, below) = rest.split_at_mut(count * x.source);
                    above.fill(T::Wide::ZERO);
                    below.fill(T::Wide::ZERO);
                    shift_rows(source, first, columns, x.source, copied);
                }
            }
        }
    }

    /// The planes of the source that each copy of an area is of; they may be outside.
    fn planes(&self, area: &Area) -> impl Iterator<Item = isize> {
        let first = (area.plane * self.lines[0].step) as isize;
        self.copies[0].starts.iter().map(move |plane| plane + first)
    }

    /// Calls a function with each row of the copies of a channel: the first element of the row of the source, if it is
    /// inside, and the place in it that the copy begins with.
    pub(super) fn each_row(&self, area: &Area, mut call: impl FnMut(Option<usize>, isize)) {
        let [z, y, x] = &self.lines;
        let rows = area.rows + self.copies[1].more;
        for plane in self.planes(area) {
            for row in &self.copies[1].starts {
                for column in &self.copies[2].starts {
                    let column = column + (area.first_column * x.step) as isize;
                    for number in 0..rows {
                        let row = row + ((area.first_row + number) * y.step) as isize;
                        let inside = place(plane, z.source).zip(place(row, y.source));
                        call(inside.map(|(plane, row)| (plane * y.source + row) * x.source), column);
                    }
                }
            }
        }
    }
}

/// A place that is inside.
fn place(place: isize, length: usize) -> Option<usize> {
    usize::try_from(place).ok().filter(|place| *place < length)
}

/// Of `count` elements at a distance from each other, returns the number of those before the source, the place of the
/// first one inside, and the number of those inside.
pub(super) fn inside(source: usize, first: isize, step: usize, count: usize) -> [usize; 3] {
    let before = ((-first).max(0) as usize).div_ceil(step).min(count);
    let first_inside = (first + (before * step) as isize).max(0) as usize;
    [before, first_inside, source.saturating_sub(first_inside).div_ceil(step).min(count - before)]
}

/// Copies whole rows from some element of the source on, each moved by a number of columns, with zeros where there are
/// none.
fn shift_rows<T: Element>(source: &[T], first: usize, columns: isize, length: usize, target: &mut [T::Wide]) {
    let moved = columns.unsigned_abs();
    if moved >= length {
        target.fill(T::Wide::ZERO);
        return;
    }
    let [before, begin, count] = inside(source.len(), first as isize + columns, 1, target.len());
    let begin = begin.min(source.len());
    T::widen_all(&source[begin..begin + count], &mut target[before..before + count]);
    let begin = if columns < 0 { 0 } else { length - moved };
    for row in target.chunks_exact_mut(length).filter(|_| moved > 0) {
        row[begin..begin + moved].fill(T::Wide::ZERO);
    }
}

/// Copies elements at a distance from each other, zeros where there are none.
fn copy_line<T: Element>(source: &[T], first: isize, step: usize, target: &mut [T::Wide]) {
    let [before, first_inside, inside] = inside(source.len(), first, step, target.len());
    let (zeros, rest) = target.split_at_mut(before);
    let (copied, more_zeros) = rest.split_at_mut(inside);
    zeros.fill(T::Wide::ZERO);
    more_zeros.fill(T::Wide::ZERO);
    if step == 1 {
        T::widen_all(&source[first_inside.min(source.len())..][..inside], copied);
    } else {
        let elements = source[first_inside.min(source.len())..].iter().step_by(step);
        copied.iter_mut().zip(elements).for_each(|(copy, element)| *copy = element.widen());
    }
}
