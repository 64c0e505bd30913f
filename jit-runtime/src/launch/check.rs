//! Checks that the arguments of a launch match the kernel's parameters. Generated code has no such checks, so every
//! mismatch must be found here.

use super::{Argument, Ready};
use crate::ir::Type;
use crate::machine::{share_memory, uses_host_memory};
use crate::stats::ParamFacts;
use crate::{Error, ErrorKind};

/// The index of a lane has 32 bits.
const MAX_WIDTH: usize = 1 << 32;

/// Checks the number, kinds and sizes of the arguments, and that each written buffer is bound only once.
#[inline]
pub(super) fn arguments(ready: &Ready) -> Result<(), Error> {
    if ready.width > MAX_WIDTH {
        return Err(refuse(ready, format!("there are at most {MAX_WIDTH} lanes")));
    }
    if ready.reduce_block == Some(0) {
        return Err(refuse(ready, "blocks of reductions have at least one lane".into()));
    }
    let params = &ready.entry.facts.params;
    if params.len() != ready.arguments.len() {
        let message = format!("{} arguments for {} parameters", ready.arguments.len(), params.len());
        return Err(refuse(ready, message));
    }
    let takes_host_memory = uses_host_memory(ready.entry.facts.device);
    for (position, (param, argument)) in params.iter().zip(&ready.arguments).enumerate() {
        argument_of(param, argument, ready, takes_host_memory)
            .map_err(|what| refuse(ready, format!("argument {position} {what}")))?;
        if param.writes {
            bound_once(ready, position)?;
        }
    }
    let Some(checks) = &ready.checks else { return Ok(()) };
    checks.looked_at().try_for_each(|(position, ty, len)| holds(ready, position, ty, len))
}

/// Whether an argument is a buffer with this many elements that the kernel writes, for checks that read them.
fn holds(ready: &Ready, position: usize, ty: Type, len: usize) -> Result<(), Error> {
    let is_right = match (ready.entry.facts.params.get(position), ready.arguments.get(position)) {
        (Some(param), Some(Argument::Buffer(_, elements))) => param.ty == ty && *elements >= len,
        _ => false,
    };
    if is_right {
        return Ok(());
    }
    Err(refuse(ready, format!("argument {position} is not a buffer of {len} {ty} elements, which its checks read")))
}

#[inline]
fn argument_of(param: &ParamFacts, argument: &Argument, ready: &Ready, takes_host_memory: bool) -> Result<(), String> {
    let Argument::Buffer(buffer, elements) = argument else {
        return if param.is_buffer { Err("is a scalar where a buffer is expected".into()) } else { Ok(()) };
    };
    if !param.is_buffer {
        return Err("is a buffer where a scalar is expected".into());
    }
    let device = ready.entry.facts.device;
    if !(takes_host_memory && buffer.is_on_host() || share_memory(buffer.device(), device)) {
        return Err(format!("is in memory of `{}`, which code of `{device}` cannot access", buffer.device()));
    }
    let needed = if param.reduction.is_some() {
        ready.reduce_block.map_or(1, |block| ready.width.div_ceil(block))
    } else if param.by_lane {
        ready.width
    } else {
        0
    };
    if *elements < needed {
        return Err(format!("has {elements} elements where {needed} are accessed"));
    }
    let fits = elements.checked_mul(param.ty.size_bytes()).is_some_and(|bytes| bytes <= buffer.size_bytes());
    if fits { Ok(()) } else { Err(format!("claims {elements} elements in {} bytes", buffer.size_bytes())) }
}

#[inline]
fn bound_once(ready: &Ready, position: usize) -> Result<(), Error> {
    let Argument::Buffer(written, _) = &ready.arguments[position] else { return Ok(()) };
    let is_same =
        |argument: &Argument| matches!(argument, Argument::Buffer(buffer, _) if buffer.address() == written.address());
    let times = ready.arguments.iter().filter(|argument| is_same(argument)).count();
    if times == 1 {
        return Ok(());
    }
    Err(refuse(ready, format!("argument {position} is written and bound to {times} parameters")))
}

#[cold]
fn refuse(ready: &Ready, what: String) -> Error {
    let message = format!("the launch of `{}` over {} lanes does not fit its kernel: {what}", ready.label, ready.width);
    let error = Error::new(ErrorKind::InvalidArgument, message);
    match ready.site {
        Some(site) => error.at(site),
        None => error,
    }
}
