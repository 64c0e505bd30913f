//! Devices: where kernels run.
//!
//! The device of each array is determined when it is made: by [`with_device`] on the thread, otherwise by
//! [`set_device`], otherwise by `JIT_DEVICE`; the default is the CPU.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::backend::{self, Capabilities};
pub use crate::config::Device;
use crate::{Error, config, launch};

/// The value of [`CHOSEN`] while no device has been set.
const UNCHOSEN: u8 = u8::MAX;
static CHOSEN: AtomicU8 = AtomicU8::new(UNCHOSEN);

thread_local! {
    static SCOPED: Cell<Option<Device>> = const { Cell::new(None) };
}

/// The device that new arrays of this thread are for.
#[must_use]
pub fn current_device() -> Device {
    SCOPED.get().unwrap_or_else(process_device)
}

fn process_device() -> Device {
    match CHOSEN.load(Ordering::Relaxed) {
        UNCHOSEN => config::get().device.unwrap_or(Device::Cpu),
        index => Device::ALL[usize::from(index)],
    }
}

/// Sets the device for new arrays of the process.
///
/// # Errors
///
/// [`NoDevice`](crate::ErrorKind::NoDevice) if the device cannot be used on this machine, with the reason. The setting
/// is then unchanged.
pub fn set_device(device: Device) -> Result<(), Error> {
    backend::check_usable(device)?;
    CHOSEN.store(device as u8, Ordering::Relaxed);
    Ok(())
}

/// Runs a closure with a device for the new arrays of this thread. The previous device is restored afterwards, also
/// when the closure panics.
pub fn with_device<R>(device: Device, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<Device>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPED.set(self.0);
        }
    }
    let _restore = Restore(SCOPED.replace(Some(device)));
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

/// All devices of this build, including those that cannot be used on this machine.
#[must_use]
pub fn devices() -> Vec<DeviceInfo> {
    Device::ALL.into_iter().map(describe).collect()
}

fn describe(device: Device) -> DeviceInfo {
    let (capabilities, unavailable) = match backend::capabilities(device) {
        Ok(capabilities) => (capabilities, None),
        Err(error) => (Capabilities { name: device.name().into(), ..Capabilities::default() }, Some(error.to_string())),
    };
    let Capabilities { name, vector_lanes, features } = capabilities;
    DeviceInfo { device, name, threads: launch::threads(), vector_lanes, features, unavailable }
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
        for device in Device::ALL {
            assert_eq!(Device::from_name(device.name()), Some(device));
        }
        assert_eq!(Device::from_name("llvm"), Some(Device::Cpu));
        assert_eq!(Device::from_name("abacus"), None);
    }

    #[test]
    fn the_interpreter_is_always_there() {
        let devices = devices();
        let interpreter = devices.iter().find(|info| info.device == Device::Interpreter).unwrap();
        assert_eq!(interpreter.unavailable, None);
        assert!(interpreter.threads >= 1);
    }
}
