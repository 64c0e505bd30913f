//! Streams: queues of work that is done in order.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_uint, c_void};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::codes::{self, Code};
use crate::executor::enqueue;
use crate::launch::Launch;
use crate::memory::{Allocation, Pinned};
use crate::order::Clock;
use crate::state::lock;
use crate::{code, context, violation};

/// What a stream does.
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
    /// The memory may be used from then on.
    Allocate(u64),
    Free(u64),
    /// An event is passed.
    Record(Arc<Mark>),
    Wait(Arc<Mark>),
}

/// A point that a stream passes: when it has, and what was done until then.
pub(crate) type Mark = OnceLock<(Instant, Clock)>;

/// Work on a stream that is queued.
pub(crate) struct Work {
    pub(crate) op: Op,
    /// The number of the entry on its stream.
    number: u64,
    /// What the host had seen when it was queued.
    seen: Clock,
}

pub(crate) struct Stream {
    pub(crate) device: usize,
    /// The first entry is being done, or will be next.
    pub(crate) queue: VecDeque<Work>,
    /// The number of entries so far.
    queued: u64,
    /// What was done before the first entry, and its own number while it is being done.
    pub(crate) clock: Clock,
}

impl Op {
    /// Addresses of devices that it accesses.
    fn addresses(&self) -> Vec<u64> {
        match self {
            Op::ToHost { from, .. } => vec![*from],
            Op::ToDevice { to, .. } | Op::Fill { to, .. } => vec![*to],
            Op::OnDevice { from, to, .. } => vec![*from, *to],
            Op::Launch(launch) => launch.words().collect(),
            Op::Allocate(address) => vec![*address],
            Op::Host { .. } | Op::Free(_) | Op::Record(_) | Op::Wait(_) => Vec::new(),
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

    pub(crate) fn push(&mut self, op: Op, seen: Clock) {
        self.queued += 1;
        self.queue.push_back(Work { op, number: self.queued, seen });
    }

    /// The number of the first entry.
    pub(crate) fn number(&self) -> u64 {
        self.queue.front().map_or(self.queued, |entry| entry.number)
    }

    /// The first entry begins, on the stream with this handle.
    pub(crate) fn begin(&mut self, handle: usize) {
        let Some(Work { op, number, seen }) = self.queue.front() else { return };
        self.clock.join(seen);
        self.clock.pass(handle, *number);
        if let Op::Wait(mark) = op {
            mark.get().into_iter().for_each(|(_, before)| self.clock.join(before));
        }
    }

    /// Whether queued work accesses an allocation.
    pub(crate) fn uses(&self, start: u64, allocations: &BTreeMap<u64, Allocation>) -> bool {
        let end = start + allocations.get(&start).map_or(0, |allocation| allocation.size_bytes as u64);
        self.queue.iter().any(|Work { op, .. }| op.addresses().iter().any(|address| (start..end).contains(address)))
    }

    /// Whether a queued copy accesses pinned memory.
    pub(crate) fn uses_host(&self, start: usize, pinned: Option<&Pinned>) -> bool {
        let end = start + pinned.map_or(0, |pinned| pinned.size_bytes);
        self.queue
            .iter()
            .any(|Work { op, .. }| op.host_address().is_some_and(|address| (start..end).contains(&address)))
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
    state.streams.insert(handle, Stream { device, queue: VecDeque::new(), queued: 0, clock: Clock::default() });
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
    let done = state.stream(stream as usize).clock.clone();
    state.seen.join(&done);
    code(state.check(device))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _flags: c_uint) -> Code {
    let device = context::current("cuStreamWaitEvent");
    let mut state = lock();
    if state.failures.count("wait") {
        return codes::OUT_OF_MEMORY;
    }
    state.waits += 1;
    // There is nothing to wait for if it was not recorded.
    let outcome = match state.event(event as usize).last.clone() {
        Some(mark) => enqueue(&mut state, device, stream as usize, Op::Wait(mark)),
        None => state.check(device),
    };
    code(outcome)
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

/// For tests: the number of streams.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_streams() -> usize {
    lock().streams.len()
}

/// For tests: whether nothing is queued.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_is_idle() -> bool {
    lock().streams.values().all(Stream::is_idle)
}

/// For tests: how often a stream was to wait for an event.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_waits() -> usize {
    lock().waits
}
