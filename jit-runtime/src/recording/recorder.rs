//! Recording launches while they happen.
//!
//! Buffers are identified by their address. The recorder holds the buffers of inputs and constants. Of buffers that
//! steps write it retains only the header: the memory of an array that is no longer needed is free, and its address
//! still identifies no other buffer.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use crate::Site;
use crate::sync::Mutex;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::loop_rolling::{Log, Unchanged};
use super::{
    Bind, CountStep, KernelStep, LibraryStep, Origin, Recording, Scalar, SizeId, Sizes, Slot, SlotId, Step, TestStep,
    kept, plan,
};
use crate::config::Device;
use crate::ir::{Kernel, Op, Type};
use crate::launch::native::{Call, Operand};
use crate::launch::{Argument, Prepared};
use crate::memory::Buffer;

/// A launch uses a buffer that is not part of the recording: the position of the argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unknown(pub usize);

/// A value that the program has read: its memory, its bits, and the line that read it.
#[derive(Clone, Copy)]
pub struct ObservedValue<'a> {
    /// The memory of the value.
    pub buffer: &'a Arc<Buffer>,
    /// Its bits.
    pub bits: u64,
    /// The line.
    pub site: Site,
}

/// Notes launches.
pub struct Recorder {
    device: Device,
    slots: Vec<Slot>,
    /// The slot of each buffer, by address.
    by_address: FxHashMap<usize, SlotId>,
    kept: Vec<AddressHold>,
    log: Log,
    inputs: u32,
    scalars: u32,
}

/// Prevents an address from being reused by another buffer.
enum AddressHold {
    Buffer(#[expect(dead_code, reason = "its drop releases memory")] Arc<Buffer>),
    Header(Weak<Buffer>),
    Released,
}

impl Recorder {
    /// A recorder of launches on a device.
    #[must_use]
    pub fn new(device: Device) -> Recorder {
        Recorder {
            device,
            slots: Vec::new(),
            by_address: FxHashMap::default(),
            kept: Vec::new(),
            log: Log::default(),
            inputs: 0,
            scalars: 0,
        }
    }

    fn add(&mut self, buffer: &Arc<Buffer>, slot: Slot, kept: AddressHold) -> SlotId {
        let id = SlotId(self.slots.len() as u32);
        self.slots.push(slot);
        self.by_address.insert(Arc::as_ptr(buffer).addr(), id);
        self.kept.push(kept);
        id
    }

    /// The slot of a buffer, if it is part of the recording.
    #[must_use]
    pub fn slot(&self, buffer: &Arc<Buffer>) -> Option<SlotId> {
        self.by_address.get(&Arc::as_ptr(buffer).addr()).copied()
    }

    /// Whether a slot is the same in each replay.
    #[must_use]
    pub fn is_constant(&self, slot: SlotId) -> bool {
        matches!(self.slots[slot.index()].origin, Origin::Constant(_))
    }

    /// Adds a buffer as the next input.
    pub fn input(&mut self, buffer: &Arc<Buffer>, ty: Type, len: SizeId) -> SlotId {
        let origin = Origin::Input(self.inputs);
        self.inputs += 1;
        self.add(buffer, Slot { ty, len, origin }, AddressHold::Buffer(Arc::clone(buffer)))
    }

    /// Adds the next scalar that the caller passes. Returns its number.
    pub fn scalar(&mut self) -> u32 {
        self.scalars += 1;
        self.scalars - 1
    }

    /// Adds a buffer as a constant, unless it is known already.
    pub fn constant(&mut self, buffer: &Arc<Buffer>, ty: Type, len: SizeId) {
        if self.slot(buffer).is_none() {
            let origin = Origin::Constant(Arc::clone(buffer));
            self.add(buffer, Slot { ty, len, origin }, AddressHold::Buffer(Arc::clone(buffer)));
        }
    }

    /// Records memory that steps will write.
    pub fn made(&mut self, buffer: &Arc<Buffer>, ty: Type, len: SizeId) -> SlotId {
        let header = AddressHold::Header(Arc::downgrade(buffer));
        self.add(buffer, Slot { ty, len, origin: Origin::Step }, header)
    }

    /// Records a kernel, with a number of lanes, and the block length if it reduces blocks. Scalars are constants,
    /// except those whose positions are listed.
    ///
    /// # Errors
    ///
    /// If it uses a buffer that is not part of the recording.
    pub fn kernel(
        &mut self,
        prepared: &Prepared,
        (lanes, reduce_block): (SizeId, Option<SizeId>),
        scalars: &[(usize, Scalar)],
    ) -> Result<(), Unknown> {
        let (ready, template) = (prepared.ready(), prepared.template());
        // Arguments beyond the parameters of a template are looked up with the code for other sizes.
        let count = template.map_or(ready.arguments.len(), |template| template.params.len());
        let mut arguments = SmallVec::new();
        for (position, argument) in ready.arguments[..count].iter().enumerate() {
            arguments.push(match argument {
                Argument::Buffer(buffer, _) => Bind::Slot(self.slot(buffer).ok_or(Unknown(position))?),
                Argument::Scalar(bits) => {
                    let given = scalars.iter().find(|(at, _)| *at == position).map(|(_, scalar)| *scalar);
                    Bind::Scalar(given.unwrap_or(Scalar::Constant(*bits)))
                }
            });
        }
        let copy = copied(&ready.entry.kernel, &arguments);
        self.log.push(Step::Kernel(KernelStep {
            entry: Arc::clone(&ready.entry),
            template: template.cloned(),
            lanes,
            reduce_block,
            arguments,
            label: ready.label,
            site: ready.site,
            copy,
            checks: ready.checks.clone(),
            shipped: Vec::new(),
        }));
        Ok(())
    }

    /// Records a library call, with the sizes that [`Call::with_sizes`] takes. The value of a fill is constant unless
    /// another one is passed.
    ///
    /// # Errors
    ///
    /// If it uses a buffer that is not part of the recording.
    pub fn native(
        &mut self,
        call: Call,
        sizes: &[SizeId],
        fill: Option<Scalar>,
        (inputs, outputs): (&[Operand], &[Operand]),
        site: Option<Site>,
    ) -> Result<(), Unknown> {
        let slots = |operands: &[Operand], first: usize| -> Result<SmallVec<[SlotId; 2]>, Unknown> {
            let each = operands.iter().enumerate();
            each.map(|(position, operand)| self.slot(&operand.buffer).ok_or(Unknown(first + position))).collect()
        };
        let (inputs, outputs) = (slots(inputs, 0)?, slots(outputs, inputs.len())?);
        self.log.push(Step::Library(LibraryStep { call, sizes: sizes.into(), fill, inputs, outputs, site }));
        Ok(())
    }

    /// Records that the true elements of a mask were listed; their number is the next count.
    ///
    /// # Errors
    ///
    /// If the mask is not part of the recording.
    pub fn count(
        &mut self,
        mask: &Arc<Buffer>,
        positions: &Arc<Buffer>,
        len: SizeId,
        site: Option<Site>,
    ) -> Result<(), Unknown> {
        let mask = self.slot(mask).ok_or(Unknown(0))?;
        let positions = self.made(positions, Type::U32, len);
        self.log.push(Step::Count(CountStep { mask, positions, site }));
        Ok(())
    }

    pub(super) fn push(&mut self, step: Step) {
        self.log.push(step);
    }

    /// Records the beginning of a loop whose iterations the program runs one by one, each under the mask of its active
    /// lanes. The program fails if it makes more iterations than the limit.
    pub fn begin_loop(&mut self, limit: Option<u32>, site: Site) {
        self.log.begin_loop(limit, site);
    }

    /// Records the beginning of an iteration of the innermost loop, because of the value that was read.
    ///
    /// # Errors
    ///
    /// If the value is not part of the recording.
    pub fn begin_iteration(&mut self, test: Option<ObservedValue<'_>>) -> Result<(), Unknown> {
        let test = self.test(test)?;
        let dropped = self.log.begin_iteration(test, &self.slots);
        dropped.into_iter().flatten().for_each(|slot| self.forget(slot as usize));
        Ok(())
    }

    /// Releases the hold on the address of a slot, if its memory is gone.
    fn forget(&mut self, slot: usize) {
        if let AddressHold::Header(header) = &self.kept[slot]
            && header.strong_count() == 0
        {
            self.by_address.remove(&header.as_ptr().addr());
            self.kept[slot] = AddressHold::Released;
        }
    }

    /// Records the end of an iteration.
    pub fn end_iteration(&mut self, kept: Unchanged) {
        self.log.end_iteration(kept);
    }

    /// Whether the last two iterations of the innermost loop match, or more of them would not.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.log.is_settled(&self.slots)
    }

    /// Records the end of the innermost loop, because of the value that was read, or for another reason.
    ///
    /// # Errors
    ///
    /// If the value is not part of the recording.
    pub fn end_loop(&mut self, test: Option<ObservedValue<'_>>) -> Result<(), Unknown> {
        let test = self.test(test)?;
        self.log.end_loop(test, self.slots.len());
        Ok(())
    }

    fn test(&self, test: Option<ObservedValue<'_>>) -> Result<Option<TestStep>, Unknown> {
        let Some(ObservedValue { buffer, bits, site }) = test else { return Ok(None) };
        let slot = self.slot(buffer).ok_or(Unknown(0))?;
        Ok(Some(TestStep { slot, expected: bits, site: Some(site) }))
    }

    /// Ends the recording, with some output slots. A slot may be an output more than once.
    ///
    /// # Errors
    ///
    /// Why the recording cannot be replayed.
    pub fn finish(mut self, sizes: Sizes, mut outputs: Vec<SlotId>) -> Result<Recording, String> {
        let steps = self.log.finish(&mut self.slots, &mut outputs)?;
        let Recorder { device, slots, inputs, scalars, .. } = self;
        Ok(Recording::assemble(Parts { device, sizes, slots, steps, outputs, inputs, scalars }))
    }
}

/// What a recording consists of; all else follows from it.
pub(super) struct Parts {
    pub(super) device: Device,
    pub(super) sizes: Sizes,
    pub(super) slots: Vec<Slot>,
    pub(super) steps: Vec<Step>,
    pub(super) outputs: Vec<SlotId>,
    pub(super) inputs: u32,
    pub(super) scalars: u32,
}

impl Recording {
    /// Makes a recording of its parts, which belong together.
    pub(super) fn assemble(parts: Parts) -> Recording {
        let Parts { device, sizes, slots, steps, outputs, inputs, scalars } = parts;
        let mut is_output = vec![false; slots.len()];
        outputs.iter().for_each(|slot| is_output[slot.index()] = true);
        let (plan, is_exchanged) = plan::lifetimes(&slots, &steps, &is_output);
        let may_break_off = |step: &Step| match step {
            Step::Count(_) | Step::Test(_) | Step::Host(_) => true,
            Step::Loop(inner) => inner.limit.is_some(),
            Step::Kernel(_) | Step::Library(_) | Step::Repeat(_) => false,
        };
        Recording {
            is_output,
            is_exchanged,
            yields: plan::yields(&slots, &steps, &plan, &outputs),
            is_tentative: steps.iter().any(may_break_off),
            counts: steps.iter().any(Step::counts),
            device,
            input_sizes: sizes.inputs(),
            sizes,
            slots,
            steps,
            outputs,
            plan,
            inputs,
            scalars,
            bound: Mutex::default(),
            states: kept::States::new(),
            replays: AtomicU64::new(0),
        }
    }
}

/// The slots between which a kernel copies, if it does nothing else.
pub(super) fn copied(kernel: &Kernel, arguments: &[Bind]) -> Option<(SlotId, SlotId)> {
    let insts = &kernel.region(crate::ir::TOP).insts;
    let [load, store] = &insts[..] else { return None };
    let (Op::Load(from), Op::Store { buffer: to, .. }) = (&load.op, &store.op) else { return None };
    match [arguments[from.index()], arguments[to.index()]] {
        [Bind::Slot(from), Bind::Slot(to)] => Some((from, to)),
        _ => None,
    }
}
