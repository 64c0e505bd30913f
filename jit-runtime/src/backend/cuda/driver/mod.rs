//! The driver of NVIDIA's GPUs, which is loaded on first use. Nothing of it is touched before.
//!
//! Functions are called through `cudarc`, which looks up each one when it is first called and panics where it is
//! missing. So the library and all functions that are called here are looked for first.
//!
//! | part | file |
//! |---|---|
//! | codes of the driver as errors | `failed` |
//! | GPUs: properties, contexts | `gpu` |
//! | launches that are queued by one call | `graph` |
//! | PTX to machine code | `link` |
//! | code in the memory of a GPU | `module` |

mod failed;
mod gpu;
mod graph;
mod link;
mod module;

use std::sync::OnceLock;

use cudarc::driver::sys;

pub(crate) use failed::{Failed, check};
pub(crate) use gpu::Gpu;
pub(crate) use graph::{Graph, Node};
pub(crate) use link::link;
pub(crate) use module::Module;

use super::{GpuMaker, Target};
use crate::config::Device;
use crate::current_device::with_choice;
use crate::{Error, ErrorKind};

/// The oldest driver that is used: that of CUDA 11.4, of 2021.
const OLDEST: (u32, u32) = (11, 4);

/// All functions that are called.
const FUNCTIONS: [&str; 47] = [
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetDefaultMemPool",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuInit",
    "cuLaunchHostFunc",
    "cuLaunchKernel",
    "cuLinkAddData_v2",
    "cuLinkComplete",
    "cuLinkCreate_v2",
    "cuLinkDestroy",
    "cuMemAllocAsync",
    "cuMemAlloc_v2",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemPoolSetAttribute",
    "cuMemPoolTrimTo",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuOccupancyMaxPotentialBlockSize",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

/// Those of graphs, which drivers have since CUDA 12.0.
const GRAPH_FUNCTIONS: [&str; 7] = [
    "cuGraphAddKernelNode_v2",
    "cuGraphCreate",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphExecKernelNodeSetParams_v2",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
];

/// The driver, which works.
pub(crate) struct Driver {
    /// The version of CUDA that it supports, major and minor.
    pub(crate) version: (u32, u32),
    /// Whether it has graphs.
    pub(crate) has_graphs: bool,
    /// The version by which its compiler is told from others: of CUDA, and of the driver where the system states it.
    pub(crate) build: String,
    gpus: Vec<OnceLock<Gpu>>,
}

/// Why there is none.
#[derive(Clone)]
struct Missing {
    reason: String,
    hint: &'static str,
}

/// The driver. The first call loads it.
///
/// # Errors
///
/// [`ErrorKind::NoDevice`], with the reason, if there is none or if it cannot be used.
pub(crate) fn get() -> Result<&'static Driver, Error> {
    opened(|| "NVIDIA GPUs".into())
}

/// The driver, for what is named in the error.
fn opened(what: impl FnOnce() -> String) -> Result<&'static Driver, Error> {
    static DRIVER: OnceLock<Result<Driver, Missing>> = OnceLock::new();
    DRIVER.get_or_init(load).as_ref().map_err(|missing| {
        let message = format!("{} cannot be used: {}", what(), missing.reason);
        Error::new(ErrorKind::NoDevice, message).with_hint(missing.hint)
    })
}

/// The GPU with a number.
///
/// # Errors
///
/// [`ErrorKind::NoDevice`] if there is none, or if it cannot be used.
pub(crate) fn gpu(number: u8) -> Result<&'static Gpu, Error> {
    find(number).map_err(|error| with_choice(error, Device::Cuda(number)))
}

fn find(number: u8) -> Result<&'static Gpu, Error> {
    let driver = opened(|| format!("the device `{}`", Device::Cuda(number)))?;
    let Some(place) = driver.gpus.get(usize::from(number)) else {
        let (device, count) = (Device::Cuda(number), driver.gpus.len());
        let message = format!("the device `{device}` cannot be used: the driver has {count} GPUs, numbered from 0");
        return Err(Error::new(ErrorKind::NoDevice, message));
    };
    if let Some(gpu) = place.get() {
        return Ok(gpu);
    }
    let gpu = Gpu::open(number, driver)?;
    Ok(place.get_or_init(|| gpu))
}

impl Driver {
    /// What machine code depends on that this driver makes for a GPU.
    pub(crate) fn maker(&self, gpu: &Gpu) -> GpuMaker {
        let Target { capability, version: (major, minor) } = gpu.target;
        let target = format!("cuda sm_{} PTX {major}.{minor} for sm_{capability}", gpu.capability);
        GpuMaker { driver: self.build.clone(), target }
    }

    /// The number of GPUs.
    pub(crate) fn count(&self) -> usize {
        self.gpus.len()
    }

    /// The processor and the version of PTX for a compute capability, without its dot.
    ///
    /// The driver compiles PTX for older processors to newer ones, so what is newer than what was tested needs no
    /// support here.
    pub(crate) fn target(&self, capability: u32) -> Target {
        let (major, minor) = self.version;
        // PTX has the numbers of CUDA less four, in CUDA 11 and 12 up to 12.4, and is not older than that later.
        let version = match (major, minor) {
            (11, minor) => (7, minor.min(8)),
            (12, minor) => (8, minor.min(4)),
            _ => (9, 0),
        };
        let newest = match version {
            (9.., _) => 100,
            (8, _) | (7, 8..) => 90,
            _ => 80,
        };
        Target { capability: capability.min(newest), version }
    }

    fn check(self) -> Result<Driver, Missing> {
        let ((major, minor), (oldest_major, oldest_minor)) = (self.version, OLDEST);
        if self.version >= OLDEST {
            return Ok(self);
        }
        let needed = format!("{oldest_major}.{oldest_minor} or newer is needed");
        let reason = format!("the driver is too old: it supports CUDA {major}.{minor}, and {needed}");
        Err(Missing { reason, hint: "install a newer driver" })
    }
}

fn load() -> Result<Driver, Missing> {
    load_for_tests();
    let missing = |reason: String, hint| Missing { reason, hint };
    // SAFETY: only libraries of the names that the driver has are loaded.
    if !unsafe { sys::is_culib_present() } {
        return Err(missing(
            "there is no driver on this machine".into(),
            "install the driver of the GPU (libcuda.so.1)",
        ));
    }
    // SAFETY: the library was found.
    let library = unsafe { sys::culib() };
    // SAFETY: the function is only looked for.
    let is_missing = |name: &str| unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err();
    if let Some(name) = FUNCTIONS.iter().find(|name| is_missing(name)) {
        let reason = format!("the driver is too old: it has no function `{name}`");
        return Err(missing(reason, "install a newer driver"));
    }
    let has_graphs = !GRAPH_FUNCTIONS.iter().any(|name| is_missing(name));
    let started = start(has_graphs);
    started.map_err(|failed| missing(failed.to_string(), "`nvidia-smi` tells whether the driver works"))?.check()
}

/// Loads the library that tests use in place of the driver, if they say so. The loader then finds it by its name.
fn load_for_tests() {
    if let Some(path) = std::env::var_os("JIT_TEST_CUDA_DRIVER") {
        // SAFETY: the tests name their own library.
        if let Ok(library) = unsafe { libloading::Library::new(path) } {
            std::mem::forget(library);
        }
    }
}

/// Initialises the driver.
fn start(has_graphs: bool) -> Result<Driver, Failed> {
    let (mut version, mut count) = (0, 0);
    // SAFETY: the functions exist, and the targets are valid.
    unsafe {
        check("cuDriverGetVersion", sys::cuDriverGetVersion(&raw mut version))?;
        check("cuInit", sys::cuInit(0))?;
        check("cuDeviceGetCount", sys::cuDeviceGetCount(&raw mut count))?;
    }
    let version = (version as u32 / 1000, version as u32 % 1000 / 10);
    let build = build(version);
    Ok(Driver { version, build, has_graphs, gpus: (0..count.clamp(0, 256)).map(|_| OnceLock::new()).collect() })
}

/// Drivers of one version of CUDA differ, also in how they compile. Linux states the version of the kernel's module,
/// which is that of the driver.
fn build((major, minor): (u32, u32)) -> String {
    match std::fs::read_to_string("/sys/module/nvidia/version") {
        Ok(module) if !module.trim().is_empty() => format!("CUDA {major}.{minor}, {}", module.trim()),
        _ => format!("CUDA {major}.{minor}"),
    }
}
