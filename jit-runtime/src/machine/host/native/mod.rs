//! Library calls on the host.
//!
//! They run in blocks like kernels, small ones at once on the calling thread. Invariant: the number of threads changes
//! no bit of a result.
//!
//! | part | file |
//! |---|---|
//! | one value in every element | `fill` |
//! | prefix reductions | `prefix`, `words` |
//! | matrix products | `matmul` |
//! | convolutions and their transposes | `convolve` |
//! | the positions of true elements | `compress` |
//! | sorting | `sort` |
//! | carries between consecutive blocks | `carry` |
//! | element types and the operations on them | `element`; floats that are multiplied: `wide` |
//! | stores that bypass the cache | `stream` |

use std::mem::size_of;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::super::library::{self, Call, Launch, Operand, refuse};
use super::super::work::{Access, Accessed};
use super::blocks::Blocks;
use super::task::{self, Queued};
use super::work::Work;
use super::{inline, threads};
use crate::Error;
use crate::cache::cost::SMALL_NS;
use crate::cancel::{Poll, Token};
use crate::config::Device;
use crate::memory::Buffer;
use crate::stats::events::Traffic;
use crate::stats::{self, Record, Time};
use crate::{Label, Site};

use carry::Carries;

mod carry;
mod compress;
mod convolve;
mod element;
mod fill;
mod matmul;
mod prefix;
mod sort;
mod stream;
#[cfg(test)]
mod tests;
mod wide;
mod words;

pub(super) use compress::compress;

/// Makes a library call whose operands were checked.
pub(super) fn launch(launch: Launch) -> Result<(), Error> {
    let Launch { device, call, inputs, outputs, site } = launch;
    let context = Context { device, label: call.name().into(), site };
    match (call, &inputs[..], &outputs[..]) {
        (Call::Fill(bits), [], [output]) => fill::launch(context, bits, output),
        (Call::Prefix(prefix), [input], [output]) => prefix::launch(context, prefix, input, output),
        (Call::MatMul(product), [a, b], [c]) => matmul::launch(context, product, a, b, c),
        (Call::Convolve(convolution), [a, b], [c]) => convolve::launch(context, convolution, [a, b, c]),
        (Call::Sort(sort), [input], outputs) => sort::launch(context, sort, input, outputs),
        _ => Err(refuse(call.name(), site, "the numbers of inputs or outputs are wrong".into())),
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
        library::record((device, label, site), self.width, (self.reads.len(), self.writes.len()), time)
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
