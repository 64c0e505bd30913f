//! The current recording of a thread: the launches of a frozen function, added while they happen.

use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::Arc;

use jit_runtime::device::current_device;
use jit_runtime::fork::Held;
use jit_runtime::ir::Type;
use jit_runtime::launch::Prepared;
use jit_runtime::launch::native::{Call, Operand};
use jit_runtime::memory::Buffer;
use jit_runtime::recording::{
    HostCall, HostSource, ObservedValue, Recorder, Recording, Scalar, SizeId, SlotId, Unchanged,
};
use jit_runtime::{Error, ErrorKind, Site};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::CAPTURE;
use super::host_call;
use super::nodes::{self, Nodes};
use crate::fork;
use crate::graph::Op;
use crate::graph::device::Devices;
use crate::graph::node::{Node, Var, flag};
use crate::graph::watch::{self, Watch};
use crate::misuse;
use crate::size::extent::Extent;
use crate::size::{Size, table};

/// What a recording is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A frozen function: its launches run while they are recorded.
    Freeze,
    /// An executor: nothing is launched, no array gets contents, and arrays from elsewhere become its constants.
    Compile,
    /// A traced module, in a call: its launches run while they are recorded.
    Module,
    /// A traced module, before its first call: nothing is launched, and no array gets contents.
    ModuleAhead,
}

impl Purpose {
    /// Returns whether launches are recorded, and do not run.
    fn is_dry(self) -> bool {
        matches!(self, Purpose::Compile | Purpose::ModuleAhead)
    }

    fn is_of_module(self) -> bool {
        matches!(self, Purpose::Module | Purpose::ModuleAhead)
    }

    /// Returns what is recorded, for messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Purpose::Freeze => "a `#[freeze]` function",
            Purpose::Compile => "a function that is compiled",
            Purpose::Module | Purpose::ModuleAhead => "a traced module",
        }
    }
}

/// The recording so far.
pub(super) struct Session {
    purpose: Purpose,
    /// The call that is recorded.
    site: Site,
    pub(super) nodes: Nodes,
    recorder: Recorder,
    /// Opaque values that each replay computes or receives.
    scalars: FxHashMap<NonNull<Node>, Scalar>,
    /// The nodes of the inputs, which also protects their memory from being overwritten.
    inputs: Vec<Var>,
    known: FxHashSet<NonNull<Node>>,
    /// Why the recording cannot be replayed.
    rejected: Option<String>,
    /// A rejected operation of the function, which continued nevertheless.
    refused: Option<String>,
    /// The plain numbers among the arguments that decisions depended on.
    decided: Vec<bool>,
}

/// Returns whether this thread records a frozen function.
#[inline]
pub(crate) fn is_recording() -> bool {
    table::is_recording()
}

pub(super) fn with<R>(run: impl FnOnce(&mut Session) -> R) -> Option<R> {
    CAPTURE.try_with(|capture| capture.session.borrow_mut().as_mut().map(run)).ok().flatten()
}

/// Sets or clears the current recording; returns the previous one. Dropping it may access the thread's recording.
fn put(session: Option<Session>) -> Option<Session> {
    CAPTURE.with(|capture| capture.session.replace(session))
}

/// Returns whether this thread records launches that do not run.
pub(crate) fn is_dry() -> bool {
    is_recording() && with(|session| session.purpose.is_dry()).unwrap_or_default()
}

/// Returns what the current recording is for.
fn purpose() -> Purpose {
    with(|session| session.purpose).unwrap_or(Purpose::Freeze)
}

/// Names the call that is recorded, at the end of a message.
fn begun() -> String {
    let site = with(|session| session.site);
    site.map_or_else(String::new, |site| format!("; it is recorded for the call at {}:{}", site.file(), site.line()))
}

/// Returns whether arrays from elsewhere become constants of the current recording.
fn keeps_foreign() -> bool {
    purpose() == Purpose::Compile
}

/// Returns a buffer for results of launches that will not run, if this thread records such.
pub(crate) fn unwritten() -> Result<Option<Arc<Buffer>>, Error> {
    if !is_dry() {
        return Ok(None);
    }
    let (what, hint) = match purpose() {
        Purpose::ModuleAhead => ("a module that was traced, not called", "call the traced module, and use its results"),
        _ => ("a function that was compiled, not called", "call the executor, and use its results"),
    };
    let error = Error::new(ErrorKind::NotEvaluated, format!("the array belongs to {what}")).with_hint(hint);
    Buffer::without_contents(&error).map(Some)
}

/// A recording that is aborted when this is dropped.
pub(crate) struct Guard(());

/// Begins the recording of a call.
pub(crate) fn begin(purpose: Purpose, site: Site) -> Guard {
    watch::begin(Watch { recorded: nodes::note, used: host_call::check_operands });
    table::begin();
    let recorder = Recorder::new(current_device());
    let (scalars, known) = (FxHashMap::default(), FxHashSet::default());
    put(Some(Session {
        purpose,
        site,
        nodes: Nodes::default(),
        recorder,
        scalars,
        inputs: Vec::new(),
        known,
        rejected: None,
        refused: None,
        decided: Vec::new(),
    }));
    Guard(())
}

impl Drop for Guard {
    fn drop(&mut self) {
        let session = put(None);
        table::end();
        session.iter().for_each(|session| session.nodes.end());
        drop(session);
    }
}

impl Guard {
    /// Ends the recording, which releases the memory of some arrays.
    ///
    /// # Errors
    ///
    /// When it cannot be replayed, with the reason.
    pub(crate) fn finish(self, outputs: Vec<SlotId>) -> Result<Recording, String> {
        let session = put(None);
        let overflow = table::overflow();
        let sizes = table::end();
        std::mem::forget(self);
        let Some(Session { nodes, rejected, recorder, .. }) = session else { return Err("it was aborted".to_owned()) };
        nodes.end();
        match rejected.or_else(|| overflow.map(str::to_owned)) {
            None => recorder.finish(sizes, outputs),
            Some(reason) => Err(reason),
        }
    }
}

/// Makes an array in memory an input, of a width; returns the node that represents it.
pub(crate) fn input(original: &Var, size: Size, buffer: &Arc<Buffer>) -> Var {
    let extent = Extent::of(size);
    let var = Var::leaf(Op::Data, original.ty(), extent, 0, original.site());
    match original.devices() {
        Devices::NONE => drop(var.set_constant_data(Arc::clone(buffer))),
        _ => var.set_data(Arc::clone(buffer)),
    }
    let id = table::id_of(size);
    with(|session| {
        session.recorder.input(buffer, original.ty(), id);
        session.inputs.push(var.clone());
        session.known.insert(var.address());
    });
    var
}

/// Lets the body use an input in place, behind a shared reference. Its width is a size of the recording, as for any
/// input, under two conditions: the array is not a constant, whose node may have other owners, and it has no axes,
/// whose lengths the body knows as numbers. Otherwise the recording is pinned to this width.
pub(crate) fn share(original: &Var, stand_in: &Var, has_axes: bool, site: Site) {
    let extent = stand_in.extent();
    let is_free = !has_axes && original.op() != Op::Literal && extent.size != SizeId(0);
    if is_free {
        original.ask_recordings_for_width();
        table::share(original.address().addr().get(), extent);
    } else {
        table::pin_at(site, stand_in.width());
    }
    with(|session| {
        if let Some(&scalar) = session.scalars.get(&stand_in.address()) {
            session.scalars.insert(original.address(), scalar);
        }
        session.inputs.push(original.clone());
        session.known.insert(original.address());
    });
}

/// Makes a constant that is the same in all replays an input, of a width; returns the node that represents it.
pub(crate) fn constant_input(original: &Var, size: Size, bits: u64) -> Var {
    let var = Var::leaf(Op::Literal, original.ty(), Extent::of(size), bits, original.site());
    with(|session| {
        session.inputs.push(var.clone());
        session.known.insert(var.address());
    });
    var
}

/// Makes a value that each replay receives an input, of a width; returns the node that represents it.
pub(crate) fn scalar_input(original: &Var, size: Size, bits: u64) -> Var {
    let var = Var::leaf(Op::Scalar, original.ty(), Extent::of(size), bits, original.site());
    with(|session| {
        let number = session.recorder.scalar();
        session.scalars.insert(var.address(), Scalar::Input(number));
        session.inputs.push(var.clone());
        session.known.insert(var.address());
    });
    var
}

/// Returns how each replay obtains an opaque value; `None` for one that is always the same.
pub(crate) fn scalar_of(var: &Var) -> Option<Scalar> {
    let size = || nodes::size_of_value(var).map(|size| Scalar::Size(size, var.ty()));
    with(|session| session.scalars.get(&var.address()).copied()).flatten().or_else(size)
}

impl Var {
    /// Returns the bits of a host value that is the same in each replay, if a frozen function is recorded.
    #[must_use]
    pub fn settled_bits(&self) -> Option<u64> {
        self.known_bits().filter(|_| !table::is_recording() || scalar_of(self).is_none())
    }
}

/// Returns the scalars of a kernel that are sizes which each replay knows from the beginning: the specialised code has
/// them as constants.
pub(crate) fn known_sizes(scalars: &[(usize, Scalar)]) -> SmallVec<[usize; 4]> {
    let known = scalars.iter().filter(|(_, scalar)| match scalar {
        Scalar::Size(size, _) => table::is_known_at_first(*size),
        Scalar::Constant(_) | Scalar::Input(_) => false,
    });
    known.map(|(position, _)| *position).collect()
}

/// Registers an opaque value that is the same as another one, with another width.
pub(crate) fn note_same_scalar(var: &Var, as_before: &Var) {
    if let Some(scalar) = scalar_of(as_before) {
        with(|session| {
            session.scalars.insert(var.address(), scalar);
            // It lives on, so that no other node gets its address.
            session.inputs.push(var.clone());
        });
    }
}

/// Registers memory that launches will write.
pub(crate) fn note_made(buffer: &Arc<Buffer>, ty: Type, width: Extent) {
    let id = table::id_of_extent(width);
    with(|session| {
        if session.recorder.slot(buffer).is_none() {
            session.recorder.made(buffer, ty, id);
        }
    });
}

/// Registers an array that the host has filled, which is the same in each replay: scatters to it go to a copy. Arrays
/// written by launches are already known.
pub(crate) fn note_constant(var: &Var, buffer: &Arc<Buffer>) {
    let id = table::id_of_extent(var.extent());
    with(|session| {
        if session.recorder.slot(buffer).is_none() {
            session.recorder.constant(buffer, var.ty(), id);
            session.inputs.push(var.clone());
        }
    });
}

/// Records a kernel that is about to run. `inputs` are the arrays of its arguments, as far as they are read.
pub(crate) fn note_kernel(
    prepared: &Prepared,
    width: (Extent, Option<Extent>),
    scalars: &[(usize, Scalar)],
    inputs: &[(usize, Var)],
    site: Site,
) -> Result<(), Error> {
    let (lanes, block) = (table::id_of_extent(width.0), width.1.map(table::id_of_extent));
    let noted = with(|session| {
        // Memory that the host reads in between belongs to no slot.
        if session.rejected.is_some() || table::overflow().is_some() {
            Ok(())
        } else {
            session.recorder.kernel(prepared, (lanes, block), scalars)
        }
    });
    let Some(Err(unknown)) = noted else { return Ok(()) };
    if keeps_foreign()
        && let Some((_, var)) = inputs.iter().find(|(position, _)| *position == unknown.0)
    {
        // A leaf of an expression from elsewhere.
        retain(var).map_err(|error| error.at(site))?;
        return note_kernel(prepared, width, scalars, inputs, site);
    }
    let var = inputs.iter().find(|(position, _)| *position == unknown.0).map(|(_, var)| var);
    Err(hidden(var, site))
}

/// Records a library call that is about to run.
pub(crate) fn note_library(
    call: Call,
    sizes: &[Size],
    fill: Option<Scalar>,
    operands: (&[Operand], &[Operand]),
    site: Site,
) -> Result<(), Error> {
    let sizes: SmallVec<[SizeId; 4]> = sizes.iter().map(|&size| table::id_of(size)).collect();
    match with(|session| session.recorder.native(call, &sizes, fill, operands, Some(site))) {
        Some(Err(_)) => Err(hidden(None, site)),
        _ => Ok(()),
    }
}

/// Records a list of the true lanes of a mask; returns their number.
pub(crate) fn note_count(mask: &Arc<Buffer>, positions: &Arc<Buffer>, count: usize, site: Site) -> Result<Size, Error> {
    let size = table::count(count);
    let id = table::id_of(size);
    match with(|session| session.recorder.count(mask, positions, id, Some(site))) {
        Some(Err(_)) => Err(hidden(None, site)),
        _ => Ok(size),
    }
}

/// A recording that is suspended while a host call runs.
pub(crate) struct Paused {
    session: Option<Session>,
    symbols: table::Paused,
    /// Arrays of the caller that the function uses in place, and that are marked in the meantime.
    lent: Vec<Var>,
}

/// The addresses of arrays that suspended recordings of all threads use in place.
static LENT: Mutex<Vec<NonZero<usize>>> = Mutex::new(Vec::new());

/// Returns whether a suspended recording uses an array in place: it belongs to the caller.
pub(crate) fn is_lent(var: &Var) -> bool {
    LENT.lock().contains(&var.address().addr())
}

/// Suspends the recording.
pub(crate) fn pause(site: Site) -> Paused {
    let symbols = table::pause(site);
    let mut session = put(None);
    session.iter_mut().for_each(|session| session.nodes.pause());
    let inputs = session.iter().flat_map(|session| &session.inputs);
    let lent: Vec<Var> = inputs.filter(|var| var.flags() & flag::RECORDED == 0).cloned().collect();
    LENT.lock().extend(lent.iter().map(|var| var.address().addr()));
    lent.iter().for_each(|var| var.add_flag(flag::HOSTED));
    Paused { session, symbols, lent }
}

/// Resumes a suspended recording.
pub(crate) fn resume(paused: Paused) {
    for var in &paused.lent {
        var.remove_flag(flag::HOSTED);
        let mut lent = LENT.lock();
        if let Some(position) = lent.iter().position(|address| *address == var.address().addr()) {
            lent.swap_remove(position);
        }
    }
    put(paused.session);
    table::resume(paused.symbols);
}

impl Paused {
    /// Returns whether an array was made by the function, or is an input of it.
    pub(crate) fn is_own(&self, var: &Var) -> bool {
        let is_known = || self.session.as_ref().is_some_and(|session| session.known.contains(&var.address()));
        var.flags() & flag::RECORDED != 0 || is_known()
    }

    /// Records that a decision depends on some of the plain numbers among the arguments.
    pub(crate) fn decide(&mut self, numbers: &[usize]) {
        self.session.iter_mut().for_each(|session| session.decide(numbers));
    }

    /// Returns the serial of the recording.
    pub(crate) fn serial(&self) -> u32 {
        self.symbols.serial()
    }
}

/// Returns how each replay obtains an evaluated array.
pub(crate) fn source_of(var: &Var, site: Site) -> Result<HostSource, Error> {
    match (var.known_bits(), var.data()) {
        (Some(bits), _) => Ok(HostSource::Scalar(scalar_of(var).unwrap_or(Scalar::Constant(bits)))),
        (None, Some(buffer)) if slot(&buffer).is_some() => Ok(HostSource::Memory(buffer)),
        _ => Err(hidden(Some(var), site)),
    }
}

/// Records a host call: the arrays that it has read, and those that it has made.
pub(crate) fn note_host(
    call: Arc<HostCall>,
    reads: &[HostSource],
    outputs: &[(Type, Arc<Buffer>, SizeId)],
    sizes: usize,
    site: Site,
) -> Result<(), Error> {
    match with(|session| session.recorder.host(call, reads, outputs, sizes, site)) {
        Some(Err(_)) => Err(hidden(None, site)),
        _ => Ok(()),
    }
}

/// Records the begin of a loop whose iterations the host runs.
pub(crate) fn begin_loop(limit: Option<u32>, site: Site) {
    with(|session| session.recorder.begin_loop(limit, site));
}

/// Records the begin of an iteration of the innermost loop, and the value by which the host decided that.
pub(crate) fn begin_iteration(test: Option<(&Arc<Buffer>, bool)>, site: Site) -> Result<(), Error> {
    match with(|session| session.recorder.begin_iteration(observed(test, site))) {
        Some(Err(_)) => Err(hidden(None, site)),
        _ => Ok(()),
    }
}

/// Records the end of an iteration.
pub(crate) fn end_iteration(unchanged: Unchanged) {
    with(|session| session.recorder.end_iteration(unchanged));
}

/// Returns whether the last two iterations of the innermost loop match, or more of them would not.
pub(crate) fn is_loop_settled() -> bool {
    with(|session| session.recorder.is_settled()).unwrap_or(true)
}

/// Records the end of the innermost loop, and the value by which the host decided that.
pub(crate) fn end_loop(test: Option<(&Arc<Buffer>, bool)>, site: Site) -> Result<(), Error> {
    match with(|session| session.recorder.end_loop(observed(test, site))) {
        Some(Err(_)) => Err(hidden(None, site)),
        _ => Ok(()),
    }
}

fn observed<'a>(test: Option<(&'a Arc<Buffer>, bool)>, site: Site) -> Option<ObservedValue<'a>> {
    test.map(|(buffer, is_true)| ObservedValue { buffer, bits: u64::from(is_true), site })
}

/// Returns the slot of memory that is returned.
pub(crate) fn slot(buffer: &Arc<Buffer>) -> Option<SlotId> {
    with(|session| session.recorder.slot(buffer)).flatten()
}

/// Returns whether a slot is the same in all replays.
pub(crate) fn is_constant(slot: SlotId) -> bool {
    with(|session| session.recorder.is_constant(slot)).unwrap_or_default()
}

/// Records that a decision depends on some of the plain numbers among the arguments.
pub(crate) fn decide(numbers: &[usize]) {
    with(|session| session.decide(numbers));
}

impl Session {
    fn decide(&mut self, numbers: &[usize]) {
        for &number in numbers {
            if self.decided.len() <= number {
                self.decided.resize(number + 1, false);
            }
            self.decided[number] = true;
        }
    }
}

/// Returns the plain numbers among the arguments that decisions depended on.
pub(crate) fn decided() -> Vec<bool> {
    with(|session| session.decided.clone()).unwrap_or_default()
}

/// Returns the rejected operation of the function, if it continued nevertheless.
pub(crate) fn check() -> Result<(), Error> {
    match with(|session| session.refused.take()).flatten() {
        Some(text) => Err(Error::new(ErrorKind::NotRecordable, text)),
        None => Ok(()),
    }
}

fn refuse(error: Error) -> Error {
    with(|session| {
        session.refused.get_or_insert_with(|| error.to_string());
    });
    error
}

pub(crate) fn hidden_result(var: &Var, site: Site) -> Error {
    hidden(Some(var), site)
}

/// Marks the recording as not replayable.
pub(crate) fn give_up(reason: impl FnOnce() -> String) {
    with(|session| {
        session.rejected.get_or_insert_with(reason);
    });
}

/// Returns whether the contents of an array differ from one replay of the current recording to the next: those of a
/// constant of the function do not.
pub(crate) fn may_differ(var: &Var) -> bool {
    is_recording() && {
        let is_input = || with(|session| session.known.contains(&var.address())).unwrap_or_default();
        var.op() != Op::Literal || is_input()
    }
}

/// Returns whether this thread records a traced module, in which values are printed without their contents. A frozen
/// function may use the text, which would stay the same in all replays.
pub(crate) fn prints_no_contents() -> bool {
    is_recording() && purpose().is_of_module()
}

/// Rejects reading the contents of an array while a frozen function is recorded: values computed from them would stay
/// the same in all replays.
pub(crate) fn refuse_reading(var: &Var, site: Site) -> Result<(), Error> {
    if !may_differ(var) {
        return Ok(());
    }
    let made = var.site();
    let message = format!(
        "{} reads the contents of an array of {} (made at {}:{}), which differ in the next call{}",
        purpose().noun(),
        var.ty(),
        made.file(),
        made.line(),
        begun()
    );
    let hint = match purpose() {
        Purpose::Compile | Purpose::ModuleAhead => {
            "decide lane by lane, with a traced `if` or `while`; or return the array and read it outside"
        }
        Purpose::Freeze | Purpose::Module => {
            "read it in `jit::freeze::host(move || …)`, which runs in each call; or decide lane by lane, with a traced \
             `if` or `while`; or return the array and read it outside"
        }
    };
    Err(refuse(Error::new(ErrorKind::NotRecordable, message).at(site).with_hint(hint)))
}

/// Rejects work that depends on contents while a function is compiled: there are none.
pub(crate) fn refuse_unknown(what: &str, site: Site) -> Result<(), Error> {
    if !is_dry() {
        return Ok(());
    }
    let noun = purpose().noun();
    let message = format!("{noun} {what}, whose contents are known only when it is called{}", begun());
    let hint = match purpose() {
        Purpose::ModuleAhead => {
            "call the module in a `#[freeze]` function, which is recorded in its first call; or pass the result as its \
             input"
        }
        _ => "make it a `#[freeze]` function, which is recorded in its first call; or pass the result as an argument",
    };
    Err(refuse(Error::new(ErrorKind::NotRecordable, message).at(site).with_hint(hint)))
}

/// Makes an array from elsewhere a constant of the executor that is compiled.
fn retain(var: &Var) -> Result<(), Error> {
    if var.known_bits().is_none() {
        let Some(buffer) = var.data() else {
            let made = var.site();
            let message = format!(
                "a function that is compiled uses an array that is no argument and has not been evaluated: {} × {}, \
                 made at {}:{}",
                var.ty(),
                var.lanes(),
                made.file(),
                made.line()
            );
            return Err(refuse(Error::new(ErrorKind::NotRecordable, message).with_hint(
                "evaluate it before, with `jit::eval`: the executor keeps its contents; or pass it as an argument",
            )));
        };
        note_constant(var, &buffer);
    }
    with(|session| {
        session.inputs.push(var.clone());
        session.known.insert(var.address());
    });
    Ok(())
}

#[cold]
fn hidden(var: Option<&Var>, site: Site) -> Error {
    let noun = purpose().noun();
    let is_of_module = purpose().is_of_module();
    let argument = if is_of_module { "part of it, nor of its input" } else { "an argument of it" };
    let what = match var {
        Some(var) => {
            let (made, label) = (var.site(), var.label().map(|label| format!(" `{label}`")).unwrap_or_default());
            format!(
                "{noun} uses an array{label} that is not {argument}: {} × {}, made at {}:{}",
                var.ty(),
                var.lanes(),
                made.file(),
                made.line()
            )
        }
        None => format!("{noun} uses an array that is not {argument}"),
    };
    let hint = match is_of_module {
        true => {
            "make it a field of the module, or a part of the input: otherwise a later call would not see that it \
             has changed"
        }
        false => {
            "pass it as an argument, or name it in `#[freeze(state = |…| …)]`: otherwise a later call would not see \
             that it has changed"
        }
    };
    refuse(Error::new(ErrorKind::NotRecordable, what).at(site).with_hint(hint))
}

/// Returns whether an array was made by the frozen function that is recorded, or is an input of it.
pub(crate) fn is_own(var: &Var) -> bool {
    let is_known = || with(|session| session.known.contains(&var.address())).unwrap_or(true);
    var.flags() & flag::RECORDED != 0 || is_known()
}

/// Rejects a foreign operand of a frozen function.
pub(crate) fn check_operand(operand: &Var, user: &Var) {
    if is_own(operand) {
        return;
    }
    match keeps_foreign() {
        true => retain(operand).unwrap_or_else(|error| misuse::panic_at(user.site(), error)),
        false => misuse::panic_at(user.site(), hidden(Some(operand), user.site())),
    }
}

/// Rejects a foreign result of a frozen function.
pub(crate) fn check_result(var: &Var, site: Site) -> Result<(), Error> {
    match is_own(var) {
        true => Ok(()),
        false if keeps_foreign() => retain(var).map_err(|error| error.at(site)),
        false => Err(hidden(Some(var), site)),
    }
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    fork::hold_mutex(held, &LENT);
}
