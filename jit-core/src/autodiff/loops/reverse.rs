//! Reverse mode: the iterations run from the last to the first.

use std::rc::Rc;

use jit_runtime::Error;

use super::super::memory;
use super::super::node::fitted;
use super::super::reverse::Gradients;
use super::Body;
use super::adjoint::{Adjoint, Gradient};
use super::analysis::{Flows, flows};
use super::history::History;
use super::parts::Loop;
use super::writes::Written;
use crate::graph::Var;
use crate::trace::{local, record};

/// Lets gradients flow from the results of a loop to the values before it and to those that its body reads.
#[track_caller]
pub(in crate::autodiff) fn backward(
    gradients: &mut Gradients,
    control: &Var,
    results: &[Option<Var>],
) -> Result<(), Error> {
    let of = Loop::new(control, gradients.body.as_ref().map(|body| body.width));
    let count = of.states().len();
    let written: Vec<Option<Written>> = (0..count).map(|position| gradients.take_written(control, position)).collect();
    let result = |position: usize| results.get(position).cloned().flatten();
    let seeded: Vec<bool> =
        (0..count).map(|position| written[position].is_some() || result(position).is_some()).collect();
    if !seeded.contains(&true) {
        return Ok(());
    }
    let flows = flows(of.payload, &seeded)?;
    let is_inside = gradients.body.is_some();
    let known = Rc::clone(&gradients.known);
    let adjoint = Adjoint { of: &of, flows: &flows, known: &known };
    let history = History::record(&of, &adjoint.used()?)?;
    let layout = Layout::new(&of, &flows, &written);
    let mut carried: Vec<Var> =
        layout.states.iter().map(|&position| seed(&of, position, result(position), is_inside)).collect();
    carried.extend(layout.read.iter().map(|&place| {
        let var = &flows.outside[place].var;
        zeros(var, local::len_of(var), &of)
    }));
    for &place in &layout.gathered {
        let array = &flows.outside[place].var;
        carried.push(match gradients.body.as_mut() {
            Some(body) => body.lend(array),
            None => record::literal(array.ty(), 0, array.width()),
        });
    }
    let last_writes = |&position: &usize| written[position].as_ref()?.last.as_ref();
    carried.extend(layout.overwritten.iter().filter_map(last_writes).map(|last| last.count.clone()));
    let step = |values: Vec<Option<Var>>, carried: Vec<Var>| layout.step(&adjoint, &written, &values, carried);
    let after = history.run_back(&of, carried, step)?;
    layout.deliver(gradients, &of, &flows, written, after)
}

/// Returns the gradient of a state after the loop, for each lane.
#[track_caller]
fn seed(of: &Loop<'_>, position: usize, result: Option<Var>, is_inside: bool) -> Var {
    let init = &of.states()[position].init;
    let len = of.len(position);
    let Some(gradient) = result else { return zeros(init, len, of) };
    if len.is_some() || gradient.width() == of.width {
        return gradient;
    }
    if is_inside {
        return record::broadcast(&gradient, of.width);
    }
    // Lanes share the result: one of them stands for all.
    let first = super::block::is_below(&record::lane_index(of.width), &super::block::number(1));
    record::select(&first, &gradient, &record::literal(gradient.ty(), 0, 1))
}

/// Returns the gradient zero of a value, for each lane.
#[track_caller]
fn zeros(like: &Var, len: Option<u32>, of: &Loop<'_>) -> Var {
    match len {
        Some(len) => memory::zeros(like.ty(), len, of.width),
        None => record::literal(like.ty(), 0, of.width),
    }
}

/// The gradients that iterations hand on, in order.
struct Layout {
    /// The positions of the states.
    states: Vec<usize>,
    /// The places of the outer values that lanes read.
    read: Vec<usize>,
    /// The places of the outer arrays that the body gathers from.
    gathered: Vec<usize>,
    /// The positions of the arrays that the loop overwrites, whose writes are counted down.
    overwritten: Vec<usize>,
}

impl Layout {
    fn new(of: &Loop<'_>, flows: &Flows, written: &[Option<Written>]) -> Layout {
        let places = |is: &dyn Fn(usize) -> bool| (0..flows.outside.len()).filter(|&place| is(place)).collect();
        Layout {
            states: of.positions(|position| flows.relevant[position] && !of.states()[position].is_memory),
            read: places(&|place| flows.outside[place].is_read),
            gathered: places(&|place| flows.outside[place].is_gathered),
            overwritten: of.positions(|position| written[position].as_ref().is_some_and(|of| of.last.is_some())),
        }
    }

    /// Records the derivative of an iteration; returns what it hands on.
    #[track_caller]
    fn step(
        &self,
        adjoint: &Adjoint<'_>,
        written: &[Option<Written>],
        values: &[Option<Var>],
        carried: Vec<Var>,
    ) -> Result<Vec<Var>, Error> {
        let (of, flows) = (adjoint.of, adjoint.flows);
        let mut carried = carried.into_iter();
        let mut after = Gradient {
            states: vec![None; of.states().len()],
            outside: vec![None; flows.outside.len()],
            written: written.to_vec(),
        };
        for &position in &self.states {
            after.states[position] = carried.next();
        }
        for &place in &self.read {
            after.outside[place] = carried.next();
        }
        let arrays: Vec<Var> = carried.by_ref().take(self.gathered.len()).collect();
        let arrays = self.gathered.iter().map(|&place| flows.outside[place].var.clone()).zip(arrays);
        let body = Body::new(of.width, arrays);
        self.set_counts(&mut after.written, carried);
        let (before, mut body) = adjoint.record(values, after, body)?;
        let state = |&position: &usize| {
            let zero = || zeros(&of.states()[position].init, of.len(position), of);
            before.states[position].clone().unwrap_or_else(zero)
        };
        let mut next: Vec<Var> = self.states.iter().map(state).collect();
        let outside = |&place: &usize| before.outside[place].clone().expect("what has come in goes out");
        next.extend(self.read.iter().map(outside));
        next.extend(self.gathered.iter().filter_map(|&place| body.take_array(&flows.outside[place].var)));
        let last_writes = |&position: &usize| before.written[position].as_ref()?.last.as_ref();
        next.extend(self.overwritten.iter().filter_map(last_writes).map(|last| last.count.clone()));
        Ok(next)
    }

    /// Sets the numbers of writes up to an iteration.
    fn set_counts(&self, written: &mut [Option<Written>], counts: impl Iterator<Item = Var>) {
        for (&position, count) in self.overwritten.iter().zip(counts) {
            if let Some(last) = written[position].as_mut().and_then(|written| written.last.as_mut()) {
                last.count = count;
            }
        }
    }

    /// Lets what has arrived before the first iteration flow on.
    #[track_caller]
    fn deliver(
        &self,
        gradients: &mut Gradients,
        of: &Loop<'_>,
        flows: &Flows,
        mut written: Vec<Option<Written>>,
        after: Vec<Var>,
    ) -> Result<(), Error> {
        let mut after = after.into_iter();
        let is_inside = gradients.body.is_some();
        let fit = |flow: Var, len: Option<u32>, input: &Var| match len {
            None if !is_inside => fitted(&flow, of.control, input),
            _ => flow,
        };
        for (&position, flow) in self.states.iter().zip(after.by_ref()) {
            let init = &of.states()[position].init;
            if super::super::vertex::carries(init) && gradients.is_wanted(init) {
                gradients.add(init, fit(flow, of.len(position), init));
            }
        }
        for (&place, flow) in self.read.iter().zip(after.by_ref()) {
            let var = &flows.outside[place].var;
            if !gradients.is_wanted(var) {
                continue;
            }
            gradients.add(var, fit(flow, local::len_of(var), var));
        }
        for (&place, flow) in self.gathered.iter().zip(after.by_ref()) {
            let array = &flows.outside[place].var;
            match gradients.body.as_mut() {
                Some(body) => body.give_back(array, flow),
                None => gradients.add(array, flow),
            }
        }
        self.set_counts(&mut written, after);
        for (position, written) in written.into_iter().enumerate() {
            let Some(written) = written else { continue };
            let array = &of.states()[position].init;
            if is_inside {
                gradients.set_written(of.control, position, written);
            } else if super::super::vertex::carries(array) {
                gradients.add(array, written.before(array));
            }
        }
        Ok(())
    }
}
