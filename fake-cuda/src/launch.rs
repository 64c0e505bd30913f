//! Launches of kernels.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use std::time::Duration;

use ptx_interpreter::Global;

use crate::codes::{self, Code};
use crate::executor::enqueue;
use crate::module::{Module, function};
use crate::state::{State, lock, number};
use crate::stream::Op;
use crate::{code, context, violation};

/// The marks of the list of parameters as bytes.
const BUFFER: usize = 1;
const SIZE: usize = 2;

pub(crate) struct Launch {
    module: Arc<Module>,
    position: usize,
    blocks: u32,
    threads: u32,
    parameters: Vec<u8>,
    /// Whether it is to fail.
    is_bad: bool,
}

impl Launch {
    /// The parameters that may be addresses.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.parameters.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word))
    }

    pub(crate) fn is_of(&self, module: &Arc<Module>) -> bool {
        Arc::ptr_eq(&self.module, module)
    }

    pub(crate) fn run(&self, global: &Global, seed: u64) -> Result<(), String> {
        if self.is_bad {
            return Err("a launch fails on demand".to_owned());
        }
        let entry = &self.module.entries[self.position];
        let (blocks, threads, parameters) = (self.blocks, self.threads, &*self.parameters);
        ptx_interpreter::launch(&ptx_interpreter::Launch { entry, blocks, threads, parameters, global, seed })
    }
}

impl State {
    /// All memory of a device.
    pub(crate) fn global(&mut self, device: usize) -> Global {
        let mut global = Global::default();
        let live = self.allocations.iter_mut().filter(|(_, found)| found.device == device && !found.is_freed);
        for (&address, allocation) in live {
            let size_bytes = allocation.size_bytes as u64;
            unsafe { global.add_at(address, allocation.bytes(), size_bytes) };
        }
        global
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    handle: *mut c_void,
    blocks_x: c_uint,
    blocks_y: c_uint,
    blocks_z: c_uint,
    threads_x: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    _shared_bytes: c_uint,
    stream: *mut c_void,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    let device = context::current("cuLaunchKernel");
    if [blocks_y, blocks_z, threads_y, threads_z] != [1; 4] || !parameters.is_null() {
        violation("a launch in several dimensions, or with parameters one by one");
    }
    let wanted = match Wanted::of(handle as usize, blocks_x, threads_x, extra) {
        Ok(wanted) => wanted,
        Err(code) => return code,
    };
    if number("FAKE_CUDA_SLOW", 0) > 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut state = lock();
    if state.failures.count("launch") {
        return codes::LAUNCH_OUT_OF_RESOURCES;
    }
    code(wanted.enqueue(&mut state, device, stream as usize))
}

/// A launch that can be queued.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) module: Arc<Module>,
    pub(crate) position: usize,
    blocks: u32,
    threads: u32,
    parameters: Vec<u8>,
}

impl Wanted {
    /// Reads the description of a launch.
    pub(crate) unsafe fn of(
        handle: usize,
        blocks: u32,
        threads: u32,
        extra: *const *mut c_void,
    ) -> Result<Wanted, Code> {
        let Some((module, position)) = function(handle) else { violation("a launch of no function") };
        if blocks == 0 || threads == 0 || threads > 1024 || blocks > i32::MAX as u32 {
            return Err(codes::INVALID_VALUE);
        }
        let entry = &module.entries[position];
        if entry.threads.is_some_and(|needed| needed != threads) {
            return Err(codes::INVALID_VALUE);
        }
        if *extra as usize != BUFFER || *extra.add(2) as usize != SIZE || !(*extra.add(4)).is_null() {
            violation("the parameters of a launch are not given as bytes");
        }
        let size = *(*extra.add(3)).cast::<usize>();
        if size != entry.parameter_bytes {
            violation(&format!("{size} bytes of parameters where the kernel has {}", entry.parameter_bytes));
        }
        let parameters = std::slice::from_raw_parts((*extra.add(1)).cast::<u8>(), size).to_vec();
        Ok(Wanted { module, position, blocks, threads, parameters })
    }

    /// Queues it on a stream.
    pub(crate) fn enqueue(self, state: &mut State, device: usize, stream: usize) -> Result<(), Code> {
        let Wanted { module, position, blocks, threads, parameters } = self;
        if module.device != device {
            violation("a launch on another device than that of the module");
        }
        let is_bad = state.failures.count("lost");
        let launch = Launch { module, position, blocks, threads, parameters, is_bad };
        check_addresses(state, &launch);
        enqueue(state, device, stream, Op::Launch(Arc::new(launch)))
    }
}

/// Memory that was freed is not passed to a launch.
fn check_addresses(state: &State, launch: &Launch) {
    for word in launch.words() {
        if let Some(start) = state.start_of(word)
            && state.allocations[&start].is_freed
        {
            violation(&format!("a launch gets the address {word:#x}, which was freed"));
        }
    }
}
