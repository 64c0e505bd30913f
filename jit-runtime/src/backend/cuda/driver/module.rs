//! Code in the memory of a GPU: what the linker has made of PTX.

use std::ffi::{CStr, c_void};
use std::ptr;

use cudarc::driver::sys;

use super::{Failed, Gpu, check};
use crate::{Error, ErrorKind};

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
    /// Loads the kernel of this name from machine code that [`link`](super::link) made: now, or in another process.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Compile`] if the driver refuses the code, as that of another driver; a device that does not work.
    pub(crate) fn load(gpu: &'static Gpu, code: &[u8], name: &CStr) -> Result<Module, Error> {
        gpu.check()?;
        let _context = gpu.enter().map_err(|failed| gpu.error("loading code", failed))?;
        let raw = loaded(code).map_err(|failed| refused(gpu, failed))?;
        let mut module = Module { gpu, raw, function: ptr::null_mut(), occupancy: (1, 1) };
        module.find(name).map_err(|failed| refused(gpu, failed))?;
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

    pub(super) fn function(&self) -> sys::CUfunction {
        self.function
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
        let mut parameters = Parameters::of(parameters);
        let (function, extra) = (self.function, parameters.extra());
        // SAFETY: the function belongs to this module; the rest is the caller's promise. The driver copies the bytes.
        let code =
            unsafe { sys::cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, ptr::null_mut(), extra) };
        check("cuLaunchKernel", code)
    }
}

/// The bytes of parameters, as the driver takes them.
pub(super) struct Parameters<'a> {
    bytes: &'a [u8],
    size_bytes: usize,
    extra: [*mut c_void; 5],
}

impl<'a> Parameters<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Parameters { bytes, size_bytes: bytes.len(), extra: [ptr::null_mut(); 5] }
    }

    /// The list that describes them: marks of the driver, the bytes and their number. It is valid until this moves.
    pub(super) fn extra(&mut self) -> *mut *mut c_void {
        self.extra = [
            ptr::without_provenance_mut(1),
            self.bytes.as_ptr().cast_mut().cast(),
            ptr::without_provenance_mut(2),
            (&raw mut self.size_bytes).cast(),
            ptr::null_mut(),
        ];
        self.extra.as_mut_ptr()
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

fn loaded(code: &[u8]) -> Result<sys::CUmodule, Failed> {
    // Code of a file begins at any address; the driver reads words of it. It is not told the length, so zeros follow.
    let mut words = vec![0_u64; code.len() / 8 + 1];
    bytemuck::cast_slice_mut(&mut words)[..code.len()].copy_from_slice(code);
    let mut raw = ptr::null_mut();
    // SAFETY: the linker made the code, which states its length; the driver copies it.
    check("cuModuleLoadData", unsafe { sys::cuModuleLoadData(&raw mut raw, words.as_ptr().cast()) })?;
    Ok(raw)
}

fn refused(gpu: &Gpu, failed: Failed) -> Error {
    if failed.is_final() || failed.is_out_of_memory() {
        return gpu.error("loading code", failed);
    }
    let message = format!("the driver refuses machine code for `{}`", gpu.device);
    Error::new(ErrorKind::Compile, message)
        .caused_by(failed)
        .with_hint("`jit doctor` shows the driver and whether the device runs kernels")
}
