//! Devices: where values are, and kernels run.
//!
//! The device of an array in memory is determined when it is made: by [`with_device`] on the thread, otherwise by
//! [`set_device`], otherwise by `JIT_DEVICE`; the default is the CPU. What is computed from it is on the same device.

use crate::backend::{self, CodeInfo};
pub use crate::config::Device;
pub use crate::current_device::{DeviceScope, current_device};
pub use crate::machine::Capabilities;
use crate::machine::{self, Machine};
use crate::{Error, current_device};

/// Sets the device for new values of the process. Existing values stay where they are.
///
/// # Errors
///
/// [`NoDevice`](crate::ErrorKind::NoDevice) if the device cannot be used on this machine, with the reason. The setting
/// is then unchanged.
pub fn set_device(device: Device) -> Result<(), Error> {
    check_usable(device)?;
    current_device::choose(device);
    Ok(())
}

/// Checks whether memory can be allocated on a device, and kernels can run there.
///
/// # Errors
///
/// [`NoDevice`](crate::ErrorKind::NoDevice), with the reason.
pub fn check_usable(device: Device) -> Result<(), Error> {
    capabilities(device).map(|_| ())
}

/// What the machine of a device can do.
///
/// # Errors
///
/// [`NoDevice`](crate::ErrorKind::NoDevice), with the reason, if the device cannot be used.
pub fn capabilities(device: Device) -> Result<Capabilities, Error> {
    machine::of(device).map(|machine| machine.capabilities())
}

/// Runs a closure with a device for the new values of this thread. The previous device is restored afterwards, also
/// when the closure panics. Values that exist are computed with where they are.
///
/// If the device cannot be used, making an array in the closure fails, with the reason.
pub fn with_device<R>(device: Device, body: impl FnOnce() -> R) -> R {
    let _scope = DeviceScope::enter(device);
    body()
}

/// Information about a device.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Which one.
    pub device: Device,
    /// Its name according to its manufacturer or library.
    pub name: String,
    /// The number of threads that run a launch.
    pub threads: usize,
    /// The number of lanes of 32 bits in one register; 1 for the interpreter.
    pub vector_lanes: usize,
    /// Instruction sets that generated code uses.
    pub features: Vec<String>,
    /// Why the device is not fully functional, if it is not: for the CPU, why kernels are interpreted.
    pub unavailable: Option<String>,
}

/// The processor of this machine, as code is generated for it. Known without LLVM.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Processor {
    /// The level of the instruction set that it reaches, such as `x86-64-v3`.
    pub level: String,
    /// The number of lanes of 32 bits in one register.
    pub vector_lanes: usize,
    /// Instruction sets that generated code uses.
    pub features: Vec<String>,
}

/// Returns the processor of this machine.
///
/// # Errors
///
/// [`NoDevice`](crate::ErrorKind::NoDevice) if generated code cannot run on it.
pub fn processor() -> Result<Processor, Error> {
    #[cfg(loads_code)]
    return backend::Target::host().map(|target| {
        let features = target.features.split(',').filter_map(|feature| feature.strip_prefix('+'));
        let features = features.map(str::to_owned).collect();
        Processor { level: target.cpu.clone(), vector_lanes: target.lanes, features }
    });
    #[cfg(not(loads_code))]
    Err(Error::new(crate::ErrorKind::NoDevice, "no code is generated for this system: kernels are interpreted"))
}

/// The devices of this machine, including those that are not fully functional.
#[must_use]
pub fn devices() -> Vec<DeviceInfo> {
    let gpus = backend::gpus().unwrap_or_default();
    Device::HOST.into_iter().chain(gpus).map(describe).collect()
}

/// The number of NVIDIA GPUs that [`devices`] lists.
///
/// # Errors
///
/// [`NoDevice`](crate::ErrorKind::NoDevice) if there is no driver of GPUs on this machine, or if it does not work, with
/// the reason.
pub fn gpus() -> Result<usize, Error> {
    backend::gpus().map(|gpus| gpus.len())
}

fn describe(device: Device) -> DeviceInfo {
    let (info, unavailable) = match backend::code_info(device) {
        Ok(info) => (info, None),
        Err(error) => (CodeInfo { name: device.name().into(), ..CodeInfo::default() }, Some(error.to_string())),
    };
    let CodeInfo { name, vector_lanes, features } = info;
    let threads = capabilities(device).map_or(0, |machine| machine.threads);
    DeviceInfo { device, name, threads, vector_lanes, features, unavailable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_ends_also_by_panic_and_nests() {
        let before = current_device();
        with_device(Device::Interpreter, || {
            assert_eq!(current_device(), Device::Interpreter);
            let result = std::panic::catch_unwind(|| with_device(Device::Cpu, || panic!("on purpose")));
            assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
            assert_eq!(current_device(), Device::Interpreter);
            let other = std::thread::spawn(current_device).join().unwrap();
            assert_eq!(other, before, "other threads are not concerned");
        });
        assert_eq!(current_device(), before);
    }

    #[test]
    fn names_lead_back_to_devices() {
        for device in [Device::Cpu, Device::Interpreter, Device::Cuda(0), Device::Cuda(255)] {
            assert_eq!(Device::from_name(&device.to_string()), Some(device));
            assert_eq!(Device::from_index(device.index()), Some(device));
        }
        assert_eq!(Device::from_name("llvm"), Some(Device::Cpu));
        assert_eq!(Device::from_name("cuda"), Some(Device::Cuda(0)));
        for name in ["abacus", "cuda:", "cuda:256", "cuda:-1", "cpu:0"] {
            assert_eq!(Device::from_name(name), None, "{name}");
        }
        assert_eq!(Device::from_index(258), None);
    }

    #[test]
    fn a_gpu_is_refused_with_the_reason() {
        let error = set_device(Device::Cuda(9)).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::NoDevice);
        assert!(error.to_string().contains("`cuda:9` cannot be used"), "{error}");
        let made = with_device(Device::Cuda(9), || crate::memory::Buffer::alloc(4));
        assert_eq!(made.unwrap_err().kind(), crate::ErrorKind::NoDevice);
    }

    #[test]
    fn the_interpreter_is_always_there() {
        let devices = devices();
        let interpreter = devices.iter().find(|info| info.device == Device::Interpreter).unwrap();
        assert_eq!(interpreter.unavailable, None);
        assert!(interpreter.threads >= 1);
    }
}
