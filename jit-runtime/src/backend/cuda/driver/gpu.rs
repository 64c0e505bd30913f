//! GPUs: their properties, and the contexts in which everything of them lives.
//!
//! The context is the primary one of the device, which other libraries of the process share. A thread makes it current
//! for as long as it calls the driver, and restores the one before.

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};

use super::{Driver, Failed, check};
use crate::backend::cuda::Target;
use crate::config::Device;
use crate::fork;
use crate::{Error, ErrorKind};

/// The oldest compute capability that code is emitted for, without the dot: Volta.
const OLDEST: u32 = 70;

/// A GPU that can be used.
pub(crate) struct Gpu {
    pub(crate) device: Device,
    pub(crate) name: String,
    /// The compute capability without the dot.
    pub(crate) capability: u32,
    pub(crate) total_bytes: usize,
    /// Whether the driver has asynchronous pools of memory for it.
    pub(crate) has_pools: bool,
    pub(crate) target: Target,
    raw: sys::CUdevice,
    context: sys::CUcontext,
    /// The process that opened it, as [`fork::generation`].
    generation: u32,
    /// Why the context was lost.
    lost: OnceLock<String>,
}

// SAFETY: the driver's functions may be called from all threads, for one context too.
unsafe impl Send for Gpu {}
// SAFETY: as above.
unsafe impl Sync for Gpu {}

/// Until it is dropped, the context of a GPU is current on the thread.
pub(crate) struct Entered(PhantomData<*const ()>);

impl Drop for Entered {
    fn drop(&mut self) {
        // SAFETY: the thread has pushed a context; it needs not be returned.
        unsafe { sys::cuCtxPopCurrent_v2(ptr::null_mut()) };
    }
}

impl Gpu {
    pub(super) fn open(number: u8, driver: &Driver) -> Result<Gpu, Error> {
        let device = Device::Cuda(number);
        let refused =
            |reason: String| Error::new(ErrorKind::NoDevice, format!("the device `{device}` cannot be used: {reason}"));
        let gpu = Gpu::retain(device, number, driver).map_err(|failed| refused(failed.to_string()))?;
        if gpu.capability < OLDEST {
            let (major, minor) = (gpu.capability / 10, gpu.capability % 10);
            let reason = format!("{} has compute capability {major}.{minor}, and 7.0 or newer is needed", gpu.name);
            return Err(refused(reason));
        }
        Ok(gpu)
    }

    fn retain(device: Device, number: u8, driver: &Driver) -> Result<Gpu, Failed> {
        let (mut raw, mut name, mut total_bytes, mut context) = (0, [0; 256], 0, ptr::null_mut());
        // SAFETY: the driver is initialised, and the targets are valid and as long as stated.
        unsafe {
            check("cuDeviceGet", sys::cuDeviceGet(&raw mut raw, number.into()))?;
            check("cuDeviceGetName", sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int - 1, raw))?;
            check("cuDeviceTotalMem", sys::cuDeviceTotalMem_v2(&raw mut total_bytes, raw))?;
            check("cuDevicePrimaryCtxRetain", sys::cuDevicePrimaryCtxRetain(&raw mut context, raw))?;
        }
        let of = |attribute| property(raw, attribute);
        let major = of(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = of(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let has_pools = of(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0;
        // SAFETY: the last byte was not written and is zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let capability = 10 * major + minor;
        let (target, generation, lost) = (driver.target(capability), fork::generation(), OnceLock::new());
        Ok(Gpu { device, name, capability, total_bytes, has_pools, target, raw, context, generation, lost })
    }

    /// Makes the context current.
    pub(crate) fn enter(&self) -> Result<Entered, Failed> {
        // SAFETY: the context is retained until the process ends.
        check("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(self.context) })?;
        Ok(Entered(PhantomData))
    }

    pub(crate) fn context(&self) -> sys::CUcontext {
        self.context
    }

    pub(crate) fn raw(&self) -> sys::CUdevice {
        self.raw
    }

    /// Whether this is the process that opened it: contexts do not exist in forked ones.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.generation == fork::generation()
    }

    /// Whether it still works.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoDevice`] if its context was lost, or if the process was forked after it was opened.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let device = self.device;
        if !self.is_of_this_process() {
            let message = format!("the device `{device}` cannot be used: it was opened before the process was forked");
            return Err(Error::new(ErrorKind::NoDevice, message).with_hint("fork before the first use of the device"));
        }
        match self.lost.get() {
            None => Ok(()),
            Some(reason) => Err(Error::new(ErrorKind::NoDevice, format!("the device `{device}` was lost: {reason}"))
                .with_hint("what was in its memory is gone; other devices go on, and a new process can use it again")),
        }
    }

    /// Notes that the context is lost, if that is what the failure means.
    pub(crate) fn note(&self, failed: Failed) {
        if failed.is_final() {
            let _ = self.lost.set(failed.to_string());
        }
    }

    /// Whether the context was lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// The error of a call that failed.
    pub(crate) fn error(&self, what: &str, failed: Failed) -> Error {
        self.note(failed);
        let (kind, hint) = if failed.is_out_of_memory() {
            (ErrorKind::OutOfMemory, "drop arrays that are no longer needed, or compute in smaller parts")
        } else if failed.is_final() {
            (
                ErrorKind::NoDevice,
                "what was in its memory is gone; other devices go on, and a new process can use it again",
            )
        } else {
            (ErrorKind::Launch, "`jit doctor` shows the driver and whether the device runs kernels")
        };
        Error::new(kind, format!("{what} on `{}` failed", self.device)).caused_by(failed).with_hint(hint)
    }
}

fn property(device: sys::CUdevice, attribute: Attribute) -> Result<u32, Failed> {
    let mut value = 0;
    // SAFETY: the device exists, and the target is valid.
    check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, device) })?;
    Ok(value as u32)
}
