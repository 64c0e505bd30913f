//! Programs on the planned storage, step by step and in tiles.

use smallvec::smallvec;

use super::super::bound::Code;
use super::super::plan::Blocks;
use super::super::*;
use super::program::{INPUTS, Instruction, Program, inputs, next_iteration};
use super::work::{Copied, LANES, Storage, Work, entry};

/// A program on the planned storage.
struct Planned<'a> {
    program: &'a Program,
    recording: Recording,
    blocks: Blocks,
    memory: Vec<Storage>,
    /// The storage of each slot; none if it needs none.
    of_slot: Vec<Option<usize>>,
}

impl<'a> Planned<'a> {
    fn new(program: &'a Program, are_large: bool) -> Planned<'a> {
        let recording = program.recording();
        // Large results may lend their memory.
        let scale = if are_large { 1 << 20 } else { 1 };
        let bytes_of = |slot: usize| scale * LANES * program.types[slot].size_bytes();
        let blocks = recording.blocks(bytes_of);
        for (slot, block) in blocks.of_slot.iter().enumerate() {
            let Some(block) = block.map(|block| block as usize) else { continue };
            assert!(blocks.bytes[block] >= bytes_of(slot), "slot {slot} fits into its block: {program:?}");
            let is_result = blocks.result[block] == Some(SlotId(slot as u32));
            assert!(!is_result || blocks.bytes[block] == bytes_of(slot), "a result has its size: {program:?}");
        }
        let mut planned = Planned { program, recording, blocks, memory: inputs().into(), of_slot: Vec::new() };
        planned.give_memory();
        planned
    }

    /// As a replay finds memory for the slots.
    fn give_memory(&mut self) {
        let first = self.memory.len();
        self.memory.resize(first + self.blocks.bytes.len(), [0xdd; LANES * 4]);
        for slot in 0..self.program.types.len() {
            let donated = self.donated().find(|copy| copy.to.index() == slot);
            let storage = match (donated, &self.recording.slots[slot].origin, self.blocks.of_slot[slot]) {
                (Some(copy), ..) => Some(copy.input as usize),
                (_, Origin::Input(number), _) => Some(*number as usize),
                _ if !self.recording.is_wanted(slot) => None,
                (.., Some(block)) => Some(first + block as usize),
                _ => {
                    self.memory.push([0xee; LANES * 4]);
                    Some(self.memory.len() - 1)
                }
            };
            self.of_slot.push(storage);
        }
    }

    fn donated(&self) -> impl Iterator<Item = &DonatedCopy> {
        self.recording.yields.iter().filter(|copy| self.program.donated[copy.input as usize])
    }

    fn storage(&self, slots: &[u32]) -> Vec<usize> {
        slots.iter().map(|&slot| self.of_slot[slot as usize].expect("a slot that is used has storage")).collect()
    }

    fn run_lane(&mut self, lane: usize, work: Work, slots: &[u32]) {
        let slots = self.storage(slots);
        // A copy of a donated input is not made.
        if work != Copied || slots[0] != slots[1] {
            work.run(lane, &slots, &mut self.memory);
        }
    }

    /// Runs step after step, as launches do.
    fn run_steps(&mut self) {
        let (mut next, mut iterations, mut spares) = (0, Vec::new(), Vec::new());
        while let Some(instruction) = self.program.steps.get(next) {
            next += 1;
            match instruction {
                Instruction::Kernel(work, slots) => (0..LANES).for_each(|lane| self.run_lane(lane, *work, slots)),
                Instruction::Loop(carried, length) => {
                    let mut spare = Vec::new();
                    for carried in carried {
                        spare.push(self.of_slot[carried.param.index()]);
                        self.of_slot[carried.param.index()] = self.of_slot[carried.init.index()];
                    }
                    if self.program.iterations == 0 {
                        next += *length as usize + 1;
                        for (carried, spare) in carried.iter().zip(spare) {
                            let own: usize = spare.expect("a parameter has storage");
                            let before = self.of_slot[carried.param.index()].expect("so has its first value");
                            self.memory[own] = self.memory[before];
                            self.of_slot[carried.param.index()] = Some(own);
                        }
                    } else {
                        iterations.push(0);
                        spares.push(spare);
                    }
                }
                Instruction::Repeat(carried, length) => {
                    let iteration = next_iteration(&mut iterations);
                    let spare = spares.last().expect("an iteration ends in its loop");
                    for (number, carried) in carried.iter().enumerate() {
                        let (param, out) = (carried.param.index(), carried.out.index());
                        let made = self.of_slot[out];
                        let before = std::mem::replace(&mut self.of_slot[param], made);
                        self.of_slot[out] = if iteration == 1 { spare[number] } else { before };
                    }
                    if iteration < self.program.iterations {
                        next -= *length as usize + 1;
                    } else {
                        iterations.pop();
                        spares.pop();
                    }
                }
            }
        }
    }

    /// Runs all kernels of a tile on one lane after another.
    fn run_tiles(&mut self, is_reversed: bool) {
        let code = |instruction: &Instruction| match instruction {
            Instruction::Kernel(work, _) => Some(Code { entry: entry(*work), scalars: smallvec![], raw: smallvec![] }),
            _ => None,
        };
        let codes: Vec<Option<Code>> = self.program.steps.iter().map(code).collect();
        let tiles = self.recording.tiles(&[0, LANES], &codes, &self.blocks);
        let is_elided = |step: usize| self.donated().any(|copy| copy.step as usize == step);
        let positions: Vec<usize> = (0..tiles.len()).filter(|&step| !is_elided(step)).collect();
        for run in positions.chunk_by(|&a, &b| tiles[a].is_some() && tiles[a] == tiles[b]) {
            let run_all = |planned: &mut Self, lane: usize| {
                for &step in run {
                    let Instruction::Kernel(work, slots) = &planned.program.steps[step] else { unreachable!() };
                    planned.run_lane(lane, *work, slots);
                }
            };
            let is_tiled = tiles[run[0]].is_some();
            assert!(is_tiled || run.len() == 1);
            for lane in 0..LANES {
                run_all(self, if is_reversed { LANES - 1 - lane } else { lane });
            }
        }
    }

    fn check(&self, expected: &[Storage], how: &str) {
        let first = INPUTS + self.blocks.bytes.len();
        for (&slot, expected) in self.program.outputs.iter().zip(expected) {
            let storage = self.of_slot[slot as usize].expect("an output has storage");
            let found = self.program.elements(slot as usize, &self.memory[storage]);
            assert_eq!(found, *expected, "output {slot}, {how}, of {:#?}", self.program);
            let is_retained = (INPUTS..first).contains(&storage) && self.blocks.result[storage - INPUTS].is_none();
            assert!(!is_retained, "output {slot} is in memory of the next replay, {how}, of {:#?}", self.program);
            let is_foreign = storage < INPUTS && !self.program.donated[storage] && slot as usize >= INPUTS;
            assert!(!is_foreign, "output {slot} is in an input, {how}, of {:#?}", self.program);
            let same = self.program.outputs.iter().filter(|&&other| self.of_slot[other as usize] == Some(storage));
            assert!(same.into_iter().all(|&other| other == slot), "outputs share storage: {:#?}", self.program);
        }
        for (number, input) in inputs().iter().enumerate().filter(|&(number, _)| !self.program.donated[number]) {
            assert_eq!(self.memory[number], *input, "input {number} is written, {how}, of {:#?}", self.program);
        }
    }
}

pub(super) fn check(program: &Program) {
    let expected = program.run();
    for are_large in [false, true] {
        let mut planned = Planned::new(program, are_large);
        planned.run_steps();
        planned.check(&expected, "step by step");
        let has_loop = program.steps.iter().any(|step| !matches!(step, Instruction::Kernel(..)));
        // Chains have no loops, and results lend them no memory.
        if !has_loop && !are_large {
            for is_reversed in [false, true] {
                let mut planned = Planned::new(program, are_large);
                planned.run_tiles(is_reversed);
                planned.check(&expected, "in tiles");
            }
        }
    }
}
