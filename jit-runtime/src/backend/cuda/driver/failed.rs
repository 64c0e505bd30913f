//! Codes of the driver as errors.

use std::ffi::{CStr, c_char};
use std::fmt;
use std::ptr;

use cudarc::driver::sys::{self, CUresult};

/// A call of the driver that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Failed {
    function: &'static str,
    code: CUresult,
}

/// The outcome of a call of the driver.
pub(crate) fn check(function: &'static str, code: CUresult) -> Result<(), Failed> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(Failed { function, code }) }
}

impl Failed {
    pub(crate) fn is_out_of_memory(self) -> bool {
        self.code == CUresult::CUDA_ERROR_OUT_OF_MEMORY
    }

    /// Whether all later calls for the GPU fail in the same way: its context is lost, with all memory in it.
    pub(crate) fn is_final(self) -> bool {
        use CUresult as Code;
        matches!(
            self.code,
            Code::CUDA_ERROR_ILLEGAL_ADDRESS
                | Code::CUDA_ERROR_LAUNCH_TIMEOUT
                | Code::CUDA_ERROR_ILLEGAL_INSTRUCTION
                | Code::CUDA_ERROR_MISALIGNED_ADDRESS
                | Code::CUDA_ERROR_INVALID_ADDRESS_SPACE
                | Code::CUDA_ERROR_INVALID_PC
                | Code::CUDA_ERROR_LAUNCH_FAILED
                | Code::CUDA_ERROR_HARDWARE_STACK_ERROR
                | Code::CUDA_ERROR_ASSERT
                | Code::CUDA_ERROR_ECC_UNCORRECTABLE
                | Code::CUDA_ERROR_NVLINK_UNCORRECTABLE
                | Code::CUDA_ERROR_CONTEXT_IS_DESTROYED
                | Code::CUDA_ERROR_DEVICE_UNAVAILABLE
                | Code::CUDA_ERROR_DEINITIALIZED
                | Code::CUDA_ERROR_UNKNOWN
        )
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = text(|target| {
            // SAFETY: the target is valid; the driver exists, since it has returned the code.
            unsafe { sys::cuGetErrorName(self.code, target) }
        });
        let description = text(|target| {
            // SAFETY: as above.
            unsafe { sys::cuGetErrorString(self.code, target) }
        });
        let name = name.unwrap_or_else(|| format!("{:?}", self.code));
        write!(f, "`{}` of the driver returned {name}", self.function)?;
        description.map_or(Ok(()), |description| write!(f, " ({description})"))
    }
}

impl std::error::Error for Failed {}

/// A text of the driver.
fn text(get: impl FnOnce(*mut *const c_char) -> CUresult) -> Option<String> {
    let mut text: *const c_char = ptr::null();
    let is_known = get(&raw mut text) == CUresult::CUDA_SUCCESS && !text.is_null();
    // SAFETY: the driver returns text of its own, which it never frees.
    is_known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
