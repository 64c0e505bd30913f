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

/// The most live bytes on devices.
pub(crate) type Peaks = Vec<(Device, usize)>;

/// What machines say of the memory of their devices in use.
#[derive(Clone, Copy)]
pub(crate) struct Reporter {
    /// Adds the devices to a list.
    pub(crate) report: fn(&mut Vec<DeviceMemory>),
    /// Bytes in live arrays on a device; none if it is not one of these.
    pub(crate) live_bytes: fn(Device) -> Option<usize>,
    /// Adds the most live bytes since the last call.
    pub(crate) take_peaks: fn(&mut Peaks),
}

static REPORTERS: Mutex<Vec<Reporter>> = Mutex::new(Vec::new());

/// Registers what reports the memory of devices in use. Register each once.
#[cfg(feature = "cuda")]
pub(crate) fn on_report(reporter: Reporter) {
    REPORTERS.lock().push(reporter);
}

/// Bytes in live arrays on a device in use that has memory of its own.
pub(crate) fn live_bytes(device: Device) -> Option<usize> {
    REPORTERS.lock().clone().into_iter().find_map(|reporter| (reporter.live_bytes)(device))
}

/// The most live bytes on each device since the last call.
pub(crate) fn take_peaks() -> Peaks {
    let reporters = REPORTERS.lock().clone();
    let mut peaks = Peaks::new();
    reporters.into_iter().for_each(|reporter| (reporter.take_peaks)(&mut peaks));
    peaks
}

/// Raises peaks to others; devices that are new are added.
pub(crate) fn raise(peaks: &mut Peaks, others: &[(Device, usize)]) {
    for &(device, bytes) in others {
        match peaks.iter_mut().find(|(known, _)| *known == device) {
            Some((_, peak)) => *peak = bytes.max(*peak),
            None => peaks.push((device, bytes)),
        }
    }
}

/// The devices in use that have memory of their own.
pub(crate) fn report() -> Vec<DeviceMemory> {
    let reporters = REPORTERS.lock().clone();
    let mut devices = Vec::new();
    reporters.into_iter().for_each(|reporter| (reporter.report)(&mut devices));
    devices
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<crate::fork::Held>) {
    let guard = crate::sync::persist(|| REPORTERS.try_lock());
    held.extend(guard.map(|guard| Box::new(guard) as crate::fork::Held));
}
