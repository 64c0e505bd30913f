//! The two stages that a condition can belong to.

use jit_runtime::Site;

use super::branch::{Branch, TracedBranch};
use super::exit::TracedExit;
use super::repeat::{HostRepeat, Setting, TracedRepeat};
use crate::array::Array;
use crate::traverse::Traverse;
use crate::traverse::leaves::Leaves;
use std::convert::Infallible;

/// Conditions that are `bool`: Rust decides while tracing.
#[derive(Debug)]
pub struct HostStage;

/// Conditions that are masks: lanes decide when the kernel runs.
#[derive(Debug)]
pub struct TracedStage;

/// The types and operations of guards in a stage.
pub trait Stage: Sized {
    /// A condition.
    type Condition;
    /// The state of an `if`.
    type Branch;
    /// The state of a `while`.
    type Repeat;
    /// The state of an exit.
    type Exit<T>;
    /// Inhabited in the host stage.
    type HostOnly;
    /// Inhabited in the traced stage.
    type TracedOnly;
    /// Whether it is the host stage.
    const IS_HOST: bool;

    /// Opens a branch.
    fn branch(condition: Self::Condition, site: Site) -> Self::Branch;
    /// Returns whether to run the first arm.
    fn then(branch: &mut Self::Branch) -> bool;
    /// Returns whether to run the second arm.
    fn otherwise(branch: &mut Self::Branch) -> bool;
    /// Closes a branch without a value.
    fn merge(branch: &mut Self::Branch);
    /// Creates a loop before its first iteration.
    fn repeat(site: Site) -> Self::Repeat;
    /// Sets an option of a loop.
    fn set(repeat: &mut Self::Repeat, setting: Setting);
    /// Makes a branch evaluate both sides and blend them.
    fn evaluate(branch: &mut Self::Branch);
    /// Begins an iteration of a loop.
    fn begin_iteration(repeat: &mut Self::Repeat);
    /// Returns whether all iterations have run.
    fn is_done(repeat: &Self::Repeat) -> bool;
    /// Returns whether to run the body.
    fn test(repeat: &mut Self::Repeat, condition: Self::Condition) -> bool;
    /// Returns the opposite condition.
    fn not(condition: Self::Condition) -> Self::Condition;
    /// Precedes code that runs in the host stage only.
    fn host_only() -> Self::HostOnly;
    /// Precedes code that runs in the traced stage only.
    fn traced_only() -> Self::TracedOnly;
    /// Creates an exit that no lane has taken.
    fn exit<T>(site: Site) -> Self::Exit<T>;
    /// Returns the lanes that have taken an exit.
    fn left<T>(exit: &Self::Exit<T>) -> Option<&Array<bool>>;
    /// Returns the lanes that have taken no exit.
    fn live(left: Vec<Array<bool>>) -> Self::Condition;
    /// Restricts a condition to the lanes that have taken no exit; a host condition holds for all lanes.
    fn and_live(condition: Self::Condition, left: Vec<Array<bool>>) -> Self::Condition;
    /// Returns the guard of an `if`, if it is traced.
    fn traced_branch(branch: &mut Self::Branch) -> Option<&mut TracedBranch>;
    /// Returns the guard of a loop, if it is traced.
    fn traced_repeat(repeat: &mut Self::Repeat) -> Option<&mut TracedRepeat>;
}

/// Types that may change in a region of a stage.
#[diagnostic::on_unimplemented(
    message = "`{X}` cannot be the state of a traced `if` or `while`",
    label = "this changes, or may change, under a traced condition",
    note = "variables that change there must be `Traverse`, like arrays, tuples and vectors of them; derive it for \
        your own types, pass the variables that a closure changes as arguments, move the change out, or mark the \
        statement with `#[host]` if its condition is a `bool`"
)]
pub trait Carries<X: ?Sized>: Stage {
    /// Saves the state before the arms.
    fn save(branch: &mut Self::Branch, name: &'static str, value: &X);
    /// Takes the state after the first arm and restores the one from before it.
    fn swap(branch: &mut Self::Branch, value: &mut X);
    /// Collects the state after the second arm.
    fn collect(branch: &mut Self::Branch, value: &X);
    /// Writes the merged state.
    fn restore(branch: &mut Self::Branch, value: &mut X);
    /// Collects the state at the begin of an iteration.
    fn collect_state(repeat: &mut Self::Repeat, name: &'static str, value: &X);
    /// Writes the state that the iteration works on.
    fn replace_state(repeat: &mut Self::Repeat, value: &mut X);
    /// Rejects a change of the state in the condition of a loop.
    fn check_unchanged(repeat: &Self::Repeat, name: &'static str, value: &X);
}

impl Stage for HostStage {
    type Condition = bool;
    type Branch = bool;
    type Repeat = HostRepeat;
    type Exit<T> = ();
    type HostOnly = ();
    type TracedOnly = Infallible;
    const IS_HOST: bool = true;

    #[inline(always)]
    fn branch(condition: bool, _: Site) -> bool {
        condition
    }
    #[inline(always)]
    fn then(branch: &mut bool) -> bool {
        *branch
    }
    #[inline(always)]
    fn otherwise(branch: &mut bool) -> bool {
        !*branch
    }
    #[inline(always)]
    fn merge(_: &mut bool) {}
    #[inline(always)]
    fn repeat(site: Site) -> HostRepeat {
        HostRepeat::new(site)
    }
    #[inline(always)]
    fn set(repeat: &mut HostRepeat, setting: Setting) {
        repeat.set(setting);
    }
    #[inline(always)]
    fn evaluate(_: &mut bool) {}
    #[inline(always)]
    fn begin_iteration(_: &mut HostRepeat) {}
    #[inline(always)]
    fn is_done(_: &HostRepeat) -> bool {
        false
    }
    #[inline(always)]
    fn test(repeat: &mut HostRepeat, condition: bool) -> bool {
        if condition {
            repeat.count();
        }
        condition
    }
    #[inline(always)]
    fn not(condition: bool) -> bool {
        !condition
    }
    #[inline(always)]
    fn host_only() {}
    fn traced_only() -> Infallible {
        unreachable!("host jumps are Rust's own")
    }
    #[inline(always)]
    fn exit<T>(_: Site) {}
    #[inline(always)]
    fn left<T>((): &()) -> Option<&Array<bool>> {
        None
    }
    #[inline(always)]
    fn live(_: Vec<Array<bool>>) -> bool {
        true
    }
    #[inline(always)]
    fn and_live(condition: bool, _: Vec<Array<bool>>) -> bool {
        condition
    }
    #[inline(always)]
    fn traced_branch(_: &mut bool) -> Option<&mut TracedBranch> {
        None
    }
    #[inline(always)]
    fn traced_repeat(_: &mut HostRepeat) -> Option<&mut TracedRepeat> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<X: ?Sized> Carries<X> for HostStage {
    #[inline(always)]
    fn save(_: &mut bool, _: &'static str, _: &X) {}
    #[inline(always)]
    fn swap(_: &mut bool, _: &mut X) {}
    #[inline(always)]
    fn collect(_: &mut bool, _: &X) {}
    #[inline(always)]
    fn restore(_: &mut bool, _: &mut X) {}
    #[inline(always)]
    fn collect_state(_: &mut HostRepeat, _: &'static str, _: &X) {}
    #[inline(always)]
    fn replace_state(_: &mut HostRepeat, _: &mut X) {}
    #[inline(always)]
    fn check_unchanged(_: &HostRepeat, _: &'static str, _: &X) {}
}

impl Stage for TracedStage {
    type Condition = Array<bool>;
    type Branch = TracedBranch;
    type Repeat = TracedRepeat;
    type Exit<T> = TracedExit<T>;
    type HostOnly = Infallible;
    type TracedOnly = ();
    const IS_HOST: bool = false;

    fn branch(condition: Array<bool>, site: Site) -> TracedBranch {
        TracedBranch::new(condition, site)
    }
    fn then(branch: &mut TracedBranch) -> bool {
        branch.then()
    }
    fn otherwise(branch: &mut TracedBranch) -> bool {
        branch.otherwise()
    }
    fn merge(branch: &mut TracedBranch) {
        branch.merge(&Leaves::default(), &Leaves::default());
    }
    fn set(repeat: &mut TracedRepeat, setting: Setting) {
        repeat.set(setting);
    }
    fn evaluate(branch: &mut TracedBranch) {
        branch.evaluate();
    }
    fn repeat(site: Site) -> TracedRepeat {
        TracedRepeat::new(site)
    }
    fn begin_iteration(repeat: &mut TracedRepeat) {
        repeat.begin_iteration();
    }
    fn is_done(repeat: &TracedRepeat) -> bool {
        repeat.is_done()
    }
    fn test(repeat: &mut TracedRepeat, condition: Array<bool>) -> bool {
        repeat.test(&condition)
    }
    fn not(condition: Array<bool>) -> Array<bool> {
        !condition
    }
    fn host_only() -> Infallible {
        unreachable!("traced jumps are masks")
    }
    fn traced_only() {}
    fn exit<T>(site: Site) -> TracedExit<T> {
        TracedExit::new(site)
    }
    fn left<T>(exit: &TracedExit<T>) -> Option<&Array<bool>> {
        Some(exit.mask())
    }
    fn live(left: Vec<Array<bool>>) -> Array<bool> {
        TracedStage::none_of(left)
    }
    fn and_live(condition: Array<bool>, left: Vec<Array<bool>>) -> Array<bool> {
        if left.is_empty() { condition } else { TracedStage::none_of(left) & condition }
    }
    fn traced_branch(branch: &mut TracedBranch) -> Option<&mut TracedBranch> {
        Some(branch)
    }
    fn traced_repeat(repeat: &mut TracedRepeat) -> Option<&mut TracedRepeat> {
        Some(repeat)
    }
}

#[diagnostic::do_not_recommend]
impl<X: Traverse + ?Sized> Carries<X> for TracedStage {
    fn save(branch: &mut TracedBranch, name: &'static str, value: &X) {
        branch.save(name, Leaves::with_paths(value));
    }
    fn swap(branch: &mut TracedBranch, value: &mut X) {
        if let Some(before) = branch.swap(|| Leaves::of(value)) {
            before.write(value);
        }
    }
    fn collect(branch: &mut TracedBranch, value: &X) {
        branch.collect(|| Leaves::of(value));
    }
    fn restore(branch: &mut TracedBranch, value: &mut X) {
        if let Some(merged) = branch.restore() {
            merged.write(value);
        }
    }
    fn collect_state(repeat: &mut TracedRepeat, name: &'static str, value: &X) {
        let leaves = if repeat.is_first() { Leaves::with_paths(value) } else { Leaves::of(value) };
        repeat.collect(name, leaves);
    }
    fn replace_state(repeat: &mut TracedRepeat, value: &mut X) {
        repeat.replace(value);
    }
    fn check_unchanged(repeat: &TracedRepeat, name: &'static str, value: &X) {
        repeat.check_unchanged(name, &Leaves::of(value));
    }
}

/// The conditions of an `if`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition: `if` takes a `bool` or a `Mask`",
    label = "expected `bool` or `Mask`, found `{Self}`",
    note = "compare it, as in `n != 0`"
)]
pub trait IfCondition {
    /// The stage that decides.
    type Stage: Stage;
    /// Returns the condition's value.
    fn condition(&self) -> <Self::Stage as Stage>::Condition;

    /// Opens an `if`.
    #[track_caller]
    #[inline]
    fn branch(&self) -> Branch<Self::Stage> {
        Branch(Self::Stage::branch(self.condition(), Site::here()))
    }
}

#[diagnostic::do_not_recommend]
impl IfCondition for bool {
    type Stage = HostStage;
    #[inline(always)]
    fn condition(&self) -> bool {
        *self
    }
}

#[diagnostic::do_not_recommend]
impl IfCondition for Array<bool> {
    type Stage = TracedStage;
    #[inline]
    fn condition(&self) -> Array<bool> {
        self.clone()
    }
}

#[diagnostic::do_not_recommend]
impl IfCondition for &Array<bool> {
    type Stage = TracedStage;
    #[inline]
    fn condition(&self) -> Array<bool> {
        (*self).clone()
    }
}
