//! The thread that does the work of all streams: one entry after the other, of a random stream.
//!
//! Only this thread accesses memory of devices, so programs that do not wait are wrong, but cause no data races.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use crate::codes::{self, Code};
use crate::context;
use crate::launch::Launch;
use crate::state::{CHANGED, Locked, State, lock, number};
use crate::stream::{Op, Stream};
use crate::violation;

/// Queues work. The first call starts the thread.
pub(crate) fn enqueue(state: &mut State, device: usize, stream: usize, op: Op) -> Result<(), Code> {
    state.check(device)?;
    let seen = state.seen.clone();
    let queue = state.stream(stream);
    if queue.device != device {
        violation("work is queued on the stream of another device than that of the current context");
    }
    queue.push(op, seen);
    if !std::mem::replace(&mut state.is_executing, true) {
        std::thread::spawn(execute);
    }
    CHANGED.notify_all();
    Ok(())
}

fn execute() {
    let mut seed = number("FAKE_CUDA_SEED", 1);
    let mut state = lock();
    loop {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let runnable: Vec<usize> =
            state.streams.iter().filter(|(_, stream)| is_runnable(&state, stream)).map(|(handle, _)| *handle).collect();
        match runnable.get((seed >> 33) as usize % runnable.len().max(1)) {
            Some(&stream) => state = step(state, stream, seed),
            None => {
                // Threads that ask whether the driver is idle.
                state.is_executing = !state.streams.values().all(Stream::is_idle);
                if !state.is_executing {
                    CHANGED.notify_all();
                    return;
                }
                state.wait();
            }
        }
    }
}

fn is_runnable(state: &State, stream: &Stream) -> bool {
    match stream.queue.front().map(|work| &work.op) {
        Some(Op::Wait(mark)) => mark.get().is_some(),
        Some(Op::Launch(_)) => !state.is_held,
        Some(_) => true,
        None => false,
    }
}

/// What is done without the lock.
enum Outside {
    Nothing,
    Launch(Arc<Launch>, ptx_interpreter::Global),
    Host(unsafe extern "C" fn(*mut c_void), usize),
}

/// Does the first entry of a stream.
fn step(mut state: Locked, handle: usize, seed: u64) -> Locked {
    let device = state.stream(handle).device;
    let outside = if state.check(device).is_err() { Outside::Nothing } else { begin(&mut state, handle) };
    let mut lost = None;
    match outside {
        Outside::Nothing => {}
        Outside::Launch(launch, global) => {
            drop(state);
            lost = launch.run(&global, seed).err();
            state = lock();
            for (address, is_read, is_written) in global.accessed() {
                for is_written in [false, true].into_iter().filter(|write| if *write { is_written } else { is_read }) {
                    state.access(handle, address, is_written, "a launch");
                }
            }
        }
        Outside::Host(function, data) => {
            drop(state);
            context::in_stream(|| unsafe { function(data as *mut c_void) });
            state = lock();
        }
    }
    if let Some(reason) = lost {
        eprintln!("fake CUDA driver: {reason}");
        state.lost.insert(device, codes::ILLEGAL_ADDRESS);
    }
    state.stream(handle).queue.pop_front();
    CHANGED.notify_all();
    state
}

/// Does what needs the lock.
fn begin(state: &mut State, handle: usize) -> Outside {
    state.stream(handle).begin(handle);
    match state.stream(handle).queue.front().map(|work| &work.op) {
        Some(&Op::ToHost { from, to, size_bytes }) => {
            state.access(handle, from, false, "a copy");
            let from = place(state, from, size_bytes);
            unsafe { std::ptr::copy_nonoverlapping(from, to as *mut u8, size_bytes) };
        }
        Some(&Op::ToDevice { from, to, size_bytes }) => {
            state.access(handle, to, true, "a copy");
            let to = place(state, to, size_bytes);
            unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to, size_bytes) };
        }
        Some(&Op::OnDevice { from, to, size_bytes }) => {
            state.access(handle, from, false, "a copy");
            state.access(handle, to, true, "a copy");
            let (from, to) = (place(state, from, size_bytes), place(state, to, size_bytes));
            unsafe { std::ptr::copy(from, to, size_bytes) };
        }
        Some(&Op::Fill { to, value, size_bytes }) => {
            state.access(handle, to, true, "a fill");
            let to = place(state, to, size_bytes);
            unsafe { to.write_bytes(value, size_bytes) };
        }
        Some(Op::Launch(launch)) => {
            let launch = Arc::clone(launch);
            let device = state.stream(handle).device;
            return Outside::Launch(launch, state.global(device));
        }
        Some(&Op::Host { function, data }) => return Outside::Host(function, data),
        Some(&Op::Allocate(address)) => state.access(handle, address, true, "an allocation"),
        Some(&Op::Free(address)) => {
            state.access(handle, address, true, "freeing");
            state.allocations.remove(&address);
        }
        Some(Op::Record(mark)) => {
            let mark = Arc::clone(mark);
            let _ = mark.set((Instant::now(), state.stream(handle).clock.clone()));
        }
        Some(Op::Wait(_)) | None => {}
    }
    Outside::Nothing
}

fn place(state: &mut State, address: u64, size_bytes: usize) -> *mut u8 {
    let (start, allocation) = state.containing(address, size_bytes, "queued work");
    allocation.bytes().wrapping_add((address - start) as usize)
}
