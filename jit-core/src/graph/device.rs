//! The devices that a node's value is on: one, or none for a value that is computed from constants alone.
//!
//! A node with elements in memory is on the device of its memory. Any other node is on that of its operands, and must
//! not have operands on several. So devices form a set, of which only the empty one and those of one device are
//! accepted. A set is one byte. Each device is a code with exactly four bits, so the union of two sets is an `or`, and
//! that of different devices has more bits.

use jit_runtime::device::{Device, DeviceScope, current_device};
use jit_runtime::{Error, ErrorKind, Site};

use super::node::Var;
use crate::misuse::Misuse;

/// The number of bytes with four bits: the number of devices that can be distinguished.
const COUNT: usize = 70;

/// The codes by the index of the device.
const CODES: [u8; COUNT] = codes();

/// The index of the device of each code.
static INDICES: [u8; 256] = indices();
/// What is there for the empty set.
const OF_NONE: u8 = u8::MAX - 1;
/// What is there for sets of several devices.
const OF_SEVERAL: u8 = u8::MAX;

const fn codes() -> [u8; COUNT] {
    let (mut codes, mut count, mut code) = ([0; COUNT], 0, 0_u8);
    while count < COUNT {
        if code.count_ones() == 4 {
            codes[count] = code;
            count += 1;
        }
        code += 1;
    }
    codes
}

const fn indices() -> [u8; 256] {
    let (mut indices, mut index) = ([OF_SEVERAL; 256], 0);
    indices[0] = OF_NONE;
    while index < COUNT {
        indices[CODES[index] as usize] = index as u8;
        index += 1;
    }
    indices
}

/// The hint for values on different devices.
const HINT: &str = "copy one of them to the device of the other, with `x.to(device)?`";

/// A set of devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Devices(u8);

impl Devices {
    /// No device: the value is computed from constants alone.
    pub(crate) const NONE: Devices = Devices(0);

    /// Returns the set of one device.
    #[inline]
    pub(crate) fn of(device: Device) -> Devices {
        // No machine has so many GPUs that two of them share the last code.
        Devices(CODES[device.index().min(COUNT - 1)])
    }

    /// Returns the set with these bits.
    #[inline]
    pub(crate) fn from_bits(bits: u8) -> Devices {
        Devices(bits)
    }

    /// Returns the bits, to be stored in a node.
    #[inline]
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Returns all devices of both sets.
    #[inline]
    pub(crate) fn and(self, other: Devices) -> Devices {
        Devices(self.0 | other.0)
    }

    /// Returns all devices of some values.
    #[inline]
    pub(crate) fn of_all<'a>(vars: impl IntoIterator<Item = &'a Var>) -> Devices {
        vars.into_iter().fold(Devices::NONE, |devices, var| devices.and(var.devices()))
    }

    /// Returns whether there are several.
    #[inline]
    pub(crate) fn are_several(self) -> bool {
        INDICES[usize::from(self.0)] == OF_SEVERAL
    }

    /// Returns the device, if there is exactly one.
    #[inline]
    pub(crate) fn single(self) -> Option<Device> {
        let index = INDICES[usize::from(self.0)];
        if index >= OF_NONE { None } else { Device::from_index(usize::from(index)) }
    }

    /// Returns the device, if there is exactly one; otherwise that of new values.
    #[inline]
    pub(crate) fn or_current(self) -> Device {
        self.single().unwrap_or_else(current_device)
    }

    /// Begins a scope in which memory and launches are on the device, if there is exactly one and it is not current.
    #[inline]
    #[must_use]
    pub(crate) fn enter(self) -> Option<DeviceScope> {
        let device = self.single()?;
        (device != current_device()).then(|| DeviceScope::enter(device))
    }
}

/// Rejects a node whose operands, or the parts of its payload, are on different devices.
#[cold]
#[inline(never)]
pub(super) fn refuse_several(var: &Var) -> ! {
    let site = var.site();
    let mut inputs: Vec<Var> = Vec::new();
    var.for_each_input(|input| inputs.push(input.clone()));
    match two_of(inputs.iter()) {
        Some([(first, one), (second, other)]) => {
            Misuse::new(format!("values on the devices `{one}` and `{other}` cannot be combined"), site)
                .value("the first value", first)
                .value("the second value", second)
                .hint(HINT)
                .panic()
        }
        // The states of a loop, whose parts are again on several.
        None => Misuse::new("values on different devices cannot be combined", site).hint(HINT).panic(),
    }
}

/// Returns two values on different devices.
fn two_of<'a>(vars: impl Iterator<Item = &'a Var> + Clone) -> Option<[(&'a Var, Device); 2]> {
    let mut placed = vars.filter_map(|var| Some((var, var.devices().single()?)));
    let first = placed.next()?;
    let second = placed.find(|(_, device)| *device != first.1)?;
    Some([first, second])
}

/// Returns the error of an operation that needs its arguments on one device.
#[cold]
pub(crate) fn several_error<'a>(what: &str, vars: impl Iterator<Item = &'a Var> + Clone, site: Site) -> Error {
    let places = two_of(vars).map(|pair| {
        let [first, second] = pair.map(|(var, device)| format!("`{device}` (made at {})", var.site()));
        format!(": {first} and {second}")
    });
    let message = format!("{what} are on different devices{}", places.unwrap_or_default());
    Error::new(ErrorKind::InvalidArgument, message).at(site).with_hint(HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_of_different_devices_are_several() {
        let all: Vec<Device> = (0..COUNT).filter_map(Device::from_index).collect();
        assert_eq!(all.len(), COUNT);
        for &one in &all {
            assert_eq!(Devices::of(one).single(), Some(one));
            assert_eq!(Devices::of(one).and(Devices::NONE), Devices::of(one));
            for &other in &all {
                let both = Devices::of(one).and(Devices::of(other));
                assert_eq!(both.are_several(), one != other, "{one} and {other}");
                assert_eq!(both.single().is_some(), one == other);
            }
        }
        assert!(!Devices::NONE.are_several() && Devices::NONE.single().is_none());
    }
}
