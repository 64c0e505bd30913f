//! Machine code of one kernel: an object file, and its function in memory. Loading and running it needs no LLVM.

use std::ops::Range;
use std::ptr;

use super::violation::{self, Violation};
use super::{LoadedObject, stack};
use crate::Error;
use crate::backend::{Executable, RawArgument};
use crate::cancel::Poll;

/// Machine code of one kernel.
#[derive(Debug)]
pub struct MachineCode {
    object: Box<[u8]>,
    pub(in crate::backend) loaded: LoadedObject,
}

impl MachineCode {
    /// Loads code that [`MachineCode::object`] returned, perhaps in another process. Needs no LLVM.
    ///
    /// # Errors
    ///
    /// `Compile` if the bytes are not an object file of a kernel.
    ///
    /// # Safety
    ///
    /// The bytes must come from [`MachineCode::object`], for a processor whose features this one has, too.
    pub unsafe fn load(object: &[u8]) -> Result<Self, Error> {
        Self::from_object(object.into())
    }

    pub(in crate::backend) fn from_object(object: Box<[u8]>) -> Result<Self, Error> {
        let loaded = LoadedObject::load(&object)?;
        Ok(MachineCode { object, loaded })
    }

    /// The object file.
    #[must_use]
    pub fn object(&self) -> &[u8] {
        &self.object
    }
}

/// The function of a kernel: the range of lanes, the arguments, scratch memory, and the state that its loops poll.
type Function = unsafe extern "C" fn(u64, u64, *const RawArgument, *mut u8, *const Poll<'_>);

impl MachineCode {
    fn function(&self) -> Function {
        // SAFETY: the entry of a loaded object has this signature.
        unsafe { std::mem::transmute::<usize, Function>(self.loaded.entry()) }
    }

    /// As [`Executable::run_polled`], for code that needs scratch memory or a large stack. Returns the violation found
    /// by code that verifies its accesses.
    ///
    /// # Safety
    ///
    /// As [`Executable::run`].
    // Most code needs no scratch memory, and should not pay for code that does.
    #[inline(never)]
    pub(in crate::backend) unsafe fn run_verified(
        &self,
        lanes: Range<u64>,
        arguments: &[RawArgument],
        poll: Poll<'_>,
    ) -> Option<Violation> {
        let mut violation = None;
        // SAFETY: the caller guarantees the conditions of this function.
        let run = || violation = unsafe { self.run_with_scratch(lanes, arguments, poll) };
        match self.loaded.frame_bytes() {
            0 => run(),
            frame_bytes => stack::with(frame_bytes, run),
        }
        violation
    }

    /// As [`MachineCode::run_verified`], on this thread's stack.
    unsafe fn run_with_scratch(
        &self,
        lanes: Range<u64>,
        arguments: &[RawArgument],
        poll: Poll<'_>,
    ) -> Option<Violation> {
        let mut violation = None;
        crate::backend::scratch::with(self.loaded.scratch_bytes(), |scratch| {
            let record = self.loaded.record_offset().map(|offset| scratch.wrapping_add(offset));
            // SAFETY: the caller guarantees the conditions of `Executable::run`. The scratch memory has the required
            // size, which includes a record in code that writes one.
            unsafe {
                record.inspect(|&record| violation::clear(record));
                self.function()(lanes.start, lanes.end, arguments.as_ptr(), scratch, &raw const poll);
                violation = record.and_then(|record| Violation::read(record));
            }
        });
        violation
    }
}

impl Executable for MachineCode {
    unsafe fn run_polled(&self, lanes: Range<u64>, arguments: &[RawArgument], poll: Poll<'_>) {
        if self.loaded.is_plain() {
            let (arguments, poll) = (arguments.as_ptr(), &raw const poll);
            // SAFETY: the caller guarantees the conditions of this function.
            return unsafe { self.function()(lanes.start, lanes.end, arguments, ptr::null_mut(), poll) };
        }
        // SAFETY: as above.
        if let Some(violation) = unsafe { self.run_verified(lanes, arguments, poll) } {
            violation.abort();
        }
    }

    fn lanes_per_step(&self) -> usize {
        self.loaded.lanes_per_step()
    }

    fn code_bytes(&self) -> usize {
        self.loaded.size_bytes()
    }

    fn addresses(&self) -> Option<Range<usize>> {
        Some(self.loaded.addresses())
    }

    fn object(&self) -> Option<&[u8]> {
        Some(&self.object)
    }
}
