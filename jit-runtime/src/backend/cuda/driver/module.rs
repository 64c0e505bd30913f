//! Code in the memory of a GPU: PTX that the driver has compiled.

use std::ffi::{CStr, CString, c_uint, c_void};
use std::ptr;

use cudarc::driver::sys::{self, CUjit_option};

use super::{Failed, Gpu, check};
use crate::{Error, ErrorKind};

/// The bytes of text that the driver may write about errors.
const LOG_BYTES: usize = 8192;

/// A module with one kernel. It is unloaded on drop.
pub(crate) struct Module {
    gpu: &'static Gpu,
    raw: sys::CUmodule,
    function: sys::CUfunction,
    /// The blocks that fill the device, and the threads of each, according to the driver.
    pub(crate) occupancy: (u32, u32),
}

// SAFETY: the driver's functions may be called from all threads.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads the kernel of this name from a module as text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Compile`], with what the driver says about the text; a device that does not work.
    pub(crate) fn load(gpu: &'static Gpu, text: &str, name: &CStr) -> Result<Module, Error> {
        gpu.check()?;
        let _context = gpu.enter().map_err(|failed| gpu.error("loading code", failed))?;
        let text =
            CString::new(text).map_err(|error| Error::new(ErrorKind::Internal, "PTX is text").caused_by(error))?;
        let mut log = [0u8; LOG_BYTES];
        let raw = compile(&text, &mut log).map_err(|failed| refused(gpu, failed, &log))?;
        let mut module = Module { gpu, raw, function: ptr::null_mut(), occupancy: (1, 1) };
        module.find(name).map_err(|failed| gpu.error("loading code", failed))?;
        Ok(module)
    }

    /// Finds the kernel and its properties.
    fn find(&mut self, name: &CStr) -> Result<(), Failed> {
        let (mut blocks, mut threads) = (0, 0);
        // SAFETY: the module is loaded, and the targets are valid.
        unsafe {
            let found = sys::cuModuleGetFunction(&raw mut self.function, self.raw, name.as_ptr());
            check("cuModuleGetFunction", found)?;
            let occupancy =
                sys::cuOccupancyMaxPotentialBlockSize(&raw mut blocks, &raw mut threads, self.function, None, 0, 0);
            check("cuOccupancyMaxPotentialBlockSize", occupancy)?;
        }
        self.occupancy = (blocks.max(1) as u32, threads.max(1) as u32);
        Ok(())
    }

    /// Queues a launch. The context must be current.
    ///
    /// # Safety
    ///
    /// The parameters must be those of the kernel. Memory that they refer to must exist until the launch is done, and
    /// so must the module.
    pub(crate) unsafe fn launch(
        &self,
        (blocks, threads): (u32, u32),
        parameters: &[u8],
        stream: sys::CUstream,
    ) -> Result<(), Failed> {
        let mut size_bytes = parameters.len();
        // The marks of the driver before the bytes and their number.
        let mut extra: [*mut c_void; 5] = [
            ptr::without_provenance_mut(1),
            parameters.as_ptr().cast_mut().cast(),
            ptr::without_provenance_mut(2),
            (&raw mut size_bytes).cast(),
            ptr::null_mut(),
        ];
        let (function, extra) = (self.function, extra.as_mut_ptr());
        // SAFETY: the function belongs to this module; the rest is the caller's promise. The driver copies the bytes.
        let code =
            unsafe { sys::cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, ptr::null_mut(), extra) };
        check("cuLaunchKernel", code)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if !self.gpu.is_of_this_process() || self.gpu.is_lost() {
            return;
        }
        if let Ok(_context) = self.gpu.enter() {
            // SAFETY: the module was loaded once, and launches keep it until they are done.
            unsafe { sys::cuModuleUnload(self.raw) };
        }
    }
}

fn compile(text: &CStr, log: &mut [u8]) -> Result<sys::CUmodule, Failed> {
    let mut raw = ptr::null_mut();
    let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
    let (count, options, values) = (options.len() as c_uint, options.as_mut_ptr(), values.as_mut_ptr());
    // SAFETY: the text ends with a zero; the log is as long as stated.
    let code = unsafe { sys::cuModuleLoadDataEx(&raw mut raw, text.as_ptr().cast(), count, options, values) };
    check("cuModuleLoadDataEx", code).map(|()| raw)
}

fn refused(gpu: &Gpu, failed: Failed, log: &[u8]) -> Error {
    if failed.is_final() || failed.is_out_of_memory() {
        return gpu.error("loading code", failed);
    }
    let log = CStr::from_bytes_until_nul(log).unwrap_or_default().to_string_lossy();
    let message = match log.trim() {
        "" => format!("the driver refuses the code of a kernel for `{}`", gpu.device),
        log => format!("the driver refuses the code of a kernel for `{}`: {log}", gpu.device),
    };
    Error::new(ErrorKind::Compile, message)
        .caused_by(failed)
        .with_hint("this is a bug of the library, please report it")
}
