//! The LLVM backend: kernel IR → machine code for the processor that the program runs on.
//!
//! | step | module |
//! |---|---|
//! | find and load libLLVM | `discover`, `library`, `symbols` |
//! | LLVM's description of the processor | `machine` |
//! | which values are uniform or consecutive | `analysis`, `hints`, `patterns` |
//! | the number of lanes in a packet | `narrow`, `short_rows` |
//! | the number of packets that a body processes | `interleave`, `parallelism` |
//! | gathers of neighbouring elements | `rows` |
//! | gathers at indices that are near each other | `near`, by `bases`; from tables of bytes: `tables` |
//! | indices that stay in range | `ranges`, by `bound` and `interval` |
//! | checks of that, in tests | `codegen/verify` |
//! | which loops poll for cancellation | `polls` |
//! | kernel IR → LLVM IR | `codegen`, by `emit` |
//! | LLVM IR → object file | `compiler` |
//! | machine code → text | `disassemble` |
//! | uses of LLVM when the process ends or forks | `usage`, `destructors` |
//!
//! Lanes are computed in packets, as many as a vector register has of 32 bits each, more if all numbers are narrower,
//! or fewer if loops are over shorter rows. An object file depends only on the kernel, the [`CodeOptions`], the
//! [`Target`], LLVM's [`version`] and the sources of this crate ([`CODE_DIGEST`](super::CODE_DIGEST)), and can be
//! loaded without LLVM.

mod analysis;
mod bases;
mod bound;
mod codegen;
mod compiler;
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(feature = "llvm-static")))]
mod destructors;
mod disassemble;
#[cfg(not(feature = "llvm-static"))]
mod discover;
mod emit;
mod hints;
mod interleave;
mod interval;
mod library;
mod machine;
mod narrow;
mod near;
mod parallelism;
mod patterns;
mod polls;
mod ranges;
mod recompute;
mod records;
mod rows;
mod short_rows;
mod streams;
mod strides;
mod symbols;
mod tables;
mod usage;
mod within_rows;

#[cfg(test)]
pub(crate) mod tests;

pub use super::target::{Architecture, Target};
pub use library::Library;

use super::loader::MachineCode;
use super::{CodeOptions, Effort};
use crate::error::Error;
use crate::ir::Kernel;

/// Whether LLVM may be used. That ends when the process ends, or in a forked process where another thread used it.
pub(crate) fn is_open() -> bool {
    usage::is_open()
}

/// Whether the library has been loaded, or is linked into the program.
pub(crate) fn is_loaded() -> bool {
    library::is_loaded()
}

/// Compiles a kernel for this processor. The kernel must have been verified, and its transcendental functions expanded.
///
/// # Errors
///
/// `NoDevice` if no libLLVM is found, `Compile` if LLVM rejects the kernel.
pub fn compile(kernel: &Kernel, options: CodeOptions) -> Result<MachineCode, Error> {
    let _inside = usage::enter()?;
    compile_for(kernel, options, Target::host()?)
}

/// Recompiles a kernel for which there is code with these options, with more effort. None if that would be the same
/// code.
///
/// # Errors
///
/// As [`compile`].
pub fn improve(kernel: &Kernel, options: CodeOptions) -> Result<Option<MachineCode>, Error> {
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
pub fn compile_for(kernel: &Kernel, options: CodeOptions, target: &Target) -> Result<MachineCode, Error> {
    let _inside = usage::enter()?;
    MachineCode::from_object(compiler::object_file(kernel, options, target)?)
}

/// The object file of a kernel for a target, which this processor need not be able to execute.
///
/// # Errors
///
/// As [`compile`].
pub(crate) fn object_for(kernel: &Kernel, options: CodeOptions, target: &Target) -> Result<Box<[u8]>, Error> {
    let _inside = usage::enter()?;
    compiler::object_file(kernel, options, target)
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

/// The version of the libLLVM that kernels are compiled with, and its size, which distinguishes builds: for cache keys.
///
/// # Errors
///
/// `NoDevice` if no libLLVM is found.
pub fn version() -> Result<String, Error> {
    let _inside = usage::enter()?;
    Ok(library::load()?.identity())
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

/// The instructions of an object file as text.
///
/// # Errors
///
/// `NoDevice` if no libLLVM is found, `Compile` if these are not the bytes of an object file.
pub(crate) fn disassemble(object: &[u8], target: &Target) -> Result<String, Error> {
    let _inside = usage::enter()?;
    disassemble::object_file(object, target)
}
