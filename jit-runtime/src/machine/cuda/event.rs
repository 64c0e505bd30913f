//! Events: points that a stream passes, for which threads of the host and other streams wait.

use std::ptr;

use cudarc::driver::sys::{self, CUevent_flags, CUresult};

use crate::backend::cuda::driver::{Failed, Gpu, check};

/// An event, which is destroyed on drop.
pub(super) struct Event {
    gpu: &'static Gpu,
    raw: sys::CUevent,
}

// SAFETY: the driver's functions may be called from all threads.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event; threads that wait for it sleep. The context must be current.
    pub(super) fn new(gpu: &'static Gpu, is_timed: bool) -> Result<Event, Failed> {
        let sleeping = CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        let untimed = if is_timed { 0 } else { CUevent_flags::CU_EVENT_DISABLE_TIMING as u32 };
        let mut raw = ptr::null_mut();
        // SAFETY: the context is current, and the target valid.
        check("cuEventCreate", unsafe { sys::cuEventCreate(&raw mut raw, sleeping | untimed) })?;
        Ok(Event { gpu, raw })
    }

    /// Marks the end of what is queued on a stream of the device. The context must be current.
    pub(super) fn record(&self, stream: sys::CUstream) -> Result<(), Failed> {
        // SAFETY: event and stream exist, in this context.
        check("cuEventRecord", unsafe { sys::cuEventRecord(self.raw, stream) })
    }

    /// Lets a stream wait until this event, which was recorded, is passed. The context must be current.
    pub(super) fn let_wait(&self, stream: sys::CUstream) -> Result<(), Failed> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT as u32;
        // SAFETY: event and stream exist.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(stream, self.raw, flags) })
    }

    /// Returns when the stream has passed it. The context must be current.
    pub(super) fn wait(&self) -> Result<(), Failed> {
        /// Short work is done before a thread would sleep.
        const LOOKS: usize = 20;
        for _ in 0..LOOKS {
            // SAFETY: the event exists, in this context.
            match unsafe { sys::cuEventQuery(self.raw) } {
                CUresult::CUDA_ERROR_NOT_READY => std::hint::spin_loop(),
                code => return check("cuEventQuery", code),
            }
        }
        // SAFETY: as above.
        check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.raw) })
    }

    /// The nanoseconds since another event, both with times. The context must be current.
    pub(super) fn since_ns(&self, start: &Event) -> Result<u64, Failed> {
        let mut milliseconds = 0.0;
        // SAFETY: both events exist, in this context, and the target is valid.
        let code = unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, start.raw, self.raw) };
        check("cuEventElapsedTime", code)?;
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.gpu.is_of_this_process()
            && let Ok(_context) = self.gpu.enter()
        {
            // SAFETY: the event was made once. The driver destroys it when the stream has passed it.
            unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}

/// Makes a stream. It does not wait for the default stream of other libraries. The context must be current.
pub(super) fn new_stream() -> Result<sys::CUstream, Failed> {
    let mut raw = ptr::null_mut();
    // SAFETY: the context is current, and the target valid.
    let code = unsafe { sys::cuStreamCreate(&raw mut raw, sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32) };
    check("cuStreamCreate", code)?;
    Ok(raw)
}
