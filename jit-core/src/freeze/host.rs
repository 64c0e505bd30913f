//! Calls of the host in the middle of a frozen function: [`host`].
//!
//! While the function is recorded, the call runs with the recording set aside. What it reads of the function is computed as part of the
//! recording and noted, and what it gives back becomes memory that a step of the recording makes. A replay runs the call again. The arrays that it
//! holds are nodes of the recording still: they stand for memory of the replay, which is looked up where the host reads, and their widths for
//! sizes of it. So a node that a call of the host may hold keeps a mark ([`flag::HOSTED`]), by which everything else that is done with it is refused.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;

use jit_runtime::ir::Type;
use jit_runtime::memory::Buffer;
use jit_runtime::recording::{HostGiven, HostInput, HostMade, HostSource, SizeId};
use jit_runtime::{Error, ErrorKind};

use super::argument::Kept;
use super::layout::Layout;
use super::session::{self, Paused};
use super::symbols;
use crate::array::Size;
use crate::schedule;
use crate::trace::misuse::{self, Misuse};
use crate::trace::node::{Var, flag};
use crate::trace::{Op, record, region};
use crate::traverse::{HostValue, Leaf, Visitor, VisitorMut};

/// A closure that replays of a frozen function run on any thread.
#[diagnostic::on_unimplemented(
    message = "later calls of the frozen function cannot run this closure",
    label = "they may run on other threads, so it must own what it uses, and that be `Send` and `Sync`",
    note = "give it clones: `let x = x.clone();` before `host(move || …)`; `Arc` and `Mutex` instead of `Rc` and `RefCell`"
)]
pub trait Owned: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<F: Send + Sync + 'static> Owned for F {}

/// Runs a closure of the host, again in each call of the frozen function around it. Elsewhere it just runs.
///
/// The closure owns clones of the arrays that it needs and reads them, as with [`to_vec`](crate::Array::to_vec); it finds the elements and widths of
/// the call that it runs in. It may look at anything else, too: the time, files, atomics. What it gives back it makes from values of the host:
/// arrays, in values of any type that is [`Traverse`](crate::Traverse) and [`Clone`], with other elements and widths each time; a
/// [`Size`](crate::Size) may be another one, too. By anything else, such as a number, a length of a list or a variant, the function *decides*: where a
/// replay finds another one, the function is recorded anew. That runs the closure once more. A number that changes is given back as an
/// array: `Float::opaque(x)`.
///
/// ```
/// use jit_core::Float;
/// use jit_core::freeze::{Frozen, host};
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
/// Arrays of the function are only read: what is computed from them is computed before the call or after it. The recording keeps the closure, with
/// the arrays that it owns as they were when it was recorded. With `JIT_FREEZE_VERIFY` it runs twice in the calls that are compared.
///
/// # Panics
///
/// In a traced loop or branch, and when the closure computes with arrays of the function or an evaluation fails. If the closure panics, the arguments of
/// the frozen function are as they were, and later calls work.
#[track_caller]
pub fn host<R: Kept, F: Fn() -> R + Owned>(call: F) -> R {
    let site = Location::caller();
    if let Some(begin) = region::recording_site() {
        Misuse::new("`jit::freeze::host` stands in a traced loop or branch, whose lanes do not run on the host", site)
            .place("the loop or branch begins", begin)
            .hint("call it before or after, or in a loop with `#[evaluated]`, which the host runs")
            .panic();
    }
    if !session::is_recording() {
        let _outside = region::leave_all();
        return call();
    }
    let outcome = recorded(call, site);
    outcome.unwrap_or_else(|error| misuse::panic_at(error.site().unwrap_or(site), error))
}

/// A call of the host that this thread is in.
enum Running {
    /// The function around it is recorded, and what it has read of that.
    Recorded { paused: Box<Paused>, reads: Vec<(Var, HostSource)> },
    /// The function is replayed. It reads these nodes; true if it does what the recording does not know.
    Replayed { serial: u32, nodes: Arc<[Var]>, given: HostGiven, numbers: Vec<u64>, is_strange: bool },
}

thread_local! {
    /// The plain numbers among the arguments of the frozen function that is replayed, where it calls the host.
    static NUMBERS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    /// The innermost last.
    static RUNNING: RefCell<Vec<Running>> = const { RefCell::new(Vec::new()) };
}

/// Ends a call of the host, however it ends.
struct Call {
    depth: usize,
}

impl Call {
    fn begin(running: Running) -> Call {
        RUNNING.with_borrow_mut(|all| {
            all.push(running);
            Call { depth: all.len() - 1 }
        })
    }

    fn end(self) -> Option<Running> {
        let running = RUNNING.with_borrow_mut(|all| all.split_off(self.depth.min(all.len())));
        running.into_iter().next()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let running = RUNNING.with_borrow_mut(|all| all.split_off(self.depth.min(all.len())));
        for running in running {
            if let Running::Recorded { paused, .. } = running {
                session::resume(*paused);
                session::give_up(|| "a call of the host broke off".to_owned());
            }
        }
    }
}

/// What a replay breaks a call off with that reads what the recording does not know. No panic is reported.
struct Unread;

/// Arrays and sizes that a call gives back, and all else that tells recordings apart.
struct Answer {
    arrays: Vec<Var>,
    sizes: Vec<usize>,
    host: Vec<HostValue>,
}

/// Runs the call while the function is recorded.
#[track_caller]
fn recorded<R: Kept>(call: impl Fn() -> R + Owned, site: &'static Location<'static>) -> Result<R, Error> {
    // What was marked to be evaluated belongs to the recording.
    schedule::evaluate(&[], "a call of the host follows", site)?;
    let _outside = region::leave_all();
    let paused = Box::new(session::pause(site));
    let serial = paused.serial();
    let running = Call::begin(Running::Recorded { paused, reads: Vec::new() });
    let mut result = call();
    let Answer { arrays, sizes, host } = answer(&mut result, site)?;
    let types: Vec<Type> = arrays.iter().map(Var::ty).collect();
    let HostMade { buffers, counts } = made(arrays, sizes)?;
    let Some(Running::Recorded { paused, reads }) = running.end() else {
        return Err(Error::new(ErrorKind::Internal, "a call of the host lost its recording").at(site));
    };
    session::resume(*paused);
    let (nodes, reads): (Vec<Var>, Vec<HostSource>) = reads.into_iter().unzip();
    let (nodes, expected): (Arc<[Var]>, _) = (nodes.into(), (types.clone(), host));
    let again = move |given| {
        let (nodes, numbers) = (Arc::clone(&nodes), NUMBERS.with_borrow(Clone::clone));
        let running = Running::Replayed { serial, nodes, given, numbers, is_strange: false };
        replayed(&call, running, &expected, site)
    };
    let found: Vec<Size> = counts.iter().map(|&count| symbols::count(count)).collect();
    let outputs = types.into_iter().zip(buffers).zip(&found);
    let outputs: Vec<(Type, Arc<Buffer>, SizeId)> =
        outputs.map(|((ty, buffer), size)| (ty, buffer, symbols::id_of(*size))).collect();
    session::note_host(Arc::new(again), &reads, &outputs, found.len() - outputs.len(), site)?;
    let mut arrays = Vec::with_capacity(outputs.len());
    for ((ty, buffer, _), size) in outputs.into_iter().zip(&found) {
        arrays.push(record::data_at(site, ty, *size, buffer));
    }
    let mut sizes = found[arrays.len()..].iter();
    let mut arrays = arrays.into_iter();
    let mut put = |_: &str, var: &mut Var| *var = arrays.next().unwrap_or_else(|| var.clone());
    let mut put_size = |size: &mut Size, is_length: bool| {
        if !is_length {
            *size = sizes.next().copied().unwrap_or(*size);
        }
    };
    result.traverse_mut(&mut VisitorMut::with_sizes(&mut put, &mut put_size));
    Ok(result)
}

/// Runs the call in a replay; nothing if what it gives back, or looks at, does not fit the recording.
fn replayed<R: Kept>(
    call: &impl Fn() -> R,
    running: Running,
    expected: &(Vec<Type>, Vec<HostValue>),
    site: &'static Location<'static>,
) -> Result<Option<HostMade>, Error> {
    let _outside = region::leave_all();
    let running = Call::begin(running);
    let outcome = catch_unwind(AssertUnwindSafe(|| answer(&mut call(), site)));
    let is_strange = !matches!(running.end(), Some(Running::Replayed { is_strange: false, .. }));
    match outcome {
        Err(panic) if !panic.is::<Unread>() => resume_unwind(panic),
        Err(_) => Ok(None),
        Ok(_) if is_strange => Ok(None),
        Ok(answer) => {
            let Answer { arrays, sizes, host } = answer?;
            let (types, known) = expected;
            let fits = host == *known && arrays.iter().map(Var::ty).eq(types.iter().copied());
            if fits { made(arrays, sizes).map(Some) } else { Ok(None) }
        }
    }
}

/// Takes the arrays and sizes out of what a call gives back.
fn answer(result: &mut impl Kept, site: &'static Location<'static>) -> Result<Answer, Error> {
    let (mut host, mut refused) = (Vec::new(), None);
    let (mut arrays, mut sizes) = (Vec::new(), Vec::new());
    // Lengths of axes are among what tells recordings apart.
    let mut take_size = |size: &mut Size, is_length: bool| {
        if is_length {
            *size = size.here().value().into();
        } else {
            sizes.push(std::mem::replace(size, Size::from(0)).here().value());
        }
    };
    result.traverse_mut(&mut VisitorMut::with_sizes(&mut |_, _| {}, &mut take_size));
    result.traverse(&mut Visitor::with_paths(&mut |path, leaf| match leaf {
        Leaf::Array(var) if is_foreign(var) => refused = Some((path.to_owned(), "is one of the frozen function")),
        Leaf::Array(var) => arrays.push(var.clone()),
        Leaf::Shared(_) => refused = Some((path.to_owned(), "is behind `&`, `Rc` or `Arc`")),
        Leaf::Host(value) => host.push(value),
    }));
    if let Some((path, why)) = refused {
        let place = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
        let message = format!("the array{place} that `jit::freeze::host` gives back {why}");
        let hint = "give back arrays that the closure makes, as by `Float::from(values)`; those of the function are at hand outside";
        return Err(Error::new(ErrorKind::NotRecordable, message).at(site).with_hint(hint));
    }
    let missing: Vec<&Var> = arrays.iter().filter(|var| !var.is_evaluated()).collect();
    schedule::evaluate(&missing, "`jit::freeze::host` gives it back", site)?;
    result.traverse_mut(&mut VisitorMut::new(&mut |_, var| *var = record::literal(var.ty(), 0, var.lanes())));
    Ok(Answer { arrays, sizes, host })
}

/// Memory that nobody else has for arrays that are evaluated, and how many elements they have.
fn made(arrays: Vec<Var>, sizes: Vec<usize>) -> Result<HostMade, Error> {
    let counts = arrays.iter().map(Var::lanes).chain(sizes).collect();
    let buffers = arrays.into_iter().map(own_memory).collect::<Result<_, Error>>()?;
    Ok(HostMade { buffers, counts })
}

/// The elements of an array that is evaluated in memory of their own: launches may overwrite it.
fn own_memory(var: Var) -> Result<Arc<Buffer>, Error> {
    let (ty, lanes) = (var.ty(), var.lanes());
    if let Some(bits) = var.known_bits() {
        return Buffer::from_bytes(&bits.to_le_bytes()[..ty.size_bytes()].repeat(lanes));
    }
    let buffer = var.data().expect("an array that was evaluated lies in memory");
    drop(var);
    if Arc::strong_count(&buffer) == 1 {
        return Ok(buffer);
    }
    let mut bytes = vec![0; lanes * ty.size_bytes()];
    buffer.read(0, &mut bytes)?;
    Buffer::from_bytes(&bytes)
}

/// Whether this thread is in a call of the host, and records nothing in there.
pub(crate) fn is_inside() -> bool {
    !symbols::is_recording() && RUNNING.try_with(|all| !all.borrow().is_empty()).unwrap_or_default()
}

/// Whether an array belongs to the frozen function that a call of the host stands in.
pub(crate) fn is_foreign(var: &Var) -> bool {
    is_inside() && !is_constant(var) && RUNNING.with_borrow(|all| all.iter().any(|running| running.is_foreign(var)))
}

/// Whether it is the same in all replays.
fn is_constant(var: &Var) -> bool {
    var.op() == Op::Literal && var.extent().size == SizeId(0)
}

impl Running {
    fn is_foreign(&self, var: &Var) -> bool {
        match self {
            Running::Recorded { paused, .. } => paused.is_own(var),
            Running::Replayed { nodes, .. } => {
                var.flags() & flag::HOSTED != 0 || nodes.iter().any(|node| node.is_same(var))
            }
        }
    }
}

/// Whether an array that a call of the host may hold is used where neither that call runs nor the function is recorded, as on another
/// thread: nobody knows there what it stands for.
fn is_stray(var: &Var) -> bool {
    let is_somewhere_else = || !is_inside() && !symbols::is_recording() && !is_constant(var);
    var.flags() & flag::HOSTED != 0 && is_somewhere_else() && !session::is_lent(var)
}

#[cold]
fn stray(var: &Var) -> Error {
    let made = var.site();
    let message = format!(
        "an array of a frozen function that calls `jit::freeze::host` is used elsewhere: {} × {}, made at {}:{}",
        var.ty(),
        var.lanes(),
        made.file(),
        made.line()
    );
    let hint = "read it on the thread that runs the closure, and hand the elements on; give back from the function what is used outside of it";
    Error::new(ErrorKind::NotRecordable, message).with_hint(hint)
}

/// Refuses a node that a call of the host makes of arrays of the frozen function.
#[cold]
pub(crate) fn check_operands(user: &Var) {
    if symbols::is_recording() {
        return;
    }
    (0..user.op().slots()).filter_map(|slot| user.operand(slot)).for_each(|var| refuse_use(&var, user.site()));
    if let Some(extra) = user.extra() {
        extra.for_each_var(|var| refuse_use(var, user.site()));
    }
}

/// Refuses to do anything but to read with an array of the frozen function that a call of the host stands in.
pub(crate) fn refuse_use(var: &Var, site: &'static Location<'static>) {
    if is_stray(var) {
        misuse::panic_at(site, stray(var));
    }
    if is_foreign(var) {
        Misuse::new("the closure of `jit::freeze::host` computes with an array of the frozen function", site)
            .value("it", var)
            .hint("compute before the call or after it; in it arrays are read, as by `to_vec`, and others are made of what the host knows")
            .panic();
    }
}

/// Refuses arrays of the frozen function as arguments of another one that a call of the host calls.
pub(super) fn check_arguments(layout: &Layout, site: &'static Location<'static>) {
    if is_inside() {
        layout.inputs.iter().for_each(|input| refuse_use(&input.var, site));
    }
}

/// Computes those of some values that belong to the frozen function that a call of the host stands in, as part of its recording; gives the
/// others.
pub(crate) fn evaluate_foreign<'a>(
    wanted: &[&'a Var],
    why: &'static str,
    site: &'static Location<'static>,
) -> Result<Vec<&'a Var>, Error> {
    let (foreign, others): (Vec<&Var>, Vec<&Var>) = wanted.iter().partition(|var| is_foreign(var));
    let is_missing = |var: &&Var| !var.is_evaluated();
    if foreign.iter().any(is_missing) && RUNNING.with_borrow(|all| matches!(all.last(), Some(Running::Recorded { .. })))
    {
        while_recording(site, || schedule::evaluate(&foreign, why, site))?;
    }
    Ok(others)
}

/// Goes on with the recording for something that belongs to it.
fn while_recording<T>(site: &'static Location<'static>, run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let running = RUNNING.with_borrow_mut(Vec::pop);
    let Some(Running::Recorded { paused, reads }) = running else {
        return Err(Error::new(ErrorKind::Internal, "a call of the host lost its recording").at(site));
    };
    session::resume(*paused);
    let outcome = run();
    let paused = Box::new(session::pause(site));
    RUNNING.with_borrow_mut(|all| all.push(Running::Recorded { paused, reads }));
    outcome
}

/// The size as it is in the call of the host that this thread is in, if it is one of the frozen function around that.
#[cold]
pub(crate) fn settle(size: Size) -> Size {
    if size.serial() == symbols::serial() {
        return size;
    }
    let found = RUNNING.with_borrow(|all| {
        all.iter().rev().find_map(|running| match running {
            Running::Recorded { paused, .. } => (paused.serial() == size.serial()).then(|| size.value()),
            Running::Replayed { serial, given, .. } if *serial == size.serial() => {
                given.sizes.get(size.id().index()).copied()
            }
            Running::Replayed { .. } => None,
        })
    });
    found.map_or(size, Size::from)
}

/// The width of a node in the replay whose call of the host this thread is in.
#[cold]
pub(crate) fn size_of(size: SizeId) -> Option<usize> {
    RUNNING.with_borrow(|all| match all.last() {
        Some(Running::Replayed { given, .. }) => given.sizes.get(size.index()).copied(),
        _ => None,
    })
}

/// Breaks off the call of the host that this thread is in, if it is one of a replay: what it looks at is known of the recording alone.
pub fn refuse_replay() {
    if RUNNING.with_borrow(|all| matches!(all.last(), Some(Running::Replayed { .. }))) {
        resume_unwind(Box::new(Unread) as Box<dyn Any + Send>);
    }
}

/// Gives calls of the host the plain numbers among the arguments of a call, until the result is dropped.
pub(super) fn give_numbers(numbers: &[u64]) -> Numbers {
    Numbers(NUMBERS.replace(numbers.to_vec()))
}

/// The numbers of the call around, which are given again when this is dropped.
pub(super) struct Numbers(Vec<u64>);

impl Drop for Numbers {
    fn drop(&mut self) {
        NUMBERS.set(std::mem::take(&mut self.0));
    }
}

/// A plain number among the arguments of the call that is replayed, in a call of the host.
#[cold]
pub(super) fn number(position: usize) -> Option<u64> {
    RUNNING.with_borrow(|all| match all.last() {
        Some(Running::Replayed { numbers, .. }) => numbers.get(position).copied(),
        _ => None,
    })
}

/// Notes that a call of the host decides by some of the plain numbers among the arguments of the frozen function.
#[cold]
pub(super) fn decide(numbers: &[usize]) {
    RUNNING.with_borrow_mut(|all| {
        if let Some(Running::Recorded { paused, .. }) = all.last_mut() {
            paused.decide(numbers);
        }
    });
}

/// The elements of an array as the host sees them.
pub(crate) enum Seen {
    /// All have these bits.
    Same(u64),
    Memory(Arc<Buffer>),
}

/// What an array of the frozen function is in this call of the host; nothing for one that is like any other.
pub(crate) fn look(var: &Var, why: &'static str, site: &'static Location<'static>) -> Result<Option<Seen>, Error> {
    if is_stray(var) {
        return Err(stray(var).at(site));
    }
    if !is_foreign(var) {
        return Ok(None);
    }
    let is_recorded = RUNNING.with_borrow(|all| matches!(all.last(), Some(Running::Recorded { .. })));
    if is_recorded { look_recorded(var, why, site).map(Some) } else { look_replayed(var, site).map(Some) }
}

fn look_recorded(var: &Var, why: &'static str, site: &'static Location<'static>) -> Result<Seen, Error> {
    let source = while_recording(site, || {
        schedule::evaluate(&[var], why, site)?;
        session::source_of(var, site)
    })?;
    RUNNING.with_borrow_mut(|all| {
        if let Some(Running::Recorded { reads, .. }) = all.last_mut()
            && !reads.iter().any(|(node, _)| node.is_same(var))
        {
            reads.push((var.clone(), source.clone()));
        }
    });
    Ok(match source {
        HostSource::Memory(buffer) => Seen::Memory(buffer),
        HostSource::Scalar(_) => Seen::Same(var.known_bits().unwrap_or_default()),
    })
}

fn look_replayed(var: &Var, site: &'static Location<'static>) -> Result<Seen, Error> {
    let found = RUNNING.with_borrow_mut(|all| match all.last_mut() {
        Some(Running::Replayed { nodes, given, is_strange, .. }) => {
            let position = nodes.iter().position(|node| node.is_same(var));
            let found = position.and_then(|position| given.inputs.get(position)).cloned();
            *is_strange |= found.is_none();
            found
        }
        _ => None,
    });
    match found {
        Some(HostInput::Memory(buffer)) => Ok(Seen::Memory(buffer)),
        Some(HostInput::Same(bits)) => Ok(Seen::Same(bits)),
        None if cfg!(panic = "unwind") => resume_unwind(Box::new(Unread) as Box<dyn Any + Send>),
        None => {
            let message = "`jit::freeze::host` reads an array that it did not read when the function was recorded";
            Err(Error::new(ErrorKind::NotEvaluated, message).at(site))
        }
    }
}

/// Makes arrays that a frozen function gives back others than those that calls of the host in there may hold.
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
