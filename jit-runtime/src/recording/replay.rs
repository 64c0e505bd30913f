//! Replays a recording: buffers and sizes of inputs → launches.
//!
//! If all kernels are short, they run one after another on the calling thread, without being launched. That allocates
//! no memory except for the results, which is retained for the next replay. Otherwise each kernel is launched as it was
//! when it was recorded.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use crate::launch::native::{self, Operand};
use crate::launch::{self, Argument, Ready};
use crate::machine::{self, Machine};
use crate::memory::Buffer;
use crate::stats::{CacheOutcome, Preparation};
use crate::{Error, ErrorKind, Site, cancel, log};

use super::batches::Batches;
use super::bound::{self, Bound, Code};
use super::chain::Tables;
use super::repeat::Running;
use super::{Bind, CountStep, Guard, KernelStep, LibraryStep, Origin, Recording, SlotId, Step, TestStep};

/// Results below this size are retained for the next replay, if they are not in use any more. The memory of larger ones
/// may be reused while launches use it.
const MAX_KEPT_RESULT: usize = launch::REUSED_BYTES;
/// The most memory of one generation of results that is retained.
const MAX_KEPT_RESULTS: usize = 1 << 20;
/// The number of generations of results that are retained: a caller holds those of the last call while the next one
/// runs.
const KEPT_RESULTS: usize = 3;
/// The most memory that is retained with a recording for the next replay. Larger memory is obtained just as quickly
/// from the allocator, which serves all recordings.
const MAX_KEPT_BLOCKS: usize = 4 << 20;

/// The inputs of a replay.
#[derive(Clone, Copy)]
pub struct ReplayInputs<'a> {
    /// The memory of each input.
    pub buffers: &'a [Arc<Buffer>],
    /// The bits of each scalar.
    pub scalars: &'a [u64],
    /// The size that each symbol represents.
    pub sizes: &'a [usize],
    /// The inputs whose memory is not needed otherwise: a replay that would overwrite a copy overwrites them.
    pub donated: &'a [bool],
}

/// The outcome of a replay.
#[derive(Debug)]
pub enum Replayed {
    /// The results exist or will exist: the memory of each output, in order, and the value of each size.
    Done,
    /// The recording does not fit. There were no effects that the caller can observe.
    Rejected(GuardFailure),
}

/// Why a recording does not fit.
#[derive(Clone, Copy, Debug)]
pub enum GuardFailure {
    /// A guard fails.
    Guard(Guard),
    /// An operation on sizes has no result.
    NoSize,
    /// A value differs from the one that this line read.
    Value(Option<Site>),
    /// A host call on this line found a different value.
    Host(Site),
}

impl From<Option<Guard>> for GuardFailure {
    fn from(guard: Option<Guard>) -> Self {
        guard.map_or(GuardFailure::NoSize, GuardFailure::Guard)
    }
}

/// Memory that is reused.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) blocks: Vec<Option<Arc<Buffer>>>,
    /// Results of earlier replays, by output.
    pub(crate) results: Vec<SmallVec<[Arc<Buffer>; KEPT_RESULTS]>>,
    /// The state of replays on the calling thread.
    pub(crate) tables: Tables,
    /// The memory of each slot in the current replay.
    pub(super) slots: Vec<Option<Arc<Buffer>>>,
    pub(super) values: Vec<usize>,
    pub(super) counts: Vec<usize>,
    /// The loops that the replay is in.
    pub(super) loops: Vec<Running>,
    /// Launches that are about to be queued together.
    pub(super) batches: Batches,
}

impl Recording {
    /// Replays the launches. Returns the memory of the outputs and the values of all sizes.
    ///
    /// # Errors
    ///
    /// No memory; a failure of a launch; inputs that do not fit what was recorded.
    pub fn replay(
        &self,
        given: ReplayInputs<'_>,
        outputs: &mut SmallVec<[Arc<Buffer>; 4]>,
        sizes: &mut Vec<usize>,
    ) -> Result<Replayed, Error> {
        log::check_environment()?;
        let _operation = cancel::begin();
        self.check(given)?;
        let bound = match self.bind(given.sizes)? {
            Ok(bound) => bound,
            Err(guard) => return Ok(Replayed::Rejected(guard.into())),
        };
        let mut state = self.states.take();
        if machine::of(self.device)?.capabilities().runs_on_caller
            && let Some(chain) = bound.small_chain(self)
            && let Some(outcome) = self.run_here(&bound, chain, given, &mut state)
        {
            outputs.extend(state.tables.take_results());
            if outcome.is_err() {
                outputs.clear();
            } else {
                sizes.clone_from(&bound.values);
                self.replays.fetch_add(1, Ordering::Relaxed);
            }
            self.put_back(&bound, state);
            return outcome.map(|()| Replayed::Done);
        }
        let outcome = self.launch_all(&bound, given, &mut state);
        if let Ok(Replayed::Done) = outcome {
            for slot in &self.outputs {
                outputs.push(state.slots[slot.index()].clone().ok_or_else(unwritten)?);
            }
            sizes.clone_from(&state.values);
            self.replays.fetch_add(1, Ordering::Relaxed);
        }
        self.put_back(&bound, state);
        outcome
    }

    fn check(&self, given: ReplayInputs<'_>) -> Result<(), Error> {
        let is_right = given.buffers.len() == self.inputs as usize && given.scalars.len() == self.scalars as usize;
        if is_right && given.sizes.len() >= self.input_sizes {
            return Ok(());
        }
        let message = format!(
            "a recording of {} inputs, {} scalars and {} sizes is replayed with {}, {} and {}",
            self.inputs,
            self.scalars,
            self.input_sizes,
            given.buffers.len(),
            given.scalars.len(),
            given.sizes.len()
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    fn launch_all(&self, bound: &Arc<Bound>, given: ReplayInputs<'_>, state: &mut State) -> Result<Replayed, Error> {
        // A replay that could not run on the calling thread may have left them.
        drop(state.tables.take_results());
        state.values.clone_from(&bound.values);
        state.counts.clear();
        state.loops.clear();
        self.give_memory(bound, given, state)?;
        let outcome = self.launch_steps(bound, given, state);
        // Also those before a failure: they have all that they need.
        let queued = state.batches.queue();
        outcome.and_then(|replayed| queued.map(|()| replayed))
    }

    fn launch_steps(&self, bound: &Bound, given: ReplayInputs<'_>, state: &mut State) -> Result<Replayed, Error> {
        let mut next = 0;
        while let Some(step) = self.steps.get(next) {
            if !matches!(step, Step::Kernel(_) | Step::Library(_)) {
                state.batches.queue()?;
            }
            next = match step {
                Step::Loop(inner) => self.enter(next, inner, state)?,
                Step::Repeat(end) => self.repeat(next, end, state)?,
                _ => {
                    let code = bound.codes[next].as_ref();
                    match self.launch(next, code, given, state)? {
                        Replayed::Done => {}
                        rejected @ Replayed::Rejected(_) => return Ok(rejected),
                    }
                    if self.counts {
                        self.let_go(next as u32, state);
                    }
                    next + 1
                }
            };
        }
        Ok(Replayed::Done)
    }

    /// Finds or allocates the memory of all slots whose sizes are known.
    fn give_memory(&self, bound: &Bound, given: ReplayInputs<'_>, state: &mut State) -> Result<(), Error> {
        state.slots.clear();
        state.slots.resize(self.slots.len(), None);
        // A copy of a donated input is made in place, unless a guard may fail after the input was overwritten.
        for copy in self.yields.iter().filter(|copy| !self.is_tentative && copy.is_donated(given)) {
            state.slots[copy.to.index()] = given.buffers.get(copy.input as usize).cloned();
        }
        for (block, _) in bound.blocks.result.iter().enumerate().filter(|(_, result)| result.is_some()) {
            // It will belong to the caller, so no block of an earlier replay is reused.
            if let Some(kept) = state.blocks.get_mut(block) {
                *kept = None;
            }
        }
        for (slot, described) in self.slots.iter().enumerate() {
            if state.slots[slot].is_some() {
                continue;
            }
            let is_known = self.sizes.is_known_at_first(described.len);
            state.slots[slot] = match &described.origin {
                Origin::Input(number) => Some(Arc::clone(self.input(slot, *number, given, &bound.values)?)),
                Origin::Constant(buffer) => Some(Arc::clone(buffer)),
                Origin::Step if !is_known || !self.is_wanted(slot) => None,
                Origin::Step => {
                    let memory = self.memory(slot, bound, state);
                    Some(memory.map_err(|error| self.of_memory_for_slot(error, slot))?)
                }
            };
        }
        Ok(())
    }

    /// Finds or allocates the memory of a slot that a step writes.
    fn memory(&self, slot: usize, bound: &Bound, state: &mut State) -> Result<Arc<Buffer>, Error> {
        if let Some(block) = bound.blocks.of_slot[slot] {
            let bytes = bound.blocks.bytes[block as usize];
            return block_of(&mut state.blocks, block as usize, bytes).cloned();
        }
        let bytes = self.bytes_of(slot, &bound.values);
        match self.outputs.iter().position(|output| output.index() == slot) {
            Some(output) => self.result(output, bytes, &mut state.results),
            None => fresh(bytes),
        }
    }

    /// Says which step needs the memory of a slot that there is not.
    #[cold]
    fn of_memory_for_slot(&self, error: Error, slot: usize) -> Error {
        let uses = |step: &&Step| step.slots().any(|used| used.index() == slot);
        match self.steps.iter().find(uses).map(Step::name) {
            Some((name, site)) => error.of_memory_for(name.into(), site),
            None => error,
        }
    }

    pub(crate) fn input<'g>(
        &self,
        slot: usize,
        number: u32,
        given: ReplayInputs<'g>,
        values: &[usize],
    ) -> Result<&'g Arc<Buffer>, Error> {
        let buffer = &given.buffers[number as usize];
        let needed = self.bytes_of(slot, values);
        if buffer.size_bytes() >= needed {
            return Ok(buffer);
        }
        let message = format!("input {number} of a recording has {} bytes of {needed}", buffer.size_bytes());
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// Memory for a result: that of an earlier one, if it was small and is not in use any more.
    pub(crate) fn result(
        &self,
        output: usize,
        bytes: usize,
        results: &mut Vec<SmallVec<[Arc<Buffer>; KEPT_RESULTS]>>,
    ) -> Result<Arc<Buffer>, Error> {
        if bytes >= MAX_KEPT_RESULT || bytes * self.outputs.len() > MAX_KEPT_RESULTS {
            return fresh(bytes);
        }
        if results.len() <= output {
            results.resize_with(self.outputs.len(), SmallVec::new);
        }
        let kept = &mut results[output];
        let is_free =
            |buffer: &&Arc<Buffer>| Arc::strong_count(buffer) == 1 && buffer.size_bytes() == bytes && buffer.is_idle();
        if let Some(buffer) = kept.iter().find(is_free) {
            return Ok(Arc::clone(buffer));
        }
        let buffer = fresh(bytes)?;
        if kept.len() == KEPT_RESULTS {
            kept.remove(0);
        }
        kept.push(Arc::clone(&buffer));
        Ok(buffer)
    }

    /// Launches a step.
    fn launch(
        &self,
        number: usize,
        code: Option<&Code>,
        given: ReplayInputs<'_>,
        state: &mut State,
    ) -> Result<Replayed, Error> {
        let step = &self.steps[number];
        for slot in step.slots() {
            if state.slots[slot.index()].is_none() && !step.makes(slot) {
                let memory = Buffer::alloc(self.bytes_of(slot.index(), &state.values));
                let (name, site) = step.name();
                state.slots[slot.index()] = Some(memory.map_err(|error| error.of_memory_for(name.into(), site))?);
            }
        }
        match step {
            Step::Kernel(kernel) => self.launch_kernel((number, kernel), code, given, state).map(|()| Replayed::Done),
            Step::Library(work) => self.launch_library((number, work), given, state).map(|()| Replayed::Done),
            Step::Count(count) => self.count(count, given, state),
            Step::Test(test) => self.test(test, state),
            Step::Host(host) => self.call_host(host, given, state),
            Step::Loop(_) | Step::Repeat(_) => Ok(Replayed::Done),
        }
    }

    fn launch_kernel(
        &self,
        (number, kernel): (usize, &KernelStep),
        code: Option<&Code>,
        given: ReplayInputs<'_>,
        state: &mut State,
    ) -> Result<(), Error> {
        let is_done = |&(from, to): &(SlotId, SlotId)| {
            let [from, to] = [from, to].map(|slot| state.slots[slot.index()].as_ref().map(Arc::as_ptr));
            from == to
        };
        if kernel.copy.as_ref().is_some_and(is_done) {
            return Ok(());
        }
        let made;
        let code = match code {
            Some(code) => code,
            None => {
                made = self.code(kernel, &state.values)?;
                &made
            }
        };
        let width = state.values[kernel.lanes.index()];
        let argument = |bind: &Bind| match bind {
            Bind::Slot(slot) => {
                let Operand { buffer, len, .. } = self.operand(*slot, state);
                Argument::Buffer(buffer, len)
            }
            Bind::Scalar(scalar) => Argument::Scalar(bound::bits(*scalar, &state.values, given.scalars)),
        };
        let arguments = kernel.arguments.iter().map(argument);
        let ready = Ready {
            entry: Arc::clone(&code.entry),
            width,
            reduce_block: kernel.reduce_block.map(|block| state.values[block.index()]),
            arguments: arguments.chain(code.scalars.iter().map(|&bits| Argument::Scalar(bits))).collect(),
            label: kernel.label,
            site: kernel.site,
            preparation: Preparation::none(CacheOutcome::Recording),
            checks: kernel.checks.clone(),
        };
        launch::start(ready, state.batches.at(number, machine::of(self.device)?))
    }

    fn launch_library(
        &self,
        (number, work): (usize, &LibraryStep),
        given: ReplayInputs<'_>,
        state: &mut State,
    ) -> Result<(), Error> {
        let operands = |slots: &[SlotId]| slots.iter().map(|slot| self.operand(*slot, state)).collect();
        let call = match work.fill {
            Some(scalar) => native::Call::Fill(bound::bits(scalar, &state.values, given.scalars)),
            None => {
                let sizes: SmallVec<[usize; 4]> = work.sizes.iter().map(|size| state.values[size.index()]).collect();
                work.call.with_sizes(&sizes)
            }
        };
        let (inputs, outputs) = (operands(&work.inputs), operands(&work.outputs));
        let launch = native::Launch { device: self.device, call, inputs, outputs, site: work.site };
        native::launch_in(launch, state.batches.at(number, machine::of(self.device)?))
    }

    /// Lists the true elements of a mask; afterwards the sizes that depend on their number are known.
    fn count(&self, count: &CountStep, given: ReplayInputs<'_>, state: &mut State) -> Result<Replayed, Error> {
        let positions = native::compress(&self.operand(count.mask, state), self.device, count.site)?;
        state.counts.push(positions.len);
        state.slots[count.positions.index()] = Some(positions.buffer);
        let State { values, counts, .. } = state;
        Ok(match self.sizes.evaluate(given.sizes, counts, values) {
            Ok(()) => Replayed::Done,
            Err(guard) => Replayed::Rejected(guard.into()),
        })
    }

    /// Checks whether a value is the one that the program decided by.
    fn test(&self, test: &TestStep, state: &State) -> Result<Replayed, Error> {
        let Operand { buffer, ty, .. } = self.operand(test.slot, state);
        let mut bytes = [0; 8];
        buffer.read(0, &mut bytes[..ty.size_bytes()])?;
        Ok(if u64::from_le_bytes(bytes) == test.expected {
            Replayed::Done
        } else {
            Replayed::Rejected(GuardFailure::Value(test.site))
        })
    }

    pub(crate) fn operand(&self, slot: SlotId, state: &State) -> Operand {
        let described = &self.slots[slot.index()];
        let buffer = state.slots[slot.index()].clone().expect("memory is there before it is used");
        Operand { buffer, ty: described.ty, len: state.values[described.len.index()] }
    }

    /// Releases the memory that no later step uses.
    pub(crate) fn let_go(&self, number: u32, state: &mut State) {
        for (slot, lifetime) in self.plan.iter().enumerate() {
            let is_over = lifetime.is_some_and(|lifetime| lifetime.last == number);
            if is_over && !self.is_output[slot] {
                state.slots[slot] = None;
            }
        }
    }

    fn put_back(&self, bound: &Bound, mut state: Box<State>) {
        state.slots.clear();
        state.loops.clear();
        for (kept, _) in state.blocks.iter_mut().zip(&bound.blocks.result).filter(|(_, result)| result.is_some()) {
            *kept = None;
        }
        if state.blocks.iter().flatten().map(|block| block.capacity_bytes()).sum::<usize>() > MAX_KEPT_BLOCKS {
            state.blocks.clear();
        }
        self.states.put_back(state);
    }
}

/// The error of a recording, from a damaged file, that uses memory before it is written.
#[cold]
pub(crate) fn unwritten() -> Error {
    Error::new(ErrorKind::Internal, "a recording uses memory that none of its steps has written")
}

/// Takes a retained block that is large enough.
pub(crate) fn block_of(
    blocks: &mut Vec<Option<Arc<Buffer>>>,
    block: usize,
    bytes: usize,
) -> Result<&Arc<Buffer>, Error> {
    if blocks.len() <= block {
        blocks.resize(block + 1, None);
    }
    let kept = &mut blocks[block];
    if kept.as_ref().is_none_or(|kept| kept.size_bytes() < bytes) {
        *kept = None;
    }
    match kept {
        Some(kept) => Ok(kept),
        None => Ok(kept.insert(fresh(bytes)?)),
    }
}

/// Allocates memory for the result of a step.
fn fresh(bytes: usize) -> Result<Arc<Buffer>, Error> {
    // SAFETY: the step that makes the contents writes all of them before they are read.
    unsafe { launch::alloc_result(bytes) }
}
