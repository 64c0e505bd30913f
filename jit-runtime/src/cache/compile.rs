//! The code of a kernel that is not in memory: from disk, or kernel → passes → backend → code.

use std::time::{Duration, Instant};

#[cfg(loads_code)]
use super::disk;
use super::entry::{Entry, Origin};
use super::{OPTIMISED, forms};
#[cfg(loads_code)]
use crate::backend::is_code_stored;
use crate::backend::{self, CodeOptions};
use crate::config::Device;
use crate::float_mode::Standard;
use crate::ir::{self, Kernel};
use crate::log::{self, Level};
use crate::stats::events::{self, Activity, Compiled};
use crate::{Error, ErrorKind, stats};
use crate::{Label, Site};

/// The code of a kernel as the scheduler built it, from the disk cache if that has it. Otherwise it is stored there, if
/// wanted.
pub(super) fn find_or_compile(
    hash: u64,
    device: Device,
    kernel: Kernel,
    options: CodeOptions,
    (label, site): (Label, Option<Site>),
    is_stored: bool,
) -> Result<Entry, Error> {
    #[cfg(loads_code)]
    if let Some(disk) = disk::get().filter(|_| is_code_stored(device)) {
        let started = Instant::now();
        return match disk.find(device, &kernel, options) {
            Ok(stored) => {
                let load_time = started.elapsed();
                if disk.is_verify_due() {
                    verify_stored(device, &kernel, &stored, label)?;
                }
                Ok(from_disk(hash, (device, kernel), options, (stored, load_time), (label, site)))
            }
            Err(_lease) => {
                let entry = compile(hash, device, kernel, options, label, site)?;
                if is_stored {
                    let (time, about) = (entry.facts.compile_time, (label, entry.compiled_ops));
                    disk.store(device, &entry.kernel, options, entry.executable(0), time, about);
                }
                Ok(entry)
            }
        };
    }
    let _ = is_stored;
    compile(hash, device, kernel, options, label, site)
}

/// The entry of a kernel that was read.
#[cfg(loads_code)]
fn from_disk(
    hash: u64,
    (device, kernel): (Device, Kernel),
    options: CodeOptions,
    (stored, load_time): (disk::Stored, Duration),
    (label, site): (Label, Option<Site>),
) -> Entry {
    let disk::Stored { code, options: made_with, compile_time, compiled_ops } = stored;
    let load_time = Some(load_time);
    let origin = Origin { hash, device, options, label, site, compile_time, load_time, compiled_ops, made_with };
    let entry = Entry::new(kernel, code, &origin);
    log::emit(Level::Info, || format!("read `{label}` ({hash:016x}) from disk: {} bytes", entry.facts.code_bytes));
    if forms::is_any_wanted() {
        forms::compiled(&entry, &OPTIMISED.of(&entry.kernel));
    }
    entry
}

/// Compares code from disk with what is compiled now (`JIT_CACHE_VERIFY`).
#[cfg(loads_code)]
fn verify_stored(device: Device, kernel: &Kernel, stored: &disk::Stored, label: Label) -> Result<(), Error> {
    let _mode = Standard::enter();
    let compiled = backend::compile(device, &OPTIMISED.of(kernel), stored.options)?;
    match compiled.object() {
        Some(object) if Some(object) != stored.code.object() => Err(is_not_reproduced(label.as_str())),
        Some(_) => Ok(()),
        None => {
            log::emit(Level::Info, || format!("`{label}` is not verified: no code is generated here"));
            Ok(())
        }
    }
}

/// Code in the disk cache that is not the code that is compiled now.
#[cfg(loads_code)]
pub(super) fn is_not_reproduced(label: &str) -> Error {
    let message = format!("the code of `{label}` in the disk cache is not the code that is compiled now");
    let hint = "this is a bug of the library, please report it; `JIT_CACHE=memory` avoids it";
    Error::new(ErrorKind::Internal, message).with_hint(hint)
}

/// Compiles a kernel as the scheduler built it.
pub(super) fn compile(
    hash: u64,
    device: Device,
    kernel: Kernel,
    options: CodeOptions,
    label: Label,
    site: Option<Site>,
) -> Result<Entry, Error> {
    let _mode = Standard::enter();
    let (started, span) = (Instant::now(), events::begin());
    // Later stages rely on it, and take longer.
    verify(&kernel, label)?;
    let optimised = OPTIMISED.of(&kernel);
    let executable = backend::compile(device, &optimised, options).map_err(|error| {
        let is_refused = matches!(device, Device::Cuda(_)) && error.kind() == ErrorKind::Compile;
        let error = if is_refused { error.of_kernel(label) } else { error };
        match site {
            Some(site) if error.site().is_none() => error.at(site),
            _ => error,
        }
    })?;
    let compile_time = started.elapsed();
    stats::count_compile(compile_time);
    span.end(site, || Activity::Compile(Compiled { label, hash, ops: kernel.op_count(), is_better: false }));
    let compiled_ops = optimised.op_count();
    let (made_with, load_time) = (options, None);
    let origin = Origin { hash, device, options, label, site, compile_time, load_time, compiled_ops, made_with };
    let entry = Entry::new(kernel, executable, &origin);
    log::emit(Level::Info, || {
        let facts = &entry.facts;
        format!("compiled `{label}` ({hash:016x}): {} ops, {} bytes, {compile_time:?}", facts.ops, facts.code_bytes)
    });
    forms::compiled(&entry, &optimised);
    Ok(entry)
}

/// A kernel that is not well-formed is a bug in the code that built it.
fn verify(kernel: &Kernel, label: Label) -> Result<(), Error> {
    ir::verify(kernel).map_err(|error| {
        Error::new(ErrorKind::Internal, format!("the kernel `{label}` is not well-formed")).caused_by(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Builder;

    #[test]
    fn a_kernel_that_is_not_well_formed_is_not_compiled() {
        let mut kernel = Builder::new().finish();
        kernel.regions.clear();
        let error = compile(0, Device::Interpreter, kernel, CodeOptions::default(), "broken".into(), None);
        let error = error.err().expect("it has no region");
        assert!(error.kind() == ErrorKind::Internal && error.message().contains("`broken` is not well-formed"));
    }

    /// `x * by + by`, many times.
    #[cfg(all(loads_code, feature = "llvm"))]
    fn chain(by: u64) -> Kernel {
        use crate::ir::{Access, BinaryOp, Type};
        let mut b = Builder::new();
        let [input, output] = [Access::Read, Access::Write].map(|mode| b.buffer(Type::U32, mode));
        let (mut value, by) = (b.load(input), b.constant(Type::U32, by));
        for _ in 0..20 {
            let product = b.binary(BinaryOp::Mul, value, by);
            value = b.binary(BinaryOp::Add, product, by);
        }
        b.store(output, value);
        b.finish()
    }

    #[cfg(all(loads_code, feature = "llvm"))]
    #[test]
    fn code_on_disk_is_compared_with_code_of_the_same_effort() {
        use crate::backend::Effort;
        if !crate::tested_devices::has_llvm() {
            return;
        }
        let quick = CodeOptions { effort: Effort::Quick, ..CodeOptions::default() };
        let stored = |by, effort| {
            let options = CodeOptions { effort, ..quick };
            let code = backend::compile(Device::Cpu, &OPTIMISED.of(&chain(by)), options).unwrap();
            disk::Stored { code, options, compile_time: Duration::ZERO, compiled_ops: 1 }
        };
        for effort in [Effort::Quick, Effort::Thorough] {
            verify_stored(Device::Cpu, &chain(3), &stored(3, effort), "chain".into()).unwrap();
            let error = verify_stored(Device::Cpu, &chain(3), &stored(5, effort), "chain".into()).unwrap_err();
            assert!(error.message().contains("is not the code that is compiled now"), "{error}");
        }
    }
}
