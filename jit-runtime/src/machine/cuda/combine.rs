//! Reductions over several blocks of threads: each block writes its result to an element of a list, and further kernels
//! combine neighbours in pairs, as [`crate::ir::scalar::reduce_in_pairs`] does.
//!
//! One lane combines sixteen neighbours, which is four rounds of pairs. Where a list ends, the last one waits for the
//! next round, so a part of sixteen is combined as it would be alone.

use std::sync::Arc;

use cudarc::driver::sys;
use rustc_hash::FxHashMap;

use super::Cuda;
use super::memory::Block;
use crate::Error;
use crate::backend::RawArgument;
use crate::backend::cuda::Grid;
use crate::backend::cuda::code::Code;
use crate::backend::cuda::driver::Failed;
use crate::cache::Entry;
use crate::config::Device;
use crate::ir::{Access, BinaryOp, Builder, CompareOp, Kernel, REDUCE_CHUNK, ReduceOp, Type, Value, passes};
use crate::memory::Remote;
use crate::sync::Mutex;

/// The neighbours that one lane combines.
const GROUP: u32 = 16;

/// Kernels that combine, by operation and type.
#[derive(Default)]
pub(super) struct Combiners(Mutex<FxHashMap<(ReduceOp, Type), Arc<Code>>>);

/// The results of the blocks of threads for one parameter, which are to be combined.
pub(super) struct Parts {
    code: Arc<Code>,
    rounds: Vec<Round>,
    /// Memory of all rounds but the last one.
    _memory: Vec<Block>,
}

/// One launch that combines.
struct Round {
    shape: (u32, u32),
    parameters: Vec<u8>,
}

/// Lists of one length that are combined at once. The last one may be shorter.
#[derive(Clone, Copy)]
struct Lists {
    len: u32,
    total: u32,
}

impl Lists {
    /// The lists of the next round.
    fn next(self) -> Lists {
        let (whole, rest) = (self.total / self.len, self.total % self.len);
        let len = self.len.div_ceil(GROUP);
        Lists { len, total: whole * len + rest.div_ceil(GROUP) }
    }
}

impl Parts {
    /// The number of chunks of a launch, which is its number of blocks of threads.
    pub(super) fn chunks(lanes: u64, lanes_per_reduction: u64) -> u64 {
        let whole = lanes / lanes_per_reduction * lanes_per_reduction.div_ceil(REDUCE_CHUNK as u64);
        whole + (lanes % lanes_per_reduction).div_ceil(REDUCE_CHUNK as u64)
    }

    /// For each reduction of a launch that several blocks of threads compute: where these write their results, which
    /// becomes the argument of the kernel, and how they are combined into the buffer of the launch.
    pub(super) fn of_launch(
        machine: &Cuda,
        entry: &Entry,
        width: usize,
        per_reduction: u32,
        arguments: &mut [RawArgument],
    ) -> Result<Vec<Parts>, Error> {
        let len = u64::from(per_reduction).min(width as u64).div_ceil(REDUCE_CHUNK as u64) as u32;
        let total = Parts::chunks(width as u64, per_reduction.into()) as u32;
        if len <= 1 {
            return Ok(Vec::new());
        }
        let reductions = entry.facts.params.iter().zip(arguments).filter_map(|(param, argument)| {
            param.reduction.map(|op| Parts::of(machine, op, param.ty, Lists { len, total }, argument))
        });
        reductions.collect()
    }

    fn of(
        machine: &Cuda,
        op: ReduceOp,
        ty: Type,
        mut lists: Lists,
        argument: &mut RawArgument,
    ) -> Result<Parts, Error> {
        let (code, result) = (machine.combiners.get(machine.gpu.device, op, ty)?, *argument);
        let first = machine.block(lists.total as usize * ty.size_bytes())?;
        *argument = raw(&first, lists.total);
        let (mut source, mut memory, mut rounds) = (*argument, vec![first], Vec::new());
        while lists.len > 1 {
            let next = lists.next();
            let target = if next.len == 1 {
                result
            } else {
                memory.push(machine.block(next.total as usize * ty.size_bytes())?);
                raw(&memory[memory.len() - 1], next.total)
            };
            rounds.push(Round::of(&code, lists, next, source, target));
            (source, lists) = (target, next);
        }
        Ok(Parts { code, rounds, _memory: memory })
    }

    /// Queues all rounds. The context is current.
    pub(super) fn queue(&self, stream: sys::CUstream) -> Result<(), Failed> {
        self.rounds.iter().try_for_each(|round| {
            // SAFETY: the parameters were packed for this code; the memory is that of the parts and the launch.
            unsafe { self.code.module.launch(round.shape, &round.parameters, stream) }
        })
    }
}

fn raw(block: &Block, elements: u32) -> RawArgument {
    RawArgument { word: block.address(), length: elements.into() }
}

impl Round {
    fn of(code: &Code, lists: Lists, next: Lists, source: RawArgument, target: RawArgument) -> Round {
        let scalar = |word: u32| RawArgument { word: word.into(), length: 0 };
        let grid = Grid { first_lane: 0, end_lane: next.total, lanes_per_reduction: 1, scratch: 0 };
        let arguments = [source, target, scalar(lists.len), scalar(next.len), scalar(lists.total)];
        let (blocks, threads) = code.module.occupancy;
        let blocks = next.total.div_ceil(threads).min(blocks.max(1));
        Round { shape: (blocks, threads), parameters: code.layout.pack(&grid, &arguments) }
    }
}

impl Combiners {
    /// The code that combines by an operation. The first call compiles it.
    fn get(&self, device: Device, op: ReduceOp, ty: Type) -> Result<Arc<Code>, Error> {
        if let Some(code) = self.0.lock().get(&(op, ty)) {
            return Ok(Arc::clone(code));
        }
        let Device::Cuda(number) = device else { unreachable!("{device} is a GPU") };
        let mut kernel = kernel(op, ty);
        passes::optimise(&mut kernel);
        let code = Arc::new(Code::compile(number, &kernel)?);
        Ok(Arc::clone(self.0.lock().entry((op, ty)).or_insert(code)))
    }
}

/// The kernel: its parameters are the list, the list of the next round, the length of each list in both, and the number
/// of all elements.
fn kernel(op: ReduceOp, ty: Type) -> Kernel {
    let mut b = Builder::new();
    let (source, target) = (b.buffer(ty, Access::Read), b.buffer(ty, Access::Write));
    let [len, next_len, total] = [(); 3].map(|()| {
        let param = b.scalar_param(Type::U32);
        b.scalar(param)
    });
    let lane = b.lane_index();
    let (list, place) = (b.binary(BinaryOp::Div, lane, next_len), b.binary(BinaryOp::Rem, lane, next_len));
    let group = b.constant(Type::U32, GROUP.into());
    let (begin, first) = (b.binary(BinaryOp::Mul, list, len), b.binary(BinaryOp::Mul, place, group));
    let mut parts: Vec<(Value, Value)> = (0..GROUP)
        .map(|number| {
            let number = b.constant(Type::U32, number.into());
            let position = b.binary(BinaryOp::Add, first, number);
            let index = b.binary(BinaryOp::Add, begin, position);
            let (in_list, exists) = (b.compare(CompareOp::Lt, position, len), b.compare(CompareOp::Lt, index, total));
            let is_there = b.binary(BinaryOp::And, in_list, exists);
            (b.gather(source, index, Some(is_there)), is_there)
        })
        .collect();
    while parts.len() > 1 {
        let pairs = parts.as_chunks::<2>().0.iter().map(|&[(left, has_left), (right, has_right)]| {
            let both = b.binary(op.as_binary(), left, right);
            (b.select(has_right, both, left), has_left)
        });
        parts = pairs.collect();
    }
    b.store(target, parts[0].0);
    b.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Executable, interpreter};
    use crate::ir::scalar;
    use crate::ir::verify;

    /// Runs all rounds on the interpreter, on `f32` sums, which tell the order.
    fn combined(values: &[f32], mut lists: Lists) -> Vec<f32> {
        let kernel = kernel(ReduceOp::Add, Type::F32);
        verify(&kernel).unwrap();
        let executable = interpreter::prepare(kernel);
        let mut source = [values, &[0.0; 16]].concat();
        while lists.len > 1 {
            let next = lists.next();
            let mut target = vec![0_f32; next.total as usize + 16];
            let word = |word: u32| RawArgument { word: word.into(), length: 0 };
            let arguments = [
                RawArgument { word: source.as_mut_ptr() as u64, length: lists.total.into() },
                RawArgument { word: target.as_mut_ptr() as u64, length: next.total.into() },
                word(lists.len),
                word(next.len),
                word(lists.total),
            ];
            // SAFETY: the lists have the stated lengths, and are padded.
            unsafe { executable.run(0..next.total.into(), &arguments) };
            (source, lists) = (target, next);
        }
        source[..lists.total as usize].to_vec()
    }

    #[test]
    fn rounds_of_sixteen_are_rounds_of_pairs() {
        for (len, total) in [(2, 2), (3, 3), (16, 16), (17, 17), (31, 31), (257, 257), (5, 13), (40, 100), (300, 601)] {
            let values: Vec<f32> = (0..total).map(|number| 1.0 / (number as f32 + 0.7)).collect();
            let expected: Vec<f32> = values
                .chunks(len as usize)
                .map(|list| {
                    let mut parts: Vec<u64> = list.iter().map(|value| value.to_bits().into()).collect();
                    f32::from_bits(scalar::reduce_in_pairs(ReduceOp::Add, Type::F32, &mut parts) as u32)
                })
                .collect();
            assert_eq!(combined(&values, Lists { len, total }), expected, "{len} of {total}");
        }
    }
}
