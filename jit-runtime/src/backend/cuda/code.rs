//! A kernel as a GPU runs it: kernel IR → PTX → code in the memory of the device.

use std::ops::Range;

use super::driver::{self, Module as Loaded};
use super::{Comments, Layout, Module, threads_per_block};
use crate::backend::{CodeInfo, Executable, RawArgument};
use crate::cancel::Poll;
use crate::config::Device;
use crate::ir::{self, Kernel, passes};
use crate::{Error, ErrorKind};

/// The name of the kernel in its module.
const NAME: &str = "kernel";

/// Code of one kernel, which launches on one GPU run.
pub(crate) struct Code {
    pub(crate) module: Loaded,
    pub(crate) layout: Layout,
    /// The threads of each block, if the kernel determines them.
    pub(crate) threads_per_block: Option<u32>,
    /// The bytes of the text.
    text_bytes: usize,
}

impl Code {
    /// Compiles a kernel that is valid.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoDevice`] if the GPU cannot be used; [`ErrorKind::Compile`] if the driver refuses the code.
    pub(crate) fn compile(number: u8, kernel: &Kernel) -> Result<Code, Error> {
        let gpu = driver::gpu(number)?;
        let mut kernel = kernel.clone();
        passes::expand_math::run(&mut kernel);
        debug_assert!(ir::verify(&kernel).is_ok(), "passes retain that a kernel is valid");
        let mut module = Module::new(gpu.target, Comments::None);
        module.add(NAME, &kernel);
        let text = module.to_string();
        let module = Loaded::load(gpu, &text, c"kernel")?;
        let (layout, threads_per_block) = (Layout::of(&kernel), threads_per_block(&kernel));
        Ok(Code { module, layout, threads_per_block, text_bytes: text.len() })
    }
}

impl Executable for Code {
    /// The machine of the device runs the code instead. Reaching this is a bug, which fails the launch.
    unsafe fn run_polled(&self, _lanes: Range<u64>, _arguments: &[RawArgument], _poll: Poll<'_>) {
        let error = Error::new(ErrorKind::Internal, "code of a GPU does not run on the host");
        std::panic::resume_unwind(Box::new(error));
    }

    fn lanes_per_step(&self) -> usize {
        1
    }

    fn code_bytes(&self) -> usize {
        self.text_bytes
    }

    fn gpu_code(&self) -> Option<&Code> {
        Some(self)
    }
}

/// The text of a kernel for a device, with its instructions as comments: for people.
pub(crate) fn text(number: u8, kernel: &Kernel) -> Result<String, Error> {
    let mut kernel = kernel.clone();
    passes::expand_math::run(&mut kernel);
    let mut module = Module::new(driver::gpu(number)?.target, Comments::Instructions);
    module.add(NAME, &kernel);
    Ok(module.to_string())
}

/// The GPU with a number, as code is generated for it.
///
/// # Errors
///
/// [`ErrorKind::NoDevice`] if it cannot be used.
pub(crate) fn info(number: u8) -> Result<CodeInfo, Error> {
    let (driver, gpu) = (driver::get()?, driver::gpu(number)?);
    gpu.check()?;
    let ((major, minor), target) = (driver.version, gpu.target);
    let gigabytes = gpu.total_bytes as f64 / f64::from(1 << 30);
    let name = format!("{}, {gigabytes:.0} GiB, by the driver of CUDA {major}.{minor}", gpu.name);
    let compute = format!("compute capability {}.{}", gpu.capability / 10, gpu.capability % 10);
    let ptx = format!("PTX {}.{} for sm_{}", target.version.0, target.version.1, target.capability);
    Ok(CodeInfo { name, vector_lanes: 32, features: vec![compute, ptx] })
}

/// The GPUs of this machine, or why there are none.
///
/// # Errors
///
/// [`ErrorKind::NoDevice`] if there is no driver, or if it cannot be used.
pub(crate) fn devices() -> Result<Vec<Device>, Error> {
    Ok((0..driver::get()?.count()).map(|number| Device::Cuda(number as u8)).collect())
}
