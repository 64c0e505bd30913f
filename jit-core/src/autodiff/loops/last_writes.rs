//! Arrays whose elements a loop overwrites.
//!
//! The gradient of an element flows to the write whose value is there after the loop: of several with that value, to
//! one. Which one it is does not change where gradients are differentiated themselves, so it is found first: the loop
//! runs once more, and each lane numbers its writes. An element has the largest number of those with its value. Going
//! back, lanes count down, and so find the numbers of their writes again.

use jit_runtime::Error;
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type};

use super::block::{minus, plus};
use super::history::closure;
use super::parts::Loop;
use super::{record_run, writes};
use crate::graph::Var;
use crate::graph::payload::{How, Write};
use crate::size::Size;
use crate::trace::scatter::{self, Request};
use crate::trace::{gather, record};

/// The writes whose values are in an array after a loop.
#[derive(Clone)]
pub(super) struct LastWrites {
    /// For each element the number of the write, from 1; 0 where there is none.
    numbers: Var,
    /// The number of writes of each lane up to here.
    pub(super) count: Var,
    /// The number of lanes.
    width: Size,
}

impl LastWrites {
    /// Numbers the writes of a loop, for an array with its contents after the loop.
    #[track_caller]
    pub(super) fn of(control: &Var, position: usize, after: &Var) -> Result<LastWrites, Error> {
        let of = Loop::new(control, None);
        let array = &of.states()[position].init;
        let before = LastWrites { numbers: literal(0, array.width()), count: literal(0, 1), width: of.width };
        number(&of, position, after, before)
    }

    /// Returns values that are never computed, in place of the last writes to an array.
    pub(super) fn placeholder(array: &Var, width: Size) -> LastWrites {
        let like = |width| record::placeholder(Type::U64, width);
        LastWrites { numbers: like(array.width()), count: like(Size::from(1)), width }
    }

    fn from_states(states: Vec<Var>, width: Size) -> LastWrites {
        let [numbers, count] = <[Var; 2]>::try_from(states).expect("they are two states of a loop");
        LastWrites { numbers, count, width }
    }

    /// Adds a write.
    #[track_caller]
    fn add(&mut self, after: &Var, index: &Var, value: &Var, mask: Option<&Var>) {
        self.count = plus(&self.count, &literal(1, 1));
        let is_there = record::compare(CompareOp::Eq, &gather::gather(after, index, mask), value);
        let mask = mask.map_or_else(|| is_there.clone(), |mask| record::and(mask, &is_there));
        let how = How::Reduce(ReduceOp::Max);
        let request = Request { how, index, value: &self.number(), expected: None, mask: Some(&mask) };
        scatter::scatter(&mut self.numbers, &request);
    }

    /// Goes back before a write of each lane; returns where its value is in the array.
    #[track_caller]
    pub(super) fn undo(&mut self, index: &Var, mask: Option<&Var>) -> Var {
        let number = self.number();
        self.count = minus(&self.count, &literal(1, 1));
        record::compare(CompareOp::Eq, &gather::gather(&self.numbers, index, mask), &number)
    }

    /// Goes back before all writes of an inner loop.
    #[track_caller]
    pub(super) fn pass(&mut self, control: &Var, position: usize) -> Result<(), Error> {
        let count = count(&Loop::new(control, Some(self.width)), position, literal(0, 1))?;
        self.count = minus(&self.count, &count);
        Ok(())
    }

    /// Returns the elements that the loop does not overwrite.
    #[track_caller]
    pub(super) fn unwritten(&self) -> Var {
        record::compare(CompareOp::Eq, &self.numbers, &literal(0, 1))
    }

    /// Returns the number of the last write of each lane.
    #[track_caller]
    fn number(&self) -> Var {
        let before = minus(&self.count, &literal(1, 1));
        let first = record::binary(BinaryOp::Mul, &before, &record::size_as(Type::U64, self.width));
        let lane = record::cast(Type::U64, &record::lane_index(self.width));
        plus(&plus(&first, &lane), &literal(1, 1))
    }
}

/// Numbers the writes of all iterations of a loop.
#[track_caller]
fn number(of: &Loop<'_>, position: usize, after: &Var, before: LastWrites) -> Result<LastWrites, Error> {
    let mut read = writes::inputs(of.payload, position);
    read.push(of.payload.condition.clone());
    let run = closure(of, [], &read);
    let width = before.width;
    let inits = run.iter().map(|&position| of.init(position));
    let states: Vec<Var> = inits.chain([before.numbers, before.count]).collect();
    let mut results = record_run(
        &states,
        (of.site, of.bound_of_run(&run, 0)),
        |states| of.condition(&run, &states[..run.len()]),
        |mut states| {
            let mut last = LastWrites::from_states(states.split_off(run.len()), width);
            let mut copy = of.copy_with_writes(&run, &states);
            for write in writes::of(of.payload, position).iter().rev() {
                last = match copy.write(write)? {
                    Write::Scatter { index, value, mask, .. } => {
                        last.add(after, &index, &value, mask.as_ref());
                        last
                    }
                    Write::Loop { control, position } => {
                        number(&Loop::new(&control, Some(width)), position, after, last)?
                    }
                };
            }
            Ok(of.step(&run, &states)?.into_iter().chain([last.numbers, last.count]).collect())
        },
    )?;
    Ok(LastWrites::from_states(results.split_off(run.len()), width))
}

/// Adds the number of the writes that each lane makes in all iterations of a loop.
#[track_caller]
fn count(of: &Loop<'_>, position: usize, before: Var) -> Result<Var, Error> {
    let all = writes::of(of.payload, position);
    let loops: Vec<Var> = all.iter().filter_map(control_of).collect();
    let run = closure(of, [], &loops.into_iter().chain([of.payload.condition.clone()]).collect::<Vec<_>>());
    let inits = run.iter().map(|&position| of.init(position));
    let states: Vec<Var> = inits.chain([record::broadcast(&before, of.width)]).collect();
    let mut results = record_run(
        &states,
        (of.site, of.bound_of_run(&run, 0)),
        |states| of.condition(&run, &states[..run.len()]),
        |mut states| {
            let mut sum = states.pop().expect("the last state is the number");
            let mut copy = of.copy_with_writes(&run, &states);
            for write in &all {
                sum = match write {
                    Write::Scatter { .. } => plus(&sum, &literal(1, 1)),
                    Write::Loop { .. } => match copy.write(write)? {
                        Write::Loop { control, position } => {
                            count(&Loop::new(&control, Some(of.width)), position, sum)?
                        }
                        Write::Scatter { .. } => sum,
                    },
                };
            }
            Ok(of.step(&run, &states)?.into_iter().chain([sum]).collect())
        },
    )?;
    Ok(results.pop().expect("the last result is the number"))
}

fn control_of(write: &Write) -> Option<Var> {
    match write {
        Write::Loop { control, .. } => Some(control.clone()),
        Write::Scatter { .. } => None,
    }
}

#[track_caller]
fn literal(value: u64, width: impl Into<Size>) -> Var {
    record::literal(Type::U64, value, width)
}
