//! Programs of kernels and loops: as recordings, and run with storage of its own for each slot.

use super::super::*;
use super::work::{LANES, Storage, Work, entry};

pub(super) const INPUTS: usize = 2;

/// A program of kernels and loops.
#[derive(Clone, Default, Debug)]
pub(super) struct Program {
    pub(super) types: Vec<Type>,
    pub(super) steps: Vec<Instruction>,
    pub(super) outputs: Vec<u32>,
    pub(super) donated: [bool; INPUTS],
    /// The iterations that each loop makes.
    pub(super) iterations: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// The slots that are read, then the one that is written.
    Kernel(Work, Vec<u32>),
    Loop(Vec<Carried>, u32),
    Repeat(Vec<Carried>, u32),
}

impl Program {
    pub(super) fn new() -> Program {
        Program { types: vec![Type::U32; INPUTS], ..Program::default() }
    }

    pub(super) fn slot(&mut self, ty: Type) -> u32 {
        self.types.push(ty);
        self.types.len() as u32 - 1
    }

    pub(super) fn recording(&self) -> Recording {
        let slot = |(number, &ty): (usize, &Type)| {
            let origin = if number < INPUTS { Origin::Input(number as u32) } else { Origin::Step };
            Slot { ty, len: SizeId(1), origin }
        };
        let slots: Vec<Slot> = self.types.iter().enumerate().map(slot).collect();
        let steps: Vec<Step> = self.steps.iter().map(Instruction::step).collect();
        let outputs: Vec<SlotId> = self.outputs.iter().copied().map(SlotId).collect();
        let is_output: Vec<bool> = (0..slots.len()).map(|slot| self.outputs.contains(&(slot as u32))).collect();
        let (plan, is_exchanged) = plan::lifetimes(&slots, &steps, &is_output);
        let mut sizes = Sizes::new();
        sizes.push(SizeExpr::Constant(LANES));
        Recording {
            device: Device::Interpreter,
            yields: plan::yields(&slots, &steps, &plan, &outputs),
            sizes,
            slots,
            steps,
            outputs,
            plan,
            is_output,
            is_exchanged,
            counts: false,
            is_tentative: false,
            input_sizes: 0,
            inputs: INPUTS as u32,
            scalars: 0,
            bound: Mutex::default(),
            states: kept::States::new(),
            replays: AtomicU64::new(0),
        }
    }

    /// The outputs, with storage of its own for each slot.
    pub(super) fn run(&self) -> Vec<Storage> {
        let mut memory = vec![[0xcc; LANES * 4]; self.types.len()];
        memory[..INPUTS].copy_from_slice(&inputs());
        let mut next = 0;
        // Of the open loops.
        let mut iterations = Vec::new();
        while let Some(instruction) = self.steps.get(next) {
            next += 1;
            match instruction {
                Instruction::Kernel(work, slots) => {
                    let slots: Vec<usize> = slots.iter().map(|&slot| slot as usize).collect();
                    (0..LANES).for_each(|lane| work.run(lane, &slots, &mut memory));
                }
                Instruction::Loop(carried, length) => {
                    let before: Vec<Storage> = carried.iter().map(|carried| memory[carried.init.index()]).collect();
                    carried.iter().zip(before).for_each(|(carried, before)| memory[carried.param.index()] = before);
                    if self.iterations == 0 {
                        next += *length as usize + 1;
                    } else {
                        iterations.push(0);
                    }
                }
                Instruction::Repeat(carried, length) => {
                    let iteration = next_iteration(&mut iterations);
                    let made: Vec<Storage> = carried.iter().map(|carried| memory[carried.out.index()]).collect();
                    carried.iter().zip(made).for_each(|(carried, made)| memory[carried.param.index()] = made);
                    if iteration < self.iterations {
                        next -= *length as usize + 1;
                    } else {
                        iterations.pop();
                    }
                }
            }
        }
        self.outputs.iter().map(|&slot| self.elements(slot as usize, &memory[slot as usize])).collect()
    }

    /// The storage of a slot as far as its elements reach.
    pub(super) fn elements(&self, slot: usize, storage: &Storage) -> Storage {
        let mut elements = [0; LANES * 4];
        let bytes = LANES * self.types[slot].size_bytes();
        elements[..bytes].copy_from_slice(&storage[..bytes]);
        elements
    }
}

impl Instruction {
    fn step(&self) -> Step {
        match self {
            Instruction::Kernel(work, slots) => {
                let arguments: SmallVec<[Bind; 8]> = slots.iter().map(|&slot| Bind::Slot(SlotId(slot))).collect();
                Step::Kernel(KernelStep {
                    entry: entry(*work),
                    template: None,
                    lanes: SizeId(1),
                    reduce_block: None,
                    copy: recorder::copied(&entry(*work).kernel, &arguments),
                    arguments,
                    label: "test".into(),
                    site: None,
                    checks: None,
                    shipped: Vec::new(),
                })
            }
            Instruction::Loop(carried, length) => {
                let (carried, length) = (carried.as_slice().into(), *length);
                Step::Loop(LoopStep { carried, test: 0, length, limit: None, site: Site::here() })
            }
            Instruction::Repeat(carried, length) => {
                let slots = carried.iter().flat_map(|carried| [carried.param, carried.out]).collect();
                Step::Repeat(RepeatStep { length: *length, slots })
            }
        }
    }
}

/// Counts an iteration of the innermost loop.
pub(super) fn next_iteration(iterations: &mut [usize]) -> usize {
    let innermost = iterations.last_mut().expect("an iteration ends in its loop");
    *innermost += 1;
    *innermost
}

pub(super) fn inputs() -> [Storage; INPUTS] {
    let input = |number: usize| std::array::from_fn(|byte| (17 * byte + 101 * number + 3) as u8);
    std::array::from_fn(input)
}
