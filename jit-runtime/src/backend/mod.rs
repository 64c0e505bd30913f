//! Backends: kernel IR → something that can run over a range of lanes.
//!
//! Each backend is one folder. Nothing outside this module matches on which backend it is; what differs is asked from
//! the [`Executable`].

mod choose;
pub mod interpreter;
#[cfg(all(feature = "llvm", target_os = "linux"))]
pub mod llvm;
#[cfg(all(feature = "llvm", target_os = "linux"))]
mod loader;
#[cfg(any(test, feature = "random"))]
mod random;
#[cfg(all(feature = "llvm", target_os = "linux"))]
mod target;

use std::ops::Range;

pub use crate::config::Effort;
#[cfg(all(feature = "llvm", target_os = "linux"))]
use choose::check;

pub(crate) use choose::render;
pub use choose::{Capabilities, capabilities, check_usable, compile, improve};

use crate::cancel::Poll;
use crate::memory;

/// What a kernel's code does that the kernel itself does not say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CodeOptions {
    /// Results bypass the cache (non-temporal stores): for arrays that would not stay in it.
    pub streaming_stores: bool,
    /// How reducing scatters update their targets.
    pub scatters: Scatters,
    /// How much time it may take to generate.
    pub effort: Effort,
}

/// How the buffers that a kernel only combines into ([`Kernel::combined_buffers`](crate::ir::Kernel::combined_buffers))
/// are updated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Scatters {
    /// By atomic operations: all threads share one target.
    #[default]
    Shared,
    /// By plain operations: no two runs that happen at the same time share a target.
    ///
    /// Each element of the target is a group of `1 << copies_log2` neighbours in memory that are combined in the end.
    /// Neighbouring lanes use different ones, so that they need not wait for one another where their indices are equal.
    /// Where there are neighbours, one more group behind the last one may be written, too.
    Private {
        /// Logarithm of the size of the groups; the argument's length counts groups.
        copies_log2: u8,
    },
}

impl Scatters {
    /// Logarithm of the neighbours in memory that represent one element.
    #[must_use]
    pub const fn copies_log2(self) -> u8 {
        match self {
            Scatters::Shared => 0,
            Scatters::Private { copies_log2 } => copies_log2,
        }
    }
}

/// A list of equal elements. Without memory for it the run of the kernel ends, by an unwinding that carries
/// the [`Error`]: whoever runs code catches it, as it catches panics, and makes it the failure of the launch.
pub(crate) fn filled<T: Clone>(len: usize, value: T) -> Vec<T> {
    // Not a panic: there is nothing to be said on the way.
    memory::filled_list(len, value).unwrap_or_else(|error| std::panic::resume_unwind(Box::new(error)))
}

/// One entry of the argument table of a launch; its layout is part of the calling convention of generated code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct RawArgument {
    /// The address of a buffer's first element, or the bits of a scalar.
    pub word: u64,
    /// Elements in the buffer; 0 for a scalar.
    pub length: u64,
}

/// Code of one kernel, ready to run on the host.
pub trait Executable: Send + Sync {
    /// Runs the lanes of a range.
    ///
    /// A kernel with reductions is run on one chunk of at most [`crate::ir::REDUCE_CHUNK`] lanes at a time. Its first
    /// lane may be any; lanes are counted from there. The result of the chunk overwrites element 0 of each `Reduce`
    /// argument.
    ///
    /// # Safety
    ///
    /// The kernel is valid ([`crate::ir::verify()`]); the arguments match its parameters; buffers begin at multiples of
    /// 64 bytes, and 64 bytes past their end can be read; those that are loaded or stored reach to the end of the
    /// range, and all have as many elements as the argument says; nobody writes what the kernel reads, or accesses what
    /// it writes, during the run, but for runs of the same launch on other ranges; with [`Scatters::Private`], not even
    /// those access the buffers that are only combined into.
    unsafe fn run(&self, lanes: Range<u64>, arguments: &[RawArgument]) {
        // SAFETY: the caller's promise.
        unsafe { self.run_polled(lanes, arguments, Poll::NEVER) };
    }

    /// As [`Executable::run`], until the run is cancelled: the results are those of none, some or all lanes then.
    ///
    /// # Safety
    ///
    /// As [`Executable::run`].
    unsafe fn run_polled(&self, lanes: Range<u64>, arguments: &[RawArgument], poll: Poll<'_>);

    /// Lanes that are computed together; ranges that start at a multiple of it run fastest.
    fn lanes_per_step(&self) -> usize;

    /// Bytes of generated code; 0 where none was generated.
    fn code_bytes(&self) -> usize;
}
