//! The processors that a bundle has code for.

use jit_runtime::recording::file::{Architecture, CodeTarget};

use crate::{Error, ErrorKind};

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

    /// 64-bit x86 processors with Linux, at the levels `x86-64-v2`, `-v3` and `-v4`, whichever machine builds.
    #[must_use]
    pub fn x86_64() -> Target {
        Target(CodeTarget::Processors(Architecture::X86_64))
    }

    /// 64-bit Arm processors with Linux, whichever machine builds: of Armv8, and of Armv8.2 with `dotprod` and `fp16`.
    #[must_use]
    pub fn aarch64() -> Target {
        Target(CodeTarget::Processors(Architecture::Aarch64))
    }

    /// The processors of a target triple of Rust, such as `aarch64-unknown-linux-gnu`.
    ///
    /// ```
    /// use jit::bundle::Target;
    ///
    /// assert_eq!(Target::of_triple("aarch64-unknown-linux-gnu")?, Target::aarch64());
    /// assert!(Target::of_triple("wasm32-unknown-unknown").is_err());
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A triple of other processors or another system, for which there is no code.
    pub fn of_triple(triple: &str) -> Result<Target, Error> {
        let parts: Vec<&str> = triple.split('-').collect();
        match (parts.first(), parts.contains(&"linux")) {
            (Some(&"x86_64"), true) => Ok(Target::x86_64()),
            (Some(&"aarch64"), true) => Ok(Target::aarch64()),
            _ => {
                let message = format!("there is no machine code for the target `{triple}`");
                let hint = "code is for `x86_64` and `aarch64` with `linux`, as `aarch64-unknown-linux-gnu`; elsewhere \
                            a bundle without code, `.targets([])`, is interpreted";
                Err(Error::new(ErrorKind::InvalidArgument, message).with_hint(hint))
            }
        }
    }

    /// The processors of the program whose build script this is, as cargo says; those of the host elsewhere. None if
    /// there is no code for them.
    pub(super) fn of_program() -> Option<Target> {
        let [target, host] = ["TARGET", "HOST"].map(|name| std::env::var(name).ok());
        match target {
            Some(target) if host.as_ref() != Some(&target) => Target::of_triple(&target).ok(),
            _ => Some(Target::host()),
        }
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
