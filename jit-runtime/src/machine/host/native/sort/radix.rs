//! Radix sort: counts how often each digit occurs, and distributes elements by it.
//!
//! Elements are unsigned words, ordered as an [`Order`] defines. Digits are the bytes of the words in that order,
//! lowest first (Knuth, *The Art of Computer Programming* 3, §5.2.5). Each distribution preserves the order of elements
//! with equal digits.

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

/// Maps words to unsigned numbers that have the order of the elements.
#[derive(Clone, Copy)]
pub(super) struct Order<W> {
    /// Bits that are flipped: the sign bit of signed types.
    flip: W,
    /// Bits that are flipped in negative numbers: for floats, all other bits.
    spread: W,
    /// The mapped value of the smallest element. NaNs with a sign bit are below it, and become the largest.
    smallest: W,
    /// The largest key, which all NaNs have, since their bits are unspecified.
    largest: W,
    /// All bits set if the largest elements come first.
    turn: W,
}

impl<W: Word> Order<W> {
    /// The order of an element type.
    pub(super) fn of(ty: Type, is_descending: bool) -> Order<W> {
        let sign = 1_u64 << (ty.bits().max(8) - 1);
        let (flip, spread, smallest) = match ty {
            _ if ty.is_float() => (sign, sign - 1, !negative_infinity(ty) & ty.bit_mask()),
            Type::I8 | Type::I16 | Type::I32 | Type::I64 => (sign, 0, 0),
            _ => (0, 0, 0),
        };
        let word = W::from_carrier;
        let turn = if is_descending { u64::MAX } else { 0 };
        // Finite numbers and infinities of both signs, including zeros: two for each magnitude up to infinity.
        let numbers = 2 * (negative_infinity(ty) & (sign - 1)) + 2;
        let largest = if ty.is_float() { numbers } else { u64::MAX };
        let [flip, spread, smallest] = [flip, spread, smallest].map(word);
        Order { flip, spread, smallest, largest: word(largest), turn: word(turn) }
    }
}

/// The bits of minus infinity.
fn negative_infinity(ty: Type) -> u64 {
    match ty {
        Type::F16 => 0xfc00,
        Type::BF16 => 0xff80,
        Type::F32 => 0xff80_0000,
        _ => 0xfff0_0000_0000_0000,
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
