//! Launches that are inspected: their values are observed, or compared with the interpreter's.
//!
//! An inspected launch waits for its buffers, and has ended when the function returns. Its kernel is interpreted as the
//! scheduler built it, before any pass, so that its values are those of the trace.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Argument, Checks, Launch, Notes, Ready, code_options, fork, prepare, start};
use crate::backend::interpreter::{self, Observer};
pub use crate::backend::interpreter::{NotFinite, is_finite, is_nan};
use crate::cache::Entry;
use crate::config::Device;
use crate::ir::{self, Access, Inst, Kernel, Op, Param, ParamId, ReduceOp, Type, Value};
use crate::log;
use crate::memory::{Buffer, zeroed_list};
use crate::stats::{CacheOutcome, Preparation};
use crate::{Error, ErrorKind};

/// Interprets a launch, and returns the first operation that made a value that is not finite, if such a value reached
/// memory.
///
/// # Errors
///
/// As [`super::launch_with_notes`].
pub fn observe(launch: Launch, checks: Option<Checks>) -> Result<Option<NotFinite>, Error> {
    log::check_environment()?;
    fork::watch();
    let Launch { device, kernel, width, reduce_block, arguments, label, site } = launch;
    ir::verify(&kernel)
        .map_err(|error| Error::new(ErrorKind::Internal, "the kernel is not well-formed").caused_by(error))?;
    let before = Combined::of(&kernel, &arguments)?;
    let (observer, options) = (Arc::new(Observer::default()), code_options(device, &kernel, width, &arguments)?);
    let code =
        interpreter::prepare(kernel.clone()).with_scatters(options.scatters).with_observer(Arc::clone(&observer));
    let entry = Arc::new(Entry::uncached(kernel.clone(), options, Box::new(code), (label, site)));
    let preparation = Preparation::none(CacheOutcome::Compiled);
    let held = arguments.clone();
    start(Ready { entry, width, reduce_block, arguments, label, site, preparation, checks }, None)?;
    wait(&held)?;
    if let Some(found) = observer.written() {
        return Ok(Some(found));
    }
    before.first(&kernel, &held, &observer)
}

#[cfg(any(test, feature = "random"))]
thread_local! {
    static FAULT: std::cell::Cell<Option<fn(&mut Kernel)>> = const { std::cell::Cell::new(None) };
}

/// Runs a closure in which the kernels of this thread for the CPU are changed before they are compiled: a faulty code
/// generator, for tests.
#[cfg(any(test, feature = "random"))]
pub fn with_fault<R>(fault: fn(&mut Kernel), run: impl FnOnce() -> R) -> R {
    let before = FAULT.replace(Some(fault));
    let result = run();
    FAULT.set(before);
    result
}

#[cfg(any(test, feature = "random"))]
pub(super) fn with_faults(device: Device, mut kernel: Kernel) -> Kernel {
    if let Some(fault) = FAULT.get().filter(|_| device == Device::Cpu) {
        fault(&mut kernel);
    }
    kernel
}

/// Waits for all launches that access buffers.
fn wait(arguments: &[Argument]) -> Result<(), Error> {
    arguments.iter().try_for_each(|argument| match argument {
        Argument::Buffer(buffer, _) => buffer.wait(),
        Argument::Scalar(_) => Ok(()),
    })
}

/// Memory in which lanes are combined, as it was before the launch.
struct Combined(Vec<(ParamId, Type, ReduceOp, Vec<u8>)>);

impl Combined {
    fn of(kernel: &Kernel, arguments: &[Argument]) -> Result<Combined, Error> {
        let reduced = kernel.regions.iter().flat_map(|region| &region.insts).filter_map(|inst| match inst.op {
            Op::Reduce { op, buffer, .. } | Op::Scatter { reduce: Some(op), buffer, .. } => Some((op, buffer)),
            _ => None,
        });
        let mut combined: Vec<(ParamId, Type, ReduceOp, Vec<u8>)> = Vec::new();
        for (op, param) in reduced {
            let ty = kernel.param(param).ty();
            if ty.is_float() && combined.iter().all(|(known, ..)| *known != param) {
                let is_result = matches!(kernel.param(param), Param::Buffer { access: Access::Reduce, .. });
                let bytes = if is_result { Vec::new() } else { contents(&arguments[param.index()], ty)? };
                combined.push((param, ty, op, bytes));
            }
        }
        Ok(Combined(combined))
    }

    /// The first of them that is not finite, though it was before.
    fn first(&self, kernel: &Kernel, arguments: &[Argument], observer: &Observer) -> Result<Option<NotFinite>, Error> {
        for (param, ty, op, before) in &self.0 {
            let after = contents(&arguments[param.index()], *ty)?;
            let finite = |bytes: &[u8]| is_finite(*ty, bits(*ty, bytes));
            let mut each = after.chunks(ty.size_bytes()).enumerate();
            let is_new = |position: usize| {
                let size = ty.size_bytes();
                before.get(position * size..(position + 1) * size).is_none_or(finite)
            };
            let Some((_, element)) = each.find(|(position, bytes)| !finite(bytes) && is_new(*position)) else {
                continue;
            };
            match observer.reduced(*param) {
                Some(found) => return Ok(Some(found)),
                // An infinite or missing value on purpose, such as the maximum of no elements.
                None if observer.has_received(*param) || !matches!(op, ReduceOp::Add | ReduceOp::Mul) => {}
                None => {
                    let is_reduction = kernel.param(*param) == (Param::Buffer { ty: *ty, access: Access::Reduce });
                    let operation = match (is_reduction, op) {
                        (true, ReduceOp::Add) => "sum",
                        (true, _) => "product",
                        (false, _) => "scatter_reduce",
                    };
                    let (result, operands) = ((*ty, bits(*ty, element)), SmallVec::new());
                    let param = Some(*param);
                    return Ok(Some(NotFinite { value: None, param, operation, lane: None, result, operands }));
                }
            }
        }
        Ok(None)
    }
}

/// Waits for the elements of an argument, and copies them.
fn contents(argument: &Argument, ty: Type) -> Result<Vec<u8>, Error> {
    let Argument::Buffer(buffer, elements) = argument else { return Ok(Vec::new()) };
    let mut bytes = zeroed_list(elements * ty.size_bytes())?;
    buffer.read(0, &mut bytes)?;
    Ok(bytes)
}

/// The bits of an element in memory.
fn bits(ty: Type, bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word) & ty.bit_mask()
}

/// A launch whose results differ from the interpreter's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The parameter that was written differently.
    pub param: ParamId,
    /// The first element that differs.
    pub element: usize,
    /// The type of the elements.
    pub ty: Type,
    /// What the device computed.
    pub device: u64,
    /// What the interpreter computed.
    pub interpreter: u64,
    /// The first operation at which the two differ; none if it was not found: the difference is in a loop or branch, or
    /// vanishes when the value is stored.
    pub value: Option<Value>,
}

/// Runs a launch as usual, and on the interpreter with copies of what it writes; returns the first difference.
///
/// # Errors
///
/// As [`super::launch_with_notes`].
pub fn compare(launch: Launch, notes: Notes<'_>) -> Result<Option<Difference>, Error> {
    let before = copies(&launch)?;
    let theirs = Launch { device: Device::Interpreter, arguments: fresh(&before)?, ..launch.clone() };
    prepare(launch.clone(), notes)?.start()?;
    prepare(theirs.clone(), Notes::default())?.start()?;
    let Some(mut difference) = first_difference(&launch, &theirs.arguments)? else { return Ok(None) };
    difference.value = first_value(&launch, &before)?;
    Ok(Some(difference))
}

/// The arguments of a launch, with copies of the buffers that it writes.
fn copies(launch: &Launch) -> Result<Vec<Argument>, Error> {
    let written = launch.kernel.params.iter().map(is_written);
    launch.arguments.iter().zip(written).map(|(argument, written)| copied(argument, written)).collect()
}

/// Copies of copies, for one run.
fn fresh(arguments: &[Argument]) -> Result<Vec<Argument>, Error> {
    arguments.iter().map(|argument| copied(argument, true)).collect()
}

fn copied(argument: &Argument, is_written: bool) -> Result<Argument, Error> {
    Ok(match argument {
        Argument::Buffer(buffer, elements) if is_written => Argument::Buffer(buffer.copied()?, *elements),
        other => other.clone(),
    })
}

fn is_written(param: &Param) -> bool {
    matches!(param, Param::Buffer { access: Access::Write | Access::ReadWrite | Access::Reduce, .. })
}

/// The first element that a launch and another one on copies wrote differently.
fn first_difference(launch: &Launch, theirs: &[Argument]) -> Result<Option<Difference>, Error> {
    for (position, param) in launch.kernel.params.iter().enumerate().filter(|(_, param)| is_written(param)) {
        let ty = param.ty();
        if let Some((element, device, interpreter)) = differing(ty, &launch.arguments[position], &theirs[position])? {
            let param = ParamId(position as u32);
            return Ok(Some(Difference { param, element, ty, device, interpreter, value: None }));
        }
    }
    Ok(None)
}

/// The position and the bits of the first element that differs. The payload of a NaN is unspecified.
fn differing(ty: Type, ours: &Argument, theirs: &Argument) -> Result<Option<(usize, u64, u64)>, Error> {
    let (ours, theirs) = (contents(ours, ty)?, contents(theirs, ty)?);
    let pairs = ours.chunks(ty.size_bytes()).zip(theirs.chunks(ty.size_bytes()));
    let mut pairs = pairs.map(|(ours, theirs)| (bits(ty, ours), bits(ty, theirs))).enumerate();
    let differs = |ours, theirs| ours != theirs && !(is_nan(ty, ours) && is_nan(ty, theirs));
    let first = pairs.find(|(_, (ours, theirs))| differs(*ours, *theirs));
    Ok(first.map(|(element, (ours, theirs))| (element, ours, theirs)))
}

/// The most bytes of values that are stored at once.
const STORED_BYTES: usize = 1 << 26;

/// Finds the first value outside of loops and branches that differs, by storing all of them, some at a time.
fn first_value(launch: &Launch, before: &[Argument]) -> Result<Option<Value>, Error> {
    let top = &launch.kernel.region(ir::TOP).insts;
    let is_computed = |inst: &&Inst| !matches!(inst.op, Op::Const(..) | Op::Scalar(_) | Op::LaneIndex | Op::Load(_));
    let values: Vec<Value> = top.iter().filter(is_computed).flat_map(Inst::values).collect();
    let at_once = (STORED_BYTES / (launch.width * 8).max(1)).clamp(1, 32);
    for some in values.chunks(at_once) {
        let ours = storing(launch, before, some)?;
        let theirs = Launch { device: Device::Interpreter, arguments: fresh(&ours.arguments)?, ..ours.clone() };
        prepare(ours.clone(), Notes::default())?.start()?;
        prepare(theirs.clone(), Notes::default())?.start()?;
        for (at, &value) in (launch.kernel.params.len()..).zip(some) {
            if differing(launch.kernel.ty(value), &ours.arguments[at], &theirs.arguments[at])?.is_some() {
                return Ok(Some(value));
            }
        }
    }
    Ok(None)
}

/// The same launch on copies of what it writes, which stores some of its values, too.
fn storing(launch: &Launch, before: &[Argument], values: &[Value]) -> Result<Launch, Error> {
    let mut launch = Launch { arguments: fresh(before)?, ..launch.clone() };
    for &value in values {
        let (ty, buffer) = (launch.kernel.ty(value), ParamId(launch.kernel.params.len() as u32));
        launch.kernel.params.push(Param::Buffer { ty, access: Access::Write });
        let store = Inst { op: Op::Store { buffer, value }, first: Value(0), results: 0 };
        launch.kernel.regions[ir::TOP.index()].insts.push(store);
        let memory = Buffer::alloc(launch.width * ty.size_bytes())?;
        launch.arguments.push(Argument::Buffer(memory, launch.width));
    }
    Ok(launch)
}
