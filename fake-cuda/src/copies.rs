//! Copies, which are queued.

use std::ffi::{c_uchar, c_void};

use crate::codes::{self, Code};
use crate::executor::enqueue;
use crate::state::{State, lock};
use crate::stream::Op;
use crate::{code, context, violation};

/// Queues a copy, unless it is to fail.
fn queue(state: &mut State, device: usize, stream: *mut c_void, op: Op) -> Code {
    if state.failures.count("copy") {
        return codes::LAUNCH_OUT_OF_RESOURCES;
    }
    code(enqueue(state, device, stream as usize, op))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const c_void,
    size_bytes: usize,
    stream: *mut c_void,
) -> Code {
    let device = context::current("cuMemcpyHtoDAsync");
    let mut state = lock();
    state.check_pinned(from as usize, size_bytes);
    state.containing(to, size_bytes, "a copy to the device");
    queue(&mut state, device, stream, Op::ToDevice { from: from as usize, to, size_bytes })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: u64,
    size_bytes: usize,
    stream: *mut c_void,
) -> Code {
    let device = context::current("cuMemcpyDtoHAsync");
    let mut state = lock();
    state.check_pinned(to as usize, size_bytes);
    state.containing(from, size_bytes, "a copy to the host");
    queue(&mut state, device, stream, Op::ToHost { from, to: to as usize, size_bytes })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, size_bytes: usize, stream: *mut c_void) -> Code {
    let device = context::current("cuMemcpyDtoDAsync");
    let mut state = lock();
    let devices = [to, from].map(|address| state.containing(address, size_bytes, "a copy on the device").1.device);
    if devices[0] != devices[1] {
        violation("a copy between devices that is none of peers");
    }
    queue(&mut state, device, stream, Op::OnDevice { from, to, size_bytes })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    to_context: *mut c_void,
    from: u64,
    from_context: *mut c_void,
    size_bytes: usize,
    stream: *mut c_void,
) -> Code {
    let device = context::current("cuMemcpyPeerAsync");
    let mut state = lock();
    for (address, context) in [(to, to_context), (from, from_context)] {
        let (_, allocation) = state.containing(address, size_bytes, "a copy between devices");
        if allocation.device != context::device_of(context as usize) {
            violation("memory is not on the device of its context");
        }
    }
    queue(&mut state, device, stream, Op::OnDevice { from, to, size_bytes })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD8Async(to: u64, value: c_uchar, size_bytes: usize, stream: *mut c_void) -> Code {
    let device = context::current("cuMemsetD8Async");
    let mut state = lock();
    state.containing(to, size_bytes, "a fill");
    code(enqueue(&mut state, device, stream as usize, Op::Fill { to, value, size_bytes }))
}
