//! The memory of one array: a block on a device, shared by handles, with the pending launches that access it.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use super::allocator::{allocate, free, trim_memory};
use super::block::Block;
use super::failure::Failure;
use super::order::Accesses;
use super::reclaim;
use super::size_class::SizeClass;
use crate::config::Device;
use crate::{Error, ErrorKind, current_device};

/// Memory that launches read and write. It is returned to the allocator when the last handle is dropped.
///
/// It is on the device that was [current](crate::device::current_device) when it was allocated. The CPU and the
/// interpreter use the same memory, but a buffer is on one of them.
///
/// The start is aligned to 64 bytes, and 64 bytes behind the end may be read.
pub struct Buffer {
    block: ManuallyDrop<Block>,
    size_bytes: usize,
    /// The index of the device.
    device: AtomicU16,
    accesses: Accesses,
    /// Returns memory that somebody else has allocated.
    release: Option<Release>,
}

type Release = Box<dyn FnOnce() + Send>;

// SAFETY: the memory is accessed only through launches and the methods below, which `accesses` orders.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Allocates at least this many bytes, all zero.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfMemory`] if there is none even after all launches are done and cached blocks have been
    /// returned; [`ErrorKind::NoDevice`] if the current device cannot be used.
    pub fn alloc(size_bytes: usize) -> Result<Arc<Buffer>, Error> {
        // SAFETY: the memory is written before it is shared.
        let buffer = unsafe { Buffer::alloc_uninit(size_bytes)? };
        // SAFETY: the buffer is not shared yet, and has this length.
        unsafe { buffer.block.data.as_ptr().write_bytes(0, size_bytes) };
        Ok(buffer)
    }

    /// Allocates at least this many bytes, with arbitrary contents.
    ///
    /// # Errors
    ///
    /// As [`Buffer::alloc`].
    ///
    /// # Safety
    ///
    /// Contents that launches or the host read must have been written before.
    pub unsafe fn alloc_uninit(size_bytes: usize) -> Result<Arc<Buffer>, Error> {
        let device = current_device::current_device();
        current_device::check_usable(device)?;
        let block = SizeClass::of(size_bytes)
            .and_then(|class| allocate(class).or_else(|| allocate_again(class)))
            .ok_or_else(|| out_of_memory(size_bytes))?;
        let (block, device) = (ManuallyDrop::new(block), AtomicU16::new(device.index() as u16));
        Ok(Arc::new(Buffer { block, size_bytes, device, accesses: Accesses::default(), release: None }))
    }

    /// Makes a buffer of memory that somebody else has allocated, on the current device. Nothing writes it. The
    /// function returns it, on any thread, when the last handle is dropped and no launch reads it any more.
    ///
    /// # Errors
    ///
    /// As [`Buffer::alloc`]; the function is dropped and not called.
    ///
    /// # Safety
    ///
    /// Until the function is called, the bytes must be readable, and so must be 64 bytes behind them; nobody may write
    /// them. The start must be a multiple of 64.
    pub unsafe fn foreign(
        data: NonNull<u8>,
        size_bytes: usize,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Arc<Buffer>, Error> {
        let device = current_device::current_device();
        current_device::check_usable(device)?;
        let class = SizeClass::of(size_bytes).ok_or_else(|| out_of_memory(size_bytes))?;
        debug_assert!(data.addr().get().is_multiple_of(super::ALIGNMENT), "foreign memory is aligned");
        let (block, device) = (ManuallyDrop::new(Block { data, class }), AtomicU16::new(device.index() as u16));
        let release: Option<Release> = Some(Box::new(release));
        Ok(Arc::new(Buffer { block, size_bytes, device, accesses: Accesses::default(), release }))
    }

    /// Whether somebody else has allocated the memory, so that it must not be written.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.release.is_some()
    }

    /// Makes a buffer that only identifies an array: it has no memory, and reading it, by the host or by a launch, is
    /// this error.
    ///
    /// # Errors
    ///
    /// As [`Buffer::alloc`].
    pub fn without_contents(error: &Error) -> Result<Arc<Buffer>, Error> {
        let buffer = Buffer::alloc(0)?;
        buffer.accesses.fail(&Failure::of_error(error));
        Ok(buffer)
    }

    /// Allocates memory with a copy of these bytes.
    ///
    /// # Errors
    ///
    /// As [`Buffer::alloc`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Arc<Buffer>, Error> {
        // SAFETY: all of it is written, here.
        let buffer = unsafe { Buffer::alloc_uninit(bytes.len())? };
        // SAFETY: the buffer is not shared yet, and it is as long as the bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.block.data.as_ptr(), bytes.len()) };
        Ok(buffer)
    }

    /// Allocates memory with an element repeated `count` times.
    ///
    /// # Errors
    ///
    /// As [`Buffer::alloc`].
    pub fn repeated(element: &[u8], count: usize) -> Result<Arc<Buffer>, Error> {
        let size_bytes = element.len().saturating_mul(count);
        // SAFETY: all of it is written, here.
        let buffer = unsafe { Buffer::alloc_uninit(size_bytes)? };
        for number in 0..count {
            // SAFETY: the buffer is not shared yet, and has room for this many elements.
            unsafe {
                let place = buffer.block.data.as_ptr().add(number * element.len());
                std::ptr::copy_nonoverlapping(element.as_ptr(), place, element.len());
            }
        }
        Ok(buffer)
    }

    /// Waits as [`Buffer::wait`] and copies the contents to memory on the current device.
    ///
    /// # Errors
    ///
    /// As [`Buffer::alloc`] and [`Buffer::wait`].
    pub fn copied(&self) -> Result<Arc<Buffer>, Error> {
        // SAFETY: all of it is written, here, before it is shared.
        let copy = unsafe { Buffer::alloc_uninit(self.size_bytes)? };
        let _reading = self.accesses.begin_host_read()?;
        // SAFETY: both have this length, the copy is not shared yet, and no launch writes the original while the guard
        // lives.
        unsafe {
            let (from, to) = (self.block.data.as_ptr(), copy.block.data.as_ptr());
            std::ptr::copy_nonoverlapping(from, to, self.size_bytes);
        }
        Ok(copy)
    }

    /// The device that the memory is on.
    #[inline]
    #[must_use]
    pub fn device(&self) -> Device {
        Device::from_index(self.device.load(Ordering::Relaxed).into()).unwrap_or(Device::Cpu)
    }

    /// Moves the buffer to the current device, which uses the same memory as its own: one of the host.
    pub fn adopt(&self) {
        self.device.store(current_device::current_device().index() as u16, Ordering::Relaxed);
    }

    /// The requested number of bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The bytes that the buffer occupies: [`Buffer::size_bytes`] rounded up to a size of the allocator.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.block.class.size_bytes()
    }

    /// The address of the first byte.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.block.data.as_ptr() as u64
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
        unsafe {
            std::ptr::copy_nonoverlapping(self.block.data.as_ptr().add(offset), target.as_mut_ptr(), target.len());
        }
        Ok(())
    }

    /// Waits as [`Buffer::wait`] and lends the bytes, without a copy. A launch that writes the buffer waits for the end
    /// of the loan. The caller must make sure that there is no such launch.
    ///
    /// # Errors
    ///
    /// As [`Buffer::wait`].
    pub fn bytes(self: &Arc<Self>) -> Result<Bytes, Error> {
        // `Bytes` removes the mark.
        std::mem::forget(self.accesses.begin_host_read()?);
        Ok(Bytes { buffer: Arc::clone(self) })
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
        unsafe {
            std::ptr::copy_nonoverlapping(source.as_ptr(), self.block.data.as_ptr().add(offset), source.len());
        }
        Ok(())
    }

    /// As [`Buffer::write`] from the first byte on, when neither the contents behind these bytes nor an earlier failure
    /// matter.
    pub(crate) fn overwrite(&self, source: &[u8]) -> Result<(), Error> {
        self.check_range(0, source.len())?;
        let _writing = self.accesses.begin_host_overwrite();
        // SAFETY: the range was checked; no launch accesses the buffer while the guard lives.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), self.block.data.as_ptr(), source.len()) };
        Ok(())
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
        if let Some(release) = self.release.take() {
            return release();
        }
        // SAFETY: the block is taken once, here, and not used afterwards.
        free(unsafe { ManuallyDrop::take(&mut self.block) });
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

/// The bytes of a buffer, read in place: see [`Buffer::bytes`].
pub struct Bytes {
    buffer: Arc<Buffer>,
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the block has this many bytes, and while this value lives its mark prevents launches from writing
        // them.
        unsafe { std::slice::from_raw_parts(self.buffer.block.data.as_ptr(), self.buffer.size_bytes) }
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
