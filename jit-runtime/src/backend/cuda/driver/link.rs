//! The linker of the driver: it compiles PTX to machine code as bytes, which other processes can load.
//!
//! Loading text of PTX compiles it, too, but the driver keeps what it compiled to itself.

use std::ffi::{CStr, CString, c_uint, c_void};
use std::ptr;

use cudarc::driver::sys::{self, CUjit_option, CUjitInputType};

use super::{Failed, Gpu, check};
use crate::{Error, ErrorKind};

/// The bytes of text that the driver may write about errors.
const LOG_BYTES: usize = 8192;

/// The machine code of a module as text, for this GPU and its driver. `what` names the module in errors.
///
/// # Errors
///
/// [`ErrorKind::Compile`], with what the driver says about the text; a device that does not work.
pub(crate) fn link(gpu: &'static Gpu, text: &str, what: &str) -> Result<Vec<u8>, Error> {
    gpu.check()?;
    let _context = gpu.enter().map_err(|failed| gpu.error("compiling code", failed))?;
    let text = CString::new(text).map_err(|error| Error::new(ErrorKind::Internal, "PTX is text").caused_by(error))?;
    let mut log = vec![0; LOG_BYTES];
    linked(&text, &mut log).map_err(|failed| refused(gpu, failed, what, &log))
}

/// A linker, which is destroyed on drop. The log that it writes to must live as long.
struct Linker(sys::CUlinkState);

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: the linker was made once, and nothing that it owns is used any more.
        unsafe { sys::cuLinkDestroy(self.0) };
    }
}

fn linked(text: &CStr, log: &mut [u8]) -> Result<Vec<u8>, Failed> {
    let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver may write the bytes of the log over its size, until the linker is destroyed.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len() - 1)];
    let (mut raw, count) = (ptr::null_mut(), options.len() as c_uint);
    // SAFETY: options and values are as many as stated, and outlive the linker, as the log does.
    let code = unsafe { sys::cuLinkCreate_v2(count, options.as_mut_ptr(), values.as_mut_ptr(), &raw mut raw) };
    check("cuLinkCreate", code)?;
    let linker = Linker(raw);
    let bytes = text.to_bytes_with_nul();
    let (data, kind) = (bytes.as_ptr().cast_mut().cast(), CUjitInputType::CU_JIT_INPUT_PTX);
    let (none, no_values) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the text is as long as stated, with the zero at its end, and is only read.
    let code =
        unsafe { sys::cuLinkAddData_v2(linker.0, kind, data, bytes.len(), c"kernel".as_ptr(), 0, none, no_values) };
    check("cuLinkAddData", code)?;
    let (mut made, mut size_bytes) = (ptr::null_mut(), 0);
    // SAFETY: the targets are valid.
    check("cuLinkComplete", unsafe { sys::cuLinkComplete(linker.0, &raw mut made, &raw mut size_bytes) })?;
    // SAFETY: the linker owns so many bytes until it is destroyed.
    Ok(unsafe { std::slice::from_raw_parts(made.cast::<u8>(), size_bytes) }.to_vec())
}

fn refused(gpu: &Gpu, failed: Failed, what: &str, log: &[u8]) -> Error {
    if failed.is_final() || failed.is_out_of_memory() {
        return gpu.error("compiling code", failed);
    }
    let log = CStr::from_bytes_until_nul(log).unwrap_or_default().to_string_lossy();
    let message = match log.trim() {
        "" => format!("the driver refuses the code of {what} for `{}`", gpu.device),
        log => format!("the driver refuses the code of {what} for `{}`: {log}", gpu.device),
    };
    Error::new(ErrorKind::Compile, message)
        .caused_by(failed)
        .with_hint("this is a bug of the library, please report it")
}
