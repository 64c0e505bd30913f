//! Values that the host reads later: they are copied to its memory in the order of the stream, and the host queues what
//! follows before it waits.

use std::any::Any;
use std::sync::Arc;

use cudarc::driver::sys;

use super::Cuda;
use super::flight::{Flight, Wanted};
use super::pinned::Pinned;
use crate::Error;
use crate::backend::cuda::driver::check;
use crate::machine::LateValue;
use crate::machine::work::Accessed;
use crate::memory::Buffer;
use crate::memory::order::Pending;

/// A copy that was queued.
struct Copied {
    flight: Arc<Flight>,
    memory: Arc<Pinned>,
}

/// Queues a copy of the first bytes of a buffer.
pub(super) fn read(machine: &Cuda, buffer: &Arc<Buffer>, size_bytes: usize) -> Result<Box<dyn LateValue>, Error> {
    machine.gpu.check()?;
    let memory = Arc::new(machine.pinned.allocate(size_bytes)?);
    let (kept, address): (Arc<dyn Any + Send + Sync>, u64) = (Arc::<Pinned>::clone(&memory), buffer.address());
    let wanted = Wanted {
        accessed: vec![Accessed { buffer: Arc::clone(buffer), reads: true, writes: false }],
        label: "read".into(),
        site: None,
        observed: Default::default(),
        // The device writes the memory, even if nobody waits for it.
        afterwards: Box::new(move || {
            drop(kept);
            Ok(())
        }),
    };
    let to = memory.as_ptr();
    let flight = machine.streams.of_thread()?.submit(wanted, |stream| {
        // SAFETY: the flight keeps both, which are as long.
        let code = unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), address, size_bytes, stream) };
        check("cuMemcpyDtoHAsync", code).map_err(|failed| machine.gpu.error("a copy", failed))
    });
    Ok(Box::new(Copied { flight, memory }))
}

impl LateValue for Copied {
    fn wait(self: Box<Self>, target: &mut [u8]) -> Result<(), Error> {
        Arc::<Flight>::clone(&self.flight).wait();
        if let Some(failure) = self.flight.failure() {
            return Err(failure.report());
        }
        // SAFETY: the copy is done.
        target.copy_from_slice(unsafe { self.memory.bytes(target.len()) });
        Ok(())
    }
}
