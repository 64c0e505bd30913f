//! Calls of `#[jit]` functions while they are traced: each gets a label, is counted, and must not recurse without end.

use jit_runtime::Site;
use jit_runtime::stats::events::{self, Activity, Started};
use jit_runtime::stats::{begin_trace, count_trace, end_trace};

use super::passed::ArrayPlaces;
use super::recursion::Recursion;
use crate::trace::function_label::{LabelScope, Labelled, label};

/// One call of a `#[jit]` function: a label, a `tracing` span, and one count of a trace in the statistics.
#[derive(Debug)]
pub struct FunctionScope {
    traced: Started,
    function: &'static Labelled,
    site: Site,
    _recursion: Recursion,
    _label: LabelScope,
    _span: tracing::span::EnteredSpan,
}

/// Begins the trace of a function.
///
/// # Panics
///
/// When it calls itself without end, under a traced condition.
#[must_use]
#[track_caller]
pub fn enter(function: &'static Labelled) -> FunctionScope {
    let site = Site::here();
    let recursion = Recursion::enter(function, site);
    count_trace();
    function.history.count_trace();
    let traced = events::begin();
    begin_trace();
    let span = tracing::debug_span!(target: "jit", "trace", function = function.label()).entered();
    FunctionScope { traced, function, site, _recursion: recursion, _label: label(function), _span: span }
}

impl FunctionScope {
    /// Notes the value of a `#[constexpr]` parameter, for reports about compilations. The text is made if the value
    /// differs from that of the trace before.
    #[doc(hidden)]
    #[inline]
    pub fn constexpr(&self, position: usize, name: &'static str, hash: u64, text: impl FnOnce() -> String) {
        self.function.history.note_constexpr(position, name, hash, text);
    }

    /// Notes the arguments, for reports about compilations. Their arrays are listed if `kinds`, a number for the type
    /// of each, differ from those of the trace before.
    #[doc(hidden)]
    #[inline]
    pub fn arguments(&self, kinds: &[u64], list: impl FnOnce(&mut ArrayPlaces)) {
        let history = &self.function.history;
        if history.has_other_arguments(kinds) {
            let mut places = ArrayPlaces::default();
            list(&mut places);
            history.note_arguments(places.0);
        }
    }
}

impl Drop for FunctionScope {
    fn drop(&mut self) {
        end_trace();
        self.traced.end(Some(self.site), || Activity::Trace(self.function.label().into()));
    }
}
