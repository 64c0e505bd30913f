//! The memory of the machine for tests: blocks behind addresses at which the host has nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use crate::Error;
use crate::config::Device;
use crate::fork::Held;
use crate::memory::{Remote, filled_list, out_of_memory};
use crate::sync::{Mutex, RwLock, persist};

/// Addresses begin here, far from what operating systems give to programs, and differ between the machines.
const FIRST_ADDRESS: u64 = 0x5e00_0000_0000_0000;
/// The distance of the addresses of two machines.
const ADDRESSES: u64 = 1 << 48;
/// Addresses are multiples of this, as those of GPUs are.
const ALIGNMENT: u64 = 256;
/// Fresh memory has these bytes, so that a program that reads what it never wrote is noticed.
const POISON: u8 = 0xa5;
/// How many bytes there are.
const SIZE_BYTES: usize = 4 << 30;

/// The memory of one machine.
pub(super) struct Space {
    next: AtomicU64,
    blocks: Mutex<Blocks>,
    copies_to_host: AtomicU64,
    copies_from_host: AtomicU64,
}

#[derive(Default)]
struct Blocks {
    by_address: FxHashMap<u64, Arc<RwLock<Vec<u8>>>>,
    used_bytes: usize,
}

/// A block of it, freed on drop.
pub(super) struct Block {
    space: Arc<Space>,
    address: u64,
    size_bytes: usize,
}

/// Allocates a block: zeroed, or with arbitrary contents.
///
/// # Errors
///
/// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if it does not fit beside the others.
pub(super) fn allocate(space: &Arc<Space>, size_bytes: usize, is_zeroed: bool) -> Result<Block, Error> {
    let mut blocks = space.blocks.lock();
    let used_bytes = blocks.used_bytes.checked_add(size_bytes).filter(|&used| used <= SIZE_BYTES);
    let used_bytes = used_bytes.ok_or_else(|| out_of_memory(size_bytes))?;
    let contents = filled_list(size_bytes, if is_zeroed { 0 } else { POISON })?;
    blocks.used_bytes = used_bytes;
    let step = (size_bytes as u64).max(1).next_multiple_of(ALIGNMENT);
    let address = space.next.fetch_add(step, Ordering::Relaxed);
    blocks.by_address.insert(address, Arc::new(RwLock::new(contents)));
    Ok(Block { space: Arc::clone(space), address, size_bytes })
}

impl Space {
    pub(super) fn of(device: Device) -> Space {
        Space {
            next: AtomicU64::new(FIRST_ADDRESS + device.index() as u64 * ADDRESSES),
            blocks: Mutex::default(),
            copies_to_host: AtomicU64::new(0),
            copies_from_host: AtomicU64::new(0),
        }
    }

    /// Runs a function on the bytes of a block.
    pub(super) fn read<R>(&self, address: u64, access: impl FnOnce(&[u8]) -> R) -> R {
        access(&self.block(address).read())
    }

    /// Runs a function that changes the bytes of a block.
    pub(super) fn write<R>(&self, address: u64, access: impl FnOnce(&mut [u8]) -> R) -> R {
        access(&mut self.block(address).write())
    }

    fn block(&self, address: u64) -> Arc<RwLock<Vec<u8>>> {
        let block = self.blocks.lock().by_address.get(&address).cloned();
        block.expect("a launch retains its buffers, and they are on its machine")
    }

    /// Takes the lock of the table, for a fork.
    pub(super) fn hold(&'static self, held: &mut Vec<Held>) {
        held.extend(persist(|| self.blocks.try_lock()).map(|guard| Box::new(guard) as Held));
    }

    /// How many copies were made to the host and from it, other than those of launches.
    #[cfg(test)]
    pub(super) fn copies(&self) -> (u64, u64) {
        (self.copies_to_host.load(Ordering::Relaxed), self.copies_from_host.load(Ordering::Relaxed))
    }

    /// The bytes in live blocks.
    #[cfg(test)]
    pub(super) fn used_bytes(&self) -> usize {
        self.blocks.lock().used_bytes
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
        self.space.copies_to_host.fetch_add(1, Ordering::Relaxed);
        self.space.read(self.address, |bytes| target.copy_from_slice(&bytes[offset..offset + target.len()]));
        Ok(())
    }

    fn copy_from_host(&self, offset: usize, source: &[u8]) -> Result<(), Error> {
        self.space.copies_from_host.fetch_add(1, Ordering::Relaxed);
        self.space.write(self.address, |bytes| bytes[offset..offset + source.len()].copy_from_slice(source));
        Ok(())
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let mut blocks = self.space.blocks.lock();
        blocks.by_address.remove(&self.address);
        blocks.used_bytes -= self.size_bytes;
    }
}
