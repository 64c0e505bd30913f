//! An allocator whose work does not depend on what was allocated before.
//!
//! The system's allocator splits and merges neighbouring blocks, so the instructions of an allocation depend on the
//! sizes of all earlier ones, down to the length of the executable's path. They changed counts by up to 8 %. Here a
//! block comes from the list of free blocks of its size class, or from the end of a chunk. Either takes a few
//! instructions. Large blocks are the system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The size of the smallest class is `1 << SMALLEST` bytes; each class is twice as large as the one before.
const SMALLEST: u32 = 4;
const CLASSES: usize = 13;
const CHUNK_BYTES: usize = 1 << 22;
/// Every block is aligned to its size class, so this is the alignment of a chunk.
const CHUNK_ALIGN: usize = 1 << (SMALLEST as usize + CLASSES - 1);

#[global_allocator]
static ALLOCATOR: SizeClasses = SizeClasses { is_locked: AtomicBool::new(false), lists: UnsafeCell::new(Lists::new()) };

struct SizeClasses {
    is_locked: AtomicBool,
    lists: UnsafeCell<Lists>,
}

// SAFETY: the lists are accessed only in `with_lists`, by the thread that holds the lock.
unsafe impl Sync for SizeClasses {}

/// Free blocks of each size class; the first bytes of a free block are the address of the next one.
struct Lists {
    free: [*mut u8; CLASSES],
    /// The unused rest of the newest chunk. The rests of older chunks are lost.
    rest: *mut u8,
    rest_bytes: usize,
}

impl Lists {
    const fn new() -> Lists {
        Lists { free: [ptr::null_mut(); CLASSES], rest: ptr::null_mut(), rest_bytes: 0 }
    }

    fn pop(&mut self, class: usize) -> *mut u8 {
        let block = self.free[class];
        if block.is_null() {
            return self.cut(class);
        }
        // SAFETY: `push` wrote the address of the next block to the beginning of this one.
        self.free[class] = unsafe { block.cast::<*mut u8>().read() };
        block
    }

    fn push(&mut self, class: usize, block: *mut u8) {
        // SAFETY: the block is free, aligned to 16 bytes, and at least 16 bytes long.
        unsafe { block.cast::<*mut u8>().write(self.free[class]) };
        self.free[class] = block;
    }

    /// Takes a block from the chunk: from its end, so that the rest stays aligned to no less than the largest class.
    fn cut(&mut self, class: usize) -> *mut u8 {
        let bytes = 1 << (class as u32 + SMALLEST);
        let aligned = self.rest_bytes & !(bytes - 1);
        if aligned < bytes {
            // SAFETY: the layout has a size.
            self.rest = unsafe { System.alloc(Layout::from_size_align_unchecked(CHUNK_BYTES, CHUNK_ALIGN)) };
            self.rest_bytes = if self.rest.is_null() { 0 } else { CHUNK_BYTES };
            return if self.rest.is_null() { ptr::null_mut() } else { self.cut(class) };
        }
        self.rest_bytes = aligned - bytes;
        // SAFETY: the chunk has `rest_bytes + bytes` bytes from `rest` on.
        unsafe { self.rest.add(self.rest_bytes) }
    }
}

impl SizeClasses {
    fn with_lists<R>(&self, access: impl FnOnce(&mut Lists) -> R) -> R {
        while self.is_locked.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: this thread holds the lock, and `access` does not allocate.
        let result = access(unsafe { &mut *self.lists.get() });
        self.is_locked.store(false, Ordering::Release);
        result
    }
}

/// The class of blocks for this layout; `None` if they are the system's.
fn class_of(layout: Layout) -> Option<usize> {
    let bytes = layout.size().max(layout.align()).max(1 << SMALLEST);
    let class = (bytes.next_power_of_two().trailing_zeros() - SMALLEST) as usize;
    (class < CLASSES).then_some(class)
}

// SAFETY: a block belongs to one caller from `alloc` to `dealloc`; its class is at least its size and its alignment.
unsafe impl GlobalAlloc for SizeClasses {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class_of(layout) {
            Some(class) => self.with_lists(|lists| lists.pop(class)),
            // SAFETY: the caller's promise.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match class_of(layout) {
            Some(class) => self.with_lists(|lists| lists.push(class, block)),
            // SAFETY: the caller's promise; the block came from the system, as its layout has no class.
            None => unsafe { System.dealloc(block, layout) },
        }
    }
}
