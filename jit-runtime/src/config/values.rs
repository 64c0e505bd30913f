//! The values of environment variables that are neither numbers nor paths.

use std::fmt;

/// Where a value is, and where kernels run that compute with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Device {
    /// All cores of this machine, with code that LLVM generates; without LLVM the interpreter is used.
    Cpu,
    /// All cores of this machine, operation by operation: slow, without dependencies, and the reference for results.
    Interpreter,
    /// The NVIDIA GPU with this number, from 0 on. No build can use one yet: making an array on it is the error
    /// [`NoDevice`](crate::ErrorKind::NoDevice).
    Cuda(u8),
}

impl Device {
    /// The devices that every machine has.
    pub const HOST: [Device; 2] = [Device::Cpu, Device::Interpreter];

    /// The name of its kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Device::Cpu => "cpu",
            Device::Interpreter => "interpreter",
            Device::Cuda(_) => "cuda",
        }
    }

    /// The device with this name, as `Display` writes it: `cpu` (or `llvm`), `interpreter`, `cuda:1` for the second GPU
    /// (`cuda` for the first).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Device> {
        match name {
            "llvm" => Some(Device::Cpu),
            "cuda" => Some(Device::Cuda(0)),
            _ => match name.strip_prefix("cuda:") {
                Some(number) => number.parse().ok().map(Device::Cuda),
                None => Device::HOST.into_iter().find(|device| device.name() == name),
            },
        }
    }

    /// A number of its own, for keys and tables: 0 for the CPU, 1 for the interpreter, from 2 on for GPUs.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Device::Cpu => 0,
            Device::Interpreter => 1,
            Device::Cuda(number) => 2 + number as usize,
        }
    }

    /// The device with this [`index`](Device::index), if there is one.
    #[must_use]
    pub const fn from_index(index: usize) -> Option<Device> {
        match index {
            0 => Some(Device::Cpu),
            1 => Some(Device::Interpreter),
            2..=257 => Some(Device::Cuda((index - 2) as u8)),
            _ => None,
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu | Device::Interpreter => f.write_str(self.name()),
            Device::Cuda(number) => write!(f, "cuda:{number}"),
        }
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
    /// The code for a GPU.
    Ptx,
    /// Assembly of the generated code.
    Asm,
}

impl Form {
    pub(crate) const ALL: [Form; 5] = [Form::Trace, Form::Ir, Form::Llvm, Form::Ptx, Form::Asm];
    pub(crate) const NAMES: &'static [&'static str] = &["trace", "ir", "llvm", "ptx", "asm"];

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
