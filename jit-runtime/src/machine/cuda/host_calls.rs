//! Library calls that the host makes for the device: operands are copied there, and results back.
//!
//! The copies and a function of the host are queued on the stream of the device, so the caller does not wait, and calls
//! are ordered like launches. The driver runs the function on a thread of its own, where no function of the driver may
//! be called.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cudarc::driver::sys;

use super::Cuda;
use super::library_calls::Work;
use super::pinned::Pinned;
use crate::backend::cuda::driver::check;
use crate::config::Device;
use crate::machine::Machine;
use crate::machine::host::Host;
use crate::machine::library::{self, Operand};
use crate::memory::Buffer;
use crate::sync::Mutex;
use crate::{Error, ErrorKind, stats};

/// An operand in pinned memory.
struct Copy {
    operand: Operand,
    memory: Pinned,
}

/// A call on copies of its operands.
struct HostCall {
    /// The call, without operands.
    launch: library::Launch,
    inputs: Vec<Copy>,
    outputs: Vec<Copy>,
    /// None until it was made.
    outcome: Mutex<Option<Result<(), Error>>>,
}

impl Copy {
    fn of(machine: &Cuda, operand: &Operand) -> Result<Copy, Error> {
        let memory = machine.pinned.allocate(operand.len * operand.ty.size_bytes())?;
        Ok(Copy { operand: operand.clone(), memory })
    }

    fn size_bytes(&self) -> usize {
        self.operand.len * self.operand.ty.size_bytes()
    }

    /// An operand in memory of the host, as functions of the host take them: with these contents if they are wanted.
    fn on_host(&self, is_input: bool) -> Result<Operand, Error> {
        // SAFETY: an input is written here, and calls write all of their outputs.
        let buffer = unsafe { Buffer::on_host(self.size_bytes(), Device::Interpreter)? };
        if is_input {
            // SAFETY: the copy from the device is done, and the buffer is not shared yet.
            unsafe { buffer.put(0, self.memory.bytes(self.size_bytes()))? };
        }
        Ok(Operand { buffer, ..self.operand.clone() })
    }
}

fn on_host(copies: &[Copy], is_input: bool) -> Result<Vec<Operand>, Error> {
    copies.iter().map(|copy| copy.on_host(is_input)).collect()
}

impl HostCall {
    fn make(&self) -> Result<(), Error> {
        let inputs = on_host(&self.inputs, true)?;
        let outputs = on_host(&self.outputs, false)?;
        let written = outputs.clone();
        Host.call(library::Launch { inputs, outputs, ..self.launch.clone() })?;
        for (copy, output) in self.outputs.iter().zip(&written) {
            let bytes = output.buffer.bytes()?;
            // SAFETY: the copy to the device has not begun, and nobody else has the memory.
            unsafe { copy.memory.put(0, &bytes[..copy.size_bytes()]) };
        }
        Ok(())
    }
}

/// Makes a call, on the driver's thread.
///
/// # Safety
///
/// The pointer must be that of a [`HostCall`] that lives until the function returns.
unsafe extern "C" fn make(call: *mut c_void) {
    // SAFETY: the caller's promise.
    let call = unsafe { &*call.cast::<HostCall>() };
    let outcome = catch_unwind(AssertUnwindSafe(|| stats::unobserved(|| call.make())));
    *call.outcome.lock() = Some(outcome.unwrap_or_else(|payload| Err(panicked(&*payload))));
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    Error::new(ErrorKind::Internal, text.unwrap_or("a panic without a message"))
}

/// Queues a call.
pub(super) fn call(machine: &Cuda, launch: library::Launch) -> Result<(), Error> {
    let copies = |operands: &[Operand]| -> Result<Vec<Copy>, Error> {
        operands.iter().map(|operand| Copy::of(machine, operand)).collect()
    };
    let of_call = |error: Error| error.of_memory_for(launch.call.name().into(), launch.site);
    let (inputs, outputs) = (copies(&launch.inputs).map_err(of_call)?, copies(&launch.outputs).map_err(of_call)?);
    let work = Work::of_call(&launch);
    let launch = library::Launch { inputs: Vec::new(), outputs: Vec::new(), ..launch };
    let call = Arc::new(HostCall { launch, inputs, outputs, outcome: Mutex::new(None) });
    let kept = Arc::clone(&call);
    let afterwards = Box::new(move || kept.outcome.lock().take().unwrap_or_else(|| Err(not_made())));
    work.submit(machine, afterwards, |stream| queue(machine, &call, stream))?;
    if machine.gpu.is_lost() {
        // The driver may still hold the pointer.
        std::mem::forget(call);
    }
    Ok(())
}

fn not_made() -> Error {
    Error::new(ErrorKind::Launch, "the driver has not made the call")
}

/// Queues the copies and the function. The context is current.
fn queue(machine: &Cuda, call: &Arc<HostCall>, stream: sys::CUstream) -> Result<(), Error> {
    let error = |failed| machine.gpu.error("a library call", failed);
    for copy in call.inputs.iter().filter(|copy| copy.size_bytes() > 0) {
        let (from, to) = (copy.operand.buffer.address(), copy.memory.as_ptr());
        // SAFETY: both are as long, and the call keeps them until it is done.
        let code = unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), from, copy.size_bytes(), stream) };
        check("cuMemcpyDtoHAsync", code).map_err(error)?;
    }
    let data = Arc::as_ptr(call).cast_mut().cast();
    // SAFETY: the flight keeps the call until it is done.
    check("cuLaunchHostFunc", unsafe { sys::cuLaunchHostFunc(stream, Some(make), data) }).map_err(error)?;
    for copy in call.outputs.iter().filter(|copy| copy.size_bytes() > 0) {
        let (from, to) = (copy.memory.as_ptr(), copy.operand.buffer.address());
        // SAFETY: as above.
        let code = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.cast(), copy.size_bytes(), stream) };
        check("cuMemcpyHtoDAsync", code).map_err(error)?;
    }
    Ok(())
}
