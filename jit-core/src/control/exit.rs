//! `break`, `continue` and `return` out of regions: the mask of the lanes that exit, and their values.
//!
//! Each target of a jump (the end of a loop, of its body, of the function or of a labelled block) has an [`Exit`]. Its
//! stage is the join of the stages of all conditions between a jump and its target: the declaration of an exit names a
//! [`Witness`] for each of them, and Rust infers the stage of each. If all are of the host stage, the jump is Rust's
//! and the exit does nothing. Otherwise the exit is a mask of the lanes that have exited, and their values. Regions
//! merge both, and code after a jump is recorded under the mask of the lanes that have not exited. So only such lanes
//! reach recorded code, and the mask is false wherever a region begins.
//!
//! Code of only one stage follows a call whose result is uninhabited in the other one. This proves to the compiler that
//! no value is moved or borrowed there.

use jit_runtime::Site;

use super::branch::{Branch, TracedBranch};
use super::repeat::{Repeat, TracedRepeat, WhileCondition};
use super::stage::{HostStage, Stage, TracedStage};
use super::state::refuse;
use crate::array::Array;
use crate::graph::Var;
use crate::trace::branch::choose;
use crate::traverse::Traverse;
use crate::traverse::leaves::Leaves;
use std::marker::PhantomData;

/// Represents the stage of a condition.
#[derive(Debug)]
pub struct Witness<W>(PhantomData<W>);

/// Creates a witness of a stage that is inferred.
#[must_use]
#[inline(always)]
pub fn witness<W: Stage>() -> Witness<W> {
    Witness(PhantomData)
}

/// Fixes the stage that a witness represents.
#[inline(always)]
pub fn same<W: Stage>(_: &Witness<W>, _: &Branch<W>) {}

/// Passes the condition of a `while` through; fixes the stage that a witness represents.
#[inline(always)]
pub fn seen<'a, C: WhileCondition + ?Sized>(_: &Witness<C::Stage>, condition: &'a C) -> &'a C {
    condition
}

/// The join of two stages: the host stage if both are.
pub trait Join<B: Stage>: Stage {
    /// The join.
    type Stage: Stage;
    /// Combines a condition of each stage.
    fn both(a: Self::Condition, b: B::Condition) -> <Self::Stage as Stage>::Condition;
}

impl Join<HostStage> for HostStage {
    type Stage = HostStage;
    #[inline(always)]
    fn both(a: bool, b: bool) -> bool {
        a && b
    }
}

impl Join<TracedStage> for HostStage {
    type Stage = TracedStage;
    fn both(a: bool, b: Array<bool>) -> Array<bool> {
        Array::from(a) & b
    }
}

impl Join<HostStage> for TracedStage {
    type Stage = TracedStage;
    fn both(a: Array<bool>, b: bool) -> Array<bool> {
        a & Array::from(b)
    }
}

impl Join<TracedStage> for TracedStage {
    type Stage = TracedStage;
    fn both(a: Array<bool>, b: Array<bool>) -> Array<bool> {
        a & b
    }
}

/// A list of items that belong to stages, as nested pairs of references.
pub trait StageList {
    /// The join of their stages.
    type Stage: Stage;
    /// Collects the masks of the lanes that have taken one of the exits.
    fn left(&self, masks: &mut Vec<Array<bool>>);
}

impl StageList for () {
    type Stage = HostStage;
    #[inline(always)]
    fn left(&self, _: &mut Vec<Array<bool>>) {}
}

macro_rules! stages {
    ($($ty:ident),*) => {$(
        impl<W: Stage + Join<R::Stage>, R: StageList> StageList for (&$ty<W>, R) {
            type Stage = <W as Join<R::Stage>>::Stage;
            #[inline(always)]
            fn left(&self, masks: &mut Vec<Array<bool>>) {
                self.1.left(masks);
            }
        }
    )*};
}

stages!(Witness, Branch, Repeat, Joined);

impl<W: Stage + Join<R::Stage>, T, R: StageList> StageList for (&Exit<W, T>, R) {
    type Stage = <W as Join<R::Stage>>::Stage;
    #[inline(always)]
    fn left(&self, masks: &mut Vec<Array<bool>>) {
        masks.extend(W::left(&self.0.0).cloned());
        self.1.left(masks);
    }
}

/// The stage that a list belongs to.
#[derive(Debug)]
pub struct Joined<W>(PhantomData<W>);

/// Determines the stage of a list of items.
#[inline(always)]
pub fn joined<L: StageList>(_: L) -> Joined<L::Stage> {
    Joined(PhantomData)
}

impl<W: Stage> Joined<W> {
    /// Returns whether all items belong to the host stage.
    #[inline(always)]
    pub fn is_host(&self) -> bool {
        W::IS_HOST
    }

    /// Marks code that follows as reachable in the host stage only.
    #[inline(always)]
    pub fn host_only(&self) -> W::HostOnly {
        W::host_only()
    }

    /// Marks code that follows as reachable in the traced stage only.
    #[inline(always)]
    pub fn traced_only(&self) -> W::TracedOnly {
        W::traced_only()
    }

    /// Returns a value that is moved here, and mentioned in code that the same trace records later.
    #[inline(always)]
    pub fn share<T>(&self, value: &T) -> T
    where
        W: Shares<T>,
    {
        W::share(value)
    }
}

/// Types that may be moved in a region of a stage and mentioned later.
#[diagnostic::on_unimplemented(
    message = "`{T}` is moved in more than one arm of an `if`: it must be `Clone`, or the `if` marked `#[host]`",
    label = "moved here, and used in code that is recorded later",
    note = "under a traced condition both arms are recorded, and so is the code after a `break`, `continue` or `return`"
)]
pub trait Shares<T>: Stage {
    /// Returns a clone.
    fn share(value: &T) -> T;
}

#[diagnostic::do_not_recommend]
impl<T> Shares<T> for HostStage {
    fn share(_: &T) -> T {
        unreachable!("host values are moved, not shared")
    }
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Shares<T> for TracedStage {
    fn share(value: &T) -> T {
        value.clone()
    }
}

/// The lanes that have exited to a target, and the values that they exited with.
pub struct Exit<W: Stage, T>(W::Exit<T>, PhantomData<T>);

/// Creates an exit that no lane has taken.
#[must_use]
#[track_caller]
#[inline(always)]
pub fn exit<L: StageList, T>(_: L) -> Exit<L::Stage, T> {
    Exit(L::Stage::exit(Site::here()), PhantomData)
}

/// Returns whether it is known while tracing that no lane continues.
#[inline(always)]
pub fn all_exited<L: StageList>(exits: L) -> bool {
    !L::Stage::IS_HOST && {
        let mut masks = Vec::new();
        exits.left(&mut masks);
        any(masks).var().literal() == Some(1)
    }
}

/// Opens the branch of the lanes that have not exited.
#[track_caller]
#[inline(always)]
pub fn branch_live<L: StageList>(exits: L) -> Branch<L::Stage> {
    let mut masks = Vec::new();
    exits.left(&mut masks);
    Branch(L::Stage::branch(L::Stage::live(masks), Site::here()))
}

/// Returns the lanes of any mask.
fn any(masks: Vec<Array<bool>>) -> Array<bool> {
    masks.into_iter().reduce(|a, b| a | b).unwrap_or_else(|| Array::from(false))
}

impl TracedStage {
    /// Returns the lanes of no mask.
    pub(super) fn none_of(masks: Vec<Array<bool>>) -> Array<bool> {
        !any(masks)
    }
}

impl<W: Stage, T> Exit<W, T> {
    /// Returns whether jumps are Rust's.
    #[inline(always)]
    pub fn is_host(&self) -> bool {
        W::IS_HOST
    }

    /// Marks code that follows as reachable in the host stage only.
    #[inline(always)]
    pub fn host_only(&self) -> W::HostOnly {
        W::host_only()
    }

    /// Makes all active lanes take the exit, with a value.
    #[inline(always)]
    pub fn give(&mut self, value: T) -> W::TracedOnly
    where
        W: Gives<T>,
    {
        W::give(&mut self.0, value);
        W::traced_only()
    }

    /// Returns the value that lanes have exited with, if any has.
    #[inline(always)]
    pub fn take(&mut self) -> Option<T>
    where
        W: Gives<T>,
    {
        W::take(&mut self.0)
    }

    /// Returns the value that all lanes have exited with.
    #[inline(always)]
    pub fn value(&mut self) -> T
    where
        W: Gives<T>,
    {
        self.take().expect("lanes that have exited have a value")
    }

    /// Returns the value that lanes have exited with, and another one on the lanes that have not exited.
    #[inline(always)]
    pub fn or(mut self, value: T) -> T
    where
        W: Gives<T>,
    {
        W::or(&mut self.0, value)
    }
}

/// Checks that no part of a statement remains to be done after a jump in the middle of it.
#[inline(always)]
pub fn may_continue<W: MayContinue, T>(_: &Exit<W, T>) {}

/// Stages in which a statement may continue after a jump in it.
#[diagnostic::on_unimplemented(
    message = "a `break`, `continue` or `return` under a traced condition is inside of an expression",
    label = "computations with this value would also run for the lanes that have exited",
    note = "bind the value in a statement before this one: `let value = if …`"
)]
pub trait MayContinue: Stage {}

#[diagnostic::do_not_recommend]
impl MayContinue for HostStage {}

/// Types that lanes can exit with in a stage.
#[diagnostic::on_unimplemented(
    message = "`return` or `break` under a traced condition has a value of type `{T}`",
    label = "the values that lanes exit with are merged, so they must be traced values",
    note = "arrays and types that consist of arrays can be merged lane by lane: derive `Traverse` for your own type, \
        and for a number write `Float::from(1.0)`",
    note = "whether a `Result` or `Option` has a value is the same for all lanes: decide before, as in \
        `if (x < 0.0).any().item()? {{ return Err(error) }}`, or yield a `Mask` beside the value; an error type of \
        your own must be `Traverse`, too"
)]
pub trait Gives<T>: Stage {
    /// Makes all lanes exit.
    fn give(exit: &mut Self::Exit<T>, value: T);
    /// Returns the value that lanes have exited with.
    fn take(exit: &mut Self::Exit<T>) -> Option<T>;
    /// Returns the value that lanes have exited with, and another one on the lanes that have not.
    fn or(exit: &mut Self::Exit<T>, value: T) -> T;
    /// Called before the arms of a branch.
    fn save(branch: &mut TracedBranch, exit: &mut Self::Exit<T>);
    /// Called after the first arm.
    fn swap(branch: &mut TracedBranch, exit: &mut Self::Exit<T>);
    /// Called after the second arm.
    fn collect(branch: &mut TracedBranch, exit: &mut Self::Exit<T>);
    /// Called after the branch.
    fn restore(branch: &mut TracedBranch, exit: &mut Self::Exit<T>);
    /// Called at the begin of an iteration.
    fn collect_state(repeat: &mut TracedRepeat, exit: &mut Self::Exit<T>);
    /// Writes the state that the iteration works on.
    fn replace_state(repeat: &mut TracedRepeat, exit: &mut Self::Exit<T>);
    /// Called at the begin of a loop's body.
    fn enter(exit: &mut Self::Exit<T>);
}

#[diagnostic::do_not_recommend]
impl<T> Gives<T> for HostStage {
    #[inline(always)]
    fn give((): &mut (), _: T) {}
    #[inline(always)]
    fn take((): &mut ()) -> Option<T> {
        None
    }
    #[inline(always)]
    fn or((): &mut (), value: T) -> T {
        value
    }
    #[inline(always)]
    fn save(_: &mut TracedBranch, (): &mut ()) {}
    #[inline(always)]
    fn swap(_: &mut TracedBranch, (): &mut ()) {}
    #[inline(always)]
    fn collect(_: &mut TracedBranch, (): &mut ()) {}
    #[inline(always)]
    fn restore(_: &mut TracedBranch, (): &mut ()) {}
    #[inline(always)]
    fn collect_state(_: &mut TracedRepeat, (): &mut ()) {}
    #[inline(always)]
    fn replace_state(_: &mut TracedRepeat, (): &mut ()) {}
    #[inline(always)]
    fn enter((): &mut ()) {}
}

/// A mask of the lanes that have exited, and their value.
struct ExitState<T> {
    mask: Array<bool>,
    /// `None` while no lane has exited; meaningless on lanes that have not.
    value: Option<T>,
}

impl<T> ExitState<T> {
    fn none() -> Self {
        ExitState { mask: Array::from(false), value: None }
    }
}

/// The state of an exit in the traced stage.
pub struct TracedExit<T> {
    state: ExitState<T>,
    /// For each open branch: the state before it while the first arm is recorded, and then the state after that arm.
    frames: Vec<ExitState<T>>,
    site: Site,
}

impl<T> TracedExit<T> {
    pub(super) fn new(site: Site) -> Self {
        TracedExit { state: ExitState::none(), frames: Vec::new(), site }
    }

    pub(super) fn mask(&self) -> &Array<bool> {
        &self.state.mask
    }

    fn frame(&mut self) -> ExitState<T> {
        self.frames.pop().expect("a frame is pushed for each branch that an exit crosses")
    }
}

#[diagnostic::do_not_recommend]
impl<T: Traverse> Gives<T> for TracedStage {
    fn give(exit: &mut TracedExit<T>, value: T) {
        exit.state = ExitState { mask: Array::from(true), value: Some(value) };
    }

    fn take(exit: &mut TracedExit<T>) -> Option<T> {
        exit.state.value.take()
    }

    fn or(exit: &mut TracedExit<T>, mut value: T) -> T {
        let Some(given) = exit.state.value.take() else { return value };
        // As in a branch, a mask of many lanes makes the value as wide, whether or not it is constant.
        match exit.state.mask.var().literal().filter(|_| exit.state.mask.width() == 1) {
            Some(0) => return value,
            Some(_) => return given,
            None => {}
        }
        let (a, b) = (Leaves::of(&given), Leaves::of(&value));
        check_merge(&a, &b, exit.site);
        let pairs = a.arrays.iter().zip(&b.arrays);
        let mut merged = pairs.map(|(a, b)| choose(exit.state.mask.var(), a, b, exit.site));
        b.with_arrays(&mut merged).write(&mut value);
        value
    }

    fn save(_: &mut TracedBranch, exit: &mut TracedExit<T>) {
        let before = std::mem::replace(&mut exit.state, ExitState::none());
        exit.frames.push(before);
    }

    fn swap(_: &mut TracedBranch, exit: &mut TracedExit<T>) {
        let before = exit.frame();
        let then = std::mem::replace(&mut exit.state, before);
        exit.frames.push(then);
    }

    fn collect(branch: &mut TracedBranch, exit: &mut TracedExit<T>) {
        let then = exit.frame();
        match branch.constant() {
            Some(true) => exit.state = then,
            Some(false) => {}
            None => {
                let values = [&then, &exit.state].map(|state| state.value.as_ref().map(Leaves::of));
                if let [Some(a), Some(b)] = &values {
                    check_merge(a, b, exit.site);
                }
                branch.collect_exit([then.mask.var(), exit.state.mask.var()], values);
                exit.state.value = then.value.or(exit.state.value.take());
            }
        }
    }

    fn restore(branch: &mut TracedBranch, exit: &mut TracedExit<T>) {
        if let Some(merged) = branch.restore() {
            write(&merged.arrays, &mut exit.state);
        }
    }

    fn collect_state(repeat: &mut TracedRepeat, exit: &mut TracedExit<T>) {
        let value = exit.state.value.as_ref().map(Leaves::of);
        repeat.collect_exit(exit.state.mask.var(), value.map_or_else(Vec::new, |leaves| leaves.arrays));
    }

    fn replace_state(repeat: &mut TracedRepeat, exit: &mut TracedExit<T>) {
        let values = exit.state.value.as_ref().map_or(0, |value| Leaves::of(value).arrays.len());
        write(&repeat.exit_replacement(values), &mut exit.state);
    }

    fn enter(exit: &mut TracedExit<T>) {
        exit.state = ExitState::none();
    }
}

/// Writes a mask, and the arrays of a value.
fn write<T: Traverse>(arrays: &[Var], state: &mut ExitState<T>) {
    if let Some((mask, arrays)) = arrays.split_first() {
        state.mask.var_mut().clone_from(mask);
        if let Some(value) = &mut state.value {
            let leaves = Leaves::of(value);
            leaves.with_arrays(&mut arrays.iter().cloned()).write(value);
        }
    }
}

/// Rejects values with different structures.
fn check_merge(a: &Leaves, b: &Leaves, site: Site) {
    if a.differs_in_host_values(b) {
        let values = a.first_difference(b).map(|(a, b)| format!(", {a} and {b}")).unwrap_or_default();
        refuse(
            format!("lanes exit with different host values{values}"),
            &format!("under a traced condition `return` and `break` take traced values: {}", a.advice(b)),
            site,
        );
    }
}

impl<W: Stage> Branch<W> {
    /// Registers, before the arms, an exit that they may take.
    #[inline(always)]
    pub fn save_exit<E: Gives<T>, T>(&mut self, exit: &mut Exit<E, T>) {
        if let Some(branch) = W::traced_branch(&mut self.0) {
            E::save(branch, &mut exit.0);
        }
    }

    /// Collects the lanes that have exited in the first arm.
    #[inline(always)]
    pub fn swap_exit<E: Gives<T>, T>(&mut self, exit: &mut Exit<E, T>) {
        if let Some(branch) = W::traced_branch(&mut self.0) {
            E::swap(branch, &mut exit.0);
        }
    }

    /// Collects the lanes that have exited in the second arm.
    #[inline(always)]
    pub fn collect_exit<E: Gives<T>, T>(&mut self, exit: &mut Exit<E, T>) {
        if let Some(branch) = W::traced_branch(&mut self.0) {
            E::collect(branch, &mut exit.0);
        }
    }

    /// Writes the lanes that have exited in either arm.
    #[inline(always)]
    pub fn restore_exit<E: Gives<T>, T>(&mut self, exit: &mut Exit<E, T>) {
        if let Some(branch) = W::traced_branch(&mut self.0) {
            E::restore(branch, &mut exit.0);
        }
    }
}

impl<W: Stage> Repeat<W> {
    /// Registers an exit that the body may take, at the begin of an iteration.
    #[inline(always)]
    pub fn collect_exit<E: Gives<T>, T>(&mut self, exit: &mut Exit<E, T>) {
        if let Some(repeat) = W::traced_repeat(&mut self.0) {
            E::collect_state(repeat, &mut exit.0);
        }
    }

    /// Writes the lanes that have exited before the iteration.
    #[inline(always)]
    pub fn replace_exit<E: Gives<T>, T>(&mut self, exit: &mut Exit<E, T>) {
        if let Some(repeat) = W::traced_repeat(&mut self.0) {
            E::replace_state(repeat, &mut exit.0);
        }
    }

    /// Marks that lanes that run the body have not exited.
    #[inline(always)]
    pub fn enter_exit<E: Gives<T>, T>(&mut self, exit: &mut Exit<E, T>) {
        if W::traced_repeat(&mut self.0).is_some() {
            E::enter(&mut exit.0);
        }
    }
}
