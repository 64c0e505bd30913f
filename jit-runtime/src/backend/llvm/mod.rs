//! The LLVM backend: kernel IR → machine code for the processor that the program runs on.
//!
//! | step | module |
//! |---|---|
//! | find and load libLLVM | `discover`, `library`, `symbols` |
//! | LLVM's description of the processor | `machine` |
//! | which values are uniform or consecutive | `analysis`, `hints` |
//! | the number of packets that a body processes | `interleave` |
//! | gathers of neighbouring elements | `rows` |
//! | indices that stay in range | `ranges`, by `bound` and `interval` |
//! | checks of that, in tests | `violation` |
//! | which loops poll for cancellation | `polls` |
//! | kernel IR → LLVM IR | `codegen`, by `emit` |
//! | LLVM IR → object file | `compiler` |
//! | scratch memory for running code | `scratch` |
//! | uses of LLVM when the process ends or forks | `usage` |
//!
//! Lanes are computed in packets, as many as a vector register has of 32 bits each. An object file depends only on the
//! kernel, the [`CodeOptions`] and [`target_identity`], and can be loaded without LLVM.

mod analysis;
mod bound;
mod codegen;
mod compiler;
#[cfg(not(feature = "llvm-static"))]
mod discover;
mod emit;
mod hints;
mod interleave;
mod interval;
mod library;
mod machine;
mod polls;
mod ranges;
mod rows;
mod scratch;
mod symbols;
mod usage;
mod violation;
mod within_rows;

#[cfg(test)]
pub(crate) mod tests;

use std::ops::Range;
use std::ptr;

pub use super::target::{Architecture, Target};
pub use library::Library;

use super::loader::LoadedObject;
use super::{CodeOptions, Effort, Executable, RawArgument};
use crate::cancel::Poll;
use crate::error::Error;
use crate::ir::Kernel;
use violation::Violation;

/// Incremented whenever the same kernel gets different code than before, so that stored object files are not mixed up.
pub const CODE_VERSION: u32 = 8;

/// Machine code of one kernel.
#[derive(Debug)]
pub struct LlvmExecutable {
    object: Box<[u8]>,
    loaded: LoadedObject,
}

/// Whether LLVM may be used. That ends when the process ends, or in a forked process where another thread used it.
pub(crate) fn is_open() -> bool {
    usage::is_open()
}

/// Compiles a kernel for this processor. The kernel must have been verified, and its transcendental functions expanded.
///
/// # Errors
///
/// `NoDevice` if no libLLVM is found, `Compile` if LLVM rejects the kernel.
pub fn compile(kernel: &Kernel, options: CodeOptions) -> Result<LlvmExecutable, Error> {
    let _inside = usage::enter()?;
    compile_for(kernel, options, Target::host()?)
}

/// Recompiles a kernel for which there is code with these options, with more effort. None if that would be the same
/// code.
///
/// # Errors
///
/// As [`compile`].
pub fn improve(kernel: &Kernel, options: CodeOptions) -> Result<Option<LlvmExecutable>, Error> {
    let _inside = usage::enter()?;
    let target = Target::host()?;
    let thorough = CodeOptions { effort: Effort::Thorough, ..options };
    let is_better =
        compiler::is_optimised(kernel, thorough, target) && !compiler::is_optimised(kernel, options, target);
    if is_better { compile_for(kernel, thorough, target).map(Some) } else { Ok(None) }
}

/// Compiles a kernel for a target that this processor can execute.
///
/// # Errors
///
/// As [`compile`].
pub fn compile_for(kernel: &Kernel, options: CodeOptions, target: &Target) -> Result<LlvmExecutable, Error> {
    let _inside = usage::enter()?;
    LlvmExecutable::from_object(compiler::object_file(kernel, options, target)?)
}

/// Returns the libLLVM that kernels are compiled with, loaded by the first call.
///
/// # Errors
///
/// `NoDevice` if none is found; the hint says how to get one.
pub fn available() -> Result<&'static Library, Error> {
    let _inside = usage::enter()?;
    Target::host()?;
    library::load()
}

/// Everything besides kernel and options that affects generated code, as text: for cache keys.
///
/// # Errors
///
/// `NoDevice` if no libLLVM is found.
pub fn target_identity() -> Result<String, Error> {
    let _inside = usage::enter()?;
    let (target, (major, minor, patch)) = (Target::host()?, library::load()?.version);
    let Target { architecture, cpu, features, lanes, .. } = target;
    let verified = if target.verifies_accesses { ", accesses verified" } else { "" };
    Ok(format!(
        "code {CODE_VERSION}, LLVM {major}.{minor}.{patch}, {architecture:?} {cpu} x{lanes} {features}{verified}"
    ))
}

/// The LLVM IR of a kernel as text, after the passes.
///
/// # Errors
///
/// As [`compile`].
pub fn dump_llvm(kernel: &Kernel, options: CodeOptions) -> Result<String, Error> {
    let _inside = usage::enter()?;
    compiler::llvm_text(kernel, options, Target::host()?)
}

/// The assembly of a kernel.
///
/// # Errors
///
/// As [`compile`].
pub fn dump_asm(kernel: &Kernel, options: CodeOptions) -> Result<String, Error> {
    let _inside = usage::enter()?;
    compiler::assembly(kernel, options, Target::host()?)
}

impl LlvmExecutable {
    /// Loads code that [`LlvmExecutable::object`] returned, perhaps in another process. Needs no LLVM.
    ///
    /// # Errors
    ///
    /// `Compile` if the bytes are not an object file of a kernel.
    ///
    /// # Safety
    ///
    /// The bytes must come from [`LlvmExecutable::object`], for a processor whose features this one has, too.
    pub unsafe fn load(object: &[u8]) -> Result<Self, Error> {
        Self::from_object(object.into())
    }

    fn from_object(object: Box<[u8]>) -> Result<Self, Error> {
        let loaded = LoadedObject::load(&object)?;
        Ok(LlvmExecutable { object, loaded })
    }

    /// The object file.
    #[must_use]
    pub fn object(&self) -> &[u8] {
        &self.object
    }
}

/// The function of a kernel: the range of lanes, the arguments, scratch memory, and the state that its loops poll.
type Function = unsafe extern "C" fn(u64, u64, *const RawArgument, *mut u8, *const Poll<'_>);

impl LlvmExecutable {
    fn function(&self) -> Function {
        // SAFETY: the entry of a loaded object has this signature.
        unsafe { std::mem::transmute::<usize, Function>(self.loaded.entry()) }
    }

    /// As [`Executable::run_polled`], for code that needs scratch memory. Returns the violation found by code that
    /// verifies its accesses.
    ///
    /// # Safety
    ///
    /// As [`Executable::run`].
    // Most code needs no scratch memory, and should not pay for code that does.
    #[inline(never)]
    unsafe fn run_verified(&self, lanes: Range<u64>, arguments: &[RawArgument], poll: Poll<'_>) -> Option<Violation> {
        let mut violation = None;
        scratch::with(self.loaded.scratch_bytes(), |scratch| {
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

impl Executable for LlvmExecutable {
    unsafe fn run_polled(&self, lanes: Range<u64>, arguments: &[RawArgument], poll: Poll<'_>) {
        if self.loaded.scratch_bytes() == 0 {
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
}
