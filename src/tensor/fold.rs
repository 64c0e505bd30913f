//! Reductions along axes whose elements are not neighbours in memory: the elements of each result, and the order in
//! which they are combined. (Neighbours form blocks, see [`Array::block_reduce`].)
//!
//! A result of few elements is folded by one lane, in a traced loop. Many elements are first folded into parts, in
//! parallel: where the layout allows it, neighbouring lanes read neighbouring elements. The parts of a result are
//! folded in the same way. The order depends on the shape alone, so results are the same on every device. The sum of
//! `n` numbers is a tree whose error grows with its depth, not with `n`.

use smallvec::smallvec;

use super::lengths::{is, number};
use super::view::{View, ViewAxis};
use crate::{Array, Element, Size, UInt, jit};

/// The most elements that one lane folds if more lanes could share them.
const LONGEST: usize = 64;
/// This many results keep all cores busy without being divided, …
const MANY: usize = 4096;
/// … unless one has more elements than this, so that its sum would lose accuracy.
const TOO_LONG: usize = 1024;
/// The most parts of a result.
const MOST_PARTS: usize = 4096;

/// The elements of an array, as results and the elements of each.
#[derive(Clone)]
pub(super) struct Reduction {
    /// The results, by the position of their first element.
    pub(super) kept: View,
    /// The elements of a result, relative to the first one.
    pub(super) folded: View,
    /// Whether neighbouring elements of a result are closer in memory than neighbouring results.
    is_along_memory: bool,
}

impl Reduction {
    /// Returns the reduction of some axes of a shape.
    #[track_caller]
    pub(super) fn new(shape: &[Size], axes: &[usize]) -> Self {
        let (mut kept, mut folded) = (View::of(shape), View::of(shape));
        let mut number = 0..shape.len();
        kept.axes.retain(|_| number.next().is_some_and(|axis| !axes.contains(&axis)));
        let mut number = 0..shape.len();
        folded.axes.retain(|_| number.next().is_some_and(|axis| axes.contains(&axis)));
        let innermost = (0..shape.len()).rfind(|&axis| !is(shape[axis], 1));
        Reduction { kept, folded, is_along_memory: innermost.is_some_and(|axis| axes.contains(&axis)) }
    }

    /// Returns the number of results.
    #[track_caller]
    fn results(&self) -> Size {
        self.kept.len()
    }

    /// Returns the number of elements of each result.
    #[track_caller]
    pub(super) fn length(&self) -> Size {
        self.folded.len()
    }

    /// Returns the number of parts of each result.
    #[track_caller]
    fn parts(&self) -> Size {
        let length = self.length();
        if length <= LONGEST || (!self.is_along_memory && self.results() >= MANY && length <= TOO_LONG) {
            return Size::from(1);
        }
        length.div_ceil(LONGEST).max(16).min(MOST_PARTS)
    }

    /// Splits the reduction: the elements of each part, and the reduction of the parts if there are several.
    #[track_caller]
    pub(super) fn step(self) -> (Step, Option<Reduction>) {
        let (parts, results) = (self.parts(), self.results());
        let part_is_inner = self.is_along_memory;
        let rest = (!is(parts, 1)).then(|| {
            let one = Size::from(1);
            let (kept, folded) = if part_is_inner { (parts, one) } else { (one, results) };
            let view = |length: Size, stride: Size| View {
                axes: smallvec![ViewAxis { length, stride: stride.into() }],
                offset: Size::from(0),
            };
            let is_along_memory = part_is_inner || is(results, 1);
            Reduction { kept: view(results, kept), folded: view(parts, folded), is_along_memory }
        });
        (Step { reduction: self, parts, part_is_inner }, rest)
    }
}

/// One fold of a reduction: lanes, each of which folds every `parts`th element of a result.
pub(super) struct Step {
    reduction: Reduction,
    parts: Size,
    part_is_inner: bool,
}

impl Step {
    /// Returns the number of lanes.
    #[track_caller]
    fn lanes(&self) -> Size {
        self.reduction.results() * self.parts
    }

    /// Returns, for each lane, the position of its result's first element, and its part.
    #[track_caller]
    fn places(&self) -> (UInt, UInt) {
        let lane = UInt::arange(self.lanes());
        let results = self.reduction.results();
        let (result, part) = match self.part_is_inner {
            _ if is(self.parts, 1) => (lane, UInt::from(0)),
            true => (&lane / number(self.parts), &lane % number(self.parts)),
            false => (&lane % number(results), &lane / number(results)),
        };
        (self.reduction.kept.position(&result), part)
    }

    /// Combines the elements of each lane, in ascending order.
    #[track_caller]
    pub(super) fn fold<T: Element>(
        &self,
        source: &Array<T>,
        combine: fn(&Array<T>, &Array<T>) -> Array<T>,
    ) -> Array<T> {
        let (first, part) = self.places();
        super::filled(fold(source, &self.reduction.folded, (&first, &part), &number(self.parts), combine), self.lanes())
    }

    /// Returns the best element of each lane and its number in the result; the first one if several are best.
    /// `is_better` returns whether its first argument beats the second.
    #[track_caller]
    pub(super) fn find<T: Element>(
        &self,
        source: &Array<T>,
        numbers: Option<&UInt>,
        is_better: fn(&Array<T>, &Array<T>) -> crate::Mask,
    ) -> (Array<T>, UInt) {
        let (first, part) = self.places();
        let (best, number) =
            find(source, numbers, &self.reduction.folded, (&first, &part), &number(self.parts), is_better);
        (super::filled(best, self.lanes()), super::filled(number, self.lanes()))
    }
}

#[track_caller]
fn number_of_elements(view: &View) -> UInt {
    number(view.len())
}

/// Each lane begins at an element of its part, and takes every `step`th one.
#[jit]
fn fold<T: Element>(
    source: &Array<T>,
    view: &View,
    (first, part): (&UInt, &UInt),
    step: &UInt,
    combine: fn(&Array<T>, &Array<T>) -> Array<T>,
) -> Array<T> {
    let length = number_of_elements(view);
    let mut result = source.gather(&(first + view.position(part)));
    let mut number = part + step;
    while number < length {
        result = combine(&result, &source.gather(&(first + view.position(&number))));
        number += step;
    }
    result
}

#[jit]
fn find<T: Element>(
    source: &Array<T>,
    numbers: Option<&UInt>,
    view: &View,
    (first, part): (&UInt, &UInt),
    step: &UInt,
    is_better: fn(&Array<T>, &Array<T>) -> crate::Mask,
) -> (Array<T>, UInt) {
    let length = number_of_elements(view);
    let name =
        |position: &UInt, number: &UInt| numbers.map_or_else(|| number.clone(), |numbers| numbers.gather(position));
    let position = first + view.position(part);
    let mut best = source.gather(&position);
    let mut best_number = name(&position, part);
    let mut number = part + step;
    while number < length {
        let position = first + view.position(&number);
        let candidate = source.gather(&position);
        let candidate_number = name(&position, &number);
        let ties = !(is_better(&candidate, &best) | is_better(&best, &candidate));
        let wins = is_better(&candidate, &best) | (ties & candidate_number.lt(&best_number));
        best = wins.select(&candidate, &best);
        best_number = wins.select(&candidate_number, &best_number);
        number += step;
    }
    (best, best_number)
}
