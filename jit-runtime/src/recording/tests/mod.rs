//! Storage and tiles of recordings against their definition: small programs run with storage of its own for each slot,
//! and with the planned storage, in the order of the tiles. Every program of three steps, and random longer ones with
//! loops.
//!
//! Nothing is launched: lanes are run here, one by one, on bytes. The kernels only tell the analyses what they access.

mod planned;
mod program;
mod work;

use super::{Carried, SlotId};
use crate::ir::Type;
use crate::ir::random::Rng;
use planned::check;
use program::{INPUTS, Instruction, Program};
use work::{Add, Copied, Reverse, WORK, Work};

/// The kernels that may come next: their work, and the slots that they use, of which a new one is not yet there.
fn next_steps(program: &Program) -> Vec<(Work, Vec<u32>)> {
    let mut steps = Vec::new();
    let of = |ty: Type| (0..program.types.len() as u32).filter(move |&slot| program.types[slot as usize] == ty);
    let new = program.types.len() as u32;
    for work in WORK {
        // Inputs are not written.
        let targets: Vec<u32> = if work.is_in_place() {
            of(work.to()).filter(|&slot| slot as usize >= INPUTS).collect()
        } else {
            vec![new]
        };
        for target in targets {
            match work.takes() {
                0 => steps.push((work, vec![target])),
                1 => steps.extend(of(work.from()).filter(|&a| a != target).map(|a| (work, vec![a, target]))),
                _ => {
                    steps.extend(of(work.from()).flat_map(|a| of(work.from()).map(move |b| (work, vec![a, b, target]))))
                }
            }
        }
    }
    steps
}

fn with_step(program: &Program, (work, slots): &(Work, Vec<u32>)) -> Program {
    let mut program = program.clone();
    if !work.is_in_place() {
        program.slot(work.to());
    }
    program.steps.push(Instruction::Kernel(*work, slots.clone()));
    program
}

/// Each choice of outputs, one of them the last slot, and of donated inputs that are no outputs.
fn check_with_outputs(program: &Program) {
    let last = program.types.len() as u32 - 1;
    let others = (INPUTS as u32..last).map(Some).chain([None]);
    for other in others.filter(|_| last as usize >= INPUTS) {
        for donated in 0..1 << INPUTS {
            let donated = std::array::from_fn(|number| donated >> number & 1 == 1);
            check(&Program { outputs: other.into_iter().chain([last]).collect(), donated, ..program.clone() });
        }
    }
}

#[test]
fn every_program_of_three_kernels_computes_the_same_in_planned_storage_and_in_tiles() {
    let mut programs = vec![Program::new()];
    for _ in 0..3 {
        programs = programs
            .iter()
            .flat_map(|program| next_steps(program).into_iter().map(move |step| with_step(program, &step)))
            .collect();
        programs.iter().for_each(check_with_outputs);
    }
    assert!(programs.len() > 2000, "{}", programs.len());
}

/// Appends some random kernels, that read some of the slots and write no others than those from a given one on.
fn extend(
    program: &mut Program,
    rng: &mut Rng,
    count: usize,
    may_use: impl Fn(u32) -> bool,
    may_write: impl Fn(u32) -> bool,
) {
    for _ in 0..count {
        let made = program.types.len() as u32;
        let fits = |(_, slots): &(Work, Vec<u32>)| {
            let (target, sources) = slots.split_last().expect("a kernel writes");
            sources.iter().all(|&slot| may_use(slot)) && (*target == made || may_use(*target) && may_write(*target))
        };
        let steps: Vec<_> = next_steps(program).into_iter().filter(fits).collect();
        // Sums have most choices of operands.
        let work = steps[rng.below(steps.len())].0;
        let work = if work == Add { WORK[rng.below(WORK.len())] } else { work };
        let steps: Vec<_> = steps.iter().filter(|step| step.0 == work).collect();
        if !steps.is_empty() {
            *program = with_step(program, steps[rng.below(steps.len())]);
        }
    }
}

fn random_outputs(program: &mut Program, rng: &mut Rng, may_use: impl Fn(u32) -> bool) {
    let usable: Vec<u32> = (INPUTS as u32..program.types.len() as u32).filter(|&slot| may_use(slot)).collect();
    for _ in 0..1 + rng.below(2) {
        program.outputs.extend(usable.get(rng.below(usable.len().max(1))));
    }
    program.outputs.sort_unstable();
    program.outputs.dedup();
    program.donated = std::array::from_fn(|_| rng.one_in(2));
}

#[test]
fn longer_programs_compute_the_same_in_planned_storage_and_in_tiles() {
    for seed in 0..20_000 {
        let (mut program, mut rng) = (Program::new(), Rng::new(seed));
        let count = 4 + rng.below(6);
        extend(&mut program, &mut rng, count, |_| true, |_| true);
        random_outputs(&mut program, &mut rng, |_| true);
        check(&program);
    }
}

/// Appends a loop that carries one or two slots; returns its parameters. Slots that its iterations make are not used
/// after it. Some slots belong to a loop around it.
fn add_loop(program: &mut Program, rng: &mut Rng, hidden: &mut Vec<u32>, outer: &[u32]) -> Vec<u32> {
    let usable: Vec<u32> = (0..program.types.len() as u32)
        .filter(|slot| !hidden.contains(slot) && program.types[*slot as usize] == Type::U32)
        .collect();
    let inits: Vec<u32> = (0..1 + rng.below(2)).map(|_| usable[rng.below(usable.len())]).collect();
    let params: Vec<u32> = inits.iter().map(|_| program.slot(Type::U32)).collect();
    let begin = program.steps.len();
    program.steps.push(Instruction::Loop(Vec::new(), 0));
    let made = program.types.len() as u32;
    let count = rng.below(3);
    // What iterations write in place, each of them writes; a first value stays as it is while it is read.
    let carried: Vec<u32> = [&params, &inits, outer].into_iter().flatten().copied().collect();
    extend(program, rng, count, |slot| !hidden.contains(&slot), |slot| !carried.contains(&slot));
    let is_nesting = outer.is_empty() && rng.one_in(3);
    let mut inner = if is_nesting { add_loop(program, rng, hidden, &carried) } else { Vec::new() };
    let mut carried = Vec::new();
    for (&init, &param) in inits.iter().zip(&params) {
        // The next value is made in each iteration, by a kernel or a loop.
        if let Some(result) = inner.pop() {
            carried.push(Carried { param: SlotId(param), init: SlotId(init), out: SlotId(result) });
            continue;
        }
        let work = [Add, Copied, Reverse][rng.below(3)];
        let choose = |rng: &mut Rng, program: &Program| loop {
            let slot = rng.below(program.types.len()) as u32;
            if program.types[slot as usize] == Type::U32 && !hidden.contains(&slot) {
                return slot;
            }
        };
        let mut slots: Vec<u32> = (0..work.takes()).map(|_| choose(rng, program)).collect();
        if rng.one_in(2) {
            slots[0] = params[rng.below(params.len())];
        }
        let out = program.slot(Type::U32);
        slots.push(out);
        program.steps.push(Instruction::Kernel(work, slots));
        carried.push(Carried { param: SlotId(param), init: SlotId(init), out: SlotId(out) });
    }
    let length = (program.steps.len() - begin - 1) as u32;
    program.steps[begin] = Instruction::Loop(carried.clone(), length);
    program.steps.push(Instruction::Repeat(carried, length));
    hidden.extend(made..program.types.len() as u32);
    params
}

#[test]
fn programs_with_loops_compute_the_same_in_planned_storage() {
    for seed in 0..40_000 {
        let (mut program, mut rng) = (Program::new(), Rng::new(seed));
        let mut hidden = Vec::new();
        for _ in 0..1 + rng.below(2) {
            let count = rng.below(3);
            extend(&mut program, &mut rng, count, |slot| !hidden.contains(&slot), |_| true);
            add_loop(&mut program, &mut rng, &mut hidden, &[]);
        }
        let count = rng.below(3);
        extend(&mut program, &mut rng, count, |slot| !hidden.contains(&slot), |_| true);
        random_outputs(&mut program, &mut rng, |slot| !hidden.contains(&slot));
        for iterations in 0..4 {
            check(&Program { iterations, ..program.clone() });
        }
    }
}
