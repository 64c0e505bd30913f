//! What is in the folders of the disk cache, for people and tools: which kernels, how often they were used, and why one
//! of them is not used here.
//!
//! Nothing here is needed to run kernels. Files are read and checked as programs read them; what is wrong with one is a
//! part of its description and no error.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

#[cfg(loads_code)]
use super::disk::inspect;
use crate::backend::CodeOptions;
use crate::config::Device;
use crate::ir::{self, Kernel};
use crate::{Error, ErrorKind};

/// A folder of kernels on disk: the user's own one, or a shared one that is only read.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CacheFolder {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it is the one of `JIT_CACHE_SHARED_DIR`.
    pub is_shared: bool,
}

/// What a file of a cache folder contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CacheFileKind {
    /// The code of a kernel.
    Kernel,
    /// Which literals of a program are parameters of its kernel.
    Literals,
    /// Which LLVM was found where.
    Library,
    /// The secret that checksums are keyed with.
    Secret,
    /// The locks of processes that compile.
    Locks,
    /// A file that a process is writing, or was writing when it was killed.
    Unpublished,
    /// None of these: it is left alone.
    Foreign,
}

/// A file of a cache folder.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct CacheFile {
    /// Its name in the folder: for kernels and literals the digest of the key, in hexadecimal.
    pub name: String,
    /// What it contains, as far as that can be told.
    pub kind: CacheFileKind,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was written or used.
    pub last_used: Option<SystemTime>,
    /// How many processes read it. Processes that read it at the same moment may count once.
    pub uses: u64,
    /// The time that making it took: for a kernel, compiling it.
    pub cost: Duration,
    /// Why it is not used by any process: it is damaged, or could have been written by somebody else.
    pub flaw: Option<String>,
    /// The kernel, if this is the intact file of one.
    pub kernel: Option<StoredKernel>,
}

/// A kernel on disk.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct StoredKernel {
    /// The label of the launch that it was compiled for.
    pub label: String,
    /// The number of operations that were compiled.
    pub compiled_ops: usize,
    /// The digest of the sources of the code generator: [`CODE_DIGEST`](crate::backend::CODE_DIGEST) of the library
    /// that compiled it.
    pub code_digest: String,
    /// The version of the LLVM that compiled it, with the size of its library; empty for code of a GPU.
    pub llvm: String,
    /// The version of the driver that compiled it, for code of a GPU.
    pub driver: Option<String>,
    /// The processor that it was compiled for: instruction set, level, lanes of a packet, features. For code of a GPU,
    /// `cuda`, its compute capability, and version and target of the PTX.
    pub target: String,
    /// Which kernel of library calls of a GPU it is, if it is one: it has no kernel IR.
    pub routine: Option<String>,
    /// The code options.
    pub options: CodeOptions,
    /// The part of its key that is text.
    pub key: String,
    /// The canonical bytes of the kernel: the rest of its key. Empty for a kernel of library calls.
    pub kernel: Vec<u8>,
    /// The object file; for code of a GPU its machine code, for a kernel with IR after what launches must know of it.
    pub object: Vec<u8>,
}

/// What keys of this process contain: it finds the kernels whose keys are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CacheHost {
    /// The digest of the code generator's sources.
    pub code_digest: String,
    /// The version of the LLVM that would compile. Where there is none, of all that have compiled for the folders.
    pub llvm: Vec<String>,
    /// Whether there is an LLVM.
    pub has_llvm: bool,
    /// The processor; empty if generated code cannot run here.
    pub target: String,
    /// The version of the driver of GPUs, if there is one that can be used.
    pub driver: Option<String>,
    /// The GPUs, as targets of their code.
    pub gpus: Vec<String>,
}

/// The part of a key that differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MissReason {
    /// The library: its code generator has other sources.
    CodeGenerator,
    /// The version of LLVM.
    Llvm,
    /// The version of the driver of GPUs.
    Driver,
    /// The instruction sets of the processor, or the compute capability of the GPU.
    Processor,
    /// The effort that `JIT_TIER` asks for.
    Options,
}

/// Why a kernel on disk is not used by this process.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Miss {
    /// The part of the key that differs.
    pub reason: MissReason,
    /// What it is here and there.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl CacheFolder {
    /// The folders that the environment names, the user's own one first, whether or not `JIT_CACHE` lets programs use
    /// them. Empty where code is not kept on disk: on other systems than Linux.
    #[must_use]
    pub fn all() -> Vec<CacheFolder> {
        #[cfg(loads_code)]
        return inspect::folders();
        #[cfg(not(loads_code))]
        Vec::new()
    }

    pub(super) fn new(path: PathBuf, is_shared: bool) -> CacheFolder {
        CacheFolder { path, is_shared }
    }

    /// Whether there is something at its path.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// Checks that programs can use it: that it is the user's, or readable if it is shared, that nobody else can write
    /// it, and that a file can be written. The user's own folder is made if there is none, as programs do.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] with what is wrong, and as a hint what to do.
    pub fn check(&self) -> Result<(), Error> {
        #[cfg(loads_code)]
        return inspect::check(self);
        #[cfg(not(loads_code))]
        Err(nowhere())
    }

    /// Its files, by name. Each is read in full, and its checksum compared. Empty if there is no folder.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if the folder cannot be read or trusted.
    pub fn files(&self) -> Result<Vec<CacheFile>, Error> {
        #[cfg(loads_code)]
        return if self.exists() { inspect::files(self) } else { Ok(Vec::new()) };
        #[cfg(not(loads_code))]
        Err(nowhere())
    }

    /// Removes a file. Running processes that use its kernel keep it in memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if that fails, and [`ErrorKind::InvalidArgument`] for a file of a shared folder, which belongs
    /// to its owner, or of another kind.
    pub fn remove(&self, file: &CacheFile) -> Result<(), Error> {
        let path = self.path.join(&file.name);
        if self.is_shared || file.kind == CacheFileKind::Foreign || Path::new(&file.name).components().count() != 1 {
            let message = format!("{} is not a file of the user's own cache", path.display());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        std::fs::remove_file(&path).map_err(|error| {
            let hint = "check the rights of the folder";
            Error::new(ErrorKind::Io, format!("{} cannot be removed: {error}", path.display())).with_hint(hint)
        })
    }
}

impl CacheFile {
    /// The time that reading this file saved so far: that of compiling, for each use.
    #[must_use]
    pub fn time_saved(&self) -> Duration {
        self.cost.saturating_mul(u32::try_from(self.uses).unwrap_or(u32::MAX))
    }
}

impl StoredKernel {
    /// The kernel as it was scheduled.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Parse`] if a library with another kernel IR wrote it; [`ErrorKind::InvalidArgument`] for a kernel
    /// of library calls, which has none.
    pub fn ir(&self) -> Result<Kernel, Error> {
        if self.routine.is_some() {
            return Err(Error::new(ErrorKind::InvalidArgument, "kernels of library calls have no kernel IR"));
        }
        let foreign = |error: &dyn std::fmt::Display| {
            let message = format!("its kernel IR is that of another version: {error}");
            Error::new(ErrorKind::Parse, message).with_hint("use the `jit` command of the version that wrote the file")
        };
        let kernel = ir::encode::from_bytes(&self.kernel).map_err(|error| foreign(&error))?;
        ir::verify(&kernel).map_err(|error| foreign(&error))?;
        Ok(kernel)
    }

    /// The hash by which messages, dumps and [`kernel_history`](crate::stats::kernel_history) name it in a process that
    /// has the default `JIT_TIER`; for code of a GPU, if it is `cuda:0`. None if it was written by another version, and
    /// for kernels of library calls.
    #[must_use]
    pub fn hash(&self) -> Option<u64> {
        let options = CodeOptions { effort: crate::backend::Effort::Quick, ..self.options };
        let kernel = ir::encode::from_bytes(&self.kernel).ok().filter(|_| self.routine.is_none())?;
        let device = if self.driver.is_some() { Device::Cuda(0) } else { Device::Cpu };
        Some(super::hash::kernel(&kernel, device, options))
    }

    /// The instructions of the stored code as text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoDevice`] if there is no LLVM, which disassembles, and for code of a GPU, which only tools of CUDA
    /// disassemble.
    pub fn disassembly(&self) -> Result<String, Error> {
        #[cfg(loads_code)]
        if self.driver.is_some() {
            let hint = "`nvdisasm` of the CUDA toolkit shows the machine code; `JIT_DUMP=ptx` shows the PTX of kernels";
            return Err(Error::new(ErrorKind::NoDevice, "it is code of a GPU").with_hint(hint));
        }
        #[cfg(loads_code)]
        return crate::backend::disassemble(&self.object, &self.target);
        #[cfg(not(loads_code))]
        Err(nowhere())
    }

    /// Compiles the kernel again, and tells whether that makes the same code to the byte.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoDevice`] if there is no LLVM, [`ErrorKind::InvalidArgument`] if its key is not one of this
    /// process, since other code is expected then.
    pub fn is_reproduced(&self, host: &CacheHost) -> Result<bool, Error> {
        let differs = |miss: &Miss| !matches!(miss.reason, MissReason::Options);
        if let Some(miss) = self.misses(host).into_iter().find(differs) {
            return Err(Error::new(ErrorKind::InvalidArgument, miss.message).with_hint(miss.remedy));
        }
        #[cfg(loads_code)]
        return inspect::recompile(self).map(|object| *object == *self.object);
        #[cfg(not(loads_code))]
        Err(nowhere())
    }

    /// What distinguishes its key from those of this process; empty if launches here find it.
    #[must_use]
    pub fn misses(&self, host: &CacheHost) -> Vec<Miss> {
        #[cfg(loads_code)]
        return inspect::misses(self, host);
        #[cfg(not(loads_code))]
        {
            let _ = host;
            Vec::new()
        }
    }

    /// For which launches its code was made, where that depends on their sizes.
    #[must_use]
    pub fn conditions(&self) -> Vec<&'static str> {
        let scatters = self.options.scatters != crate::backend::Scatters::Shared;
        let streaming = self.options.streaming_stores.then_some("launches on arrays that exceed the processor's cache");
        let private = scatters.then_some("launches on several threads that combine many lanes into few elements");
        streaming.into_iter().chain(private).collect()
    }
}

impl CacheHost {
    /// What keys of this process contain. Loads LLVM and the driver of GPUs, to learn their versions.
    #[must_use]
    pub fn detect() -> CacheHost {
        #[cfg(loads_code)]
        return inspect::host();
        #[cfg(not(loads_code))]
        CacheHost::new(Vec::new(), false, String::new())
    }

    pub(super) fn new(llvm: Vec<String>, has_llvm: bool, target: String) -> CacheHost {
        let code_digest = crate::backend::CODE_DIGEST.to_owned();
        CacheHost { code_digest, llvm, has_llvm, target, driver: None, gpus: Vec::new() }
    }
}

#[cfg(not(loads_code))]
fn nowhere() -> Error {
    Error::new(ErrorKind::NoDevice, "kernels are kept on disk under Linux alone, on x86-64 and AArch64")
}
