//! What became of a `#[jit]` function: `f::stats()`, `f::explain()`, `f::clear()`.

use crate::freeze::{Cause, Explanation, Retrace};
use crate::trace::function_label::pieces_of;
use crate::trace::history::CodeChange;

/// Counters of a `#[jit]` function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct FnStats {
    /// How often it was traced.
    pub traces: u64,
    /// How many of its kernels were compiled.
    pub compiles: u64,
    /// How often a kernel of it was found in the cache.
    pub cache_hits: u64,
    /// How many recordings its executors have: one for each that was compiled, and one for each combination of
    /// arguments that carried gradients.
    pub recordings: u64,
    /// How often its executors were called; calls of executors from files count once the function was traced.
    pub replays: u64,
}

/// Returns the counters of a function.
#[doc(hidden)]
#[must_use]
pub fn stats(label: &str, file: &str, line: u32) -> FnStats {
    let mut sum = FnStats::default();
    for piece in pieces_of(label, file, line) {
        let [traces, compiles, cache_hits, recordings, replays] = piece.history.counts();
        sum = FnStats {
            traces: sum.traces + traces,
            compiles: sum.compiles + compiles,
            cache_hits: sum.cache_hits + cache_hits,
            recordings: sum.recordings + recordings,
            replays: sum.replays + replays,
        };
    }
    sum
}

/// Returns why kernels of a function were compiled, oldest first.
#[doc(hidden)]
#[must_use]
pub fn explain(label: &str, file: &str, line: u32) -> Explanation {
    let pieces = pieces_of(label, file, line);
    let changes = pieces.into_iter().flat_map(|piece| piece.history.changes());
    let retrace = |(site, change)| {
        let hint = match change {
            CodeChange::Literal { .. } => {
                Some("a number that keeps changing is cheaper as an array: `Float::opaque(x)`")
            }
            _ => None,
        };
        Retrace { cause: Cause::Code(change), site, hint }
    };
    Explanation::new(changes.map(retrace).collect())
}

/// Resets the counters of a function, and forgets its kernels; they stay in the cache.
#[doc(hidden)]
pub fn clear(label: &str, file: &str, line: u32) {
    pieces_of(label, file, line).into_iter().for_each(|piece| piece.history.clear());
}
