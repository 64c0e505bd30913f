//! Profiles of parts of a program.

use jit_runtime::profile::Session;
pub use jit_runtime::profile::{
    FunctionProfile, HostTime, KernelProfile, Profile, Totals, Warning, WarningKind, copy_bandwidth,
};
use jit_runtime::stats::events;
use jit_runtime::{Error, Site, launch};

use crate::capture::launches;
use crate::misuse::Misuse;
use crate::trace::region;

/// Runs a function, and measures what it does: returns a [`Profile`] with the time, the bytes and the threads of each
/// kernel, and with warnings about what costs more than necessary. What the function returns is dropped;
/// [`with_result`] returns it, too.
///
/// It waits for all launches at the begin and at the end. Evaluation is lazy, so a computation that is to be measured
/// must be evaluated in the function. Launches of all threads belong to the profile. Profiles may nest and overlap:
/// each has what happened between its begin and its end. Where no profile runs, launches cost what they cost without
/// this function; in a profile each takes about a microsecond more, and some hundred bytes until the profile is
/// dropped.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let x = Float::linspace(0.0, 1.0, 100_000).make_opaque();
/// let profile = jit::profile(|| {
///     let waves = (&x * 6.0).sin() + (&x * 9.0).cos();
///     jit::eval(&waves.sum()).expect("there is memory");
/// })?;
/// println!("{profile}"); //                          kernels, functions and warnings
/// assert_eq!(profile.totals().launches, 1);
/// let kernel = &profile.kernels()[0];
/// assert_eq!((kernel.width, kernel.bytes_read, kernel.bytes_written), (100_000, 400_000, 4));
/// assert!(profile.trace_json().contains("traceEvents")); // for ui.perfetto.dev; `write_trace` writes a file
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// When a launch failed, and the failure has not been reported yet.
///
/// # Panics
///
/// In a traced loop or branch, and in a frozen function while it is recorded: nothing is computed there.
#[track_caller]
pub fn profile<R>(run: impl FnOnce() -> R) -> Result<Profile, Error> {
    with_result(run).map(|(_, profile)| profile)
}

/// Runs a function, and returns its result with a [`Profile`]: see [`profile`](profile()).
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let x = UInt::arange(1000).make_opaque();
/// let (sum, profile) = jit::profile::with_result(|| x.sum().item())?;
/// assert_eq!((sum?, profile.totals().launches), (499_500, 1));
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`profile`](profile()).
///
/// # Panics
///
/// As [`profile`](profile()).
#[track_caller]
pub fn with_result<R>(run: impl FnOnce() -> R) -> Result<(R, Profile), Error> {
    refuse("a profile", "profile", Site::here());
    let session = Session::begin();
    let result = run();
    let outcome = launch::sync();
    let profile = session.finish();
    outcome.map(|()| (result, profile))
}

/// Calls a function, and returns its result; its time is a range of this name in the traces of the profiles that run,
/// on a row of its thread: see [`Profile::write_trace`]. Ranges may nest, and change nothing else. Without a profile
/// the call costs about a nanosecond.
///
/// It is the time of the host. Kernels that are launched in it may run later; the trace has their times, too.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let x = Float::linspace(0.0, 1.0, 1000).make_opaque();
/// let profile = jit::profile(|| {
///     for step in 0..3 {
///         let y = jit::profile::range(&format!("step {step}"), || (&x * step as f32).sum());
///         jit::profile::range("reading", || y.item()).expect("there is memory");
///     }
/// })?;
/// assert!(profile.trace_json().contains("step 2"));
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[track_caller]
pub fn range<R>(name: &str, run: impl FnOnce() -> R) -> R {
    let (site, started) = (Site::here(), events::begin());
    let result = run();
    started.end_range(name, site);
    result
}

/// Refuses to measure or check code that is only being recorded: names the result, and what to do with the evaluation
/// instead.
pub(crate) fn refuse(what: &str, verb: &str, site: Site) {
    if let Some(region) = region::recording_site() {
        let message = format!("{what} cannot be made in a traced loop or branch, where nothing is computed yet");
        Misuse::new(message, site)
            .place("the region begins", region)
            .hint(&format!("{verb} the evaluation of its results"))
            .panic();
    }
    if launches::is_recording() {
        Misuse::new(format!("{what} cannot be made in a frozen function: replays do not run its body"), site)
            .hint(&format!("{verb} the calls of the function"))
            .panic();
    }
}
