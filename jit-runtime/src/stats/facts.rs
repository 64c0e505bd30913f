//! Facts about a compiled kernel that do not change.

use std::time::Duration;

use crate::config::Device;
use crate::ir::{ReduceOp, Type};
use crate::{Label, Site};

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
    pub(crate) lanes_per_step: usize,
    pub(crate) code_bytes: usize,
    pub(crate) compile_time: Duration,
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
    /// Whether it is accessed at indices that lanes compute.
    pub(crate) by_index: bool,
    pub(crate) reduction: Option<ReduceOp>,
    /// The operation by which reducing scatters combine into it, if there are no other accesses.
    pub(crate) combined: Option<ReduceOp>,
}
