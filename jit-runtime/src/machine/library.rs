//! Library calls with their operands, and the checks of these. What the calls compute is described in
//! [`crate::backend::library`].
//!
//! Each machine has its own functions for them, and returns the same bits. Above this module nothing knows how.

use std::sync::Arc;
use std::time::Duration;

use super::{alloc_result, share_memory};
pub use crate::backend::library::{
    AXES, Call, Convolution, MatMul, Prefix, Sort, Sorted, Sought, is_supported_convolution, is_supported_matmul,
    is_supported_prefix,
};
use crate::config::Device;
use crate::ir::Type;
use crate::memory::Buffer;
use crate::stats::{CacheOutcome, Facts, ParamFacts, Preparation, Record, Time};
use crate::{Error, ErrorKind, Label, Site};

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

    /// Checks that a device can access the memory.
    fn check_machine(&self, device: Device) -> Result<(), String> {
        let own = self.buffer.device();
        if share_memory(own, device) {
            Ok(())
        } else {
            Err(format!("memory of `{own}` is not accessible on `{device}`"))
        }
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

impl Launch {
    /// Checks sizes and types, on which the operations rely.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for operand in self.inputs.iter().chain(&self.outputs) {
            let bytes = operand.len.checked_mul(operand.ty.size_bytes());
            if bytes.is_none_or(|bytes| bytes > operand.buffer.size_bytes()) {
                let what = format!("claims {} elements in {} bytes", operand.len, operand.buffer.size_bytes());
                return Err(self.refuse(what));
            }
            operand.check_machine(self.device).map_err(|what| self.refuse(what))?;
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
            Call::Convolve(convolution) => {
                convolution.check(&self.inputs, &self.outputs).map_err(|what| self.refuse(what))
            }
            Call::Fill(_) => Ok(()),
        }
    }

    pub(crate) fn refuse(&self, what: String) -> Error {
        refuse(self.call.name(), self.site, what)
    }
}

#[cold]
pub(super) fn refuse(name: &str, site: Option<Site>, what: String) -> Error {
    let error = Error::new(ErrorKind::InvalidArgument, format!("the operands of `{name}` do not fit: {what}"));
    match site {
        Some(site) => error.at(site),
        None => error,
    }
}

impl Prefix {
    fn check(&self, inputs: &[Operand], outputs: &[Operand]) -> Result<(), String> {
        let ([input], [output]) = (inputs, outputs) else { return Err("there is one input and one output".into()) };
        if input.ty != output.ty || input.len != output.len {
            return Err("input and output have the same type and width".into());
        }
        if self.restart == 0 {
            return Err("a scan restarts after at least one element".into());
        }
        if !is_supported_prefix(self.op, input.ty) {
            return Err(format!("{:?} does not combine {}", self.op, input.ty));
        }
        Ok(())
    }
}

impl MatMul {
    pub(super) fn check(&self, inputs: &[Operand], outputs: &[Operand]) -> Result<(), String> {
        let ([a, b], [c]) = (inputs, outputs) else { return Err("there are two inputs and one output".into()) };
        if a.ty != c.ty || b.ty != c.ty || !is_supported_matmul(c.ty) {
            return Err(format!("matrices of {} and {} cannot be multiplied to one of {}", a.ty, b.ty, c.ty));
        }
        let lens = [a.len, b.len, c.len];
        if self.lens() != Some(lens) {
            return Err(format!("the operands have {lens:?} elements, but {self:?} takes {:?}", self.lens()));
        }
        Ok(())
    }
}

impl Convolution {
    fn check(&self, inputs: &[Operand], outputs: &[Operand]) -> Result<(), String> {
        let ([a, b], [c]) = (inputs, outputs) else { return Err("there are two inputs and one output".into()) };
        if a.ty != c.ty || b.ty != c.ty || !is_supported_convolution(c.ty) {
            return Err(format!("arrays of {} and {} cannot be convolved to one of {}", a.ty, b.ty, c.ty));
        }
        let lens = [a.len, b.len, c.len];
        if self.operand_lens() != Some(lens) || !self.has_positions() {
            let wanted = self.operand_lens();
            return Err(format!("the operands have {lens:?} elements, but {self:?} takes {wanted:?}"));
        }
        Ok(())
    }
}

impl Sort {
    fn check(&self, inputs: &[Operand], outputs: &[Operand]) -> Result<(), String> {
        let [input] = inputs else { return Err("there is one input".into()) };
        let types: &[Type] = match self.gives {
            Sorted::Values => &[input.ty],
            Sorted::Positions => &[Type::U32],
            Sorted::Both => &[input.ty, Type::U32],
        };
        if !outputs.iter().map(|output| output.ty).eq(types.iter().copied()) {
            return Err(format!("the outputs are {types:?}"));
        }
        if outputs.iter().any(|output| output.len != input.len) {
            return Err("input and outputs have the same width".into());
        }
        if self.row == 0 || u32::try_from(self.row.min(input.len)).is_err() {
            return Err("rows have at least one element, and fewer than 2^32".into());
        }
        Ok(())
    }

    /// The outputs: elements and positions.
    pub(super) fn targets<'a>(&self, outputs: &'a [Operand]) -> (Option<&'a Operand>, Option<&'a Operand>) {
        match self.gives {
            Sorted::Values => (outputs.first(), None),
            Sorted::Positions => (None, outputs.first()),
            Sorted::Both => (outputs.first(), outputs.get(1)),
        }
    }
}

/// Checks that an operand is a mask whose true elements can be listed on a device.
pub(crate) fn check_mask(mask: &Operand, device: Device, site: Option<Site>) -> Result<(), Error> {
    let name = "compress";
    if mask.ty != Type::Bool || mask.len > mask.buffer.size_bytes() || mask.len > u32::MAX as usize {
        return Err(refuse(name, site, format!("{} elements of type {} are not a mask", mask.len, mask.ty)));
    }
    mask.check_machine(device).map_err(|what| refuse(name, site, what))
}

/// The record of a call, or of a step of one, in the statistics: its device, name and line, the number of elements, and
/// the numbers of buffers that it reads and writes.
pub(super) fn record(
    (device, label, site): (Device, Label, Option<Site>),
    width: usize,
    (reads, writes): (usize, usize),
    time: Time,
) -> Record {
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
    let facts = Facts {
        label,
        site,
        hash: 0,
        device,
        ops: 0,
        params: (0..reads).map(|_| param(false)).chain((0..writes).map(|_| param(true))).collect(),
        reduces: false,
        has_loop: false,
        combining_scatters: 0,
        lanes_per_step: 1,
        code_bytes: 0,
        compile_time: Duration::ZERO,
        load_time: None,
    };
    let preparation = Preparation::none(CacheOutcome::Library);
    Record { facts: Arc::new(facts), label, site, width, preparation, time }
}
