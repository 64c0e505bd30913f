//! Memory of a GPU, which is cached: an allocation that finds a free block of its size calls no function of the driver.
//!
//! The driver's asynchronous pool is asked for new blocks where there is one, since it neither waits for the device nor
//! needs a contiguous range of physical memory. It keeps what is freed until it is trimmed.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use cudarc::driver::sys::{self, CUmemPool_attribute};
use rustc_hash::FxHashMap;

use super::copies::Copies;
use super::pinned::PinnedMemory;
use crate::backend::cuda::driver::{Failed, Gpu, check};
use crate::memory::{DeviceMemory, Remote, SizeClass};
use crate::sync::Mutex;
use crate::{Error, ErrorKind};

/// Blocks have at least this many bytes: the driver aligns them to as many.
const MIN_BYTES: usize = 256;

/// The memory of one GPU.
pub(super) struct Memory {
    gpu: &'static Gpu,
    copies: Copies,
    /// Addresses of free blocks, by their size.
    free: Mutex<FxHashMap<usize, Vec<u64>>>,
    counters: Counters,
}

/// Bytes of blocks, for reports.
#[derive(Default)]
struct Counters {
    /// From the driver, in use or cached.
    reserved: AtomicUsize,
    /// In use, and the most so far.
    live: AtomicUsize,
    peak: AtomicUsize,
    /// The most since a profile asked.
    recent_peak: AtomicUsize,
    /// The blocks that the driver was asked for.
    requests: AtomicU64,
}

impl Counters {
    fn count_request(&self, size_bytes: usize) {
        self.reserved.fetch_add(size_bytes, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    fn count_use(&self, size_bytes: usize) {
        let live = self.live.fetch_add(size_bytes, Ordering::Relaxed) + size_bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
        self.recent_peak.fetch_max(live, Ordering::Relaxed);
    }
}

/// A block of it, which is cached on drop.
pub(super) struct Block {
    memory: Arc<Memory>,
    address: u64,
    size_bytes: usize,
}

/// Allocates a block with arbitrary contents.
///
/// # Errors
///
/// [`ErrorKind::OutOfMemory`] if the device has no more.
pub(super) fn allocate(memory: &Arc<Memory>, size_bytes: usize) -> Result<Block, Error> {
    let class = SizeClass::of(size_bytes).ok_or_else(|| too_large(size_bytes))?;
    let size_bytes = class.size_bytes().max(MIN_BYTES);
    let cached = memory.free.lock().get_mut(&size_bytes).and_then(Vec::pop);
    let address = match cached {
        Some(address) => address,
        None => memory.acquire(size_bytes).map_err(|failed| memory.error(size_bytes, failed))?,
    };
    memory.counters.count_use(size_bytes);
    Ok(Block { memory: Arc::clone(memory), address, size_bytes })
}

fn too_large(size_bytes: usize) -> Error {
    Error::new(ErrorKind::OutOfMemory, format!("no memory for {size_bytes} bytes: no machine has as much"))
}

impl Memory {
    pub(super) fn new(gpu: &'static Gpu, pinned: &Arc<PinnedMemory>) -> Result<Arc<Memory>, Error> {
        let open = || {
            let _context = gpu.enter()?;
            if gpu.has_pools {
                keep_freed_memory(gpu)?;
            }
            Copies::new(gpu, pinned)
        };
        let copies = open().map_err(|failed| gpu.error("preparing memory", failed))?;
        Ok(Arc::new(Memory { gpu, copies, free: Mutex::default(), counters: Counters::default() }))
    }

    /// What is in use and cached, and what the driver has left.
    pub(super) fn report(&self) -> DeviceMemory {
        let Counters { reserved, live, peak, requests, .. } = &self.counters;
        let live_bytes = live.load(Ordering::Relaxed);
        DeviceMemory {
            live_bytes,
            cached_bytes: reserved.load(Ordering::Relaxed).saturating_sub(live_bytes),
            peak_bytes: peak.load(Ordering::Relaxed),
            system_allocations: requests.load(Ordering::Relaxed),
            free_bytes: self.free_bytes().ok(),
            ..DeviceMemory::new(self.gpu.device, self.gpu.total_bytes)
        }
    }

    /// Bytes in use.
    pub(super) fn live_bytes(&self) -> usize {
        self.counters.live.load(Ordering::Relaxed)
    }

    /// The most bytes in use since the last call.
    pub(super) fn take_peak(&self) -> usize {
        self.counters.recent_peak.swap(self.live_bytes(), Ordering::Relaxed)
    }

    /// The bytes that no process uses.
    fn free_bytes(&self) -> Result<usize, Failed> {
        let _context = self.gpu.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the context is current, and the targets are valid.
        check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
        Ok(free)
    }

    /// Gets a block from the driver.
    fn acquire(&self, size_bytes: usize) -> Result<u64, Failed> {
        let address = self.request(size_bytes)?;
        self.counters.count_request(size_bytes);
        Ok(address)
    }

    fn request(&self, size_bytes: usize) -> Result<u64, Failed> {
        let _context = self.gpu.enter()?;
        let mut address = 0;
        if !self.gpu.has_pools {
            // SAFETY: the context is current, and the target valid.
            check("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&raw mut address, size_bytes) })?;
            return Ok(address);
        }
        let stream = self.copies.stream();
        // SAFETY: as above; the stream is of this context.
        check("cuMemAllocAsync", unsafe { sys::cuMemAllocAsync(&raw mut address, size_bytes, stream) })?;
        // From then on it may be used on other streams.
        self.copies.wait()?;
        Ok(address)
    }

    fn error(&self, size_bytes: usize, failed: Failed) -> Error {
        if !failed.is_out_of_memory() {
            return self.gpu.error("an allocation", failed);
        }
        let (of, live) = (self.gpu.total_bytes, self.live_bytes());
        let device = self.gpu.device;
        let message =
            format!("no memory for {size_bytes} bytes on `{device}`: {live} of its {of} bytes are in use here");
        let hint = "drop arrays that are no longer needed, or compute in smaller parts";
        Error::new(ErrorKind::OutOfMemory, message).caused_by(failed).with_hint(hint)
    }

    /// Returns all free blocks to the driver, and from its pool to the system.
    pub(super) fn trim(&self) {
        // In a forked process the lock may be held by a thread that does not exist.
        if !self.gpu.is_of_this_process() || self.gpu.is_lost() {
            return;
        }
        let free = std::mem::take(&mut *self.free.lock());
        let bytes = free.iter().map(|(size_bytes, blocks)| size_bytes * blocks.len()).sum();
        self.counters.reserved.fetch_sub(bytes, Ordering::Relaxed);
        let _ = self.release(free.into_values().flatten());
    }

    fn release(&self, addresses: impl Iterator<Item = u64>) -> Result<(), Failed> {
        let _context = self.gpu.enter()?;
        for address in addresses {
            if self.gpu.has_pools {
                // SAFETY: nothing uses the block any more.
                check("cuMemFreeAsync", unsafe { sys::cuMemFreeAsync(address, self.copies.stream()) })?;
            } else {
                // SAFETY: as above.
                check("cuMemFree", unsafe { sys::cuMemFree_v2(address) })?;
            }
        }
        if self.gpu.has_pools {
            self.copies.wait()?;
            let pool = pool(self.gpu)?;
            // SAFETY: the pool exists as long as the device.
            check("cuMemPoolTrimTo", unsafe { sys::cuMemPoolTrimTo(pool, 0) })?;
        }
        Ok(())
    }
}

fn pool(gpu: &Gpu) -> Result<sys::CUmemoryPool, Failed> {
    let mut pool = ptr::null_mut();
    // SAFETY: the device exists, and the target is valid.
    check("cuDeviceGetDefaultMemPool", unsafe { sys::cuDeviceGetDefaultMemPool(&raw mut pool, gpu.raw()) })?;
    Ok(pool)
}

/// The pool returns memory to the system when it is trimmed, and not whenever a stream is idle.
fn keep_freed_memory(gpu: &Gpu) -> Result<(), Failed> {
    let (pool, mut all) = (pool(gpu)?, u64::MAX);
    let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the attribute is a number of 64 bits.
    check("cuMemPoolSetAttribute", unsafe { sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut all).cast()) })
}

impl Block {
    /// Overwrites all bytes with zeros.
    pub(super) fn zero(&self) -> Result<(), Error> {
        let copies = &self.memory.copies;
        copies.zero(self.address, self.size_bytes).map_err(|failed| self.memory.gpu.error("a fill", failed))
    }
}

impl Remote for Block {
    fn address(&self) -> u64 {
        self.address
    }

    fn capacity_bytes(&self) -> usize {
        self.size_bytes
    }

    fn copy_to_host(&self, offset: usize, target: &mut [u8]) -> Result<(), Error> {
        self.memory.gpu.check()?;
        self.memory.copies.to_host(self.address + offset as u64, target)
    }

    fn copy_from_host(&self, offset: usize, source: &[u8]) -> Result<(), Error> {
        self.memory.gpu.check()?;
        self.memory.copies.to_device(self.address + offset as u64, source)
    }

    fn copy_to(&self, other: &dyn Remote, size_bytes: usize) -> Result<bool, Error> {
        let other: &dyn std::any::Any = other;
        let Some(other) = other.downcast_ref::<Block>() else { return Ok(false) };
        self.memory.gpu.check()?;
        other.memory.gpu.check()?;
        let target = (other.memory.gpu, other.address);
        let copied = self.memory.copies.to_other((self.memory.gpu, self.address), target, size_bytes);
        copied.map_err(|failed| self.memory.gpu.error("a copy", failed))?;
        Ok(true)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // In a forked process the lock may be held by a thread that does not exist.
        if self.memory.gpu.is_of_this_process() {
            self.memory.counters.live.fetch_sub(self.size_bytes, Ordering::Relaxed);
            self.memory.free.lock().entry(self.size_bytes).or_default().push(self.address);
        }
    }
}
