//! Interval arithmetic for integers.
//!
//! An interval has a lower and an upper bound for a value, which is interpreted by its type and so with its sign. Both
//! bounds are signed 64-bit words. One number has another meaning if a type has larger values than a word: `i64::MAX`
//! as the upper end of `u64` values means that there is no upper end.
//!
//! Invariant: the interval of a result contains every value that the operation returns for operands in their intervals,
//! including wrap-around, shifts beyond the width and divisions by zero. If exact arithmetic on the ends leaves the
//! type, or may leave the words, the result is any value of the type. An interval whose lower end is above the upper
//! one belongs to code that does not run.
//!
//! Each function is written once, for any [`Machine`] that computes words. The host is one (tests compare it with brute
//! force), and generated code before its first lane is another. Only the dozen operations of the machines have to agree
//! between the two.

use crate::ir::Type;

/// Computes signed 64-bit words. Results that overflow wrap, and are not used.
pub(super) trait Machine {
    type Word: Copy + PartialEq;
    type Flag: Copy;

    fn number(&self, number: i64) -> Self::Word;
    fn add(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn sub(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn mul(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn min(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn max(&self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Rounded towards zero; the divisor is positive.
    fn div(&self, a: Self::Word, divisor: i64) -> Self::Word;
    /// Arithmetic; the count is below 64.
    fn shr(&self, a: Self::Word, count: u32) -> Self::Word;
    /// Ones up to the highest bit of a number that is not negative.
    fn ones(&self, a: Self::Word) -> Self::Word;
    fn le(&self, a: Self::Word, b: Self::Word) -> Self::Flag;
    fn both(&self, a: Self::Flag, b: Self::Flag) -> Self::Flag;
    fn select(&self, flag: Self::Flag, a: Self::Word, b: Self::Word) -> Self::Word;
}

/// The numbers from one to another, inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Interval<W> {
    pub(super) least: W,
    pub(super) most: W,
}

/// An integer type. Tests use types that kernels do not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Integer {
    pub(super) bits: u32,
    pub(super) is_signed: bool,
}

/// The upper end of an unbounded interval of `u64` values.
const UNBOUNDED: i64 = i64::MAX;

/// Sums and differences of words up to this one do not overflow.
const SMALL_TERM: i64 = 1 << 61;

/// Products of words up to this one do not overflow.
const SMALL_FACTOR: i64 = 1 << 31;

impl Integer {
    /// An integer type of the IR, or `bool` as a number of one bit.
    pub(super) fn of(ty: Type) -> Integer {
        debug_assert!(!ty.is_float());
        Integer { bits: ty.bits(), is_signed: ty.is_signed_integer() }
    }

    pub(super) fn least(self) -> i64 {
        if self.is_signed { i64::MIN >> (64 - self.bits) } else { 0 }
    }

    /// The largest value, or [`UNBOUNDED`].
    pub(super) fn most(self) -> i64 {
        if self.is_signed {
            i64::MAX >> (64 - self.bits)
        } else {
            (u64::MAX >> (64 - self.bits)).min(UNBOUNDED as u64) as i64
        }
    }

    /// Whether values may be larger than a word.
    fn exceeds_words(self) -> bool {
        self.bits == 64 && !self.is_signed
    }
}

/// The operations of the IR on intervals of a type.
pub(super) trait Arithmetic: Machine + Sized {
    /// All values of a type.
    fn any(&self, ty: Integer) -> Interval<Self::Word> {
        Interval { least: self.number(ty.least()), most: self.number(ty.most()) }
    }

    /// An interval if a flag is set, otherwise all values.
    fn if_or_any(&self, ty: Integer, flag: Self::Flag, interval: Interval<Self::Word>) -> Interval<Self::Word> {
        let any = self.any(ty);
        Interval {
            least: self.select(flag, interval.least, any.least),
            most: self.select(flag, interval.most, any.most),
        }
    }

    /// The interval of a result that wraps around if it does not fit; `is_exact` is set if the ends were computed
    /// without wrapping.
    fn wrapped(&self, ty: Integer, is_exact: Option<Self::Flag>, exact: Interval<Self::Word>) -> Interval<Self::Word> {
        let is_above = self.le(self.number(ty.least()), exact.least);
        let is_below = self.le(exact.most, self.number(ty.most()));
        let fits = self.both(is_above, is_below);
        self.if_or_any(ty, is_exact.map_or(fits, |is_exact| self.both(is_exact, fits)), exact)
    }

    /// Whether the ends of both intervals are small; none if the type guarantees it.
    fn are_small(&self, ty: Integer, limit: i64, intervals: [Interval<Self::Word>; 2]) -> Option<Self::Flag> {
        if ty.least() >= -limit && ty.most() <= limit {
            return None;
        }
        let [a, b] = intervals;
        let is_above = self.le(self.number(-limit), self.min(a.least, b.least));
        let is_below = self.le(self.max(a.most, b.most), self.number(limit));
        Some(self.both(is_above, is_below))
    }

    fn sum(&self, ty: Integer, a: Interval<Self::Word>, b: Interval<Self::Word>) -> Interval<Self::Word> {
        let exact = Interval { least: self.add(a.least, b.least), most: self.add(a.most, b.most) };
        self.wrapped(ty, self.are_small(ty, SMALL_TERM, [a, b]), exact)
    }

    fn difference(&self, ty: Integer, a: Interval<Self::Word>, b: Interval<Self::Word>) -> Interval<Self::Word> {
        let exact = Interval { least: self.sub(a.least, b.most), most: self.sub(a.most, b.least) };
        self.wrapped(ty, self.are_small(ty, SMALL_TERM, [a, b]), exact)
    }

    fn product(&self, ty: Integer, a: Interval<Self::Word>, b: Interval<Self::Word>) -> Interval<Self::Word> {
        // A product is extreme where both factors are.
        let by = |factor| {
            let ends = [self.mul(a.least, factor), self.mul(a.most, factor)];
            Interval { least: self.min(ends[0], ends[1]), most: self.max(ends[0], ends[1]) }
        };
        let exact = if b.least == b.most { by(b.least) } else { self.either(by(b.least), by(b.most)) };
        self.wrapped(ty, self.are_small(ty, SMALL_FACTOR, [a, b]), exact)
    }

    /// The quotient by a positive constant.
    fn quotient(&self, ty: Integer, a: Interval<Self::Word>, divisor: i64) -> Interval<Self::Word> {
        let most = (u64::MAX / divisor as u64).min(UNBOUNDED as u64) as i64;
        Interval {
            least: self.div(a.least, divisor),
            most: self.unless_unbounded(ty, a.most, most, self.div(a.most, divisor)),
        }
    }

    /// The quotient by a power of two, rounded down; the exponent is below the number of bits.
    fn shifted_right(&self, ty: Integer, a: Interval<Self::Word>, count: u32) -> Interval<Self::Word> {
        let most = (u64::MAX >> count).min(UNBOUNDED as u64) as i64;
        Interval {
            least: self.shr(a.least, count),
            most: self.unless_unbounded(ty, a.most, most, self.shr(a.most, count)),
        }
    }

    /// One of two words, depending on whether there is an upper end.
    fn unless_unbounded(&self, ty: Integer, end: Self::Word, unbounded: i64, bounded: Self::Word) -> Self::Word {
        if !ty.exceeds_words() {
            return bounded;
        }
        self.select(self.le(self.number(UNBOUNDED), end), self.number(unbounded), bounded)
    }

    /// The remainder has the sign of the dividend and is not larger; the remainder by zero is the dividend.
    fn remainder(&self, ty: Integer, a: Interval<Self::Word>, b: Interval<Self::Word>) -> Interval<Self::Word> {
        let zero = self.number(0);
        let is_positive = self.le(self.number(1), b.least);
        let below_divisor = self.one_less(ty, b.most);
        let above = self.select(is_positive, below_divisor, self.number(i64::MAX));
        let most = self.min(self.max(a.most, zero), above);
        if !ty.is_signed {
            return Interval { least: zero, most };
        }
        let below = self.select(is_positive, self.sub(zero, below_divisor), self.number(i64::MIN));
        Interval { least: self.max(self.min(a.least, zero), below), most }
    }

    /// The upper end of values that are below values with an upper end.
    fn one_less(&self, ty: Integer, most: Self::Word) -> Self::Word {
        self.unless_unbounded(ty, most, UNBOUNDED, self.sub(most, self.number(1)))
    }

    /// A non-negative value has all bits of the result.
    fn conjunction(&self, ty: Integer, a: Interval<Self::Word>, b: Interval<Self::Word>) -> Interval<Self::Word> {
        let zero = self.number(0);
        if !ty.is_signed {
            return Interval { least: zero, most: self.min(a.most, b.most) };
        }
        let limit = |x: Interval<Self::Word>| self.select(self.le(zero, x.least), x.most, self.number(i64::MAX));
        let has_limit = self.le(zero, self.max(a.least, b.least));
        self.if_or_any(ty, has_limit, Interval { least: zero, most: self.min(limit(a), limit(b)) })
    }

    /// Bitwise or, and exclusive or.
    fn disjunction(&self, ty: Integer, a: Interval<Self::Word>, b: Interval<Self::Word>) -> Interval<Self::Word> {
        let zero = self.number(0);
        let ones = Interval { least: zero, most: self.ones(self.max(a.most, b.most)) };
        if !ty.is_signed {
            return ones;
        }
        self.if_or_any(ty, self.le(zero, self.min(a.least, b.least)), ones)
    }

    fn minimum(&self, a: Interval<Self::Word>, b: Interval<Self::Word>) -> Interval<Self::Word> {
        Interval { least: self.min(a.least, b.least), most: self.min(a.most, b.most) }
    }

    fn maximum(&self, a: Interval<Self::Word>, b: Interval<Self::Word>) -> Interval<Self::Word> {
        Interval { least: self.max(a.least, b.least), most: self.max(a.most, b.most) }
    }

    /// One value or the other.
    fn either(&self, a: Interval<Self::Word>, b: Interval<Self::Word>) -> Interval<Self::Word> {
        Interval { least: self.min(a.least, b.least), most: self.max(a.most, b.most) }
    }

    /// The same value converted to another type, modulo its range.
    fn converted(&self, from: Integer, to: Integer, a: Interval<Self::Word>) -> Interval<Self::Word> {
        if from == to || from.least() >= to.least() && from.most() <= to.most() && !from.exceeds_words() {
            return a;
        }
        let is_bounded = from.exceeds_words().then(|| self.le(a.most, self.number(UNBOUNDED - 1)));
        self.wrapped(to, is_bounded, a)
    }

    /// A number that is incremented by one, starting at one of the first values, and is below one of the limits.
    fn counter(&self, ty: Integer, first: Interval<Self::Word>, limit: Interval<Self::Word>) -> Interval<Self::Word> {
        Interval { least: first.least, most: self.one_less(ty, limit.most) }
    }
}

impl<M: Machine> Arithmetic for M {}

/// The host.
pub(super) struct Host;

impl Machine for Host {
    type Word = i64;
    type Flag = bool;

    fn number(&self, number: i64) -> i64 {
        number
    }

    fn add(&self, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }

    fn sub(&self, a: i64, b: i64) -> i64 {
        a.wrapping_sub(b)
    }

    fn mul(&self, a: i64, b: i64) -> i64 {
        a.wrapping_mul(b)
    }

    fn min(&self, a: i64, b: i64) -> i64 {
        a.min(b)
    }

    fn max(&self, a: i64, b: i64) -> i64 {
        a.max(b)
    }

    fn div(&self, a: i64, divisor: i64) -> i64 {
        a / divisor
    }

    fn shr(&self, a: i64, count: u32) -> i64 {
        a >> count
    }

    fn ones(&self, a: i64) -> i64 {
        (u64::MAX >> (a | 1).leading_zeros()) as i64
    }

    fn le(&self, a: i64, b: i64) -> bool {
        a <= b
    }

    fn both(&self, a: bool, b: bool) -> bool {
        a && b
    }

    fn select(&self, flag: bool, a: i64, b: i64) -> i64 {
        if flag { a } else { b }
    }
}

/// A machine that folds known words immediately, and passes the rest to another one.
pub(super) struct Folding<M>(pub(super) M);

/// A known word, or one of the other machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Folded<W> {
    Known(i64),
    Computed(W),
}

/// A known flag, or one of the other machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FoldedFlag<F> {
    Known(bool),
    Computed(F),
}

impl<M: Machine> Folding<M> {
    /// A word of the other machine.
    pub(super) fn word(&self, word: Folded<M::Word>) -> M::Word {
        match word {
            Folded::Known(number) => self.0.number(number),
            Folded::Computed(word) => word,
        }
    }

    fn fold(
        &self,
        a: Folded<M::Word>,
        b: Folded<M::Word>,
        known: impl FnOnce(i64, i64) -> i64,
        other: impl FnOnce(&M, M::Word, M::Word) -> M::Word,
    ) -> Folded<M::Word> {
        match (a, b) {
            (Folded::Known(a), Folded::Known(b)) => Folded::Known(known(a, b)),
            _ => Folded::Computed(other(&self.0, self.word(a), self.word(b))),
        }
    }

    fn fold_one(
        &self,
        a: Folded<M::Word>,
        known: impl FnOnce(i64) -> i64,
        other: impl FnOnce(&M, M::Word) -> M::Word,
    ) -> Folded<M::Word> {
        match a {
            Folded::Known(a) => Folded::Known(known(a)),
            Folded::Computed(a) => Folded::Computed(other(&self.0, a)),
        }
    }
}

impl<M: Machine> Machine for Folding<M> {
    type Word = Folded<M::Word>;
    type Flag = FoldedFlag<M::Flag>;

    fn number(&self, number: i64) -> Self::Word {
        Folded::Known(number)
    }

    fn add(&self, a: Self::Word, b: Self::Word) -> Self::Word {
        match (a, b) {
            (Folded::Known(0), other) | (other, Folded::Known(0)) => other,
            _ => self.fold(a, b, |a, b| Host.add(a, b), M::add),
        }
    }

    fn sub(&self, a: Self::Word, b: Self::Word) -> Self::Word {
        if b == Folded::Known(0) { a } else { self.fold(a, b, |a, b| Host.sub(a, b), M::sub) }
    }

    fn mul(&self, a: Self::Word, b: Self::Word) -> Self::Word {
        match (a, b) {
            (Folded::Known(1), other) | (other, Folded::Known(1)) => other,
            (Folded::Known(0), _) | (_, Folded::Known(0)) => Folded::Known(0),
            _ => self.fold(a, b, |a, b| Host.mul(a, b), M::mul),
        }
    }

    fn min(&self, a: Self::Word, b: Self::Word) -> Self::Word {
        match (a, b) {
            (Folded::Known(i64::MAX), other) | (other, Folded::Known(i64::MAX)) => other,
            _ if a == b => a,
            _ => self.fold(a, b, |a, b| Host.min(a, b), M::min),
        }
    }

    fn max(&self, a: Self::Word, b: Self::Word) -> Self::Word {
        match (a, b) {
            (Folded::Known(i64::MIN), other) | (other, Folded::Known(i64::MIN)) => other,
            _ if a == b => a,
            _ => self.fold(a, b, |a, b| Host.max(a, b), M::max),
        }
    }

    fn div(&self, a: Self::Word, divisor: i64) -> Self::Word {
        self.fold_one(a, |a| Host.div(a, divisor), |machine, a| machine.div(a, divisor))
    }

    fn shr(&self, a: Self::Word, count: u32) -> Self::Word {
        self.fold_one(a, |a| Host.shr(a, count), |machine, a| machine.shr(a, count))
    }

    fn ones(&self, a: Self::Word) -> Self::Word {
        self.fold_one(a, |a| Host.ones(a), M::ones)
    }

    fn le(&self, a: Self::Word, b: Self::Word) -> Self::Flag {
        match (a, b) {
            (Folded::Known(a), Folded::Known(b)) => FoldedFlag::Known(a <= b),
            (Folded::Known(i64::MIN), _) | (_, Folded::Known(i64::MAX)) => FoldedFlag::Known(true),
            _ => FoldedFlag::Computed(self.0.le(self.word(a), self.word(b))),
        }
    }

    fn both(&self, a: Self::Flag, b: Self::Flag) -> Self::Flag {
        match (a, b) {
            (FoldedFlag::Known(false), _) | (_, FoldedFlag::Known(false)) => FoldedFlag::Known(false),
            (FoldedFlag::Known(true), other) | (other, FoldedFlag::Known(true)) => other,
            (FoldedFlag::Computed(a), FoldedFlag::Computed(b)) => FoldedFlag::Computed(self.0.both(a, b)),
        }
    }

    fn select(&self, flag: Self::Flag, a: Self::Word, b: Self::Word) -> Self::Word {
        match flag {
            FoldedFlag::Known(true) => a,
            FoldedFlag::Known(false) => b,
            FoldedFlag::Computed(_) if a == b => a,
            FoldedFlag::Computed(flag) => Folded::Computed(self.0.select(flag, self.word(a), self.word(b))),
        }
    }
}

/// Words that are unknown before the program runs.
pub(super) struct Unknown;

impl Machine for Unknown {
    type Word = ();
    type Flag = ();

    fn number(&self, _: i64) {}
    fn add(&self, (): (), (): ()) {}
    fn sub(&self, (): (), (): ()) {}
    fn mul(&self, (): (), (): ()) {}
    fn min(&self, (): (), (): ()) {}
    fn max(&self, (): (), (): ()) {}
    fn div(&self, (): (), _: i64) {}
    fn shr(&self, (): (), _: u32) {}
    fn ones(&self, (): ()) {}
    fn le(&self, (): (), (): ()) {}
    fn both(&self, (): (), (): ()) {}
    fn select(&self, (): (), (): (), (): ()) {}
}
