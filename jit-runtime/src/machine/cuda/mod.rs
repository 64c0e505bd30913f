//! NVIDIA GPUs: memory, copies and launches by the driver of CUDA.
//!
//! Each thread that launches has a stream of its own on a device. An event after each launch tells that it is done. A
//! launch registers at its buffers, and its stream waits for the events of those on other streams that it comes after.
//! The calling thread queues it and goes on. Copies by the host are on a further stream, so they wait only for the
//! launches at their buffer. A thread of each stream waits for its events one by one, and then releases buffers and
//! records failures.
//!
//! Memory is given out only when all that used it is done, so it may be used on every stream at once.
//!
//! | part | file |
//! |---|---|
//! | memory of the device | `memory` |
//! | pinned memory of the host | `pinned` |
//! | copies by the host | `copies` |
//! | events | `event` |
//! | which thread has which stream | `streams` |
//! | a stream, with the launches on it in their order | `stream` |
//! | a launch in flight, and those that it comes after | `flight` |
//! | kernels: parameters, and what checks read | `launch` |
//! | their grids, and scratch memory | `grids` |
//! | reductions over several blocks of threads | `combine` |
//! | launches of replays that are queued together | `batch` |
//! | values that the host reads later | `late` |
//! | library calls, and which are the host's | `library_calls` |
//! | their launches: code and memory of plans | `kernels` |
//! | those that the host makes on copies | `host_calls` |
//!
//! The driver itself, and loading code, are in `backend/cuda/driver/`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::backend::cuda::driver::{self, Gpu};
use crate::backend::{CodeOptions, Effort};
use crate::config::{self, Device};
use crate::ir::Kernel;
use crate::memory::devices::{Peaks, Reporter};
use crate::memory::{Buffer, DeviceMemory, Remote};
use crate::sync::Mutex;
use crate::{Error, Site};

use super::library::{self, Operand};
use super::{Argument, Batch, Capabilities, LateValue, Machine, Ready};

mod batch;
mod combine;
mod copies;
mod event;
mod flight;
mod grids;
mod host_calls;
mod kernels;
mod late;
mod launch;
mod library_calls;
mod memory;
mod pinned;
mod stream;
mod streams;

use kernels::Routines;
use memory::Memory;
use pinned::PinnedMemory;
use streams::Streams;

/// The GPUs that are looked at by number: more are not in one machine.
const MOST: usize = 64;

static MACHINES: [OnceLock<Cuda>; MOST] = [const { OnceLock::new() }; MOST];
/// The number of those that are open: launches on the host ask whether there is one.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// A GPU in use.
pub(super) struct Cuda {
    gpu: &'static Gpu,
    memory: Arc<Memory>,
    pinned: Arc<PinnedMemory>,
    streams: Arc<Streams>,
    routines: Routines,
}

/// The machine of a GPU. The first call opens it.
///
/// # Errors
///
/// [`NoDevice`](crate::ErrorKind::NoDevice), with the reason, if it cannot be used.
pub(super) fn open(number: u8) -> Result<&'static dyn Machine, Error> {
    static OPENING: Mutex<()> = Mutex::new(());
    let gpu = driver::gpu(number)?;
    gpu.check()?;
    let place = MACHINES.get(usize::from(number)).ok_or_else(|| too_many(number))?;
    if place.get().is_none() {
        let _opening = OPENING.lock();
        if place.get().is_none() {
            let _ = place.set(Cuda::new(gpu)?);
            OPEN.fetch_add(1, Ordering::Release);
        }
    }
    Ok(place.get().expect("it is open"))
}

fn too_many(number: u8) -> Error {
    let message = format!("the device `cuda:{number}` cannot be used: only the first {MOST} GPUs are");
    Error::new(crate::ErrorKind::NoDevice, message)
}

/// The machines that have been used.
#[inline]
pub(super) fn opened() -> impl Iterator<Item = &'static Cuda> {
    MACHINES.iter().filter_map(OnceLock::get).take(OPEN.load(Ordering::Acquire))
}

/// Returns the cached memory of all devices to the driver, and what is pinned of the host's for them.
fn trim() {
    opened().for_each(|machine| {
        machine.memory.trim();
        machine.pinned.trim();
    });
}

/// Reports the memory of all devices that can be used.
fn report(devices: &mut Vec<DeviceMemory>) {
    let usable = opened().filter(|machine| machine.gpu.check().is_ok());
    devices.extend(usable.map(|machine| machine.memory.report()));
}

/// Bytes in use on a device; none if it is no GPU in use.
fn live_bytes(device: Device) -> Option<usize> {
    opened().find(|machine| machine.gpu.device == device).map(|machine| machine.memory.live_bytes())
}

/// The most bytes in use on each device since the last call.
fn take_peaks(peaks: &mut Peaks) {
    peaks.extend(opened().map(|machine| (machine.gpu.device, machine.memory.take_peak())));
}

impl Cuda {
    fn new(gpu: &'static Gpu) -> Result<Cuda, Error> {
        static REGISTERED: std::sync::Once = std::sync::Once::new();
        REGISTERED.call_once(|| {
            crate::memory::reclaim::on_trim(trim);
            crate::memory::devices::on_report(Reporter { report, live_bytes, take_peaks });
        });
        let pinned = PinnedMemory::new(gpu);
        let memory = Memory::new(gpu, &pinned)?;
        Ok(Cuda { gpu, memory, pinned, streams: Streams::new(gpu), routines: Routines::default() })
    }

    /// Allocates memory. If there is none, launches that end may free some.
    fn block(&self, size_bytes: usize) -> Result<memory::Block, Error> {
        self.gpu.check()?;
        memory::allocate(&self.memory, size_bytes).or_else(|_| {
            self.streams.wait_for_all();
            self.memory.trim();
            memory::allocate(&self.memory, size_bytes)
        })
    }
}

impl Machine for Cuda {
    fn capabilities(&self) -> Capabilities {
        Capabilities { shares_host_memory: false, runs_on_caller: false, threads: 1 }
    }

    fn allocate(&self, size_bytes: usize, is_zeroed: bool) -> Result<Option<Box<dyn Remote>>, Error> {
        let block = self.block(size_bytes)?;
        if is_zeroed {
            block.zero()?;
        }
        Ok(Some(Box::new(block)))
    }

    fn reusable_memory(&self, _size_bytes: usize) -> Option<Arc<Buffer>> {
        None
    }

    fn code_options(&self, _kernel: &Kernel, _width: usize, _arguments: &[Argument]) -> CodeOptions {
        CodeOptions { effort: Effort::Quick, ..CodeOptions::default() }
    }

    fn launch(&self, ready: Ready) -> Result<(), Error> {
        launch::launch(self, ready)
    }

    fn call(&self, launch: library::Launch) -> Result<(), Error> {
        library_calls::call(self, launch)
    }

    fn batch(&'static self) -> Option<Box<dyn Batch>> {
        let has_graphs = config::get().has_cuda_graphs && driver::get().is_ok_and(|driver| driver.has_graphs);
        has_graphs.then(|| Box::new(batch::Batch::new(self)) as Box<dyn Batch>)
    }

    fn read_late(&self, buffer: &Arc<Buffer>, size_bytes: usize) -> Result<Option<Box<dyn LateValue>>, Error> {
        late::read(self, buffer, size_bytes).map(Some)
    }

    fn compress(&self, mask: &Operand, device: Device, site: Option<Site>) -> Result<Operand, Error> {
        library_calls::compress(self, mask, device, site)
    }

    fn wait_for_all(&self) {
        if self.gpu.is_of_this_process() {
            self.streams.wait_for_all();
        }
    }
}
