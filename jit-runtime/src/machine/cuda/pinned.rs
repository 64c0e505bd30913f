//! Memory of the host that a GPU copies from and to by itself, while the host goes on. Pinning memory is slow, so
//! blocks are cached.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use cudarc::driver::sys;
use rustc_hash::FxHashMap;

use crate::Error;
use crate::backend::cuda::driver::{Failed, Gpu, check};
use crate::memory::SizeClass;
use crate::sync::Mutex;

/// The free bytes that are kept.
const KEPT_BYTES: usize = 64 << 20;

/// Pinned memory for one GPU.
pub(super) struct PinnedMemory {
    gpu: &'static Gpu,
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    by_size: FxHashMap<usize, Vec<Address>>,
    bytes: usize,
}

#[derive(Clone, Copy)]
struct Address(NonNull<u8>);

// SAFETY: an address of plain memory, which its holder owns.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// A block of it, which is returned on drop.
pub(super) struct Pinned {
    memory: Arc<PinnedMemory>,
    address: Address,
    size_bytes: usize,
}

impl PinnedMemory {
    pub(super) fn new(gpu: &'static Gpu) -> Arc<PinnedMemory> {
        Arc::new(PinnedMemory { gpu, free: Mutex::default() })
    }

    /// Allocates a block of at least this many bytes.
    pub(super) fn allocate(self: &Arc<Self>, size_bytes: usize) -> Result<Pinned, Error> {
        let size_bytes = SizeClass::of(size_bytes).map_or(size_bytes, SizeClass::size_bytes);
        let address = match self.free.lock().pop(size_bytes) {
            Some(address) => address,
            None => {
                self.acquire(size_bytes).map_err(|failed| self.gpu.error("an allocation of pinned memory", failed))?
            }
        };
        Ok(Pinned { memory: Arc::clone(self), address, size_bytes })
    }

    fn acquire(&self, size_bytes: usize) -> Result<Address, Failed> {
        let _context = self.gpu.enter()?;
        let mut pointer = ptr::null_mut();
        // SAFETY: the context is current, and the target valid. The flag lets all contexts use the memory.
        let code = unsafe { sys::cuMemHostAlloc(&raw mut pointer, size_bytes, sys::CU_MEMHOSTALLOC_PORTABLE) };
        check("cuMemHostAlloc", code)?;
        // SAFETY: the driver returned memory of this size. It is written so that it may be read as bytes.
        unsafe { pointer.cast::<u8>().write_bytes(0, size_bytes) };
        Ok(Address(NonNull::new(pointer.cast()).expect("the driver has returned memory")))
    }

    /// Returns all free blocks.
    pub(super) fn trim(&self) {
        // In a forked process the lock may be held by a thread that does not exist.
        if self.gpu.is_of_this_process() && !self.gpu.is_lost() {
            let free = std::mem::take(&mut *self.free.lock());
            free.by_size.into_values().flatten().for_each(|address| self.release(address));
        }
    }

    fn release(&self, address: Address) {
        if let Ok(_context) = self.gpu.enter() {
            // SAFETY: the block came from the driver, and nobody uses it any more.
            unsafe { sys::cuMemFreeHost(address.0.as_ptr().cast()) };
        }
    }
}

impl Free {
    fn pop(&mut self, size_bytes: usize) -> Option<Address> {
        let address = self.by_size.get_mut(&size_bytes)?.pop()?;
        self.bytes -= size_bytes;
        Some(address)
    }

    /// Keeps a block; returns it if there are enough.
    fn push(&mut self, size_bytes: usize, address: Address) -> Option<Address> {
        if self.bytes + size_bytes > KEPT_BYTES {
            return Some(address);
        }
        self.bytes += size_bytes;
        self.by_size.entry(size_bytes).or_default().push(address);
        None
    }
}

impl Pinned {
    pub(super) fn as_ptr(&self) -> *mut u8 {
        self.address.0.as_ptr()
    }

    /// The first bytes.
    ///
    /// # Safety
    ///
    /// No copy by a GPU may write them meanwhile, and they must not be written by the host.
    pub(super) unsafe fn bytes(&self, len: usize) -> &[u8] {
        debug_assert!(len <= self.size_bytes, "the block is as long");
        // SAFETY: the block is as long, and was written; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), len) }
    }

    /// Overwrites bytes, starting at an offset.
    ///
    /// # Safety
    ///
    /// No copy by a GPU may access them meanwhile, nor another thread.
    pub(super) unsafe fn put(&self, offset: usize, source: &[u8]) {
        debug_assert!(offset + source.len() <= self.size_bytes, "the block is as long");
        // SAFETY: the block is as long; the rest is the caller's promise.
        unsafe { ptr::copy_nonoverlapping(source.as_ptr(), self.as_ptr().add(offset), source.len()) };
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let PinnedMemory { gpu, free } = &*self.memory;
        // Without its context, or in a forked process, the memory is left to the driver.
        if gpu.is_of_this_process() && !gpu.is_lost() {
            let left = free.lock().push(self.size_bytes, self.address);
            left.into_iter().for_each(|address| self.memory.release(address));
        }
    }
}
