//! Profiles: what a part of a program did, and what it cost.
//!
//! A [`Session`] waits for all launches, and collects the events of all threads from then on; [`Session::finish`] waits
//! again and turns them into a [`Profile`]. It is printed as a table with warnings, and written as a trace for viewers.
//! Everything is measured; nothing is sampled. A session notes some hundred bytes for each launch.
//!
//! | part | file |
//! |---|---|
//! | the events, in the order of time, and how they nest | `timeline` |
//! | how long what took, over all | `totals` |
//! | the launches of each kernel | `kernels` |
//! | calls of traced and frozen functions | `functions` |
//! | what costs more than necessary | `warnings` |
//! | the bandwidth of the machine | `bandwidth` |
//! | the table | `table` |
//! | the trace for viewers | `trace`, `json` |
//!
//! The events themselves are in [`crate::stats::events`].

use std::fmt;
use std::path::Path;

use crate::launch;
use crate::stats::events;
use crate::{Error, ErrorKind, Site};

mod bandwidth;
mod functions;
mod json;
mod kernels;
mod table;
mod timeline;
mod totals;
mod trace;
mod warnings;

pub use bandwidth::copy_bandwidth;
pub use functions::FunctionProfile;
pub use kernels::KernelProfile;
use timeline::Timeline;
pub use totals::{HostTime, Totals};
pub use warnings::{Warning, WarningKind};

/// What a part of a program did, and how long it took.
///
/// `{}` prints it as a table, followed by the warnings.
pub struct Profile {
    totals: Totals,
    kernels: Vec<KernelProfile>,
    functions: Vec<FunctionProfile>,
    warnings: Vec<Warning>,
    timeline: Timeline,
}

impl Profile {
    fn of(timeline: Timeline) -> Profile {
        let kernels = kernels::of(&timeline);
        let totals = Totals::of(&timeline);
        let (functions, warnings) = (functions::of(&timeline), warnings::of(&timeline, &kernels));
        Profile { totals, kernels, functions, warnings, timeline }
    }

    /// How long what took, over all.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The launches of each kernel and library call, those with the longest total time first. Launches with the same
    /// name, line and kernel are one entry.
    #[must_use]
    pub fn kernels(&self) -> &[KernelProfile] {
        &self.kernels
    }

    /// The traced and frozen functions that were called, those with the longest total time first.
    #[must_use]
    pub fn functions(&self) -> &[FunctionProfile] {
        &self.functions
    }

    /// What costs more than necessary, the most expensive first.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The events in the trace-event format of Chrome, which `ui.perfetto.dev` and `chrome://tracing` show. It is JSON.
    #[must_use]
    pub fn trace_json(&self) -> String {
        trace::json(&self.timeline)
    }

    /// Writes [`Profile::trace_json`] to a file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if the file cannot be written.
    #[track_caller]
    pub fn write_trace(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let (path, site) = (path.as_ref(), Site::here());
        std::fs::write(path, self.trace_json()).map_err(|error| {
            Error::new(ErrorKind::Io, format!("the trace cannot be written to `{}`", path.display()))
                .at(site)
                .caused_by(error)
                .with_hint("name a file in a folder that exists and can be written")
        })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        table::write(f, self)
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("totals", &self.totals)
            .field("kernels", &self.kernels)
            .field("functions", &self.functions)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

/// A profile that is being made. Dropped without [`Session::finish`], its events are discarded.
#[derive(Debug)]
pub struct Session(u64);

impl Session {
    /// Waits for all launches, and begins to collect events.
    #[must_use]
    pub fn begin() -> Session {
        launch::wait_for_all();
        Session(events::begin_session())
    }

    /// Waits for all launches, and returns what was collected.
    #[must_use]
    pub fn finish(self) -> Profile {
        launch::wait_for_all();
        let collected = events::end_session(self.0).expect("a session ends once");
        Profile::of(Timeline::new(collected))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After `finish` there is nothing left to end.
        let _ = events::end_session(self.0);
    }
}
