//! Prefix reductions (scans): each element becomes the reduction of all elements up to it.
//!
//! The order in which elements are combined is that of [`crate::backend::library`]: rows of [`ROW`] elements, in chunks
//! of [`CHUNK`]. So neither the number of threads nor the vector width changes a bit, and errors are those of a few
//! thousand additions rather than of one addition per element.
//!
//! # How
//!
//! Memory is read and written once. A block reduces a chunk, which is then in the cache. It receives the carry of the
//! block before (see [`super::carry`]), passes its own on, and writes its results.

use std::ops::Range;
use std::sync::Arc;

use half::{bf16, f16};

use super::carry::Carries;
use super::element::{Add, And, Join, Max, Min, Mul, Or, Sum, Truth};
use super::stream::{self, STAGE_BYTES, Stage};
use super::{Context, Elements, Operand, Step, words};
use crate::Error;
use crate::ir::{ReduceOp, Type};
use crate::machine::library::Prefix;

pub(super) use crate::backend::library::{PREFIX_CHUNK as CHUNK, PREFIX_ROW as ROW};

/// The number of rows that are combined in parallel, so that one addition need not wait for the one before.
const ROWS_AT_ONCE: usize = 8;
/// The time for one element, roughly.
const NS_PER_ELEMENT: f64 = 0.5;

/// Launches a scan that was checked.
pub(super) fn launch(context: Context, prefix: Prefix, input: &Operand, output: &Operand) -> Result<(), Error> {
    macro_rules! by_op {
        ($ty:ty: $($op:ident),* $(; not $($refused:ident),*)?) => {
            match prefix.op {
                $(ReduceOp::$op => scan::<$ty, $op>(context, prefix, input, output),)*
                // Refused by the check.
                $($(ReduceOp::$refused)|* => Ok(()),)?
            }
        };
    }
    match input.ty {
        Type::Bool => by_op!(Truth: And, Or; not Add, Mul, Min, Max),
        Type::I8 => by_op!(i8: Add, Mul, Min, Max, And, Or),
        Type::I16 => by_op!(i16: Add, Mul, Min, Max, And, Or),
        Type::I32 => by_op!(i32: Add, Mul, Min, Max, And, Or),
        Type::I64 => by_op!(i64: Add, Mul, Min, Max, And, Or),
        Type::U8 => by_op!(u8: Add, Mul, Min, Max, And, Or),
        Type::U16 => by_op!(u16: Add, Mul, Min, Max, And, Or),
        Type::U32 => by_op!(u32: Add, Mul, Min, Max, And, Or),
        Type::U64 => by_op!(u64: Add, Mul, Min, Max, And, Or),
        Type::F16 => by_op!(f16: Add, Mul, Min, Max; not And, Or),
        Type::BF16 => by_op!(bf16: Add, Mul, Min, Max; not And, Or),
        Type::F32 => by_op!(f32: Add, Mul, Min, Max; not And, Or),
        Type::F64 => by_op!(f64: Add, Mul, Min, Max; not And, Or),
    }
}

/// The separately scanned parts, and the chunks into which they are cut, in the order of the scan.
#[derive(Clone, Copy)]
struct Layout {
    width: usize,
    restart: usize,
    is_reverse: bool,
}

/// A range of elements, and its position in its part.
struct Piece {
    first: usize,
    end: usize,
    begins_part: bool,
    ends_part: bool,
}

impl Layout {
    fn chunks_per_part(self) -> usize {
        self.restart.div_ceil(CHUNK)
    }

    /// Blocks of work: chunks of long parts, groups of short ones.
    fn blocks(self) -> usize {
        if self.is_chained() {
            let rest = self.width % self.restart;
            self.width / self.restart * self.chunks_per_part() + rest.div_ceil(CHUNK)
        } else {
            self.width.div_ceil(self.parts_per_block() * self.restart)
        }
    }

    /// Whether parts are longer than a block.
    fn is_chained(self) -> bool {
        self.restart > CHUNK
    }

    fn parts_per_block(self) -> usize {
        (CHUNK / self.restart).max(1)
    }

    /// The chunk that a block of a chained scan processes.
    fn chunk(self, block: usize) -> Piece {
        let (part, chunk) = (block / self.chunks_per_part(), block % self.chunks_per_part());
        let part_first = part * self.restart;
        let part_end = (part_first + self.restart).min(self.width);
        let done = chunk * CHUNK;
        let len = CHUNK.min(part_end - part_first - done);
        let first = if self.is_reverse { part_end - done - len } else { part_first + done };
        let ends_part = done + len == part_end - part_first;
        Piece { first, end: first + len, begins_part: chunk == 0, ends_part }
    }

    /// The elements of the parts that a block of short ones processes.
    fn parts(self, block: usize) -> Range<usize> {
        let stride = self.parts_per_block() * self.restart;
        block * stride..((block + 1) * stride).min(self.width)
    }
}

/// How chunks are scanned.
#[derive(Clone, Copy)]
struct Mode {
    is_exclusive: bool,
    is_reverse: bool,
    streams: bool,
}

fn scan<T, O>(context: Context, prefix: Prefix, input: &Operand, output: &Operand) -> Result<(), Error>
where
    T: Copy + 'static,
    O: Join<T>,
{
    let width = input.len;
    let layout = Layout { width, restart: prefix.restart.min(width.max(1)), is_reverse: prefix.is_reverse };
    let blocks = layout.blocks();
    let carries = layout.is_chained().then(|| Arc::new(Carries::new(blocks)));
    let mode = Mode {
        is_exclusive: prefix.is_exclusive,
        is_reverse: prefix.is_reverse,
        streams: stream::pays(2 * width * size_of::<T>()),
    };
    let step = Step {
        context,
        width,
        blocks,
        estimate_ns: NS_PER_ELEMENT * width as f64,
        reads: vec![Arc::clone(&input.buffer)],
        writes: vec![Arc::clone(&output.buffer)],
        carries: carries.clone(),
    };
    let (input, output) = (Elements::<T>::of(input), Elements::<T>::of(output));
    let run = move |block: usize| {
        if let Some(carries) = &carries {
            let piece = layout.chunk(block);
            // SAFETY: the chunks of different blocks are disjoint, and the input is only read.
            let (source, target) =
                unsafe { (input.get(piece.first..piece.end), output.get_mut(piece.first..piece.end)) };
            chained::<T, O>(carries, block, &piece, mode, source, target);
        } else {
            let range = layout.parts(block);
            // SAFETY: as above.
            let (source, target) = unsafe { (input.get(range.clone()), output.get_mut(range)) };
            write_parts::<T, O>(mode, source, target, layout.restart);
        }
        if mode.streams {
            stream::fence();
        }
    };
    // SAFETY: the function accesses the two buffers, whose sizes were checked, in ranges that are disjoint between
    // blocks.
    unsafe { step.submit(run) }
}

/// Scans a chunk of a long part.
fn chained<T: Copy + 'static, O: Join<T>>(
    carries: &Carries,
    block: usize,
    piece: &Piece,
    mode: Mode,
    source: &[T],
    target: &mut [T],
) {
    let _guard = carries.guard(block);
    let before = || {
        if piece.begins_part { Some(O::IDENTITY) } else { carries.take(block).map(O::Sum::from_carrier) }
    };
    let hand_over = |before: O::Sum, total: O::Sum| {
        if !piece.ends_part {
            carries.hand_over(block, O::join(before, total).to_carrier());
        }
    };
    if O::IS_EXACT {
        let total = source.iter().fold(O::IDENTITY, |sum, element| O::join(sum, O::widen(*element)));
        let Some(before) = before() else { return };
        hand_over(before, total);
        write::<T, O>(mode, source, target, before);
    } else {
        O::Sum::with_scratch(source.len(), |rows| {
            let (totals, total) = scan_rows::<T, O>(mode, source, rows);
            let Some(before) = before() else { return };
            hand_over(before, total);
            write_rows::<T, O>(mode, rows, &totals, target, before);
        });
    }
}

/// Scans parts of a length, of which the last one may be shorter.
fn write_parts<T: Copy + 'static, O: Join<T>>(mode: Mode, mut source: &[T], mut target: &mut [T], len: usize) {
    let together = ROWS_AT_ONCE * len;
    while !O::IS_EXACT && !mode.streams && len <= ROW && together <= source.len() {
        let (parts, rest) = source.split_at(together);
        let (results, rest_of_target) = std::mem::take(&mut target).split_at_mut(together);
        write_parts_at_once::<T, O>(mode, parts, results, len);
        (source, target) = (rest, rest_of_target);
    }
    for (source, target) in source.chunks(len).zip(target.chunks_mut(len)) {
        write::<T, O>(mode, source, target, O::IDENTITY);
    }
}

/// Scans parts of at most a row, so that one addition need not wait for the one before.
fn write_parts_at_once<T: Copy, O: Join<T>>(mode: Mode, source: &[T], target: &mut [T], len: usize) {
    let mut sums = [O::IDENTITY; ROWS_AT_ONCE];
    for position in 0..len {
        let position = if mode.is_reverse { len - 1 - position } else { position };
        for (part, sum) in sums.iter_mut().enumerate() {
            let next = O::join(*sum, O::widen(source[part * len + position]));
            target[part * len + position] = O::narrow(if mode.is_exclusive { *sum } else { next });
            *sum = next;
        }
    }
}

/// Scans up to a chunk of elements, continuing from a carry.
fn write<T: Copy + 'static, O: Join<T>>(mode: Mode, source: &[T], target: &mut [T], before: O::Sum) {
    if !O::IS_EXACT {
        O::Sum::with_scratch(source.len(), |rows| {
            let (totals, _) = scan_rows::<T, O>(mode, source, rows);
            write_rows::<T, O>(mode, rows, &totals, target, before);
        });
        return;
    }
    let mut sum = before;
    let mut write = |source: &[T], target: &mut [T]| sum = write_exact::<T, O>(mode, source, target, sum);
    if !mode.streams {
        return write(source, target);
    }
    let mut stage = Stage([0; STAGE_BYTES]);
    let stage = staged::<T>(&mut stage);
    for (first, end) in pieces(source.len(), stage.len(), mode.is_reverse) {
        let stage = &mut stage[..end - first];
        write(&source[first..end], stage);
        stream::copy(stage, &mut target[first..end]);
    }
}

/// Ranges of at most `step` elements, in the order of the scan.
fn pieces(len: usize, step: usize, is_reverse: bool) -> impl Iterator<Item = (usize, usize)> {
    (0..len).step_by(step).map(move |done| {
        let count = step.min(len - done);
        let first = if is_reverse { len - done - count } else { done };
        (first, first + count)
    })
}

/// The stage as elements.
fn staged<T: Copy>(stage: &mut Stage) -> &mut [T] {
    let len = STAGE_BYTES / size_of::<T>();
    // SAFETY: the stage is aligned for every element type, and zero is a valid value of each of them.
    unsafe { std::slice::from_raw_parts_mut(stage.0.as_mut_ptr().cast(), len) }
}

/// Combines one element after another. Returns the total.
fn write_exact<T: Copy + 'static, O: Join<T>>(mode: Mode, source: &[T], target: &mut [T], before: O::Sum) -> O::Sum {
    if !mode.is_reverse && words::apply::<T, O>() {
        // SAFETY: the elements are 32-bit integers.
        let (source, target) = unsafe { (as_words(source), as_words_mut(target)) };
        return O::Sum::from_carrier(words::scan(source, target, before.to_carrier() as u32, mode.is_exclusive).into());
    }
    let mut sum = before;
    let inclusive = |(target, source): (&mut T, &T)| {
        sum = O::join(sum, O::widen(*source));
        *target = O::narrow(sum);
    };
    let both = |is_exclusive: bool| (mode.is_reverse, is_exclusive);
    match both(mode.is_exclusive) {
        (false, false) => target.iter_mut().zip(source).for_each(inclusive),
        (true, false) => target.iter_mut().zip(source).rev().for_each(inclusive),
        (is_reverse, true) => {
            let exclusive = |(target, source): (&mut T, &T)| {
                *target = O::narrow(sum);
                sum = O::join(sum, O::widen(*source));
            };
            let pairs = target.iter_mut().zip(source);
            if is_reverse { pairs.rev().for_each(exclusive) } else { pairs.for_each(exclusive) }
        }
    }
    sum
}

/// # Safety
///
/// The elements must have 32 bits, and any bits must be valid.
unsafe fn as_words<T>(elements: &[T]) -> &[u32] {
    debug_assert_eq!(size_of::<T>(), size_of::<u32>());
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), elements.len()) }
}

/// # Safety
///
/// As [`as_words`].
unsafe fn as_words_mut<T>(elements: &mut [T]) -> &mut [u32] {
    debug_assert_eq!(size_of::<T>(), size_of::<u32>());
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), elements.len()) }
}

/// The total of the rows before each row of a chunk.
type Totals<S> = [S; CHUNK / ROW];

/// Scans each row separately, into scratch memory in the order of the scan. Returns the total before each row, and the
/// overall total.
fn scan_rows<T: Copy, O: Join<T>>(mode: Mode, source: &[T], rows: &mut [O::Sum]) -> (Totals<O::Sum>, O::Sum) {
    let last = source.len().wrapping_sub(1);
    let element = |position: usize| O::widen(source[if mode.is_reverse { last - position } else { position }]);
    let mut totals = [O::IDENTITY; CHUNK / ROW];
    let mut row = 0;
    while (row + ROWS_AT_ONCE) * ROW <= source.len() {
        let sums = scan_full_rows::<T, O>(mode.is_exclusive, &element, row, rows);
        totals[row..row + ROWS_AT_ONCE].copy_from_slice(&sums);
        row += ROWS_AT_ONCE;
    }
    for (row, total) in totals.iter_mut().enumerate().skip(row) {
        let (first, end) = ((row * ROW).min(source.len()), ((row + 1) * ROW).min(source.len()));
        let mut sum = *total;
        for (place, position) in rows[first..end].iter_mut().zip(first..) {
            let next = O::join(sum, element(position));
            *place = if mode.is_exclusive { sum } else { next };
            sum = next;
        }
        *total = sum;
    }
    let mut sum = O::IDENTITY;
    for total in &mut totals[..source.len().div_ceil(ROW)] {
        let next = O::join(sum, *total);
        *total = std::mem::replace(&mut sum, next);
    }
    (totals, sum)
}

#[inline(always)]
fn scan_full_rows<T: Copy, O: Join<T>>(
    is_exclusive: bool,
    element: &impl Fn(usize) -> O::Sum,
    row: usize,
    rows: &mut [O::Sum],
) -> [O::Sum; ROWS_AT_ONCE] {
    let mut sums = [O::IDENTITY; ROWS_AT_ONCE];
    for position in row * ROW..(row + 1) * ROW {
        for (lane, sum) in sums.iter_mut().enumerate() {
            let next = O::join(*sum, element(position + lane * ROW));
            rows[position + lane * ROW] = if is_exclusive { *sum } else { next };
            *sum = next;
        }
    }
    sums
}

/// Writes the results of a chunk whose rows were scanned.
fn write_rows<T: Copy, O: Join<T>>(
    mode: Mode,
    rows: &[O::Sum],
    totals: &Totals<O::Sum>,
    target: &mut [T],
    before: O::Sum,
) {
    let len = target.len();
    let mut stage = Stage([0; STAGE_BYTES]);
    let stage = staged::<T>(&mut stage);
    for (row, total) in totals.iter().enumerate().take(len.div_ceil(ROW)) {
        let before = O::join(before, *total);
        for first in (row * ROW..((row + 1) * ROW).min(len)).step_by(stage.len()) {
            let sums = &rows[first..((row + 1) * ROW).min(len).min(first + stage.len())];
            let start = if mode.is_reverse { len - first - sums.len() } else { first };
            let target = &mut target[start..start + sums.len()];
            let place = if mode.streams { &mut stage[..sums.len()] } else { &mut *target };
            let results = sums.iter().map(|sum| O::narrow(O::join(before, *sum)));
            if mode.is_reverse {
                place.iter_mut().rev().zip(results).for_each(|(place, result)| *place = result);
            } else {
                place.iter_mut().zip(results).for_each(|(place, result)| *place = result);
            }
            if mode.streams {
                stream::copy(&stage[..sums.len()], target);
            }
        }
    }
}
