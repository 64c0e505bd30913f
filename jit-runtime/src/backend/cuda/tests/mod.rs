//! Compares emitted code with the interpreter of the IR, bit for bit, by an interpreter of PTX; and assembles it.

mod kernels;
mod launches;
mod library;
mod operations;
mod ptxas;
mod random;
mod vectors;

use std::ops::Range;

use super::*;
use crate::backend::{Executable, RawArgument, interpreter};
use crate::cancel::Poll;
use crate::ir::random::{Case, Rng};
use crate::ir::{MAX_REDUCE_CHUNK, Param, Type, passes, scalar};
use ptx_interpreter::{AtomicSums, Entry, Global, Launch};

/// Targets with other instructions: before and after conversions to `bf16`.
const TARGETS: [Target; 2] = [Target { capability: 70, version: (6, 4) }, Target { capability: 90, version: (8, 0) }];

/// An emitted kernel that the interpreter of PTX runs. The shape of the grid is random, unless the kernel determines
/// it.
struct Emulated<'a> {
    kernel: &'a Kernel,
    entry: Entry,
    layout: Layout,
    seed: u64,
}

impl<'a> Emulated<'a> {
    fn new(kernel: &'a Kernel, target: Target, seed: u64) -> Result<Self, String> {
        Self::with_sums(AtomicSums::Exact, kernel, target, seed)
    }

    fn with_sums(sums: AtomicSums, kernel: &'a Kernel, target: Target, seed: u64) -> Result<Self, String> {
        let mut module = Module::new(target, Comments::Instructions);
        module.add("kernel", kernel);
        let text = module.to_string();
        let entry =
            ptx_interpreter::parse(&text, sums).and_then(|mut entries| entries.pop().ok_or("no entry".to_owned()));
        let entry = entry.map_err(|reason| format!("{reason} in\n{text}"))?;
        Ok(Emulated { kernel, entry, layout: Layout::of(kernel), seed })
    }

    /// The memory that a launch may access.
    fn memory(&self, arguments: &[RawArgument]) -> Global {
        let mut global = Global::default();
        for (argument, param) in arguments.iter().zip(&self.kernel.params) {
            if matches!(param, Param::Buffer { .. }) {
                // SAFETY: the caller of `Executable::run` guarantees that buffers have their length.
                unsafe { global.add(argument.word, argument.length * param.ty().size_bytes() as u64) };
            }
        }
        global
    }

    /// Runs a launch over lanes with reductions over a number of them.
    fn launch(&self, lanes: Range<u64>, reduced: Reduced, arguments: &[RawArgument]) -> Result<(), String> {
        let mut rng = Rng::new(self.seed);
        let count = lanes.end - lanes.start;
        let (blocks, threads) = match threads_per_block(self.kernel) {
            Some(threads) => (reduced.chunks(count), threads),
            // Some thousand lanes of one thread would take long.
            None if count > 2000 => (1 + rng.below(4) as u32, rng.choose(&[64, 96, 256])),
            None => (1 + rng.below(4) as u32, rng.choose(&[1, 32, 64, 96, 256])),
        };
        let mut global = self.memory(arguments);
        let mut scratch = vec![0x5a5a_5a5a_5a5a_5a5au64; self.scratch_bytes(blocks, threads).div_ceil(8)];
        // SAFETY: the list lives to the end of this function.
        unsafe { global.add(scratch.as_mut_ptr() as u64, 8 * scratch.len() as u64) };
        let grid = Grid {
            first_lane: lanes.start as u32,
            end_lane: lanes.end as u32,
            lanes_per_reduction: reduced.lanes as u32,
            lanes_per_chunk: reduced.lanes_per_chunk as u32,
            scratch: scratch.as_mut_ptr() as u64,
        };
        let mut parameters = self.layout.pack(&grid, arguments);
        let block = parameters.clone();
        if !self.layout.is_by_value() {
            // SAFETY: the copy lives to the end of this function, and is only read.
            unsafe { global.add(block.as_ptr() as u64, block.len() as u64) };
            parameters = (block.as_ptr() as u64).to_le_bytes().to_vec();
        }
        let entry = &self.entry;
        ptx_interpreter::launch(&Launch {
            entry,
            blocks,
            threads,
            parameters: &parameters,
            global: &global,
            seed: rng.bits(),
        })
    }

    fn scratch_bytes(&self, blocks: u32, threads: u32) -> usize {
        (u64::from(blocks) * u64::from(threads) * self.layout.scratch_bytes_per_thread()) as usize
    }
}

/// How a launch reduces its lanes.
#[derive(Clone, Copy)]
struct Reduced {
    /// The lanes that are combined to one result.
    lanes: u64,
    lanes_per_chunk: u64,
}

impl Reduced {
    /// As one chunk, if there are no more lanes than one may have.
    fn in_one_chunk(lanes: u64) -> Reduced {
        Reduced { lanes: lanes.max(1), lanes_per_chunk: MAX_REDUCE_CHUNK as u64 }
    }

    /// The number of chunks of a launch, which is its number of blocks of threads.
    fn chunks(self, lanes: u64) -> u32 {
        let whole = lanes / self.lanes * self.lanes.div_ceil(self.lanes_per_chunk);
        (whole + (lanes % self.lanes).div_ceil(self.lanes_per_chunk)) as u32
    }
}

impl Executable for Emulated<'_> {
    unsafe fn run_polled(&self, lanes: Range<u64>, arguments: &[RawArgument], _poll: Poll<'_>) {
        let count = lanes.end - lanes.start;
        if let Err(reason) = self.launch(lanes, Reduced::in_one_chunk(count), arguments) {
            panic!("seed {}: {reason}", self.seed);
        }
    }

    fn lanes_per_step(&self) -> usize {
        1
    }

    fn code_bytes(&self) -> usize {
        0
    }
}

/// The text of a kernel for people: what the file tests compare.
pub(crate) fn text(kernel: &Kernel) -> String {
    let mut module = Module::new(TARGETS[1], Comments::Instructions);
    let mut kernel = kernel.clone();
    passes::expand_math::run(&mut kernel);
    module.add("kernel", &kernel);
    module.to_string()
}

/// The kernel as a backend sees it. Half of the cases retain the code that the passes would remove.
fn prepared(case: &Case) -> Kernel {
    let mut kernel = case.kernel.clone();
    if case.seed.is_multiple_of(2) {
        passes::expand_math::run(&mut kernel);
    } else {
        passes::optimise(&mut kernel);
    }
    kernel
}

/// Runs a case for one target, and compares it with the interpreter.
fn check(case: &Case, target: Target) -> Result<(), String> {
    let expected = case.run(&interpreter::prepare(case.kernel.clone()), None);
    let kernel = prepared(case);
    let actual = case.run(&Emulated::new(&kernel, target, case.seed)?, None);
    case.compare(&expected, &actual).map_err(|difference| format!("for {target:?}: {difference}"))
}
