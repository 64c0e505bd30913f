//! The device of new values: chosen for the process, or for a scope on one thread.
//!
//! Existing values are not concerned: whoever computes with them enters a scope of their device, so that memory and
//! launches in it are there. So the layers below launches, which know nothing of values, have one place to ask.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Error;
use crate::config::{self, Device};

/// The value of [`CHOSEN`] while no device has been set.
const UNCHOSEN: usize = usize::MAX;
/// The index of the device of the process.
static CHOSEN: AtomicUsize = AtomicUsize::new(UNCHOSEN);

thread_local! {
    static SCOPED: Cell<Option<Device>> = const { Cell::new(None) };
}

/// The device of new values of this thread.
#[must_use]
#[inline]
pub fn current_device() -> Device {
    SCOPED.get().unwrap_or_else(process_device)
}

#[inline]
fn process_device() -> Device {
    Device::from_index(CHOSEN.load(Ordering::Relaxed)).unwrap_or_else(configured_device)
}

#[cold]
fn configured_device() -> Device {
    let device = config::get().device.unwrap_or(Device::Cpu);
    // The configuration stays as it is, and a device that another thread has set meanwhile counts.
    let _ = CHOSEN.compare_exchange(UNCHOSEN, device.index(), Ordering::Relaxed, Ordering::Relaxed);
    device
}

/// Sets the device for new values of the process.
pub(crate) fn choose(device: Device) {
    CHOSEN.store(device.index(), Ordering::Relaxed);
}

/// Until it is dropped, new values of the thread are on a device. Scopes nest.
#[derive(Debug)]
#[must_use]
pub struct DeviceScope(Option<Device>);

impl DeviceScope {
    /// Begins a scope.
    pub fn enter(device: Device) -> DeviceScope {
        DeviceScope(SCOPED.replace(Some(device)))
    }
}

impl Drop for DeviceScope {
    fn drop(&mut self) {
        SCOPED.set(self.0);
    }
}

/// The error of a GPU where support of GPUs was left out.
#[cfg(not(feature = "cuda"))]
#[cold]
pub(crate) fn no_gpu(device: Device) -> Error {
    let message = format!("the device `{device}` cannot be used: this build runs nothing on GPUs");
    let error = Error::new(crate::ErrorKind::NoDevice, message).with_hint("build with the feature `cuda`");
    with_choice(error, device)
}

/// The error of a device that cannot be used, with a hint that the environment chose it, if it did.
#[cold]
pub(crate) fn with_choice(error: Error, device: Device) -> Error {
    if config::get().device != Some(device) {
        return error;
    }
    let before = error.hint().map_or_else(String::new, |hint| format!("{hint}, or "));
    error.with_hint(format!("{before}change `JIT_DEVICE`, which names this device"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_nest_and_concern_one_thread() {
        let before = current_device();
        let outer = DeviceScope::enter(Device::Interpreter);
        let inner = DeviceScope::enter(Device::Cpu);
        assert_eq!(current_device(), Device::Cpu);
        drop(inner);
        assert_eq!(current_device(), Device::Interpreter);
        assert_eq!(std::thread::spawn(current_device).join().unwrap(), before);
        drop(outer);
        assert_eq!(current_device(), before);
    }
}
