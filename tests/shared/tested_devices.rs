//! The devices on which tests run. A test that cannot run without generated code is counted as skipped, and never
//! passes by comparing the interpreter with itself.
#![allow(dead_code, reason = "some test programs use only a part")]

use std::io::Write;
use std::sync::LazyLock;

use jit_runtime::device::{Device, devices};

/// The interpreter and the processor. If no code is generated, the processor is interpreted as well, so that counts per
/// device are the same there; a line reports that the test was skipped. With `JIT_TEST_GPUS`, a machine whose memory
/// is not the host's is in place of the interpreter, with the same code; with `JIT_TEST_CUDA_DRIVER`, a GPU is, of a
/// driver for tests.
pub(crate) fn all() -> Vec<Device> {
    let _ = has_llvm();
    vec![if has_separate_memory() { Device::Cuda(0) } else { Device::Interpreter }, Device::Cpu]
}

/// Whether the first GPU is a machine for tests, whose memory is not the host's, or one of a driver for tests.
pub(crate) fn has_separate_memory() -> bool {
    // Unit tests have such machines without asking for them.
    let is_asked_for = ["JIT_TEST_GPUS", "JIT_TEST_CUDA_DRIVER"].iter().any(|name| std::env::var_os(name).is_some());
    is_asked_for && devices().iter().any(|info| info.device == Device::Cuda(0))
}

/// Whether code is generated for the processor. If not, a line reports that the calling test was skipped, or a part of
/// it; `.ci/run` counts these lines.
pub(crate) fn has_llvm() -> bool {
    static IS_GENERATING: LazyLock<bool> =
        LazyLock::new(|| devices().iter().any(|info| info.device == Device::Cpu && info.unavailable.is_none()));
    if !*IS_GENERATING {
        let thread = std::thread::current();
        // Not by a macro that prints: the output of those is hidden in tests that pass.
        let _ =
            writeln!(std::io::stderr(), "skipped: needs LLVM: {}", thread.name().unwrap_or("a thread without a name"));
    }
    *IS_GENERATING
}
