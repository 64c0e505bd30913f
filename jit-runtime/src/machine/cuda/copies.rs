//! Copies by the host, on a stream of their own: whoever copies has waited for the launches at the buffer.
//!
//! Bytes pass through two halves of a block of pinned memory: while the device copies one, the host copies the other.

use std::sync::Arc;

use cudarc::driver::sys;

use super::event::{Event, new_stream};
use super::pinned::{Pinned, PinnedMemory};
use crate::Error;
use crate::backend::cuda::driver::{Failed, Gpu, check};
use crate::sync::Mutex;

/// The bytes of one half.
const HALF_BYTES: usize = 1 << 20;

/// The stream of copies of a GPU.
pub(super) struct Copies {
    gpu: &'static Gpu,
    raw: sys::CUstream,
    pinned: Arc<PinnedMemory>,
    /// Not in use at present; as many as threads that have copied at one time.
    staging: Mutex<Vec<Staging>>,
}

// SAFETY: the driver's functions may be called from all threads.
unsafe impl Send for Copies {}
// SAFETY: as above.
unsafe impl Sync for Copies {}

/// Two halves, and events after the last copies of each.
struct Staging {
    memory: Pinned,
    passed: [Event; 2],
}

impl Copies {
    /// The context must be current.
    pub(super) fn new(gpu: &'static Gpu, pinned: &Arc<PinnedMemory>) -> Result<Copies, Failed> {
        Ok(Copies { gpu, raw: new_stream()?, pinned: Arc::clone(pinned), staging: Mutex::default() })
    }

    pub(super) fn stream(&self) -> sys::CUstream {
        self.raw
    }

    /// Returns when all that is queued is done. The context must be current.
    pub(super) fn wait(&self) -> Result<(), Failed> {
        // SAFETY: the stream exists, in this context.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.raw) })
    }

    fn error(&self, failed: Failed) -> Error {
        self.gpu.error("a copy", failed)
    }

    fn take_staging(&self) -> Result<Staging, Error> {
        if let Some(staging) = self.staging.lock().pop() {
            return Ok(staging);
        }
        let memory = self.pinned.allocate(2 * HALF_BYTES)?;
        let event = || Event::new(self.gpu, false).map_err(|failed| self.error(failed));
        Ok(Staging { memory, passed: [event()?, event()?] })
    }

    /// Copies bytes to the device. Returns when they are there.
    pub(super) fn to_device(&self, address: u64, source: &[u8]) -> Result<(), Error> {
        let _context = self.gpu.enter().map_err(|failed| self.error(failed))?;
        let staging = self.take_staging()?;
        for (place, part) in source.chunks(HALF_BYTES).enumerate() {
            self.send(&staging, place, address, part).map_err(|failed| self.error(failed))?;
        }
        let parts = source.len().div_ceil(HALF_BYTES);
        staging.wait_for_last(parts).map_err(|failed| self.error(failed))?;
        self.staging.lock().push(staging);
        Ok(())
    }

    fn send(&self, staging: &Staging, place: usize, address: u64, part: &[u8]) -> Result<(), Failed> {
        let half = place % 2;
        if place >= 2 {
            staging.passed[half].wait()?;
        }
        // SAFETY: the copy from this half is done, and nobody else has the block.
        unsafe { staging.memory.put(half * HALF_BYTES, part) };
        let to = address + (place * HALF_BYTES) as u64;
        // SAFETY: the memory of the device is as long, which the caller of the machine has checked; the half is not
        // changed before the copy is done.
        let code = unsafe {
            let from = staging.memory.as_ptr().add(half * HALF_BYTES);
            sys::cuMemcpyHtoDAsync_v2(to, from.cast(), part.len(), self.raw)
        };
        check("cuMemcpyHtoDAsync", code)?;
        staging.passed[half].record(self.raw)
    }

    /// Copies bytes to the host.
    pub(super) fn to_host(&self, address: u64, target: &mut [u8]) -> Result<(), Error> {
        let _context = self.gpu.enter().map_err(|failed| self.error(failed))?;
        let staging = self.take_staging()?;
        let parts: Vec<&mut [u8]> = target.chunks_mut(HALF_BYTES).collect();
        let lens: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        for (place, part) in parts.into_iter().enumerate() {
            let each = place..lens.len().min(place + 2);
            // Both halves at first, and then the one that becomes free.
            let ahead = if place == 0 { each } else { (place + 1).min(lens.len())..each.end };
            ahead
                .into_iter()
                .try_for_each(|next| self.request(&staging, next, address, lens[next]))
                .map_err(|f| self.error(f))?;
            staging.receive(place, part).map_err(|failed| self.error(failed))?;
        }
        self.staging.lock().push(staging);
        Ok(())
    }

    fn request(&self, staging: &Staging, place: usize, address: u64, len: usize) -> Result<(), Failed> {
        let (half, from) = (place % 2, address + (place * HALF_BYTES) as u64);
        // SAFETY: as for copies to the device; nobody reads the half before the copy is done.
        let code = unsafe {
            let to = staging.memory.as_ptr().add(half * HALF_BYTES);
            sys::cuMemcpyDtoHAsync_v2(to.cast(), from, len, self.raw)
        };
        check("cuMemcpyDtoHAsync", code)?;
        staging.passed[half].record(self.raw)
    }

    /// Overwrites memory with zeros. Returns when that is done.
    pub(super) fn zero(&self, address: u64, size_bytes: usize) -> Result<(), Failed> {
        let _context = self.gpu.enter()?;
        // SAFETY: the caller owns memory of this size.
        check("cuMemsetD8Async", unsafe { sys::cuMemsetD8Async(address, 0, size_bytes, self.raw) })?;
        self.wait()
    }

    /// Copies bytes within the device, or to another one. Returns when they are there.
    pub(super) fn to_other(
        &self,
        (from, source): (&Gpu, u64),
        (to, target): (&Gpu, u64),
        size_bytes: usize,
    ) -> Result<(), Failed> {
        let _context = self.gpu.enter()?;
        if size_bytes == 0 {
            return Ok(());
        }
        if ptr_eq(from, to) {
            // SAFETY: both are as long, and nobody else accesses the target.
            let code = unsafe { sys::cuMemcpyDtoDAsync_v2(target, source, size_bytes, self.raw) };
            check("cuMemcpyDtoDAsync", code)?;
        } else {
            // SAFETY: as above; the driver copies through the host where devices cannot access one another.
            let code =
                unsafe { sys::cuMemcpyPeerAsync(target, to.context(), source, from.context(), size_bytes, self.raw) };
            check("cuMemcpyPeerAsync", code)?;
        }
        self.wait()
    }
}

fn ptr_eq(a: &Gpu, b: &Gpu) -> bool {
    std::ptr::eq(a, b)
}

impl Staging {
    /// Waits for the copy of a part, and copies it to where it is wanted.
    fn receive(&self, place: usize, part: &mut [u8]) -> Result<(), Failed> {
        let half = place % 2;
        self.passed[half].wait()?;
        // SAFETY: the copy to this half is done, and nobody else has the block.
        let bytes = unsafe { self.memory.bytes(2 * HALF_BYTES) };
        part.copy_from_slice(&bytes[half * HALF_BYTES..][..part.len()]);
        Ok(())
    }

    /// Waits for the copies from both halves, of this many parts.
    fn wait_for_last(&self, parts: usize) -> Result<(), Failed> {
        self.passed.iter().take(parts).try_for_each(Event::wait)
    }
}
