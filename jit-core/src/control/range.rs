//! `for` over ranges of integers, whose bounds may be arrays.
//!
//! A range of host integers is Rust's own, and so is its iterator. A range with a traced bound is a counter per lane:
//! `rev` and `step_by` change its start, its end and its step, all of which are computed before the loop. A counter
//! stops at its last number instead of passing it, so bounds at the limits of a type do not overflow.

use super::exit::{StageList, Witness};
use super::repeat::Repeat;
use super::stage::{HostStage, Stage, TracedStage};
use super::state::refuse;
use crate::array::{Array, Integer};
use crate::graph::Var;
use crate::size::Size;
use crate::trace::record;
use crate::traverse::{Traverse, Visitor, VisitorMut};
use jit_runtime::Site;
use jit_runtime::ir::{BinaryOp, CompareOp, Type};
use std::marker::PhantomData;
use std::ops;

/// The start of a range whose end is a `B`.
#[diagnostic::on_unimplemented(
    message = "`for` cannot count from `{Self}` to `{B}`",
    label = "the bounds of a range have the same integer type, on the host or traced",
    note = "convert one of them: `n.cast::<u32>()`; the end may be the `width()` of an array"
)]
pub trait Bounds<B>: Sized {
    /// A range without its end.
    type Range;
    /// A range with its end.
    type RangeInclusive;
    /// `self..end`
    #[track_caller]
    fn range(self, end: B) -> Self::Range;
    /// `self..=end`
    #[track_caller]
    fn range_inclusive(self, end: B) -> Self::RangeInclusive;
}

macro_rules! host_bounds {
    ($($ty:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl Bounds<$ty> for $ty {
            type Range = ops::Range<$ty>;
            type RangeInclusive = ops::RangeInclusive<$ty>;
            #[inline(always)]
            fn range(self, end: $ty) -> ops::Range<$ty> {
                self..end
            }
            #[inline(always)]
            fn range_inclusive(self, end: $ty) -> ops::RangeInclusive<$ty> {
                self..=end
            }
        }
    )*};
}

host_bounds!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, char);
host_bounds!(std::net::Ipv4Addr, std::net::Ipv6Addr);

macro_rules! traced_bounds {
    ($element:ty: $($a:ty, $b:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Bounds<$b> for $a {
            type Range = TracedRange<$element>;
            type RangeInclusive = TracedRange<$element>;
            #[track_caller]
            fn range(self, end: $b) -> TracedRange<$element> {
                let (start, end): (Array<$element>, Array<$element>) = (self.into_array(), end.into_array());
                TracedRange::new(start.var(), end.var(), false)
            }
            #[track_caller]
            fn range_inclusive(self, end: $b) -> TracedRange<$element> {
                let (start, end): (Array<$element>, Array<$element>) = (self.into_array(), end.into_array());
                TracedRange::new(start.var(), end.var(), true)
            }
        }
    )*};
}

macro_rules! traced_elements {
    ($($ty:ty),*) => {
        $(traced_bounds! { $ty:
            $ty, Array<$ty>; $ty, &Array<$ty>;
            Array<$ty>, $ty; Array<$ty>, Array<$ty>; Array<$ty>, &Array<$ty>;
            &Array<$ty>, $ty; &Array<$ty>, Array<$ty>; &Array<$ty>, &Array<$ty>;
            Array<$ty>, Size; &Array<$ty>, Size; Size, Array<$ty>; Size, &Array<$ty>;
        })*
        $(impl IntoArray<$ty> for $ty {
            fn into_array(self) -> Array<$ty> {
                Array::from(self)
            }
        })*
    };
}

traced_elements!(u8, u16, u32, u64, i8, i16, i32, i64);

// For one type alone, so that it is that of a literal.
traced_bounds! { u32: u32, Size; }

/// Converts a bound to an array.
trait IntoArray<T: Integer> {
    fn into_array(self) -> Array<T>;
}

impl<T: Integer> IntoArray<T> for Array<T> {
    fn into_array(self) -> Array<T> {
        self
    }
}

impl<T: Integer> IntoArray<T> for &Array<T> {
    fn into_array(self) -> Array<T> {
        self.clone()
    }
}

impl<T: Integer> IntoArray<T> for Size {
    fn into_array(self) -> Array<T> {
        Array::from(self)
    }
}

/// The start of a range that is traced even if its bounds are host values.
#[diagnostic::on_unimplemented(
    message = "`#[symbolic] for` cannot count from `{Self}` to `{B}`",
    label = "the bounds of a range have the same integer type, on the host or traced"
)]
pub trait SymbolicBounds<B>: Sized {
    /// The type of the numbers.
    type Element: Integer;
    /// Returns the bounds.
    fn bounds(self, end: B) -> [Array<Self::Element>; 2];
    /// `self..end`, traced.
    #[track_caller]
    fn range(self, end: B) -> TracedRange<Self::Element> {
        let [start, end] = self.bounds(end);
        TracedRange::new(start.var(), end.var(), false)
    }
    /// `self..=end`, traced.
    #[track_caller]
    fn range_inclusive(self, end: B) -> TracedRange<Self::Element> {
        let [start, end] = self.bounds(end);
        TracedRange::new(start.var(), end.var(), true)
    }
}

macro_rules! symbolic_bounds {
    ($ty:ty: $($a:ty, $b:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl SymbolicBounds<$b> for $a {
            type Element = $ty;
            fn bounds(self, end: $b) -> [Array<$ty>; 2] {
                [self.into_array(), end.into_array()]
            }
        }
    )*};
}

macro_rules! symbolic_elements {
    ($($ty:ty),*) => {$(symbolic_bounds! { $ty:
        $ty, $ty; $ty, Array<$ty>; $ty, &Array<$ty>;
        Array<$ty>, $ty; Array<$ty>, Array<$ty>; Array<$ty>, &Array<$ty>;
        &Array<$ty>, $ty; &Array<$ty>, Array<$ty>; &Array<$ty>, &Array<$ty>;
    })*};
}

symbolic_elements!(u8, u16, u32, u64, i8, i16, i32, i64);

impl SymbolicBounds<usize> for usize {
    type Element = u32;
    #[track_caller]
    fn bounds(self, end: usize) -> [Array<u32>; 2] {
        let site = Site::here();
        [self, end].map(|bound| match u32::try_from(bound) {
            Ok(bound) => Array::from(bound),
            Err(_) => refuse(
                format!("`#[symbolic] for` counts `usize` in 32 bits, and {bound} does not fit"),
                "convert the bounds to `u64`",
                site,
            ),
        })
    }
}

/// A range of traced integers.
pub struct TracedRange<T> {
    first: Var,
    /// The last number, if there is one.
    last: Var,
    /// Whether there is a last number.
    is_some: Var,
    /// The end of a range that is neither reversed nor stepped.
    end: Option<Var>,
    /// The distance of consecutive numbers.
    step: u64,
    descends: bool,
    element: PhantomData<T>,
}

impl<T: Integer> TracedRange<T> {
    #[track_caller]
    fn new(start: &Var, end: &Var, is_inclusive: bool) -> Self {
        let op = if is_inclusive { CompareOp::Le } else { CompareOp::Lt };
        let one = record::literal(T::TYPE, 1, 1);
        TracedRange {
            first: start.clone(),
            last: if is_inclusive { end.clone() } else { record::binary(BinaryOp::Sub, end, &one) },
            is_some: record::compare(op, start, end),
            end: (!is_inclusive).then(|| end.clone()),
            step: 1,
            descends: false,
            element: PhantomData,
        }
    }

    /// Reverses the order of the numbers.
    #[must_use]
    pub fn rev(mut self) -> Self {
        std::mem::swap(&mut self.first, &mut self.last);
        self.descends = !self.descends;
        self.end = None;
        self
    }

    /// Returns every `step`-th number, beginning with the first.
    ///
    /// # Panics
    ///
    /// When the step is zero.
    #[must_use]
    #[track_caller]
    pub fn step_by(mut self, step: usize) -> Self {
        if step == 0 {
            refuse("the step of a range is zero".to_owned(), "the step must be at least 1", Site::here());
        }
        if step == 1 {
            return self;
        }
        let unsigned = unsigned(T::TYPE);
        let (low, high) = if self.descends { (&self.last, &self.first) } else { (&self.first, &self.last) };
        let distance = record::bitcast(unsigned, &record::binary(BinaryOp::Sub, high, low));
        let total = self.step.saturating_mul(step as u64);
        let length = if total > unsigned.bit_mask() {
            record::literal(T::TYPE, 0, 1)
        } else {
            let total = record::literal(unsigned, total, 1);
            let over = record::binary(BinaryOp::Rem, &distance, &total);
            record::bitcast(T::TYPE, &record::binary(BinaryOp::Sub, &distance, &over))
        };
        self.last = record::binary(if self.descends { BinaryOp::Sub } else { BinaryOp::Add }, &self.first, &length);
        self.step = total;
        self.end = None;
        self
    }
}

fn unsigned(ty: Type) -> Type {
    match ty {
        Type::I8 => Type::U8,
        Type::I16 => Type::U16,
        Type::I32 => Type::U32,
        Type::I64 => Type::U64,
        other => other,
    }
}

/// Ranges that `for` can iterate over.
pub trait Countable {
    /// The stage that the bounds belong to.
    type Stage: Stage;
    /// A number.
    type Item;
    /// The state of the iteration.
    type State;
    /// Begins the iteration.
    fn start(self) -> Self::State;
    /// Returns whether there is a next number.
    fn test(state: &mut Self::State) -> <Self::Stage as Stage>::Condition;
    /// Returns the next number.
    fn next(state: &mut Self::State) -> Self::Item;
    /// Passes the arrays of the state to a visitor.
    fn traverse(state: &Self::State, visitor: &mut Visitor<'_>);
    /// Passes the arrays of the state to a mutable visitor.
    fn traverse_mut(state: &mut Self::State, visitor: &mut VisitorMut<'_>);
}

impl<I: Iterator> Countable for I {
    type Stage = HostStage;
    type Item = I::Item;
    type State = (I, Option<I::Item>);
    #[inline(always)]
    fn start(self) -> Self::State {
        (self, None)
    }
    #[inline(always)]
    fn test((iterator, next): &mut Self::State) -> bool {
        *next = iterator.next();
        next.is_some()
    }
    #[inline(always)]
    fn next((_, next): &mut Self::State) -> I::Item {
        next.take().expect("a loop continues only while its range has a next number")
    }
    fn traverse(_: &Self::State, _: &mut Visitor<'_>) {}
    fn traverse_mut(_: &mut Self::State, _: &mut VisitorMut<'_>) {}
}

/// A counter per lane.
pub struct TracedCounter {
    next: Var,
    /// The distance of consecutive numbers.
    step: Var,
    ends: Ends,
}

/// The end of a counter.
enum Ends {
    /// Ends before a number that is larger than all of its own.
    Before(Var),
    /// Ends after this number; a mask says whether it has not been reached.
    After(Var, Var),
}

impl<T: Integer> Countable for TracedRange<T> {
    type Stage = TracedStage;
    type Item = Array<T>;
    type State = TracedCounter;
    fn start(self) -> TracedCounter {
        let step = if self.descends { self.step.wrapping_neg() } else { self.step };
        let ends = match self.end {
            Some(end) => Ends::Before(end),
            None => Ends::After(self.last, self.is_some),
        };
        TracedCounter { next: self.first, step: record::literal(T::TYPE, step, 1), ends }
    }
    fn test(counter: &mut TracedCounter) -> Array<bool> {
        Array::from_var(match &counter.ends {
            Ends::Before(end) => record::compare(CompareOp::Lt, &counter.next, end),
            Ends::After(_, continues) => continues.clone(),
        })
    }
    fn next(counter: &mut TracedCounter) -> Array<T> {
        let item = counter.next.clone();
        if let Ends::After(last, continues) = &mut counter.ends {
            *continues = record::compare(CompareOp::Ne, &item, last);
        }
        counter.next = record::binary(BinaryOp::Add, &item, &counter.step);
        Array::from_var(item)
    }
    fn traverse(counter: &TracedCounter, visitor: &mut Visitor<'_>) {
        visitor.array(&counter.next);
        if let Ends::After(_, continues) = &counter.ends {
            visitor.array(continues);
        }
    }
    fn traverse_mut(counter: &mut TracedCounter, visitor: &mut VisitorMut<'_>) {
        visitor.array(&mut counter.next);
        if let Ends::After(_, continues) = &mut counter.ends {
            visitor.array(continues);
        }
    }
}

/// The state of a range in a `for`.
pub struct Counter<C: Countable>(C::State);

/// Begins the iteration over a range.
#[inline(always)]
pub fn counter<C: Countable>(range: C) -> Counter<C> {
    Counter(range.start())
}

impl<C: Countable> Counter<C> {
    /// Returns the next number.
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "a counter is read only while its range has a next number")]
    pub fn next(&mut self) -> C::Item {
        C::next(&mut self.0)
    }
}

impl<C: Countable> Traverse for Counter<C> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        C::traverse(&self.0, visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        C::traverse_mut(&mut self.0, visitor);
    }
}

/// Fixes the stage that a witness represents.
#[inline(always)]
pub fn counted<C: Countable>(_: &Witness<C::Stage>, _: &Counter<C>) {}

impl<W: Stage> Repeat<W> {
    /// Returns whether to run the body of a `for` that lanes may also exit. For a host range, all iterations run, on
    /// the lanes that have not exited.
    #[inline(always)]
    pub fn test_range<C: Countable<Stage = W>, L: StageList>(&mut self, counter: &mut Counter<C>, exits: L) -> bool {
        let mut masks = Vec::new();
        exits.left(&mut masks);
        W::test(&mut self.0, W::and_live(C::test(&mut counter.0), masks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of a traced range, as counted by the host: everything folds.
    fn counted<T: Integer>(range: TracedRange<T>) -> Vec<T> {
        let mut state = range.start();
        let mut found = Vec::new();
        while TracedRange::<T>::test(&mut state).var().literal() == Some(1) && found.len() < 1000 {
            found.push(T::from_bits(TracedRange::<T>::next(&mut state).var().literal().expect("a constant")));
        }
        found
    }

    #[test]
    fn sizes_are_bounds_of_the_type_of_the_other_one() {
        let (three, six) = (Size::from(3), Size::from(6));
        assert_eq!(counted(Bounds::range(3, six)), [3_u32, 4, 5]);
        assert_eq!(counted(Bounds::range_inclusive(Array::from(4_i16), six)), [4, 5, 6]);
        assert_eq!(counted(Bounds::range(three, &Array::from(5_u8))), [3, 4]);
        assert_eq!(counted(Bounds::range(six, Array::from(3_i64))), [0; 0]);
    }

    #[test]
    fn traced_ranges_count_as_rusts() {
        let ends: [i8; 9] = [-128, -127, -3, 0, 1, 2, 9, 126, 127];
        for a in ends {
            for b in ends {
                let traced = || Bounds::range(Array::from(a), b);
                let inclusive = || Bounds::range_inclusive(a, Array::from(b));
                assert_eq!(counted(traced()), (a..b).collect::<Vec<_>>(), "{a}..{b}");
                assert_eq!(counted(inclusive()), (a..=b).collect::<Vec<_>>(), "{a}..={b}");
                assert_eq!(counted(traced().rev()), (a..b).rev().collect::<Vec<_>>(), "({a}..{b}).rev()");
                for k in [1, 2, 3, 100, 255, 256, 70_000] {
                    let name = format!("{a}..{b} by {k}");
                    assert_eq!(counted(traced().step_by(k)), (a..b).step_by(k).collect::<Vec<_>>(), "{name}");
                    assert_eq!(counted(inclusive().step_by(k)), (a..=b).step_by(k).collect::<Vec<_>>(), "{name}");
                    let (got, wanted) = (inclusive().rev().step_by(k), (a..=b).rev().step_by(k));
                    assert_eq!(counted(got), wanted.collect::<Vec<_>>(), "{name}, reversed before");
                    let (got, wanted) = (inclusive().step_by(k).rev(), (a..=b).step_by(k).rev());
                    assert_eq!(counted(got), wanted.collect::<Vec<_>>(), "{name}, reversed after");
                    let (got, wanted) = (traced().step_by(k).step_by(3), (a..b).step_by(k).step_by(3));
                    assert_eq!(counted(got), wanted.collect::<Vec<_>>(), "{name}, by 3");
                }
            }
        }
        assert_eq!(counted(Bounds::range(Array::from(250u8), 255)), [250, 251, 252, 253, 254]);
        assert_eq!(counted(Bounds::range_inclusive(250, Array::from(255u8))), [250, 251, 252, 253, 254, 255]);
    }
}
