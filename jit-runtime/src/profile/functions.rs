//! Calls of traced and frozen functions.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::timeline::{Node, Timeline};
use crate::stats::events::Activity;
use crate::{Label, Site};

/// The calls of one traced or frozen function.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FunctionProfile {
    /// The name of the function.
    pub name: Label,
    /// Where it is defined.
    pub site: Option<Site>,
    /// How often it was traced.
    pub traces: u64,
    /// How often it was recorded. A recording traces the function, too.
    pub recordings: u64,
    /// How often a recording was replayed.
    pub replays: u64,
    /// The time in these calls, including what they call. Kernels that run later are not part of it.
    pub time: Duration,
}

/// All functions, those with the longest total time first. Functions of one name in one file are one entry.
pub(super) fn of(timeline: &Timeline) -> Vec<FunctionProfile> {
    let mut functions: Vec<FunctionProfile> = Vec::new();
    let mut positions: FxHashMap<Key, usize> = FxHashMap::default();
    for node in &timeline.nodes {
        let Some((key, site)) = called(timeline, node) else { continue };
        let position = *positions.entry(key).or_insert_with(|| {
            let time = Duration::ZERO;
            functions.push(FunctionProfile { name: key.0, site, traces: 0, recordings: 0, replays: 0, time });
            functions.len() - 1
        });
        let function = &mut functions[position];
        match timeline.activity(node) {
            Some(Activity::Recording(_)) => function.recordings += 1,
            Some(Activity::Replay(..)) => function.replays += 1,
            _ => function.traces += 1,
        }
        let is_inside =
            timeline.around(node).any(|outer| called(timeline, outer).is_some_and(|(outer, _)| outer == key));
        if !is_inside {
            function.time += Duration::from_nanos(node.ended_ns - node.started_ns);
        }
    }
    functions.sort_by_key(|function| std::cmp::Reverse(function.time));
    functions
}

/// A name and a file.
type Key = (Label, Option<&'static str>);

/// The function that a node is a call of, and where it is.
fn called(timeline: &Timeline, node: &Node) -> Option<(Key, Option<Site>)> {
    let span = timeline.span(node)?;
    let (name, site) = match &span.activity {
        Activity::Trace(name) => (*name, span.site),
        Activity::Replay(name, place) => (*name, Some(*place)),
        Activity::Recording(recorded) => (recorded.function, Some(recorded.place)),
        Activity::Evaluation(_) | Activity::Compile(_) | Activity::Wait | Activity::Help => return None,
    };
    Some(((name, site.map(Site::file)), site))
}
