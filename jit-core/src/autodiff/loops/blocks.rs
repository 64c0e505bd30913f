//! Recovering the states of loops with many iterations: blocks of them are run again.
//!
//! The first run stores the states before every block of 64 iterations. When the room for such *checkpoints* is full,
//! every second one is dropped, and from then on only blocks twice as far apart have one. Going back, each block is run
//! again from the last checkpoint before it, and its states are stored one by one. On the way, further checkpoints are
//! stored at an eighth of the distance, and at an eighth of that. So 1,024 iterations run twice, 8,192 three times,
//! 65,536 four times. The idea is that of A. Griewank, A. Walther: Algorithm 799: revolve, 2000; here, places follow
//! from the number of the iteration alone, so that lanes that run equally often share them.

use jit_runtime::Error;
use jit_runtime::ir::{BinaryOp, CompareOp, Type, UnaryOp};

use super::block::{Shelf, is_below, minus, number, plus, times};
use super::history::{Wanted, closure, place};
use super::parts::Loop;
use super::{record_loop, record_run};
use crate::graph::Var;
use crate::trace::record;

/// The number of iterations of a block.
const BLOCK: u32 = 64;
/// The numbers of checkpoints of the first run, and of the runs within one of its parts and within one of theirs.
const ROOM: [u32; 3] = [16, 8, 8];
/// The logarithm of the number of parts of a part.
const PARTS_BITS: u32 = 3;

/// What the first run of a loop has stored.
pub(super) struct Blocks {
    wanted: Wanted,
    /// The states that the wanted ones are computed from, in order.
    run: Vec<usize>,
    /// The number of iterations.
    count: Var,
    /// The number of iterations between checkpoints of the first run, a power of two.
    distance: Var,
    /// The states that are undone, after the loop.
    last: Vec<Var>,
    checkpoints: Checkpoints,
    /// The wanted states of the iterations of the last block.
    block: Vec<(Shelf, Var)>,
}

/// States before some of the iterations.
struct Checkpoints {
    shelves: Vec<Shelf>,
    memories: Vec<Var>,
}

impl Checkpoints {
    /// Stores states in a place, on the lanes of a mask.
    #[track_caller]
    fn put(&mut self, place: &Var, states: &[Var], mask: Option<&Var>) -> Result<(), Error> {
        for ((shelf, memory), state) in self.shelves.iter().zip(&mut self.memories).zip(states) {
            shelf.put(memory, place, state, mask)?;
        }
        Ok(())
    }

    /// Returns the states in a place.
    #[track_caller]
    fn get(&self, place: &Var) -> Result<Vec<Var>, Error> {
        self.shelves.iter().zip(&self.memories).map(|(shelf, memory)| shelf.get(memory, place)).collect()
    }

    fn with(&self, memories: &[Var]) -> Checkpoints {
        Checkpoints { shelves: self.shelves.clone(), memories: memories.to_vec() }
    }

    /// Drops every second one where the room of the first run is full.
    #[track_caller]
    fn thin_out(&self, of: &Loop<'_>, is_full: &Var) -> Result<Checkpoints, Error> {
        let states: Vec<Var> = [number(0)].into_iter().chain(self.memories.iter().cloned()).collect();
        let is_left = |states: &[Var]| Ok(record::and(is_full, &is_below(&states[0], &number(ROOM[0] / 2))));
        let after = record_loop(&states, of.site, is_left, |states| {
            let mut kept = self.with(&states[1..]);
            let place = states[0].clone();
            drop(states);
            let moved = kept.get(&times(&place, 2))?;
            kept.put(&place, &moved, None)?;
            Ok([plus(&place, &number(1))].into_iter().chain(kept.memories).collect())
        })?;
        Ok(self.with(&after[1..]))
    }
}

/// The distances between checkpoints of the first run, within one of its parts, and within one of theirs.
struct Distances([Var; 3]);

impl Distances {
    #[track_caller]
    fn new(first: &Var) -> Distances {
        let part = |of: &Var| {
            let part = record::binary(BinaryOp::Shr, of, &number(PARTS_BITS));
            record::binary(BinaryOp::Max, &part, &number(BLOCK))
        };
        let second = part(first);
        let third = part(&second);
        Distances([first.clone(), second, third])
    }

    /// Returns the last iteration up to one that can have a checkpoint of a level.
    #[track_caller]
    fn last(&self, level: usize, iteration: &Var) -> Var {
        record::binary(BinaryOp::And, iteration, &record::unary(UnaryOp::Neg, &self.0[level]))
    }

    /// Returns the place of the checkpoint of an iteration, and whether it has one.
    #[track_caller]
    fn place(&self, iteration: &Var) -> (Var, Var) {
        let is_multiple = |level: usize| record::compare(CompareOp::Eq, &self.last(level, iteration), iteration);
        let within = |level: usize, around: usize| {
            let offset = minus(iteration, &self.last(around, iteration));
            record::binary(BinaryOp::Div, &offset, &self.0[level])
        };
        let first = record::binary(BinaryOp::Div, iteration, &self.0[0]);
        let second = plus(&number(ROOM[0]), &within(1, 0));
        let third = plus(&number(ROOM[0] + ROOM[1]), &within(2, 1));
        let place = record::select(&is_multiple(1), &second, &third);
        (record::select(&is_multiple(0), &first, &place), is_multiple(2))
    }
}

/// The begin of no part.
const NOWHERE: u32 = u32::MAX;

/// Returns the first iteration of a block.
#[track_caller]
fn begin_of_block(iteration: &Var) -> Var {
    record::binary(BinaryOp::And, iteration, &number(!(BLOCK - 1)))
}

/// Returns the place of an iteration in its block.
#[track_caller]
fn place_in_block(iteration: &Var) -> Var {
    record::binary(BinaryOp::And, iteration, &number(BLOCK - 1))
}

impl Blocks {
    /// Runs a loop for the first time.
    #[track_caller]
    pub(super) fn record(of: &Loop<'_>, wanted: Wanted) -> Result<Blocks, Error> {
        let undone = wanted.undone.iter().map(|(position, _)| *position);
        let used: Vec<usize> = wanted.stored.iter().copied().chain(undone).collect();
        let run = closure(of, used.iter().copied(), std::slice::from_ref(&of.payload.condition));
        let again = closure(of, used.iter().copied(), &[]);
        let inits: Vec<Var> = run.iter().map(|&position| of.init(position)).collect();
        let shelf = |slots: u32| move |&position: &usize| Shelf::new(&of.init(position), of.len(position), slots);
        let block: Vec<Shelf> = wanted.stored.iter().map(shelf(BLOCK)).collect();
        let shelves: Vec<Shelf> = again.iter().map(shelf(ROOM.iter().sum())).collect();
        let checkpoints = Checkpoints { memories: shelves.iter().map(Shelf::empty).collect(), shelves };
        // The number of iterations, the distance of checkpoints, the states, the block, the checkpoints.
        let ends = [2 + run.len(), 2 + run.len() + block.len()];
        let states = [number(0), number(BLOCK)].into_iter().chain(inits).chain(block.iter().map(Shelf::empty));
        let states: Vec<Var> = states.chain(checkpoints.memories.iter().cloned()).collect();
        let first =
            First { stretch: Stretch { of, wanted: &wanted, run: &run, shelves: block.clone() }, again: &again };
        let after = record_run(
            &states,
            (of.site, of.bound_of_run(&run, 2)),
            |states| of.condition(&run, &states[2..ends[0]]),
            |states| first.run_block(&states, ends, &checkpoints),
        )?;
        let last = wanted.undone.iter().map(|(position, _)| after[2 + place(&run, *position)].clone()).collect();
        Ok(Blocks {
            count: after[0].clone(),
            distance: after[1].clone(),
            last,
            checkpoints: checkpoints.with(&after[ends[1]..]),
            block: block.into_iter().zip(after[ends[0]..ends[1]].iter().cloned()).collect(),
            wanted,
            run: again,
        })
    }

    /// Records the iterations backwards, see [`History::run_back`](super::history::History::run_back).
    #[track_caller]
    pub(super) fn run_back(
        self,
        of: &Loop<'_>,
        carried: Vec<Var>,
        step: impl FnOnce(Vec<Option<Var>>, Vec<Var>) -> Result<Vec<Var>, Error>,
    ) -> Result<Vec<Var>, Error> {
        // The number of iterations that are left, whether the block is stored, the parts whose checkpoints are stored,
        // the undone states, the block, the checkpoints, and what iterations hand on.
        let is_stored = record::literal(Type::Bool, 1, 1);
        let ends = [4 + self.last.len(), 4 + self.last.len() + self.block.len()];
        let end = ends[1] + self.checkpoints.memories.len();
        let states = [self.count.clone(), is_stored, number(NOWHERE), number(NOWHERE)].into_iter();
        let states = states.chain(self.last.iter().cloned());
        let states = states.chain(self.block.iter().map(|(_, memory)| memory.clone()));
        let states: Vec<Var> = states.chain(self.checkpoints.memories.iter().cloned()).chain(carried).collect();
        let distances = Distances::new(&self.distance);
        let after = record_loop(
            &states,
            of.site,
            |states| Ok(is_below(&number(0), &states[0])),
            |mut states| {
                let carried = states.split_off(end);
                let checkpoints = self.checkpoints.with(&states[ends[1]..]);
                let [left, is_stored, first, second] = [0, 1, 2, 3].map(|place| states[place].clone());
                let block = states[ends[0]..ends[1]].to_vec();
                let undone = states[4..ends[0]].to_vec();
                drop(states);
                let begin = begin_of_block(&minus(&left, &number(1)));
                let parts = [0, 1].map(|level| distances.last(level, &begin));
                // From the nearest checkpoint that is stored.
                let is_in = |known: &Var, part: &Var| record::compare(CompareOp::Eq, known, part);
                let from = record::select(&is_in(&first, &parts[0]), &parts[1], &parts[0]);
                let from = record::select(&is_in(&second, &parts[1]), &distances.last(2, &begin), &from);
                let from = record::select(&is_stored, &left, &from);
                let run = Run { of, distances: &distances, from: &from, begin: &begin, end: &left };
                let (checkpoints, block) = self.run_again(&run, &checkpoints, block)?;
                let read = |iteration: &Var| self.read_block(&block, iteration);
                let (undone, carried) = self.wanted.run_back(of, [&begin, &left], undone, carried, read, step)?;
                let known = |known: &Var, part: &Var| record::select(&is_stored, known, part);
                let next =
                    [begin, record::literal(Type::Bool, 0, 1), known(&first, &parts[0]), known(&second, &parts[1])];
                Ok(next.into_iter().chain(undone).chain(block).chain(checkpoints.memories).chain(carried).collect())
            },
        )?;
        Ok(after[end..].to_vec())
    }

    /// Returns the states of an iteration of a block that is stored.
    #[track_caller]
    fn read_block(&self, block: &[Var], iteration: &Var) -> Result<Vec<Var>, Error> {
        let slot = place_in_block(iteration);
        self.block.iter().zip(block).map(|((shelf, _), memory)| shelf.get(memory, &slot)).collect()
    }

    /// Runs a block again.
    #[track_caller]
    fn run_again(
        &self,
        run: &Run<'_>,
        checkpoints: &Checkpoints,
        block: Vec<Var>,
    ) -> Result<(Checkpoints, Vec<Var>), Error> {
        let shelves = self.block.iter().map(|(shelf, _)| *shelf).collect();
        let stretch = Stretch { of: run.of, wanted: &self.wanted, run: &self.run, shelves };
        let (place, _) = run.distances.place(run.from);
        let states = checkpoints.get(&place)?;
        // The number of the iteration, states, block, checkpoints.
        let ends = [1 + states.len(), 1 + states.len() + block.len()];
        let all = [run.from.clone()].into_iter().chain(states).chain(block).chain(checkpoints.memories.iter().cloned());
        let after = record_loop(
            &all.collect::<Vec<_>>(),
            run.of.site,
            |states| Ok(is_below(&states[0], run.end)),
            |states| {
                let mut checkpoints = checkpoints.with(&states[ends[1]..]);
                let (iteration, before) = (&states[0], &states[1..ends[0]]);
                let (place, has_one) = run.distances.place(iteration);
                let is_wanted = record::and(&has_one, &is_below(iteration, run.begin));
                checkpoints.put(&place, before, Some(&is_wanted))?;
                let until = record::binary(BinaryOp::Min, &plus(iteration, &number(BLOCK)), run.end);
                let block = states[ends[0]..ends[1]].to_vec();
                let always = |_: &[Var]| Ok(record::literal(Type::Bool, 1, 1));
                let mut next = stretch.run_to(iteration, before, block, &until, always)?;
                next.extend(checkpoints.memories);
                Ok(next)
            },
        )?;
        Ok((checkpoints.with(&after[ends[1]..]), after[ends[0]..ends[1]].to_vec()))
    }
}

/// A block that is run again.
struct Run<'a> {
    of: &'a Loop<'a>,
    distances: &'a Distances,
    /// The iteration of the checkpoint.
    from: &'a Var,
    /// The first iteration of the block, and the one after its last.
    begin: &'a Var,
    end: &'a Var,
}

/// The first run of a loop.
struct First<'a> {
    stretch: Stretch<'a>,
    /// The states that checkpoints have.
    again: &'a [usize],
}

impl First<'_> {
    /// Runs a block, before which there may be a checkpoint.
    #[track_caller]
    fn run_block(&self, states: &[Var], ends: [usize; 2], like: &Checkpoints) -> Result<Vec<Var>, Error> {
        let (iteration, distance, before) = (&states[0], &states[1], &states[2..ends[0]]);
        let checkpoints = like.with(&states[ends[1]..]);
        let place = record::binary(BinaryOp::Div, iteration, distance);
        let is_full = record::compare(CompareOp::Ge, &place, &number(ROOM[0]));
        let mut checkpoints = checkpoints.thin_out(self.stretch.of, &is_full)?;
        let distance = record::select(&is_full, &times(distance, 2), distance);
        let place = record::binary(BinaryOp::Div, iteration, &distance);
        let rest = record::binary(BinaryOp::Rem, iteration, &distance);
        let is_wanted = record::compare(CompareOp::Eq, &rest, &number(0));
        let run = self.stretch.run;
        let kept: Vec<Var> = self.again.iter().map(|&position| before[self::place(run, position)].clone()).collect();
        checkpoints.put(&place, &kept, Some(&is_wanted))?;
        let until = plus(iteration, &number(BLOCK));
        let condition = |states: &[Var]| self.stretch.of.condition(run, states);
        let block = states[ends[0]..ends[1]].to_vec();
        let mut next = self.stretch.run_to(iteration, before, block, &until, condition)?;
        next.insert(1, distance);
        next.extend(checkpoints.memories);
        Ok(next)
    }
}

/// Iterations of one block, whose wanted states are stored.
struct Stretch<'a> {
    of: &'a Loop<'a>,
    wanted: &'a Wanted,
    /// The states that run.
    run: &'a [usize],
    shelves: Vec<Shelf>,
}

impl Stretch<'_> {
    /// Runs iterations up to a number, as long as the states satisfy a condition; returns the number of iterations, the
    /// states, and the block.
    #[track_caller]
    fn run_to(
        &self,
        iteration: &Var,
        before: &[Var],
        block: Vec<Var>,
        until: &Var,
        condition: impl FnOnce(&[Var]) -> Result<Var, Error>,
    ) -> Result<Vec<Var>, Error> {
        let end = 1 + before.len();
        let states: Vec<Var> = [iteration.clone()].into_iter().chain(before.iter().cloned()).chain(block).collect();
        let condition = |states: &[Var]| Ok(record::and(&is_below(&states[0], until), &condition(&states[1..end])?));
        record_loop(&states, self.of.site, condition, |mut states| {
            let block = states.split_off(end);
            let before = &states[1..];
            let block = self.store(block, &states[0], before)?;
            let mut next = vec![plus(&states[0], &number(1))];
            next.extend(self.of.step(self.run, before)?);
            next.extend(block);
            Ok(next)
        })
    }

    /// Stores the wanted states of an iteration in its block.
    #[track_caller]
    fn store(&self, block: Vec<Var>, iteration: &Var, before: &[Var]) -> Result<Vec<Var>, Error> {
        let slot = place_in_block(iteration);
        let stored = self.shelves.iter().zip(block).zip(&self.wanted.stored);
        let put = |((shelf, mut memory), &position): ((&Shelf, Var), &usize)| {
            shelf.put(&mut memory, &slot, &before[place(self.run, position)], None)?;
            Ok(memory)
        };
        stored.map(put).collect()
    }
}
