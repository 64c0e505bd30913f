//! The values of environment variables that are neither numbers nor paths.

use std::fmt;

/// Where a kernel runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Device {
    /// All cores of this machine, with code that LLVM generates; without LLVM the interpreter is used.
    Cpu,
    /// All cores of this machine, operation by operation: slow, without dependencies, and the reference for results.
    Interpreter,
}

impl Device {
    /// Every device that this build knows.
    pub const ALL: [Device; 2] = [Device::Cpu, Device::Interpreter];

    /// The name that `JIT_DEVICE` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Device::Cpu => "cpu",
            Device::Interpreter => "interpreter",
        }
    }

    /// The device with this name; `llvm` is another name of the CPU.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Device> {
        match name {
            "llvm" => Some(Device::Cpu),
            _ => Device::ALL.into_iter().find(|device| device.name() == name),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much is written to standard error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum Level {
    /// Nothing.
    Off,
    /// Errors that could not be returned to a caller.
    Error,
    /// Things that work, but not as they should. The default level.
    Warn,
    /// Compiled kernels.
    Info,
    /// Decisions: evictions, choices of code.
    Debug,
    /// Each launch.
    Trace,
}

impl Level {
    /// All levels, from quiet to verbose.
    pub const ALL: [Level; 6] = [Level::Off, Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];

    /// The name that `JIT_LOG` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }
}

/// A readable form of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Form {
    /// The trace from which it was scheduled; written by the array language.
    Trace,
    /// Kernel IR, as it was scheduled and as it was compiled.
    Ir,
    /// LLVM's intermediate representation.
    Llvm,
    /// Assembly of the generated code.
    Asm,
}

impl Form {
    const ALL: [Form; 4] = [Form::Trace, Form::Ir, Form::Llvm, Form::Asm];
    pub(crate) const NAMES: &'static [&'static str] = &["trace", "ir", "llvm", "asm"];

    /// The name that `JIT_DUMP` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Form::NAMES[self as usize]
    }

    pub(crate) fn from_name(name: &str) -> Option<Form> {
        Form::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// A set of forms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Forms(u8);

impl Forms {
    pub(crate) fn insert(&mut self, form: Form) {
        self.0 |= 1 << form as u8;
    }

    pub(crate) fn contains(self, form: Form) -> bool {
        self.0 & (1 << form as u8) != 0
    }
}

/// The time that code generation may take. Results are the same, except for the bits of NaNs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Effort {
    /// Short, if the code is not much slower for it.
    #[default]
    Quick,
    /// As long as it makes the code faster.
    Thorough,
}
