//! `if`: the guard between its arms.

use jit_runtime::Site;

use super::stage::{Carries, HostStage, Stage, TracedStage};
use super::state::{Named, check_arms, check_branch, refuse};
use crate::array::Array;
use crate::graph::Var;
use crate::trace::{BranchRecorder, local, record, scatter};
use crate::traverse::Traverse;
use crate::traverse::leaves::Leaves;

/// The guard of an `if`.
pub struct Branch<W: Stage>(pub(super) W::Branch);

impl<W: Stage> Branch<W> {
    /// Makes the branch evaluate both arms and blend their values.
    #[inline(always)]
    pub fn evaluated(&mut self) {
        W::evaluate(&mut self.0);
    }

    /// Registers a place that the arms change.
    #[inline(always)]
    pub fn save<X: ?Sized>(&mut self, name: &'static str, value: &X)
    where
        W: Carries<X>,
    {
        W::save(&mut self.0, name, value);
    }

    /// Returns whether to run the first arm.
    #[inline(always)]
    pub fn then(&mut self) -> bool {
        W::then(&mut self.0)
    }

    /// Takes a place's value after the first arm and restores the one from before it.
    #[inline(always)]
    pub fn swap<X: ?Sized>(&mut self, value: &mut X)
    where
        W: Carries<X>,
    {
        W::swap(&mut self.0, value);
    }

    /// Returns whether to run the second arm.
    #[inline(always)]
    pub fn otherwise(&mut self) -> bool {
        W::otherwise(&mut self.0)
    }

    /// Takes a place's value after the second arm.
    #[inline(always)]
    pub fn collect<X: ?Sized>(&mut self, value: &X)
    where
        W: Carries<X>,
    {
        W::collect(&mut self.0, value);
    }

    /// Closes the `if`.
    #[inline(always)]
    pub fn merge(&mut self) {
        W::merge(&mut self.0);
    }

    /// Closes the `if`; returns its value.
    #[inline(always)]
    pub fn merge_with<T>(&mut self, slot: Slot<T>) -> T
    where
        W: Merges<T>,
    {
        W::merge_with(&mut self.0, slot).expect("an arm that ran and did not exit has stored its value")
    }

    /// Closes the `if`; returns its value, or `None` if all lanes have exited in it.
    #[inline(always)]
    pub fn merge_if_any<T>(&mut self, slot: Slot<T>) -> Option<T>
    where
        W: Merges<T>,
    {
        W::merge_with(&mut self.0, slot)
    }

    /// Returns whether arms are recorded.
    #[inline(always)]
    pub fn is_traced(&self) -> bool {
        !W::IS_HOST
    }

    /// Marks code that follows as reachable in the traced stage only.
    #[inline(always)]
    pub fn traced_only(&self) -> W::TracedOnly {
        W::traced_only()
    }

    /// Replaces taking a place's value after the second arm, if nothing reads it afterwards.
    #[inline(always)]
    pub fn collect_dead(&mut self) {
        if let Some(branch) = W::traced_branch(&mut self.0) {
            branch.collect_dead();
        }
    }

    /// Replaces writing a place's value after the `if`, if nothing reads it afterwards.
    #[inline(always)]
    pub fn restore_dead(&mut self) {
        if let Some(branch) = W::traced_branch(&mut self.0) {
            branch.restore();
        }
    }

    /// Writes a place's value after the `if`.
    #[inline(always)]
    pub fn restore<X: ?Sized>(&mut self, value: &mut X)
    where
        W: Carries<X>,
    {
        W::restore(&mut self.0, value);
    }
}

/// The values of the arms.
#[derive(Debug)]
pub struct Slot<T> {
    then: Option<T>,
    otherwise: Option<T>,
}

impl<T> Slot<T> {
    /// Creates a slot without values.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::new_without_default, reason = "generated code calls it by this name")]
    pub fn new() -> Self {
        Slot { then: None, otherwise: None }
    }

    /// Stores the value of the first arm.
    #[inline(always)]
    pub fn put_then(&mut self, value: T) {
        self.then = Some(value);
    }

    /// Stores the value of the second arm.
    #[inline(always)]
    pub fn put_otherwise(&mut self, value: T) {
        self.otherwise = Some(value);
    }

    #[inline(always)]
    fn only(self) -> Option<T> {
        self.then.or(self.otherwise)
    }
}

/// Types that can be the value of an `if` in a stage.
#[diagnostic::on_unimplemented(
    message = "`if` with a traced condition yields `{T}`",
    label = "both arms of this `if` must yield a traced value",
    note = "arrays and types that consist of arrays can be merged lane by lane: derive `Traverse` for your own type, \
        and for a number write `Float::from(1.0)`",
    note = "whether a `Result` or `Option` has a value is the same for all lanes: decide before, as in \
        `if (x < 0.0).any().item()? {{ return Err(error) }}`, or yield a `Mask` beside the value; an error type of \
        your own must be `Traverse`, too"
)]
pub trait Merges<T>: Stage {
    /// Closes the branch; returns its value, if an arm had one.
    fn merge_with(branch: &mut Self::Branch, slot: Slot<T>) -> Option<T>;
}

#[diagnostic::do_not_recommend]
impl<T> Merges<T> for HostStage {
    #[inline(always)]
    fn merge_with(_: &mut bool, slot: Slot<T>) -> Option<T> {
        slot.only()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Traverse> Merges<T> for TracedStage {
    fn merge_with(branch: &mut TracedBranch, slot: Slot<T>) -> Option<T> {
        let leaves = [&slot.then, &slot.otherwise].map(|value| value.as_ref().map(Leaves::of));
        let [then, otherwise] = branch.with_missing(leaves);
        let merged = branch.merge(&then, &otherwise);
        let mut value = slot.only()?;
        merged.write(&mut value);
        Some(value)
    }
}

/// Returns a zero of an array's type; an array that lanes write to is returned unchanged, and so is per-lane local
/// memory.
fn zero_unless_written(var: &Var) -> Var {
    if scatter::is_written(var) || local::is_local(var) { var.clone() } else { record::literal(var.ty(), 0, 1) }
}

/// The value of an `if` whose arms both exit.
pub fn both_arms_leave() -> ! {
    unreachable!("one arm of an `if` runs, and both exit")
}

/// The state of a traced `if`.
pub struct TracedBranch {
    condition: Array<bool>,
    /// The value of a constant condition of width 1, which is decided at once.
    constant: Option<bool>,
    recorder: Option<BranchRecorder>,
    is_evaluated: bool,
    state: Vec<Named>,
    then: Vec<Leaves>,
    otherwise: Vec<Leaves>,
    merged: std::vec::IntoIter<Leaves>,
    site: Site,
}

impl TracedBranch {
    pub(super) fn new(condition: Array<bool>, site: Site) -> Self {
        // A condition of many lanes, or of none, determines the width of the results, whether or not it is constant.
        let literal = condition.var().literal().filter(|_| condition.width() == 1);
        let constant = literal.map(|bits| bits != 0);
        TracedBranch {
            condition,
            constant,
            recorder: None,
            is_evaluated: false,
            state: Vec::new(),
            then: Vec::new(),
            otherwise: Vec::new(),
            merged: Vec::new().into_iter(),
            site,
        }
    }

    pub(super) fn evaluate(&mut self) {
        self.is_evaluated = true;
    }

    pub(super) fn save(&mut self, name: &'static str, leaves: Leaves) {
        if self.constant.is_none() {
            self.state.push(Named { name, leaves });
        }
    }

    pub(super) fn then(&mut self) -> bool {
        if self.constant.is_none() {
            let begin = if self.is_evaluated { BranchRecorder::begin_evaluated } else { BranchRecorder::begin };
            self.recorder = Some(begin(self.condition.var(), self.site));
        }
        self.constant != Some(false)
    }

    /// Returns the initial state of the second arm: the state from before, except for arrays that the first arm has
    /// scattered to. Each arm writes only on its own lanes, so the second one may continue with the arrays that the
    /// first one has written.
    pub(super) fn swap(&mut self, leaves: impl FnOnce() -> Leaves) -> Option<Leaves> {
        if self.constant.is_some() {
            return None;
        }
        let before = &self.state[self.then.len()];
        let after = leaves();
        before.check_host_values(&after, "an `if`", self.site);
        let arrays = match &self.recorder {
            Some(recorder) => recorder.latest(&before.leaves.arrays, &after.arrays),
            None => before.leaves.arrays.clone(),
        };
        let next = before.leaves.with_arrays(&mut arrays.into_iter());
        self.then.push(after);
        Some(next)
    }

    pub(super) fn otherwise(&mut self) -> bool {
        if let Some(recorder) = &mut self.recorder {
            recorder.otherwise();
        }
        self.constant != Some(true)
    }

    pub(super) fn collect(&mut self, leaves: impl FnOnce() -> Leaves) {
        if self.constant.is_none() {
            let after = leaves();
            self.state[self.otherwise.len()].check_host_values(&after, "an `if`", self.site);
            self.otherwise.push(after);
        }
    }

    /// Replaces the state after the second arm by the one after the first, so that nothing has to be merged.
    fn collect_dead(&mut self) {
        if self.constant.is_none() {
            self.otherwise.push(self.then[self.otherwise.len()].clone());
        }
    }

    /// Returns the known value of the condition.
    pub(super) fn constant(&self) -> Option<bool> {
        self.constant
    }

    /// Collects the lanes that have exited in each arm, and the values that they exited with.
    pub(super) fn collect_exit(&mut self, masks: [&Var; 2], values: [Option<Leaves>; 2]) {
        let values = self.with_missing(values);
        let [then, otherwise] = [0, 1].map(|arm| {
            let arrays: &[Var] = &values[arm].arrays;
            Leaves::of_arrays(std::iter::once(masks[arm]).chain(arrays).cloned().collect())
        });
        self.then.push(then);
        self.otherwise.push(otherwise);
    }

    /// Gives an arm without a value one that is never read: that of the other arm, or zeros where that saves computing
    /// it.
    fn with_missing(&self, values: [Option<Leaves>; 2]) -> [Leaves; 2] {
        let is_small = self.recorder.as_ref().is_none_or(BranchRecorder::is_small);
        let missing = |other: &Leaves| {
            if is_small {
                return other.clone();
            }
            other.with_arrays(&mut other.arrays.iter().map(zero_unless_written))
        };
        match values {
            [Some(then), Some(otherwise)] => [then, otherwise],
            [Some(then), None] => [then.clone(), missing(&then)],
            [None, Some(otherwise)] => [missing(&otherwise), otherwise],
            [None, None] => [Leaves::default(), Leaves::default()],
        }
    }

    /// Merges the values of the arms, and the state.
    pub(super) fn merge(&mut self, then: &Leaves, otherwise: &Leaves) -> Leaves {
        let Some(recorder) = self.recorder.take() else {
            return if self.constant == Some(false) { otherwise.clone() } else { then.clone() };
        };
        if then.differs_in_host_values(otherwise) {
            let values = then.first_difference(otherwise).map(|(a, b)| format!(", {a} and {b}")).unwrap_or_default();
            refuse(
                format!("the arms of a traced `if` have different host values{values}"),
                &format!("use traced values: {}", then.advice(otherwise)),
                self.site,
            );
        }
        for (a, b) in then.arrays.iter().zip(&otherwise.arrays) {
            check_arms(&|| "values of".to_owned(), a, b, self.condition.var(), self.site);
        }
        check_branch(&self.state, [&self.then, &self.otherwise], self.condition.var(), self.site);
        let concat = |value: &Leaves, state: &[Leaves]| -> Vec<Var> {
            std::iter::once(value).chain(state).flat_map(|leaves| leaves.arrays.iter().cloned()).collect()
        };
        let merged = recorder.finish(concat(then, &self.then), concat(otherwise, &self.otherwise));
        let mut merged = merged.into_iter();
        let value = then.with_arrays(&mut merged);
        self.merged = self.then.iter().map(|leaves| leaves.with_arrays(&mut merged)).collect::<Vec<_>>().into_iter();
        value
    }

    pub(super) fn restore(&mut self) -> Option<Leaves> {
        self.merged.next()
    }
}
