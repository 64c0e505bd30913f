//! Machines: what runs launches and holds memory. The host is one; each GPU is one.
//!
//! A machine is a folder here that implements [`Machine`]: memory and copies, launches of kernels, library calls, and
//! waiting for them. Code above this folder never asks which machine it deals with. It asks for its [`Capabilities`].
//!
//! Invariants: a buffer belongs to one machine, and all launches that access it run there. Each launch that is not done
//! is registered at its buffers as an object that can be waited for (`memory::order::Pending`): a task of the host, or
//! what a stream of a GPU passes in its order. A machine orders its own launches among each other. Only threads that
//! read or write a buffer from outside wait for another machine; those of the host's pool never do.
//!
//! | part | place |
//! |---|---|
//! | a launch as a machine receives it | `work`, `library` and `convolution` (library calls), `checks` |
//! | memory for arrays | `buffers` |
//! | failures that nobody has seen yet | `failures` |
//! | launches when the process forks | `fork` |
//! | the processor | `host` |
//! | NVIDIA GPUs | `cuda` |
//! | a machine for tests, whose memory the host cannot access | `separate` |

use std::sync::Arc;

use crate::backend::CodeOptions;
use crate::config::Device;
use crate::ir::Kernel;
use crate::memory::{Buffer, Remote};
use crate::{Error, Site, current_device};

mod buffers;
mod checks;
#[cfg(feature = "cuda")]
mod cuda;
pub(crate) mod failures;
pub(crate) mod fork;
pub(crate) mod host;
pub(crate) mod library;
mod separate;
mod work;

pub use checks::{AccessKind, CheckedAccess, CheckedAssertion, Checks};
use host::Host;
use library::Operand;
pub use work::Argument;
pub(crate) use work::{Access, Ready};

/// What a machine can do. Code that depends on the machine asks for these properties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Capabilities {
    /// Whether its memory is that of the host, which accesses it in place. Otherwise contents are copied.
    pub shares_host_memory: bool,
    /// Whether short launches run on the calling thread, so that several can run there without being launched.
    pub runs_on_caller: bool,
    /// The number of threads of the host that run a launch.
    pub threads: usize,
}

/// Runs launches, and holds memory for them.
pub(crate) trait Machine: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Allocates memory that the host cannot access in place: zeroed, or with arbitrary contents. None on a machine
    /// that shares the memory of the host.
    fn allocate(&self, size_bytes: usize, is_zeroed: bool) -> Result<Option<Box<dyn Remote>>, Error>;

    /// Memory of this size that nothing but launches in flight uses: a launch that writes it will come after them.
    fn reusable_memory(&self, size_bytes: usize) -> Option<Arc<Buffer>>;

    /// The options for the code of a launch. They must follow from the kernel, the width, and the numbers of elements.
    fn code_options(&self, kernel: &Kernel, width: usize, arguments: &[Argument]) -> CodeOptions;

    /// Runs or queues a launch that was checked. Failures are stored at the buffers that it writes.
    fn launch(&self, ready: Ready) -> Result<(), Error>;

    /// Runs or queues a library call that was checked.
    fn call(&self, launch: library::Launch) -> Result<(), Error>;

    /// A batch for launches of replays, if several launches are to be queued together.
    fn batch(&'static self) -> Option<Box<dyn Batch>> {
        None
    }

    /// Queues a read of the first bytes of a buffer, so that more can be queued before its value is waited for. None if
    /// reading at once costs as little.
    fn read_late(&self, _buffer: &Arc<Buffer>, _size_bytes: usize) -> Result<Option<Box<dyn LateValue>>, Error> {
        Ok(None)
    }

    /// Lists the positions of the true elements of a mask that was checked, as `u32`. Waits until they are counted.
    fn compress(&self, mask: &Operand, device: Device, site: Option<Site>) -> Result<Operand, Error>;

    /// Returns when all earlier launches are done.
    fn wait_for_all(&self);
}

/// Launches that a machine queues together, and what it retains of them for the next ones of the same kernels.
pub(crate) trait Batch: Send {
    /// Adds a launch that was checked. It must be queued before anybody uses what it writes.
    fn launch(&mut self, ready: Ready) -> Result<(), Error>;

    /// Adds a library call that was checked.
    fn call(&mut self, launch: library::Launch) -> Result<(), Error>;

    /// Queues what was added.
    fn queue(&mut self) -> Result<(), Error>;
}

/// A value that is being read.
pub(crate) trait LateValue: Send {
    /// Waits for it.
    fn wait(self: Box<Self>, target: &mut [u8]) -> Result<(), Error>;
}

/// The machine of a device: a choice with one branch for the host, whose launches may take less than a microsecond.
#[derive(Clone, Copy)]
pub(crate) enum Selected {
    Host,
    Other(&'static dyn Machine),
}

/// The machine of a device. The first use of one that is not the host opens it.
///
/// # Errors
///
/// [`NoDevice`](crate::ErrorKind::NoDevice), with the reason, if it cannot be used.
#[inline]
pub(crate) fn of(device: Device) -> Result<Selected, Error> {
    match device {
        Device::Cpu | Device::Interpreter => Ok(Selected::Host),
        Device::Cuda(number) => gpu(number),
    }
}

#[cold]
fn gpu(number: u8) -> Result<Selected, Error> {
    match separate::open(number)? {
        Some(machine) => Ok(Selected::Other(machine)),
        #[cfg(feature = "cuda")]
        None => cuda::open(number).map(Selected::Other),
        #[cfg(not(feature = "cuda"))]
        None => Err(current_device::no_gpu(Device::Cuda(number))),
    }
}

/// The machines in use that are not the host.
#[inline]
fn opened() -> impl Iterator<Item = &'static dyn Machine> {
    let separate = separate::opened().map(|machine| machine as &dyn Machine);
    #[cfg(feature = "cuda")]
    return separate.chain(cuda::opened().map(|machine| machine as &dyn Machine));
    #[cfg(not(feature = "cuda"))]
    separate
}

/// Whether the memory of a device is that of the host: as its capability says, without opening a machine.
#[inline]
pub(crate) fn uses_host_memory(device: Device) -> bool {
    !matches!(device, Device::Cuda(_))
}

/// Whether some machine in use has memory of its own.
#[inline]
#[must_use]
pub fn has_separate_memory() -> bool {
    opened().next().is_some()
}

/// Whether two devices have the same memory.
#[inline]
pub(crate) fn share_memory(a: Device, b: Device) -> bool {
    a == b || uses_host_memory(a) && uses_host_memory(b)
}

/// Returns when all earlier launches on all machines are done.
#[inline]
pub(crate) fn wait_for_all() {
    Host.wait_for_all();
    opened().for_each(Machine::wait_for_all);
}

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
    let device = current_device::current_device();
    match of(device)?.reusable_memory(size_bytes) {
        Some(buffer) => Ok(buffer),
        // SAFETY: the caller's promise.
        None => unsafe { buffers::allocate(device, size_bytes, false) },
    }
}

/// Passes each call on, to the host without a table of functions.
macro_rules! select {
    ($self:ident, $machine:ident => $call:expr) => {
        match $self {
            Selected::Host => {
                let $machine = &Host;
                $call
            }
            Selected::Other($machine) => $call,
        }
    };
}

impl Selected {
    /// As [`Machine::batch`].
    #[inline]
    pub(crate) fn batch(self) -> Option<Box<dyn Batch>> {
        match self {
            Selected::Host => None,
            Selected::Other(machine) => machine.batch(),
        }
    }
}

impl Machine for Selected {
    #[inline]
    fn capabilities(&self) -> Capabilities {
        select!(self, machine => machine.capabilities())
    }

    #[inline]
    fn allocate(&self, size_bytes: usize, is_zeroed: bool) -> Result<Option<Box<dyn Remote>>, Error> {
        select!(self, machine => machine.allocate(size_bytes, is_zeroed))
    }

    #[inline]
    fn reusable_memory(&self, size_bytes: usize) -> Option<Arc<Buffer>> {
        select!(self, machine => machine.reusable_memory(size_bytes))
    }

    #[inline]
    fn code_options(&self, kernel: &Kernel, width: usize, arguments: &[Argument]) -> CodeOptions {
        select!(self, machine => machine.code_options(kernel, width, arguments))
    }

    #[inline(always)]
    fn launch(&self, ready: Ready) -> Result<(), Error> {
        select!(self, machine => machine.launch(ready))
    }

    #[inline]
    fn call(&self, launch: library::Launch) -> Result<(), Error> {
        select!(self, machine => machine.call(launch))
    }

    #[inline]
    fn read_late(&self, buffer: &Arc<Buffer>, size_bytes: usize) -> Result<Option<Box<dyn LateValue>>, Error> {
        select!(self, machine => machine.read_late(buffer, size_bytes))
    }

    #[inline]
    fn compress(&self, mask: &Operand, device: Device, site: Option<Site>) -> Result<Operand, Error> {
        select!(self, machine => machine.compress(mask, device, site))
    }

    #[inline]
    fn wait_for_all(&self) {
        select!(self, machine => machine.wait_for_all());
    }
}
