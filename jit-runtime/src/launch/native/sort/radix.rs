//! Sorting by digits: counting how often each digit occurs, and distributing elements by it.
//!
//! Elements are unsigned words whose order an [`Order`] says; digits are the bytes of the words in that order, the
//! lowest first (Knuth, *The Art of Computer Programming* 3, §5.2.5). Each distribution keeps the order of elements
//! with equal digits.

use crate::ir::Type;

/// Values of a digit.
pub(super) const RADIX: usize = 256;
/// How often each value of a digit occurs, or where elements with it go next.
pub(super) type Table = [u32; RADIX];

/// The bits of an element.
pub(super) trait Word: Copy + Default + Ord + Send + Sync + 'static {
    /// Digits that a word has.
    const DIGITS: usize;
    /// The low bits of a carrier.
    fn from_carrier(bits: u64) -> Self;
    /// The word that is compared as an unsigned number in place of this one.
    fn key(self, order: Order<Self>) -> Self;
    /// A digit of a key, as an index.
    fn digit(self, digit: usize) -> usize;
}

/// What makes unsigned numbers of words, so that they are ordered as the elements are.
#[derive(Clone, Copy)]
pub(super) struct Order<W> {
    /// Bits that are flipped: the sign bit of signed types.
    flip: W,
    /// Bits that are flipped in negative numbers: all others of floats.
    spread: W,
    /// What the smallest element has become then; NaN with a sign bit lie below, and become the largest.
    smallest: W,
    /// What the largest key may be: that of a NaN, whose bits are nobody's choice, for all of them.
    largest: W,
    /// All bits if the largest elements come first.
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
        // Finite numbers and infinities of both signs, zeros included, are two for each magnitude up to that of
        // infinity.
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

/// Turns the counts of consecutive blocks into the places to which each block distributes.
pub(super) fn places<'a>(tables: impl Fn(usize) -> &'a mut Table, blocks: usize) {
    let mut next = 0;
    for value in 0..RADIX {
        for block in 0..blocks {
            let place = &mut tables(block)[value];
            next += std::mem::replace(place, next);
        }
    }
}

/// Where positions of elements are found.
#[derive(Clone, Copy)]
pub(super) enum Positions<'a> {
    /// Elements lie where they lay at first, from this position on.
    From(u32),
    /// They were moved already.
    At(&'a [u32]),
}

/// Where elements and their positions go; what is not wanted has no place.
#[derive(Clone, Copy)]
pub(super) struct Targets<W> {
    pub(super) values: Option<*mut W>,
    pub(super) positions: Option<*mut u32>,
}

/// Moves elements and their positions to the places of their digit, one behind the other.
///
/// # Safety
///
/// The targets have room at all places, from the table's on as many as there are elements with the digit, and nobody
/// else accesses these.
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
