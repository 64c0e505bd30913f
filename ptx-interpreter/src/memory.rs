//! The memory of a launch: bytes of the host behind the addresses of a device. Each access is checked.

use std::cell::Cell;
use std::ops::Range;

/// Global memory.
#[derive(Clone, Default)]
pub struct Global {
    /// In the order of their addresses.
    blocks: Vec<Block>,
    /// The block of the last access, which is often that of the next one.
    last: Cell<usize>,
}

/// Memory that may be accessed.
#[derive(Clone)]
struct Block {
    addresses: Range<u64>,
    bytes: *mut u8,
    is_read: Cell<bool>,
    is_written: Cell<bool>,
}

impl Global {
    /// Adds memory of the host that the launch may access, at its own address.
    ///
    /// # Safety
    ///
    /// As for [`Global::add_at`].
    pub unsafe fn add(&mut self, address: u64, size_bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.add_at(address, address as *mut u8, size_bytes) };
    }

    /// Adds memory that the launch may access: its address on the device, and where the host has its bytes.
    ///
    /// # Safety
    ///
    /// It must be valid for reads and writes while launches run, by no other code. Accesses of 32 bits may contain up
    /// to 3 bytes before and behind it. No other memory has one of the addresses.
    pub unsafe fn add_at(&mut self, address: u64, bytes: *mut u8, size_bytes: u64) {
        let place = self.blocks.partition_point(|block| block.addresses.start < address);
        let (is_read, is_written) = Default::default();
        self.blocks.insert(place, Block { addresses: address..address + size_bytes, bytes, is_read, is_written });
    }

    /// The memory that launches have accessed: its first address, whether they have read it, and whether written.
    pub fn accessed(&self) -> impl Iterator<Item = (u64, bool, bool)> {
        let each = self.blocks.iter().map(|block| (block.addresses.start, block.is_read.get(), block.is_written.get()));
        each.filter(|(_, is_read, is_written)| *is_read || *is_written)
    }

    /// The block that an access is in, and the place of it on the host.
    fn check(&self, address: u64, size_bytes: usize) -> Result<(&Block, *mut u8), String> {
        if !address.is_multiple_of(size_bytes as u64) {
            return Err(format!("{address:#x} is not aligned to {size_bytes} bytes"));
        }
        let end = address + size_bytes as u64;
        let contains = |place: &usize| {
            self.blocks.get(*place).is_some_and(|block| {
                block.addresses.start & !3 <= address && end <= block.addresses.end.next_multiple_of(4)
            })
        };
        let found = Some(self.last.get()).filter(contains).or_else(|| {
            let after = self.blocks.partition_point(|block| block.addresses.start & !3 <= address);
            // Blocks without bytes may begin at the same address as others.
            (after.saturating_sub(2)..after).rev().find(contains)
        });
        let place = found.ok_or_else(|| format!("{size_bytes} bytes at {address:#x} are outside of all buffers"))?;
        self.last.set(place);
        let block = &self.blocks[place];
        let offset = address.wrapping_sub(block.addresses.start).cast_signed() as isize;
        Ok((block, block.bytes.wrapping_offset(offset)))
    }

    pub(super) fn read(&self, address: u64, size_bytes: usize) -> Result<u64, String> {
        let (block, pointer) = self.check(address, size_bytes)?;
        block.is_read.set(true);
        let mut bytes = [0; 8];
        // SAFETY: the range was added with the promise that it can be read.
        unsafe { std::ptr::copy_nonoverlapping(pointer, bytes.as_mut_ptr(), size_bytes) };
        Ok(u64::from_le_bytes(bytes))
    }

    pub(super) fn write(&self, address: u64, size_bytes: usize, bits: u64) -> Result<(), String> {
        let (block, pointer) = self.check(address, size_bytes)?;
        block.is_written.set(true);
        // SAFETY: the range was added with the promise that it can be written.
        unsafe { std::ptr::copy_nonoverlapping(bits.to_le_bytes().as_ptr(), pointer, size_bytes) };
        Ok(())
    }
}

/// The bytes of an access to memory of a thread or block.
fn place(memory: &[u8], address: u64, size_bytes: usize) -> Result<Range<usize>, String> {
    let place = usize::try_from(address).map_err(|_| format!("{address:#x} is no address"))?;
    let end = place.checked_add(size_bytes).filter(|end| *end <= memory.len());
    match end {
        Some(end) if place.is_multiple_of(size_bytes) => Ok(place..end),
        _ => Err(format!("{size_bytes} bytes at {place} of {} bytes", memory.len())),
    }
}

pub(super) fn read(memory: &[u8], address: u64, size_bytes: usize) -> Result<u64, String> {
    let mut bytes = [0; 8];
    bytes[..size_bytes].copy_from_slice(&memory[place(memory, address, size_bytes)?]);
    Ok(u64::from_le_bytes(bytes))
}

pub(super) fn write(memory: &mut [u8], address: u64, size_bytes: usize, bits: u64) -> Result<(), String> {
    let place = place(memory, address, size_bytes)?;
    memory[place].copy_from_slice(&bits.to_le_bytes()[..size_bytes]);
    Ok(())
}
