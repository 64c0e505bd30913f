//! Kernels: the shape of the grid, the bytes of the parameters, and memory that a launch needs besides its arguments.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cudarc::driver::sys;

use super::batch::{Item, Work};
use super::combine::Parts;
use super::flight::Wanted;
use super::grids::{Grids, Lanes};
use super::memory::Block;
use super::pinned::Pinned;
use super::{Argument, Cuda, Ready};
use crate::backend::RawArgument;
use crate::backend::cuda::code::Code;
use crate::backend::cuda::driver::{Failed, Module, Node, check};
use crate::cache::Entry;
use crate::cancel::Token;
use crate::ir::Type;
use crate::machine::Checks;
use crate::memory::Remote;
use crate::{Error, ErrorKind, stats};

/// A launch that the driver can be called for, with all memory that it needs.
struct Plan {
    /// Keeps the code alive.
    entry: Arc<Entry>,
    /// One after another; none if there is nothing to run.
    grids: Vec<Queued>,
    /// Memory for lanes that need much.
    _scratch: Option<Block>,
    /// Results of blocks of threads that have to be combined.
    parts: Vec<Parts>,
    /// What checks read, and where copies of it are wanted.
    checked: Vec<Checked>,
}

/// A grid that the driver can be called for.
struct Queued {
    /// Blocks, and threads of each.
    shape: (u32, u32),
    parameters: Vec<u8>,
    /// The block that the parameters are copied to, if they are too many, and where they are copied from.
    indirect: Option<Indirect>,
}

/// Elements of an argument that checks read, and their copy.
struct Checked {
    argument: usize,
    from: u64,
    size_bytes: usize,
    copy: Pinned,
}

/// Queues a launch.
pub(super) fn launch(machine: &Cuda, ready: Ready) -> Result<(), Error> {
    prepare(machine, ready)?.submit(machine)
}

/// Prepares a launch, so that it can be queued.
pub(super) fn prepare(machine: &Cuda, mut ready: Ready) -> Result<Item, Error> {
    let checks = ready.checks.take();
    let plan = Plan::of(machine, &ready, checks.as_ref());
    let plan = Arc::new(plan.map_err(|error| error.of_memory_for(ready.label, ready.site))?);
    let time = Arc::new(AtomicU64::new(0));
    let watched = stats::record_queued(&time, |time| ready.record(time), || ready.traffic());
    let (label, site, token) = (ready.label, ready.site, Some(Token::current()));
    let kept = Arc::clone(&plan);
    let afterwards = Box::new(move || checks.map_or(Ok(()), |checks| kept.check(&checks)));
    let wanted = Wanted { accessed: ready.into_accessed(), label, site, observed: (time, watched), afterwards };
    Ok(Item { wanted, work: plan, token })
}

/// The code of a launch.
fn code_of(entry: &Entry) -> Result<&Code, Error> {
    let missing = || Error::new(ErrorKind::Internal, "the code of a launch is not for its device");
    entry.executable(usize::MAX).gpu_code().ok_or_else(missing)
}

fn too_wide() -> Error {
    let message = "launches and arrays on a GPU have fewer than 2^32 lanes and elements";
    Error::new(ErrorKind::InvalidArgument, message).with_hint("compute in smaller parts")
}

impl Plan {
    fn of(machine: &Cuda, ready: &Ready, checks: Option<&Checks>) -> Result<Plan, Error> {
        let too_wide = || match ready.site {
            Some(site) => too_wide().at(site),
            None => too_wide(),
        };
        let width = u32::try_from(ready.width).map_err(|_| too_wide())?;
        if ready.arguments.iter().any(|argument| u32::try_from(argument.elements()).is_err()) {
            return Err(too_wide());
        }
        let entry = Arc::clone(&ready.entry);
        let code = code_of(&entry)?;
        let mut raw: Vec<RawArgument> = ready.arguments.iter().map(Argument::raw).collect();
        let lanes = Lanes::of(width, ready.reduce_block);
        let parts = Parts::of_launch(machine, &entry, lanes, &mut raw)?;
        let Grids { list, scratch } = Grids::of(machine, &entry, code, lanes, &raw)?;
        let queued = |(shape, bytes)| Queued::of(machine, code.layout.is_by_value(), shape, bytes);
        let grids = list.into_iter().map(queued).collect::<Result<_, _>>()?;
        let checked = checks.map_or(Ok(Vec::new()), |checks| checked(machine, ready, checks))?;
        Ok(Plan { entry, grids, _scratch: scratch, parts, checked })
    }

    /// Looks at the notes of a launch that is done.
    fn check(&self, checks: &Checks) -> Result<(), Error> {
        checks.outcome(|argument, ty, element| {
            let found = self
                .checked
                .iter()
                .find(|checked| checked.argument == argument && (element + 1) * ty.size_bytes() <= checked.size_bytes);
            let checked = found.expect("all elements that checks read were copied");
            // SAFETY: the copy is done.
            let bytes = unsafe { checked.copy.bytes(checked.size_bytes) };
            let bytes = &bytes[element * ty.size_bytes()..][..ty.size_bytes()];
            bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
        })
    }
}

impl Work for Plan {
    fn queue(&self, machine: &Cuda, stream: sys::CUstream) -> Result<(), Error> {
        let error = |failed| machine.gpu.error("a launch", failed);
        let module = &code_of(&self.entry)?.module;
        self.grids.iter().try_for_each(|grid| grid.queue(module, stream)).map_err(error)?;
        for parts in &self.parts {
            parts.queue(stream).map_err(error)?;
        }
        for Checked { from, size_bytes, copy, .. } in &self.checked {
            // SAFETY: the launch keeps the buffer, and the plan the copy.
            let code = unsafe { sys::cuMemcpyDtoHAsync_v2(copy.as_ptr().cast(), *from, *size_bytes, stream) };
            check("cuMemcpyDtoHAsync", code).map_err(error)?;
        }
        Ok(())
    }

    fn add_nodes<'a>(&'a self, nodes: &mut Vec<Node<'a>>) -> bool {
        let Ok(code) = code_of(&self.entry) else { return false };
        let are_launches = self.checked.is_empty() && self.grids.iter().all(|grid| grid.indirect.is_none());
        let of_grid = |grid: &'a Queued| {
            let owner: Arc<Entry> = Arc::clone(&self.entry);
            Node { module: &code.module, owner, shape: grid.shape, parameters: &grid.parameters }
        };
        nodes.extend(self.grids.iter().map(of_grid));
        self.parts.iter().for_each(|parts| nodes.extend(parts.nodes()));
        are_launches
    }
}

impl Queued {
    fn of(machine: &Cuda, is_by_value: bool, shape: (u32, u32), bytes: Vec<u8>) -> Result<Queued, Error> {
        let (parameters, indirect) = if is_by_value { (bytes, None) } else { in_memory(machine, &bytes)? };
        Ok(Queued { shape, parameters, indirect })
    }

    /// Calls the driver. The context is current.
    fn queue(&self, module: &Module, stream: sys::CUstream) -> Result<(), Failed> {
        if let Some((block, from)) = &self.indirect {
            let len = block.capacity_bytes();
            // SAFETY: both blocks are as long, and the plan keeps them until the launch is done.
            let code = unsafe { sys::cuMemcpyHtoDAsync_v2(block.address(), from.as_ptr().cast(), len, stream) };
            check("cuMemcpyHtoDAsync", code)?;
        }
        // SAFETY: the arguments were checked, and packed for this code; the plan keeps all memory.
        unsafe { module.launch(self.shape, &self.parameters, stream) }
    }
}

/// Parameters in memory of the device: its block, and where it is copied from.
type Indirect = (Block, Pinned);

/// Parameters in memory of the device: the parameter that is their address, and the memory.
fn in_memory(machine: &Cuda, bytes: &[u8]) -> Result<(Vec<u8>, Option<Indirect>), Error> {
    let block = machine.block(bytes.len())?;
    let pinned = machine.pinned.allocate(block.capacity_bytes())?;
    // SAFETY: nobody else has the block yet.
    unsafe { pinned.put(0, bytes) };
    Ok((block.address().to_le_bytes().to_vec(), Some((block, pinned))))
}

/// The elements that checks read, with room for copies.
fn checked(machine: &Cuda, ready: &Ready, checks: &Checks) -> Result<Vec<Checked>, Error> {
    let each = checks.looked_at().map(|(argument, ty, len): (usize, Type, usize)| {
        let size_bytes = len * ty.size_bytes();
        let copy = machine.pinned.allocate(size_bytes)?;
        Ok(Checked { argument, from: ready.arguments[argument].raw().word, size_bytes, copy })
    });
    each.collect()
}
