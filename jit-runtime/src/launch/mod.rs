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
//! | running lanes, combining reductions | `run` |
//! | private targets of reducing scatters for each thread, or each segment of lanes | `private` |
//! | small launches, on the calling thread | `inline`; several of them | `batch` |
//! | work that is shared with idle threads | `team` |
//! | queued launches | `task` |
//! | their work: kernels here, functions in [`native`] | `work` |
//! | the distribution of their lanes to threads | `blocks` |
//! | threads | `pool` |
//! | launches of known traces | `known` |
//! | launches that are not done, and the bound on their number | `flight` |
//! | launches when the process forks | `fork` |
//! | indices that kernels found out of range, assertions that failed | `checks` |
//! | launches whose values are observed, or compared with the interpreter's | `inspect` |

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use smallvec::SmallVec;

use crate::backend::{CodeOptions, Effort, RawArgument};
use crate::cache::{self, Entry, Found, Origin};
use crate::cancel::{self, Token};
use crate::config::{self, Device, Tier};
use crate::ir::{Kernel, Op, Param, Value};
use crate::log::{self, Level};
use crate::memory::Buffer;
use crate::stats::events::Traffic;
use crate::stats::{self, Preparation, Record, Time};
use crate::{Error, Label, Site};

pub(crate) mod batch;
mod blocks;
mod check;
mod checks;
mod flight;
mod fork;
mod inline;
pub mod inspect;
mod known;
pub mod native;
mod pool;
mod private;
mod run;
mod task;
mod team;
#[cfg(test)]
mod tests;
mod work;

use crate::cache::cost::{self, Estimate};
pub use crate::cache::determinism::{is_deterministic, set_deterministic};
use blocks::Blocks;
pub use checks::{AccessKind, CheckedAccess, CheckedAssertion, Checks};
pub(crate) use flight::REUSED_BYTES;
#[doc(hidden)]
pub use fork::watch as watch_forks;
pub use known::{KnownLaunch, TraceOrigins};
pub(crate) use pool::wait_for_all;
pub use pool::{set_threads, threads};
use run::Bound;
use task::Queued;
use work::KernelWork;

/// Allocates memory for results of launches, with arbitrary contents.
///
/// Launches that were made before may still use it; those that are made from now on, and the host, come after them.
///
/// # Errors
///
/// As [`Buffer::alloc`].
///
/// # Safety
///
/// As for [`Buffer::alloc_uninit`]. The first launch that accesses it must write all of it.
pub unsafe fn alloc_result(size_bytes: usize) -> Result<Arc<Buffer>, Error> {
    match pool::reusable_memory(size_bytes) {
        Some(buffer) => Ok(buffer),
        // SAFETY: the caller's promise.
        None => unsafe { Buffer::alloc_uninit(size_bytes) },
    }
}

/// The argument for a parameter of a kernel.
#[derive(Clone, Debug)]
pub enum Argument {
    /// Memory, and the number of elements in it.
    Buffer(Arc<Buffer>, usize),
    /// The bits of a scalar.
    Scalar(u64),
}

impl Argument {
    fn raw(&self) -> RawArgument {
        match self {
            Argument::Buffer(buffer, elements) => RawArgument { word: buffer.address(), length: *elements as u64 },
            Argument::Scalar(bits) => RawArgument { word: *bits, length: 0 },
        }
    }

    /// The number of elements of a buffer; none for a scalar.
    fn elements(&self) -> usize {
        match self {
            Argument::Buffer(_, elements) => *elements,
            Argument::Scalar(_) => 0,
        }
    }
}

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

/// The input of [`start`].
pub(crate) struct Ready {
    pub(crate) entry: Arc<Entry>,
    pub(crate) width: usize,
    pub(crate) reduce_block: Option<usize>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) label: Label,
    pub(crate) site: Option<Site>,
    pub(crate) preparation: Preparation,
    pub(crate) checks: Option<Checks>,
}

impl Ready {
    /// The record of the launch in the statistics.
    #[inline]
    fn record(&self, time: Time) -> Record {
        Record {
            facts: Arc::clone(&self.entry.facts),
            label: self.label,
            site: self.site,
            width: self.width,
            preparation: self.preparation,
            time,
        }
    }

    /// The bytes that the launch accesses.
    fn traffic(&self) -> Traffic {
        self.entry.facts.traffic(self.width, self.arguments.iter().map(Argument::elements))
    }
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
        start(self.ready)
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
    let options = code_options(&kernel, width, &arguments);
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

/// Runs a launch whose code is available.
pub(crate) fn start(mut ready: Ready) -> Result<(), Error> {
    check::arguments(&ready)?;
    let is_hit = ready.preparation.outcome.is_hit();
    stats::count_launch(&ready.entry.launches, ready.width, is_hit);
    log::emit(Level::Trace, || {
        let hit = if is_hit { "hit" } else { "miss" };
        format!("launch `{}` over {} lanes ({hit} {:016x})", ready.label, ready.width, ready.entry.facts.hash)
    });
    let token = Token::current();
    let estimate = ready.entry.cost.estimate(ready.width);
    let mut bound = run::bind(&ready.entry, ready.width, ready.reduce_block, &ready.arguments)?;
    bound.set_checks(ready.checks.take());
    if estimate.is_small()
        && let Some(result) = run_inline(&ready, &bound, &token)
    {
        return result;
    }
    enqueue(ready, bound, estimate, token);
    Ok(())
}

/// Runs a small launch at once, if no other launch conflicts.
fn run_inline(ready: &Ready, bound: &Bound, token: &Token) -> Option<Result<(), Error>> {
    let run = || {
        token.check(ready.label, ready.site)?;
        // SAFETY: the arguments were checked; the marks exclude conflicting accesses; all lanes are run before the
        // function returns.
        unsafe {
            bound.run(&ready.entry, bound.all(), token.poll())?;
            token.check(ready.label, ready.site)?;
            (0..bound.merge_parts()).for_each(|part| bound.merge(part));
            bound.finish();
            bound.check()
        }
    };
    // SAFETY: the kernel's parameters declare its accesses.
    let outcome = unsafe { inline::try_run(ready.accesses(), run, ready.label, ready.site) }?;
    Some(outcome.map(|elapsed| {
        ready.entry.cost.learn(ready.width, elapsed);
        ready.entry.ran(elapsed);
        stats::count_busy(elapsed);
        stats::record_done(elapsed, |time| ready.record(time), || ready.traffic());
    }))
}

fn enqueue(ready: Ready, bound: Bound, estimate: Estimate, token: Token) {
    let time = Arc::new(AtomicU64::new(0));
    let watched = stats::record_queued(&time, |time| ready.record(time), || ready.traffic());
    let division = bound.division(&ready.entry, estimate, threads());
    let (label, site) = (ready.label, ready.site);
    let work = Box::new(KernelWork { entry: Arc::clone(&ready.entry), bound, division });
    let blocks = Blocks::new(division.blocks, threads());
    task::enqueue(Queued { work, accessed: ready.into_accessed(), blocks, time, watched, token, label, site });
}

/// Targets of scatters are private where that is faster. Results bypass the cache if the arrays of the launch would not
/// fit into it. That helps kernels that stream: in a kernel with a loop, the arithmetic takes longer than the stores.
pub(crate) fn code_options(kernel: &Kernel, width: usize, arguments: &[Argument]) -> CodeOptions {
    let each = kernel.params.iter().zip(arguments).map(|(param, argument)| traffic(param, argument));
    let bytes = each.fold(0_usize, usize::saturating_add);
    let streaming_stores =
        bytes > cost::streaming_threshold() && width > 1 && stores_by_lane(kernel) && !kernel.has_loop();
    CodeOptions { streaming_stores, scatters: private::choose(kernel, width, arguments), effort: effort() }
}

/// The time that code generation may take.
pub(crate) fn effort() -> Effort {
    match config::get().tier {
        Tier::Auto => Effort::Quick,
        Tier::Always(effort) => effort,
    }
}

/// All options that [`code_options`] may choose for a kernel, with the most effort.
pub(crate) fn all_code_options(kernel: &Kernel) -> Vec<CodeOptions> {
    let plain = CodeOptions { effort: Effort::Thorough, ..CodeOptions::default() };
    let mut all = vec![plain];
    if stores_by_lane(kernel) && !kernel.has_loop() {
        all.push(CodeOptions { streaming_stores: true, ..plain });
    }
    let each: Vec<CodeOptions> = all.clone();
    for scatters in private::choices(kernel) {
        all.extend(each.iter().map(|options| CodeOptions { scatters, ..*options }));
    }
    all
}

fn stores_by_lane(kernel: &Kernel) -> bool {
    kernel.regions.first().is_some_and(|top| top.insts.iter().any(|inst| matches!(inst.op, Op::Store { .. })))
}

fn traffic(param: &Param, argument: &Argument) -> usize {
    argument.elements().saturating_mul(param.ty().size_bytes())
}

/// Returns when all earlier launches of the process are done. The calling thread takes part in the work.
///
/// # Errors
///
/// The first failure of a launch, made by any thread, that has not been reported yet. The next call reports the next
/// one.
pub fn sync() -> Result<(), Error> {
    pool::wait_for_all();
    pool::take_failure().map_or(Ok(()), |failure| Err(failure.report()))
}
