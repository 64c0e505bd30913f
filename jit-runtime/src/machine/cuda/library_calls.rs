//! Library calls: by kernels of ours, or by the host on copies where there are none. This is the one place that
//! decides.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cudarc::driver::sys;

use super::batch::Item;
use super::flight::{Afterwards, Wanted};
use super::kernels::Prepared;
use super::{Cuda, host_calls};
use crate::backend::cuda::library::{MAX_LEN, Plan, count_true, list_true};
use crate::config::Device;
use crate::ir::Type;
use crate::machine::library::{self, Operand};
use crate::machine::work::{Accessed, Observed};
use crate::memory::Buffer;
use crate::stats::events::Traffic;
use crate::{Error, Label, Site, stats};

/// Work that accesses operands, and how it is called in statistics and errors.
pub(super) struct Work<'a> {
    pub(super) device: Device,
    pub(super) label: Label,
    pub(super) site: Option<Site>,
    /// How many elements it works on, in statistics: the number of its results, as on the host.
    pub(super) width: usize,
    pub(super) inputs: &'a [Operand],
    pub(super) outputs: &'a [Operand],
}

impl<'a> Work<'a> {
    pub(super) fn of_call(launch: &'a library::Launch) -> Self {
        let library::Launch { device, call, inputs, outputs, site } = launch;
        let width = outputs.iter().map(|output| output.len).max().unwrap_or_default();
        Work { device: *device, label: call.name().into(), site: *site, width, inputs, outputs }
    }

    /// Counts the work, registers it at its operands and queues it: the function calls the driver.
    pub(super) fn submit(
        self,
        machine: &Cuda,
        afterwards: Afterwards,
        queue: impl FnOnce(sys::CUstream) -> Result<(), Error>,
    ) -> Result<(), Error> {
        machine.streams.of_thread()?.submit(self.wanted(afterwards), queue);
        Ok(())
    }

    /// Counts the work, which is about to be queued.
    fn wanted(self, afterwards: Afterwards) -> Wanted {
        let access = |writes: bool| {
            move |operand: &Operand| Accessed { buffer: Arc::clone(&operand.buffer), reads: !writes, writes }
        };
        let accessed = self.inputs.iter().map(access(false)).chain(self.outputs.iter().map(access(true))).collect();
        let (label, site, observed) = (self.label, self.site, self.observe());
        Wanted { accessed, label, site, observed, afterwards }
    }

    fn observe(&self) -> Observed {
        stats::count_library_launch(self.width);
        let time = Arc::new(AtomicU64::new(0));
        let bytes = |operands: &[Operand]| operands.iter().map(|operand| operand.len * operand.ty.size_bytes()).sum();
        let counts = (self.inputs.len(), self.outputs.len());
        let watched = stats::record_queued(
            &time,
            |time| library::record((self.device, self.label, self.site), self.width, counts, time),
            || Traffic { read: bytes(self.inputs), written: bytes(self.outputs) },
        );
        (time, watched)
    }

    /// Prepares the launches of a plan, so that they can be queued.
    fn prepare(self, machine: &Cuda, plan: &Plan) -> Result<Item, Error> {
        let addresses = |operands: &[Operand]| operands.iter().map(|o| o.buffer.address()).collect::<Vec<_>>();
        let prepared = Prepared::of(machine, plan, &addresses(self.inputs), &addresses(self.outputs));
        let prepared = Arc::new(prepared.map_err(|error| match self.site {
            Some(site) => error.of_memory_for(self.label, self.site).at(site),
            None => error.of_memory_for(self.label, None),
        })?);
        let kept = Arc::clone(&prepared);
        let afterwards = Box::new(move || {
            drop(kept);
            Ok(())
        });
        Ok(Item { wanted: self.wanted(afterwards), work: prepared, token: None })
    }

    /// Queues the launches of a plan.
    fn run(self, machine: &Cuda, plan: &Plan) -> Result<(), Error> {
        self.prepare(machine, plan)?.submit(machine)
    }
}

/// Makes a call.
pub(super) fn call(machine: &Cuda, launch: library::Launch) -> Result<(), Error> {
    machine.gpu.check()?;
    match plan_of(&launch) {
        Some(plan) => Work::of_call(&launch).run(machine, &plan),
        None => host_calls::call(machine, launch),
    }
}

/// Prepares a call, so that it can be queued. It is returned if the host makes it.
pub(super) fn prepare(machine: &Cuda, launch: library::Launch) -> Result<Result<Item, library::Launch>, Error> {
    machine.gpu.check()?;
    match plan_of(&launch) {
        Some(plan) => Work::of_call(&launch).prepare(machine, &plan).map(Ok),
        None => Ok(Err(launch)),
    }
}

/// The launches of a call; none if the host makes it.
fn plan_of(launch: &library::Launch) -> Option<Plan> {
    let mut operands = launch.inputs.iter().chain(&launch.outputs);
    if operands.clone().any(|operand| operand.len > MAX_LEN) {
        return None;
    }
    let first = operands.next()?;
    Plan::of(launch.call, first.ty, first.len)
}

/// Lists the positions of the true elements of a mask. Waits for their number.
pub(super) fn compress(machine: &Cuda, mask: &Operand, device: Device, site: Option<Site>) -> Result<Operand, Error> {
    machine.gpu.check()?;
    let width = mask.len;
    let work = |inputs, outputs| Work { device, label: "compress".into(), site, width, inputs, outputs };
    let (plan, len) = count_true(mask.len);
    let counted = [mask.clone(), positions(machine, device, len)?];
    let (mask, ends) = counted.split_at(1);
    work(mask, ends).run(machine, &plan)?;
    let mut count = [0; 4];
    ends[0].buffer.read(4 * (len - 1), &mut count)?;
    let listed = [positions(machine, device, u32::from_le_bytes(count) as usize)?];
    if listed[0].len > 0 {
        work(&counted, &listed).run(machine, &list_true(mask[0].len))?;
    }
    let [listed] = listed;
    Ok(listed)
}

/// Positions that are to be written.
fn positions(machine: &Cuda, device: Device, len: usize) -> Result<Operand, Error> {
    let (ty, size_bytes) = (Type::U32, 4 * len);
    let block = machine.block(size_bytes)?;
    Ok(Operand { buffer: Buffer::on_machine(Box::new(block), size_bytes, device), ty, len })
}
