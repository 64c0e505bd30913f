//! Backends: compile kernel IR to code that runs over a range of lanes.
//!
//! Each backend is one folder. Code outside this module does not distinguish between backends; differences are queried
//! through [`Executable`].

mod choose;
pub mod cuda;
#[cfg(loads_code)]
mod host;
pub mod interpreter;
mod levels;
pub mod library;
#[cfg(all(feature = "llvm", target_os = "linux"))]
pub mod llvm;
#[cfg(loads_code)]
mod loader;
mod multiples;
mod neighbours;
#[cfg(any(test, feature = "random"))]
mod random;
pub(crate) mod scratch;
#[cfg(loads_code)]
mod target;

use std::ops::Range;

pub use crate::config::Effort;
#[cfg(all(feature = "llvm", target_os = "linux"))]
use choose::check;

pub(crate) use choose::recompile;
pub(crate) use choose::render;
pub use choose::{CodeInfo, code_info, compile, gpus, improve, llvm_version};
#[cfg(loads_code)]
pub(crate) use choose::{
    compile_routine, disassemble, disassemble_for_host, gpu_maker, is_code_stored, is_llvm_loaded, load_gpu_code,
    object_for,
};
#[cfg(loads_code)]
pub use loader::MachineCode;
#[cfg(loads_code)]
pub use target::{Architecture, Target};

use crate::cancel::Poll;
use crate::memory;

/// A digest of the sources that determine the code of a kernel, made when this crate is built: for cache keys.
pub const CODE_DIGEST: &str = env!("JIT_CODE_DIGEST");

/// Properties of a kernel's code that are not part of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CodeOptions {
    /// Whether results bypass the cache (non-temporal stores): for arrays that would not fit into it.
    pub streaming_stores: bool,
    /// How reducing scatters update their targets.
    pub scatters: Scatters,
    /// The time that code generation may take.
    pub effort: Effort,
}

/// How the buffers that a kernel only combines into ([`Kernel::combined_buffers`](crate::ir::Kernel::combined_buffers))
/// are updated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Scatters {
    /// By atomic operations: all threads share one target.
    #[default]
    Shared,
    /// By plain operations: no two concurrent runs share a target.
    ///
    /// Each element of the target is a group of `1 << copies_log2` neighbours in memory that are combined at the end.
    /// Neighbouring lanes use different ones, so that they need not wait for one another if their indices are equal. If
    /// there are neighbours, one more group behind the last one may be written, too.
    Private {
        /// The logarithm of the size of the groups; the argument's length counts groups.
        copies_log2: u8,
    },
}

impl Scatters {
    /// The logarithm of the number of neighbours in memory that represent one element.
    #[must_use]
    pub const fn copies_log2(self) -> u8 {
        match self {
            Scatters::Shared => 0,
            Scatters::Private { copies_log2 } => copies_log2,
        }
    }
}

/// A list of equal elements. If there is no memory for it, the run of the kernel ends by unwinding with the [`Error`]
/// as payload. Code that runs kernels catches it, as it catches panics, and converts it to the failure of the launch.
pub(crate) fn filled<T: Clone>(len: usize, value: T) -> Vec<T> {
    // Not a panic: no message should be printed.
    memory::filled_list(len, value).unwrap_or_else(|error| std::panic::resume_unwind(Box::new(error)))
}

/// One entry of the argument table of a launch; its layout is part of the calling convention of generated code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct RawArgument {
    /// The address of a buffer's first element, or the bits of a scalar.
    pub word: u64,
    /// The number of elements in the buffer; 0 for a scalar.
    pub length: u64,
}

/// Code of one kernel, ready to run on the host, or on the GPU that it was made for.
pub trait Executable: Send + Sync {
    /// Runs the lanes of a range.
    ///
    /// A kernel with reductions is run on one chunk at a time, of at most [`crate::ir::MAX_REDUCE_CHUNK`] lanes. Its
    /// first lane may be any; lanes are counted from there. The result of the chunk overwrites element 0 of each
    /// `Reduce` argument.
    ///
    /// # Safety
    ///
    /// The kernel must be valid ([`crate::ir::verify()`]), and the arguments must match its parameters. Buffers must
    /// begin at multiples of 64 bytes, and 64 bytes past their end must be readable. Those that are loaded or stored
    /// must reach to the end of the range, and all must have as many elements as the argument states. During the run,
    /// no other code may write buffers that the kernel reads, or access those that it writes, except runs of the same
    /// launch on other ranges. With [`Scatters::Private`], not even those may access the buffers that are only combined
    /// into.
    unsafe fn run(&self, lanes: Range<u64>, arguments: &[RawArgument]) {
        // SAFETY: the caller's promise.
        unsafe { self.run_polled(lanes, arguments, Poll::NEVER) };
    }

    /// As [`Executable::run`], until the run is cancelled: the results are then those of none, some or all lanes.
    ///
    /// # Safety
    ///
    /// As [`Executable::run`].
    unsafe fn run_polled(&self, lanes: Range<u64>, arguments: &[RawArgument], poll: Poll<'_>);

    /// The number of lanes that are computed together; ranges that start at a multiple of it run fastest.
    fn lanes_per_step(&self) -> usize;

    /// The bytes of generated code; 0 if none was generated.
    fn code_bytes(&self) -> usize;

    /// The code for a GPU, which the host cannot run.
    #[cfg(feature = "cuda")]
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only this crate has such code")]
    fn gpu_code(&self) -> Option<&cuda::code::Code> {
        None
    }

    /// The addresses of the code; none if the host does not run any.
    fn addresses(&self) -> Option<Range<usize>> {
        None
    }

    /// The object file of the code, which another process can load; none if no code was generated.
    fn object(&self) -> Option<&[u8]> {
        None
    }
}
