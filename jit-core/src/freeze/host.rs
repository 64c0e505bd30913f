//! Host calls in the middle of a frozen function: [`host`].
//!
//! While the function is recorded, the closure runs with the recording suspended. The arrays of the function that it
//! reads are evaluated as part of the recording; its results become slots that a step of the recording writes. A replay
//! runs the closure again. The arrays that the closure holds are still nodes of the recording. They represent slots of
//! the replay, whose storage is looked up when the host reads, and their widths represent sizes of the replay. So a
//! node that a host call may hold carries a flag ([`flag::HOSTED`]), by which any other use of it is rejected.

use std::any::type_name;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use jit_runtime::ir::Type;
use jit_runtime::memory::Buffer;
use jit_runtime::recording::{HostMade, HostSource, SizeId};
use jit_runtime::{Error, ErrorKind, Site};

use super::argument::Recordable;
use super::layout::Layout;
use crate::capture::host_call::{self, Call, ReplayAborted};
use crate::capture::launches;
use crate::graph::Op;
use crate::graph::node::{Var, flag};
use crate::misuse::{self, Misuse};
use crate::schedule;
use crate::size::{Size, table};
use crate::trace::{record, region};
use crate::traverse::{HostValue, Leaf, Visitor, VisitorMut, check_number};

/// A closure that replays of a frozen function may run on any thread.
#[diagnostic::on_unimplemented(
    message = "later calls of the frozen function cannot run this closure",
    label = "they may run on other threads, so it must own everything that it uses, and be `Send` and `Sync`",
    note = "move clones into it: `let x = x.clone();` before `host(move || …)`; `Arc` and `Mutex` instead of `Rc` and \
        `RefCell`"
)]
pub trait Owned: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<F: Send + Sync + 'static> Owned for F {}

/// Runs a closure on the host, again in each call of the frozen function around it. Elsewhere it just runs.
///
/// The closure owns clones of the arrays that it needs and reads them, for example with
/// [`to_vec`](crate::Array::to_vec). It sees the elements and widths of the call that it runs in. It may also read
/// anything else: the time, files, atomics. Its result is made of host values: arrays, in values of any type that is
/// [`Traverse`](crate::Traverse) and [`Clone`], with other elements and widths each time; a [`Size`](crate::Size) may
/// change, too. By anything else in the result, such as a number, a length of a list or a variant, the function
/// *decides*: if a replay returns another one, the function is recorded anew, which runs the closure once more. Return
/// a number that changes as an array: `Float::opaque(x)`.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit::freeze::{Frozen, host};
///
/// let around_median = Frozen::new(|x: &Float| {
///     let squares = x * x;
///     let read = squares.clone();
///     let median = host(move || {
///         let mut sorted = read.to_vec().expect("the squares can be computed");
///         sorted.sort_by(f32::total_cmp);
///         Float::from(sorted[sorted.len() / 2])
///     });
///     squares - median
/// });
/// assert_eq!(around_median.call(&Float::from([3.0, 1.0, 2.0])).to_vec()?, [5.0, -3.0, 0.0]);
/// assert_eq!(around_median.call(&Float::from([5.0, 0.0, 1.0, 4.0])).to_vec()?, [9.0, -16.0, -15.0, 0.0]);
/// assert_eq!(around_median.stats().recordings, 1);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// Arrays of the function are only read: anything computed from them is computed before the call or after it. The
/// recording retains the closure, with the arrays that it owned when it was recorded. With `JIT_FREEZE_VERIFY` the
/// closure runs twice in the calls that are compared.
///
/// # Panics
///
/// In a traced loop or branch, and when the closure computes with arrays of the function or an evaluation fails. If the
/// closure panics, the arguments of the frozen function are unchanged, and later calls work.
#[track_caller]
pub fn host<R: Recordable, F: Fn() -> R + Owned>(call: F) -> R {
    let site = Site::here();
    if let Some(begin) = region::recording_site() {
        Misuse::new("`jit::freeze::host` is in a traced loop or branch, whose lanes do not run on the host", site)
            .place("the loop or branch begins", begin)
            .hint("call it before or after, or in a loop with `#[evaluated]`, which the host runs")
            .panic();
    }
    if !launches::is_recording() {
        let _outside = region::exit_all();
        return call();
    }
    let outcome = recorded(call, site);
    outcome.unwrap_or_else(|error| misuse::panic_at(error.site().unwrap_or(site), error))
}

/// Arrays and sizes that a call returns, and everything else that distinguishes recordings.
struct HostCallResult {
    arrays: Vec<Var>,
    sizes: Vec<usize>,
    host: Vec<HostValue>,
}

/// Runs the call while the function is recorded.
#[track_caller]
fn recorded<R: Recordable>(call: impl Fn() -> R + Owned, site: Site) -> Result<R, Error> {
    launches::refuse_unknown("calls `jit::freeze::host`, which reads arrays", site)?;
    // Values that `schedule` marked are evaluated as part of the recording.
    schedule::evaluate(&[], "a host call follows", site)?;
    let _outside = region::exit_all();
    let (running, serial) = Call::begin_recorded(site);
    let mut result = call();
    let HostCallResult { arrays, sizes, host } = host_call_result(&mut result, site)?;
    let types: Vec<Type> = arrays.iter().map(Var::ty).collect();
    let HostMade { buffers, counts } = made(arrays, sizes)?;
    let Some(reads) = running.end_recorded() else {
        return Err(Error::new(ErrorKind::Internal, "a host call lost its recording").at(site));
    };
    let (nodes, reads): (Vec<Var>, Vec<HostSource>) = reads.into_iter().unzip();
    let (nodes, expected): (Arc<[Var]>, _) = (nodes.into(), (types.clone(), host));
    let again = move |given| {
        let begin = || Call::begin_replayed(serial, Arc::clone(&nodes), given);
        replayed(&call, begin, &expected, site)
    };
    let found: Vec<Size> = counts.iter().map(|&count| table::count(count)).collect();
    let outputs = types.into_iter().zip(buffers).zip(&found);
    let outputs: Vec<(Type, Arc<Buffer>, SizeId)> =
        outputs.map(|((ty, buffer), size)| (ty, buffer, table::id_of(*size))).collect();
    launches::note_host(Arc::new(again), &reads, &outputs, found.len() - outputs.len(), site)?;
    let mut arrays = Vec::with_capacity(outputs.len());
    for ((ty, buffer, _), size) in outputs.into_iter().zip(&found) {
        arrays.push(record::data_at(site, ty, *size, buffer));
    }
    let mut sizes = found[arrays.len()..].iter();
    let (made, mut lent) = (arrays.len(), 0);
    let mut arrays = arrays.into_iter();
    let mut put = |_: &str, var: &mut Var| {
        lent += 1;
        if let Some(array) = arrays.next() {
            *var = array;
        }
    };
    let mut put_size = |size: &mut Size, is_length: bool| {
        if !is_length {
            *size = sizes.next().copied().unwrap_or(*size);
        }
    };
    result.traverse_mut(&mut VisitorMut::with_sizes(&mut put, &mut put_size));
    check_number(type_name::<R>(), made, lent, site);
    Ok(result)
}

/// Runs the call in a replay; returns `None` if its result, or the arrays that it reads, do not match the recording.
fn replayed<R: Recordable>(
    call: &impl Fn() -> R,
    begin: impl FnOnce() -> Call,
    expected: &(Vec<Type>, Vec<HostValue>),
    site: Site,
) -> Result<Option<HostMade>, Error> {
    let _outside = region::exit_all();
    let running = begin();
    let outcome = catch_unwind(AssertUnwindSafe(|| host_call_result(&mut call(), site)));
    let is_strange = !running.end_replayed();
    match outcome {
        Err(panic) if !panic.is::<ReplayAborted>() => resume_unwind(panic),
        Err(_) => Ok(None),
        Ok(_) if is_strange => Ok(None),
        Ok(answer) => {
            let HostCallResult { arrays, sizes, host } = answer?;
            let (types, known) = expected;
            let fits = host == *known && arrays.iter().map(Var::ty).eq(types.iter().copied());
            if fits { made(arrays, sizes).map(Some) } else { Ok(None) }
        }
    }
}

/// Extracts the arrays and sizes from the result of a call.
fn host_call_result(result: &mut impl Recordable, site: Site) -> Result<HostCallResult, Error> {
    let (mut host, mut refused) = (Vec::new(), None);
    let (mut arrays, mut sizes) = (Vec::new(), Vec::new());
    // The lengths of axes are part of the key.
    let mut take_size = |size: &mut Size, is_length: bool| {
        if is_length {
            *size = size.here().value().into();
        } else {
            sizes.push(std::mem::replace(size, Size::from(0)).here().value());
        }
    };
    result.traverse_mut(&mut VisitorMut::with_sizes(&mut |_, _| {}, &mut take_size));
    result.traverse(&mut Visitor::with_paths(&mut |path, leaf| match leaf {
        Leaf::Array(var) if host_call::is_foreign(var) => {
            refused = Some((path.to_owned(), "belongs to the frozen function"))
        }
        Leaf::Array(var) => arrays.push(var.clone()),
        Leaf::Shared(_) => refused = Some((path.to_owned(), "is behind `&`, `Rc` or `Arc`")),
        Leaf::Host(value) => host.push(value),
    }));
    if let Some((path, why)) = refused {
        let place = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
        let message = format!("the array{place} that `jit::freeze::host` returns {why}");
        let hint = "return arrays that the closure makes, as with `Float::from(values)`; those of the function are \
            available outside";
        return Err(Error::new(ErrorKind::NotRecordable, message).at(site).with_hint(hint));
    }
    let missing: Vec<&Var> = arrays.iter().filter(|var| !var.is_evaluated()).collect();
    schedule::evaluate(&missing, "`jit::freeze::host` returns it", site)?;
    result.traverse_mut(&mut VisitorMut::new(&mut |_, var| *var = record::literal(var.ty(), 0, var.lanes())));
    Ok(HostCallResult { arrays, sizes, host })
}

/// Returns exclusively owned memory of evaluated arrays, and their numbers of elements.
fn made(arrays: Vec<Var>, sizes: Vec<usize>) -> Result<HostMade, Error> {
    let counts = arrays.iter().map(Var::lanes).chain(sizes).collect();
    let buffers = arrays.into_iter().map(own_memory).collect::<Result<_, Error>>()?;
    Ok(HostMade { buffers, counts })
}

/// Returns the elements of an evaluated array in separate memory, because launches may overwrite the original.
fn own_memory(var: Var) -> Result<Arc<Buffer>, Error> {
    let (ty, lanes) = (var.ty(), var.lanes());
    if let Some(bits) = var.known_bits() {
        return Buffer::repeated(&bits.to_le_bytes()[..ty.size_bytes()], lanes);
    }
    let buffer = var.data().expect("an array that was evaluated is in memory");
    drop(var);
    if Arc::strong_count(&buffer) == 1 {
        return Ok(buffer);
    }
    let bytes = buffer.bytes()?;
    Buffer::from_bytes(&bytes[..lanes * ty.size_bytes()])
}

/// Rejects arrays of the frozen function as arguments of another frozen function that a host call calls.
pub(super) fn check_arguments(layout: &Layout, site: Site) {
    if host_call::is_inside() {
        layout.inputs.iter().for_each(|input| host_call::refuse_use(&input.var, site));
    }
}

/// Separates the arrays that a frozen function returns from those that its host calls may hold.
pub(super) fn part(vars: &mut [Var]) {
    let mut parted: Vec<(Var, Var)> = Vec::new();
    for var in vars.iter_mut().filter(|var| var.flags() & flag::HOSTED != 0) {
        let known = parted.iter().find(|(own, _)| own.is_same(var)).map(|(_, other)| other.clone());
        let other = known.unwrap_or_else(|| {
            let (site, ty, lanes) = (var.site(), var.ty(), var.lanes());
            let other = match (var.known_bits(), var.data()) {
                (None, Some(buffer)) => record::data_at(site, ty, lanes, buffer),
                (bits, _) if var.op() == Op::Literal => record::literal(ty, bits.unwrap_or_default(), lanes),
                (bits, _) => record::opaque(ty, bits.unwrap_or_default(), lanes),
            };
            parted.push((var.clone(), other.clone()));
            other
        });
        *var = other;
    }
}
