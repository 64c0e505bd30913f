//! Allocates blocks of memory from the operating system and returns them.
//!
//! Large blocks come directly from `mmap`, aligned to 2 MiB and marked for huge pages: faulting 64 MiB in takes 3 ms
//! with huge pages and 14 ms without, and a random gather has far fewer TLB misses. Small ones come from the program's
//! allocator.

use std::alloc::Layout;
use std::ptr::NonNull;

use super::size_class::SizeClass;
use super::{ALIGNMENT, PADDING};

/// Blocks of this size and above are mapped with huge pages.
const HUGE_PAGE: usize = 2 << 20;

/// A block that the holder of this value owns. Dropping it leaks the block.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) data: NonNull<u8>,
    pub(super) class: SizeClass,
}

// SAFETY: a block is plain memory, owned by the one value that describes it.
unsafe impl Send for Block {}

impl Block {
    /// Allocates a block from the operating system; none if it has no more memory.
    pub(super) fn acquire(class: SizeClass) -> Option<Block> {
        let data = if is_mapped(class) { map::acquire(reserved_bytes(class))? } else { acquire_small(class)? };
        Some(Block { data, class })
    }

    /// Returns the block to the operating system.
    pub(super) fn release(self) {
        if is_mapped(self.class) {
            // SAFETY: `acquire` mapped this many bytes for this class, and this value owns the block.
            unsafe { map::release(self.data, reserved_bytes(self.class)) };
        } else {
            // SAFETY: `acquire_small` allocated the block with this layout, and this value owns it.
            unsafe { std::alloc::dealloc(self.data.as_ptr(), small_layout(self.class)) };
        }
    }
}

fn is_mapped(class: SizeClass) -> bool {
    cfg!(unix) && class.size_bytes() >= HUGE_PAGE
}

/// The number of bytes that a block takes from the system.
pub(super) fn reserved_bytes(class: SizeClass) -> usize {
    class.size_bytes() + PADDING
}

fn small_layout(class: SizeClass) -> Layout {
    Layout::from_size_align(reserved_bytes(class), ALIGNMENT).expect("size classes end far below the largest layout")
}

fn acquire_small(class: SizeClass) -> Option<NonNull<u8>> {
    // SAFETY: the layout is not empty, as it contains the padding.
    NonNull::new(unsafe { std::alloc::alloc(small_layout(class)) })
}

#[cfg(unix)]
mod map {
    use std::ptr::NonNull;

    use super::HUGE_PAGE;

    const PAGE: usize = 4096;

    /// Maps at least this many bytes at a multiple of the huge page size.
    pub(super) fn acquire(size_bytes: usize) -> Option<NonNull<u8>> {
        let wanted = size_bytes.next_multiple_of(PAGE);
        let start = map_anonymous(wanted + HUGE_PAGE)?;
        let aligned = start.next_multiple_of(HUGE_PAGE);
        unmap(start, aligned - start);
        unmap(aligned + wanted, start + HUGE_PAGE - aligned);
        advise_huge_pages(aligned, wanted);
        NonNull::new(aligned as *mut u8)
    }

    /// Unmaps a block.
    ///
    /// # Safety
    ///
    /// The block must have come from [`acquire`] with this size, and must not be in use any more.
    pub(super) unsafe fn release(data: NonNull<u8>, size_bytes: usize) {
        unmap(data.as_ptr() as usize, size_bytes.next_multiple_of(PAGE));
    }

    fn map_anonymous(size_bytes: usize) -> Option<usize> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping does not affect existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size_bytes, protection, flags, -1, 0) };
        (start != libc::MAP_FAILED).then_some(start as usize)
    }

    fn unmap(start: usize, size_bytes: usize) {
        if size_bytes > 0 {
            // SAFETY: the range is part of a mapping that this function made, and is not in use.
            unsafe { libc::munmap(start as *mut libc::c_void, size_bytes) };
        }
    }

    #[cfg(target_os = "linux")]
    fn advise_huge_pages(start: usize, size_bytes: usize) {
        // SAFETY: the range is part of a mapping that this function made; the advice changes no contents. Refusal costs
        // only speed.
        unsafe { libc::madvise(start as *mut libc::c_void, size_bytes, libc::MADV_HUGEPAGE) };
    }

    #[cfg(not(target_os = "linux"))]
    fn advise_huge_pages(_start: usize, _size_bytes: usize) {}
}

#[cfg(not(unix))]
mod map {
    use std::ptr::NonNull;

    pub(super) fn acquire(_size_bytes: usize) -> Option<NonNull<u8>> {
        None
    }

    pub(super) unsafe fn release(_data: NonNull<u8>, _size_bytes: usize) {}
}

/// The bytes of physical memory in the machine; `usize::MAX` if unknown.
pub(super) fn physical_bytes() -> usize {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: `sysconf` only reads.
        let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        if pages > 0 && page > 0 {
            return (pages as usize).saturating_mul(page as usize);
        }
    }
    usize::MAX
}
