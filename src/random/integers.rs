//! Random whole numbers without bias.
//!
//! A word times the size of a range consists of a number of the range (the upper half of the product) and a remainder
//! (the lower half). The few words whose remainders would make some numbers more frequent are rejected (D. Lemire,
//! “Fast Random Integer Generation in an Interval”, 2019). Each lane has as many attempts as it needs; the counter
//! distinguishes the words of the attempts.

use std::ops::{Bound, RangeBounds};

use super::generator::{Call, Generator, parameter};
use super::words::{join, refuse};
use crate::{Array, Choice, Integer, Size, UInt, UInt64, jit};

/// The number of 32-bit words.
const WORDS: u128 = 1 << 32;

impl Generator {
    /// Returns uniform whole numbers of a range: `rng.integers(1..=6, n)`. An open end of the range is the smallest or
    /// largest number of the type. No number is more frequent than another.
    ///
    /// # Panics
    ///
    /// When the range is empty.
    #[must_use]
    #[track_caller]
    pub fn integers<T: Integer>(&mut self, range: impl RangeBounds<T>, width: impl Into<Size>) -> Array<T> {
        let (first, last) = ends(&range);
        if first > last {
            refuse(
                format!("cannot draw random numbers from an empty range: there are none from {first} to {last}"),
                "the lower bound must be below the upper one, or equal to it in `low..=high`",
            );
        }
        let (call, size) = (self.call(width.into()), (last - first) as u128 + 1);
        // Sums of two's complement bits wrap to the right number, also in 32 bits if the type has no more.
        if size <= WORDS && T::TYPE.bits() <= 32 {
            (call.below_u32(size) + UInt::opaque(first as u32)).cast()
        } else {
            (call.below_u64(size) + UInt64::opaque(first as u64)).cast()
        }
    }

    /// Returns uniform whole numbers from `low` (included) to `high` (excluded), with bounds that may differ by lane.
    /// Where `high` is not above `low`, the number is `low`. No number is more frequent than another.
    ///
    /// # Panics
    ///
    /// When a bound has neither width one nor the requested width.
    #[must_use]
    #[track_caller]
    pub fn integers_between<T: Integer, A: Choice<B, T>, B>(
        &mut self,
        low: A,
        high: B,
        width: impl Into<Size>,
    ) -> Array<T> {
        let (width, (low, high)) = (width.into(), low.both(high));
        let (low, high) = (parameter("low", low, width), parameter("high", high, width));
        let (call, is_empty) = (self.call(width), high.le(&low));
        if T::TYPE.bits() <= 32 {
            let [low, high] = [&low, &high].map(|bound| bound.cast::<u32>());
            let size = is_empty.select(0, high - &low);
            let excess = (0 - &size) % &size;
            (reject_u32(&call, &size, &excess) + low).cast()
        } else {
            let [low, high] = [&low, &high].map(|bound| bound.cast::<u64>());
            let size = is_empty.select(0, high - &low);
            let excess = (0 - &size) % &size;
            (reject_u64(&call, &size, &excess) + low).cast()
        }
    }
}

impl Call {
    /// Returns numbers below the width of an array.
    #[track_caller]
    pub(super) fn below_size(&self, size: Size) -> UInt {
        if size.is_constant() {
            return self.below_u32(size.now() as u128);
        }
        let size = UInt::from(size);
        let excess = (0 - &size) % &size;
        reject_u32(self, &size, &excess)
    }

    /// Returns numbers below a size of at most 2³².
    #[track_caller]
    fn below_u32(&self, size: u128) -> UInt {
        let size_opaque = UInt::opaque(size as u32);
        let [word, ..] = self.words(0);
        match u32::try_from(WORDS % size) {
            _ if size == WORDS => word,
            Ok(0) => word.mul_hi(&size_opaque),
            excess => reject_u32(self, &size_opaque, &UInt::opaque(excess.unwrap_or_default())),
        }
    }

    /// Returns numbers below a size of at most 2⁶⁴.
    #[track_caller]
    fn below_u64(&self, size: u128) -> UInt64 {
        if size <= WORDS {
            return self.below_u32(size).cast();
        }
        let words = WORDS * WORDS;
        let size_opaque = UInt64::opaque(size as u64);
        let [low, high, ..] = self.words(0);
        match (words % size) as u64 {
            _ if size == words => join(&low, &high),
            0 => join(&low, &high).mul_hi(&size_opaque),
            excess => reject_u64(self, &size_opaque, &UInt64::opaque(excess)),
        }
    }
}

/// Returns numbers below a size, from words whose remainder is not below `excess`, which is 2³² mod size.
#[jit]
fn reject_u32(call: &Call, size: &UInt, excess: &UInt) -> UInt {
    let mut attempt = UInt::from(0);
    let (mut number, mut rest) = first_fair_u32(call, &attempt, size, excess);
    while rest < excess {
        attempt += 1;
        (number, rest) = first_fair_u32(call, &attempt, size, excess);
    }
    number
}

/// Like [`reject_u32`], with 2⁶⁴ mod size.
#[jit]
fn reject_u64(call: &Call, size: &UInt64, excess: &UInt64) -> UInt64 {
    let mut attempt = UInt::from(0);
    let (mut number, mut rest) = first_fair_u64(call, &attempt, size, excess);
    while rest < excess {
        attempt += 1;
        (number, rest) = first_fair_u64(call, &attempt, size, excess);
    }
    number
}

/// Returns number and remainder of the first of four words that is accepted, or of the last one.
#[track_caller]
fn first_fair_u32(call: &Call, attempt: &UInt, size: &UInt, excess: &UInt) -> (UInt, UInt) {
    let [first, others @ ..] = call.words(attempt).map(|word| (word.mul_hi(size), word * size));
    others.into_iter().fold(first, |found, next| {
        let is_fair = found.1.ge(excess);
        (is_fair.select(found.0, next.0), is_fair.select(&found.1, next.1))
    })
}

/// Returns number and remainder of the first of two words that is accepted, or of the last one.
#[track_caller]
fn first_fair_u64(call: &Call, attempt: &UInt, size: &UInt64, excess: &UInt64) -> (UInt64, UInt64) {
    let [a, b, c, d] = call.words(attempt);
    let [first, second] = [join(&a, &b), join(&c, &d)].map(|word| (word.mul_hi(size), word * size));
    let is_fair = first.1.ge(excess);
    (is_fair.select(first.0, second.0), is_fair.select(&first.1, second.1))
}

/// Returns the first and the last number of a range.
fn ends<T: Integer>(range: &impl RangeBounds<T>) -> (i128, i128) {
    let bits = T::TYPE.bits();
    let (least, most) = if T::TYPE.is_signed_integer() {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    } else {
        (0, (1_i128 << bits) - 1)
    };
    let first = match range.start_bound() {
        Bound::Included(bound) => value(*bound),
        Bound::Excluded(bound) => value(*bound) + 1,
        Bound::Unbounded => least,
    };
    let last = match range.end_bound() {
        Bound::Included(bound) => value(*bound),
        Bound::Excluded(bound) => value(*bound) - 1,
        Bound::Unbounded => most,
    };
    (first, last)
}

/// Returns an integer of any type as a number.
fn value<T: Integer>(integer: T) -> i128 {
    let unused = 64 - T::TYPE.bits();
    if T::TYPE.is_signed_integer() {
        // The sign bit moves to the highest bit and back.
        return i128::from(((integer.to_bits() << unused) as i64) >> unused);
    }
    i128::from(integer.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_ranges_are_numbers_of_the_type() {
        assert_eq!(ends(&(1..=6_u32)), (1, 6));
        assert_eq!(ends(&(-5..5_i8)), (-5, 4));
        assert_eq!(ends::<i64>(&(..)), (i128::from(i64::MIN), i128::from(i64::MAX)));
        assert_eq!(ends(&(7_u64..)), (7, i128::from(u64::MAX)));
        assert_eq!(ends(&(3..3_u8)), (3, 2));
    }
}
