//! Scheduling: from the graph and the wanted values to kernels and their launches.
//!
//! | step | part |
//! |---|---|
//! | liveness of the state of loops | `live` |
//! | the graph in order | `order` |
//! | long programs of equal parts | `pieces` |
//! | partition into kernels | `group` |
//! | placement in loops and branches | `place` |
//! | writes in place | `effect` |
//! | kernel IR, memory | `emit` |
//! | per-lane local memory | `local` |
//! | checked indices | `check` |
//! | the form by which a trace is found again | `trace_key` |
//! | launches of traces that are known | `known` |
//! | traces that were found before | `recent` |
//! | values that are computed again and again | `repeated` |
//! | explanations of evaluations | `explain` |
//! | remarks about slow kernels, for profiles | `remarks` |
//! | elements for the host | `read` |
//! | evaluating after each operation | `eager` |
//! | computing only some lanes | `selected` |
//! | library calls | `native` |
//! | evaluations that are inspected | `inspect` |
//!
//! While the graph is visited, its edges are not removed (see [`crate::graph::edges`]); kernels are launched after
//! that. When all are launched, the nodes get their memory and lose their operands, which frees the graph behind them.
//! An error changes no array's value: nodes launched before it are evaluated, the rest is unchanged. Two threads that
//! evaluate the same node both compute it, and the first result is used. Graphs with nodes that can run only once are
//! evaluated by one thread at a time.

use std::sync::{Arc, Once};

use jit_runtime::device::{check_usable, current_device};
use jit_runtime::dump::{self, Form};
use jit_runtime::fork::Held;
use jit_runtime::launch::{Launch, Notes, TraceOrigins, has_separate_memory, prepare};
use jit_runtime::log::{self, Level};
use jit_runtime::memory::Buffer;
use jit_runtime::stats::Scheduling;
use jit_runtime::stats::events::{self, Activity, KernelId};
use jit_runtime::{Error, ErrorKind, Label, Site, cancel, launch as machine, stats};
use smallvec::SmallVec;

use crate::capture::{self, host_call, launches};
use crate::fork;
use crate::graph::device::Devices;
use crate::graph::edges::Edges;
use crate::graph::node::flag;
use crate::graph::payload::RegionId;
use crate::graph::{self, Op, Var, edges, numbering, tape};
use crate::size::extent::Extent;
use crate::trace;
use crate::trace::function_label::{self, Labelled};
use crate::trace::report::{self, Report};

mod check;
mod draw;
pub(crate) mod eager;
mod effect;
mod emit;
mod explain;
mod group;
pub(crate) mod inspect;
mod known;
mod live;
mod local;
mod map;
pub(crate) mod native;
pub(crate) use native::filled;
mod order;
mod pieces;
mod place;
pub(crate) mod read;
mod recent;
mod remarks;
mod repeated;
mod selected;
mod selected_derivative;
mod trace_key;

pub(crate) use draw::draw;
use known::NewTrace;
use remarks::Remarks;
pub(crate) use selected::{Selected, Selection, evaluate_selected};
use trace_key::Trace;

/// Launches in execution order.
struct Plan {
    steps: SmallVec<[Step; 1]>,
    /// Values without elements, which need no kernel.
    empty: SmallVec<[Written; 1]>,
    /// The trace, if it becomes known by this evaluation.
    new_trace: Option<Box<NewTrace>>,
}

/// The result of planning an evaluation.
#[expect(clippy::large_enum_variant, reason = "it is moved once, which takes less time than an allocation")]
enum Planning {
    /// The kernels are known.
    Known(known::Launches),
    /// They were built.
    New(Plan),
}

enum Step {
    Kernel(Planned),
    Native(native::Planned),
}

struct Planned {
    emitted: emit::Emitted,
    lanes: Extent,
    reduce_block: Option<Extent>,
    label: Label,
    /// The function that recorded the results, if one did.
    function: Option<&'static Labelled>,
    written: SmallVec<[Written; 2]>,
    /// Where its arguments come from, if its trace becomes known.
    origins: Option<Box<TraceOrigins>>,
}

/// Values to be evaluated. Usually few.
type Missing<'a> = SmallVec<[&'a Var; 8]>;

/// A value and the memory that it gets.
type Written = (Var, Arc<Buffer>);

/// Marks values for this thread's next evaluation, if they still live then.
pub(crate) fn mark(var: &Var) {
    if !var.is_evaluated() {
        report::mark(var);
    }
}

/// Evaluates values, and all values marked on this thread, and runs pending prints and assertions. Returns when the
/// kernels are launched, and their reports are printed. Messages contain the reason.
pub(crate) fn evaluate(wanted: &[&Var], why: &'static str, site: Site) -> Result<(), Error> {
    // What is evaluated only because the mode is eager may stay: derivatives then have the same bits.
    if eager::mode() == eager::Mode::Lazy {
        tape::simplify_what_is_kept();
    }
    let _operation = cancel::begin();
    let marked = report::take_marked();
    let own;
    let is_inside = host_call::is_inside();
    let wanted = match is_inside {
        true => {
            own = read::evaluate_foreign(wanted, why, site)?;
            &own
        }
        false => wanted,
    };
    if let Some(inside) = wanted.iter().find(|var| is_symbolic(var)) {
        return Err(order::only_inside(inside).at(site));
    }
    if let Some(memory) = wanted.iter().find(|var| !var.is_evaluated() && var.flags() & flag::LOCAL != 0) {
        return Err(local::no_array(memory).at(site));
    }
    let reports = report::take_pending();
    if !reports.is_empty() {
        launches::give_up(|| "lanes print, or are checked, which a replay cannot reproduce".to_owned());
    }
    // Usually few, and nothing else than the wanted ones.
    let mut missing: Missing<'_> = SmallVec::new();
    let (mut flags, mut devices) = (0, Devices::NONE);
    for var in wanted.iter().copied().filter(|var| !var.is_evaluated()) {
        flags |= var.flags();
        devices = devices.and(var.devices());
        missing.push(var);
    }
    if !marked.is_empty() || !reports.is_empty() {
        let may_run = |var: &&Var| var.region() == RegionId::NONE && var.flags() & flag::LOCAL == 0;
        let marked = marked.iter().filter(|var| may_run(var) && !(is_inside && host_call::is_foreign(var)));
        let all = marked.chain(reports.iter().flat_map(|report| &report.arrays));
        missing.extend(all.filter(|var| !var.is_evaluated()));
        flags = missing.iter().fold(0, |flags, var| flags | var.flags());
        devices = Devices::of_all(missing.iter().copied());
    }
    let outcome = if devices.are_several() {
        evaluate_by_device(&missing, why, site)
    } else if missing.is_empty() {
        Ok(())
    } else {
        let _scope = devices.enter();
        evaluate_together(&mut missing, flags, why, site)
    };
    drop(missing);
    finish_reports(reports, outcome)
}

/// Evaluates values on one device.
#[inline]
fn evaluate_together(missing: &mut Missing<'_>, flags: u16, why: &'static str, site: Site) -> Result<(), Error> {
    if flags & flag::EFFECT == 0 {
        return evaluate_missing(missing, why, site);
    }
    effect::alone(|| {
        missing.retain(|var| !var.is_evaluated());
        evaluate_missing(missing, why, site)
    })
}

/// Evaluates values on several devices: those of one device after those of another, in the order in which the devices
/// occur. Values without a device are on that of new values.
#[cold]
fn evaluate_by_device(missing: &[&Var], why: &'static str, site: Site) -> Result<(), Error> {
    let current = current_device();
    let device_of = |var: &Var| Devices::of(var.devices().single().unwrap_or(current));
    let mut devices: SmallVec<[Devices; 4]> = SmallVec::new();
    for var in missing {
        if !devices.contains(&device_of(var)) {
            devices.push(device_of(var));
        }
    }
    devices.into_iter().try_for_each(|device| {
        let _scope = device.enter();
        let is_there = |var: &&Var| device_of(var) == device && !var.is_evaluated();
        let mut missing: Missing<'_> = missing.iter().copied().filter(is_there).collect();
        let flags = missing.iter().fold(0, |flags, var| flags | var.flags());
        if missing.is_empty() { Ok(()) } else { evaluate_together(&mut missing, flags, why, site) }
    })
}

/// Prints the reports of kernels that were launched. The others wait for the next evaluation, except those that can
/// never be evaluated.
fn finish_reports(reports: Vec<Report>, outcome: Result<(), Error>) -> Result<(), Error> {
    if reports.is_empty() {
        return outcome;
    }
    let (run, mut waiting): (Vec<Report>, Vec<Report>) = reports.into_iter().partition(Report::has_run);
    let reported = run.into_iter().map(Report::finish).fold(Ok(()), Result::and);
    if outcome.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::NotEvaluated | ErrorKind::Compile)) {
        waiting.retain(|report| can_be_evaluated(&report.arrays.iter().collect::<Vec<_>>()));
    }
    if outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::NoDevice) {
        waiting.retain(is_on_usable_device);
    }
    report::put_back(waiting);
    outcome.and(reported)
}

/// Returns whether the device of a report has not been lost.
fn is_on_usable_device(report: &Report) -> bool {
    Devices::of_all(&report.arrays).single().is_none_or(|device| check_usable(device).is_ok())
}

/// Returns whether kernels can compute these values.
fn can_be_evaluated(arrays: &[&Var]) -> bool {
    let (edges, held) = (edges::read(), effect::Held::default());
    let Ok(mut graph) = order::Graph::of(&edges, arrays, &held, None) else { return false };
    let Ok(groups) = group::groups(&mut graph) else { return false };
    groups.iter().all(|group| emit::placement(&graph, group).is_ok())
}

#[inline]
fn evaluate_missing(missing: &[&Var], why: &'static str, site: Site) -> Result<(), Error> {
    match missing.iter().any(|var| var.op() == Op::Identity) {
        true => evaluate_copies(missing, why, site),
        false => evaluate_values(missing, why, site),
    }
}

/// Evaluates values of which some are those of other nodes. They share the elements of these where they are produced in
/// memory, as the result of a matrix product that has a derivative of its own.
#[cold]
fn evaluate_copies(missing: &[&Var], why: &'static str, site: Site) -> Result<(), Error> {
    let shared: SmallVec<[Option<Var>; 4]> = missing.iter().map(|var| tape::value_to_share(var)).collect();
    let values = missing.iter().zip(&shared).map(|(var, value)| value.as_ref().unwrap_or(var));
    let values: Missing<'_> = values.filter(|value| !value.is_evaluated()).collect();
    let outcome = if values.is_empty() { Ok(()) } else { evaluate_values(&values, why, site) };
    drop(values);
    let mut done: SmallVec<[Var; 2]> = SmallVec::new();
    for (var, value) in missing.iter().zip(shared).filter_map(|(var, value)| Some((*var, value?))) {
        var.share_data(&value);
        // A program that holds the value, too, may write it in place, unless it is seen to be another one's operand.
        if var.has_data() && value.count() == 2 {
            done.push(var.clone());
        }
    }
    finish(&mut done);
    outcome
}

fn evaluate_values(missing: &[&Var], why: &'static str, site: Site) -> Result<(), Error> {
    static WATCHED: Once = Once::new();
    fork::watch(&WATCHED, hold);
    stats::count_evaluation();
    let span = events::begin();
    let scheduling = stats::begin_scheduling();
    let outcome = plan(missing, why, site, scheduling).and_then(|plan| run(plan, site));
    stats::end_look_ups();
    span.end(Some(site), || Activity::Evaluation(why));
    outcome
}

/// Finds the kernels by the trace, or builds them.
fn plan(wanted: &[&Var], why: &'static str, site: Site, scheduling: Scheduling) -> Result<Planning, Error> {
    let edges = edges::read();
    let with_stored: Missing<'_>;
    let mut wanted = wanted;
    let are_looked_up = known::are_looked_up();
    if are_looked_up && let Some(launches) = known::find_recent(&edges, wanted, site, scheduling)? {
        return Ok(Planning::Known(launches));
    }
    let describe = |wanted| if are_looked_up { Trace::of(&edges, wanted) } else { None };
    let mut trace = describe(wanted);
    if let Some(described) = trace.as_ref().filter(|trace| !trace.computed().is_empty()) {
        let stored = repeated::worth_storing(&edges, wanted, described.computed().iter().copied());
        if !stored.is_empty() {
            with_stored = wanted.iter().copied().chain(stored).collect();
            wanted = &with_stored;
            trace = describe(wanted);
        }
    }
    if let Some(trace) = &trace
        && let Some(launches) = known::find(trace, wanted, site, scheduling)?
    {
        return Ok(Planning::Known(launches));
    }
    let plan = build(&edges, (wanted, trace.is_some()), trace.as_ref(), why, site)?;
    scheduling.end();
    Ok(Planning::New(plan))
}

/// Builds the kernels of the wanted values, and of others that are stored besides; `is_complete` tells that the wanted
/// ones include these.
fn build(
    edges: &Edges,
    (wanted, is_complete): (&[&Var], bool),
    trace: Option<&Trace<'_>>,
    why: &'static str,
    site: Site,
) -> Result<Plan, Error> {
    let held = effect::Held::search(edges, wanted);
    let mut graph = order::Graph::of(edges, wanted, &held, None)?;
    if !is_complete && !launches::is_recording() {
        let computed = graph.entries.iter().filter(|entry| !entry.is_evaluated && entry.var.was_computed());
        let stored = repeated::worth_storing(edges, wanted, computed.map(|entry| entry.var));
        if !stored.is_empty() {
            let wanted: Missing<'_> = wanted.iter().copied().chain(stored).collect();
            return build(edges, (&wanted, true), trace, why, site);
        }
    }
    let groups = group::groups(&mut graph)?;
    let mut new_trace = trace.and_then(|trace| NewTrace::begin(trace, &graph)).map(Box::new);
    if dump::is_wanted(Form::Trace) {
        dump::write(Form::Trace, "evaluation", &draw::list(&graph, &groups));
    }
    log::emit(Level::Debug, || explain::evaluation(&graph, &groups, wanted, why, site));
    let mut outputs = constants_here(&graph)?;
    let mut steps = SmallVec::new();
    let mut calls = native::calls(&graph).into_iter().peekable();
    let mut remarks = Remarks::begin(&graph);
    let (mut spare, mut tables) = (emit::Spare::default(), emit::Tables::new(graph.entries.len()));
    for (group, released) in groups.iter().zip(pieces::released(&graph, &groups)) {
        while let Some(call) = calls.next_if(|&call| graph.entries[call as usize].stage <= group.stage) {
            steps.extend(native::plan(&graph, call, &mut outputs, site)?.into_iter().map(Step::Native));
        }
        let emitted = emit::emit(&graph, group, &mut outputs, &mut spare, &mut tables)
            .map_err(|error| error.of_memory_for(label(function(&graph, group)), Some(site)))?;
        released.iter().for_each(|temporary| spare.add(Arc::clone(&outputs[temporary])));
        let written = written(&graph, group, &outputs);
        let function = function(&graph, group);
        let (lanes, reduce_block, label) = (group.lanes, group.reduce_block(), label(function));
        if let Some(remarks) = &mut remarks {
            let (width, ops) = (lanes.lanes as usize, emitted.kernel.op_count());
            remarks.make(group, KernelId { label, site, width, ops });
        }
        let origins = new_trace.as_mut().map(|trace| Box::new(trace.origins(&graph, group, &emitted, &released)));
        steps.push(Step::Kernel(Planned { emitted, lanes, reduce_block, label, function, written, origins }));
    }
    for call in calls {
        steps.extend(native::plan(&graph, call, &mut outputs, site)?.into_iter().map(Step::Native));
    }
    let mut empty = SmallVec::new();
    for var in wanted.iter().filter(|var| var.lanes() == 0) {
        let buffer = Buffer::alloc(0)?;
        launches::note_made(&buffer, var.ty(), var.extent());
        empty.push(((*var).clone(), buffer));
    }
    Ok(Plan { steps, empty, new_trace })
}

/// Copies constants in memory that the current device cannot access: the host wrote them where new values were then.
fn constants_here(graph: &order::Graph<'_>) -> Result<emit::Outputs, Error> {
    let mut copies = emit::Outputs::default();
    if !has_separate_memory() {
        return Ok(copies);
    }
    for (number, entry) in (0_u32..).zip(&graph.entries) {
        if !entry.is_evaluated || entry.var.devices() != Devices::NONE {
            continue;
        }
        if let Some(buffer) = entry.var.data().filter(|buffer| !buffer.is_accessible()) {
            let copy = buffer.copied()?;
            if launches::is_recording() {
                launches::note_constant(entry.var, &copy);
            }
            copies.insert(number, copy);
        }
    }
    Ok(copies)
}

/// Returns the nodes that get elements that a kernel writes.
fn written(graph: &order::Graph<'_>, group: &group::Group, outputs: &emit::Outputs) -> SmallVec<[Written; 2]> {
    let has_elements = |root: u32| !graph.entries[root as usize].is_copy && !graph.entries[root as usize].is_temporary;
    let nodes = group.roots.iter().filter(|&&root| has_elements(root));
    nodes.map(|root| (graph.entries[*root as usize].var.clone(), Arc::clone(&outputs[root]))).collect()
}

/// The number of a kernel's operations that are searched for a function name, before it remains unnamed.
const LABEL_SEARCH: usize = 16;

/// Returns the function that recorded a kernel's results, or else the last operations before them.
fn function(graph: &order::Graph<'_>, group: &group::Group) -> Option<&'static Labelled> {
    let operations = group.roots.iter().chain(group.order.iter().rev().take(LABEL_SEARCH));
    function_of(operations.map(|&number| graph.entries[number as usize].var.site()))
}

/// Returns the function that covers the first of some lines which any covers.
fn function_of(mut sites: impl Iterator<Item = Site>) -> Option<&'static Labelled> {
    let mut last = None;
    sites.find_map(|site| {
        let is_new = last.replace(site) != Some(site);
        if is_new { function_label::piece_at(site) } else { None }
    })
}

/// Returns the name of a kernel.
fn label(function: Option<&'static Labelled>) -> Label {
    function.map(Labelled::label).or_else(function_label::current_label).unwrap_or("trace").into()
}

/// Launches the kernels and assigns memory to the nodes. If an error occurs, nodes that were launched before keep their
/// memory: they may have been written in place, and must not run again.
fn run(plan: Planning, site: Site) -> Result<(), Error> {
    match plan {
        Planning::Known(launches) => run_known(launches),
        Planning::New(plan) => run_new(plan, site),
    }
}

fn run_known(launches: known::Launches) -> Result<(), Error> {
    let mut done: SmallVec<[Var; 2]> = SmallVec::new();
    let mut outcome = Ok(());
    for known::Launch { prepared, function, written } in launches {
        function.iter().for_each(|function| function.history.count_hit());
        prepared.count_hit();
        outcome = prepared.start();
        if has_results(&outcome) {
            for (var, buffer) in written {
                var.set_data(buffer);
                done.push(var);
            }
        }
        if outcome.is_err() {
            break;
        }
    }
    finish(&mut done);
    outcome
}

/// Removes what is behind nodes that have got their elements.
#[inline]
fn finish(done: &mut SmallVec<[Var; 2]>) {
    if done.iter().any(|node| node.op() == Op::Identity) {
        share_with_originals(done);
    }
    edges::detach(done.iter());
}

/// Gives the elements of copies to the values that they are copies of, too: what is made from those later would compute
/// them again, with all behind them.
#[cold]
fn share_with_originals(done: &mut SmallVec<[Var; 2]>) {
    let mut position = 0;
    while let Some(node) = done.get(position) {
        if let Some(value) = tape::value_without_elements(node) {
            value.share_data(node);
            done.push(value);
        }
        position += 1;
    }
}

/// Returns whether a launch has results: those of one that ran and failed are this failure.
fn has_results(outcome: &Result<(), Error>) -> bool {
    outcome.as_ref().map_or_else(|error| error.is_of_launch(), |()| true)
}

fn run_new(mut plan: Plan, site: Site) -> Result<(), Error> {
    let mut done: SmallVec<[Var; 2]> = SmallVec::new();
    let mut give = |written: SmallVec<[Written; 2]>| {
        for (var, buffer) in written {
            var.set_data(buffer);
            done.push(var);
        }
    };
    let mut outcome = Ok(());
    for step in plan.steps {
        let written;
        (written, outcome) = match step {
            Step::Kernel(kernel) => start(kernel, plan.new_trace.as_deref_mut(), site),
            Step::Native(call) => native::start(call, site),
        };
        if has_results(&outcome) {
            give(written);
        }
        if outcome.is_err() {
            break;
        }
    }
    if outcome.is_ok() {
        give(plan.empty.into_iter().collect());
        plan.new_trace.into_iter().for_each(|trace| trace.keep());
    }
    finish(&mut done);
    outcome
}

fn start(
    planned: Planned,
    new_trace: Option<&mut NewTrace>,
    site: Site,
) -> (SmallVec<[Written; 2]>, Result<(), Error>) {
    let Planned {
        emitted: emit::Emitted { kernel, arguments, literals, checks, noted, places, .. },
        lanes,
        reduce_block,
        label,
        function,
        written,
        origins,
    } = planned;
    let (width, block) = (lanes.lanes as usize, reduce_block.map(|block| block.lanes as usize));
    let (device, site_of_launch) = (current_device(), Some(site));
    let launch = Launch { device, kernel, width, reduce_block: block, arguments, label, site: site_of_launch };
    if let Some(places) = places
        && let Some(mode) = inspect::mode()
    {
        return (written, inspect::start(mode, launch, checks, &places));
    }
    let constants = launches::known_sizes(&noted.scalars);
    let outcome = prepare(launch, Notes { literals: &literals, checks, constants: &constants }).and_then(|prepared| {
        if let Some(function) = function {
            match prepared.is_hit() {
                true => function.history.count_hit(),
                false => function.history.note_compiled(&prepared, &literals, site),
            }
        }
        if launches::is_recording() {
            launches::note_kernel(&prepared, (lanes, reduce_block), &noted.scalars, &noted.inputs, site)?;
        }
        if let (Some(trace), Some(origins)) = (new_trace, origins) {
            trace.add(&prepared, *origins);
        }
        if launches::is_dry() { Ok(()) } else { prepared.start() }
    });
    (written, outcome)
}

/// Runs pending prints and assertions, if there are any.
pub(crate) fn deliver_reports(site: Site) -> Result<(), Error> {
    if report::is_pending() { evaluate(&[], "lanes print, or assertions are checked", site) } else { Ok(()) }
}

/// Waits until all launches are done, and reports are printed.
pub(crate) fn sync(site: Site) -> Result<(), Error> {
    deliver_reports(site)?;
    machine::sync()
}

/// Returns whether a value is computed inside a traced loop or branch that is being recorded, so that it has no
/// elements yet.
pub(crate) fn is_symbolic(var: &Var) -> bool {
    !var.is_evaluated() && (var.region() != RegionId::NONE || numbering::is_made_since(var))
}

/// Returns the state of a value as a word.
pub(crate) fn state_name(var: &Var) -> &'static str {
    match var.op() {
        Op::Literal => "literal",
        Op::Scalar => "opaque",
        Op::Placeholder => "placeholder",
        _ if var.has_data() => "evaluated",
        _ if is_symbolic(var) => "symbolic",
        _ => "unevaluated",
    }
}

/// Takes the locks of this folder, and of those that it names, for a fork.
fn hold(held: &mut Vec<Held>) {
    effect::hold(held);
    remarks::hold(held);
    trace::hold(held);
    capture::hold(held);
    graph::hold(held);
}
