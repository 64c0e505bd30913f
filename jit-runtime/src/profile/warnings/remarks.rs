//! What the scheduler remarked about kernels that were launched.

use std::time::Duration;

use super::{Warning, WarningKind, line};
use crate::Site;
use crate::profile::kernels::Replays;
use crate::profile::timeline::Timeline;
use crate::stats::events::{Fault, Launched, Remark};

/// The remarks about one line.
struct Line {
    fault: Fault,
    site: Site,
    /// One for each kernel.
    remarks: Vec<Remark>,
    /// How often they were made.
    times: u64,
}

/// A value that is computed again is reported if that happens so often: a gradient may be read after its value.
const OFTEN: u64 = 4;

pub(super) fn find(timeline: &Timeline, warnings: &mut Vec<Warning>) {
    let mut lines: Vec<Line> = Vec::new();
    for remark in &timeline.remarks {
        match lines.iter_mut().find(|line| line.fault == remark.fault && line.site == remark.site) {
            Some(line) => line.add(*remark),
            None => lines.push(Line { fault: remark.fault, site: remark.site, remarks: vec![*remark], times: 1 }),
        }
    }
    let replays = Replays::of(timeline);
    for line in lines {
        let (mut count, mut cost) = (0, Duration::ZERO);
        for launch in &timeline.launches {
            let Some(remark) = line.remarks.iter().find(|remark| is_of(remark, launch)) else { continue };
            // A replay overwrites an array that is passed on, where its recording needed a copy.
            if remark.fault == Fault::Copied && remark.is_recorded && !replays.contain(launch) {
                continue;
            }
            count += 1;
            cost += launch.time().mul_f64(f64::from(remark.permille) / 1000.0);
        }
        if line.fault == Fault::Repeated {
            // Without the first time, which is necessary, and whose kernel may be the same.
            cost = cost.mul_f64((line.times as f64 / count.max(1) as f64).min(1.0));
            count = if line.times < OFTEN { 0 } else { line.times };
        }
        if count > 0 {
            warnings.push(line.warning(count, cost));
        }
    }
}

fn is_of(remark: &Remark, launch: &Launched) -> bool {
    let kernel = &remark.kernel;
    (kernel.label, Some(kernel.site), kernel.ops) == (launch.label, launch.site, launch.facts.ops)
        && (kernel.width == launch.width || remark.is_recorded)
}

impl Line {
    fn add(&mut self, remark: Remark) {
        self.times += 1;
        match self.remarks.iter_mut().find(|known| known.kernel == remark.kernel) {
            Some(known) => known.permille = known.permille.max(remark.permille),
            None => self.remarks.push(remark),
        }
    }

    fn warning(&self, count: u64, cost: Duration) -> Warning {
        let (place, kernels) = (line(self.site), self.remarks.len());
        let (kind, message, hint) = match self.fault {
            Fault::Recomputed => (
                WarningKind::Recomputes,
                format!("the value of {place} is computed again by {kernels} more kernels, in {count} launches"),
                "evaluate it before the values that use it, with `jit::eval(&x)`: it is then computed once, and read",
            ),
            Fault::Repeated => (
                WarningKind::RecomputesLater,
                format!("the value of {place} is computed again {count} times, by later evaluations"),
                "evaluate it once, with `jit::eval(&x)`, or mark it for the next evaluation, with `jit::schedule(&x)`: \
                 it is then computed once, and read",
            ),
            Fault::Gathered => (
                WarningKind::RecomputesGathered,
                format!(
                    "the value of {place} is gathered from before it is in memory, so each gather computes it \
                    again, in {count} launches"
                ),
                "evaluate it before the gathers, with `jit::eval(&x)`: it is then computed once, and read",
            ),
            Fault::Copied => (
                WarningKind::CopiesTarget,
                format!(
                    "the scatter of {place} copies its array {count} times, because the array is still referenced \
                    elsewhere"
                ),
                "drop the other handles of the array before the scatter, or move the array instead of cloning it; \
                 state of a frozen function is passed by `&mut`",
            ),
            Fault::Moved => (
                WarningKind::CopiesOperand,
                format!(
                    "an operand of a product of matrices, of {place}, is copied {count} times to move its \
                    elements"
                ),
                "if it is the same in each product, evaluate it once before them, with `jit::eval(&x)`",
            ),
        };
        Warning { kind, site: Some(self.site), count, cost, message, hint }
    }
}
