//! Copies of parts of a factor, in the order in which the kernel reads them.

use super::vector::Lane;

mod wide;

/// The rows and columns of a square that is transposed in registers.
const SQUARE: usize = 8;

/// A part of a factor, seen from its sums: `items` are rows of `a` or columns of `b`, each of which has `inner`
/// numbers.
pub(in super::super) struct Source<T> {
    pub(in super::super) first: *const T,
    pub(in super::super) items: usize,
    /// The distance of the items in memory.
    pub(in super::super) item_stride: usize,
    pub(in super::super) inner: usize,
    /// The distance of the numbers of an item.
    pub(in super::super) inner_stride: usize,
}

/// Writes one number of each item, then the next one of each: to each of them belong `width` numbers in the target,
/// zeros after the last item. One of the strides is 1.
///
/// # Safety
///
/// The source must be readable, the target have space for `inner * width` numbers, and `items` be at most `width`.
pub(in super::super) unsafe fn pack<T: Lane>(source: &Source<T>, width: usize, target: *mut T) {
    // SAFETY: the caller's promise; positions stay below the numbers of items and of their elements.
    unsafe {
        if source.item_stride == 1 {
            copy_rows(source, width, target);
        } else {
            transpose(source, width, target);
        }
        for inner in 0..source.inner {
            for item in source.items..width {
                *target.add(inner * width + item) = T::ZERO;
            }
        }
    }
}

/// # Safety
///
/// As [`pack`].
unsafe fn copy_rows<T: Lane>(source: &Source<T>, width: usize, target: *mut T) {
    for inner in 0..source.inner {
        // SAFETY: the caller's promise.
        unsafe {
            let from = source.first.add(inner * source.inner_stride);
            std::ptr::copy_nonoverlapping(from, target.add(inner * width), source.items);
        }
    }
}

/// # Safety
///
/// As [`pack`].
unsafe fn transpose<T: Lane>(source: &Source<T>, width: usize, target: *mut T) {
    // SAFETY: the caller's promise; the parts are those of the source. Numbers of four bytes are transposed as such.
    unsafe {
        let (items, inner) = wide::transpose(source, width, target);
        let below = Source { inner: source.inner - inner, ..part_of(source, 0, inner, items) };
        transpose_narrow(&below, width, target.add(inner * width));
        let beside = part_of(source, items, 0, source.items - items);
        transpose_narrow(&beside, width, target.add(items));
    }
}

/// Some items, from one of their numbers on. The length is that of the source.
fn part_of<T>(source: &Source<T>, item: usize, inner: usize, items: usize) -> Source<T> {
    let first = source.first.wrapping_add(item * source.item_stride + inner * source.inner_stride);
    Source { first, items, ..*source }
}

/// # Safety
///
/// As [`pack`].
unsafe fn transpose_narrow<T: Lane>(source: &Source<T>, width: usize, target: *mut T) {
    let (whole_items, whole_inner) = (source.items / SQUARE * SQUARE, source.inner / SQUARE * SQUARE);
    // SAFETY: the caller's promise; squares are inside of the part.
    unsafe {
        for item in (0..whole_items).step_by(SQUARE) {
            for inner in (0..whole_inner).step_by(SQUARE) {
                transpose_square(source, (item, inner), width, target);
            }
            transpose_each(source, (item..item + SQUARE, whole_inner..source.inner), width, target);
        }
        transpose_each(source, (whole_items..source.items, 0..source.inner), width, target);
    }
}

/// # Safety
///
/// As [`pack`], and the square must be in the part.
#[inline(always)]
unsafe fn transpose_square<T: Lane>(source: &Source<T>, (item, inner): (usize, usize), width: usize, target: *mut T) {
    // SAFETY: the caller's promise.
    unsafe {
        let row = |row: usize| source.first.add((item + row) * source.item_stride + inner).cast::<[T; SQUARE]>().read();
        let rows: [[T; SQUARE]; SQUARE] = std::array::from_fn(row);
        for column in 0..SQUARE {
            let numbers: [T; SQUARE] = rows.map(|row| row[column]);
            target.add((inner + column) * width + item).cast::<[T; SQUARE]>().write(numbers);
        }
    }
}

/// # Safety
///
/// As [`pack`], and the ranges must be in the part.
unsafe fn transpose_each<T: Lane>(
    source: &Source<T>,
    (items, inner): (std::ops::Range<usize>, std::ops::Range<usize>),
    width: usize,
    target: *mut T,
) {
    for item in items {
        for inner in inner.clone() {
            // SAFETY: the caller's promise.
            unsafe {
                *target.add(inner * width + item) =
                    *source.first.add(item * source.item_stride + inner * source.inner_stride);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_any_number_and_length_are_transposed() {
        for (items, inner) in [(1, 1), (7, 40), (8, 16), (16, 16), (16, 15), (17, 33), (31, 64), (32, 50), (29, 7)] {
            let (width, stride) = (32, inner + 3);
            let numbers: Vec<f32> = (1..=items * stride).map(|number| number as f32).collect();
            let source = Source { first: numbers.as_ptr(), items, item_stride: stride, inner, inner_stride: 1 };
            let mut target = vec![-1.0; inner * width];
            // SAFETY: the source and the target have these sizes.
            unsafe { pack(&source, width, target.as_mut_ptr()) };
            let number = |position: usize| {
                let (step, item) = (position / width, position % width);
                if item < items { numbers[item * stride + step] } else { 0.0 }
            };
            assert!((0..inner * width).all(|position| target[position] == number(position)), "{items}, {inner}");
        }
    }
}
