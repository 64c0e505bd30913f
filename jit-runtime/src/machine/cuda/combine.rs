//! Reductions over several blocks of threads: each block writes its result to an element of a list, and a further
//! kernel combines neighbours in pairs, as [`crate::ir::scalar::reduce_in_pairs`] does.

use cudarc::driver::sys;

use super::Cuda;
use super::grids::Lanes;
use super::kernels::Prepared;
use super::memory::Block;
use crate::Error;
use crate::backend::RawArgument;
use crate::backend::cuda::driver::{Failed, Node};
use crate::backend::cuda::library::Plan;
use crate::cache::Entry;
use crate::ir::{ReduceOp, Type};
use crate::memory::Remote;

/// The results of the blocks of threads for one parameter, which are to be combined.
pub(super) struct Parts {
    prepared: Prepared,
    /// The lists.
    _memory: Block,
}

/// Lists of one length that are combined at once. The last one may be shorter.
#[derive(Clone, Copy)]
struct Lists {
    len: usize,
    total: usize,
}

impl Parts {
    /// The number of chunks of a launch, which is its number of blocks of threads.
    pub(super) fn chunks(lanes: u64, lanes_per_reduction: u64, lanes_per_chunk: u64) -> u64 {
        let whole = lanes / lanes_per_reduction * lanes_per_reduction.div_ceil(lanes_per_chunk);
        whole + (lanes % lanes_per_reduction).div_ceil(lanes_per_chunk)
    }

    /// For each reduction of a launch that several blocks of threads compute: where these write their results, which
    /// becomes the argument of the kernel, and how they are combined into the buffer of the launch.
    pub(super) fn of_launch(
        machine: &Cuda,
        entry: &Entry,
        lanes: Lanes,
        arguments: &mut [RawArgument],
    ) -> Result<Vec<Parts>, Error> {
        let Lanes { width, per_reduction, per_chunk, .. } = lanes;
        let len = per_reduction.min(width).div_ceil(per_chunk) as usize;
        let total = Parts::chunks(width.into(), per_reduction.into(), per_chunk.into()) as usize;
        if len <= 1 {
            return Ok(Vec::new());
        }
        let reductions = entry.facts.params.iter().zip(arguments).filter_map(|(param, argument)| {
            param.reduction.map(|op| Parts::of(machine, op, param.ty, Lists { len, total }, argument))
        });
        reductions.collect()
    }

    fn of(machine: &Cuda, op: ReduceOp, ty: Type, lists: Lists, argument: &mut RawArgument) -> Result<Parts, Error> {
        let memory = machine.block(lists.total * ty.size_bytes())?;
        let plan = Plan::combine(op, ty, lists.total, lists.len);
        let prepared = Prepared::of(machine, &plan, &[], &[memory.address(), argument.word])?;
        *argument = RawArgument { word: memory.address(), length: lists.total as u64 };
        Ok(Parts { prepared, _memory: memory })
    }

    /// Queues the launches that combine. The context is current.
    pub(super) fn queue(&self, stream: sys::CUstream) -> Result<(), Failed> {
        self.prepared.queue(stream)
    }

    /// The launches that combine.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        self.prepared.nodes()
    }
}
