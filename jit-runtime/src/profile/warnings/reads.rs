//! Lines that evaluate and read elements again and again. Each time, the host waits for the kernels, and the cores wait
//! for the host.

use std::time::Duration;

use super::{Warning, WarningKind, line};
use crate::Site;
use crate::profile::timeline::{Node, Timeline};
use crate::stats::events::Activity;

/// A line that evaluates at least this often when it reads is taken to be in a loop.
const OFTEN: u64 = 10;

struct Line {
    site: Site,
    evaluations: u64,
    /// The time of its evaluations and waits in which no launch ran, and nothing was compiled for it.
    idle_ns: u64,
}

pub(super) fn find(timeline: &Timeline, warnings: &mut Vec<Warning>) {
    let mut lines: Vec<Line> = Vec::new();
    for read in &timeline.reads {
        if !lines.iter().any(|line| line.site == read.site) {
            lines.push(Line { site: read.site, evaluations: 0, idle_ns: 0 });
        }
    }
    if lines.is_empty() {
        return;
    }
    for node in &timeline.nodes {
        match timeline.activity(node) {
            Some(Activity::Evaluation(_)) => {
                let Some(line) = of_line(&mut lines, timeline.span(node).and_then(|span| span.site)) else { continue };
                line.evaluations += 1;
                line.idle_ns += timeline.idle_ns(node);
            }
            Some(Activity::Wait) => {
                let Some(line) = of_line(&mut lines, reads_before(timeline, node)) else { continue };
                line.idle_ns += timeline.idle_ns(node);
            }
            // It would have compiled in any case.
            Some(Activity::Compile(_)) => {
                let is_evaluation = |outer: &&Node| matches!(timeline.activity(outer), Some(Activity::Evaluation(_)));
                let outer = timeline.around(node).find(is_evaluation).and_then(|outer| timeline.span(outer));
                let Some(line) = of_line(&mut lines, outer.and_then(|span| span.site)) else { continue };
                line.idle_ns = line.idle_ns.saturating_sub(timeline.idle_ns(node));
            }
            _ => {}
        }
    }
    for Line { site, evaluations, idle_ns } in lines.into_iter().filter(|line| line.evaluations >= OFTEN) {
        let place = line(site);
        warnings.push(Warning {
            kind: WarningKind::ReadsInLoop,
            site: Some(site),
            count: evaluations,
            cost: Duration::from_nanos(idle_ns),
            message: format!(
                "{place} evaluates and reads elements {evaluations} times, and waits each time while no kernel runs"
            ),
            hint: "keep the values in arrays and read them once, after the loop; a loop whose end depends on an array \
                is a traced `while` in a `#[jit]` function",
        });
    }
}

fn of_line(lines: &mut [Line], site: Option<Site>) -> Option<&mut Line> {
    lines.iter_mut().find(|line| Some(line.site) == site)
}

/// The line of the read that a wait belongs to: the last one of the thread, unless something else was evaluated since.
fn reads_before(timeline: &Timeline, wait: &Node) -> Option<Site> {
    if wait.parent.is_some() {
        return None;
    }
    let before = timeline.reads.partition_point(|read| read.at_ns <= wait.started_ns);
    let read = timeline.reads[..before].iter().rev().find(|read| read.thread == wait.thread)?;
    let first = timeline.spans.partition_point(|span| span.started_ns < read.at_ns);
    let since = timeline.spans[first..].iter().take_while(|span| span.started_ns < wait.started_ns);
    let is_other = |activity: &Activity| !matches!(activity, Activity::Compile(_) | Activity::Wait | Activity::Help);
    let mut others = since.filter(|span| span.thread == wait.thread && is_other(&span.activity));
    others.all(|span| span.site == Some(read.site)).then_some(read.site)
}
