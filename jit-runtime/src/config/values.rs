//! What variables of the environment take, where it is no number and no path.

use std::fmt;

/// Where a kernel runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Device {
    /// All cores of this machine, with code that LLVM generates; without LLVM the interpreter does the work.
    Cpu,
    /// All cores of this machine, operation by operation: slow, needs nothing, and defines what is right.
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
    /// What went wrong and could not be returned to a caller.
    Error,
    /// What works, but not as it should. The level at the start.
    Warn,
    /// What was compiled.
    Info,
    /// What was decided: evictions, choices of code.
    Debug,
    /// Each launch.
    Trace,
}

impl Level {
    /// All levels, from quiet to talkative.
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

/// A form in which a kernel can be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Form {
    /// The trace that it was scheduled from; written by the language above.
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

/// How much time the generation of code may take. Results are the same, but for the bits of values that are not
/// numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Effort {
    /// Little, where the code is not much slower for it.
    #[default]
    Quick,
    /// As much as the code gets faster by.
    Thorough,
}
