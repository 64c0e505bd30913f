//! Compiles a kernel after a cache miss: kernel → passes → backend → code.

use std::time::Instant;

use super::entry::{Entry, Origin};
use super::forms;
use crate::backend::{self, CodeOptions};
use crate::config::Device;
use crate::float_mode::Standard;
use crate::ir::{self, Kernel};
use crate::log::{self, Level};
use crate::stats::events::{self, Activity, Compiled};
use crate::{Error, ErrorKind, stats};
use crate::{Label, Site};

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
    let optimised = optimised(&kernel);
    let executable = backend::compile(device, &optimised, options).map_err(|error| match site {
        Some(site) if error.site().is_none() => error.at(site),
        _ => error,
    })?;
    let compile_time = started.elapsed();
    stats::count_compile(compile_time);
    span.end(site, || Activity::Compile(Compiled { label, hash, ops: kernel.op_count(), is_better: false }));
    let compiled_ops = optimised.op_count();
    let origin = Origin { hash, device, options, label, site, compile_time, compiled_ops };
    let entry = Entry::new(kernel, executable, &origin);
    log::emit(Level::Info, || {
        let facts = &entry.facts;
        format!("compiled `{label}` ({hash:016x}): {} ops, {} bytes, {compile_time:?}", facts.ops, facts.code_bytes)
    });
    forms::compiled(&entry, &optimised);
    Ok(entry)
}

/// The kernel that the backend receives.
pub(super) fn optimised(kernel: &Kernel) -> Kernel {
    let mut optimised = kernel.clone();
    ir::passes::optimise(&mut optimised);
    optimised
}

/// A kernel that is not well-formed is a bug in the code that built it.
fn verify(kernel: &Kernel, label: Label) -> Result<(), Error> {
    ir::verify(kernel).map_err(|error| {
        Error::new(ErrorKind::Internal, format!("the kernel `{label}` is not well-formed")).caused_by(error)
    })
}
