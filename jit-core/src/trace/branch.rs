//! Recording a branch: both sides are traced once; the results of a lane are those of the side that it takes.

use std::marker::PhantomData;

use jit_runtime::Site;
use jit_runtime::ir::Type;

use super::loops::is_equal_literal;
use super::region::{self, Mark, Writes};
use super::report::Report;
use super::{branches_to_switch, local, record, scatter};
use crate::graph::node::Var;
use crate::graph::numbering;
use crate::graph::op::Op;
use crate::graph::payload::{BranchPayload, Payload, RegionId, control_node, result};
use crate::graph::weak::Weak;
use crate::misuse::Misuse;
use crate::size::Size;
use crate::size::extent::Extent;

/// Up to this total cost of both sides, computing both and selecting is cheaper than branching.
const SELECT_WORK: u32 = 24;

/// A branch that is being recorded. Dropping it before [`BranchRecorder::finish`] restores the trace to its state
/// before.
pub struct BranchRecorder {
    condition: Var,
    mark: Mark,
    work_before: u32,
    /// Whether both sides run as written, and their values are blended.
    is_evaluated: bool,
    /// The writes of the first and the second side, once they are closed.
    writes: [Writes; 2],
    /// The reports of the sides.
    reports: Vec<Report>,
    /// The arrays that the first side has written, until the branch is complete.
    written: Vec<Weak>,
    site: Site,
    /// The stack of open regions belongs to the thread.
    not_send: PhantomData<*const ()>,
}

impl BranchRecorder {
    /// Begins the side on which the condition holds.
    ///
    /// # Panics
    ///
    /// When the condition is not a mask, or depends on a region that is closed.
    #[must_use]
    pub fn begin(condition: &Var, site: Site) -> Self {
        Self::open(condition, false, site)
    }

    /// Like [`BranchRecorder::begin`], but the sides run as written, under masks, and their values are blended. Inside
    /// them arrays can be read, including those that they have written.
    ///
    /// # Panics
    ///
    /// As [`BranchRecorder::begin`].
    #[must_use]
    pub fn begin_evaluated(condition: &Var, site: Site) -> Self {
        Self::open(condition, true, site)
    }

    fn open(condition: &Var, is_evaluated: bool, site: Site) -> Self {
        region::check(condition, site);
        if condition.ty() != Type::Bool {
            Misuse::new("the condition of a branch must be a mask", site).value("the condition", condition).panic();
        }
        let mark = Self::open_side(condition, is_evaluated, site);
        let work_before = numbering::work();
        let (condition, writes) = (condition.clone(), Default::default());
        BranchRecorder {
            condition,
            mark,
            work_before,
            is_evaluated,
            writes,
            reports: Vec::new(),
            written: Vec::new(),
            site,
            not_send: PhantomData,
        }
    }

    fn open_side(condition: &Var, is_evaluated: bool, site: Site) -> Mark {
        let mask = region::conjunction(condition);
        if is_evaluated { region::open_evaluated(mask, site) } else { region::open_side(mask, site) }
    }

    /// Closes a side.
    fn close(&mut self, side: usize) {
        self.writes[side] = region::writes_of(self.mark);
        let closed = region::complete(self.mark);
        self.reports.extend(closed.reports);
        self.written.extend(closed.written);
    }

    /// Returns each array after the branch so far if only the branch has written to it, otherwise the array before.
    /// Each side writes on its own lanes, so the second side may continue with the arrays that the first has written.
    pub(crate) fn latest(&self, before: &[Var], after: &[Var]) -> Vec<Var> {
        scatter::latest_of(&region::writes_of(self.mark), before, after)
    }

    /// Ends the first side and begins the side on which the condition is false.
    pub fn otherwise(&mut self) {
        self.close(0);
        self.mark = Self::open_side(&record::not(&self.condition), self.is_evaluated, self.site);
    }

    /// Ends the branch with the values of both sides; returns the values after it. A value that both sides share passes
    /// through.
    ///
    /// # Panics
    ///
    /// When the types of the sides differ, or widths do not match.
    #[must_use]
    pub fn finish(mut self, then_values: Vec<Var>, else_values: Vec<Var>) -> Vec<Var> {
        assert_eq!(then_values.len(), else_values.len(), "both sides of a branch yield the same number of values");
        self.close(1);
        let reports = std::mem::take(&mut self.reports);
        let merged = self.merged(then_values, else_values);
        region::hand_on(std::mem::take(&mut self.written));
        reports.into_iter().for_each(region::add_report);
        merged
    }

    fn merged(&self, then_values: Vec<Var>, else_values: Vec<Var>) -> Vec<Var> {
        // An array written by the other side has changed on the lanes of that side.
        let continues =
            |side: usize, after: &Var, from: &Var| scatter::continues_within(&self.writes[side], after, from);
        let pairs = then_values.into_iter().zip(else_values);
        let pairs: Vec<[Var; 2]> = pairs.map(|pair| written(continues, pair)).collect();
        pairs.iter().for_each(|pair| self.check_pair(pair));
        if self.is_evaluated || self.is_small() || self.condition.literal().is_some() {
            return pairs.iter().map(|pair| self.select(pair)).collect();
        }
        self.branch(pairs)
    }

    /// Returns whether both sides are so small that both are computed.
    #[must_use]
    pub fn is_small(&self) -> bool {
        numbering::work().wrapping_sub(self.work_before) <= SELECT_WORK
    }

    fn check_pair(&self, pair: &[Var; 2]) {
        check_pair(&self.condition, pair, self.site);
    }

    fn select(&self, pair: &[Var; 2]) -> Var {
        select(&self.condition, pair, self.site)
    }

    fn branch(&self, pairs: Vec<[Var; 2]>) -> Vec<Var> {
        // Values known while tracing need no branch, such as the lanes of a side that always exits.
        let is_free = |[a, b]: &[Var; 2]| a.literal().is_some() && b.literal().is_some();
        // Per-lane local memory is blended, too.
        let is_free = |pair: &[Var; 2]| is_free(pair) || local::is_local(&pair[0]);
        let is_chosen = |pair: &[Var; 2]| !passes_through(&pair[0], &pair[1]) && !is_free(pair);
        let chosen: Vec<[Var; 2]> = pairs.iter().filter(|pair| is_chosen(pair)).cloned().collect();
        if chosen.is_empty() {
            return pairs.iter().map(|pair| self.select(pair)).collect();
        }
        let vars = || chosen.iter().flatten().chain([&self.condition]);
        let region = vars().map(Var::region).max().unwrap_or(RegionId::NONE);
        let width = vars().map(Var::extent).find(|width| width.lanes != 1).unwrap_or(Extent::ONE);
        if let Some(results) = branches_to_switch::switch(&self.condition, &chosen, width, self.site) {
            let mut results = results.into_iter();
            let mut next = || results.next().expect("a switch has a result for each selected value");
            return pairs.iter().map(|pair| if is_chosen(pair) { next() } else { self.select(pair) }).collect();
        }
        let payload = Payload::Branch(BranchPayload { condition: self.condition.clone(), results: chosen });
        let node = control_node(Op::Branch, width, payload, region, self.site);
        let mut position = 0;
        let mut next = |pair: [Var; 2]| {
            if !is_chosen(&pair) {
                return self.select(&pair);
            }
            let [a, _] = pair;
            position += 1;
            result(Op::BranchResult, &node, a.ty(), width, position - 1, node.region(), self.site)
        };
        pairs.into_iter().map(&mut next).collect()
    }
}

impl Drop for BranchRecorder {
    fn drop(&mut self) {
        region::take_back(&self.written);
        region::give_up(self.mark);
    }
}

/// Returns the values of the sides. If one side has written an array by scatters, which write only on the lanes of that
/// side, the array after the branch is that of this side.
fn written(continues: impl Fn(usize, &Var, &Var) -> bool, (a, b): (Var, Var)) -> [Var; 2] {
    let array = match () {
        () if continues(0, &a, &b) => scatter::settle(&a),
        () if continues(1, &b, &a) || a.is_same(&b) => scatter::settle(&b),
        () => return [a, b],
    };
    [array.clone(), array]
}

/// Returns whether both sides have the same value.
fn passes_through(a: &Var, b: &Var) -> bool {
    a.is_same(b) || is_equal_literal(a, b)
}

fn select(mask: &Var, [a, b]: &[Var; 2], site: Site) -> Var {
    match () {
        () if passes_through(a, b) => a.clone(),
        () if local::is_local(a) => local::select(site, mask, a, b),
        () => record::select_at(site, mask, a, b),
    }
}

/// Selects the first value where a mask holds, otherwise the second.
pub(crate) fn choose(mask: &Var, a: &Var, b: &Var, site: Site) -> Var {
    let pair = written(|_, after, from| scatter::is_version_of(after, from), (a.clone(), b.clone()));
    check_pair(mask, &pair, site);
    select(mask, &pair, site)
}

/// Rejects values between which no selection is possible.
fn check_pair(condition: &Var, [a, b]: &[Var; 2], site: Site) {
    let is_written = a.region() == RegionId::WRITING && a.is_same(b);
    [a, b].into_iter().filter(|_| !is_written).for_each(|var| region::check(var, site));
    if passes_through(a, b) {
        return;
    }
    if a.ty() != b.ty() {
        let what = format!("the sides of a branch have values of different types, {} and {}", a.ty(), b.ty());
        Misuse::new(what, site)
            .value("the value of the first side", a)
            .value("the value of the second side", b)
            .panic();
    }
    if local::is_local(a) != local::is_local(b) {
        Misuse::new("the sides of a branch have an array and a `Local` in the same position", site)
            .value("the value of the first side", a)
            .value("the value of the second side", b)
            .panic();
    }
    let widths = [condition.width(), a.width(), b.width()];
    let width = widths.into_iter().find(|&width| width != 1).unwrap_or(Size::from(1));
    if widths.into_iter().any(|other| other != 1 && other != width) {
        let what = format!("the widths {widths:?} of a branch's condition and values do not match");
        Misuse::new(what, site)
            .value("the condition", condition)
            .value("the value of the first side", a)
            .value("the value of the second side", b)
            .hint("they must be equal, or 1")
            .panic();
    }
}
