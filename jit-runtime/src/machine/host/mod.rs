//! The host: all cores of the machine, and its memory.
//!
//! A launch either runs at once, on the calling thread, if that takes only a few microseconds, or its lanes are divided
//! into blocks that are queued. A thread that waits takes part in the work. The interpreter's device is the same
//! machine with other code.
//!
//! | part | file |
//! |---|---|
//! | options for the code | `options` |
//! | running lanes, combining reductions | `run` |
//! | launches that only move elements | `permute` |
//! | private targets of reducing scatters for each thread, or each segment of lanes | `private` |
//! | small launches, on the calling thread | `inline`; several of them | `batch` |
//! | work that is shared with idle threads | `team` |
//! | queued launches | `task` |
//! | their work: kernels here, library calls in `native` | `work` |
//! | the distribution of their lanes to threads | `blocks` |
//! | threads | `pool` |
//! | launches that are not done, and the bound on their number | `flight` |

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::backend::CodeOptions;
use crate::cache::cost::Estimate;
use crate::cancel::Token;
use crate::config::Device;
use crate::current_device::DeviceScope;
use crate::float_mode::Standard;
use crate::ir::Kernel;
use crate::memory::{Buffer, Remote};
use crate::{Error, Site, stats};

use super::library::{self, Operand};
use super::{Argument, Capabilities, Machine, Ready};

pub(crate) mod batch;
mod blocks;
mod flight;
mod inline;
mod native;
mod options;
mod permute;
pub(super) mod pool;
pub(super) mod private;
mod run;
mod task;
pub(super) mod team;
mod work;

use blocks::Blocks;
pub(crate) use flight::REUSED_BYTES;
pub(crate) use options::{all_code_options, effort};
pub use pool::{set_threads, threads};
use run::Bound;
use task::Queued;
use work::KernelWork;

/// The machine that the process runs on.
pub(crate) struct Host;

impl Machine for Host {
    #[inline]
    fn capabilities(&self) -> Capabilities {
        Capabilities { shares_host_memory: true, runs_on_caller: true, threads: threads() }
    }

    #[inline]
    fn allocate(&self, _size_bytes: usize, _is_zeroed: bool) -> Result<Option<Box<dyn Remote>>, Error> {
        Ok(None)
    }

    #[inline]
    fn reusable_memory(&self, size_bytes: usize) -> Option<Arc<Buffer>> {
        pool::reusable_memory(size_bytes)
    }

    #[inline]
    fn code_options(&self, kernel: &Kernel, width: usize, arguments: &[Argument]) -> CodeOptions {
        options::code_options(kernel, width, arguments)
    }

    #[inline(always)]
    fn launch(&self, ready: Ready) -> Result<(), Error> {
        launch(ready)
    }

    fn call(&self, launch: library::Launch) -> Result<(), Error> {
        let _scope = memory_for(launch.device);
        native::launch(launch)
    }

    fn compress(&self, mask: &Operand, device: Device, site: Option<Site>) -> Result<Operand, Error> {
        let _scope = memory_for(device);
        native::compress(mask, device, site)
    }

    #[inline]
    fn wait_for_all(&self) {
        pool::wait_for_all();
    }
}

/// Until it is dropped, the thread allocates memory of the host: that of the device, if it is one of the host.
/// Otherwise the machine of the device has copied operands here.
fn memory_for(device: Device) -> DeviceScope {
    DeviceScope::enter(if Device::HOST.contains(&device) { device } else { Device::Interpreter })
}

#[inline(always)]
fn launch(mut ready: Ready) -> Result<(), Error> {
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
    // SAFETY: the arguments were checked; the marks exclude conflicting accesses.
    let run = || unsafe { run_all(ready, bound, token) };
    // SAFETY: the kernel's parameters declare its accesses.
    let outcome = unsafe { inline::try_run(ready.accesses(), run, ready.label, ready.site) }?;
    Some(outcome.map(|elapsed| {
        ready.entry.cost.learn(ready.width, elapsed);
        ready.entry.ran(elapsed);
        stats::count_busy(elapsed);
        stats::record_done(elapsed, |time| ready.record(time), || ready.traffic());
    }))
}

/// Runs all lanes of a launch.
///
/// # Safety
///
/// The arguments must have been checked, and no other thread may access them in a way that conflicts.
unsafe fn run_all(ready: &Ready, bound: &Bound, token: &Token) -> Result<(), Error> {
    token.check(ready.label, ready.site)?;
    // SAFETY: the caller's promise; all lanes are run before the function returns.
    unsafe {
        bound.run(&ready.entry, bound.all(), token.poll())?;
        token.check(ready.label, ready.site)?;
        (0..bound.merge_parts()).for_each(|part| bound.merge(part));
        bound.finish();
        bound.check()
    }
}

/// Runs a launch on the calling thread, on memory that nothing else accesses.
///
/// # Safety
///
/// The arguments must have been checked, be in memory of the host, and belong to the caller alone.
pub(super) unsafe fn run_alone(mut ready: Ready, token: &Token) -> Result<(), Error> {
    let mut bound = run::bind(&ready.entry, ready.width, ready.reduce_block, &ready.arguments)?;
    bound.set_checks(ready.checks.take());
    let _mode = Standard::enter();
    // SAFETY: the caller's promise.
    unsafe { run_all(&ready, &bound, token) }
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
