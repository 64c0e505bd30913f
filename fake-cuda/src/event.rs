//! Events: points that streams pass.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use crate::codes::{self, Code};
use crate::executor::enqueue;
use crate::state::{State, lock};
use crate::stream::{Mark, Op};
use crate::{code, context, violation};

#[derive(Default)]
pub(crate) struct Event {
    /// Where it was recorded last.
    pub(crate) last: Option<Arc<Mark>>,
    has_time: bool,
}

impl Event {
    fn is_passed(&self) -> bool {
        self.last.as_ref().is_none_or(|mark| mark.get().is_some())
    }
}

impl State {
    /// The host sees that an event is passed, and with it all before.
    fn see(&mut self, event: usize) {
        if let Some((_, before)) = self.event(event).last.clone().as_deref().and_then(Mark::get) {
            self.seen.join(before);
        }
    }
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
    let mark = Arc::<Mark>::default();
    state.event(event as usize).last = Some(Arc::clone(&mark));
    code(enqueue(&mut state, device, stream as usize, Op::Record(mark)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventSynchronize(event: *mut c_void) -> Code {
    let device = context::current("cuEventSynchronize");
    let mut state = lock();
    while state.check(device).is_ok() && !state.event(event as usize).is_passed() {
        state.wait();
    }
    state.see(event as usize);
    code(state.check(device))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventQuery(event: *mut c_void) -> Code {
    let device = context::current("cuEventQuery");
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    if !state.event(event as usize).is_passed() {
        return codes::NOT_READY;
    }
    state.see(event as usize);
    codes::SUCCESS
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
        if !event.has_time || !event.is_passed() {
            violation("the time of an event that has none");
        }
        event.last.as_deref().and_then(Mark::get).map(|(time, _)| *time)
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
