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

    /// Copies through staging memory. After an error, copies that were queued may still use it, so they are waited for.
    fn staged(&self, copy: impl FnOnce(&Staging) -> Result<(), Failed>) -> Result<(), Error> {
        let _context = self.gpu.enter().map_err(|failed| self.error(failed))?;
        let staging = self.take_staging()?;
        let outcome = copy(&staging);
        if outcome.is_err() {
            let _ = self.wait();
        }
        self.staging.lock().push(staging);
        outcome.map_err(|failed| self.error(failed))
    }

    /// Copies bytes to the device. Returns when they are there.
    pub(super) fn to_device(&self, address: u64, source: &[u8]) -> Result<(), Error> {
        self.staged(|staging| {
            let mut parts = source.chunks(HALF_BYTES).enumerate();
            parts.try_for_each(|(place, part)| self.send(staging, place, address, part))?;
            staging.wait_for_last(source.len().div_ceil(HALF_BYTES))
        })
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
        let lens: Vec<usize> = target.chunks(HALF_BYTES).map(<[u8]>::len).collect();
        let request = |staging: &Staging, place: usize| match lens.get(place) {
            Some(len) => self.request(staging, place, address, *len),
            None => Ok(()),
        };
        self.staged(|staging| {
            // Both halves at first, and then each when it becomes free.
            [0, 1].into_iter().try_for_each(|place| request(staging, place))?;
            target.chunks_mut(HALF_BYTES).enumerate().try_for_each(|(place, part)| {
                staging.receive(place, part)?;
                request(staging, place + 2)
            })
        })
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
        if std::ptr::eq(from, to) {
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
