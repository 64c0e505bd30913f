//! Library calls: launches that run functions of this library instead of kernels.
//!
//! Some operations are not programs of one lane: prefix reductions, sorting, matrix products. They are still launched
//! like kernels: ordered by the buffers that they read and write, asynchronous, on all cores, small ones at once on the
//! calling thread, and in the statistics under their own names. Invariant: the number of threads changes no bit of a
//! result.
//!
//! | part | file |
//! |---|---|
//! | one value in every element | `fill` |
//! | prefix reductions | `prefix`, `words` |
//! | matrix products | `matmul` |
//! | the positions of true elements | `compress` |
//! | sorting | `sort` |
//! | carries between consecutive blocks | `carry` |
//! | element types and the operations on them | `element` |
//! | stores that bypass the cache | `stream` |

use std::mem::size_of;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::blocks::Blocks;
use super::task::{self, Queued};
use super::work::{Access, Accessed, Work};
use super::{alloc_result, fork, inline, threads};
use crate::cache::cost::SMALL_NS;
use crate::cancel::{Poll, Token};
use crate::config::Device;
use crate::ir::Type;
use crate::log;
use crate::memory::Buffer;
use crate::stats::events::Traffic;
use crate::stats::{self, CacheOutcome, Facts, ParamFacts, Preparation, Record, Time};
use crate::{Error, ErrorKind, Label, Site};

use carry::Carries;

mod carry;
mod compress;
mod element;
mod fill;
mod matmul;
mod prefix;
mod sort;
mod stream;
#[cfg(test)]
mod tests;
mod words;

pub use compress::compress;
pub use matmul::{MatMul, is_supported_matmul};
pub use prefix::{Prefix, is_supported_prefix};
pub use sort::{Sort, Sorted};

/// Memory that library calls read or write.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The memory.
    pub buffer: Arc<Buffer>,
    /// The type of its elements.
    pub ty: Type,
    /// The number of elements.
    pub len: usize,
}

impl Operand {
    /// Allocates zeroed memory for elements.
    ///
    /// # Errors
    ///
    /// As [`Buffer::alloc`].
    pub fn alloc(ty: Type, len: usize) -> Result<Operand, Error> {
        Ok(Operand { buffer: Buffer::alloc(len.saturating_mul(ty.size_bytes()))?, ty, len })
    }

    /// Allocates memory for elements, with arbitrary contents.
    ///
    /// # Errors
    ///
    /// As [`Buffer::alloc`].
    ///
    /// # Safety
    ///
    /// As for [`Buffer::alloc_uninit`].
    pub unsafe fn alloc_uninit(ty: Type, len: usize) -> Result<Operand, Error> {
        // SAFETY: the caller's promise.
        let buffer = unsafe { Buffer::alloc_uninit(len.saturating_mul(ty.size_bytes()))? };
        Ok(Operand { buffer, ty, len })
    }

    /// Allocates memory for elements that a launch will write: see [`alloc_result`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::alloc`].
    ///
    /// # Safety
    ///
    /// As for [`alloc_result`].
    pub unsafe fn alloc_result(ty: Type, len: usize) -> Result<Operand, Error> {
        // SAFETY: the caller's promise.
        let buffer = unsafe { alloc_result(len.saturating_mul(ty.size_bytes()))? };
        Ok(Operand { buffer, ty, len })
    }
}

/// An operation that is launched as a library call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Call {
    /// Fills every element with one value, passed as its bits. No input, one output.
    Fill(u64),
    /// A prefix reduction. One input, one output of the same type and width.
    Prefix(Prefix),
    /// Products of matrices. Two inputs, one output, all of one type.
    MatMul(MatMul),
    /// A sort. One input, one or two outputs.
    Sort(Sort),
}

impl Call {
    /// The name of the operation in statistics and errors.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Call::Fill(_) => "fill",
            Call::Prefix(_) => "prefix_reduce",
            Call::MatMul(_) => "matmul",
            Call::Sort(_) => "sort",
        }
    }

    /// The same operation with other sizes, if it has any: the length of the blocks of a prefix reduction, or of a
    /// sort; rows, inner length, columns and number of products of matrices. Without sizes, returns the operation
    /// unchanged.
    #[must_use]
    pub fn with_sizes(self, sizes: &[usize]) -> Call {
        match (self, sizes) {
            (Call::Prefix(prefix), &[restart]) => Call::Prefix(Prefix { restart, ..prefix }),
            (Call::Sort(sort), &[row]) => Call::Sort(Sort { row, ..sort }),
            (Call::MatMul(product), &[rows, inner, columns, batch]) => {
                Call::MatMul(MatMul { rows, inner, columns, batch, ..product })
            }
            (call, _) => call,
        }
    }
}

/// A library call to be made.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The device that it counts for in statistics; the work is the same on every device of the host.
    pub device: Device,
    /// The operation.
    pub call: Call,
    /// The operands that it reads.
    pub inputs: Vec<Operand>,
    /// The operands that it writes.
    pub outputs: Vec<Operand>,
    /// The line of the user's program that caused the launch.
    pub site: Option<Site>,
}

/// Makes a library call. Returns when it is done or queued; reading a buffer waits for its contents.
///
/// # Errors
///
/// A bad setting in the environment; operands that do not fit the operation; no memory for intermediate results; a
/// failure of an earlier launch whose results this one reads, if it ran at once.
pub fn launch(launch: Launch) -> Result<(), Error> {
    log::check_environment()?;
    fork::watch();
    launch.check()?;
    stats::end_look_ups();
    let Launch { device, call, inputs, outputs, site } = launch;
    let context = Context { device, label: call.name().into(), site };
    match (call, &inputs[..], &outputs[..]) {
        (Call::Fill(bits), [], [output]) => fill::launch(context, bits, output),
        (Call::Prefix(prefix), [input], [output]) => prefix::launch(context, prefix, input, output),
        (Call::MatMul(product), [a, b], [c]) => matmul::launch(context, product, a, b, c),
        (Call::Sort(sort), [input], outputs) => sort::launch(context, sort, input, outputs),
        _ => Err(refuse(call.name(), site, "the numbers of inputs or outputs are wrong".into())),
    }
}

impl Launch {
    /// Checks sizes and types, on which the operations rely.
    fn check(&self) -> Result<(), Error> {
        for operand in self.inputs.iter().chain(&self.outputs) {
            let bytes = operand.len.checked_mul(operand.ty.size_bytes());
            if bytes.is_none_or(|bytes| bytes > operand.buffer.size_bytes()) {
                let what = format!("claims {} elements in {} bytes", operand.len, operand.buffer.size_bytes());
                return Err(self.refuse(what));
            }
        }
        let addresses: Vec<u64> = self.inputs.iter().chain(&self.outputs).map(|o| o.buffer.address()).collect();
        let is_shared = |(position, address): (usize, &u64)| {
            let is_output = position >= self.inputs.len();
            is_output && addresses.iter().filter(|other| *other == address).count() > 1
        };
        if addresses.iter().enumerate().any(is_shared) {
            return Err(self.refuse("an output is bound twice".into()));
        }
        match self.call {
            Call::Prefix(prefix) => prefix.check(&self.inputs, &self.outputs).map_err(|what| self.refuse(what)),
            Call::MatMul(product) => product.check(&self.inputs, &self.outputs).map_err(|what| self.refuse(what)),
            Call::Sort(sort) => sort.check(&self.inputs, &self.outputs).map_err(|what| self.refuse(what)),
            Call::Fill(_) => Ok(()),
        }
    }

    fn refuse(&self, what: String) -> Error {
        refuse(self.call.name(), self.site, what)
    }
}

#[cold]
fn refuse(name: &str, site: Option<Site>, what: String) -> Error {
    let error = Error::new(ErrorKind::InvalidArgument, format!("the operands of `{name}` do not fit: {what}"));
    match site {
        Some(site) => error.at(site),
        None => error,
    }
}

/// The part that all steps of an operation share.
#[derive(Clone, Copy)]
struct Context {
    device: Device,
    label: Label,
    site: Option<Site>,
}

/// One step of an operation: work in blocks that may run in parallel.
struct Step {
    context: Context,
    /// Elements, for the statistics.
    width: usize,
    blocks: usize,
    /// The estimated time for all blocks on one core.
    estimate_ns: f64,
    reads: Vec<Arc<Buffer>>,
    writes: Vec<Arc<Buffer>>,
    /// The carries that each block passes to the next one. If there are any, blocks are begun in ascending order.
    carries: Option<Arc<Carries>>,
}

impl Step {
    /// Runs or queues the step.
    ///
    /// # Safety
    ///
    /// The function is called once with each number below `blocks`, from any thread. It must access only the memory of
    /// the buffers as stated, while they live, and different blocks must not conflict.
    unsafe fn submit(self, run: impl Fn(usize) + Send + Sync + 'static) -> Result<(), Error> {
        if self.blocks == 0 {
            return Ok(());
        }
        stats::count_library_launch(self.width);
        if self.estimate_ns < SMALL_NS
            // SAFETY: the caller's promise.
            && let Some(result) = unsafe { self.run_inline(&run) }
        {
            return result;
        }
        self.enqueue(Box::new(run));
        Ok(())
    }

    /// # Safety
    ///
    /// As [`Step::submit`].
    unsafe fn run_inline(&self, run: &impl Fn(usize)) -> Option<Result<(), Error>> {
        let reads = self.reads.iter().map(|buffer| Access { buffer, writes: false });
        let writes = self.writes.iter().map(|buffer| Access { buffer, writes: true });
        let token = Token::current();
        let all = || {
            (0..self.blocks).take_while(|_| !token.poll().is_cancelled()).for_each(run);
            token.check(self.context.label, self.context.site)
        };
        // SAFETY: the caller's promise.
        let outcome = unsafe { inline::try_run(reads.chain(writes), all, self.context.label, self.context.site) }?;
        Some(outcome.map(|elapsed| {
            stats::count_busy(elapsed);
            stats::record_done(elapsed, |time| self.record(time), || self.traffic());
        }))
    }

    fn enqueue(self, run: Box<dyn Fn(usize) + Send + Sync>) {
        let time = Arc::new(AtomicU64::new(0));
        let watched = stats::record_queued(&time, |time| self.record(time), || self.traffic());
        let parts = if self.carries.is_some() { 1 } else { threads() };
        let blocks = Blocks::new(self.blocks, parts);
        let reads = self.reads.into_iter().map(|buffer| Accessed { buffer, reads: true, writes: false });
        let writes = self.writes.into_iter().map(|buffer| Accessed { buffer, reads: false, writes: true });
        let accessed = reads.chain(writes).collect();
        let work = Box::new(LibraryCall { run, carries: self.carries });
        let Context { label, site, .. } = self.context;
        task::enqueue(Queued { work, accessed, blocks, time, watched, token: Token::current(), label, site });
    }

    /// The bytes of the arrays that the step accesses, each once.
    fn traffic(&self) -> Traffic {
        let bytes = |buffers: &[Arc<Buffer>]| buffers.iter().map(|buffer| buffer.size_bytes()).sum();
        Traffic { read: bytes(&self.reads), written: bytes(&self.writes) }
    }

    /// The record of the step in the statistics.
    fn record(&self, time: Time) -> Record {
        let Context { device, label, site } = self.context;
        let param = |writes: bool| ParamFacts {
            ty: Type::U8,
            is_buffer: true,
            reads: !writes,
            writes,
            by_lane: false,
            indexed: 1,
            reduction: None,
            combined: None,
        };
        let reads = self.reads.iter().map(|_| param(false));
        let facts = Facts {
            label,
            site,
            hash: 0,
            device,
            ops: 0,
            params: reads.chain(self.writes.iter().map(|_| param(true))).collect(),
            reduces: false,
            has_loop: false,
            lanes_per_step: 1,
            code_bytes: 0,
            compile_time: Duration::ZERO,
            load_time: None,
        };
        let preparation = Preparation::none(CacheOutcome::Library);
        Record { facts: Arc::new(facts), label, site, width: self.width, preparation, time }
    }
}

/// A queued step.
struct LibraryCall {
    run: Box<dyn Fn(usize) + Send + Sync>,
    carries: Option<Arc<Carries>>,
}

impl Work for LibraryCall {
    unsafe fn run(&self, block: usize, _poll: Poll<'_>) -> Result<(), Error> {
        (self.run)(block);
        Ok(())
    }

    fn skip(&self, block: usize) {
        if let Some(carries) = &self.carries {
            carries.give_up(block);
        }
    }

    unsafe fn finish(&self) {}

    fn learn(&self, _busy_ns: u64) {}
}

/// The elements of a buffer, accessible from blocks that run on any thread.
struct Elements<T> {
    first: *mut T,
    len: usize,
}

// SAFETY: the callers of the methods guarantee that accesses do not conflict.
unsafe impl<T> Send for Elements<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Elements<T> {}

impl<T> Clone for Elements<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<T> {}

impl<T> Elements<T> {
    fn of(operand: &Operand) -> Elements<T> {
        debug_assert_eq!(operand.ty.size_bytes(), size_of::<T>());
        Elements { first: operand.buffer.address() as *mut T, len: operand.len }
    }

    /// Some elements.
    ///
    /// # Safety
    ///
    /// While the result lives, the buffer must live and contain values of the type in the range, and no thread may
    /// write there.
    unsafe fn get<'a>(self, range: std::ops::Range<usize>) -> &'a [T] {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: guaranteed by the caller; buffers are aligned for all element types.
        unsafe { std::slice::from_raw_parts(self.first.add(range.start), range.len()) }
    }

    /// Some elements, for writing.
    ///
    /// # Safety
    ///
    /// The buffer must live, any bits must be a value of the type, and no other thread may access the range meanwhile.
    #[expect(clippy::mut_from_ref, reason = "the caller guarantees exclusive access to the range")]
    unsafe fn get_mut(&self, range: std::ops::Range<usize>) -> &mut [T] {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: guaranteed by the caller; buffers are aligned for all element types.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(range.start), range.len()) }
    }
}
