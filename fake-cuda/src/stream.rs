//! Streams: queues of work that is done in order.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use crate::codes::{self, Code};
use crate::executor::enqueue;
use crate::launch::Launch;
use crate::memory::{Allocation, Pinned};
use crate::state::lock;
use crate::{code, context, violation};

/// Work on a stream.
pub(crate) enum Op {
    ToHost {
        from: u64,
        to: usize,
        size_bytes: usize,
    },
    ToDevice {
        from: usize,
        to: u64,
        size_bytes: usize,
    },
    OnDevice {
        from: u64,
        to: u64,
        size_bytes: usize,
    },
    Fill {
        to: u64,
        value: u8,
        size_bytes: usize,
    },
    Launch(Arc<Launch>),
    Host {
        function: unsafe extern "C" fn(*mut c_void),
        data: usize,
    },
    Free(u64),
    /// An event has passed, for the time that it was recorded with this number.
    Record {
        event: usize,
        number: u64,
    },
    Wait {
        event: usize,
        number: u64,
    },
}

pub(crate) struct Stream {
    pub(crate) device: usize,
    /// The first entry is being done, or will be next.
    pub(crate) queue: VecDeque<Op>,
}

impl Op {
    /// Addresses of devices that it accesses.
    fn addresses(&self) -> Vec<u64> {
        match self {
            Op::ToHost { from, .. } => vec![*from],
            Op::ToDevice { to, .. } | Op::Fill { to, .. } => vec![*to],
            Op::OnDevice { from, to, .. } => vec![*from, *to],
            Op::Launch(launch) => launch.words().collect(),
            Op::Host { .. } | Op::Free(_) | Op::Record { .. } | Op::Wait { .. } => Vec::new(),
        }
    }

    fn host_address(&self) -> Option<usize> {
        match self {
            Op::ToHost { to, .. } => Some(*to),
            Op::ToDevice { from, .. } => Some(*from),
            _ => None,
        }
    }
}

impl Stream {
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether queued work accesses an allocation.
    pub(crate) fn uses(&self, start: u64, allocations: &BTreeMap<u64, Allocation>) -> bool {
        let end = start + allocations.get(&start).map_or(0, |allocation| allocation.size_bytes as u64);
        self.queue.iter().any(|op| op.addresses().iter().any(|address| (start..end).contains(address)))
    }

    /// Whether a queued copy accesses pinned memory.
    pub(crate) fn uses_host(&self, start: usize, pinned: Option<&Pinned>) -> bool {
        let end = start + pinned.map_or(0, |pinned| pinned.size_bytes);
        self.queue.iter().any(|op| op.host_address().is_some_and(|address| (start..end).contains(&address)))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint) -> Code {
    let device = context::current("cuStreamCreate");
    if flags != 1 {
        violation("a stream that waits for the default stream");
    }
    let mut state = lock();
    if let Err(lost) = state.check(device) {
        return lost;
    }
    let handle = state.new_handle();
    state.streams.insert(handle, Stream { device, queue: VecDeque::new() });
    *stream = handle as *mut c_void;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamSynchronize(stream: *mut c_void) -> Code {
    let device = context::current("cuStreamSynchronize");
    let mut state = lock();
    while state.check(device).is_ok() && !state.stream(stream as usize).is_idle() {
        state.wait();
    }
    code(state.check(device))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _flags: c_uint) -> Code {
    let device = context::current("cuStreamWaitEvent");
    let mut state = lock();
    let number = state.event(event as usize).recorded;
    code(enqueue(&mut state, device, stream as usize, Op::Wait { event: event as usize, number }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchHostFunc(
    stream: *mut c_void,
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) -> Code {
    let device = context::current("cuLaunchHostFunc");
    let mut state = lock();
    if state.failures.count("host-function") {
        return codes::INVALID_VALUE;
    }
    code(enqueue(&mut state, device, stream as usize, Op::Host { function, data: data as usize }))
}
