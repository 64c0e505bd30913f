//! Evaluations whose trace is known: their kernels are launched without being built.
//!
//! While the graph is visited, its trace is described ([`super::trace_key`]) and looked up. If it is known, what is
//! left is memory for the results and the arguments of each launch. Otherwise the kernels are built, and when all of
//! them are launched, the trace becomes known.

use std::sync::Arc;

use jit_runtime::cache::{self, KnownKernel, KnownTrace, TraceArgument, TraceKey};
use jit_runtime::dump::{self, Form};
use jit_runtime::launch::{self, Argument, KnownLaunch, Prepared, TraceOrigins};
use jit_runtime::stats::{Scheduling, events};
use jit_runtime::{Error, Site, config, log};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::emit::{Emitted, Spare};
use super::group::Group;
use super::map::NodeMap;
use super::order::{Entry, Graph};
use super::trace_key::Trace;
use super::{LABEL_SEARCH, Written, function_of, inspect, label, recent};
use crate::capture::{host_call, launches};
use crate::graph::Var;
use crate::graph::edges::Edges;
use crate::graph::op::Op;
use crate::trace::function_label::Labelled;

/// A launch of a known kernel.
pub(super) struct Launch {
    pub(super) prepared: Prepared,
    pub(super) function: Option<&'static Labelled>,
    pub(super) written: SmallVec<[Written; 2]>,
}

/// The launches of a known trace, in their order. They are large, so they are not moved.
pub(super) type Launches = Vec<Launch>;

/// Returns whether traces are looked up now. Whoever observes how kernels are built, or has them built with checks,
/// gets them built.
pub(super) fn are_looked_up() -> bool {
    let is_built = launches::is_recording() || host_call::is_inside() || config::is_debug_on();
    let is_observed =
        || dump::is_wanted(Form::Trace) || events::is_profiled() || log::is_debugged() || inspect::is_on();
    !is_built && !is_observed() && cache::finds_traces()
}

/// Prepares the launches of the wanted values, if their trace is equal to the last one of the same line.
pub(super) fn find_recent<'e>(
    edges: &'e Edges,
    wanted: &[&'e Var],
    site: Site,
    scheduling: Scheduling,
) -> Result<Option<Launches>, Error> {
    let Some((trace, known)) = recent::find(edges, wanted) else { return Ok(None) };
    scheduling.end_as_known();
    let launches = launches_of(&trace, &known, site)?;
    if launches.is_some() {
        cache::count_trace_look_up(Some(&known));
    }
    Ok(launches)
}

/// Prepares the launches of a trace, if it is known.
pub(super) fn find(
    trace: &Trace<'_>,
    wanted: &[&Var],
    site: Site,
    scheduling: Scheduling,
) -> Result<Option<Launches>, Error> {
    for skipped in 0.. {
        let Some(known) = cache::find_trace(trace.key(), skipped) else { break };
        scheduling.end_as_known();
        if let Some(launches) = launches_of(trace, &known, site)? {
            recent::remember(trace, wanted, &known);
            cache::count_trace_look_up(Some(&known));
            return Ok(Some(launches));
        }
    }
    cache::count_trace_look_up(None);
    Ok(None)
}

/// Prepares the launches of a known trace; returns `None` if its code is gone, or is not the one for these widths.
fn launches_of(trace: &Trace<'_>, known: &KnownTrace, site: Site) -> Result<Option<Launches>, Error> {
    let mut launches = Launches::with_capacity(known.kernels.len());
    let (mut temporary, mut spare): (Vec<Written>, Spare) = Default::default();
    for kernel in &known.kernels {
        let function = function_of(kernel.named_by.iter().map(|&number| trace.node(number).site()));
        let label = label(function);
        let refused = |error: Error| error.of_memory_for(label, Some(site));
        let mut written: SmallVec<[Written; 2]> = SmallVec::new();
        for &number in &kernel.written {
            let var = trace.node(number);
            // SAFETY: the kernel writes the element of each lane, or the result of each reduction.
            let buffer = unsafe { launch::alloc_result(var.lanes() * var.ty().size_bytes()) }.map_err(refused)?;
            written.push((var.clone(), buffer));
        }
        for &number in &kernel.temporary {
            let var = trace.node(number);
            let buffer = spare.take(var.lanes() * var.ty().size_bytes()).map_err(refused)?;
            temporary.push((var.clone(), buffer));
        }
        let mut arguments = Vec::with_capacity(kernel.arguments.len());
        for argument in &kernel.arguments {
            let made = Made { launches: &launches, written: &written, temporary: &temporary };
            let Some(argument) = argument_of(trace, made, *argument) else { return Ok(None) };
            arguments.push(argument);
        }
        for &number in &kernel.released {
            let var = trace.node(number);
            if let Some(position) = temporary.iter().position(|(other, _)| other.is_same(var)) {
                spare.add(temporary.swap_remove(position).1);
            }
        }
        let reduce_block = kernel.block.map(|block| trace.node(block).position());
        let width = trace.node(kernel.lanes).lanes();
        let launch = KnownLaunch { arguments, width, reduce_block, label, site };
        let Some(prepared) = kernel.prepare(launch) else { return Ok(None) };
        launches.push(Launch { prepared, function, written });
    }
    Ok(Some(launches))
}

/// What the launches write.
#[derive(Clone, Copy)]
struct Made<'a> {
    launches: &'a [Launch],
    /// By the launch that is prepared.
    written: &'a [Written],
    /// Of which there are few at a time.
    temporary: &'a [Written],
}

/// Returns an argument of a kernel.
#[inline]
fn argument_of(trace: &Trace<'_>, made: Made<'_>, argument: TraceArgument) -> Option<Argument> {
    Some(match argument {
        TraceArgument::Elements(number) => {
            let var = trace.node(number);
            let buffer = match made.temporary.iter().find(|(other, _)| other.is_same(var)) {
                Some((_, buffer)) => Arc::clone(buffer),
                None => var.data()?.on_current_device().ok()?,
            };
            Argument::Buffer(buffer, var.lanes())
        }
        TraceArgument::Written { launch, position } => {
            let written = made.launches.get(launch as usize).map_or(made.written, |launch| &launch.written);
            let (var, buffer) = &written[position as usize];
            Argument::Buffer(Arc::clone(buffer), var.lanes())
        }
        TraceArgument::Scalar(number) => Argument::Scalar(trace.node(number).known_bits()?),
        TraceArgument::Literal(position) => Argument::Scalar(trace.key().literals[position as usize]),
        TraceArgument::Bits(bits) => Argument::Scalar(bits),
    })
}

/// A trace that becomes known when its kernels are launched.
pub(super) struct NewTrace {
    words: Box<[u64]>,
    literals: Box<[u64]>,
    kernels: Vec<KnownKernel>,
    /// For each entry of the graph, the number of the node.
    numbers: Vec<u32>,
    /// The launches so far, and for each entry that they write, which one, and at which position.
    launches: u32,
    written: FxHashMap<u32, TraceArgument>,
    /// For each node of the trace, the number of literals before it: of a literal, its position.
    positions: Vec<u32>,
}

impl NewTrace {
    /// Begins with no kernels. Returns `None` if another thread has evaluated a node since the trace was described.
    pub(super) fn begin(trace: &Trace<'_>, graph: &Graph<'_>) -> Option<NewTrace> {
        let numbers = numbers(trace, graph)?;
        let TraceKey { words, literals } = trace.key();
        let mut literals_before = 0;
        let position = |var: &&Var| {
            let position = literals_before;
            literals_before += u32::from(var.op() == Op::Literal);
            position
        };
        let positions = trace.nodes().iter().map(position).collect();
        let (words, literals, kernels) = (words.into(), literals.into(), Vec::new());
        let written = FxHashMap::default();
        Some(NewTrace { words, literals, kernels, numbers, launches: 0, written, positions })
    }

    /// Returns where the arguments of the next kernel come from.
    pub(super) fn origins(
        &mut self,
        graph: &Graph<'_>,
        group: &Group,
        emitted: &Emitted,
        released: &[u32],
    ) -> TraceOrigins {
        let (temporary, written): (Vec<u32>, Vec<u32>) =
            group.roots.iter().partition(|&&root| graph.entries[root as usize].is_temporary);
        for (&root, position) in written.iter().zip(0..) {
            self.written.insert(root, TraceArgument::Written { launch: self.launches, position });
        }
        self.launches += 1;
        let number = |entry: u32| self.numbers[entry as usize];
        let literals = emitted.literals.iter().zip(&emitted.literal_entries);
        let literals: SmallVec<[_; 8]> =
            literals.map(|(&(value, _), &entry)| (value, self.positions[number(entry) as usize])).collect();
        let origin = |(argument, &entry): (&Argument, &u32)| match argument {
            // A node that is in memory by now may be written by an earlier kernel all the same.
            Argument::Buffer(..) => {
                self.written.get(&entry).copied().unwrap_or_else(|| TraceArgument::Elements(number(entry)))
            }
            Argument::Scalar(_) => TraceArgument::Scalar(number(entry)),
        };
        let arguments = emitted.arguments.iter().zip(&emitted.argument_entries).map(origin).collect();
        let root = group.roots[0];
        let reduced = |root: u32| match graph.entries[root as usize].op {
            Op::Reduce(_) => Some(graph.entries[root as usize].operands[0]),
            _ => None,
        };
        let block = group.reduce_block().and_then(|_| group.roots.iter().find(|&&root| reduced(root).is_some()));
        let numbers = |entries: &[u32]| entries.iter().map(|&entry| number(entry)).collect();
        let named_by = group.roots.iter().chain(group.order.iter().rev().take(LABEL_SEARCH));
        TraceOrigins {
            arguments,
            literals,
            lanes: number(reduced(root).unwrap_or(root)),
            block: block.map(|&root| number(root)),
            written: numbers(&written),
            temporary: numbers(&temporary),
            released: numbers(released),
            named_by: named_by.map(|&entry| number(entry)).collect(),
        }
    }

    /// Adds the next kernel, which is about to be launched.
    pub(super) fn add(&mut self, prepared: &Prepared, origins: TraceOrigins) {
        self.kernels.push(prepared.known(origins));
    }

    /// Makes the trace known, after all its kernels were launched.
    pub(super) fn keep(self) {
        let NewTrace { words, literals, kernels, .. } = self;
        let key = TraceKey { words: &words, literals: &literals };
        cache::insert_trace(KnownTrace::new(key, kernels.into()));
    }
}

/// Returns the number in the trace of each entry of a graph.
fn numbers(trace: &Trace<'_>, graph: &Graph<'_>) -> Option<Vec<u32>> {
    let are_evaluated = trace.are_evaluated();
    let mut of_trace = NodeMap::take();
    trace.nodes().iter().zip(0..).for_each(|(var, number)| of_trace.insert(var.address(), number));
    let number = |entry: &Entry<'_>| {
        let number = of_trace.get(entry.var.address())?;
        (are_evaluated[number as usize] == entry.is_evaluated).then_some(number)
    };
    let numbers = graph.entries.iter().map(number).collect();
    of_trace.give_back();
    numbers
}
