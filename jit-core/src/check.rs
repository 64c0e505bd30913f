//! Checks of programs, for debugging: [`numerics`] finds what makes a value that is not finite, and
//! [`against_interpreter`] compares generated code with the interpreter.
//!
//! Both run a closure, and inspect the launches of its thread. Values that were evaluated before are taken as they are.
//! Frozen functions run their bodies, and are neither recorded nor replayed; so the checks see into them, and into
//! traced loops, branches and calls, derivatives, and functions of the library. The body of an executor that was
//! compiled in the program runs on copies of the arguments, so they see into it as well. Executors that were loaded
//! from a file, and library calls, such as products of matrices, are one operation each: only their results are
//! checked.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use half::{bf16, f16};
use jit_runtime::ir::Type;
use jit_runtime::launch::inspect::is_nan;
use jit_runtime::memory::zeroed_list;
use jit_runtime::{Error, ErrorKind, Site};

use crate::graph::Var;
use crate::profile::refuse;
use crate::schedule;
use crate::schedule::inspect::{Element, Mode, Scope, bits_of};
use crate::traverse::{HostValue, Leaf, Traverse, Visitor, arrays};

/// Runs a closure, evaluates its result, and finds the first operation that makes NaN or infinity of finite operands.
/// Returns the result if there is none.
///
/// The error names the operation, its line, the lane and the operands. An operation is reported only if what it makes
/// reaches memory: what is selected away afterwards, or computed by lanes that do not take a branch, does not count.
/// Infinite constants, and infinite elements of arrays that exist already, may be on purpose: they are not reported,
/// but NaN in such arrays is where it is read. If several kernels run, the first one counts; within a kernel, the first
/// operation in its order; of an operation, the lowest lane.
///
/// Derivatives are checked like everything else; their operations have the line of the `backward` or `grad` that made
/// them. The program runs on the interpreter, which is slow, and launches of other threads are not observed.
///
/// ```standalone_crate
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let x = Float::from([4.0, 1.0, 0.0]);
/// let entropy = |x: &Float| -(x * x.ln()).sum();
/// let error = jit::check::numerics(|| entropy(&x)).unwrap_err();
/// assert!(error.message().contains("lane 2: `ln` of 0.0 is -inf"), "{error}");
/// jit::check::numerics(|| entropy(&x.max(1e-6)))?;
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// [`CheckFailed`](ErrorKind::CheckFailed) with what was found; or the failure of the evaluation.
///
/// # Panics
///
/// In a traced loop or branch, and in a frozen function while it is recorded: nothing is computed there. As the
/// closure, unless something was found before it panicked.
#[track_caller]
pub fn numerics<T: Traverse>(run: impl FnOnce() -> T) -> Result<T, Error> {
    let site = Site::here();
    refuse("a check", "check", site);
    let (outcome, found) = inspected(Mode::Numerics, "it is checked for NaN and infinities", site, run);
    if let Some(found) = found {
        return Err(found);
    }
    let (result, leaves) = outcome.unwrap_or_else(|panic| resume_unwind(panic))?;
    match leaves.iter().find_map(Found::nan) {
        Some(error) => Err(error),
        None => Ok(result),
    }
}

/// Runs a closure twice, on the current device and with all kernels on the interpreter, and compares the results, leaf
/// by leaf. Returns the first one if they have the same bits. All NaNs are the same.
///
/// The closure must compute the same each time: what it changes outside, such as the state of a generator of random
/// numbers, has to be made in it. In the first run, frozen functions are replayed as usual.
///
/// The error names the leaf by its path, the element and both values. Then the closure runs once more, each of its
/// kernels on both, to find the first one with different results, and in it the first operation. If there is none, the
/// error says so: the closure depends on something that changes, or what differs is a recording or an executor.
///
/// ```standalone_crate
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let x = Float::linspace(0.0, 1.0, 1000);
/// let waves = jit::check::against_interpreter(|| (x.sin(), (x.cos() * 2.0).sum()))?;
/// assert_eq!(waves.0.len(), 1000);
///
/// let mut calls = 0.0;
/// let error = jit::check::against_interpreter(|| {
///     calls += 1.0;
///     [Float::from(0.5), Float::from(calls)]
/// });
/// assert!(error.unwrap_err().message().starts_with("element 0 of `result[1]` is 1.0"));
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// [`CheckFailed`](ErrorKind::CheckFailed) with the difference; or the failure of an evaluation.
///
/// # Panics
///
/// As [`numerics`].
#[track_caller]
pub fn against_interpreter<T: Traverse>(run: impl FnMut() -> T) -> Result<T, Error> {
    compare(Tolerance::NONE, run, Site::here())
}

/// As [`against_interpreter`], for results that may differ a little, since the order of their operations is not fixed:
/// with [`set_deterministic(false)`](jit_runtime::launch::set_deterministic), or from code of different versions.
/// Values that are not floating-point numbers must be equal.
///
/// ```standalone_crate
/// # use jit_core as jit;
/// use jit::check::{Tolerance, against_interpreter_within};
/// use jit::prelude::*;
///
/// let x = Float::linspace(0.0, 1.0, 1000);
/// against_interpreter_within(Tolerance { absolute: 0.0, relative: 1e-6 }, || x.sin().sum())?;
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`against_interpreter`], and [`InvalidArgument`](ErrorKind::InvalidArgument) for a tolerance that is negative or
/// NaN.
///
/// # Panics
///
/// As [`numerics`].
#[track_caller]
pub fn against_interpreter_within<T: Traverse>(tolerance: Tolerance, run: impl FnMut() -> T) -> Result<T, Error> {
    let site = Site::here();
    let Tolerance { absolute, relative } = tolerance;
    if !(absolute >= 0.0 && relative >= 0.0) {
        let what = format!("a tolerance is not negative: absolute {absolute}, relative {relative}");
        return Err(Error::new(ErrorKind::InvalidArgument, what).at(site));
    }
    compare(tolerance, run, site)
}

/// How far floating-point numbers may be apart: by `absolute`, or by `relative` times the larger magnitude.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// The largest difference.
    pub absolute: f64,
    /// The largest difference as a fraction of the larger magnitude.
    pub relative: f64,
}

impl Tolerance {
    /// The same bits; all NaNs are the same.
    pub const NONE: Tolerance = Tolerance { absolute: 0.0, relative: 0.0 };

    fn accepts(self, ty: Type, ours: u64, theirs: u64) -> bool {
        if ours == theirs || is_nan(ty, ours) && is_nan(ty, theirs) {
            return true;
        }
        let (true, Some(ours), Some(theirs)) = (self != Tolerance::NONE, number(ty, ours), number(ty, theirs)) else {
            return false;
        };
        let largest = ours.abs().max(theirs.abs());
        ours == theirs || largest.is_finite() && (ours - theirs).abs() <= self.absolute.max(self.relative * largest)
    }
}

/// Returns a floating-point number; none for other types.
fn number(ty: Type, bits: u64) -> Option<f64> {
    Some(match ty {
        Type::F16 => f16::from_bits(bits as u16).to_f64(),
        Type::BF16 => bf16::from_bits(bits as u16).to_f64(),
        Type::F32 => f32::from_bits(bits as u32).into(),
        Type::F64 => f64::from_bits(bits),
        _ => return None,
    })
}

fn compare<T: Traverse>(tolerance: Tolerance, mut run: impl FnMut() -> T, site: Site) -> Result<T, Error> {
    refuse("a check", "check", site);
    let why = "it is compared with the interpreter";
    let result = run();
    let ours = leaves(&result, why, site)?;
    let (theirs, _) = inspected(Mode::Interpret, why, site, &mut run);
    let (_, theirs) = theirs.unwrap_or_else(|panic| resume_unwind(panic))?;
    let Some(difference) = first_difference(tolerance, &ours, &theirs) else { return Ok(result) };
    let (outcome, first) = inspected(Mode::Compare, why, site, &mut run);
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
    Err(match first {
        Some(first) => {
            let error = Error::new(ErrorKind::CheckFailed, format!("{}: {}", difference.what, first.message()));
            let error = error.at(first.site().or(difference.site).unwrap_or(site));
            error.with_hint(first.hint().unwrap_or_default())
        }
        None => Error::new(ErrorKind::CheckFailed, difference.what).at(difference.site.unwrap_or(site)).with_hint(
            "run one by one, its kernels compute the same on both: the closure depends on something that changes from \
             run to run, such as a counter, the time or random numbers; or a replay or an executor computes the value",
        ),
    })
}

/// The result of a closure with its leaves, or the panic.
type Outcome<T> = std::thread::Result<Result<(T, Vec<Found>), Error>>;

/// Runs a closure and evaluates its result, with inspected launches; returns what was found, too.
fn inspected<T: Traverse>(
    mode: Mode,
    why: &'static str,
    site: Site,
    run: impl FnOnce() -> T,
) -> (Outcome<T>, Option<Error>) {
    let scope = Scope::begin(mode);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let result = run();
        let leaves = leaves(&result, why, site)?;
        Ok((result, leaves))
    }));
    (outcome, scope.finish())
}

/// A leaf of a result, with the elements that it had.
struct Found {
    path: String,
    what: What,
}

enum What {
    Array { ty: Type, site: Site, bytes: Vec<u8> },
    Host(HostValue),
}

/// Evaluates the arrays of a value, and copies its leaves.
fn leaves(tree: &(impl Traverse + ?Sized), why: &'static str, site: Site) -> Result<Vec<Found>, Error> {
    let vars = arrays(tree);
    schedule::evaluate(&vars.iter().collect::<Vec<_>>(), why, site)?;
    let mut found: Vec<Result<Found, Error>> = Vec::new();
    let mut visit = |path: &str, leaf: Leaf<'_>| {
        let what = match leaf {
            Leaf::Array(var) | Leaf::Shared(var) => {
                bytes_of(var).map(|bytes| What::Array { ty: var.ty(), site: var.site(), bytes })
            }
            Leaf::Host(value) => Ok(What::Host(value)),
        };
        found.push(what.map(|what| Found { path: path.to_owned(), what }));
    };
    Visitor::with_paths(&mut visit).named("result", |visitor| tree.traverse(visitor));
    found.into_iter().collect()
}

/// Returns the elements of an evaluated array.
fn bytes_of(var: &Var) -> Result<Vec<u8>, Error> {
    let size = var.ty().size_bytes();
    let mut bytes = zeroed_list(var.lanes() * size)?;
    match (var.known_bits(), var.data()) {
        (Some(bits), _) => bytes.chunks_mut(size).for_each(|chunk| chunk.copy_from_slice(&bits.to_le_bytes()[..size])),
        (None, Some(buffer)) => buffer.read(0, &mut bytes)?,
        (None, None) => {
            return Err(Error::new(ErrorKind::NotEvaluated, format!("an array of {} has no elements", var.ty())));
        }
    }
    Ok(bytes)
}

impl Found {
    /// Returns an error if an element is NaN.
    fn nan(&self) -> Option<Error> {
        let What::Array { ty, site, bytes } = &self.what else { return None };
        let mut each = bytes.chunks(ty.size_bytes()).map(|bytes| bits_of(*ty, bytes));
        let element = each.position(|bits| is_nan(*ty, bits))?;
        let what =
            format!("element {element} of `{}` is NaN ({ty}), and no operation of the closure made it", self.path);
        let hint = "it was in memory before, or an executor that was loaded from a file computed it, into which the \
                    check does not see";
        Some(Error::new(ErrorKind::CheckFailed, what).at(*site).with_hint(hint))
    }
}

struct Difference {
    what: String,
    site: Option<Site>,
}

fn first_difference(tolerance: Tolerance, ours: &[Found], theirs: &[Found]) -> Option<Difference> {
    let first = ours.iter().zip(theirs).find_map(|(ours, theirs)| difference(tolerance, ours, theirs));
    let lengths = (ours.len(), theirs.len());
    first.or_else(|| {
        let what = || format!("the closure returns {} values, and {} on the interpreter", lengths.0, lengths.1);
        (lengths.0 != lengths.1).then(|| Difference { what: what(), site: None })
    })
}

fn difference(tolerance: Tolerance, ours: &Found, theirs: &Found) -> Option<Difference> {
    let path = &ours.path;
    let differs = |site, what: fmt::Arguments<'_>| Some(Difference { what: what.to_string(), site });
    match (&ours.what, &theirs.what) {
        (What::Host(HostValue::Shared(_)), What::Host(HostValue::Shared(_))) => None,
        (What::Host(ours), What::Host(theirs)) if ours == theirs => None,
        (What::Array { ty, site, bytes }, What::Array { ty: other, bytes: their_bytes, .. }) if ty == other => {
            let (size, widths) = (ty.size_bytes(), (bytes.len(), their_bytes.len()));
            if widths.0 != widths.1 {
                let (a, b) = (widths.0 / size, widths.1 / size);
                return differs(Some(*site), format_args!("`{path}` has {a} elements, and {b} on the interpreter"));
            }
            let pairs = bytes.chunks(size).zip(their_bytes.chunks(size));
            let mut pairs = pairs.map(|(a, b)| (bits_of(*ty, a), bits_of(*ty, b))).enumerate();
            let (element, (a, b)) = pairs.find(|(_, (a, b))| !tolerance.accepts(*ty, *a, *b))?;
            let (a, b) = (Element((*ty, a)), Element((*ty, b)));
            differs(
                Some(*site),
                format_args!("element {element} of `{path}` is {a}, and {b} on the interpreter ({ty})"),
            )
        }
        _ => differs(None, format_args!("`{path}` has different values, other than arrays, on the interpreter")),
    }
}
