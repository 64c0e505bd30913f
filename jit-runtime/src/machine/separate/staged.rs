//! Launches on copies: what a launch accesses is copied to memory of the host, runs there, and is copied back.

use std::sync::Arc;

use crate::Error;
use crate::cancel::Token;
use crate::config::Device;
use crate::memory::Buffer;
use crate::memory::failure::Failure;

use super::super::host::{self, Host};
use super::super::library::{self, Operand};
use super::super::{Argument, Machine, Ready};
use super::space::Space;

/// A launch that holds addresses in place of buffers: whoever queues it retains these.
pub(super) struct Staged {
    space: Arc<Space>,
    /// The launch, without arguments.
    ready: Ready,
    arguments: Vec<Place>,
}

/// An argument.
#[derive(Clone, Copy)]
enum Place {
    /// An address in the memory of the machine, and the number of elements.
    Memory(u64, usize),
    /// The bits of a scalar.
    Scalar(u64),
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

    /// Copies what a launch wrote back.
    fn return_to(&self, address: u64) -> Result<(), Error> {
        let Some((_, copy)) = self.buffers.iter().find(|(own, _)| *own == address) else { return Ok(()) };
        let written = copy.bytes()?;
        self.space.write(address, |bytes| bytes.copy_from_slice(&written));
        Ok(())
    }
}

impl Staged {
    /// Takes the arguments, and what they are bound to, from a launch.
    pub(super) fn of(ready: Ready, space: &Arc<Space>) -> Staged {
        let places = ready.arguments.iter().map(|argument| match argument {
            Argument::Buffer(buffer, elements) => Place::Memory(buffer.address(), *elements),
            Argument::Scalar(bits) => Place::Scalar(*bits),
        });
        let arguments = places.collect();
        Staged { space: Arc::clone(space), ready: Ready { arguments: Vec::new(), ..ready }, arguments }
    }

    /// Runs the launch.
    pub(super) fn run(self, token: &Token) -> Result<(), Error> {
        let mut copies = Copies { space: &self.space, buffers: Vec::new() };
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for place in &self.arguments {
            arguments.push(match *place {
                Place::Memory(address, elements) => Argument::Buffer(copies.of(address)?, elements),
                Place::Scalar(bits) => Argument::Scalar(bits),
            });
        }
        let entry = Arc::clone(&self.ready.entry);
        // SAFETY: the launch was checked, and only this function has the copies.
        unsafe { host::run_alone(Ready { arguments, ..self.ready }, token)? };
        let written = entry.facts.params.iter().zip(&self.arguments).filter(|(param, _)| param.writes);
        written.map(|(_, place)| place).try_for_each(|place| match *place {
            Place::Memory(address, _) => copies.return_to(address),
            Place::Scalar(_) => Ok(()),
        })
    }
}

/// Makes a library call at once. If it fails, so have its outputs.
pub(super) fn call(launch: library::Launch) -> Result<(), Error> {
    let outputs = launch.outputs.clone();
    call_on_host(launch).inspect_err(|error| {
        let failure = Failure::of_error(error);
        outputs.iter().for_each(|output| output.buffer.accesses().fail(&failure));
    })
}

fn call_on_host(launch: library::Launch) -> Result<(), Error> {
    let copied = |operand: &Operand| Ok(Operand { buffer: operand.buffer.copied_to_host()?, ..operand.clone() });
    let inputs = launch.inputs.iter().map(copied).collect::<Result<Vec<_>, Error>>()?;
    let blank = |operand: &Operand| {
        // SAFETY: the call writes all elements of its outputs, and nothing else of them is read.
        let buffer = unsafe { Buffer::on_host(operand.buffer.size_bytes(), Device::Interpreter)? };
        Ok(Operand { buffer, ..operand.clone() })
    };
    let outputs = launch.outputs.iter().map(blank).collect::<Result<Vec<_>, Error>>()?;
    let written = outputs.clone();
    Host.call(library::Launch { inputs, outputs, ..launch.clone() })?;
    launch.outputs.iter().zip(&written).try_for_each(|(output, copy)| {
        output.buffer.overwrite(&copy.buffer.bytes()?[..output.len * output.ty.size_bytes()])
    })
}

/// Memory of the host with these bytes.
fn on_host(bytes: &[u8]) -> Result<Arc<Buffer>, Error> {
    // SAFETY: all of it is written, here.
    let copy = unsafe { Buffer::on_host(bytes.len(), Device::Interpreter)? };
    // SAFETY: the copy is not shared yet, and it is as long as the bytes.
    unsafe { copy.put(0, bytes)? };
    Ok(copy)
}
