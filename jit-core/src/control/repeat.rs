//! `while`: the guard of its iterations.

use super::evaluated::Evaluated;
use super::exit::{Join, StageList};
use super::stage::{Carries, HostStage, Stage, TracedStage};
use super::state::{Named, check_loop, refuse};
use crate::array::Array;
use crate::capture::launches;
use crate::graph::Var;
use crate::misuse::Misuse;
use crate::size::{Size, table};
use crate::trace::{LoopRecorder, scatter};
use crate::traverse::leaves::Leaves;
use crate::traverse::{HostValue, Traverse, VisitorMut};
use jit_runtime::Site;
use jit_runtime::recording::SizeId;

/// The conditions of a `while`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition: `while` takes a `bool` or a `Mask`",
    label = "expected `bool` or `Mask`, found `{Self}`",
    note = "compare it, as in `n != 0`"
)]
pub trait WhileCondition {
    /// The stage that decides.
    type Stage: Stage;
    /// Returns the condition's value.
    fn condition(&self) -> <Self::Stage as Stage>::Condition;

    /// Returns whether to run the body.
    #[inline(always)]
    fn test(&self, guard: &mut Repeat<Self::Stage>) -> bool {
        Self::Stage::test(&mut guard.0, self.condition())
    }
}

#[diagnostic::do_not_recommend]
impl WhileCondition for bool {
    type Stage = HostStage;
    #[inline(always)]
    fn condition(&self) -> bool {
        *self
    }
}

#[diagnostic::do_not_recommend]
impl WhileCondition for Array<bool> {
    type Stage = TracedStage;
    #[inline]
    fn condition(&self) -> Array<bool> {
        self.clone()
    }
}

#[diagnostic::do_not_recommend]
impl WhileCondition for &Array<bool> {
    type Stage = TracedStage;
    #[inline]
    fn condition(&self) -> Array<bool> {
        (*self).clone()
    }
}

/// The guard of a `while`. Its stage is that of the condition, which [`WhileCondition::test`] sees.
pub struct Repeat<W: Stage>(pub(super) W::Repeat);

/// Opens a `while`.
#[must_use]
#[track_caller]
#[inline(always)]
pub fn repeat<W: Stage>() -> Repeat<W> {
    Repeat(W::repeat(Site::here()))
}

/// Options of a loop.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// Each iteration is evaluated before the next one begins.
    Evaluated,
    /// Finished lanes are removed from an evaluated loop.
    Compress,
    /// The maximum number of iterations of each lane.
    MaxIterations(u32),
}

impl<W: Stage> Repeat<W> {
    /// Makes the loop evaluate its iterations one by one.
    #[inline(always)]
    pub fn evaluated(&mut self) {
        W::set(&mut self.0, Setting::Evaluated);
    }

    /// Makes the loop remove finished lanes.
    #[inline(always)]
    pub fn compress(&mut self) {
        W::set(&mut self.0, Setting::Compress);
    }

    /// Limits the number of iterations of each lane.
    #[inline(always)]
    pub fn max_iterations(&mut self, limit: u32) {
        W::set(&mut self.0, Setting::MaxIterations(limit));
    }

    /// Registers a place that the loop changes, at the begin of an iteration.
    #[inline(always)]
    pub fn collect<X: ?Sized>(&mut self, name: &'static str, value: &X)
    where
        W: Carries<X>,
    {
        W::collect_state(&mut self.0, name, value);
    }

    /// Begins an iteration.
    #[inline(always)]
    pub fn begin_iteration(&mut self) {
        W::begin_iteration(&mut self.0);
    }

    /// Writes the value of a place that the iteration works on.
    #[inline(always)]
    pub fn replace<X: ?Sized>(&mut self, value: &mut X)
    where
        W: Carries<X>,
    {
        W::replace_state(&mut self.0, value);
    }

    /// Rejects a change of a place in the condition, which lanes whose condition is false would lose.
    #[inline(always)]
    pub fn check_unchanged<X: ?Sized>(&self, name: &'static str, value: &X)
    where
        W: Carries<X>,
    {
        W::check_unchanged(&self.0, name, value);
    }

    /// Returns whether all iterations have run.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        W::is_done(&self.0)
    }

    /// Returns whether jumps out of the loop are Rust's.
    #[inline(always)]
    pub fn is_traced(&self) -> bool {
        !W::IS_HOST
    }

    /// Marks code that follows as reachable in the traced stage only.
    #[inline(always)]
    pub fn traced_only(&self) -> W::TracedOnly {
        W::traced_only()
    }

    /// Called where a traced loop has no exit.
    pub fn never_ends(&self) -> ! {
        unreachable!("a loop without exits is a host loop")
    }

    /// Returns whether to run the body of a loop that lanes may also exit.
    #[inline(always)]
    pub fn test_live<L: StageList, C: WhileCondition + ?Sized>(&mut self, exits: L, condition: &C) -> bool
    where
        L::Stage: Join<C::Stage, Stage = W>,
    {
        let mut masks = Vec::new();
        exits.left(&mut masks);
        W::test(&mut self.0, <L::Stage as Join<C::Stage>>::both(L::Stage::live(masks), condition.condition()))
    }

    /// Begins the body of a loop that lanes exit only by jumps.
    #[inline(always)]
    pub fn test_exits<L: StageList<Stage = W>>(&mut self, exits: L) {
        let mut masks = Vec::new();
        exits.left(&mut masks);
        if let Some(repeat) = W::traced_repeat(&mut self.0) {
            repeat.is_endless = true;
        }
        W::test(&mut self.0, W::live(masks));
    }
}

/// The state of a host `while`.
pub struct HostRepeat {
    /// The number of iterations that may follow.
    left: Option<u32>,
    limit: u32,
    site: Site,
}

impl HostRepeat {
    #[inline(always)]
    pub(super) fn new(site: Site) -> Self {
        HostRepeat { left: None, limit: 0, site }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, setting: Setting) {
        if let Setting::MaxIterations(limit) = setting {
            (self.left, self.limit) = (Some(limit), limit);
        }
    }

    /// Counts an iteration.
    #[inline(always)]
    pub fn count(&mut self) {
        match &mut self.left {
            None => {}
            Some(0) => refuse_more(self.limit, self.site),
            Some(left) => *left -= 1,
        }
    }
}

/// Returns the bound of a loop that Rust executes.
#[must_use]
#[track_caller]
pub fn bounded(limit: u32) -> HostRepeat {
    HostRepeat { left: Some(limit), limit, site: Site::here() }
}

/// Rejects an iteration beyond the limit of a host loop.
#[cold]
pub(super) fn refuse_more(limit: u32, site: Site) -> ! {
    Misuse::new(format!("a loop runs more than the {limit} iterations that `#[max_iterations]` allows"), site)
        .hint("raise the limit, or find out why its condition stays true")
        .panic()
}

/// The state of a traced `while`.
pub struct TracedRepeat {
    recorder: Option<LoopRecorder>,
    /// The state before the loop.
    before: Vec<Named>,
    /// The state after the body.
    after: Vec<Leaves>,
    /// The state at the begin of the iteration.
    begun: Vec<Leaves>,
    /// The values that replace the state next.
    replacements: std::vec::IntoIter<Leaves>,
    /// The parameters that represent the state while the loop is recorded.
    params: Vec<Var>,
    condition: Option<Array<bool>>,
    iterations: u32,
    /// The values that exits get in the body; after the loop, their arrays.
    late: Vec<Var>,
    late_replacements: std::vec::IntoIter<Var>,
    /// Whether it ends only by exits.
    is_endless: bool,
    /// Whether a lane may take one of the exits.
    has_exit: bool,
    is_evaluated: bool,
    is_compressed: bool,
    max_iterations: Option<u32>,
    /// The state of an evaluated loop between iterations.
    evaluated: Option<Evaluated>,
    /// The host values in the state, before the last iteration and now.
    host: [Vec<HostPart>; 2],
    site: Site,
}

/// A host value in the state.
#[derive(PartialEq)]
enum HostPart {
    Value(HostValue),
    /// In a recording, sizes are the same if their expressions are.
    Size(SizeId),
}

impl TracedRepeat {
    pub(super) fn new(site: Site) -> Self {
        TracedRepeat {
            recorder: None,
            before: Vec::new(),
            after: Vec::new(),
            begun: Vec::new(),
            replacements: Vec::new().into_iter(),
            params: Vec::new(),
            condition: None,
            iterations: 0,
            late: Vec::new(),
            late_replacements: Vec::new().into_iter(),
            is_endless: false,
            has_exit: false,
            is_evaluated: false,
            is_compressed: false,
            max_iterations: None,
            evaluated: None,
            host: Default::default(),
            site,
        }
    }

    pub(super) fn set(&mut self, setting: Setting) {
        match setting {
            Setting::Evaluated => self.is_evaluated = true,
            Setting::Compress => self.is_compressed = true,
            Setting::MaxIterations(limit) => self.max_iterations = Some(limit),
        }
    }

    pub(super) fn collect(&mut self, name: &'static str, leaves: Leaves) {
        if self.is_evaluated && launches::is_recording() {
            self.host[1].extend(leaves.host_values().into_iter().map(HostPart::Value));
        }
        if self.iterations == 0 {
            self.before.push(Named { name, leaves });
        } else {
            let before = &self.before[self.after.len()];
            match self.is_evaluated {
                true => before.check_arrays(&leaves, self.site),
                false => before.check_host_values(&leaves, "a `while`", self.site),
            }
            self.after.push(leaves);
        }
    }

    pub(super) fn check_unchanged(&self, name: &'static str, now: &Leaves) {
        let position = self.before.iter().position(|named| named.name == name);
        let Some(begun) = position.and_then(|position| self.begun.get(position)) else { return };
        let is_same = |(old, new): (&Var, &Var)| new.is_same(old) || scatter::is_version_of(new, old);
        if !begun.arrays.iter().zip(&now.arrays).all(is_same) {
            let message = format!("the condition of a traced `while` changes `{name}`");
            let hint = "lanes whose condition is false would lose the change: write `loop { if !(…) { break; } … }`";
            Misuse::new(message, self.site).hint(hint).panic();
        }
    }

    /// Returns whether the loop has not begun.
    pub(super) fn is_first(&self) -> bool {
        self.iterations == 0
    }

    pub(super) fn begin_iteration(&mut self) {
        let arrays = if self.is_evaluated { self.iterate_evaluated() } else { self.iterate_recorded() };
        self.iterations += 1;
        let mut arrays = arrays.into_iter();
        let replaced: Vec<Leaves> = self.before.iter().map(|named| named.leaves.with_arrays(&mut arrays)).collect();
        self.begun.clone_from(&replaced);
        self.replacements = replaced.into_iter();
        self.late_replacements = arrays;
    }

    fn iterate_recorded(&mut self) -> Vec<Var> {
        match self.recorder.take() {
            None => {
                let inits: Vec<Var> = self.before.iter().flat_map(|named| named.leaves.arrays.clone()).collect();
                let (recorder, parameters) = LoopRecorder::begin_bounded(&inits, self.max_iterations, self.site);
                self.recorder = Some(recorder);
                self.params.clone_from(&parameters);
                parameters
            }
            Some(recorder) => self.finish(recorder),
        }
    }

    fn iterate_evaluated(&mut self) -> Vec<Var> {
        let next = self.after.drain(..).flat_map(|leaves| leaves.arrays);
        let next: Vec<Var> = next.chain(self.late.drain(..)).collect();
        if let Some(evaluated) = &mut self.evaluated {
            evaluated.end_iteration(next);
            self.check_end();
        } else {
            let inits = self.before.iter_mut().flat_map(|named| named.leaves.take_arrays()).collect();
            self.evaluated = Some(Evaluated::begin(inits, self.is_compressed, self.max_iterations, self.site));
        }
        self.evaluated.as_ref().map_or_else(Vec::new, Evaluated::state)
    }

    fn check_end(&self) {
        if self.is_endless && !self.has_exit {
            refuse(
                "a traced `loop` without `break` never ends".to_owned(),
                "no lane reaches a `break` or `return` in it: compute their conditions from values that the loop \
                 changes",
                self.site,
            );
        }
    }

    fn finish(&mut self, recorder: LoopRecorder) -> Vec<Var> {
        self.check_end();
        if let Some(condition) = &self.condition {
            check_loop(&self.before, &self.params, &self.after, condition.var(), self.site);
        }
        let next = self.after.iter().flat_map(|leaves| leaves.arrays.clone()).collect();
        recorder.finish_with(next, std::mem::take(&mut self.late))
    }

    /// Collects the lanes that have taken an exit, and the arrays of the value that they exited with.
    pub(super) fn collect_exit(&mut self, mask: &Var, values: Vec<Var>) {
        let leaves = Leaves::of_arrays(vec![mask.clone()]);
        if self.iterations == 0 {
            self.before.push(Named { name: "", leaves });
        } else {
            self.has_exit |= mask.literal() != Some(0);
            self.after.push(leaves);
            self.late.extend(values);
        }
    }

    /// Returns the lanes that have taken an exit before the iteration, and the arrays of their value.
    pub(super) fn exit_replacement(&mut self, values: usize) -> Vec<Var> {
        let mask = self.replacement().arrays;
        mask.into_iter().chain(self.late_replacements.by_ref().take(values)).collect()
    }

    /// Replaces a value of the state.
    pub(super) fn replace(&mut self, value: &mut (impl Traverse + ?Sized)) {
        self.replacement().write(value);
        if self.is_evaluated && launches::is_recording() {
            let (mut arrays, host) = (|_: &str, _: &mut Var| {}, &mut self.host[1]);
            let mut size = |size: &mut Size, _: bool| host.push(HostPart::Size(table::id_of(*size)));
            value.traverse_mut(&mut VisitorMut::with_sizes(&mut arrays, &mut size));
        }
    }

    /// Returns whether the host values in the state are unchanged since the last iteration.
    fn is_steady(&mut self) -> bool {
        let [before, now] = &mut self.host;
        let is_steady = before == now;
        *before = std::mem::take(now);
        is_steady
    }

    pub(super) fn replacement(&mut self) -> Leaves {
        self.replacements.next().expect("each collected place has a replacement")
    }

    pub(super) fn is_done(&self) -> bool {
        match &self.evaluated {
            Some(evaluated) => evaluated.is_done(),
            None => self.iterations == 2,
        }
    }

    pub(super) fn test(&mut self, condition: &Array<bool>) -> bool {
        let is_steady = self.is_steady();
        if let Some(evaluated) = &mut self.evaluated {
            return evaluated.test(condition.var(), self.is_endless, is_steady);
        }
        self.condition = Some(condition.clone());
        self.recorder.as_mut().expect("the loop was opened before its condition").condition(condition.var());
        true
    }
}
