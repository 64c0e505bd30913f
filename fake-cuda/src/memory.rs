//! Memory of devices, behind addresses at which the host has nothing; and pinned memory of the host.

use std::alloc::Layout;
use std::ffi::{c_int, c_uint, c_void};

use crate::codes::{self, Code};
use crate::executor::enqueue;
use crate::order::Accesses;
use crate::state::{CHANGED, State, lock};
use crate::stream::Op;
use crate::{code, context, device, violation};

/// Addresses begin here: no program of the host has memory there.
const FIRST_ADDRESS: u64 = 0x5e00_0000_0000_0000;
/// The distance of the addresses of two devices.
const ADDRESSES: u64 = 1 << 48;
/// Addresses are multiples of this.
const ALIGNMENT: u64 = 512;
/// What fresh memory holds, so that a program that reads what it never wrote is noticed.
const POISON: u8 = 0xa5;

/// Memory of a device.
pub(crate) struct Allocation {
    pub(crate) device: usize,
    pub(crate) size_bytes: usize,
    /// It was freed in the order of a stream, and is in use until then.
    pub(crate) is_freed: bool,
    pub(crate) accesses: Accesses,
    /// Words, so that atomic accesses are aligned; one more than needed.
    words: Vec<u64>,
}

impl Allocation {
    pub(crate) fn bytes(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }
}

/// Memory of the host that copies use.
pub(crate) struct Pinned {
    pub(crate) size_bytes: usize,
    layout: Layout,
}

impl State {
    /// The allocation that contains a range of addresses.
    pub(crate) fn containing(&mut self, address: u64, size_bytes: usize, what: &str) -> (u64, &mut Allocation) {
        let found = self.allocations.range_mut(..=address).next_back();
        match found {
            Some((&start, allocation)) if address + size_bytes as u64 <= start + allocation.size_bytes as u64 => {
                (start, allocation)
            }
            _ => violation(&format!("{what} of {size_bytes} bytes at {address:#x}, which are not all allocated")),
        }
    }

    /// The allocation that contains an address, if there is one.
    pub(crate) fn start_of(&self, address: u64) -> Option<u64> {
        let (start, allocation) = self.allocations.range(..=address).next_back()?;
        (address < start + allocation.size_bytes as u64).then_some(*start)
    }

    /// Checks that memory of the host is pinned.
    pub(crate) fn check_pinned(&self, address: usize, size_bytes: usize) {
        let found = self.pinned.range(..=address).next_back();
        if found.is_none_or(|(start, pinned)| address + size_bytes > start + pinned.size_bytes) {
            violation(&format!("an asynchronous copy of {size_bytes} bytes of memory that is not pinned"));
        }
    }

    fn allocate(&mut self, device: usize, size_bytes: usize) -> Result<u64, Code> {
        self.check(device)?;
        if size_bytes == 0 {
            return Err(codes::INVALID_VALUE);
        }
        let own = self.allocations.values().filter(|allocation| allocation.device == device);
        let used: usize = own.map(|allocation| allocation.size_bytes).sum();
        let fits = used.checked_add(size_bytes).is_some_and(|used| used <= device::memory_bytes());
        if self.failures.count("allocation") || !fits {
            return Err(codes::OUT_OF_MEMORY);
        }
        let next = self.next_address.entry(device).or_insert(FIRST_ADDRESS + device as u64 * ADDRESSES);
        let address = *next;
        *next += (size_bytes as u64 + 1).next_multiple_of(ALIGNMENT);
        let mut words = Vec::new();
        words.try_reserve_exact(size_bytes / 8 + 1).map_err(|_| codes::OUT_OF_MEMORY)?;
        words.resize(size_bytes / 8 + 1, u64::from_ne_bytes([POISON; 8]));
        self.allocations
            .insert(address, Allocation { device, size_bytes, is_freed: false, accesses: Accesses::default(), words });
        Ok(address)
    }

    /// Checks that memory may be freed, and whose it is.
    fn check_free(&mut self, address: u64, device: usize) {
        match self.allocations.get(&address) {
            None => violation(&format!("{address:#x} is freed, where no allocation begins")),
            Some(allocation) if allocation.is_freed => violation(&format!("{address:#x} is freed twice")),
            Some(allocation) if allocation.device != device => violation("memory of another device is freed"),
            Some(_) => {}
        }
        for stream in self.streams.values() {
            if stream.uses(address, &self.allocations) {
                violation(&format!("{address:#x} is freed while work on it is queued"));
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, size_bytes: usize) -> Code {
    let device = context::current("cuMemAlloc");
    code(lock().allocate(device, size_bytes).map(|found| *address = found))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(address: *mut u64, size_bytes: usize, stream: *mut c_void) -> Code {
    let device = context::current("cuMemAllocAsync");
    if !device::has_pools(device) {
        violation("the device has no pools of memory");
    }
    let mut state = lock();
    let found = match state.allocate(device, size_bytes) {
        Ok(found) => found,
        Err(refused) => return refused,
    };
    *address = found;
    code(enqueue(&mut state, device, stream as usize, Op::Allocate(found)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFree_v2(address: u64) -> Code {
    let device = context::current("cuMemFree");
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    state.check_free(address, device);
    state.allocations.remove(&address);
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFreeAsync(address: u64, stream: *mut c_void) -> Code {
    let device = context::current("cuMemFreeAsync");
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    // Work on other streams may come later only if it waits for this one, which nothing here does.
    state.check_free(address, device);
    state.allocations.get_mut(&address).into_iter().for_each(|allocation| allocation.is_freed = true);
    code(enqueue(&mut state, device, stream as usize, Op::Free(address)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    let device = context::current("cuMemGetInfo");
    let state = lock();
    let own = state.allocations.values().filter(|allocation| allocation.device == device);
    *total = device::memory_bytes();
    *free = *total - own.map(|allocation| allocation.size_bytes).sum::<usize>();
    code(state.check(device))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetDefaultMemPool(pool: *mut *mut c_void, device: c_int) -> Code {
    if !device::has_pools(device as usize) {
        return codes::INVALID_VALUE;
    }
    *pool = (0x9001_0000 + 16 * device as usize) as *mut c_void;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAttribute(_pool: *mut c_void, attribute: c_int, _value: *mut c_void) -> Code {
    if attribute == 4 { codes::SUCCESS } else { codes::INVALID_VALUE }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolTrimTo(_pool: *mut c_void, _size_bytes: usize) -> Code {
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(pointer: *mut *mut c_void, size_bytes: usize, _flags: c_uint) -> Code {
    let device = context::current("cuMemHostAlloc");
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    if state.failures.count("pinned") {
        return codes::OUT_OF_MEMORY;
    }
    let Ok(layout) = Layout::from_size_align(size_bytes.max(1), 4096) else { return codes::INVALID_VALUE };
    let bytes = std::alloc::alloc(layout);
    if bytes.is_null() {
        return codes::OUT_OF_MEMORY;
    }
    bytes.write_bytes(POISON, size_bytes);
    state.pinned.insert(bytes as usize, Pinned { size_bytes, layout });
    *pointer = bytes.cast();
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> Code {
    let device = context::current("cuMemFreeHost");
    let mut state = lock();
    let address = pointer as usize;
    if state.streams.values().any(|stream| stream.uses_host(address, state.pinned.get(&address))) {
        violation("pinned memory is freed while a copy of it is queued");
    }
    match state.pinned.remove(&address) {
        Some(pinned) => std::alloc::dealloc(pointer.cast(), pinned.layout),
        None => violation("memory is freed that is not pinned"),
    }
    code(state.check(device))
}

/// For tests: the bytes of all allocations on a device.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_allocated_bytes(device: usize) -> usize {
    let state = lock();
    state.allocations.values().filter(|found| found.device == device).map(|found| found.size_bytes).sum()
}

/// For tests: launches stay queued until this is called again with `false`; what comes behind them does, too.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_hold(is_held: bool) {
    lock().is_held = is_held;
    CHANGED.notify_all();
}

/// For tests: returns when nothing is queued.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_wait() {
    let mut state = lock();
    while state.is_executing || state.streams.values().any(|stream| !stream.is_idle()) {
        CHANGED.notify_all();
        state.wait();
    }
}
