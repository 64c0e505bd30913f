//! The memory of one array: a block on a device, shared by handles, with the pending launches that access it.
//!
//! The block is in the memory of the host, or in that of another machine ([`Remote`]), which only copies reach. Buffers
//! are made by the machine of the current device, see `machine/buffers.rs`.

use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use super::allocator::{allocate, free, trim_memory};
use super::block::Block;
use super::order::Accesses;
use super::reclaim;
use super::size_class::SizeClass;
use crate::config::Device;
use crate::{Error, ErrorKind};

/// Memory that launches read and write. It is returned to the allocator when the last handle is dropped.
///
/// It is on the device that was [current](crate::device::current_device) when it was allocated. The CPU and the
/// interpreter use the same memory, but a buffer is on one of them.
///
/// The start is aligned to 64 bytes, and 64 bytes behind the end may be read by launches.
pub struct Buffer {
    /// The address of the first byte, in the memory of the machine.
    address: u64,
    storage: ManuallyDrop<Storage>,
    size_bytes: usize,
    /// The index of the device.
    device: AtomicU16,
    accesses: Accesses,
}

/// Returns memory that somebody else has allocated.
type Release = Box<dyn FnOnce() + Send>;

// SAFETY: the memory is accessed only through launches and the methods below, which `accesses` orders.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

/// Memory of a machine that the host cannot access in place. It is freed on drop.
pub(crate) trait Remote: Any + Send + Sync {
    /// The address in the memory of the machine; no other memory of the machine has it.
    fn address(&self) -> u64;

    /// The bytes that it occupies.
    fn capacity_bytes(&self) -> usize;

    /// Copies bytes to the host, starting at an offset. The caller has checked the range, and that no launch writes
    /// the memory.
    fn copy_to_host(&self, offset: usize, target: &mut [u8]) -> Result<(), Error>;

    /// Copies bytes from the host, starting at an offset. The caller has checked the range, and that no launch accesses
    /// the memory.
    fn copy_from_host(&self, offset: usize, source: &[u8]) -> Result<(), Error>;

    /// Copies the first bytes to other memory without the host, if the machines can do that: returns whether they did.
    /// The caller has checked the sizes, and that no launch writes this memory or accesses the other one.
    fn copy_to(&self, _other: &dyn Remote, _size_bytes: usize) -> Result<bool, Error> {
        Ok(false)
    }
}

/// Where the contents of a buffer are.
enum Storage {
    Host(Block),
    /// In memory of the host that somebody else has allocated, and that nobody writes.
    Foreign(Release),
    Remote(Box<dyn Remote>),
}

impl Buffer {
    /// Allocates memory of the host, with arbitrary contents.
    ///
    /// # Safety
    ///
    /// Contents that launches or the host read must have been written before.
    pub(crate) unsafe fn on_host(size_bytes: usize, device: Device) -> Result<Arc<Buffer>, Error> {
        let block = SizeClass::of(size_bytes)
            .and_then(|class| allocate(class).or_else(|| allocate_again(class)))
            .ok_or_else(|| out_of_memory(size_bytes))?;
        let address = block.data.as_ptr() as u64;
        Ok(Buffer::with(Storage::Host(block), address, size_bytes, device))
    }

    /// A buffer of memory of the host that somebody else has allocated, and that the function returns.
    ///
    /// # Safety
    ///
    /// As for [`Buffer::foreign`].
    pub(crate) unsafe fn of_foreign(
        data: NonNull<u8>,
        size_bytes: usize,
        device: Device,
        release: Release,
    ) -> Arc<Buffer> {
        debug_assert!(data.addr().get().is_multiple_of(super::ALIGNMENT), "foreign memory is aligned");
        Buffer::with(Storage::Foreign(release), data.as_ptr() as u64, size_bytes, device)
    }

    /// Whether somebody else has allocated the memory, so that it must not be written.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        matches!(&*self.storage, Storage::Foreign(_))
    }

    /// A buffer of memory that the host cannot access.
    pub(crate) fn on_machine(remote: Box<dyn Remote>, size_bytes: usize, device: Device) -> Arc<Buffer> {
        let address = remote.address();
        Buffer::with(Storage::Remote(remote), address, size_bytes, device)
    }

    #[inline]
    fn with(storage: Storage, address: u64, size_bytes: usize, device: Device) -> Arc<Buffer> {
        let (storage, device) = (ManuallyDrop::new(storage), AtomicU16::new(device.index() as u16));
        Arc::new(Buffer { address, storage, size_bytes, device, accesses: Accesses::default() })
    }

    /// Overwrites bytes, starting at an offset, without waiting for anything.
    ///
    /// # Safety
    ///
    /// The range must be inside the buffer, and no launch or other thread may access the buffer meanwhile.
    #[inline]
    pub(crate) unsafe fn put(&self, offset: usize, source: &[u8]) -> Result<(), Error> {
        match &*self.storage {
            Storage::Host(block) => {
                // SAFETY: the caller's promise.
                unsafe {
                    std::ptr::copy_nonoverlapping(source.as_ptr(), block.data.as_ptr().add(offset), source.len());
                }
                Ok(())
            }
            Storage::Foreign(_) => Err(Error::new(ErrorKind::Internal, "memory of others is not written")),
            Storage::Remote(remote) => remote.copy_from_host(offset, source),
        }
    }

    /// Copies bytes, starting at an offset, without waiting for anything.
    ///
    /// # Safety
    ///
    /// The range must be inside the buffer, and no launch or other thread may write the buffer meanwhile.
    #[inline]
    unsafe fn get(&self, offset: usize, target: &mut [u8]) -> Result<(), Error> {
        match &*self.storage {
            Storage::Host(_) | Storage::Foreign(_) => {
                // SAFETY: the caller's promise.
                unsafe {
                    let source = (self.address as *const u8).add(offset);
                    std::ptr::copy_nonoverlapping(source, target.as_mut_ptr(), target.len());
                }
                Ok(())
            }
            Storage::Remote(remote) => remote.copy_to_host(offset, target),
        }
    }

    /// Overwrites all bytes of memory of the host with zeros.
    ///
    /// # Safety
    ///
    /// As for [`Buffer::put`].
    pub(crate) unsafe fn zero(&self) {
        if let Storage::Host(block) = &*self.storage {
            // SAFETY: the block has this many bytes; the rest is the caller's promise.
            unsafe { block.data.as_ptr().write_bytes(0, self.size_bytes) };
        }
    }

    /// Whether the host can access the contents in place.
    #[inline]
    pub(crate) fn is_on_host(&self) -> bool {
        !matches!(&*self.storage, Storage::Remote(_))
    }

    /// The device that the memory is on.
    #[inline]
    #[must_use]
    pub fn device(&self) -> Device {
        Device::from_index(self.device.load(Ordering::Relaxed).into()).unwrap_or(Device::Cpu)
    }

    /// Sets the device, which must use the same memory.
    pub(crate) fn set_device(&self, device: Device) {
        self.device.store(device.index() as u16, Ordering::Relaxed);
    }

    /// The requested number of bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The bytes that the buffer occupies: [`Buffer::size_bytes`] rounded up to a size of the allocator.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        match &*self.storage {
            Storage::Host(block) => block.class.size_bytes(),
            Storage::Foreign(_) => self.size_bytes,
            Storage::Remote(remote) => remote.capacity_bytes(),
        }
    }

    /// The address of the first byte in the memory of its machine. The host must not access it there unless that memory
    /// is its own, see [`Capabilities`](crate::device::Capabilities).
    #[inline]
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns when every launch that writes the buffer is done. The calling thread takes part in the work meanwhile.
    ///
    /// # Errors
    ///
    /// The failure of the launch that should have written the contents, or of one that it depends on.
    pub fn wait(&self) -> Result<(), Error> {
        self.accesses.wait_written()
    }

    /// Whether no pending launch writes the buffer.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.accesses.is_written()
    }

    /// Whether no pending launch accesses the buffer, and its contents are valid.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.accesses.is_idle()
    }

    /// Waits as [`Buffer::wait`] and copies bytes, starting at an offset.
    ///
    /// # Errors
    ///
    /// As [`Buffer::wait`], and [`ErrorKind::InvalidArgument`] beyond the end.
    pub fn read(&self, offset: usize, target: &mut [u8]) -> Result<(), Error> {
        self.check_range(offset, target.len())?;
        let _reading = self.accesses.begin_host_read()?;
        // SAFETY: the range was checked; no launch writes the buffer while the guard lives.
        unsafe { self.get(offset, target) }
    }

    /// Waits as [`Buffer::wait`] and lends the bytes: without a copy if they are in the memory of the host. A launch
    /// that writes the buffer then waits for the end of the loan. The caller must make sure that there is no such
    /// launch.
    ///
    /// # Errors
    ///
    /// As [`Buffer::wait`], and [`ErrorKind::OutOfMemory`] if there is none for a copy.
    pub fn bytes(self: &Arc<Self>) -> Result<Bytes, Error> {
        if !self.is_on_host() {
            return self.copied_to_host()?.bytes();
        }
        // `Bytes` removes the mark.
        std::mem::forget(self.accesses.begin_host_read()?);
        Ok(Bytes { buffer: Arc::clone(self) })
    }

    /// Waits as [`Buffer::wait`] and copies the contents to memory of the host.
    pub(crate) fn copied_to_host(&self) -> Result<Arc<Buffer>, Error> {
        // SAFETY: all of it is written, here, before it is shared.
        let copy = unsafe { Buffer::on_host(self.size_bytes, Device::Cpu)? };
        let _reading = self.accesses.begin_host_read()?;
        // SAFETY: the copy has this length, and is not shared yet; until then nothing refers to the slice. Any bytes
        // are values.
        let target = unsafe { std::slice::from_raw_parts_mut(copy.address as *mut u8, self.size_bytes) };
        // SAFETY: no launch writes the original while the guard lives.
        unsafe { self.get(0, target)? };
        Ok(copy)
    }

    /// Waits as [`Buffer::wait`] and copies the contents to a new buffer of this size, which nothing else accesses.
    pub(crate) fn copy_to_new(&self, copy: &Buffer) -> Result<(), Error> {
        if let (Storage::Remote(own), Storage::Remote(other)) = (&*self.storage, &*copy.storage) {
            let _reading = self.accesses.begin_host_read()?;
            if own.copy_to(&**other, self.size_bytes)? {
                return Ok(());
            }
        }
        let host;
        let source = match &*self.storage {
            Storage::Host(_) | Storage::Foreign(_) => self,
            Storage::Remote(_) => {
                host = self.copied_to_host()?;
                &*host
            }
        };
        let _reading = source.accesses.begin_host_read()?;
        // SAFETY: the source is in memory of the host with this many bytes, and no launch writes it while the guard
        // lives; nothing else accesses the copy, which has the same size.
        unsafe { copy.put(0, std::slice::from_raw_parts(source.address as *const u8, self.size_bytes)) }
    }

    /// Waits until no launch reads or writes the buffer, and overwrites bytes, starting at an offset.
    ///
    /// # Errors
    ///
    /// As [`Buffer::read`].
    pub fn write(&self, offset: usize, source: &[u8]) -> Result<(), Error> {
        self.check_range(offset, source.len())?;
        let _writing = self.accesses.begin_host_write()?;
        // SAFETY: the range was checked; no launch accesses the buffer while the guard lives.
        unsafe { self.put(offset, source) }
    }

    /// As [`Buffer::write`] from the first byte on, when neither the contents behind these bytes nor an earlier failure
    /// matter.
    pub(crate) fn overwrite(&self, source: &[u8]) -> Result<(), Error> {
        self.check_range(0, source.len())?;
        let _writing = self.accesses.begin_host_overwrite();
        // SAFETY: the range was checked; no launch accesses the buffer while the guard lives.
        unsafe { self.put(0, source) }
    }

    /// The pending launches that access the buffer.
    pub(crate) fn accesses(&self) -> &Accesses {
        &self.accesses
    }

    fn check_range(&self, offset: usize, length: usize) -> Result<(), Error> {
        if offset.checked_add(length).is_some_and(|end| end <= self.size_bytes) {
            return Ok(());
        }
        let message = format!("{length} bytes from {offset} on are outside of a buffer of {} bytes", self.size_bytes);
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the storage is taken once, here, and not used afterwards.
        match unsafe { ManuallyDrop::take(&mut self.storage) } {
            Storage::Host(block) => free(block),
            Storage::Foreign(release) => release(),
            Storage::Remote(remote) => drop(remote),
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("address", &format_args!("{:#x}", self.address()))
            .field("size_bytes", &self.size_bytes)
            .finish_non_exhaustive()
    }
}

/// The bytes of a buffer, or of a copy: see [`Buffer::bytes`].
pub struct Bytes {
    buffer: Arc<Buffer>,
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the block is in memory of the host and has this many bytes, and while this value lives its mark
        // prevents launches from writing them.
        unsafe { std::slice::from_raw_parts(self.buffer.address as *const u8, self.buffer.size_bytes) }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.buffer.accesses.end_read();
    }
}

/// Completed launches may free their arguments, and trimming cached blocks of other sizes may make room.
#[cold]
fn allocate_again(class: SizeClass) -> Option<Block> {
    reclaim::wait();
    trim_memory();
    allocate(class)
}

/// The error of an allocation that failed.
pub(crate) fn out_of_memory(size_bytes: usize) -> Error {
    let live = super::memory().live_bytes;
    Error::new(ErrorKind::OutOfMemory, format!("no memory for {size_bytes} bytes; {live} bytes are in use"))
        .with_hint("drop arrays that are no longer needed, or compute in smaller parts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::current_device::DeviceScope;

    #[test]
    fn a_copy_is_on_the_current_device() {
        let original = {
            let _scope = DeviceScope::enter(Device::Cpu);
            Buffer::from_bytes(&[1, 2, 3]).unwrap()
        };
        let _scope = DeviceScope::enter(Device::Interpreter);
        let copy = original.copied().unwrap();
        original.write(0, &[9, 9, 9]).unwrap();
        assert_eq!((original.device(), copy.device()), (Device::Cpu, Device::Interpreter));
        assert_eq!(&*copy.bytes().unwrap(), [1, 2, 3]);
    }

    #[test]
    fn contents_survive_and_the_padding_is_readable() {
        for size in [0, 1, 63, 64, 65, 4095, 2 << 20, (5 << 20) + 3] {
            let bytes: Vec<u8> = (0..size).map(|i| (i * 31 % 251) as u8).collect();
            let buffer = Buffer::from_bytes(&bytes).unwrap();
            assert_eq!(buffer.address() % 64, 0);
            assert!(buffer.capacity_bytes() >= size);
            let mut back = vec![0; size];
            buffer.read(0, &mut back).unwrap();
            assert!(back == bytes);
            let end = (buffer.address() as usize + buffer.capacity_bytes()) as *const u8;
            // SAFETY: this test verifies that the padding may be read; its bytes are arbitrary.
            let _ = unsafe { end.add(63).cast::<std::mem::MaybeUninit<u8>>().read_volatile() };
        }
    }

    #[test]
    fn foreign_memory_is_returned_once_when_nobody_uses_it() {
        #[repr(align(64))]
        struct Memory(#[expect(dead_code, reason = "it is read by its address")] [u8; 128]);
        let memory = Box::into_raw(Box::new(Memory([7; 128])));
        let (sender, returned) = std::sync::mpsc::channel();
        let address = memory as usize;
        // SAFETY: 64 bytes behind the first 64 are part of the box, and nobody writes it until it is returned.
        let buffer = unsafe {
            Buffer::foreign(NonNull::new(memory.cast()).unwrap(), 64, move || sender.send(address).unwrap()).unwrap()
        };
        assert!(buffer.is_foreign() && !buffer.copied().unwrap().is_foreign());
        let loan = buffer.bytes().unwrap();
        drop(buffer);
        assert_eq!((loan[..] == [7; 64], returned.try_recv().is_err()), (true, true));
        std::thread::spawn(move || drop(loan)).join().unwrap();
        assert_eq!(returned.iter().collect::<Vec<_>>(), [address]);
        // SAFETY: the buffer is gone.
        drop(unsafe { Box::from_raw(memory) });
    }

    #[test]
    fn reading_and_writing_beyond_the_end_is_refused() {
        let buffer = Buffer::from_bytes(&[1, 2, 3]).unwrap();
        assert_eq!(buffer.read(2, &mut [0; 2]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(buffer.read(usize::MAX, &mut [0; 2]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(buffer.write(3, &[0]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        buffer.write(1, &[7, 8]).unwrap();
        let mut back = [0; 3];
        buffer.read(0, &mut back).unwrap();
        assert_eq!(back, [1, 7, 8]);
    }

    #[test]
    fn an_element_is_repeated() {
        for (element, count) in [(&[1, 2, 3, 4][..], 5), (&[7], 100), (&[1, 2], 0), (&[], 3)] {
            let buffer = Buffer::repeated(element, count).unwrap();
            assert_eq!(buffer.bytes().unwrap()[..], element.repeat(count));
        }
        assert_eq!(Buffer::repeated(&[0; 8], usize::MAX / 2).unwrap_err().kind(), ErrorKind::OutOfMemory);
    }

    #[test]
    fn lent_bytes_are_those_of_the_buffer() {
        let buffer = Buffer::from_bytes(&[1, 2, 3]).unwrap();
        let (first, second) = (buffer.bytes().unwrap(), buffer.bytes().unwrap());
        assert_eq!((&first[..], second.as_ptr() as u64), (&[1, 2, 3][..], buffer.address()));
        drop((first, second));
        buffer.write(0, &[9]).unwrap();
        let again = buffer.bytes().unwrap();
        drop(buffer);
        assert_eq!(again[..], [9, 2, 3]);
    }

    #[test]
    fn absurd_sizes_are_out_of_memory() {
        for size in [1 << 46, 1 << 60, usize::MAX] {
            assert_eq!(Buffer::alloc(size).unwrap_err().kind(), ErrorKind::OutOfMemory);
        }
    }
}
