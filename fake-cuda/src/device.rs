//! Devices and their properties.

use std::ffi::{c_char, c_int, c_uint};

use crate::code;
use crate::codes::{self, Code};
use crate::failures;
use crate::state::{lock, number};

/// Compute capabilities of the devices.
const CAPABILITIES: [(c_int, c_int); 4] = [(9, 0), (7, 0), (8, 0), (10, 0)];

pub(crate) fn count() -> usize {
    if failures::is_wanted("no-device") { 0 } else { (number("FAKE_CUDA_DEVICES", 2) as usize).min(CAPABILITIES.len()) }
}

/// The compute capability without the dot.
pub(crate) fn capability(device: usize) -> u32 {
    let (major, minor) = CAPABILITIES[device];
    (10 * major + minor) as u32
}

pub(crate) fn has_pools(device: usize) -> bool {
    device.is_multiple_of(2)
}

pub(crate) fn driver_version() -> u32 {
    number("FAKE_CUDA_DRIVER", 12040) as u32
}

fn checked(device: c_int) -> Result<usize, Code> {
    lock().is_initialised.then_some(()).ok_or(codes::NOT_INITIALIZED)?;
    usize::try_from(device).ok().filter(|device| *device < count()).ok_or(codes::INVALID_DEVICE)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuInit(flags: c_uint) -> Code {
    if flags != 0 {
        return codes::INVALID_VALUE;
    }
    if failures::is_wanted("init") || count() == 0 {
        return codes::NO_DEVICE;
    }
    lock().is_initialised = true;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    *version = driver_version() as c_int;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(devices: *mut c_int) -> Code {
    if !lock().is_initialised {
        return codes::NOT_INITIALIZED;
    }
    *devices = count() as c_int;
    codes::SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Code {
    code(checked(ordinal).map(|_| *device = ordinal))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> Code {
    code(checked(device).map(|device| {
        let text = format!("Fake GPU {device}");
        let bytes = text.bytes().take(len.max(1) as usize - 1).chain([0]);
        bytes.enumerate().for_each(|(place, byte)| *name.add(place) = byte as c_char);
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> Code {
    code(checked(device).map(|_| *bytes = memory_bytes()))
}

pub(crate) fn memory_bytes() -> usize {
    number("FAKE_CUDA_MEMORY", 4 << 30) as usize
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> Code {
    code(checked(device).and_then(|device| {
        *value = match attribute {
            1 => 1024,       // the most threads of a block
            5 => c_int::MAX, // the most blocks of a grid
            10 => 32,        // threads of a warp
            16 => 2,         // multiprocessors
            39 => 2048,      // threads of a multiprocessor
            75 => CAPABILITIES[device].0,
            76 => CAPABILITIES[device].1,
            115 => has_pools(device).into(),
            _ => return Err(codes::INVALID_VALUE),
        };
        Ok(())
    }))
}
