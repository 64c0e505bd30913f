//! Recovering the states at the begin of each iteration, from the last one to the first.

use std::ptr::NonNull;

use jit_runtime::Error;
use jit_runtime::ir::{CompareOp, Type};
use rustc_hash::FxHashSet;

use super::affine::{Affine, inverse};
use super::block::{Shelf, is_below, minus, number, plus};
use super::blocks::Blocks;
use super::parts::Loop;
use super::{record_loop, record_run};
use crate::graph::Var;
use crate::graph::node::Node;
use crate::graph::op::Op;
use crate::graph::payload::{LoopPayload, Payload};
use crate::trace::{loops, record};

/// Up to this number of bytes for each lane, the states of all iterations are stored.
const STORED_BYTES: usize = 1024;

/// The states of a loop that are recovered.
pub(super) struct Wanted {
    /// Those that change by invertible steps.
    pub(super) undone: Vec<(usize, Affine)>,
    /// Those that are stored, or computed again.
    pub(super) stored: Vec<usize>,
}

/// How the states of a loop are recovered.
pub(super) enum History {
    /// Each iteration undoes its steps, and reads the others where they are stored by the number of the iteration.
    Direct { count: Var, wanted: Wanted, last: Vec<Var>, shelves: Vec<(Shelf, Var)> },
    /// Blocks of iterations are run again.
    Blocks(Blocks),
}

impl History {
    /// Records what must be known about the iterations of a loop to recover the states that are used.
    #[track_caller]
    pub(super) fn record(of: &Loop<'_>, used: &[bool]) -> Result<History, Error> {
        let mut wanted = Wanted { undone: Vec::new(), stored: Vec::new() };
        let changes = |position: usize| of.states()[position].next.is_some() && !of.states()[position].is_memory;
        for position in of.positions(|position| used[position] && changes(position)) {
            match Affine::of(of, position) {
                Some(affine) => wanted.undone.push((position, affine)),
                None => wanted.stored.push(position),
            }
        }
        if wanted.stored.is_empty()
            && let Some((count, last)) = counted(of, &wanted)
        {
            return Ok(History::Direct { count, wanted, last, shelves: Vec::new() });
        }
        let bytes: usize = wanted.stored.iter().map(|&position| bytes(of, position)).sum();
        match bound(of).filter(|&bound| bound as usize * bytes <= STORED_BYTES) {
            _ if wanted.stored.is_empty() => Self::store(of, wanted, 0),
            Some(bound) => Self::store(of, wanted, bound),
            None => Ok(History::Blocks(Blocks::record(of, wanted)?)),
        }
    }

    /// Runs the loop, and stores the states of each iteration.
    #[track_caller]
    fn store(of: &Loop<'_>, wanted: Wanted, bound: u32) -> Result<History, Error> {
        let undone = wanted.undone.iter().map(|(position, _)| *position);
        let run = closure(of, wanted.stored.iter().copied().chain(undone), std::slice::from_ref(&of.payload.condition));
        let inits: Vec<Var> = run.iter().map(|&position| of.init(position)).collect();
        let shelf = |&position: &usize| Shelf::new(&of.init(position), of.len(position), bound);
        let shelves: Vec<Shelf> = wanted.stored.iter().map(shelf).collect();
        let empty = shelves.iter().map(Shelf::empty);
        let states: Vec<Var> = [number(0)].into_iter().chain(inits).chain(empty).collect();
        let end = 1 + run.len();
        let after = record_run(
            &states,
            (of.site, of.bound_of_run(&run, 1)),
            |states| of.condition(&run, &states[1..end]),
            |mut states| {
                let stored = states.split_off(end);
                let (count, before) = (&states[0], &states[1..]);
                let mut next = vec![plus(count, &number(1))];
                next.extend(of.step(&run, before)?);
                for ((shelf, mut memory), position) in shelves.iter().zip(stored).zip(&wanted.stored) {
                    shelf.put(&mut memory, count, &before[place(&run, *position)], None)?;
                    next.push(memory);
                }
                Ok(next)
            },
        )?;
        let last = wanted.undone.iter().map(|(position, _)| after[1 + place(&run, *position)].clone()).collect();
        let shelves = shelves.into_iter().zip(after[end..].iter().cloned()).collect();
        Ok(History::Direct { count: after[0].clone(), wanted, last, shelves })
    }

    /// Records the iterations backwards: a function gets the states at the begin of one, as far as they are wanted, and
    /// the values that iterations hand on.
    #[track_caller]
    pub(super) fn run_back(
        self,
        of: &Loop<'_>,
        carried: Vec<Var>,
        step: impl FnOnce(Vec<Option<Var>>, Vec<Var>) -> Result<Vec<Var>, Error>,
    ) -> Result<Vec<Var>, Error> {
        let (count, wanted, last, shelves) = match self {
            History::Blocks(blocks) => return blocks.run_back(of, carried, step),
            History::Direct { count, wanted, last, shelves } => (count, wanted, last, shelves),
        };
        let read = |left: &Var| shelves.iter().map(|(shelf, memory)| shelf.get(memory, left)).collect();
        let iterations = [&number(0), &count];
        Ok(wanted.run_back(of, iterations, last, carried, read, step)?.1)
    }
}

impl Wanted {
    /// Records the iterations from one to before another backwards. The function `read` gets the number of an
    /// iteration, and returns the states that are stored; `step` is that of [`History::run_back`]. Returns the states
    /// that were undone, and what was handed on.
    #[track_caller]
    pub(super) fn run_back(
        &self,
        of: &Loop<'_>,
        [begin, end]: [&Var; 2],
        undone: Vec<Var>,
        carried: Vec<Var>,
        read: impl Fn(&Var) -> Result<Vec<Var>, Error>,
        step: impl FnOnce(Vec<Option<Var>>, Vec<Var>) -> Result<Vec<Var>, Error>,
    ) -> Result<(Vec<Var>, Vec<Var>), Error> {
        let first = 1 + undone.len();
        let states: Vec<Var> = [end.clone()].into_iter().chain(undone).chain(carried).collect();
        let mut after = record_loop(
            &states,
            of.site,
            |states| Ok(is_below(begin, &states[0])),
            |mut states| {
                let carried = states.split_off(first);
                let left = minus(&states[0], &number(1));
                let undone = self.undo(&states[1..]);
                drop(states);
                let mut values = of.unchanged();
                for ((position, _), value) in self.undone.iter().zip(&undone) {
                    values[*position] = Some(value.clone());
                }
                for (position, value) in self.stored.iter().zip(read(&left)?) {
                    values[*position] = Some(value);
                }
                let carried = step(values, carried)?;
                Ok([left].into_iter().chain(undone).chain(carried).collect())
            },
        )?;
        let carried = after.split_off(first);
        Ok((after.split_off(1), carried))
    }

    /// Returns the states that are undone, one iteration before.
    #[track_caller]
    fn undo(&self, after: &[Var]) -> Vec<Var> {
        self.undone.iter().zip(after).map(|((_, affine), after)| affine.undo(after)).collect()
    }
}

/// Returns the place of a state in a list.
pub(super) fn place(positions: &[usize], position: usize) -> usize {
    positions.iter().position(|&other| other == position).expect("the state is among those that run")
}

fn bytes(of: &Loop<'_>, position: usize) -> usize {
    of.states()[position].init.ty().size_bytes() * of.len(position).unwrap_or(1) as usize
}

/// Returns the number of iterations and the last states of a loop, from its results.
#[track_caller]
fn counted(of: &Loop<'_>, wanted: &Wanted) -> Option<(Var, Vec<Var>)> {
    // A loop that writes to memory does not run again.
    if of.states().iter().any(|state| state.is_memory) {
        return None;
    }
    let last = |position: usize| loops::loop_result(of.control, position);
    let is_counter = |position: &usize| {
        let state = &of.states()[*position];
        let stride = Affine::of(of, *position).and_then(|affine| affine.stride());
        matches!(state.init.ty(), Type::U32 | Type::I32 | Type::U64 | Type::I64) && stride.is_some_and(is_odd)
    };
    let counter = (0..of.states().len()).find(is_counter)?;
    let stride = Affine::of(of, counter)?.stride()?;
    let ty = of.states()[counter].init.ty();
    let way = minus(&last(counter), &of.init(counter));
    let count = record::binary(jit_runtime::ir::BinaryOp::Mul, &way, &inverse(ty, stride));
    let count = record::cast(Type::U32, &count);
    Some((count, wanted.undone.iter().map(|(position, _)| last(*position)).collect()))
}

fn is_odd(stride: u64) -> bool {
    stride % 2 == 1
}

/// Returns an upper bound of the number of iterations.
fn bound(of: &Loop<'_>) -> Option<u32> {
    let stated = of.payload.bound.map(|bound| bound.limit.saturating_add(1));
    stated.into_iter().chain(counted_bound(of)).min()
}

/// Returns the bound of a loop that counts from a constant to a constant.
fn counted_bound(of: &Loop<'_>) -> Option<u32> {
    let condition = &of.payload.condition;
    let (Op::Compare(op), Some(param), Some(limit)) = (condition.op(), condition.operand(0), condition.operand(1))
    else {
        return None;
    };
    let limit = limit.literal()?;
    let is_state = |&position: &usize| of.states()[position].param.is_same(&param);
    let position = (0..of.states().len()).find(is_state)?;
    let (begin, stride) = (of.states()[position].init.literal()?, Affine::of(of, position)?.stride()?);
    let end = match op {
        CompareOp::Lt => limit,
        CompareOp::Le => limit.checked_add(1)?,
        _ => return None,
    };
    // Upwards from zero, so that signed and unsigned numbers are compared alike.
    let is_upwards = matches!(param.ty(), Type::U32 | Type::I32) && end < 1 << 31 && (1..1 << 16).contains(&stride);
    (is_upwards && begin < 1 << 31).then(|| end.saturating_sub(begin).div_ceil(stride) as u32)
}

/// Returns some states, those that some values of the body read, and all on which their next values depend, in order;
/// without those that iterations do not change.
pub(super) fn closure(of: &Loop<'_>, states: impl IntoIterator<Item = usize>, read: &[Var]) -> Vec<usize> {
    let mut included = vec![false; of.states().len()];
    let mut pending: Vec<usize> = states.into_iter().collect();
    pending.extend(read.iter().flat_map(|value| params_behind(of.payload, value)));
    while let Some(position) = pending.pop() {
        let state = &of.states()[position];
        // The body reads nothing from arrays that it writes to, and knows what it does not change.
        if let Some(next) = state.next.as_ref().filter(|_| !state.is_memory)
            && !std::mem::replace(&mut included[position], true)
        {
            pending.extend(params_behind(of.payload, next));
        }
    }
    of.positions(|position| included[position])
}

/// Returns the states that a value of the body depends on: those that its copy reads.
fn params_behind(payload: &LoopPayload, value: &Var) -> Vec<usize> {
    let mut seen: FxHashSet<NonNull<Node>> = FxHashSet::from_iter([value.address()]);
    let mut pending = vec![value.clone()];
    let mut positions = Vec::new();
    while let Some(var) = pending.pop() {
        if var.region().get() < payload.id.get() {
            continue;
        }
        if var.op() == Op::Param && var.region() == payload.id {
            positions.push(var.position());
        }
        for_each_value_behind(&var, &mut |input| {
            if seen.insert(input.address()) {
                pending.push(input.clone());
            }
        });
    }
    positions
}

/// Calls a function with each value that one is made of. An inner loop's writes to memory are not among them.
fn for_each_value_behind(var: &Var, visit: &mut dyn FnMut(&Var)) {
    let Some(Payload::Loop(inner)) = var.payload() else { return var.for_each_input(visit) };
    visit(&inner.condition);
    for state in inner.states.iter().filter(|state| !state.is_written()) {
        [&state.init].into_iter().chain(&state.next).for_each(&mut *visit);
    }
}
