//! Lines that compile again and again: their kernels differ each time.

use std::time::Duration;

use super::{Warning, WarningKind, line};
use crate::Site;
use crate::profile::timeline::{Node, Timeline};
use crate::stats::events::{Activity, Compiled};

/// A line compiles again and again if this many of its evaluations do. The second kernel of two that differ in numbers
/// only is the last one.
const OFTEN: usize = 4;

struct Line {
    site: Site,
    evaluations: Vec<Evaluation>,
}

/// An evaluation that compiled.
struct Evaluation {
    /// The begin of the outermost call that it was a part of.
    started_ns: u64,
    thread: u32,
    compile_ns: u64,
    /// The operations of the largest kernel that it compiled, and its name.
    largest: Compiled,
}

pub(super) fn find(timeline: &Timeline, warnings: &mut Vec<Warning>) {
    let mut lines: Vec<Line> = Vec::new();
    for node in &timeline.nodes {
        let Some(Activity::Compile(compiled)) = timeline.activity(node) else { continue };
        let (false, Some(site)) = (compiled.is_better, timeline.span(node).and_then(|span| span.site)) else {
            continue;
        };
        let position = lines.iter().position(|line| line.site == site).unwrap_or_else(|| {
            lines.push(Line { site, evaluations: Vec::new() });
            lines.len() - 1
        });
        lines[position].add(timeline, node, *compiled);
    }
    for Line { site, evaluations } in lines.into_iter().filter(|line| line.evaluations.len() >= OFTEN) {
        warnings.push(warning(site, &evaluations));
    }
}

impl Line {
    fn add(&mut self, timeline: &Timeline, node: &Node, compiled: Compiled) {
        let is_evaluation =
            |outer: &&Node| matches!(timeline.activity(outer), Some(Activity::Evaluation(_) | Activity::Recording(_)));
        let outer = timeline.around(node).filter(is_evaluation).last().unwrap_or(node);
        let compile_ns = node.ended_ns - node.started_ns;
        let is_it = |known: &&mut Evaluation| (known.thread, known.started_ns) == (outer.thread, outer.started_ns);
        match self.evaluations.iter_mut().find(is_it) {
            Some(known) => {
                known.compile_ns += compile_ns;
                if compiled.ops > known.largest.ops {
                    known.largest = compiled;
                }
            }
            None => {
                let (thread, started_ns) = (outer.thread, outer.started_ns);
                self.evaluations.push(Evaluation { started_ns, thread, compile_ns, largest: compiled });
            }
        }
    }
}

fn warning(site: Site, evaluations: &[Evaluation]) -> Warning {
    let ops = evaluations.iter().map(|evaluation| evaluation.largest.ops);
    let (fewest, most) = (ops.clone().min().unwrap_or_default(), ops.max().unwrap_or_default());
    let (place, count, label) = (line(site), evaluations.len(), evaluations[0].largest.label);
    let (differs, hint) = if fewest == most {
        let hint = "a number that becomes part of the code differs each time: pass it as an argument that is an array, \
            `Float::opaque(x)`";
        (format!("which have {most} operations and differ in numbers"), hint)
    } else {
        let hint = "what is recorded differs each time: evaluate the state of a host loop in each step, with \
            `jit::eval`, and record loops whose length differs instead of unrolling them, with a traced bound or \
            `#[symbolic]`";
        (format!("which have {fewest} to {most} operations"), hint)
    };
    Warning {
        kind: WarningKind::CompilesOften,
        site: Some(site),
        count: count as u64,
        // The first one is not unnecessary.
        cost: Duration::from_nanos(evaluations.iter().skip(1).map(|evaluation| evaluation.compile_ns).sum()),
        message: format!("{count} evaluations at {place} compile new kernels for `{label}`, {differs}"),
        hint,
    }
}
