//! The processors that a bundle has code for.

use jit_runtime::recording::file::CodeTarget;

/// Processors that a bundle has machine code for: see [`Builder::targets`](super::Builder::targets).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target(pub(super) CodeTarget);

impl Target {
    /// Processors of the architecture that the build script runs on, at every level of the instruction set: on x86-64
    /// `x86-64-v2`, `-v3` and `-v4`. A program runs the code of the highest level that its processor has.
    #[must_use]
    pub fn host() -> Target {
        Target(CodeTarget::Host)
    }

    /// NVIDIA GPUs from a compute capability on, without the dot: `sm(90)` for `sm_90`. Their code is PTX, which needs
    /// no compiler, toolkit or GPU to be made.
    ///
    /// The bundle then has this code beside that of processors. No version of the library runs code on GPUs yet; a call
    /// on such a device is an error that says so.
    #[must_use]
    pub fn sm(capability: u32) -> Target {
        Target(CodeTarget::Gpu(capability))
    }
}
