//! Bytes → recording.
//!
//! Everything that replays rely on is checked here, or by them: that steps refer to what exists; that kernels are
//! well-formed and their arguments have the right types; that nothing writes to inputs and constants; that steps write
//! memory before others read it; and that loops are nested. Sizes are known only in a replay, which checks them as it
//! checks those of a program's launches.

use std::sync::Arc;

use smallvec::SmallVec;

use super::bytes::{Read, Reader};
use super::parts::{Counts, read_call, read_checks, read_code};
use crate::backend::CodeOptions;
use crate::cache::{self, PortableCode};
use crate::config::Device;
use crate::current_device::DeviceScope;
use crate::ir::{Access, Kernel, Param, Type, encode};
use crate::launch;
use crate::memory::Buffer;
use crate::recording::recorder::{Parts, copied};
use crate::recording::{
    Bind, Carried, CountStep, Guard, KernelStep, LibraryStep, LoopStep, Origin, Recording, Relation, RepeatStep,
    SizeExpr, SizeId, SizeOp, Sizes, Slot, SlotId, Step, TestStep,
};
use crate::{Error, ErrorKind};

/// Reads a recording.
///
/// # Safety
///
/// Machine code in it is run, if it is used.
pub(super) unsafe fn recording(reader: &mut Reader<'_>, device: Device, uses_code: bool) -> Result<Recording, Error> {
    // Constants are read to its memory.
    let _scope = DeviceScope::enter(device);
    let sizes = read_sizes(reader)?;
    let (inputs, scalars) = (reader.small()?, reader.small()?);
    let mut counts = Counts { sizes: sizes.exprs().len(), slots: 0, scalars };
    let slots = read_slots(reader, counts, inputs)?;
    counts.slots = slots.len();
    let context = Context { slots: &slots, counts, device, uses_code };
    let count = reader.size()?;
    let mut steps = Vec::new();
    for _ in 0..count {
        // SAFETY: the caller's promise.
        steps.push(unsafe { context.step(reader) }?);
    }
    let outputs = reader.list(|reader| context.slot(reader))?;
    check_order(reader, (&slots, &sizes), &steps, &outputs)?;
    check_counts(reader, &sizes, &steps)?;
    Ok(Recording::assemble(Parts { device, sizes, slots, steps, outputs, inputs, scalars }))
}

fn read_sizes(reader: &mut Reader<'_>) -> Read<Sizes> {
    let mut sizes = Sizes::default();
    let count = reader.size()?;
    for number in 0..count {
        let id = |reader: &mut Reader<'_>| {
            reader.below(number, "the number of an earlier size").map(|number| SizeId(number as u16))
        };
        let expr = match reader.byte()? {
            0 => SizeExpr::Constant(reader.size()?),
            1 => SizeExpr::Input(reader.below(usize::from(u16::MAX), "the number of a symbol")? as u16),
            2 => SizeExpr::Count(reader.below(usize::from(u16::MAX), "the number of a count")? as u16),
            3 => SizeExpr::Binary(reader.one_of(&SizeOp::ALL, "an operation on sizes")?, id(reader)?, id(reader)?),
            _ => return reader.fail("a size"),
        };
        if number == 0 {
            reader.require(expr == SizeExpr::Constant(0), "the constant 0")?;
        }
        reader.require(sizes.push(expr).is_some(), "room for a size")?;
    }
    reader.require(count > 0, "a size")?;
    let counts = Counts { sizes: count, ..Counts::default() };
    let guards = reader.list(|reader| {
        let relation = reader.one_of(&Relation::ALL, "a relation")?;
        Ok(Guard { relation, left: counts.size(reader)?, right: counts.size(reader)?, site: reader.site()? })
    })?;
    guards.into_iter().for_each(|guard| sizes.require(guard));
    Ok(sizes)
}

fn read_slots(reader: &mut Reader<'_>, counts: Counts, inputs: u32) -> Result<Vec<Slot>, Error> {
    let mut slots: Vec<Slot> = Vec::new();
    let mut known = 0;
    for _ in 0..reader.size()? {
        let (ty, len) = (reader.ty()?, counts.size(reader)?);
        let origin = match reader.byte()? {
            0 => {
                let number = reader.small()?;
                // They are numbered in order.
                reader.require(number == known && number < inputs, "the next input")?;
                known += 1;
                Origin::Input(number)
            }
            1 => Origin::Constant(Buffer::from_bytes(reader.blob()?)?),
            2 => Origin::Step,
            _ => return Ok(reader.fail("the origin of memory")?),
        };
        slots.push(Slot { ty, len, origin });
    }
    reader.require(known == inputs, "an input")?;
    Ok(slots)
}

struct Context<'a> {
    slots: &'a [Slot],
    counts: Counts,
    device: Device,
    uses_code: bool,
}

impl Context<'_> {
    fn slot(&self, reader: &mut Reader<'_>) -> Read<SlotId> {
        reader.below(self.counts.slots, "the number of a slot").map(|number| SlotId(number as u32))
    }

    /// A slot that a step may write.
    fn written(&self, reader: &mut Reader<'_>) -> Read<SlotId> {
        let slot = self.slot(reader)?;
        reader.require(matches!(self.slots[slot.index()].origin, Origin::Step), "memory that steps write")?;
        Ok(slot)
    }

    fn ty(&self, slot: SlotId) -> Type {
        self.slots[slot.index()].ty
    }

    unsafe fn step(&self, reader: &mut Reader<'_>) -> Result<Step, Error> {
        Ok(match reader.byte()? {
            // SAFETY: the caller's promise.
            0 => Step::Kernel(unsafe { self.kernel(reader) }?),
            1 => Step::Library(self.library(reader)?),
            2 => Step::Count(self.count(reader)?),
            3 => Step::Test(TestStep {
                slot: self.slot(reader)?,
                expected: reader.number()?,
                site: reader.option(Reader::site)?,
            }),
            4 => Step::Loop(self.begin_loop(reader)?),
            5 => {
                let (length, slots) = (reader.small()?, reader.list(|reader| self.written(reader))?);
                Step::Repeat(RepeatStep { length, slots: slots.into() })
            }
            _ => return Ok(reader.fail("a step")?),
        })
    }

    fn library(&self, reader: &mut Reader<'_>) -> Read<LibraryStep> {
        Ok(LibraryStep {
            call: read_call(reader)?,
            sizes: reader.list(|reader| self.counts.size(reader))?.into(),
            fill: reader.option(|reader| self.counts.scalar(reader))?,
            inputs: reader.list(|reader| self.slot(reader))?.into(),
            outputs: reader.list(|reader| self.written(reader))?.into(),
            site: reader.option(Reader::site)?,
        })
    }

    fn count(&self, reader: &mut Reader<'_>) -> Read<CountStep> {
        let slots = reader.list(|reader| self.slot(reader))?;
        let &[mask, positions] = &slots[..] else { return reader.fail("two slots") };
        let is_right = self.ty(mask) == Type::Bool && self.ty(positions) == Type::U32;
        let is_made = matches!(self.slots[positions.index()].origin, Origin::Step);
        reader.require(is_right && is_made && mask != positions, "a mask and the positions in it")?;
        Ok(CountStep { mask, positions, site: reader.option(Reader::site)? })
    }

    fn begin_loop(&self, reader: &mut Reader<'_>) -> Read<LoopStep> {
        let carried = reader.list(|reader| {
            let (param, init, out) = (self.written(reader)?, self.slot(reader)?, self.written(reader)?);
            let are_distinct = param != init && param != out && init != out;
            let is_right = are_distinct && self.ty(param) == self.ty(init) && self.ty(param) == self.ty(out);
            reader.require(is_right, "a state of a loop")?;
            Ok(Carried { param, init, out })
        })?;
        let test = reader.below(carried.len(), "the number of a state")?;
        reader.require(self.ty(carried[test].param) == Type::Bool, "a condition")?;
        Ok(LoopStep {
            carried: carried.into(),
            test: test as u32,
            length: reader.small()?,
            limit: reader.option(|reader| Ok((reader.small()?, reader.small()?)))?,
            site: reader.site()?,
        })
    }

    unsafe fn kernel(&self, reader: &mut Reader<'_>) -> Result<KernelStep, Error> {
        let kernel = encode::from_bytes(reader.blob()?)
            .map_err(|error| Error::new(ErrorKind::Io, "its contents are not those of a recording").caused_by(error))?;
        let has_template = reader.flag()?;
        let (lanes, reduce_block) = (self.counts.size(reader)?, reader.option(|reader| self.counts.size(reader))?);
        let arguments: SmallVec<[Bind; 8]> = reader.list(|reader| self.bind(reader))?.into();
        self.check_arguments(reader, &kernel, &arguments)?;
        let (label, site) = (reader.label()?, reader.option(Reader::site)?);
        let checks = reader.option(read_checks)?;
        let codes: Vec<PortableCode> = reader.list(read_code)?;
        let mut shipped = match self.uses_code {
            // SAFETY: the caller's promise.
            true => unsafe { cache::entries_of(self.device, &kernel, &codes, (label, site)) }?,
            false => Vec::new(),
        };
        let entry = match shipped.first() {
            Some(entry) => Arc::clone(entry),
            None => {
                let options = CodeOptions { effort: launch::effort(), ..CodeOptions::default() };
                cache::entry_as_is(self.device, kernel.clone(), options, (label, site))?
            }
        };
        // Code that is compiled here is specialised to sizes, as it was when the function was recorded.
        let is_specialised = has_template && shipped.is_empty() && self.device != Device::Interpreter;
        let template = is_specialised.then(|| Arc::new(kernel.clone()));
        if !is_specialised && shipped.is_empty() {
            shipped.push(Arc::clone(&entry));
        }
        let copy = copied(&kernel, &arguments);
        Ok(KernelStep { entry, template, lanes, reduce_block, arguments, label, site, copy, checks, shipped })
    }

    fn bind(&self, reader: &mut Reader<'_>) -> Read<Bind> {
        match reader.byte()? {
            0 => self.slot(reader).map(Bind::Slot),
            1 => self.counts.scalar(reader).map(Bind::Scalar),
            _ => reader.fail("an argument"),
        }
    }

    /// Checks the number and types of arguments, and that only memory of steps is written.
    fn check_arguments(&self, reader: &Reader<'_>, kernel: &Kernel, arguments: &[Bind]) -> Read<()> {
        reader.require(kernel.params.len() == arguments.len(), "the number of arguments that the kernel takes")?;
        for (param, argument) in kernel.params.iter().zip(arguments) {
            let is_right = match (*param, *argument) {
                (Param::Scalar { .. }, Bind::Scalar(_)) => true,
                (Param::Buffer { ty, access }, Bind::Slot(slot)) => {
                    let is_of_step = matches!(self.slots[slot.index()].origin, Origin::Step);
                    ty == self.ty(slot) && (is_of_step || access == Access::Read)
                }
                _ => false,
            };
            reader.require(is_right, "an argument that the kernel takes")?;
        }
        Ok(())
    }
}

/// Checks that steps write memory before others read it, and that loops are nested. No step writes memory without
/// elements.
fn check_order(reader: &Reader<'_>, (slots, sizes): (&[Slot], &Sizes), steps: &[Step], outputs: &[SlotId]) -> Read<()> {
    let zeros = sizes.zeros();
    let is_there = |slot: &Slot| !matches!(slot.origin, Origin::Step) || zeros[slot.len.index()];
    let mut is_there: Vec<bool> = slots.iter().map(is_there).collect();
    // The ends of the loops that are open.
    let mut open: Vec<usize> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let (mut reads, mut writes): (SmallVec<[SlotId; 8]>, SmallVec<[SlotId; 8]>) = Default::default();
        match step {
            Step::Kernel(kernel) => {
                for (param, bind) in kernel.kernel().params.iter().zip(&kernel.arguments) {
                    match (param, bind) {
                        (Param::Buffer { access: Access::Read, .. }, Bind::Slot(slot)) => reads.push(*slot),
                        (_, Bind::Slot(slot)) => writes.push(*slot),
                        _ => {}
                    }
                }
            }
            Step::Library(work) => {
                reads.extend_from_slice(&work.inputs);
                writes.extend_from_slice(&work.outputs);
            }
            Step::Count(count) => {
                reader.require(open.is_empty(), "a step that counts outside of loops")?;
                reads.push(count.mask);
                writes.push(count.positions);
            }
            Step::Test(test) => reads.push(test.slot),
            Step::Loop(inner) => {
                let end = number + inner.length as usize + 1;
                let is_inside = open.last().is_none_or(|outer| end < *outer);
                let matches = matches!(steps.get(end), Some(Step::Repeat(last)) if last.length == inner.length);
                reader.require(is_inside && matches, "the end of a loop")?;
                open.push(end);
                reads.extend(inner.carried.iter().map(|carried| carried.init));
                writes.extend(inner.carried.iter().map(|carried| carried.param));
            }
            Step::Repeat(inner) => {
                reader.require(open.pop() == Some(number), "the end of a loop")?;
                reads.extend_from_slice(&inner.slots);
            }
            Step::Host(_) => return reader.fail("a step of a file"),
        }
        reader.require(reads.iter().all(|slot| is_there[slot.index()]), "a step that reads what was written")?;
        writes.iter().for_each(|slot| is_there[slot.index()] = true);
    }
    reader.require(outputs.iter().all(|slot| is_there[slot.index()]), "a result that was written")
}

/// Checks that the sizes that steps determine are those of steps.
fn check_counts(reader: &Reader<'_>, sizes: &Sizes, steps: &[Step]) -> Read<()> {
    let counting = steps.iter().filter(|step| matches!(step, Step::Count(_))).count();
    let is_known = |expr: &SizeExpr| !matches!(expr, SizeExpr::Count(number) if usize::from(*number) >= counting);
    reader.require(sizes.exprs().iter().all(is_known), "a size that a step determines")
}
