//! Recording a branch: both sides are traced once; a result is what the side that a lane takes gives.

use std::marker::PhantomData;
use std::panic::Location;

use jit_runtime::ir::Type;

use super::effect;
use super::loops::{control_node, is_equal_literal, result};
use super::misuse::Misuse;
use super::node::{Extra, Var};
use super::op::Op;
use super::region::{self, BranchExtra, Mark, RegionId};
use super::{number, record};

/// Up to this much work on both sides together, computing both and selecting is cheaper than to branch.
const SELECT_WORK: u32 = 24;

/// A branch that is being recorded. Dropping it before [`BranchRecorder::finish`] leaves the trace as it was before.
pub struct BranchRecorder {
    condition: Var,
    mark: Mark,
    work_before: u32,
    site: &'static Location<'static>,
    /// The stack of open regions belongs to the thread.
    not_send: PhantomData<*const ()>,
}

impl BranchRecorder {
    /// Begins the side on which the condition holds.
    ///
    /// # Panics
    ///
    /// When the condition is no mask, or depends on a region that is closed.
    #[must_use]
    pub fn begin(condition: &Var, site: &'static Location<'static>) -> Self {
        region::check(condition, site);
        if condition.ty() != Type::Bool {
            Misuse::new("the condition of a branch must be a mask", site).value("the condition", condition).panic();
        }
        let mark = region::open_side(region::conjunction(condition), site);
        let work_before = number::work();
        BranchRecorder { condition: condition.clone(), mark, work_before, site, not_send: PhantomData }
    }

    /// Ends the first side and begins the one on which the condition does not hold.
    pub fn otherwise(&mut self) {
        region::close(self.mark);
        let mask = region::conjunction(&record::not(&self.condition));
        self.mark = region::open_side(mask, self.site);
    }

    /// Ends the branch with the values of both sides; gives the values after it. Where both sides give the same value, that
    /// value passes through.
    ///
    /// # Panics
    ///
    /// When the types of the sides differ, or widths do not fit together.
    #[must_use]
    pub fn finish(self, then_values: Vec<Var>, else_values: Vec<Var>) -> Vec<Var> {
        assert_eq!(then_values.len(), else_values.len(), "both sides of a branch give equally many values");
        region::close(self.mark);
        let pairs: Vec<[Var; 2]> = then_values.into_iter().zip(else_values).map(written).collect();
        pairs.iter().for_each(|pair| self.check_pair(pair));
        let recorded = number::work().wrapping_sub(self.work_before);
        if recorded <= SELECT_WORK || self.condition.literal().is_some() {
            return pairs.iter().map(|pair| self.select(pair)).collect();
        }
        self.branch(pairs)
    }

    fn check_pair(&self, [a, b]: &[Var; 2]) {
        let is_written = a.region() == RegionId::WRITING && a.is_same(b);
        [a, b].into_iter().filter(|_| !is_written).for_each(|var| region::check(var, self.site));
        if passes_through(a, b) {
            return;
        }
        if a.ty() != b.ty() {
            let what = format!("the sides of a branch give different types, {} and {}", a.ty(), b.ty());
            Misuse::new(what, self.site).value("the value of the first side", a).value("that of the second", b).panic();
        }
        let widths = [self.condition.width(), a.width(), b.width()];
        let width = widths.into_iter().find(|&width| width != 1).unwrap_or(1);
        if widths.into_iter().any(|other| other != 1 && other != width) {
            let what = format!("the widths {widths:?} of a branch's condition and values do not fit together");
            Misuse::new(what, self.site)
                .value("the condition", &self.condition)
                .value("the value of the first side", a)
                .value("that of the second", b)
                .hint("they must be equal, or 1")
                .panic();
        }
    }

    fn select(&self, [a, b]: &[Var; 2]) -> Var {
        if passes_through(a, b) { a.clone() } else { record::select_at(self.site, &self.condition, a, b) }
    }

    fn branch(&self, pairs: Vec<[Var; 2]>) -> Vec<Var> {
        let chosen: Vec<[Var; 2]> = pairs.iter().filter(|[a, b]| !passes_through(a, b)).cloned().collect();
        if chosen.is_empty() {
            return pairs.into_iter().map(|[a, _]| a).collect();
        }
        let vars = || chosen.iter().flatten().chain([&self.condition]);
        let region = vars().map(Var::region).max().unwrap_or(RegionId::NONE);
        let width = vars().map(Var::width).find(|&width| width != 1).unwrap_or(1) as u32;
        let extra = Extra::Branch(BranchExtra { condition: self.condition.clone(), results: chosen });
        let node = control_node(Op::Branch, width, extra, region, self.site);
        let mut position = 0;
        let mut next = |[a, b]: [Var; 2]| {
            if passes_through(&a, &b) {
                return a;
            }
            position += 1;
            result(Op::BranchResult, &node, a.ty(), width, position - 1, node.region(), self.site)
        };
        pairs.into_iter().map(&mut next).collect()
    }
}

impl Drop for BranchRecorder {
    fn drop(&mut self) {
        region::close(self.mark);
    }
}

/// The values of the sides. An array that one side has written by scatters, which write on the lanes of that side alone, is
/// after the branch what that side has made of it.
fn written((a, b): (Var, Var)) -> [Var; 2] {
    let array = match () {
        () if effect::continues(&a, &b) => effect::settle(&a),
        () if effect::continues(&b, &a) || a.is_same(&b) => effect::settle(&b),
        () => return [a, b],
    };
    [array.clone(), array]
}

/// Both sides give the same value.
fn passes_through(a: &Var, b: &Var) -> bool {
    a.is_same(b) || is_equal_literal(a, b)
}
