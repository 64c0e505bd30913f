//! Recovering the states of loops with many iterations: blocks of them are run again.
//!
//! The first run stores the states before every block of 64 iterations. When half of the room for such *checkpoints* is
//! used, every second one is dropped, and from then on only blocks twice as far apart have one. Going back, each block
//! is run again from the last checkpoint before it, and its states are stored one by one. On the way to the block, half
//! of the free room is used for further checkpoints. So the room of 32 checkpoints serves 1,024 iterations that run
//! twice, 8,192 that run three times, 32,768 that run four times; the idea is that of A. Griewank, A. Walther:
//! Algorithm 799: revolve, 2000, with a number of iterations that is not known beforehand.

use jit_runtime::Error;
use jit_runtime::ir::{BinaryOp, CompareOp, Type};

use super::block::{Shelf, is_below, minus, number, plus, times};
use super::history::{Wanted, closure, place, unchanged, undo};
use super::parts::Loop;
use super::record_loop;
use crate::graph::Var;
use crate::trace::record;

/// The number of iterations of a block.
const BLOCK: u32 = 64;
/// The number of checkpoints that there is room for.
const ROOM: u32 = 32;
/// The room that the first run uses.
const FIRST: u32 = ROOM / 2;

/// What the first run of a loop has stored.
pub(super) struct Blocks {
    wanted: Wanted,
    /// The states that the wanted ones are computed from, in order.
    run: Vec<usize>,
    /// The number of iterations.
    count: Var,
    /// The states that are undone, after the loop.
    last: Vec<Var>,
    checkpoints: Checkpoints,
    /// The wanted states of the iterations of the last block.
    block: Vec<(Shelf, Var)>,
}

/// States before some of the iterations.
struct Checkpoints {
    shelves: Vec<Shelf>,
    /// The memories with the states.
    memories: Vec<Var>,
    numbers: Shelf,
    /// The memory with the numbers of the iterations.
    iterations: Var,
    /// The place of the last one.
    top: Var,
}

impl Checkpoints {
    /// Stores states in a place, on the lanes of a mask.
    #[track_caller]
    fn put(&mut self, place: &Var, iteration: &Var, states: &[Var], mask: Option<&Var>) -> Result<(), Error> {
        self.numbers.put(&mut self.iterations, place, iteration, mask)?;
        for ((shelf, memory), state) in self.shelves.iter().zip(&mut self.memories).zip(states) {
            shelf.put(memory, place, state, mask)?;
        }
        Ok(())
    }

    /// Returns the states of the last one, and the number of the iteration.
    #[track_caller]
    fn last(&self) -> Result<(Var, Vec<Var>), Error> {
        let get = |(shelf, memory): (&Shelf, &Var)| shelf.get(memory, &self.top);
        let states = self.shelves.iter().zip(&self.memories).map(get).collect::<Result<_, _>>()?;
        Ok((self.iteration(&self.top)?, states))
    }

    #[track_caller]
    fn iteration(&self, place: &Var) -> Result<Var, Error> {
        self.numbers.get(&self.iterations, place)
    }

    fn states(&self) -> Vec<Var> {
        let own = [self.top.clone(), self.iterations.clone()];
        own.into_iter().chain(self.memories.iter().cloned()).collect()
    }

    /// The number of states that these are.
    fn count(&self) -> usize {
        2 + self.memories.len()
    }

    fn with(&self, states: &[Var]) -> Checkpoints {
        Checkpoints {
            shelves: self.shelves.clone(),
            memories: states[2..].to_vec(),
            numbers: self.numbers,
            iterations: states[1].clone(),
            top: states[0].clone(),
        }
    }

    /// Drops every second one where the room of the first run is full.
    #[track_caller]
    fn thin_out(&self, of: &Loop<'_>, is_full: &Var) -> Result<Checkpoints, Error> {
        let states: Vec<Var> = [number(0)].into_iter().chain(self.states()).collect();
        let is_left = |states: &[Var]| Ok(record::and(is_full, &is_below(&states[0], &number(FIRST / 2))));
        let after = record_loop(&states, of.site, is_left, |states| {
            let mut kept = self.with(&states[1..]);
            let place = states[0].clone();
            drop(states);
            let from = times(&place, 2);
            kept.top = from;
            let (iteration, states) = kept.last()?;
            kept.put(&place, &iteration, &states, None)?;
            kept.top = place.clone();
            Ok([plus(&place, &number(1))].into_iter().chain(kept.states()).collect())
        })?;
        Ok(self.with(&after[1..]))
    }
}

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
        let run = closure(of, used.iter().copied(), true);
        let again = closure(of, used.iter().copied(), false);
        let inits: Vec<Var> = run.iter().map(|&position| of.init(position)).collect();
        let shelf = |slots: u32| move |&position: &usize| Shelf::new(&of.init(position), of.len(position), slots);
        let block: Vec<Shelf> = wanted.stored.iter().map(shelf(BLOCK)).collect();
        let shelves: Vec<Shelf> = again.iter().map(shelf(ROOM)).collect();
        let numbers = Shelf::new(&count_like(of), None, ROOM);
        let memories = shelves.iter().map(Shelf::empty).collect();
        let checkpoints = Checkpoints { shelves, memories, numbers, iterations: numbers.empty(), top: number(0) };
        // The number of iterations, the distance of checkpoints, the states, the block, the checkpoints.
        let ends = [2 + run.len(), 2 + run.len() + block.len()];
        let states = [number(0), number(BLOCK)].into_iter().chain(inits).chain(block.iter().map(Shelf::empty));
        let states: Vec<Var> = states.chain(checkpoints.states()).collect();
        let first = First { of, wanted: &wanted, run: &run, again: &again, block: &block };
        let after = record_loop(
            &states,
            of.site,
            |states| of.condition(&run, &states[2..ends[0]]),
            |states| first.run_block(&states, ends, &checkpoints),
        )?;
        let last = wanted.undone.iter().map(|(position, _)| after[2 + place(&run, *position)].clone()).collect();
        Ok(Blocks {
            count: after[0].clone(),
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
        // The number of iterations that are left, whether the block is stored, the undone states, the block, the
        // checkpoints, and what iterations hand on.
        let is_stored = record::literal(Type::Bool, 1, 1);
        let ends = [2 + self.last.len(), 2 + self.last.len() + self.block.len()];
        let end = ends[1] + self.checkpoints.count();
        let states = [self.count.clone(), is_stored].into_iter().chain(self.last.iter().cloned());
        let states = states.chain(self.block.iter().map(|(_, memory)| memory.clone()));
        let states: Vec<Var> = states.chain(self.checkpoints.states()).chain(carried).collect();
        let after = record_loop(
            &states,
            of.site,
            |states| Ok(is_below(&number(0), &states[0])),
            |mut states| {
                let carried = states.split_off(end);
                let checkpoints = self.checkpoints.with(&states[ends[1]..]);
                let (left, is_stored) = (states[0].clone(), states[1].clone());
                let block = states[ends[0]..ends[1]].to_vec();
                let undone = states[2..ends[0]].to_vec();
                drop(states);
                let begin = begin_of_block(&minus(&left, &number(1)));
                let (checkpoints, block) = self.run_again(of, checkpoints, block, [&begin, &left], &is_stored)?;
                let (undone, carried) = self.back_through_block(of, &block, [&begin, &left], undone, carried, step)?;
                let next = [begin, record::literal(Type::Bool, 0, 1)].into_iter().chain(undone).chain(block);
                Ok(next.chain(checkpoints.states()).chain(carried).collect())
            },
        )?;
        Ok(after[end..].to_vec())
    }

    /// Runs a block again, unless it is stored, from the last checkpoint before it.
    #[track_caller]
    fn run_again(
        &self,
        of: &Loop<'_>,
        checkpoints: Checkpoints,
        block: Vec<Var>,
        [begin, end]: [&Var; 2],
        is_stored: &Var,
    ) -> Result<(Checkpoints, Vec<Var>), Error> {
        let mut checkpoints = checkpoints;
        let is_later = |states: &[Var]| Ok(is_below(begin, &checkpoints.iteration(&states[0])?));
        let top = record_loop(&[checkpoints.top.clone()], of.site, is_later, |states| {
            Ok(vec![minus(&states[0], &number(1))])
        })?;
        checkpoints.top = top[0].clone();
        let (iteration, states) = checkpoints.last()?;
        let iteration = record::select(is_stored, end, &iteration);
        // Half of the free room for the blocks between.
        let free = minus(&number(ROOM - 1), &checkpoints.top);
        let parts = plus(&record::binary(BinaryOp::Shr, &free, &number(1)), &number(1));
        let between = minus(begin, &iteration);
        let distance = record::binary(BinaryOp::Div, &plus(&between, &minus(&parts, &number(1))), &parts);
        // States, block, checkpoints.
        let ends = [1 + states.len(), 1 + states.len() + block.len()];
        let all = [iteration].into_iter().chain(states).chain(block).chain(checkpoints.states());
        let after = record_loop(
            &all.collect::<Vec<_>>(),
            of.site,
            |states| Ok(is_below(&states[0], end)),
            |states| {
                let mut checkpoints = checkpoints.with(&states[ends[1]..]);
                let (iteration, before) = (&states[0], &states[1..ends[0]]);
                let passed = minus(iteration, &checkpoints.iteration(&checkpoints.top)?);
                let is_far = record::compare(CompareOp::Ge, &passed, &distance);
                let is_wanted = record::and(&is_far, &is_below(&number(0), &passed));
                let is_wanted = record::and(&is_wanted, &is_below(iteration, begin));
                let next = plus(&checkpoints.top, &number(1));
                checkpoints.put(&next, iteration, before, Some(&is_wanted))?;
                checkpoints.top = record::select(&is_wanted, &next, &checkpoints.top);
                let until = plus(iteration, &number(BLOCK));
                let until = record::binary(BinaryOp::Min, &until, end);
                let block = states[ends[0]..ends[1]].to_vec();
                let mut next = self.run_to(of, iteration, before, block, &until)?;
                next.extend(checkpoints.states());
                Ok(next)
            },
        )?;
        Ok((checkpoints.with(&after[ends[1]..]), after[ends[0]..ends[1]].to_vec()))
    }

    /// Runs iterations of one block; returns the number of iterations, the states, and the block.
    #[track_caller]
    fn run_to(
        &self,
        of: &Loop<'_>,
        iteration: &Var,
        before: &[Var],
        block: Vec<Var>,
        until: &Var,
    ) -> Result<Vec<Var>, Error> {
        let end = 1 + before.len();
        let states: Vec<Var> = [iteration.clone()].into_iter().chain(before.iter().cloned()).chain(block).collect();
        let shelves: Vec<Shelf> = self.block.iter().map(|(shelf, _)| *shelf).collect();
        let body = |mut states: Vec<Var>| {
            let block = states.split_off(end);
            let before = &states[1..];
            let block = store_block(&shelves, block, &states[0], &self.wanted, &self.run, before)?;
            let mut next = vec![plus(&states[0], &number(1))];
            next.extend(of.step(&self.run, before)?);
            next.extend(block);
            Ok(next)
        };
        record_loop(&states, of.site, |states| Ok(is_below(&states[0], until)), body)
    }

    /// Records the iterations of a block backwards; returns the states that were undone, and what was handed on.
    #[track_caller]
    fn back_through_block(
        &self,
        of: &Loop<'_>,
        block: &[Var],
        [begin, end]: [&Var; 2],
        undone: Vec<Var>,
        carried: Vec<Var>,
        step: impl FnOnce(Vec<Option<Var>>, Vec<Var>) -> Result<Vec<Var>, Error>,
    ) -> Result<(Vec<Var>, Vec<Var>), Error> {
        let first = 1 + undone.len();
        let states: Vec<Var> = [end.clone()].into_iter().chain(undone).chain(carried).collect();
        let after = record_loop(
            &states,
            of.site,
            |states| Ok(is_below(begin, &states[0])),
            |mut states| {
                let carried = states.split_off(first);
                let left = minus(&states[0], &number(1));
                let undone = undo(&self.wanted, &states[1..]);
                drop(states);
                let mut values = unchanged(of);
                for ((position, _), value) in self.wanted.undone.iter().zip(&undone) {
                    values[*position] = Some(value.clone());
                }
                let slot = place_in_block(&left);
                for ((position, (shelf, _)), memory) in self.wanted.stored.iter().zip(&self.block).zip(block) {
                    values[*position] = Some(shelf.get(memory, &slot)?);
                }
                let carried = step(values, carried)?;
                Ok([left].into_iter().chain(undone).chain(carried).collect())
            },
        )?;
        Ok((after[1..first].to_vec(), after[first..].to_vec()))
    }
}

/// The first run of a loop.
struct First<'a> {
    of: &'a Loop<'a>,
    wanted: &'a Wanted,
    /// The states that run.
    run: &'a [usize],
    /// Those that checkpoints have.
    again: &'a [usize],
    block: &'a [Shelf],
}

impl First<'_> {
    /// Runs a block, before which there may be a checkpoint.
    #[track_caller]
    fn run_block(&self, states: &[Var], ends: [usize; 2], like: &Checkpoints) -> Result<Vec<Var>, Error> {
        let (iteration, distance, before) = (&states[0], &states[1], &states[2..ends[0]]);
        let checkpoints = like.with(&states[ends[1]..]);
        // The first place is that of the first iteration.
        let place = record::binary(BinaryOp::Div, iteration, distance);
        let is_full = record::compare(CompareOp::Ge, &place, &number(FIRST));
        let mut checkpoints = checkpoints.thin_out(self.of, &is_full)?;
        let distance = record::select(&is_full, &times(distance, 2), distance);
        let place = record::binary(BinaryOp::Div, iteration, &distance);
        let rest = record::binary(BinaryOp::Rem, iteration, &distance);
        let is_wanted = record::compare(CompareOp::Eq, &rest, &number(0));
        let kept: Vec<Var> = self.again.iter().map(|&position| before[self::place(self.run, position)].clone()).collect();
        checkpoints.put(&place, iteration, &kept, Some(&is_wanted))?;
        checkpoints.top = place;
        let until = plus(iteration, &number(BLOCK));
        let mut next = self.run_to(iteration, before, states[ends[0]..ends[1]].to_vec(), &until)?;
        next.insert(1, distance);
        next.extend(checkpoints.states());
        Ok(next)
    }

    /// Runs iterations as long as the loop goes on, up to a number; returns the number of iterations, the states, and
    /// the block.
    #[track_caller]
    fn run_to(&self, iteration: &Var, before: &[Var], block: Vec<Var>, until: &Var) -> Result<Vec<Var>, Error> {
        let end = 1 + before.len();
        let states: Vec<Var> = [iteration.clone()].into_iter().chain(before.iter().cloned()).chain(block).collect();
        let condition = |states: &[Var]| {
            let goes_on = self.of.condition(self.run, &states[1..end])?;
            Ok(record::and(&is_below(&states[0], until), &goes_on))
        };
        record_loop(&states, self.of.site, condition, |mut states| {
            let block = states.split_off(end);
            let before = &states[1..];
            let block = store_block(self.block, block, &states[0], self.wanted, self.run, before)?;
            let mut next = vec![plus(&states[0], &number(1))];
            next.extend(self.of.step(self.run, before)?);
            next.extend(block);
            Ok(next)
        })
    }
}

/// Stores the wanted states of an iteration in its block.
#[track_caller]
fn store_block(
    shelves: &[Shelf],
    block: Vec<Var>,
    iteration: &Var,
    wanted: &Wanted,
    run: &[usize],
    before: &[Var],
) -> Result<Vec<Var>, Error> {
    let slot = place_in_block(iteration);
    let stored = shelves.iter().zip(block).zip(&wanted.stored);
    let put = |((shelf, mut memory), &position): ((&Shelf, Var), &usize)| {
        shelf.put(&mut memory, &slot, &before[place(run, position)], None)?;
        Ok(memory)
    };
    stored.map(put).collect()
}

/// Returns a value as wide as the number of iterations.
#[track_caller]
fn count_like(of: &Loop<'_>) -> Var {
    let width = if of.payload.is_uniform { 1.into() } else { of.width };
    record::literal(Type::U32, 0, width)
}

