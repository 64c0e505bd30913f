//! Library calls in a plan, with their operands.
//!
//! Their operands are written by kernels of earlier stages, or are in memory already; host values, constants and opaque
//! values, are written there first. Kernels of later stages read their results.

use std::sync::Arc;

use jit_runtime::device::current_device;
use jit_runtime::ir::Type;
use jit_runtime::launch::native::{Call, Launch, Operand, launch};
use jit_runtime::memory::Buffer;
use jit_runtime::recording::Scalar;
use jit_runtime::{Error, Site};
use smallvec::SmallVec;

use super::emit::Outputs;
use super::order::{Graph, NONE};
use super::{Written, inspect};
use crate::capture::launches;
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::payload::{LibraryCallPayload, Payload, Sizes};
use crate::size::extent::Extent;

/// A call with its operands, launched by [`start`].
pub(super) struct Planned {
    call: Call,
    /// The sizes in the call.
    sizes: Sizes,
    /// The value of a fill, if replays of a recording fill in other ones.
    fill: Option<Scalar>,
    inputs: Vec<Operand>,
    outputs: Vec<Operand>,
    written: SmallVec<[Written; 2]>,
}

/// Returns the calls of a graph, by stage.
pub(super) fn calls(graph: &Graph<'_>) -> Vec<u32> {
    let mut calls = graph.natives.clone();
    calls.sort_by_key(|&number| graph.entries[number as usize].stage);
    calls
}

/// Finds or makes the memory of a call. Fills for constant operands come before the call itself.
pub(super) fn plan(
    graph: &Graph<'_>,
    number: u32,
    outputs: &mut Outputs,
    site: Site,
) -> Result<SmallVec<[Planned; 1]>, Error> {
    let Some(Payload::LibraryCall(payload)) = graph.entries[number as usize].var.payload() else {
        return Ok(SmallVec::new());
    };
    let planned = planned(graph, number, payload, outputs);
    planned.map_err(|error| error.of_memory_for(payload.call.name().into(), Some(site)))
}

fn planned(
    graph: &Graph<'_>,
    number: u32,
    payload: &LibraryCallPayload,
    outputs: &mut Outputs,
) -> Result<SmallVec<[Planned; 1]>, Error> {
    let mut planned = SmallVec::new();
    let mut inputs = Vec::new();
    for operand in graph.entries[number as usize].operands.into_iter().filter(|&operand| operand != NONE) {
        inputs.push(input(graph, operand, outputs, &mut planned)?);
    }
    let mut results = Vec::new();
    let mut written = SmallVec::new();
    for (position, &(ty, len)) in payload.results.iter().enumerate() {
        // The work writes all of its results.
        let result = operand(ty, len.value())?;
        launches::note_made(&result.buffer, ty, Extent::of(len));
        if let Some(entry) = result_entry(graph, number, position) {
            outputs.insert(entry, result.buffer.clone());
            written.push((graph.entries[entry as usize].var.clone(), result.buffer.clone()));
        }
        results.push(result);
    }
    let (call, sizes) = (payload.call, payload.sizes.clone());
    planned.push(Planned { call, sizes, fill: None, inputs, outputs: results, written });
    Ok(planned)
}

/// Returns memory that a call is about to write; none is allocated if the call will not run.
fn operand(ty: Type, len: usize) -> Result<Operand, Error> {
    match launches::unwritten()? {
        Some(buffer) => Ok(Operand { buffer, ty, len }),
        // SAFETY: a library call writes all of its results before anything reads them.
        None => unsafe { Operand::alloc_result(ty, len) },
    }
}

fn input(
    graph: &Graph<'_>,
    number: u32,
    outputs: &Outputs,
    planned: &mut SmallVec<[Planned; 1]>,
) -> Result<Operand, Error> {
    let entry = &graph.entries[number as usize];
    let (ty, len) = (entry.var.ty(), entry.var.lanes());
    if let Some(bits) = entry.var.known_bits() {
        let filled = operand(ty, len)?;
        launches::note_made(&filled.buffer, ty, entry.var.extent());
        let (inputs, outputs, written) = (Vec::new(), vec![filled.clone()], SmallVec::new());
        let fill = if launches::is_recording() { launches::scalar_of(entry.var) } else { None };
        planned.push(Planned { call: Call::Fill(bits), sizes: Sizes::new(), fill, inputs, outputs, written });
        return Ok(filled);
    }
    // Constants of another machine have been copied.
    let buffer = outputs.get(&number).cloned().or_else(|| if entry.is_evaluated { entry.var.data() } else { None });
    let buffer = buffer.expect("an operand of a library call was written before");
    Ok(Operand { buffer, ty, len })
}

/// Returns memory that holds a value in all lanes; if a frozen function is recorded, the value of each replay.
pub(crate) fn filled(var: &Var, bits: u64, site: Site) -> Result<Arc<Buffer>, Error> {
    let filled = operand(var.ty(), var.lanes())?;
    let buffer = Arc::clone(&filled.buffer);
    launches::note_made(&buffer, var.ty(), var.extent());
    let fill = if launches::is_recording() { launches::scalar_of(var) } else { None };
    let (inputs, outputs, written) = (Vec::new(), vec![filled], SmallVec::new());
    start(Planned { call: Call::Fill(bits), sizes: Sizes::new(), fill, inputs, outputs, written }, site).1?;
    Ok(buffer)
}

/// Returns the entry of a result, if anything depends on it.
fn result_entry(graph: &Graph<'_>, number: u32, position: usize) -> Option<u32> {
    let is_result = |&result: &u32| {
        let entry = &graph.entries[result as usize];
        entry.op == Op::LibraryResult && entry.operands[0] == number && entry.var.position() == position
    };
    (number + 1..graph.entries.len() as u32).find(is_result)
}

/// Launches a call; returns the nodes whose elements it writes.
pub(super) fn start(planned: Planned, site: Site) -> (SmallVec<[Written; 2]>, Result<(), Error>) {
    let Planned { call, sizes, fill, inputs, outputs, written } = planned;
    if launches::is_recording()
        && let Err(error) = launches::note_library(call, &sizes, fill, (&inputs, &outputs), site)
    {
        return (written, Err(error));
    }
    if launches::is_dry() {
        return (written, Ok(()));
    }
    let origin = written.first().map_or(site, |(var, _)| var.site());
    let outcome = inspect::before_library(call, &inputs, &outputs, origin).and_then(|inspected| {
        launch(Launch { device: current_device(), call, inputs, outputs, site: Some(site) })?;
        inspected.map_or(Ok(()), inspect::LibraryCall::finish)
    });
    (written, outcome)
}
