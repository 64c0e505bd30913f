//! What became of a traced function: how often it was traced, and which of its kernels were compiled, and why.
//!
//! A kernel that is not in the cache is compared with the one most like it among those that were compiled for the same
//! function before. Only compilations do this; a kernel that is found is counted.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jit_runtime::Site;
use jit_runtime::backend::{CodeOptions, Effort, Scatters};
use jit_runtime::device::{Device, current_device};
use jit_runtime::ir::{Kernel, Op, Type, Value, print};
use jit_runtime::launch::Prepared;
use parking_lot::Mutex;

/// How many kernels are retained for comparisons, and how many compilations are listed.
const MAX_KERNELS: usize = 16;
const MAX_LISTED: usize = 256;

/// How many `#[constexpr]` parameters of a function are compared.
const MAX_CONSTEXPRS: usize = 4;
/// A multiplier with bits set all over, for hashes.
const ODD: u64 = 0xf135_7aea_2e62_a9c5;

/// The counters of a function, and its kernels.
#[derive(Debug)]
pub(crate) struct History {
    /// Hashes of the values of the `#[constexpr]` parameters in the last trace.
    constexprs: [AtomicU64; MAX_CONSTEXPRS],
    /// A hash of the types of the arguments in the last trace.
    arguments: AtomicU64,
    traces: AtomicU64,
    compiles: AtomicU64,
    hits: AtomicU64,
    recordings: AtomicU64,
    replays: AtomicU64,
    compiled: Mutex<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    /// The values of the `#[constexpr]` parameters in the last trace, by position.
    constexprs: Vec<(usize, &'static str, String)>,
    /// The arrays in the arguments of the last trace.
    arguments: Option<Arc<[(String, Type)]>>,
    kernels: Vec<Known>,
    changes: Vec<(Site, CodeChange)>,
}

/// A kernel, and the lines of its literals.
#[derive(Debug)]
struct Known {
    kernel: Kernel,
    literals: Vec<(Value, Site)>,
    /// The bits of its scalar arguments when it was compiled: literals that changed became some of these.
    scalars: Vec<Option<u64>>,
    options: CodeOptions,
    constexprs: Vec<(usize, &'static str, String)>,
    arguments: Option<Arguments>,
}

/// The arrays in the arguments of a trace: the place of each, and its element type; and the device of a kernel.
#[derive(Clone, PartialEq, Debug)]
struct Arguments {
    arrays: Arc<[(String, Type)]>,
    device: Device,
}

/// Why a kernel of a `#[jit]` function was compiled: the difference from the most similar one that was compiled for the
/// function before.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CodeChange {
    /// No kernel was compiled for the function before.
    First,
    /// A number that is part of the code, such as one that the function took from its environment.
    Literal {
        /// The line that it comes from, if known.
        place: Option<Site>,
        /// The number in the earlier kernel.
        before: String,
        /// The number now.
        now: String,
    },
    /// The value of a `#[constexpr]` parameter, which the code was specialised for.
    ConstexprParameter {
        /// The parameter.
        name: &'static str,
        /// Its value when the earlier kernel was compiled.
        before: String,
        /// Its value now.
        now: String,
    },
    /// The element type of an array among the arguments.
    ArgumentType {
        /// The argument, and the place in it: `state.velocity[1]`.
        path: String,
        /// The type when the earlier kernel was compiled.
        before: Type,
        /// The type now.
        now: Type,
    },
    /// The device of the arguments.
    ArgumentDevice {
        /// The first array among the arguments: `state.velocity[1]`.
        path: String,
        /// The device when the earlier kernel was compiled.
        before: Device,
        /// The device now.
        now: Device,
    },
    /// The element type of another array that the kernel reads or writes.
    ElementType {
        /// The type in the earlier kernel.
        before: Type,
        /// The type now.
        now: Type,
    },
    /// An array had one element for all lanes and has one for each, or the other way round.
    ArrayWidth {
        /// The position of the array among those that the kernel reads and writes.
        array: usize,
        /// Whether it has one element for each lane now.
        is_for_each_lane: bool,
    },
    /// Other operations: another branch of the host was taken, or the value was computed together with others.
    Operations {
        /// The number of operations in the earlier kernel.
        before: usize,
        /// The number of operations now.
        now: usize,
    },
    /// The same kernel, compiled for other sizes or settings: how results are stored, scatters combined, or the effort
    /// of the compiler.
    Options {
        /// The option in the earlier code.
        before: String,
        /// The option now.
        now: String,
    },
    /// The same kernel with the same options: it is not in the cache any more, or was compiled past it.
    Same,
}

impl CodeChange {
    /// Returns whether another change has the same place in the program, apart from the values.
    pub(crate) fn has_same_place(&self, other: &CodeChange) -> bool {
        use CodeChange::{ArgumentDevice, ArgumentType, ConstexprParameter, Literal};
        match (self, other) {
            (Literal { place: Some(place), .. }, Literal { place: Some(other), .. }) => place == other,
            (ConstexprParameter { name, .. }, ConstexprParameter { name: other, .. }) => name == other,
            (ArgumentType { path, .. }, ArgumentType { path: other, .. })
            | (ArgumentDevice { path, .. }, ArgumentDevice { path: other, .. }) => path == other,
            (change, other) => change == other,
        }
    }
}

impl fmt::Display for CodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeChange::First => f.write_str("its first kernel was compiled"),
            CodeChange::Literal { place: Some(place), before, now } => {
                write!(f, "the number of {}:{} was {before} and is {now}", place.file(), place.line())
            }
            CodeChange::Literal { place: None, before, now } => write!(f, "a number was {before} and is {now}"),
            CodeChange::ConstexprParameter { name, before, now } => {
                write!(f, "the constexpr parameter `{name}` was {before} and is {now}")
            }
            CodeChange::ArgumentType { path, before, now } => {
                write!(f, "`{path}` had elements of {before}, and has {now}")
            }
            CodeChange::ArgumentDevice { path, before, now } => {
                write!(f, "`{path}` was on the device `{before}`, and is on `{now}`")
            }
            CodeChange::ElementType { before, now } => write!(f, "an array had elements of {before}, and has {now}"),
            CodeChange::ArrayWidth { array, is_for_each_lane } => {
                let [before, now] = match is_for_each_lane {
                    true => ["one element for all lanes", "one for each"],
                    false => ["one element for each lane", "one for all"],
                };
                write!(f, "array {array} of the kernel had {before}, and has {now}")
            }
            CodeChange::Operations { before, now } => {
                write!(f, "the kernel has other operations: {now}, and the most similar one had {before}")
            }
            CodeChange::Options { before, now } => {
                write!(f, "the same kernel was compiled with the option {now} instead of {before}")
            }
            CodeChange::Same => {
                f.write_str("the same kernel was compiled again: it was evicted, or compiled past the cache")
            }
        }
    }
}

impl History {
    pub(crate) const fn new() -> History {
        History {
            constexprs: [const { AtomicU64::new(0) }; MAX_CONSTEXPRS],
            arguments: AtomicU64::new(0),
            traces: AtomicU64::new(0),
            compiles: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            recordings: AtomicU64::new(0),
            replays: AtomicU64::new(0),
            compiled: Mutex::new(Compiled {
                constexprs: Vec::new(),
                arguments: None,
                kernels: Vec::new(),
                changes: Vec::new(),
            }),
        }
    }

    #[inline]
    pub(crate) fn count_trace(&self) {
        self.traces.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a recording of an executor.
    pub(crate) fn count_recording(&self) {
        self.recordings.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a call of an executor.
    #[inline]
    pub(crate) fn count_replay(&self) {
        self.replays.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the numbers of traces, of kernels that were compiled, of those found in the cache, and of the recordings
    /// and calls of executors.
    pub(crate) fn counts(&self) -> [u64; 5] {
        self.counters().map(|count| count.load(Ordering::Relaxed))
    }

    fn counters(&self) -> [&AtomicU64; 5] {
        [&self.traces, &self.compiles, &self.hits, &self.recordings, &self.replays]
    }

    /// Returns the lines that caused compilations, with the reasons, oldest first.
    pub(crate) fn changes(&self) -> Vec<(Site, CodeChange)> {
        self.compiled.lock().changes.clone()
    }

    pub(crate) fn clear(&self) {
        self.counters().iter().for_each(|count| count.store(0, Ordering::Relaxed));
        let mut compiled = self.compiled.lock();
        compiled.kernels.clear();
        compiled.changes.clear();
    }

    /// Notes the value of a `#[constexpr]` parameter in a trace.
    #[inline]
    pub(crate) fn note_constexpr(&self, position: usize, name: &'static str, hash: u64, text: impl FnOnce() -> String) {
        let Some(last) = self.constexprs.get(position) else { return };
        // No value is noted as zero, which no trace has left.
        let hash = hash.max(1);
        if last.load(Ordering::Relaxed) != hash {
            last.store(hash, Ordering::Relaxed);
            let value = (position, name, text());
            let constexprs = &mut self.compiled.lock().constexprs;
            constexprs.retain(|(other, ..)| *other != position);
            constexprs.push(value);
            constexprs.sort();
        }
    }

    /// Returns whether the types of the arguments are others than in the trace before.
    #[inline]
    pub(crate) fn has_other_arguments(&self, kinds: &[u64]) -> bool {
        let hash = kinds.iter().fold(1, |hash: u64, kind| (hash.rotate_left(9) ^ kind).wrapping_mul(ODD));
        self.arguments.load(Ordering::Relaxed) != hash && {
            self.arguments.store(hash, Ordering::Relaxed);
            true
        }
    }

    /// Notes the arrays in the arguments of a trace.
    #[cold]
    pub(crate) fn note_arguments(&self, arrays: Vec<(String, Type)>) {
        self.compiled.lock().arguments = Some(arrays.into());
    }

    /// Notes that a kernel was compiled.
    #[cold]
    pub(crate) fn note_compiled(&self, prepared: &Prepared, literals: &[(Value, Site)], site: Site) {
        self.compiles.fetch_add(1, Ordering::Relaxed);
        let (kernel, scalars) = (prepared.kernel(), prepared.scalars());
        let (kernel, options) = (kernel.clone(), prepared.options());
        let mut compiled = self.compiled.lock();
        // The evaluation is in the scope of their device.
        let device = current_device();
        let arguments = compiled.arguments.clone().map(|arrays| Arguments { arrays, device });
        let constexprs = compiled.constexprs.clone();
        let known = Known { kernel, literals: literals.to_vec(), scalars, options, constexprs, arguments };
        let nearest = compiled.kernels.iter().rev().min_by_key(|earlier| earlier.distance(&known));
        let change = nearest.map_or(CodeChange::First, |earlier| change(earlier, &known));
        if compiled.kernels.len() == MAX_KERNELS {
            compiled.kernels.remove(0);
        }
        if compiled.changes.len() == MAX_LISTED {
            compiled.changes.remove(0);
        }
        compiled.kernels.push(known);
        compiled.changes.push((site, change));
    }
}

impl Known {
    /// Returns how much two kernels differ: first by what they were specialised for.
    fn distance(&self, other: &Known) -> (usize, usize) {
        let pairs = self.constexprs.iter().zip(&other.constexprs);
        let arguments = self.changed_arguments(other).count();
        (pairs.filter(|(a, b)| a != b).count() + arguments, distance(&self.kernel, &other.kernel))
    }

    /// Returns the differences between the arguments of the traces.
    fn changed_arguments(&self, now: &Known) -> impl Iterator<Item = CodeChange> {
        let arguments = self.arguments.as_ref().zip(now.arguments.as_ref());
        arguments.into_iter().flat_map(|(before, now)| before.changes(now))
    }
}

impl Arguments {
    /// Returns the differences: first of arrays at one place, then of the device.
    fn changes(&self, now: &Arguments) -> impl Iterator<Item = CodeChange> {
        let pairs = self.arrays.iter().zip(&*now.arrays).filter(|(before, now)| before.0 == now.0 && before.1 != now.1);
        let types = pairs.map(|((_, before), (path, now))| CodeChange::ArgumentType {
            path: path.clone(),
            before: *before,
            now: *now,
        });
        let device = now.arrays.first().filter(|_| self.device != now.device);
        types.chain(device.map(|(path, _)| CodeChange::ArgumentDevice {
            path: path.clone(),
            before: self.device,
            now: now.device,
        }))
    }
}

fn ops(kernel: &Kernel) -> impl Iterator<Item = (&Op, Value)> {
    kernel.regions.iter().flat_map(|region| &region.insts).map(|inst| (&inst.op, inst.first))
}

/// Returns how much two kernels differ: parameters and operations that are not equal.
fn distance(one: &Kernel, other: &Kernel) -> usize {
    let params = one.params.iter().zip(&other.params).filter(|(a, b)| a.ty() != b.ty()).count();
    let insts = ops(one).zip(ops(other)).filter(|(a, b)| a.0 != b.0).count();
    let lengths = one.params.len().abs_diff(other.params.len()) + one.op_count().abs_diff(other.op_count());
    params + insts + lengths
}

/// Returns the first difference between two kernels.
fn change(before: &Known, now: &Known) -> CodeChange {
    let (old, new) = (&before.kernel, &now.kernel);
    if let Some(change) = before.changed_arguments(now).next() {
        return change;
    }
    if old == new {
        return other_option(before.options, now.options);
    }
    let mut constexprs = before.constexprs.iter().zip(&now.constexprs);
    if let Some(((_, _, was), (_, name, is))) = constexprs.find(|(was, is)| was.1 == is.1 && was.2 != is.2) {
        return CodeChange::ConstexprParameter { name, before: was.clone(), now: is.clone() };
    }
    let differs = ops(old).zip(ops(new)).find(|(old, new)| old.0 != new.0);
    if let Some((ty, was, is, value)) = differs.and_then(|(old, new)| other_literal(before, old, now, new)) {
        let known = now.literals.iter().chain(&before.literals);
        let place = known.into_iter().find(|(literal, _)| *literal == value).map(|(_, site)| *site);
        let text = |bits| print::Literal(ty, bits).to_string();
        return CodeChange::Literal { place, before: text(was), now: text(is) };
    }
    let types = old.params.iter().zip(&new.params).map(|(old, new)| (old.ty(), new.ty()));
    if let (true, Some((before, now))) = (old.params.len() == new.params.len(), types.clone().find(|(a, b)| a != b)) {
        return CodeChange::ElementType { before, now };
    }
    if old.params.len() == new.params.len()
        && let Some(change) = (0..old.params.len()).find_map(|array| other_width(old, new, array))
    {
        return change;
    }
    CodeChange::Operations { before: old.op_count(), now: new.op_count() }
}

/// Returns the difference if one kernel reads an element of an array for each lane, and the other one for all lanes.
fn other_width(old: &Kernel, new: &Kernel, array: usize) -> Option<CodeChange> {
    let [before, now] = [has_element_for_each_lane(old, array)?, has_element_for_each_lane(new, array)?];
    (before != now).then_some(CodeChange::ArrayWidth { array, is_for_each_lane: now })
}

/// Returns whether a kernel reads the elements of an array lane by lane, and not the first one alone; `None` if it does
/// both, or something else.
fn has_element_for_each_lane(kernel: &Kernel, array: usize) -> Option<bool> {
    let firsts: Vec<Value> =
        ops(kernel).filter(|(op, _)| matches!(op, Op::Const(_, 0))).map(|(_, value)| value).collect();
    let mut reads = ops(kernel).filter_map(|(op, _)| match *op {
        Op::Load(buffer) if buffer.index() == array => Some(Some(true)),
        Op::Gather { buffer, index, .. } if buffer.index() == array => Some(firsts.contains(&index).then_some(false)),
        _ => None,
    });
    let first = reads.next()??;
    reads.all(|read| read == Some(first)).then_some(first)
}

/// Returns the first code option that differs.
fn other_option(before: CodeOptions, now: CodeOptions) -> CodeChange {
    let texts = |options: CodeOptions| {
        let scatters = match options.scatters {
            Scatters::Shared => "shared targets of scatters".to_owned(),
            Scatters::Private { copies_log2 } => format!("{} private targets of scatters", 1 << copies_log2),
        };
        let stores = if options.streaming_stores { "streaming stores" } else { "ordinary stores" };
        let effort = if options.effort == Effort::Thorough { "more effort" } else { "little effort" };
        [stores.to_owned(), scatters, effort.to_owned()]
    };
    let mut pairs = texts(before).into_iter().zip(texts(now));
    let differs = pairs.find(|(before, now)| before != now);
    differs.map_or(CodeChange::Same, |(before, now)| CodeChange::Options { before, now })
}

/// Returns a literal that differs, if two operations are that: its type, its bits before and now, and the value.
fn other_literal(
    before: &Known,
    (old, _): (&Op, Value),
    now: &Known,
    (new, value): (&Op, Value),
) -> Option<(Type, u64, u64, Value)> {
    let bits = |known: &Known, op: &Op| match *op {
        Op::Const(ty, bits) => Some((ty, bits)),
        Op::Scalar(param) => Some((known.kernel.params[param.index()].ty(), (*known.scalars.get(param.index())?)?)),
        _ => None,
    };
    let ((ty, was), (new_ty, is)) = (bits(before, old)?, bits(now, new)?);
    (ty == new_ty && was != is).then_some((ty, was, is, value))
}
