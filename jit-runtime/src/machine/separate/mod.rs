//! A machine for tests: its memory is reached only by copies, and a thread of its own runs its launches in their order.
//!
//! It stands for a GPU where there is none. `JIT_TEST_GPUS=1` makes `Device::Cuda(0)` such a machine, `2` the next one,
//! too; unit tests of this crate have both. Whatever assumes that the host can access the memory of an array finds
//! nothing at its addresses. Results are those of the interpreter: a launch copies the buffers that it accesses to the
//! host, runs there, and copies what it wrote back. Library calls do so at once, on the calling thread. That is slow,
//! and right for a test.
//!
//! | part | file |
//! |---|---|
//! | memory, and the number of copies | `space` |
//! | launches that are queued, in their order | `stream` |
//! | a launch on copies of its buffers | `staged` |

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use crate::backend::CodeOptions;
use crate::cancel::Token;
use crate::config::{self, Device};
use crate::fork::{self, Held};
use crate::ir::Kernel;
use crate::memory::{Buffer, Remote};
use crate::sync::Mutex;
use crate::{Error, ErrorKind, Site, stats};

use super::host::Host;
use super::library::{self, Operand};
use super::{Argument, Capabilities, Machine, Ready};

mod space;
mod staged;
mod stream;
#[cfg(test)]
mod tests;

use space::Space;
use staged::Staged;
use stream::{Job, Stream};

/// There are at most this many.
const MOST: usize = config::MOST_TEST_GPUS;

static MACHINES: [OnceLock<Separate>; MOST] = [const { OnceLock::new() }; MOST];

/// One of these machines.
pub(super) struct Separate {
    device: Device,
    space: Arc<Space>,
    stream: Arc<Stream>,
    /// The process that opened it, as [`fork::generation`].
    generation: u32,
}

/// The machine that serves a GPU's number; none if that is not simulated. The first call makes it.
///
/// # Errors
///
/// [`ErrorKind::NoDevice`] if a process opened the machine that has forked this one.
pub(super) fn open(number: u8) -> Result<Option<&'static dyn Machine>, Error> {
    let Some(place) = MACHINES.get(usize::from(number)).filter(|_| usize::from(number) < config::test_gpus()) else {
        return Ok(None);
    };
    static OPENING: Mutex<()> = Mutex::new(());
    if place.get().is_none() {
        let _opening = OPENING.lock();
        if place.get().is_none() {
            let _ = place.set(Separate::new(Device::Cuda(number))?);
        }
    }
    let machine = place.get().expect("it is open");
    machine.check_process()?;
    Ok(Some(machine))
}

/// Takes the locks of the machines, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    opened().for_each(|machine| machine.space.hold(held));
}

/// The machines that have been used.
#[inline]
pub(super) fn opened() -> impl Iterator<Item = &'static Separate> {
    MACHINES.iter().filter_map(OnceLock::get)
}

impl Separate {
    fn new(device: Device) -> Result<Separate, Error> {
        let refused = |error: std::io::Error| {
            let message = format!("the device `{device}` cannot be used: its thread cannot be started");
            Error::new(ErrorKind::NoDevice, message).caused_by(error)
        };
        let (space, stream) = (Arc::new(Space::of(device)), Stream::start(device).map_err(refused)?);
        Ok(Separate { device, space, stream, generation: fork::generation() })
    }

    /// The thread that runs launches does not exist in a forked process, as the context of a GPU does not.
    fn check_process(&self) -> Result<(), Error> {
        if self.generation == fork::generation() {
            return Ok(());
        }
        let message =
            format!("the device `{}` cannot be used: it was opened before the process was forked", self.device);
        Err(Error::new(ErrorKind::NoDevice, message).with_hint("fork before the first use of the device"))
    }
}

impl Machine for Separate {
    fn capabilities(&self) -> Capabilities {
        Capabilities { shares_host_memory: false, runs_on_caller: false, threads: 1 }
    }

    fn allocate(&self, size_bytes: usize, is_zeroed: bool) -> Result<Option<Box<dyn Remote>>, Error> {
        let block = match space::allocate(&self.space, size_bytes, is_zeroed) {
            // Completed launches may free their arguments.
            Err(_) => {
                self.stream.wait_for_all();
                space::allocate(&self.space, size_bytes, is_zeroed)?
            }
            Ok(block) => block,
        };
        Ok(Some(Box::new(block)))
    }

    fn reusable_memory(&self, _size_bytes: usize) -> Option<Arc<Buffer>> {
        None
    }

    fn code_options(&self, kernel: &Kernel, width: usize, arguments: &[Argument]) -> CodeOptions {
        // The host runs the code.
        Host.code_options(kernel, width, arguments)
    }

    fn launch(&self, ready: Ready) -> Result<(), Error> {
        let accessed = ready.accessed();
        let time = Arc::new(AtomicU64::new(0));
        let watched = stats::record_queued(&time, |time| ready.record(time), || ready.traffic());
        let (label, site, token) = (ready.label, ready.site, Token::current());
        let staged = Staged::of(ready, &self.space);
        let work = Box::new(move |token: &Token| staged.run(token));
        self.stream.enqueue(Job::new(work, accessed, token, (label, site), (time, watched)));
        Ok(())
    }

    fn call(&self, launch: library::Launch) -> Result<(), Error> {
        staged::call(launch)
    }

    fn compress(&self, mask: &Operand, device: Device, site: Option<Site>) -> Result<Operand, Error> {
        let copy = Operand { buffer: mask.buffer.copied_to_host()?, ..mask.clone() };
        let listed = Host.compress(&copy, device, site)?;
        let bytes = listed.buffer.bytes()?;
        let block = space::allocate(&self.space, bytes.len(), false)?;
        block.copy_from_host(0, &bytes)?;
        let buffer = Buffer::on_machine(Box::new(block), bytes.len(), self.device);
        Ok(Operand { buffer, ..listed })
    }

    fn wait_for_all(&self) {
        if self.check_process().is_ok() {
            self.stream.wait_for_all();
        }
    }
}
