//! Memory for arrays: from the machine of the current device.

use std::ptr::NonNull;
use std::sync::Arc;

use super::{Machine, of, share_memory, uses_host_memory};
use crate::config::Device;
use crate::current_device::current_device;
use crate::memory::Buffer;
use crate::memory::failure::Failure;
use crate::{Error, ErrorKind};

/// The number of bytes that are copied at once to memory that the host cannot access.
const CHUNK_BYTES: usize = 1 << 20;

impl Buffer {
    /// Allocates at least this many bytes, all zero.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfMemory`] if there is none even after all launches are done and
    /// cached blocks have been returned; [`ErrorKind::NoDevice`] if the current device
    /// cannot be used.
    pub fn alloc(size_bytes: usize) -> Result<Arc<Buffer>, Error> {
        // SAFETY: the memory is written before it is shared.
        let buffer = unsafe { allocate(current_device(), size_bytes, true)? };
        // SAFETY: the buffer is not shared yet.
        unsafe { buffer.zero() };
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
    #[inline]
    pub unsafe fn alloc_uninit(size_bytes: usize) -> Result<Arc<Buffer>, Error> {
        // SAFETY: the caller's promise.
        unsafe { allocate(current_device(), size_bytes, false) }
    }

    /// Makes a buffer of memory of the host that somebody else has allocated, on the current device. Nothing writes it.
    /// The function returns it, on any thread, when the last handle is dropped and no launch reads it any more.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoDevice`] if the current device cannot be used, and [`ErrorKind::InvalidArgument`] if its memory
    /// is not the host's; the function is then dropped and not called.
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
        let device = current_device();
        if !of(device)?.capabilities().shares_host_memory {
            let message = format!("`{device}` cannot access memory of the host");
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_hint("copy the elements"));
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { Buffer::of_foreign(data, size_bytes, device, Box::new(release)) })
    }

    /// Makes a buffer that only identifies an array: it has no memory, and reading it, by the host or by a launch, is
    /// this error.
    ///
    /// # Errors
    ///
    /// As [`Buffer::alloc`].
    pub fn without_contents(error: &Error) -> Result<Arc<Buffer>, Error> {
        let buffer = Buffer::alloc(0)?;
        buffer.accesses().fail(&Failure::of_error(error));
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
        unsafe { buffer.put(0, bytes)? };
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
        let chunk = element.repeat(count.min(CHUNK_BYTES / element.len().max(1)).max(1));
        let mut offset = 0;
        while offset < size_bytes {
            let bytes = &chunk[..chunk.len().min(size_bytes - offset)];
            // SAFETY: the buffer is not shared yet, and has room for these bytes.
            unsafe { buffer.put(offset, bytes)? };
            offset += bytes.len();
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
        let copy = unsafe { Buffer::alloc_uninit(self.size_bytes())? };
        self.copy_to_new(&copy)?;
        Ok(copy)
    }

    /// Whether launches on the current device can access the memory.
    #[inline]
    #[must_use]
    pub fn is_accessible(&self) -> bool {
        let current = current_device();
        self.is_on_host() && uses_host_memory(current) || share_memory(self.device(), current)
    }

    /// The contents where launches on the current device can access them: this buffer, or a copy of it as it is now.
    ///
    /// # Errors
    ///
    /// As [`Buffer::copied`].
    #[inline]
    pub fn on_current_device(self: &Arc<Self>) -> Result<Arc<Buffer>, Error> {
        if self.is_accessible() { Ok(Arc::clone(self)) } else { self.copied() }
    }

    /// Moves the buffer to the current device, if that uses the same memory. Returns whether it is there.
    #[must_use]
    pub fn adopt(&self) -> bool {
        let is_possible = self.is_accessible();
        if is_possible {
            self.set_device(current_device());
        }
        is_possible
    }
}

/// Allocates memory on a device: zeroed if that is asked for and it is not the host's.
///
/// # Safety
///
/// As for [`Buffer::alloc_uninit`].
#[inline]
pub(super) unsafe fn allocate(device: Device, size_bytes: usize, is_zeroed: bool) -> Result<Arc<Buffer>, Error> {
    match of(device)?.allocate(size_bytes, is_zeroed)? {
        Some(remote) => Ok(Buffer::on_machine(remote, size_bytes, device)),
        // SAFETY: the caller's promise.
        None => unsafe { Buffer::on_host(size_bytes, device) },
    }
}
