//! Facts about a compiled kernel that do not change.

use std::time::Duration;

use crate::config::Device;
use crate::ir::{ReduceOp, Type};
use crate::{Label, Site};

use super::events::Traffic;

/// Facts about a cached kernel that do not change; statistics retain them longer than the code.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) label: Label,
    pub(crate) site: Option<Site>,
    pub(crate) hash: u64,
    pub(crate) device: Device,
    pub(crate) ops: usize,
    pub(crate) params: Vec<ParamFacts>,
    /// Whether any parameter receives a reduction.
    pub(crate) reduces: bool,
    pub(crate) has_loop: bool,
    /// [`Kernel::combining_scatters`](crate::ir::Kernel::combining_scatters).
    pub(crate) combining_scatters: usize,
    pub(crate) lanes_per_step: usize,
    pub(crate) code_bytes: usize,
    pub(crate) compile_time: Duration,
    /// The time that reading the code from disk took; none if it was compiled.
    pub(crate) load_time: Option<Duration>,
}

/// How a kernel accesses one parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParamFacts {
    pub(crate) ty: Type,
    pub(crate) is_buffer: bool,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// Whether it is accessed at the lane's own index, so that it must be as long as the launch is wide.
    pub(crate) by_lane: bool,
    /// The number of accesses at indices that lanes compute, at most 255.
    pub(crate) indexed: u8,
    pub(crate) reduction: Option<ReduceOp>,
    /// The operation by which reducing scatters combine into it, if there are no other accesses.
    pub(crate) combined: Option<ReduceOp>,
}

impl Facts {
    /// The bytes of arrays that a launch reads and writes, given the number of elements of each parameter. Each element
    /// counts once. An array at computed indices counts with one element for each access of each lane, and not more
    /// than the whole array; if the kernel has a loop, with the whole array.
    pub(crate) fn traffic(&self, width: usize, elements: impl Iterator<Item = usize>) -> Traffic {
        let mut traffic = Traffic::default();
        for (param, elements) in self.params.iter().zip(elements).filter(|(param, _)| param.is_buffer) {
            let accessed = match (param.by_lane, param.indexed) {
                (_, 1..) if self.has_loop => elements,
                (by_lane, indexed) if by_lane || indexed > 0 => {
                    width.saturating_mul(usize::from(indexed) + usize::from(by_lane)).min(elements)
                }
                _ => elements,
            };
            let bytes = accessed.saturating_mul(param.ty.size_bytes());
            traffic.read += if param.reads { bytes } else { 0 };
            traffic.written += if param.writes { bytes } else { 0 };
        }
        traffic
    }
}
