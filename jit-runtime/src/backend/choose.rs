//! Selects the backend for a device. Only this module knows all backends.

use super::{CodeOptions, Executable, interpreter};
use crate::config::{self, Device};
#[cfg(not(feature = "cuda"))]
use crate::current_device;
use crate::dump::Form;
use crate::ir::{self, Kernel};
use crate::{Error, ErrorKind};

/// The code that is generated for a device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CodeInfo {
    /// Its name according to its manufacturer or library.
    pub name: String,
    /// The number of lanes of 32 bits in one register.
    pub vector_lanes: usize,
    /// Instruction sets that generated code uses.
    pub features: Vec<String>,
}

/// Compiles an optimised kernel for a device. On the CPU without LLVM, that is the interpreter's code; this is reported
/// once.
///
/// # Errors
///
/// If the backend does not support the kernel.
pub fn compile(device: Device, kernel: &Kernel, options: CodeOptions) -> Result<Box<dyn Executable>, Error> {
    match device {
        Device::Cpu if cpu::is_generating() => match cpu::compile(kernel, options) {
            // The process has begun to end meanwhile.
            Err(_) if !cpu::is_generating() => interpreted(kernel, options),
            outcome => outcome,
        },
        Device::Cpu | Device::Interpreter => interpreted(kernel, options),
        Device::Cuda(_) if config::is_test_gpu(device) => interpreted(kernel, options),
        Device::Cuda(number) => {
            check(kernel)?;
            gpu::compile(number, kernel)
        }
    }
}

fn interpreted(kernel: &Kernel, options: CodeOptions) -> Result<Box<dyn Executable>, Error> {
    check(kernel)?;
    Ok(Box::new(interpreter::prepare(kernel.clone()).with_scatters(options.scatters)))
}

/// Checks that a kernel is well-formed. Backends rely on it.
pub(super) fn check(kernel: &Kernel) -> Result<(), Error> {
    ir::verify(kernel)
        .map_err(|error| Error::new(ErrorKind::Internal, "the kernel is not well-formed").caused_by(error))
}

/// Recompiles a kernel that was compiled with these options; none if more effort does not improve it.
///
/// # Errors
///
/// If the backend does not support the kernel.
pub fn improve(device: Device, kernel: &Kernel, options: CodeOptions) -> Result<Option<Box<dyn Executable>>, Error> {
    match device {
        Device::Cpu if cpu::is_generating() => cpu::improve(kernel, options),
        Device::Cpu | Device::Interpreter | Device::Cuda(_) => Ok(None),
    }
}

/// Compiles a kernel that has code already; none where no code is generated.
///
/// # Errors
///
/// If the backend does not support the kernel.
pub(crate) fn recompile(
    device: Device,
    kernel: &Kernel,
    options: CodeOptions,
) -> Result<Option<Box<dyn Executable>>, Error> {
    match device {
        Device::Cpu if cpu::is_generating() => cpu::compile(kernel, options).map(Some),
        Device::Cpu | Device::Interpreter | Device::Cuda(_) => Ok(None),
    }
}

/// The code that is generated for a device.
///
/// # Errors
///
/// Why the device is not fully functional on this machine: for the CPU, why no code is generated.
pub fn code_info(device: Device) -> Result<CodeInfo, Error> {
    match device {
        Device::Cpu => cpu::code_info(),
        Device::Interpreter => Ok(CodeInfo { name: "interpreter".into(), vector_lanes: 1, features: Vec::new() }),
        Device::Cuda(_) if config::is_test_gpu(device) => {
            Ok(CodeInfo { name: "interpreter with separate memory".into(), vector_lanes: 1, features: Vec::new() })
        }
        Device::Cuda(number) => gpu::info(number),
    }
}

/// The GPUs of this machine; simulated ones in tests.
///
/// # Errors
///
/// [`NoDevice`](ErrorKind::NoDevice) if there is no driver, or if it cannot be used, with the reason.
pub fn gpus() -> Result<Vec<Device>, Error> {
    match config::test_gpus() {
        0 => gpu::devices(),
        count => Ok((0..count).map(|number| Device::Cuda(number as u8)).collect()),
    }
}

/// Whether the code for a device can be stored and loaded by other processes.
#[cfg(loads_code)]
pub(crate) fn is_code_stored(device: Device) -> bool {
    match device {
        Device::Cpu => true,
        Device::Interpreter => false,
        Device::Cuda(_) => cfg!(feature = "cuda") && !config::is_test_gpu(device),
    }
}

/// What machine code for a GPU depends on besides its PTX.
///
/// # Errors
///
/// [`NoDevice`](ErrorKind::NoDevice) if the GPU cannot be used.
#[cfg(loads_code)]
pub(crate) fn gpu_maker(number: u8) -> Result<super::cuda::GpuMaker, Error> {
    gpu::maker(number)
}

/// Code for a GPU from the bytes that another process stored, for a kernel with these parameters.
///
/// # Errors
///
/// [`Compile`](ErrorKind::Compile) if the driver refuses it; [`NoDevice`](ErrorKind::NoDevice) if the GPU cannot be
/// used.
#[cfg(loads_code)]
pub(crate) fn load_gpu_code(number: u8, params: &[ir::Param], image: &[u8]) -> Result<Box<dyn Executable>, Error> {
    gpu::load(number, params, image)
}

/// The machine code for a GPU of a kernel of library calls that was stored under a key.
///
/// # Errors
///
/// [`InvalidArgument`](ErrorKind::InvalidArgument) if the key is that of another version;
/// [`NoDevice`](ErrorKind::NoDevice) if the GPU cannot be used; [`Compile`](ErrorKind::Compile) if the driver refuses
/// the code.
#[cfg(loads_code)]
pub(crate) fn compile_routine(number: u8, key: &str) -> Result<Vec<u8>, Error> {
    gpu::compile_routine(number, key)
}

/// The version of the LLVM that compiles, and the file that it is in; loads it.
///
/// # Errors
///
/// `NoDevice` if there is none, with what was tried and how to get one.
pub fn llvm_version() -> Result<(String, std::path::PathBuf), Error> {
    cpu::llvm_version()
}

/// The instructions of an object file as text; the target is given by its identity.
///
/// # Errors
///
/// `NoDevice` if there is no LLVM, which disassembles; `Compile` if these are not the bytes of an object file.
#[cfg(loads_code)]
pub(crate) fn disassemble(object: &[u8], target: &str) -> Result<String, Error> {
    let unknown = || Error::new(ErrorKind::Compile, format!("the processor `{target}` is not known"));
    cpu::disassemble(object, &super::Target::from_identity(target).ok_or_else(unknown)?)
}

/// The instructions of an object file for this processor as text.
///
/// # Errors
///
/// `NoDevice` if there is no LLVM, which disassembles; `Compile` if these are not the bytes of an object file.
#[cfg(loads_code)]
pub(crate) fn disassemble_for_host(object: &[u8]) -> Result<String, Error> {
    cpu::disassemble(object, super::Target::host()?)
}

/// The object file of an optimised kernel for a processor that need not be this one; none where no code is generated.
///
/// # Errors
///
/// If the backend does not support the kernel.
#[cfg(loads_code)]
pub(crate) fn object_for(
    device: Device,
    kernel: &Kernel,
    options: CodeOptions,
    target: &super::Target,
) -> Result<Option<Box<[u8]>>, Error> {
    match device {
        Device::Cpu if cpu::is_generating() => cpu::object_for(kernel, options, target).map(Some),
        Device::Cpu | Device::Interpreter | Device::Cuda(_) => Ok(None),
    }
}

/// Whether LLVM has been loaded.
#[cfg(loads_code)]
pub(crate) fn is_llvm_loaded() -> bool {
    cpu::is_llvm_loaded()
}

/// A form of an optimised kernel that only the backend of the device can produce.
pub(crate) fn render(device: Device, kernel: &Kernel, options: CodeOptions, form: Form) -> Option<String> {
    match device {
        Device::Cpu if cpu::is_generating() => cpu::render(kernel, options, form),
        Device::Cuda(number) if form == Form::Ptx && !config::is_test_gpu(device) => gpu::render(number, kernel),
        Device::Cpu | Device::Interpreter | Device::Cuda(_) => None,
    }
}

#[cfg(feature = "cuda")]
mod gpu {
    #[cfg(loads_code)]
    pub(super) use crate::backend::cuda::code::{compile_routine, maker};
    pub(super) use crate::backend::cuda::code::{devices, info};

    use crate::Error;
    use crate::backend::Executable;
    use crate::backend::cuda::code::{Code, text};
    use crate::ir::Kernel;

    #[cfg(loads_code)]
    pub(super) fn load(number: u8, params: &[super::ir::Param], image: &[u8]) -> Result<Box<dyn Executable>, Error> {
        Ok(Box::new(Code::load(number, params, image.into())?))
    }

    pub(super) fn compile(number: u8, kernel: &Kernel) -> Result<Box<dyn Executable>, Error> {
        Ok(Box::new(Code::compile(number, kernel)?))
    }

    pub(super) fn render(number: u8, kernel: &Kernel) -> Option<String> {
        Some(text(number, kernel).unwrap_or_else(|error| error.to_string()))
    }
}

#[cfg(not(feature = "cuda"))]
mod gpu {
    use super::{CodeInfo, Error, Executable, Kernel, current_device};
    use crate::config::Device;

    pub(super) fn compile(number: u8, _kernel: &Kernel) -> Result<Box<dyn Executable>, Error> {
        Err(current_device::no_gpu(Device::Cuda(number)))
    }

    #[cfg(loads_code)]
    pub(super) fn maker(number: u8) -> Result<crate::backend::cuda::GpuMaker, Error> {
        Err(current_device::no_gpu(Device::Cuda(number)))
    }

    #[cfg(loads_code)]
    pub(super) fn compile_routine(number: u8, _key: &str) -> Result<Vec<u8>, Error> {
        Err(current_device::no_gpu(Device::Cuda(number)))
    }

    #[cfg(loads_code)]
    pub(super) fn load(number: u8, _: &[super::ir::Param], _: &[u8]) -> Result<Box<dyn Executable>, Error> {
        Err(current_device::no_gpu(Device::Cuda(number)))
    }

    pub(super) fn info(number: u8) -> Result<CodeInfo, Error> {
        Err(current_device::no_gpu(Device::Cuda(number)))
    }

    pub(super) fn devices() -> Result<Vec<Device>, Error> {
        Err(current_device::no_gpu(Device::Cuda(0)))
    }

    pub(super) fn render(_number: u8, _kernel: &Kernel) -> Option<String> {
        None
    }
}

#[cfg(all(feature = "llvm", target_os = "linux"))]
mod cpu {
    use std::sync::LazyLock;

    use super::{CodeInfo, CodeOptions, Error, Executable, Form, Kernel};
    use crate::backend::{Target, llvm};
    use crate::log::{self, Level};

    static IS_GENERATING: LazyLock<bool> = LazyLock::new(|| match llvm::available() {
        Ok(_) => true,
        Err(error) => {
            log::emit(Level::Warn, || format!("kernels are interpreted, which is slow: {error}"));
            false
        }
    });

    /// Whether an LLVM is available; the first call reports it if not.
    pub(super) fn is_generating() -> bool {
        llvm::is_open() && *IS_GENERATING
    }

    pub(super) fn compile(kernel: &Kernel, options: CodeOptions) -> Result<Box<dyn Executable>, Error> {
        Ok(Box::new(llvm::compile(kernel, options)?))
    }

    pub(super) fn improve(kernel: &Kernel, options: CodeOptions) -> Result<Option<Box<dyn Executable>>, Error> {
        let better = llvm::improve(kernel, options)?;
        Ok(better.map(|better| Box::new(better) as Box<dyn Executable>))
    }

    pub(super) fn object_for(kernel: &Kernel, options: CodeOptions, target: &Target) -> Result<Box<[u8]>, Error> {
        llvm::object_for(kernel, options, target)
    }

    pub(super) fn code_info() -> Result<CodeInfo, Error> {
        llvm::available()?;
        let target = Target::host()?;
        let name = format!("{} by LLVM {}", target.identity(), llvm::version()?);
        let features = target.features.split(',').filter_map(|feature| feature.strip_prefix('+')).map(str::to_owned);
        Ok(CodeInfo { name, vector_lanes: target.lanes, features: features.collect() })
    }

    pub(super) fn llvm_version() -> Result<(String, std::path::PathBuf), Error> {
        Ok((llvm::version()?, llvm::available()?.path.clone()))
    }

    pub(super) fn is_llvm_loaded() -> bool {
        llvm::is_loaded()
    }

    pub(super) fn disassemble(object: &[u8], target: &Target) -> Result<String, Error> {
        llvm::disassemble(object, target)
    }

    pub(super) fn render(kernel: &Kernel, options: CodeOptions, form: Form) -> Option<String> {
        let text = match form {
            Form::Llvm => llvm::dump_llvm(kernel, options),
            Form::Asm => llvm::dump_asm(kernel, options),
            Form::Trace | Form::Ir | Form::Ptx => return None,
        };
        Some(text.unwrap_or_else(|error| error.to_string()))
    }
}

#[cfg(not(all(feature = "llvm", target_os = "linux")))]
mod cpu {
    use super::{CodeInfo, CodeOptions, Error, Executable, Form, Kernel};
    use crate::ErrorKind;

    pub(super) fn is_generating() -> bool {
        false
    }

    pub(super) fn compile(_kernel: &Kernel, _options: CodeOptions) -> Result<Box<dyn Executable>, Error> {
        Err(no_llvm())
    }

    pub(super) fn improve(_kernel: &Kernel, _options: CodeOptions) -> Result<Option<Box<dyn Executable>>, Error> {
        Ok(None)
    }

    #[cfg(loads_code)]
    pub(super) fn object_for(_: &Kernel, _: CodeOptions, _: &crate::backend::Target) -> Result<Box<[u8]>, Error> {
        Err(no_llvm())
    }

    pub(super) fn code_info() -> Result<CodeInfo, Error> {
        Err(no_llvm())
    }

    pub(super) fn llvm_version() -> Result<(String, std::path::PathBuf), Error> {
        Err(no_llvm())
    }

    #[cfg(loads_code)]
    pub(super) fn is_llvm_loaded() -> bool {
        false
    }

    #[cfg(loads_code)]
    pub(super) fn disassemble(_object: &[u8], _target: &crate::backend::Target) -> Result<String, Error> {
        Err(no_llvm())
    }

    pub(super) fn render(_kernel: &Kernel, _options: CodeOptions, _form: Form) -> Option<String> {
        None
    }

    fn no_llvm() -> Error {
        Error::new(ErrorKind::NoDevice, "this build generates no code, kernels are interpreted")
            .with_hint("build with the feature `llvm`")
    }
}
