//! Evaluations that are inspected, for the checks in [`crate::check`].
//!
//! While this thread inspects, each kernel is built, knows the lines of its values, and is launched by
//! [`jit_runtime::launch::inspect`] or on the interpreter. Only the first finding is kept; launches after it are as
//! usual. A finding is no failure of the evaluation: the program goes on, and whoever inspects takes it at the end.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use jit_runtime::device::Device;
use jit_runtime::ir::print::Literal;
use jit_runtime::ir::{ParamId, Type, Value};
use jit_runtime::launch::inspect::{self as machine, Difference, NotFinite, is_finite, is_nan};
use jit_runtime::launch::native::{Call, Operand};
use jit_runtime::launch::{Checks, Launch, Notes, prepare};
use jit_runtime::memory::zeroed_list;
use jit_runtime::{Error, ErrorKind, Site};

use crate::graph::Var;
use crate::thread_state::{Clear, thread_state};

/// What is done with each launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// The first operation is searched that makes a value which is not finite.
    Numerics,
    /// All kernels run on the interpreter.
    Interpret,
    /// All kernels run on the interpreter, too, and the first difference is searched.
    Compare,
}

struct Inspection {
    mode: Mode,
    found: Option<Error>,
}

struct State(RefCell<Option<Inspection>>);

impl Clear for State {
    fn clear(&self) {
        self.0.clear();
    }
}

thread_state! {
    static STATE: State = State(RefCell::new(None));
}

/// The number of scopes of all threads: while there is none, evaluations do not ask for the state of their thread.
static SCOPES: AtomicUsize = AtomicUsize::new(0);

/// Until this is dropped, launches of this thread are inspected.
pub(crate) struct Scope(Option<Inspection>);

impl Scope {
    /// Begins to inspect.
    pub(crate) fn begin(mode: Mode) -> Scope {
        SCOPES.fetch_add(1, Ordering::Relaxed);
        Scope(STATE.with(|state| state.0.replace(Some(Inspection { mode, found: None }))))
    }

    /// Ends to inspect, and returns what was found.
    pub(crate) fn finish(self) -> Option<Error> {
        STATE.with(|state| state.0.borrow_mut().as_mut().and_then(|inspection| inspection.found.take()))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        STATE.with(|state| state.0.replace(self.0.take()));
        SCOPES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns what is done with launches, if that is still to be done.
pub(crate) fn mode() -> Option<Mode> {
    if SCOPES.load(Ordering::Relaxed) == 0 {
        return None;
    }
    STATE.with(|state| state.0.borrow().as_ref().filter(|all| all.found.is_none()).map(|all| all.mode))
}

/// Returns whether the operations of this thread's kernels are inspected.
pub(crate) fn looks_into_kernels() -> bool {
    matches!(mode(), Some(Mode::Numerics | Mode::Compare))
}

/// Returns whether this thread inspects.
#[inline]
pub(crate) fn is_on() -> bool {
    SCOPES.load(Ordering::Relaxed) != 0 && STATE.with(|state| state.0.borrow().is_some())
}

fn note(found: Error) {
    STATE.with(|state| {
        if let Some(inspection) = state.0.borrow_mut().as_mut() {
            inspection.found.get_or_insert(found);
        }
    });
}

/// A node of the trace, for messages.
#[derive(Clone, Debug)]
pub(super) struct Place {
    operation: &'static str,
    label: Option<String>,
    site: Site,
}

impl Place {
    pub(super) fn of(var: &Var) -> Place {
        Place { operation: var.operation_name(), label: var.label(), site: var.site() }
    }
}

/// The nodes behind the values and the memory of a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) values: Vec<(Value, Place)>,
    pub(super) params: Vec<(ParamId, Place)>,
    /// The numbers of the lanes, if only some are computed.
    pub(super) lanes: Option<Var>,
}

impl Places {
    /// Returns the node of a value. One that belongs to a larger operation is found by the next one that does not.
    fn of_value(&self, value: Value) -> Option<&Place> {
        let behind = self.values.iter().filter(|(known, _)| *known >= value);
        behind.min_by_key(|(known, _)| *known).map(|(_, place)| place)
    }

    fn of_param(&self, param: ParamId) -> Option<&Place> {
        self.params.iter().find(|(known, _)| *known == param).map(|(_, place)| place)
    }

    /// Returns the number that a lane has in the program.
    fn lane(&self, lane: u64) -> u64 {
        let Some(buffer) = self.lanes.as_ref().and_then(Var::data) else { return lane };
        let mut number = [0; 4];
        match buffer.read(lane as usize * 4, &mut number) {
            Ok(()) => u32::from_le_bytes(number).into(),
            Err(_) => lane,
        }
    }
}

/// Launches a kernel under inspection.
pub(super) fn start(mode: Mode, launch: Launch, checks: Option<Checks>, places: &Places) -> Result<(), Error> {
    let (label, width, site) = (launch.label, launch.width, launch.site);
    let found = match mode {
        Mode::Interpret => {
            let launch = Launch { device: Device::Interpreter, ..launch };
            return prepare(launch, Notes { literals: &[], checks, constants: &[] })?.start();
        }
        Mode::Numerics => machine::observe(launch, checks)?.map(|found| not_finite(&found, places)),
        Mode::Compare => {
            let notes = Notes { literals: &[], checks, constants: &[] };
            machine::compare(launch, notes)?.map(|found| different(&found, places))
        }
    };
    if let Some((what, place)) = found {
        let what = format!("{what}, in the kernel `{label}` over {width} lanes");
        let error = Error::new(ErrorKind::CheckFailed, what).with_hint(match mode {
            Mode::Numerics => NUMERICS_HINT,
            _ => "the code that was generated for this operation is wrong: please report it",
        });
        note(match place.map(|place| place.site).or(site) {
            Some(site) => error.at(site),
            None => error,
        });
    }
    Ok(())
}

const NUMERICS_HINT: &str =
    "keep the operands in the range of the operation, for example by `max`, or by a selection in front of it";

/// Describes an operation whose result is not finite, and finds its node.
fn not_finite<'p>(found: &NotFinite, places: &'p Places) -> (String, Option<&'p Place>) {
    let place = found.value.and_then(|value| places.of_value(value));
    let place = place.or_else(|| found.param.and_then(|param| places.of_param(param)));
    let lane = found.lane.map(|lane| format!("lane {}: ", places.lane(lane))).unwrap_or_default();
    let result = Element(found.result);
    let what = if found.is_read() {
        format!("{lane}an element that is read by `{}` is {result}", found.operation)
    } else if found.operands.is_empty() {
        format!("`{}` of finite elements is {result}", found.operation)
    } else {
        let operands: Vec<String> = found.operands.iter().map(|&operand| Element(operand).to_string()).collect();
        format!("{lane}`{}` of {} is {result}", found.operation, operands.join(" and "))
    };
    let label = place.and_then(|place| place.label.as_ref()).map(|label| format!(", of “{label}”"));
    (format!("{what} ({}){}", found.result.0, label.unwrap_or_default()), place)
}

/// Describes a difference between a device and the interpreter, and finds the node.
fn different<'p>(found: &Difference, places: &'p Places) -> (String, Option<&'p Place>) {
    let place = found.value.and_then(|value| places.of_value(value));
    let first = place.map(|place| format!("the first operation with different results is `{}`; ", place.operation));
    let place = place.or_else(|| places.of_param(found.param));
    let result = place.map_or("result", |place| place.operation);
    let (ty, element) = (found.ty, found.element);
    let [device, interpreter] = [found.device, found.interpreter].map(|bits| Element((ty, bits)));
    let what = format!(
        "{}element {element} of `{result}` is {device} in generated code and {interpreter} on the interpreter ({ty})",
        first.unwrap_or_default()
    );
    (what, place)
}

/// An element in a message.
pub(crate) struct Element(pub(crate) (Type, u64));

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ty, bits) = self.0;
        if is_nan(ty, bits) { f.write_str("NaN") } else { Literal(ty, bits).fmt(f) }
    }
}

/// The state of the operands of a library call, before it runs.
pub(super) struct LibraryCall {
    call: Call,
    outputs: Vec<Operand>,
    site: Site,
}

/// Begins to observe a library call, if that is done and its operands are finite: so are its results expected to be.
pub(super) fn before_library(
    call: Call,
    inputs: &[Operand],
    outputs: &[Operand],
    site: Site,
) -> Result<Option<LibraryCall>, Error> {
    if mode() != Some(Mode::Numerics) || inputs.is_empty() {
        return Ok(None);
    }
    for input in inputs {
        if first_not_finite(input)?.is_some() {
            return Ok(None);
        }
    }
    Ok(Some(LibraryCall { call, outputs: outputs.to_vec(), site }))
}

impl LibraryCall {
    /// Checks the results.
    pub(super) fn finish(self) -> Result<(), Error> {
        for output in &self.outputs {
            if let Some((element, bits)) = first_not_finite(output)? {
                let (name, ty, value) = (self.call.name(), output.ty, Element((output.ty, bits)));
                let what = format!("element {element} of `{name}` of finite elements is {value} ({ty})");
                note(Error::new(ErrorKind::CheckFailed, what).at(self.site).with_hint(NUMERICS_HINT));
            }
        }
        Ok(())
    }
}

fn first_not_finite(operand: &Operand) -> Result<Option<(usize, u64)>, Error> {
    let (ty, size) = (operand.ty, operand.ty.size_bytes());
    if !ty.is_float() {
        return Ok(None);
    }
    let mut bytes = zeroed_list(operand.len * size)?;
    operand.buffer.read(0, &mut bytes)?;
    let mut each = bytes.chunks(size).map(|bytes| bits_of(ty, bytes)).enumerate();
    Ok(each.find(|(_, bits)| !is_finite(ty, *bits)))
}

/// Returns the bits of an element in memory.
pub(crate) fn bits_of(ty: Type, bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word) & ty.bit_mask()
}
