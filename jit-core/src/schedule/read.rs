//! Elements of arrays as the host reads them.
//!
//! In a host call, arrays of the frozen function around it have their values of this replay. While the function is
//! recorded, they are computed as part of the recording.

use std::sync::Arc;

use jit_runtime::memory::Buffer;
use jit_runtime::recording::{HostInput, HostSource};
use jit_runtime::stats::events;
use jit_runtime::{Error, Site};

use super::evaluate;
use crate::capture::{host_call, launches};
use crate::graph::{Var, gradients};

/// The elements of an array for the host.
pub(crate) enum HostElements {
    /// All elements have these bits.
    Same(u64),
    Memory(Arc<Buffer>),
}

/// Returns the elements of an array for the host, which evaluates it. Every host read begins here.
///
/// # Errors
///
/// When the evaluation fails, and in a frozen function, except in its host calls.
pub(crate) fn read_for_host(var: &Var, why: &'static str, site: Site) -> Result<HostElements, Error> {
    events::note_read(site);
    gradients::note_read(var, site);
    if let Some(seen) = read_foreign(var, why, site)? {
        return Ok(seen);
    }
    launches::refuse_reading(var, site)?;
    if let Some(bits) = var.known_bits() {
        return Ok(HostElements::Same(bits));
    }
    evaluate(&[var], why, site)?;
    Ok(HostElements::Memory(var.data().expect("an array that was evaluated is in memory")))
}

/// Returns the value of an array of the frozen function in this host call; `None` for any other array.
fn read_foreign(var: &Var, why: &'static str, site: Site) -> Result<Option<HostElements>, Error> {
    if host_call::is_stray(var) {
        return Err(host_call::stray(var).at(site));
    }
    if !host_call::is_foreign(var) {
        return Ok(None);
    }
    if host_call::is_recorded() { read_recorded(var, why, site).map(Some) } else { read_replayed(var, site).map(Some) }
}

fn read_recorded(var: &Var, why: &'static str, site: Site) -> Result<HostElements, Error> {
    let source = host_call::while_recording(site, || {
        evaluate(&[var], why, site)?;
        launches::source_of(var, site)
    })?;
    host_call::note_read(var, &source);
    Ok(match source {
        HostSource::Memory(buffer) => HostElements::Memory(buffer),
        HostSource::Scalar(_) => HostElements::Same(var.known_bits().unwrap_or_default()),
    })
}

fn read_replayed(var: &Var, site: Site) -> Result<HostElements, Error> {
    Ok(match host_call::replayed(var, site)? {
        HostInput::Memory(buffer) => HostElements::Memory(buffer),
        HostInput::Same(bits) => HostElements::Same(bits),
    })
}

/// Evaluates the values that belong to the frozen function around the current host call, as part of its recording;
/// returns the others.
pub(super) fn evaluate_foreign<'a>(wanted: &[&'a Var], why: &'static str, site: Site) -> Result<Vec<&'a Var>, Error> {
    let (foreign, others): (Vec<&Var>, Vec<&Var>) = wanted.iter().partition(|var| host_call::is_foreign(var));
    let is_missing = |var: &&Var| !var.is_evaluated();
    if foreign.iter().any(is_missing) && host_call::is_recorded() {
        host_call::while_recording(site, || evaluate(&foreign, why, site))?;
    }
    Ok(others)
}
