//! Launches on copies: what a launch accesses is copied to memory of the host, runs there, and is copied back.

use std::sync::Arc;

use crate::Error;
use crate::cache::Entry;
use crate::config::Device;
use crate::ir::Type;
use crate::memory::Buffer;
use crate::stats::Preparation;
use crate::{Label, Site};

use super::super::host::Host;
use super::super::library::{self, Call, Operand};
use super::super::{Argument, Checks, Machine, Ready};
use super::space::Space;

/// A launch that holds addresses in place of buffers: whoever queues it retains these.
pub(super) struct Staged {
    space: Arc<Space>,
    entry: Arc<Entry>,
    width: usize,
    reduce_block: Option<usize>,
    arguments: Vec<Place>,
    label: Label,
    site: Option<Site>,
    preparation: Preparation,
    checks: Option<Checks>,
}

/// An argument.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// An address in the memory of the machine, the element type, and the number of elements.
    Memory(u64, Type, usize),
    /// The bits of a scalar.
    Scalar(u64),
}

impl Place {
    /// The place of an operand.
    pub(super) fn of(operand: &Operand) -> Place {
        Place::Memory(operand.buffer.address(), operand.ty, operand.len)
    }

    /// The operand in memory of the host.
    fn operand(self, copies: &mut Copies<'_>) -> Result<Option<Operand>, Error> {
        let Place::Memory(address, ty, len) = self else { return Ok(None) };
        Ok(Some(Operand { buffer: copies.of(address)?, ty, len }))
    }
}

/// The copies of one launch: one of each buffer, however often it is bound.
struct Copies<'s> {
    space: &'s Space,
    buffers: Vec<(u64, Arc<Buffer>)>,
}

impl Copies<'_> {
    /// The copy of a buffer on the host.
    fn of(&mut self, address: u64) -> Result<Arc<Buffer>, Error> {
        if let Some((_, known)) = self.buffers.iter().find(|(own, _)| *own == address) {
            return Ok(Arc::clone(known));
        }
        let copy = self.space.read(address, on_host)?;
        self.buffers.push((address, Arc::clone(&copy)));
        Ok(copy)
    }

    /// Copies what a launch wrote back, when it is done. Fails as the launch did.
    fn return_to(&self, address: u64) -> Result<(), Error> {
        let Some((_, copy)) = self.buffers.iter().find(|(own, _)| *own == address) else { return Ok(()) };
        let written = copy.bytes()?;
        self.space.write(address, |bytes| bytes.copy_from_slice(&written));
        Ok(())
    }
}

impl Staged {
    pub(super) fn of(ready: &mut Ready, space: &Arc<Space>) -> Staged {
        let params = ready.entry.facts.params.iter();
        let places = params.zip(&ready.arguments).map(|(param, argument)| match argument {
            Argument::Buffer(buffer, elements) => Place::Memory(buffer.address(), param.ty, *elements),
            Argument::Scalar(bits) => Place::Scalar(*bits),
        });
        Staged {
            space: Arc::clone(space),
            arguments: places.collect(),
            entry: Arc::clone(&ready.entry),
            width: ready.width,
            reduce_block: ready.reduce_block,
            label: ready.label,
            site: ready.site,
            preparation: ready.preparation,
            checks: ready.checks.take(),
        }
    }

    /// Runs the launch.
    pub(super) fn run(self) -> Result<(), Error> {
        let mut copies = Copies { space: &self.space, buffers: Vec::new() };
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for place in &self.arguments {
            arguments.push(match *place {
                Place::Memory(address, _, elements) => Argument::Buffer(copies.of(address)?, elements),
                Place::Scalar(bits) => Argument::Scalar(bits),
            });
        }
        let entry = Arc::clone(&self.entry);
        let (width, reduce_block, label, site) = (self.width, self.reduce_block, self.label, self.site);
        let (preparation, checks) = (self.preparation, self.checks);
        Host.launch(Ready { entry, width, reduce_block, arguments, label, site, preparation, checks })?;
        let params = self.entry.facts.params.iter().zip(&self.arguments).filter(|(param, _)| param.writes);
        for (_, place) in params {
            if let Place::Memory(address, ..) = place {
                copies.return_to(*address)?;
            }
        }
        Ok(())
    }
}

/// Makes a library call.
pub(super) fn call(
    space: &Space,
    device: Device,
    call: Call,
    inputs: &[Place],
    outputs: &[Place],
    site: Option<Site>,
) -> Result<(), Error> {
    let mut copies = Copies { space, buffers: Vec::new() };
    let mut operands = |places: &[Place]| {
        places.iter().filter_map(|place| place.operand(&mut copies).transpose()).collect::<Result<Vec<_>, Error>>()
    };
    let launch = library::Launch { device, call, inputs: operands(inputs)?, outputs: operands(outputs)?, site };
    Host.call(launch)?;
    for place in outputs {
        if let Place::Memory(address, ..) = place {
            copies.return_to(*address)?;
        }
    }
    Ok(())
}

/// An operand in memory of the host with these bytes.
pub(super) fn staged_operand(ty: Type, len: usize, bytes: &[u8]) -> Result<Operand, Error> {
    Ok(Operand { buffer: on_host(bytes)?, ty, len })
}

/// Memory of the host with these bytes.
fn on_host(bytes: &[u8]) -> Result<Arc<Buffer>, Error> {
    // SAFETY: all of it is written, here.
    let copy = unsafe { Buffer::on_host(bytes.len(), Device::Interpreter)? };
    // SAFETY: the copy is not shared yet, and it is as long as the bytes.
    unsafe { copy.put(0, bytes)? };
    Ok(copy)
}
