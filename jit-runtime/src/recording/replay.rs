//! Replaying: buffers and sizes of inputs → launches.
//!
//! Where all kernels are short, they run one after another on the calling thread, without being launched; that takes no memory but the
//! results', and those are kept for the next replay. Otherwise each is launched as it was when it was recorded.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use crate::launch::batch::{self, Accessed, Member};
use crate::launch::native::{self, Operand};
use crate::launch::{self, Argument, Ready};
use crate::memory::Buffer;
use crate::{Error, ErrorKind, config};

use super::bound::{self, Bound, Code};
use super::{Bind, CountStep, Guard, KernelStep, NativeStep, Origin, Recording, SlotId, Step, TestStep};

/// Results up to this size are kept for the next replay, if nobody else holds them any more.
const MAX_KEPT_RESULT: usize = 1 << 20;
/// Generations of results that are kept: a caller holds those of the last call while the next one runs.
const KEPT_RESULTS: usize = 3;
/// Memory for replays that is kept with a recording.
const MAX_KEPT_BLOCKS: usize = 256 << 20;

/// What a replay is given.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// The memory of each input.
    pub buffers: &'a [Arc<Buffer>],
    /// The bits of each scalar.
    pub scalars: &'a [u64],
    /// The size that each symbol stands for.
    pub sizes: &'a [usize],
    /// The inputs whose memory nobody else needs: a replay that would overwrite a copy overwrites them.
    pub yielded: &'a [bool],
}

/// What became of a replay.
#[derive(Debug)]
pub enum Replayed {
    /// The results are there or will be: the memory of each output, in order, and the value of each size.
    Done,
    /// The recording does not fit: the guard that failed, or none where an operation on sizes has no result. Nothing that the caller
    /// can see has happened.
    Unfit(Option<Guard>),
}

/// Memory that is used again.
#[derive(Default)]
pub(crate) struct State {
    blocks: Vec<Option<Arc<Buffer>>>,
    /// Results of earlier replays, by output.
    results: Vec<SmallVec<[Arc<Buffer>; KEPT_RESULTS]>>,
    /// The memory of each slot in the replay that runs.
    slots: Vec<Option<Arc<Buffer>>>,
    /// The address of each slot.
    addresses: Vec<u64>,
    values: Vec<usize>,
    counts: Vec<usize>,
}

impl Recording {
    /// Replays the launches; gives the memory of the outputs and the values of all sizes.
    ///
    /// # Errors
    ///
    /// No memory; a failure of a launch; inputs that do not fit what was recorded.
    pub fn replay(
        &self,
        given: Given<'_>,
        outputs: &mut SmallVec<[Arc<Buffer>; 4]>,
        sizes: &mut Vec<usize>,
    ) -> Result<Replayed, Error> {
        config::check()?;
        self.check(given)?;
        let bound = match self.bind(given.sizes)? {
            Ok(bound) => bound,
            Err(guard) => return Ok(Replayed::Unfit(guard)),
        };
        let mut state = self.states.lock().pop().unwrap_or_default();
        let outcome = self.replay_with(&bound, given, &mut state);
        if let Ok(Replayed::Done) = outcome {
            let memory = |slot: &SlotId| state.slots[slot.index()].clone();
            outputs.extend(self.outputs.iter().map(|slot| memory(slot).expect("an output was written")));
            sizes.clear();
            sizes.extend_from_slice(&state.values);
            self.replays.fetch_add(1, Ordering::Relaxed);
        }
        self.put_back(state);
        outcome
    }

    fn check(&self, given: Given<'_>) -> Result<(), Error> {
        let is_right = given.buffers.len() == self.inputs as usize && given.scalars.len() == self.scalars as usize;
        if is_right {
            return Ok(());
        }
        let message = format!(
            "a recording of {} inputs and {} scalars is replayed with {} and {}",
            self.inputs,
            self.scalars,
            given.buffers.len(),
            given.scalars.len()
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    fn replay_with(&self, bound: &Arc<Bound>, given: Given<'_>, state: &mut State) -> Result<Replayed, Error> {
        state.values.clear();
        state.values.extend_from_slice(&bound.values);
        state.counts.clear();
        self.give_memory(bound, given, state)?;
        if !self.counts() {
            if bound.is_small(self)
                && let Some(outcome) = self.run_here(bound, given, state)
            {
                return outcome.map(|()| Replayed::Done);
            }
            self.yield_inputs(given, state);
        }
        for (number, step) in self.steps.iter().enumerate() {
            let code = bound.codes[number].as_ref();
            match self.launch(step, code, given, state)? {
                Replayed::Done => {}
                unfit @ Replayed::Unfit(_) => return Ok(unfit),
            }
            if self.counts() {
                self.let_go(number as u32, state);
            }
        }
        Ok(Replayed::Done)
    }

    /// Finds or allocates the memory of all slots whose sizes are known.
    fn give_memory(&self, bound: &Bound, given: Given<'_>, state: &mut State) -> Result<(), Error> {
        state.slots.clear();
        state.slots.resize(self.slots.len(), None);
        for (slot, described) in self.slots.iter().enumerate() {
            let is_known = self.sizes.is_known_at_first(described.len);
            state.slots[slot] = match &described.origin {
                Origin::Input(number) => Some(self.input(slot, *number, given, &bound.values)?),
                Origin::Constant(buffer) => Some(Arc::clone(buffer)),
                Origin::Step if !is_known || !self.is_wanted(slot) => None,
                Origin::Step => match bound.blocks.of_slot[slot] {
                    Some(block) => Some(block_of(state, block as usize, bound.blocks.bytes[block as usize])?),
                    None => Some(self.result(slot, self.bytes_of(slot, &bound.values), state)?),
                },
            };
        }
        Ok(())
    }

    fn input(&self, slot: usize, number: u32, given: Given<'_>, values: &[usize]) -> Result<Arc<Buffer>, Error> {
        let buffer = &given.buffers[number as usize];
        let needed = self.bytes_of(slot, values);
        if buffer.size_bytes() >= needed {
            return Ok(Arc::clone(buffer));
        }
        let message = format!("input {number} of a recording has {} bytes of {needed}", buffer.size_bytes());
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// Memory for a result: that of an earlier one, if it was small and nobody holds it any more.
    fn result(&self, slot: usize, bytes: usize, state: &mut State) -> Result<Arc<Buffer>, Error> {
        let output = self.outputs.iter().position(|output| output.index() == slot);
        let Some(output) = output.filter(|_| bytes <= MAX_KEPT_RESULT) else { return Buffer::alloc(bytes) };
        if state.results.len() <= output {
            state.results.resize_with(self.outputs.len(), SmallVec::new);
        }
        let kept = &mut state.results[output];
        let is_free =
            |buffer: &&Arc<Buffer>| Arc::strong_count(buffer) == 1 && buffer.size_bytes() == bytes && buffer.is_idle();
        if let Some(buffer) = kept.iter().find(is_free) {
            return Ok(Arc::clone(buffer));
        }
        let buffer = Buffer::alloc(bytes)?;
        if kept.len() == KEPT_RESULTS {
            kept.remove(0);
        }
        kept.push(Arc::clone(&buffer));
        Ok(buffer)
    }

    /// Lets copies be made where the original is, if nobody needs that any more.
    fn yield_inputs(&self, given: Given<'_>, state: &mut State) {
        for (number, step) in self.steps.iter().enumerate() {
            if let Some((from, to)) = self.yielded_copy(number, step, given) {
                state.slots[to.index()] = state.slots[from.index()].clone();
            }
        }
    }

    /// The slots of a copy of an input that may be overwritten instead.
    fn yielded_copy(&self, number: usize, step: &Step, given: Given<'_>) -> Option<(SlotId, SlotId)> {
        let Step::Kernel(KernelStep { copy: Some((from, to)), .. }) = step else { return None };
        let Origin::Input(input) = self.slots[from.index()].origin else { return None };
        let is_last = self.plan[from.index()].is_some_and(|lifetime| lifetime.last == number as u32);
        let is_first = self.plan[to.index()].is_some_and(|lifetime| lifetime.first == number as u32);
        let is_yielded = given.yielded.get(input as usize) == Some(&true) && !self.outputs.contains(from);
        let is_same = self.slots[from.index()].ty == self.slots[to.index()].ty;
        (is_last && is_first && is_yielded && is_same).then_some((*from, *to))
    }

    /// Runs all kernels on this thread, if no other launch stands in the way.
    fn run_here(&self, bound: &Bound, given: Given<'_>, state: &mut State) -> Option<Result<(), Error>> {
        let mut skipped: SmallVec<[usize; 4]> = SmallVec::new();
        let mut overwritten: SmallVec<[SlotId; 4]> = SmallVec::new();
        for (number, step) in self.steps.iter().enumerate() {
            if let Some((from, to)) = self.yielded_copy(number, step, given) {
                // The one that is not needed for that is still a result that is kept for later.
                state.slots[to.index()] = state.slots[from.index()].clone();
                skipped.push(number);
                overwritten.push(from);
            }
        }
        state.addresses.clear();
        state.addresses.extend(state.slots.iter().map(|buffer| buffer.as_ref().map_or(0, |buffer| buffer.address())));
        let (mut read, mut written) = (SmallVec::<[&Buffer; 16]>::new(), SmallVec::<[&Buffer; 16]>::new());
        for (slot, buffer) in state.slots.iter().enumerate() {
            let Some(buffer) = buffer.as_deref().filter(|_| self.plan[slot].is_some()) else { continue };
            let is_source = matches!(self.slots[slot].origin, Origin::Input(_) | Origin::Constant(_));
            let list = if is_source && !overwritten.contains(&SlotId(slot as u32)) { &mut read } else { &mut written };
            if !list.iter().any(|known| std::ptr::eq(*known, buffer)) {
                list.push(buffer);
            }
        }
        let addresses = &state.addresses;
        let steps = self.steps.iter().zip(&bound.codes).enumerate();
        let members = steps.filter(|(number, _)| !skipped.contains(number)).filter_map(|(_, (step, code))| {
            let (Step::Kernel(kernel), Some(code)) = (step, code) else { return None };
            Some(self.member(kernel, code, bound, addresses, given.scalars))
        });
        let accessed = Accessed { read: &read, written: &written };
        if self.steps.len() == skipped.len() {
            return Some(Ok(()));
        }
        // SAFETY: replays of these sizes were launched before and checked; memory has the same sizes now. What is neither an input nor a
        // constant belongs to this replay alone, or is yielded.
        unsafe { batch::try_run(&accessed, members) }
    }

    fn member<'a>(
        &self,
        kernel: &'a KernelStep,
        code: &'a Code,
        bound: &Bound,
        addresses: &[u64],
        scalars: &[u64],
    ) -> Member<'a> {
        let mut raw = code.raw.clone();
        for (raw, argument) in raw.iter_mut().zip(&kernel.arguments) {
            match argument {
                Bind::Slot(slot) => raw.word = addresses[slot.index()],
                Bind::Scalar(super::Scalar::Input(number)) => raw.word = scalars[*number as usize],
                Bind::Scalar(_) => {}
            }
        }
        Member {
            entry: &code.entry,
            width: bound.values[kernel.lanes.index()],
            reduce_block: kernel.reduce_block,
            raw,
            label: kernel.label,
            site: kernel.site,
        }
    }

    /// Launches a step.
    fn launch(&self, step: &Step, code: Option<&Code>, given: Given<'_>, state: &mut State) -> Result<Replayed, Error> {
        for slot in step.slots() {
            if state.slots[slot.index()].is_none() && !matches!(step, Step::Count(count) if count.positions == slot) {
                state.slots[slot.index()] = Some(Buffer::alloc(self.bytes_of(slot.index(), &state.values))?);
            }
        }
        match step {
            Step::Kernel(kernel) => self.launch_kernel(kernel, code, given, state).map(|()| Replayed::Done),
            Step::Native(work) => self.launch_native(work, given, state).map(|()| Replayed::Done),
            Step::Count(count) => self.count(count, given, state),
            Step::Test(test) => self.test(test, state),
        }
    }

    fn launch_kernel(
        &self,
        kernel: &KernelStep,
        code: Option<&Code>,
        given: Given<'_>,
        state: &State,
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
        launch::start(Ready {
            entry: Arc::clone(&code.entry),
            width,
            reduce_block: kernel.reduce_block,
            arguments: arguments.chain(code.scalars.iter().map(|&bits| Argument::Scalar(bits))).collect(),
            label: kernel.label,
            site: kernel.site,
            is_hit: true,
            checks: None,
        })
    }

    fn launch_native(&self, work: &NativeStep, given: Given<'_>, state: &State) -> Result<(), Error> {
        let operands = |slots: &[SlotId]| slots.iter().map(|slot| self.operand(*slot, state)).collect();
        let call = match work.fill {
            Some(scalar) => native::Call::Fill(bound::bits(scalar, &state.values, given.scalars)),
            None => work.call,
        };
        let (inputs, outputs) = (operands(&work.inputs), operands(&work.outputs));
        native::launch(native::Launch { device: self.device, call, inputs, outputs, site: work.site })
    }

    /// Lists the true elements of a mask; the sizes that depend on their number are known then.
    fn count(&self, count: &CountStep, given: Given<'_>, state: &mut State) -> Result<Replayed, Error> {
        let positions = native::compress(&self.operand(count.mask, state), self.device, count.site)?;
        state.counts.push(positions.len);
        state.slots[count.positions.index()] = Some(positions.buffer);
        let State { values, counts, .. } = state;
        Ok(match self.sizes.evaluate(given.sizes, counts, values) {
            Ok(()) => Replayed::Done,
            Err(guard) => Replayed::Unfit(guard),
        })
    }

    /// Looks whether a value is the one that the program decided by.
    fn test(&self, test: &TestStep, state: &State) -> Result<Replayed, Error> {
        let Operand { buffer, ty, .. } = self.operand(test.slot, state);
        let mut bytes = [0; 8];
        buffer.read(0, &mut bytes[..ty.size_bytes()])?;
        Ok(if u64::from_le_bytes(bytes) == test.expected { Replayed::Done } else { Replayed::Unfit(None) })
    }

    fn operand(&self, slot: SlotId, state: &State) -> Operand {
        let described = &self.slots[slot.index()];
        let buffer = state.slots[slot.index()].clone().expect("memory is there before it is used");
        Operand { buffer, ty: described.ty, len: state.values[described.len.index()] }
    }

    /// Lets go of the memory that no later step uses.
    fn let_go(&self, number: u32, state: &mut State) {
        for (slot, lifetime) in self.plan.iter().enumerate() {
            let is_over = lifetime.is_some_and(|lifetime| lifetime.last == number);
            if is_over && !self.outputs.contains(&SlotId(slot as u32)) {
                state.slots[slot] = None;
            }
        }
    }

    fn put_back(&self, mut state: State) {
        state.slots.clear();
        if state.blocks.iter().flatten().map(|block| block.capacity_bytes()).sum::<usize>() > MAX_KEPT_BLOCKS {
            state.blocks.clear();
        }
        self.states.lock().push(state);
    }
}

/// A block that is large enough, of those that are kept.
fn block_of(state: &mut State, block: usize, bytes: usize) -> Result<Arc<Buffer>, Error> {
    if state.blocks.len() <= block {
        state.blocks.resize(block + 1, None);
    }
    let kept = &mut state.blocks[block];
    if let Some(kept) = kept.as_ref().filter(|kept| kept.size_bytes() >= bytes) {
        return Ok(Arc::clone(kept));
    }
    let fresh = Buffer::alloc(bytes)?;
    *kept = Some(Arc::clone(&fresh));
    Ok(fresh)
}
