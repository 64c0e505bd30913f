//! Radix sort: counts how often each digit occurs, and distributes elements by it.
//!
//! Elements are unsigned words, ordered as an [`Order`] defines. Digits are the bytes of the words in that order,
//! lowest first (Knuth, *The Art of Computer Programming* 3, §5.2.5). Each distribution preserves the order of elements
//! with equal digits.

use crate::backend::library::SortKey;
use crate::ir::Type;

/// Values of a digit.
pub(super) const RADIX: usize = 256;
/// How often each value of a digit occurs, or the next target position of elements with it.
pub(super) type Table = [u32; RADIX];

/// The bits of an element.
pub(super) trait Word: Copy + Default + Ord + Send + Sync + 'static {
    /// The number of digits of a word.
    const DIGITS: usize;
    /// The low bits of a carrier.
    fn from_carrier(bits: u64) -> Self;
    /// The key of this word: keys are compared as unsigned numbers.
    fn key(self, order: Order<Self>) -> Self;
    /// A digit of a key, as an index.
    fn digit(self, digit: usize) -> usize;
}

/// A [`SortKey`] in the type of the words.
#[derive(Clone, Copy)]
pub(super) struct Order<W> {
    flip: W,
    spread: W,
    smallest: W,
    largest: W,
    turn: W,
}

impl<W: Word> Order<W> {
    /// The order of an element type.
    pub(super) fn of(ty: Type, is_descending: bool) -> Order<W> {
        let SortKey { flip, spread, smallest, largest, turn } = SortKey::of(ty, is_descending);
        let [flip, spread, smallest, largest, turn] = [flip, spread, smallest, largest, turn].map(W::from_carrier);
        Order { flip, spread, smallest, largest, turn }
    }
}

macro_rules! words {
    ($($word:ty, $signed:ty;)*) => {$(
        impl Word for $word {
            const DIGITS: usize = size_of::<$word>();

            #[inline(always)]
            fn from_carrier(bits: u64) -> Self {
                bits as $word
            }

            #[inline(always)]
            fn key(self, order: Order<Self>) -> Self {
                let is_negative = (self as $signed >> (<$word>::BITS - 1)) as $word;
                let rank = (self ^ order.flip ^ (is_negative & order.spread)).wrapping_sub(order.smallest);
                rank.min(order.largest) ^ order.turn
            }

            #[inline(always)]
            fn digit(self, digit: usize) -> usize {
                (self >> (8 * digit)) as u8 as usize
            }
        }
    )*};
}

words! {
    u8, i8;
    u16, i16;
    u32, i32;
    u64, i64;
}

/// Counts the values of every digit.
pub(super) fn count_all<W: Word>(values: &[W], order: Order<W>, tables: &mut [Table]) {
    tables.iter_mut().for_each(|table| table.fill(0));
    for value in values {
        let key = value.key(order);
        for (digit, table) in tables.iter_mut().enumerate() {
            table[key.digit(digit)] += 1;
        }
    }
}

/// Counts the values of one digit.
pub(super) fn count<W: Word>(values: &[W], order: Order<W>, digit: usize, table: &mut Table) {
    table.fill(0);
    for value in values {
        table[value.key(order).digit(digit)] += 1;
    }
}

/// Converts the counts of consecutive blocks to the positions to which each block distributes.
pub(super) fn places<'a>(tables: impl Fn(usize) -> &'a mut Table, blocks: usize) {
    let mut next = 0;
    for value in 0..RADIX {
        for block in 0..blocks {
            let place = &mut tables(block)[value];
            next += std::mem::replace(place, next);
        }
    }
}

/// The source of the positions of elements.
#[derive(Clone, Copy)]
pub(super) enum Positions<'a> {
    /// Elements are still in their original order, starting at this position.
    From(u32),
    /// They were moved already.
    At(&'a [u32]),
}

/// The targets of elements and their positions; outputs that are not wanted have none.
#[derive(Clone, Copy)]
pub(super) struct Targets<W> {
    pub(super) values: Option<*mut W>,
    pub(super) positions: Option<*mut u32>,
}

/// Moves elements and their positions to the positions of their digit, consecutively.
///
/// # Safety
///
/// The targets must have room at all positions: starting at the table's, as many as there are elements with the digit.
/// No other thread may access them.
pub(super) unsafe fn distribute<W: Word>(
    values: &[W],
    positions: Positions<'_>,
    (order, digit): (Order<W>, usize),
    mut places: Table,
    targets: Targets<W>,
) {
    macro_rules! distribute {
        (|$index:ident, $place:ident, $value:ident| $put:expr) => {
            for ($index, &$value) in values.iter().enumerate() {
                let next = &mut places[$value.key(order).digit(digit)];
                let $place = *next as usize;
                *next += 1;
                // SAFETY: the caller's promise.
                unsafe { $put }
            }
        };
    }
    match (targets.values, targets.positions, positions) {
        (Some(to), None, _) => distribute!(|_index, place, value| to.add(place).write(value)),
        (None, Some(to), Positions::From(first)) => {
            distribute!(|index, place, value| to.add(place).write(first + index as u32));
        }
        (None, Some(to), Positions::At(from)) => {
            distribute!(|index, place, value| to.add(place).write(from[index]));
        }
        (Some(to), Some(to_positions), Positions::From(first)) => distribute!(|index, place, value| {
            to.add(place).write(value);
            to_positions.add(place).write(first + index as u32);
        }),
        (Some(to), Some(to_positions), Positions::At(from)) => distribute!(|index, place, value| {
            to.add(place).write(value);
            to_positions.add(place).write(from[index]);
        }),
        (None, None, _) => {}
    }
}
