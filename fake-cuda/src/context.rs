//! The contexts of threads: each device has one, its primary context.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;

use crate::codes::{self, Code};
use crate::state::lock;
use crate::{code, device, violation};

/// Handles of contexts, for each device.
const FIRST: usize = 0xc0_0010;

thread_local! {
    /// Never dropped: destructors of other values of the thread may call the driver after those of this library ran.
    static STACK: RefCell<ManuallyDrop<Vec<usize>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    /// Whether the thread runs a function of the host in a stream, where nothing of the driver may be called.
    static IS_IN_STREAM: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The device of a context.
pub(crate) fn device_of(context: usize) -> usize {
    match context.checked_sub(FIRST).map(|distance| distance / 16) {
        Some(device) if device < device::count() => device,
        _ => violation(&format!("{context:#x} is no context")),
    }
}

/// The device of the current context of the thread.
pub(crate) fn current(function: &str) -> usize {
    if IS_IN_STREAM.get() {
        violation(&format!("{function} is called by a function of the host in a stream"));
    }
    match STACK.with_borrow(|stack| stack.last().copied()) {
        Some(context) => device_of(context),
        None => violation(&format!("{function} is called without a current context")),
    }
}

/// Runs a function of the host in a stream.
pub(crate) fn in_stream(function: impl FnOnce()) {
    IS_IN_STREAM.set(true);
    function();
    IS_IN_STREAM.set(false);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, ordinal: c_int) -> Code {
    if !lock().is_initialised {
        return codes::NOT_INITIALIZED;
    }
    match usize::try_from(ordinal).ok().filter(|device| *device < device::count()) {
        Some(device) => {
            *context = (FIRST + 16 * device) as *mut c_void;
            codes::SUCCESS
        }
        None => codes::INVALID_DEVICE,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPushCurrent_v2(context: *mut c_void) -> Code {
    let device = device_of(context as usize);
    STACK.with_borrow_mut(|stack| stack.push(context as usize));
    code(lock().check(device).or(Ok(())))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut *mut c_void) -> Code {
    match STACK.with_borrow_mut(|stack| stack.pop()) {
        Some(popped) => {
            if !context.is_null() {
                *context = popped as *mut c_void;
            }
            codes::SUCCESS
        }
        None => violation("no context is current that could be popped"),
    }
}
