//! Events: points that streams pass.

use std::ffi::{c_uint, c_void};
use std::time::Instant;

use crate::codes::{self, Code};
use crate::executor::enqueue;
use crate::state::lock;
use crate::stream::Op;
use crate::{code, context, violation};

#[derive(Default)]
pub(crate) struct Event {
    /// How often it was recorded.
    pub(crate) recorded: u64,
    /// The last time that a stream has passed.
    pub(crate) passed: u64,
    pub(crate) time: Option<Instant>,
    has_time: bool,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut *mut c_void, flags: c_uint) -> Code {
    let device = context::current("cuEventCreate");
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    if state.failures.count("event") {
        return codes::OUT_OF_MEMORY;
    }
    let handle = state.new_handle();
    state.events.insert(handle, Event { has_time: flags & 2 == 0, ..Event::default() });
    *event = handle as *mut c_void;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> Code {
    let device = context::current("cuEventRecord");
    let mut state = lock();
    let recorded = state.event(event as usize);
    recorded.recorded += 1;
    let number = recorded.recorded;
    code(enqueue(&mut state, device, stream as usize, Op::Record { event: event as usize, number }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventSynchronize(event: *mut c_void) -> Code {
    let device = context::current("cuEventSynchronize");
    let mut state = lock();
    let number = state.event(event as usize).recorded;
    while state.check(device).is_ok() && state.event(event as usize).passed < number {
        state.wait();
    }
    code(state.check(device))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventQuery(event: *mut c_void) -> Code {
    let device = context::current("cuEventQuery");
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    let event = state.event(event as usize);
    if event.passed == event.recorded { codes::SUCCESS } else { codes::NOT_READY }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, start: *mut c_void, end: *mut c_void) -> Code {
    let device = context::current("cuEventElapsedTime");
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    let mut time = |event: usize| {
        let event = state.event(event);
        if !event.has_time || event.passed != event.recorded {
            violation("the time of an event that has none");
        }
        event.time
    };
    let (Some(start), Some(end)) = (time(start as usize), time(end as usize)) else { return codes::INVALID_VALUE };
    *milliseconds = end.saturating_duration_since(start).as_secs_f32() * 1000.0;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventDestroy_v2(event: *mut c_void) -> Code {
    context::current("cuEventDestroy");
    let mut state = lock();
    match state.events.remove(&(event as usize)) {
        Some(_) => codes::SUCCESS,
        None => violation("an event is destroyed that does not exist"),
    }
}
