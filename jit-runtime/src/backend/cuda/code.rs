//! A kernel as a GPU runs it: kernel IR → PTX → machine code → code in the memory of the device. Machine code from disk
//! needs neither of the first two.

use std::ops::Range;

use super::driver::{self, Gpu, Module as Loaded};
use super::library::Routine;
use super::{Comments, GpuMaker, Layout, Module, threads_per_block};
use crate::backend::{CodeInfo, Executable, RawArgument};
use crate::cancel::Poll;
use crate::config::Device;
use crate::ir::{self, Kernel, Param, passes};
use crate::{Error, ErrorKind};

/// The name of the kernel in its module.
const NAME: &str = "kernel";

/// Code of one kernel, which launches on one GPU run.
pub(crate) struct Code {
    pub(crate) module: Loaded,
    pub(crate) layout: Layout,
    /// The threads of each block, if the kernel determines them.
    pub(crate) threads_per_block: Option<u32>,
    /// What other processes load.
    image: Box<[u8]>,
}

/// What launches must know of machine code, and the code: the bytes that are stored.
///
/// | bytes | |
/// |---|---|
/// | 0..4 | the threads of each block, if the kernel determines them: it has reductions; otherwise 0 |
/// | 4..12 | [`Layout::scratch_bytes_per_thread`] |
/// | … | the machine code |
struct Image<'a> {
    threads_per_block: Option<u32>,
    scratch_bytes_per_thread: u64,
    machine_code: &'a [u8],
}

const IMAGE_HEADER_BYTES: usize = 12;

impl<'a> Image<'a> {
    fn encode(&self) -> Box<[u8]> {
        let threads = self.threads_per_block.unwrap_or_default().to_le_bytes();
        [&threads[..], &self.scratch_bytes_per_thread.to_le_bytes(), self.machine_code].concat().into()
    }

    fn decode(bytes: &'a [u8]) -> Option<Image<'a>> {
        let (threads, rest) = bytes.split_first_chunk::<4>()?;
        let (scratch, machine_code) = rest.split_first_chunk::<8>()?;
        let threads_per_block = Some(u32::from_le_bytes(*threads)).filter(|threads| *threads > 0);
        Some(Image { threads_per_block, scratch_bytes_per_thread: u64::from_le_bytes(*scratch), machine_code })
    }
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
        let machine_code = driver::link(gpu, &module.to_string(), "a kernel")?;
        let scratch_bytes_per_thread = Layout::of(&kernel).scratch_bytes_per_thread();
        let threads_per_block = threads_per_block(&kernel);
        let image = Image { threads_per_block, scratch_bytes_per_thread, machine_code: &machine_code }.encode();
        Code::load(number, &kernel.params, image)
    }

    /// Loads the code of a kernel with such parameters, which was compiled for such a GPU by such a driver.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoDevice`] if the GPU cannot be used; [`ErrorKind::Compile`] if the driver refuses the code.
    pub(crate) fn load(number: u8, params: &[Param], image: Box<[u8]>) -> Result<Code, Error> {
        let cut = || Error::new(ErrorKind::Compile, "the code of a kernel is cut off");
        let Image { threads_per_block, scratch_bytes_per_thread, machine_code } =
            Image::decode(&image).ok_or_else(cut)?;
        let module = Loaded::load(driver::gpu(number)?, machine_code, c"kernel")?;
        let layout = Layout::with(params, threads_per_block.is_some(), scratch_bytes_per_thread);
        Ok(Code { module, layout, threads_per_block, image })
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
        self.image.len() - IMAGE_HEADER_BYTES
    }

    fn gpu_code(&self) -> Option<&Code> {
        Some(self)
    }

    fn object(&self) -> Option<&[u8]> {
        Some(&self.image)
    }
}

/// The text of a kernel for a device, with its instructions and source lines as comments: for people.
pub(crate) fn text(number: u8, kernel: &Kernel) -> Result<String, Error> {
    let mut kernel = kernel.clone();
    passes::expand_math::run(&mut kernel);
    let mut module = Module::new(driver::gpu(number)?.target, Comments::Instructions);
    module.add(NAME, &kernel);
    Ok(module.to_string())
}

/// The machine code of a kernel of library calls.
///
/// # Errors
///
/// [`ErrorKind::NoDevice`] if the GPU cannot be used; [`ErrorKind::Compile`] if the driver refuses the code.
pub(crate) fn link_routine(gpu: &'static Gpu, routine: Routine) -> Result<Vec<u8>, Error> {
    driver::link(gpu, &routine.module(gpu.target).to_string(), &format!("`{}`", routine.name()))
}

/// The machine code of a kernel of library calls that was stored under a key.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if the key is that of another version; otherwise as [`link_routine`].
#[cfg(loads_code)]
pub(crate) fn compile_routine(number: u8, key: &str) -> Result<Vec<u8>, Error> {
    let unknown = || Error::new(ErrorKind::InvalidArgument, format!("no kernel of library calls is `{key}`"));
    link_routine(driver::gpu(number)?, Routine::of_key(key).ok_or_else(unknown)?)
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

/// What machine code for a GPU depends on.
///
/// # Errors
///
/// [`ErrorKind::NoDevice`] if it cannot be used.
pub(crate) fn maker(number: u8) -> Result<GpuMaker, Error> {
    Ok(driver::get()?.maker(driver::gpu(number)?))
}

/// The GPUs of this machine, or why there are none.
///
/// # Errors
///
/// [`ErrorKind::NoDevice`] if there is no driver, or if it cannot be used.
pub(crate) fn devices() -> Result<Vec<Device>, Error> {
    Ok((0..driver::get()?.count()).map(|number| Device::Cuda(number as u8)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_read_back_and_cut_ones_are_refused() {
        for threads_per_block in [None, Some(64)] {
            let bytes = Image { threads_per_block, scratch_bytes_per_thread: 1 << 40, machine_code: b"code" }.encode();
            let image = Image::decode(&bytes).unwrap();
            assert_eq!((image.threads_per_block, image.scratch_bytes_per_thread), (threads_per_block, 1 << 40));
            assert_eq!((image.machine_code, bytes.len()), (&b"code"[..], IMAGE_HEADER_BYTES + 4));
            assert!(Image::decode(&bytes[..IMAGE_HEADER_BYTES - 1]).is_none());
        }
    }
}
