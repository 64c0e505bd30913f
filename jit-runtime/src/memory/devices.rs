//! Memory of devices that have their own: what is in use and cached. Machines are above this folder, so they register
//! what reports it.

use crate::config::Device;
use crate::sync::Mutex;

/// Memory use of a device whose memory is not the host's.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeviceMemory {
    /// The device.
    pub device: Device,
    /// Bytes in live arrays and in what launches in flight use, rounded up to the allocator's sizes.
    pub live_bytes: usize,
    /// Bytes that are cached for later arrays. [`trim_memory`](super::trim_memory) returns them.
    pub cached_bytes: usize,
    /// The peak of live bytes since the start.
    pub peak_bytes: usize,
    /// How often memory was requested from the driver because no cached block had the size.
    pub system_allocations: u64,
    /// Bytes that the driver has left for all processes; none if it did not say. Memory that it has pooled counts as
    /// used until it is trimmed.
    pub free_bytes: Option<usize>,
    /// Bytes that the device has.
    pub total_bytes: usize,
}

impl DeviceMemory {
    /// A device of which nothing is in use.
    #[must_use]
    pub fn new(device: Device, total_bytes: usize) -> DeviceMemory {
        DeviceMemory {
            device,
            live_bytes: 0,
            cached_bytes: 0,
            peak_bytes: 0,
            system_allocations: 0,
            free_bytes: None,
            total_bytes,
        }
    }
}

/// Adds the devices of a machine to a list.
type Report = fn(&mut Vec<DeviceMemory>);

static REPORTS: Mutex<Vec<Report>> = Mutex::new(Vec::new());

/// Registers a function that reports the memory of devices in use. Register each once.
#[cfg(feature = "cuda")]
pub(crate) fn on_report(report: Report) {
    REPORTS.lock().push(report);
}

/// The devices in use that have memory of their own.
pub(super) fn report() -> Vec<DeviceMemory> {
    let reports = REPORTS.lock().clone();
    let mut devices = Vec::new();
    reports.into_iter().for_each(|report| report(&mut devices));
    devices
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<crate::fork::Held>) {
    let guard = crate::sync::persist(|| REPORTS.try_lock());
    held.extend(guard.map(|guard| Box::new(guard) as crate::fork::Held));
}
