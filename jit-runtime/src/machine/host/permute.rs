//! Rectangles of elements whose rows become columns.
//!
//! Blocks of 16 bytes of some columns are transposed in the widest registers that the processor has. What is not as
//! long or as wide as that is copied from and to a block that is.

use crate::cache::permuted::Rectangle;

mod registers;

use registers::{MOST_COLUMNS, MOST_ROWS, PART, Way};

/// The bytes of a cache line, and of the longest register.
const LINE: usize = 64;
/// Columns at a multiple of so many bytes from each other share few places in the nearest cache: all of their lines are
/// read at once, and not again for each block.
const CONFLICT: isize = 1024;

/// Moves the elements of a rectangle.
///
/// # Safety
///
/// All of its elements must be readable at the source, with 16 bytes behind the last one, and writable at the target,
/// and nothing else may access what is written.
pub(super) unsafe fn transpose(rectangle: &Rectangle) {
    match Way::of(rectangle.size, rectangle.columns) {
        // SAFETY: the caller's promise, and the processor has the instructions.
        Some(way) => unsafe { transpose_by(&way, rectangle) },
        // SAFETY: the caller's promise.
        None => unsafe { transpose_each(rectangle) },
    }
}

/// # Safety
///
/// As for [`transpose`], and the processor must have the instructions.
unsafe fn transpose_by(way: &Way, rectangle: &Rectangle) {
    let (columns, rows, size) = (rectangle.columns as usize, rectangle.rows as usize, rectangle.size as usize);
    let (across, down) = (rectangle.across as isize, rectangle.down as isize);
    let mut copies = Copies { lines: [[0; LINE]; MOST_COLUMNS], block: [[0; LINE]; MOST_ROWS] };
    for begin in (0..columns).step_by(way.columns) {
        // The last block begins where it has all of its columns, if there are so many.
        let first = begin.min(columns.saturating_sub(way.columns));
        for top in (0..rows).step_by(LINE / size) {
            let part = Part {
                source: (rectangle.source as *const u8)
                    .wrapping_offset(first as isize * across)
                    .wrapping_add(top * size),
                target: (rectangle.target as *mut u8).wrapping_offset(top as isize * down).wrapping_add(first * size),
                size,
                across,
                down,
                columns: (columns - first).min(way.columns),
                rows: (rows - top).min(LINE / size),
                rows_after: rows - rows.min(top + LINE / size),
            };
            // SAFETY: the caller's promise; the part is in the rectangle.
            unsafe { part.transpose(way, &mut copies) };
        }
    }
}

/// Lines that are transposed elsewhere, and blocks that are.
struct Copies {
    lines: [[u8; LINE]; MOST_COLUMNS],
    block: [[u8; LINE]; MOST_ROWS],
}

/// A part of a rectangle: a line of at most as many columns as a block has.
struct Part {
    source: *const u8,
    target: *mut u8,
    size: usize,
    across: isize,
    down: isize,
    columns: usize,
    rows: usize,
    /// The rows of the rectangle behind those of the part.
    rows_after: usize,
}

impl Part {
    /// # Safety
    ///
    /// As for [`transpose_by`].
    unsafe fn transpose(&self, way: &Way, copies: &mut Copies) {
        let (mut source, mut across) = (self.source, self.across);
        if across % CONFLICT == 0 || self.columns < way.columns {
            // SAFETY: the caller's promise.
            unsafe { self.copy_lines(&mut copies.lines) };
            (source, across) = (copies.lines.as_ptr().cast(), LINE as isize);
        }
        let whole = self.whole_blocks(way);
        // SAFETY: the caller's promise; there are so many blocks, and lines have space for all of their rows.
        unsafe {
            (way.blocks)(source, across, self.target, self.down, whole);
            for row in (whole * way.rows..self.rows).step_by(way.rows) {
                let block: *mut u8 = copies.block.as_mut_ptr().cast();
                (way.blocks)(source.add(row * self.size), across, block, LINE as isize, 1);
                self.copy_rows(row, &copies.block[..way.rows.min(self.rows - row)]);
            }
        }
    }

    /// The number of blocks that may be written where they belong: all of their rows are there, and what is written
    /// after the end of a row, if columns are missing, is written again by the rows that follow.
    fn whole_blocks(&self, way: &Way) -> usize {
        let (whole, missing) = (self.rows / way.rows, (way.columns - self.columns) * self.size);
        let row = self.columns * self.size;
        match missing {
            0 => whole,
            _ if self.down != row as isize => 0,
            _ => {
                let rows_that_follow = missing.div_ceil(row).saturating_sub(self.rows_after);
                self.rows.saturating_sub(rows_that_follow) / way.rows
            }
        }
    }

    /// # Safety
    ///
    /// As for [`transpose_by`].
    unsafe fn copy_lines(&self, lines: &mut [[u8; LINE]]) {
        let bytes = (self.rows * self.size).next_multiple_of(PART);
        for (column, line) in lines.iter_mut().take(self.columns).enumerate() {
            let column = self.source.wrapping_offset(column as isize * self.across);
            for part in (0..bytes).step_by(PART) {
                // SAFETY: the caller's promise; parts begin with an element.
                unsafe { std::ptr::copy_nonoverlapping(column.add(part), line.as_mut_ptr().add(part), PART) };
            }
        }
    }

    /// Writes rows, from one on, of as many elements as there are columns.
    ///
    /// # Safety
    ///
    /// As for [`transpose_by`].
    unsafe fn copy_rows(&self, first: usize, rows: &[[u8; LINE]]) {
        for (row, line) in (first as isize..).zip(rows) {
            let (target, bytes) = (self.target.wrapping_offset(row * self.down), self.columns * self.size);
            // SAFETY: the caller's promise. Most rows have one of few lengths.
            unsafe {
                match bytes {
                    LINE => std::ptr::copy_nonoverlapping(line.as_ptr(), target, LINE),
                    _ => std::ptr::copy_nonoverlapping(line.as_ptr(), target, bytes),
                }
            }
        }
    }
}

/// # Safety
///
/// As for [`transpose`].
unsafe fn transpose_each(rectangle: &Rectangle) {
    let Rectangle { source, target, size, columns, across, rows, down } = *rectangle;
    for row in 0..rows as i64 {
        for column in 0..columns as i64 {
            let from = source.wrapping_add_signed(column * across + row * size as i64) as *const u8;
            let to = target.wrapping_add_signed(column * size as i64 + row * down) as *mut u8;
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(from, to, size as usize) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a source, each of which is another than its neighbours.
    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    fn check(size: u64, [columns, rows]: [u64; 2], [pitch, gap]: [u64; 2], transpose: unsafe fn(&Rectangle)) {
        let (across, down) = ((rows + pitch) * size, (columns + gap) * size);
        let source = bytes((columns * across) as usize + 64);
        let mut target = vec![0xaa_u8; (rows * down) as usize];
        let first = source.as_ptr() as u64;
        let rectangle = Rectangle {
            source: first,
            target: target.as_mut_ptr() as u64,
            size,
            columns,
            across: across as i64,
            rows,
            down: down as i64,
        };
        // Also from the last column to the first one.
        let reversed = Rectangle { source: first + (columns - 1) * across, across: -(across as i64), ..rectangle };
        for (rectangle, is_reversed) in [(rectangle, false), (reversed, true)] {
            target.fill(0xaa);
            // SAFETY: the source and the target have these sizes.
            unsafe { transpose(&rectangle) };
            for (at, byte) in target.iter().enumerate() {
                let at = at as u64;
                let (row, column) = (at / down, at % down / size);
                let column = if is_reversed { (columns - 1).wrapping_sub(column) } else { column };
                let from = column.wrapping_mul(across).wrapping_add(row * size + at % size);
                let expected = if at % down < columns * size { source[from as usize] } else { 0xaa };
                assert_eq!(*byte, expected, "{size} bytes, {columns} columns, {rows} rows, byte {at}");
            }
        }
    }

    #[test]
    fn rectangles_of_any_size_are_transposed() {
        for size in [1, 2, 4, 8] {
            for columns in (1..=40).chain([63, 64, 65, 100, 130, 200]) {
                for rows in [1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 40] {
                    check(size, [columns, rows], [columns % 5, rows % 3], transpose);
                    check(size, [columns, rows], [0, 0], transpose_each);
                }
            }
        }
    }

    #[test]
    fn every_kind_of_registers_transposes() {
        for size in [1, 2, 4, 8] {
            for (columns, rows, pitch) in [(100, 33, 3), (64, 64, 0), (17, 128, 1024 - 128), (130, 20, 4076)] {
                for way in Way::all(size) {
                    let source = bytes(((columns * (rows + pitch)) * size) as usize + 64);
                    let [mut found, mut expected] = [(); 2].map(|()| vec![0_u8; (columns * rows * size) as usize]);
                    let rectangle = |target: &mut Vec<u8>| Rectangle {
                        source: source.as_ptr() as u64,
                        target: target.as_mut_ptr() as u64,
                        size,
                        columns,
                        across: ((rows + pitch) * size) as i64,
                        rows,
                        down: (columns * size) as i64,
                    };
                    // SAFETY: the source and the targets have these sizes, and the processor has the instructions.
                    unsafe {
                        transpose_by(&way, &rectangle(&mut found));
                        transpose_each(&rectangle(&mut expected));
                    }
                    assert!(found == expected, "{size} bytes, {columns} columns, {rows} rows");
                }
            }
        }
    }
}
