//! Launches: run a kernel with its arguments on all cores.
//!
//! [`launch`] finds or compiles the code of a kernel. It either runs the code at once, on the calling thread, if that
//! takes only a few microseconds, or it divides the lanes into blocks, queues them and returns. Launches are ordered by
//! their data. A launch that reads a buffer runs after the one that writes it, whichever threads made them; launches
//! that share no data run in parallel. Reading a buffer on the host waits for the launches that write it.
//!
//! Invariants: the number of threads and the division into blocks do not affect results, except those whose order is
//! unspecified because several lanes scatter to one element, see [`set_deterministic`]. Every launch ends, also when
//! its code panics; the buffers that it writes then carry the failure. A thread that waits takes part in the work.
//!
//! ```
//! use jit_runtime::device::Device;
//! use jit_runtime::ir::{Access, BinaryOp, Builder, Type};
//! use jit_runtime::launch::{Argument, Launch, launch};
//! use jit_runtime::memory::Buffer;
//!
//! let mut builder = Builder::new();
//! let (input, output) = (builder.buffer(Type::U8, Access::Read), builder.buffer(Type::U8, Access::Write));
//! let x = builder.load(input);
//! let doubled = builder.binary(BinaryOp::Add, x, x);
//! builder.store(output, doubled);
//!
//! let (x, y) = (Buffer::from_bytes(&[1, 2, 3])?, Buffer::alloc(3)?);
//! let arguments = vec![Argument::Buffer(x, 3), Argument::Buffer(y.clone(), 3)];
//! let (device, kernel) = (Device::Cpu, builder.finish());
//! launch(Launch { device, kernel, width: 3, reduce_block: None, arguments, label: "double".into(), site: None })?;
//! let mut result = [0; 3];
//! y.read(0, &mut result)?;
//! assert_eq!(result, [2, 4, 6]);
//! # Ok::<(), jit_runtime::Error>(())
//! ```
//!
//! | part | file |
//! |---|---|
//! | whether the arguments match the kernel | `check` |
//! | launches of known traces | `known` |
//! | launches whose values are observed, or compared with the interpreter's | `inspect` |
//! | library calls | [`native`] |
//! | how a launch runs | `machine` |

use std::sync::Arc;

use smallvec::SmallVec;

use crate::backend::CodeOptions;
use crate::cache::{self, Found, Origin};
use crate::cancel;
use crate::config::Device;
use crate::ir::{Kernel, Value};
use crate::log::{self, Level};
use crate::machine::{self, Batch, Machine, failures, fork};
use crate::stats::{self, Preparation};
use crate::{Error, Label, Site};

mod check;
pub mod inspect;
mod known;
pub mod native;
#[cfg(test)]
mod tests;

pub use crate::cache::determinism::{is_deterministic, set_deterministic};
#[doc(hidden)]
pub use crate::machine::fork::watch as watch_forks;
pub(crate) use crate::machine::host::{REUSED_BYTES, all_code_options, batch, effort};
pub use crate::machine::host::{set_threads, threads};
pub use crate::machine::{
    AccessKind, Argument, CheckedAccess, CheckedAssertion, Checks, alloc_result, has_separate_memory,
};
pub(crate) use crate::machine::{Ready, wait_for_all};
pub use known::{KnownLaunch, TraceOrigins};

/// A kernel to run for the lanes `0..width`.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Where it runs.
    pub device: Device,
    /// The kernel, as the scheduler built it.
    pub kernel: Kernel,
    /// The number of lanes.
    pub width: usize,
    /// If set, reductions combine blocks of this many consecutive lanes instead of all lanes; the last block has the
    /// remaining lanes. Their buffers receive one element for each block, none for a launch of width 0. At least 1. The
    /// code is the same.
    ///
    /// The code is called for each block, which costs about as much as a hundred lanes of a short kernel. Below some
    /// 256 lanes it is faster to let each lane of a narrower launch gather its block in a loop.
    pub reduce_block: Option<usize>,
    /// One for each parameter of the kernel.
    pub arguments: Vec<Argument>,
    /// The name of the kernel in statistics and errors.
    pub label: Label,
    /// The line of the user's program that caused the launch.
    pub site: Option<Site>,
}

/// What the scheduler knows about a kernel besides its code.
#[derive(Clone, Debug, Default)]
pub struct Notes<'a> {
    /// The lines of the user's program that literals of the kernel come from; reports about them name the line.
    pub literals: &'a [(Value, Site)],
    /// How the kernel reports indices out of range and failed assertions; none if it checks nothing.
    pub checks: Option<Checks>,
    /// Scalar parameters that the code is specialised to: their values in this launch become constants.
    pub constants: &'a [usize],
}

/// Runs a kernel. Returns when the launch is done or queued; reading a buffer waits for its contents.
///
/// # Errors
///
/// A bad setting in the environment; a kernel that does not compile; arguments that do not match its parameters; no
/// memory for partial results; a failure of an earlier launch whose results this one reads, or of this one if it ran at
/// once.
pub fn launch(launch: Launch) -> Result<(), Error> {
    launch_with_notes(launch, Notes::default())
}

/// As [`launch`], for a kernel with additional information.
///
/// # Errors
///
/// As [`launch`], and an index out of range if the kernel checks for it.
pub fn launch_with_notes(launch: Launch, notes: Notes<'_>) -> Result<(), Error> {
    let _operation = cancel::begin();
    prepare(launch, notes)?.start()
}

/// A launch whose code is available.
pub struct Prepared {
    ready: Ready,
    /// The kernel with parameters in place of [`Notes::constants`], if there are any.
    template: Option<Arc<Kernel>>,
    /// The literals of the kernel that became parameters after its own.
    promoted: SmallVec<[Value; 4]>,
}

impl Prepared {
    pub(crate) fn ready(&self) -> &Ready {
        &self.ready
    }

    pub(crate) fn template(&self) -> Option<&Arc<Kernel>> {
        self.template.as_ref()
    }

    /// Whether the code was in the cache.
    #[must_use]
    pub fn is_hit(&self) -> bool {
        self.ready.preparation.outcome.is_hit()
    }

    /// The code options.
    #[must_use]
    pub fn options(&self) -> CodeOptions {
        self.ready.entry.options
    }

    /// The bits of the argument for each parameter of the kernel that was compiled; none for a buffer.
    #[must_use]
    pub fn scalars(&self) -> Vec<Option<u64>> {
        let bits = |argument: &Argument| match argument {
            Argument::Scalar(bits) => Some(*bits),
            Argument::Buffer(..) => None,
        };
        self.ready.arguments.iter().map(bits).collect()
    }

    /// The kernel that was compiled: literals that keep changing are parameters after its own.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.ready.entry.kernel
    }

    /// Runs the kernel, as [`launch`].
    ///
    /// # Errors
    ///
    /// As [`launch`].
    pub fn start(self) -> Result<(), Error> {
        start(self.ready, None)
    }
}

/// Finds or compiles the code of a kernel.
///
/// # Errors
///
/// As [`launch`].
pub fn prepare(launch: Launch, notes: Notes<'_>) -> Result<Prepared, Error> {
    log::check_environment()?;
    fork::watch();
    let Launch { device, kernel, width, reduce_block, mut arguments, label, site } = launch;
    #[cfg(any(test, feature = "random"))]
    let kernel = inspect::with_faults(device, kernel);
    let options = code_options(device, &kernel, width, &arguments)?;
    let is_template = !notes.constants.is_empty();
    let template = is_template.then(|| Arc::new(kernel.clone()));
    let kernel = if is_template { with_arguments(&kernel, &arguments, notes.constants) } else { kernel };
    let since = stats::begin_look_up();
    let Found { entry, outcome, scalars } =
        cache::find_or_compile(device, kernel, options, Origin { label, site, literals: notes.literals })?;
    let made_in = entry.facts.load_time.unwrap_or(entry.facts.compile_time);
    let preparation = Preparation::found(outcome, since, made_in);
    arguments.extend(scalars.iter().map(|&(_, bits)| Argument::Scalar(bits)));
    let promoted = scalars.into_iter().map(|(value, _)| value).collect();
    let ready = Ready { entry, width, reduce_block, arguments, label, site, preparation, checks: notes.checks };
    Ok(Prepared { ready, template, promoted })
}

/// A kernel with some of its arguments as constants.
fn with_arguments(kernel: &Kernel, arguments: &[Argument], constants: &[usize]) -> Kernel {
    kernel.with_constants(|param| match arguments.get(param.index()) {
        Some(Argument::Scalar(bits)) => constants.contains(&param.index()).then_some(*bits),
        Some(Argument::Buffer(..)) | None => None,
    })
}

/// The options for the code of a launch on a device.
///
/// # Errors
///
/// [`NoDevice`](crate::ErrorKind::NoDevice) if the device cannot be used.
pub(crate) fn code_options(
    device: Device,
    kernel: &Kernel,
    width: usize,
    arguments: &[Argument],
) -> Result<CodeOptions, Error> {
    Ok(machine::of(device)?.code_options(kernel, width, arguments))
}

/// Runs a launch whose code is available, or adds it to a batch.
pub(crate) fn start(ready: Ready, batch: Option<&mut dyn Batch>) -> Result<(), Error> {
    check::arguments(&ready)?;
    let is_hit = ready.preparation.outcome.is_hit();
    stats::count_launch(&ready.entry.launches, ready.width, is_hit);
    log::emit(Level::Trace, || {
        let hit = if is_hit { "hit" } else { "miss" };
        format!("launch `{}` over {} lanes ({hit} {:016x})", ready.label, ready.width, ready.entry.facts.hash)
    });
    match batch {
        Some(batch) => batch.launch(ready),
        None => machine::of(ready.entry.facts.device)?.launch(ready),
    }
}

/// Returns when all earlier launches of the process are done. The calling thread takes part in the work.
///
/// # Errors
///
/// The first failure of a launch, made by any thread, that has not been reported yet. The next call reports the next
/// one.
pub fn sync() -> Result<(), Error> {
    wait_for_all();
    failures::take().map_or(Ok(()), |failure| Err(failure.report()))
}
