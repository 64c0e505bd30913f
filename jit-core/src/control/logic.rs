//! `&&` and `||` between values of both stages.

use jit_runtime::Site;

use super::branch::Branch;
use super::stage::{HostStage, Stage, TracedStage};
use crate::array::Array;

/// The operands of `&&` and `||`.
#[diagnostic::on_unimplemented(
    message = "`&&` and `||` take `bool` or `Mask`, not `{Self}`",
    label = "expected `bool` or `Mask`, found `{Self}`",
    note = "`&` and `|` work on the bits of integers"
)]
pub trait Logical {
    /// The stage that the value belongs to.
    type Stage: Stage;
    /// Returns the value.
    fn logical(&self) -> <Self::Stage as Stage>::Condition;

    /// Evaluates the left side of `&&`.
    #[inline(always)]
    fn left_of_and(&self) -> Side<Self::Stage>
    where
        Self::Stage: Decides,
    {
        let left = self.logical();
        let decided = Self::Stage::known(&left).filter(|value| !value);
        Side { left, decided, is_and: true }
    }

    /// Evaluates the left side of `||`.
    #[inline(always)]
    fn left_of_or(&self) -> Side<Self::Stage>
    where
        Self::Stage: Decides,
    {
        let left = self.logical();
        let decided = Self::Stage::known(&left).filter(|value| *value);
        Side { left, decided, is_and: false }
    }

    /// Returns the result of `&&` or `||`, with `self` as the right side.
    #[inline(always)]
    fn join<W: Joins<Self::Stage>>(&self, side: &Side<W>) -> W::Output {
        if side.is_and { W::and(&side.left, self.logical()) } else { W::or(&side.left, self.logical()) }
    }

    /// Opens the branch in which the right side of `&&` is evaluated.
    #[track_caller]
    #[inline]
    fn branch_and(&self) -> Branch<Self::Stage> {
        Branch(Self::Stage::branch(self.logical(), Site::here()))
    }

    /// Opens the branch in which the right side of `||` is evaluated.
    #[track_caller]
    #[inline]
    fn branch_or(&self) -> Branch<Self::Stage> {
        Branch(Self::Stage::branch(Self::Stage::not(self.logical()), Site::here()))
    }

    /// Returns the right side in such a branch, as a value of the result's type.
    #[inline(always)]
    fn lift<W: Joins<Self::Stage>>(&self, _: &Branch<W>) -> W::Output {
        W::lift(self.logical())
    }
}

#[diagnostic::do_not_recommend]
impl Logical for bool {
    type Stage = HostStage;
    #[inline(always)]
    fn logical(&self) -> bool {
        *self
    }
}

#[diagnostic::do_not_recommend]
impl Logical for Array<bool> {
    type Stage = TracedStage;
    fn logical(&self) -> Array<bool> {
        self.clone()
    }
}

#[diagnostic::do_not_recommend]
impl Logical for &Array<bool> {
    type Stage = TracedStage;
    fn logical(&self) -> Array<bool> {
        (*self).clone()
    }
}

/// The stage of the result of two operands.
pub trait Joins<R: Stage>: Stage {
    /// `bool` if both are host values, otherwise a mask.
    type Output: From<bool>;
    /// Converts the right side to that type.
    fn lift(right: R::Condition) -> Self::Output;
    /// Returns the result of `left && right`, if the left side does not decide it.
    fn and(left: &Self::Condition, right: R::Condition) -> Self::Output;
    /// Returns the result of `left || right`, if the left side does not decide it.
    fn or(left: &Self::Condition, right: R::Condition) -> Self::Output;
}

impl Joins<HostStage> for HostStage {
    type Output = bool;
    #[inline(always)]
    fn lift(right: bool) -> bool {
        right
    }
    #[inline(always)]
    fn and(_: &bool, right: bool) -> bool {
        right
    }
    #[inline(always)]
    fn or(_: &bool, right: bool) -> bool {
        right
    }
}

impl Joins<TracedStage> for HostStage {
    type Output = Array<bool>;
    fn lift(right: Array<bool>) -> Array<bool> {
        right
    }
    fn and(_: &bool, right: Array<bool>) -> Array<bool> {
        right
    }
    fn or(_: &bool, right: Array<bool>) -> Array<bool> {
        right
    }
}

impl Joins<HostStage> for TracedStage {
    type Output = Array<bool>;
    fn lift(right: bool) -> Array<bool> {
        Array::from(right)
    }
    fn and(left: &Array<bool>, right: bool) -> Array<bool> {
        left & Array::from(right)
    }
    fn or(left: &Array<bool>, right: bool) -> Array<bool> {
        left | Array::from(right)
    }
}

impl Joins<TracedStage> for TracedStage {
    type Output = Array<bool>;
    fn lift(right: Array<bool>) -> Array<bool> {
        right
    }
    fn and(left: &Array<bool>, right: Array<bool>) -> Array<bool> {
        left & right
    }
    fn or(left: &Array<bool>, right: Array<bool>) -> Array<bool> {
        left | right
    }
}

/// The left side of `&&` or `||`, when the right one has no side effects that need a region.
pub struct Side<W: Stage> {
    left: W::Condition,
    /// The result if a host value on the left decides it; otherwise `None`.
    decided: Option<bool>,
    is_and: bool,
}

/// Conditions whose value may be known while tracing.
pub trait Decides: Stage {
    /// Returns the value, if it is a host value.
    fn known(condition: &Self::Condition) -> Option<bool>;
}

impl Decides for HostStage {
    #[inline(always)]
    fn known(condition: &bool) -> Option<bool> {
        Some(*condition)
    }
}

impl Decides for TracedStage {
    #[inline(always)]
    fn known(_: &Array<bool>) -> Option<bool> {
        None
    }
}

impl<W: Stage> Side<W> {
    /// Returns whether the right side is needed.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.decided.is_none()
    }

    /// Returns the result, if the left side decides it.
    #[inline(always)]
    pub fn decided<T: From<bool>>(&self) -> T {
        T::from(self.decided == Some(true))
    }
}

/// Returns a constant result.
#[inline(always)]
pub fn logical<T: From<bool>>(value: bool) -> T {
    T::from(value)
}
