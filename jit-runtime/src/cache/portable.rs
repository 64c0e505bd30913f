//! Machine code that travels with a recording: compiled for levels of the instruction set instead of this processor,
//! and for all sizes; and kernels from files, with or without such code.

use std::sync::Arc;
use std::time::Duration;

#[cfg(loads_code)]
use super::OPTIMISED;
use super::entry::{Entry, Origin};
use super::{CachePolicy, compile, hash};
#[cfg(loads_code)]
use crate::backend::{self, CODE_DIGEST, MachineCode, Target};
use crate::backend::{CodeOptions, Effort, Executable};
use crate::config::Device;
use crate::ir::Kernel;
use crate::{Error, Label, Site};

/// Machine code of a kernel, for processors that have some features.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PortableCode {
    /// The sources of the library that made it; code of other ones may be called in another way.
    pub(crate) digest: String,
    /// The identity of its target.
    pub(crate) target: String,
    pub(crate) options: CodeOptions,
    pub(crate) object: Box<[u8]>,
}

/// Compiles a kernel for the levels of the instruction set of this machine. Nothing where no code is generated.
#[cfg(loads_code)]
pub(crate) fn portable_code(
    device: Device,
    kernel: &Kernel,
    all_options: &[CodeOptions],
) -> Result<Vec<PortableCode>, Error> {
    let (mut codes, optimised) = (Vec::new(), OPTIMISED.of(kernel));
    for target in Target::levels() {
        for &options in all_options {
            let Some(object) = backend::object_for(device, &optimised, options, &target)? else { return Ok(codes) };
            let (digest, target) = (CODE_DIGEST.to_owned(), target.identity());
            codes.push(PortableCode { digest, target, options, object });
        }
    }
    Ok(codes)
}

#[cfg(not(loads_code))]
pub(crate) fn portable_code(_: Device, _: &Kernel, _: &[CodeOptions]) -> Result<Vec<PortableCode>, Error> {
    Ok(Vec::new())
}

/// The entries of a kernel from a file, one for each of the options that its code was compiled with: from the code that
/// fits this processor best. None if no code fits.
///
/// # Safety
///
/// Code that names this build of the library was made by it: it is run.
#[cfg(loads_code)]
pub(crate) unsafe fn entries_of(
    device: Device,
    kernel: &Kernel,
    codes: &[PortableCode],
    (label, site): (Label, Option<Site>),
) -> Result<Vec<Arc<Entry>>, Error> {
    let Some(host) = Target::host().ok().filter(|_| device == Device::Cpu) else { return Ok(Vec::new()) };
    let fits = |code: &&PortableCode| {
        let target = Target::from_identity(&code.target);
        code.digest == CODE_DIGEST && target.is_some_and(|target| host.runs_code_of(&target))
    };
    // They are listed by level, the lowest first.
    let Some(best) = codes.iter().rfind(fits).map(|code| &code.target) else { return Ok(Vec::new()) };
    let chosen = codes.iter().filter(|code| fits(code) && code.target == *best);
    let entry = |code: &PortableCode| {
        // SAFETY: the caller's promise; the processor has the features that the target names.
        let executable = unsafe { MachineCode::load(&code.object) }?;
        Ok(Arc::new(entry_with(device, kernel.clone(), code.options, Box::new(executable), (label, site))))
    };
    chosen.map(entry).collect()
}

#[cfg(not(loads_code))]
pub(crate) unsafe fn entries_of(
    _: Device,
    _: &Kernel,
    _: &[PortableCode],
    _: (Label, Option<Site>),
) -> Result<Vec<Arc<Entry>>, Error> {
    Ok(Vec::new())
}

#[cfg_attr(not(loads_code), expect(dead_code, reason = "there is no code"))]
fn entry_with(
    device: Device,
    kernel: Kernel,
    options: CodeOptions,
    executable: Box<dyn Executable>,
    (label, site): (Label, Option<Site>),
) -> Entry {
    let (compile_time, load_time) = (Duration::ZERO, Some(Duration::ZERO));
    let made_with = CodeOptions { effort: Effort::Thorough, ..options };
    let (hash, compiled_ops) = (hash::kernel(&kernel, device, options), kernel.op_count());
    let origin = Origin { hash, device, options, label, site, compile_time, load_time, compiled_ops, made_with };
    Entry::new(kernel, executable, &origin)
}

/// The entry of a kernel for all sizes, found or compiled as it is: no literal becomes a parameter.
pub(crate) fn entry_as_is(
    device: Device,
    kernel: Kernel,
    options: CodeOptions,
    (label, site): (Label, Option<Site>),
) -> Result<Arc<Entry>, Error> {
    let hash = hash::kernel(&kernel, device, options);
    if CachePolicy::current() == CachePolicy::Bypass {
        return compile::compile(hash, device, kernel, options, label, site).map(Arc::new);
    }
    if let Some(entry) = super::STORE.look_up(hash, device, options, &kernel) {
        return Ok(entry);
    }
    compile::find_or_compile(hash, device, kernel, options, (label, site), false).map(Arc::new)
}
