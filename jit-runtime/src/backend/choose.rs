//! Which backend serves a device. The one place that knows them all.

use crate::Error;
use crate::device::Device;
use crate::dump::Form;
use crate::ir::Kernel;

use super::{CodeOptions, Executable, interpreter};

/// What distinguishes a device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capabilities {
    /// What its maker, or its library, calls it.
    pub name: String,
    /// Lanes of 32 bits in one register.
    pub vector_lanes: usize,
    /// Instruction sets that generated code uses.
    pub features: Vec<String>,
}

/// Turns an optimised kernel into code for a device.
///
/// # Errors
///
/// What the backend cannot do.
pub fn compile(device: Device, kernel: &Kernel, _options: CodeOptions) -> Result<Box<dyn Executable>, Error> {
    match device {
        Device::Cpu | Device::Interpreter => Ok(Box::new(interpreter::prepare(kernel.clone()))),
    }
}

/// What a device can do.
///
/// # Errors
///
/// Why it cannot be used on this machine.
pub fn capabilities(device: Device) -> Result<Capabilities, Error> {
    match device {
        Device::Cpu | Device::Interpreter => {
            Ok(Capabilities { name: "interpreter".into(), vector_lanes: 1, features: Vec::new() })
        }
    }
}

/// A form of an optimised kernel that only the backend of the device can give.
pub(crate) fn render(device: Device, _kernel: &Kernel, _options: CodeOptions, _form: Form) -> Option<String> {
    match device {
        Device::Cpu | Device::Interpreter => None,
    }
}
