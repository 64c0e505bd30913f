//! Frozen functions that are recorded again and again.

use std::time::Duration;

use super::{Warning, WarningKind, line};
use crate::profile::timeline::Timeline;
use crate::stats::events::{Activity, Recorded};

/// A function that is recorded at least this often, and not replayed as often, does not profit from its recordings. Two
/// are usual: state that was made by the host becomes the result of a call.
const OFTEN: u64 = 4;

struct Function<'t> {
    last: &'t Recorded,
    recordings: u64,
    ns: u64,
}

pub(super) fn find(timeline: &Timeline, warnings: &mut Vec<Warning>) {
    let mut functions: Vec<Function<'_>> = Vec::new();
    for span in &timeline.spans {
        let Activity::Recording(recorded) = &span.activity else { continue };
        let ns = span.ended_ns - span.started_ns;
        match functions.iter_mut().find(|known| known.last.place == recorded.place) {
            Some(known) => {
                known.last = recorded;
                known.recordings += 1;
                known.ns += ns;
            }
            // The first one is not unnecessary.
            None => functions.push(Function { last: recorded, recordings: 1, ns: 0 }),
        }
    }
    for Function { last, recordings, ns } in functions {
        let is_replay = |activity: &Activity| matches!(activity, Activity::Replay(_, place) if *place == last.place);
        let replays = timeline.spans.iter().filter(|span| is_replay(&span.activity)).count() as u64;
        if recordings < OFTEN || recordings <= replays {
            continue;
        }
        let cause = last.cause.as_deref().unwrap_or("it was cleared");
        let (function, place) = (last.function, line(last.place));
        warnings.push(Warning {
            kind: WarningKind::RecordsOften,
            site: Some(last.place),
            count: recordings,
            cost: Duration::from_nanos(ns),
            message: format!(
                "`{function}` ({place}) is recorded {recordings} times and replayed {replays} times; the last time \
                 because {cause}"
            ),
            hint: last.hint.unwrap_or(
                "keep what changes from call to call in arrays, or pass it as `Float::opaque(x)`; `explain()` of the \
                 function lists the cause of each recording",
            ),
        });
    }
}
