//! What the module of a bundle uses at run time; no public interface.

use std::sync::OnceLock;

pub use crate::{bf16, f16};
pub use jit_core::Executor;
pub use jit_core::executor::run;
pub use jit_core::freeze::{ByValue, Compiled, Exclusive, Number, Shared};
pub use jit_runtime::Error;

use jit_core::freeze::{Lifted, Recordable};
use jit_runtime::recording::file;

use crate::{Array, Build, Device, Element, ErrorKind};

/// The library, under a name that no item of the program hides.
pub mod jit {
    pub use crate::*;
}

/// The bytes of a bundle in a program.
#[derive(Debug)]
pub struct Bundle {
    bytes: &'static [u8],
    read: OnceLock<file::Bundle<'static>>,
}

impl Bundle {
    #[must_use]
    pub const fn new(bytes: &'static [u8]) -> Bundle {
        Bundle { bytes, read: OnceLock::new() }
    }

    fn entry(&self, name: &str) -> Result<&'static [u8], Error> {
        let read = match self.read.get() {
            Some(read) => read,
            None => {
                let read = file::Bundle::open(self.bytes)?;
                self.read.get_or_init(|| read)
            }
        };
        read.entry(name)
    }
}

/// An executor of a bundle: one for each device that calls were on.
#[derive(Debug)]
pub struct Loaded<F> {
    processor: OnceLock<Executor<F>>,
    interpreter: OnceLock<Executor<F>>,
}

impl<F> Loaded<F> {
    #[allow(clippy::new_without_default, reason = "it is a static")]
    #[must_use]
    pub const fn new() -> Loaded<F> {
        Loaded { processor: OnceLock::new(), interpreter: OnceLock::new() }
    }

    /// Returns the executor for the current device.
    #[track_caller]
    #[inline]
    pub fn get<R: Recordable + Build>(
        &'static self,
        bundle: &Bundle,
        name: &str,
        what: Compiled,
        constexprs: &[&'static str],
        call: F,
    ) -> Result<&'static Executor<F>, Error> {
        let place = match jit_runtime::device::current_device() {
            Device::Cpu => &self.processor,
            Device::Interpreter => &self.interpreter,
            other => return Err(no_code_for(other, name)),
        };
        if let Some(executor) = place.get() {
            return Ok(executor);
        }
        // Two threads may both read it; they get the same one.
        let executor = jit_core::executor::load_bytes::<R, F>(what, constexprs, bundle.entry(name)?, call)?;
        Ok(place.get_or_init(|| executor))
    }
}

#[cold]
fn no_code_for(device: Device, name: &str) -> Error {
    let message = format!("`{name}` cannot be called on the device `{device}`: nothing runs there yet");
    Error::new(ErrorKind::NoDevice, message).with_hint("use `Device::Cpu`")
}

/// Passes a number in the form that is combined with arrays.
#[must_use]
pub fn lifted<T: Element>(number: T) -> Lifted<T> {
    Lifted(Array::from(number))
}
