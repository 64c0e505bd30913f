//! Traversals in the body of a recorded loop.
//!
//! Each iteration of each lane adds to the gradients of what it reads from outside: to a sum of the lane, or to the
//! elements of an array in memory that it gathers from. The sums are states of the loop. When it is complete, they flow
//! on from the values outside, in the region around it: to variables, or into the sums of another loop. Nothing outside
//! is released.

use std::rc::Rc;

use jit_runtime::ir::ReduceOp;
use jit_runtime::{Error, ErrorKind};

use super::loops::{self, Body, Uses};
use super::node::summed;
use super::reverse::Gradients;
use super::traversal::{self, Keep, on_lanes};
use super::vertex::{Value, Vertex, carries, key_of, order_from};
use crate::graph::Var;
use crate::graph::gradients::Scope;
use crate::graph::op::Op;
use crate::graph::payload::RegionId;
use crate::misuse::{self, Misuse};
use crate::size::Size;
use crate::trace::report::Report;
use crate::trace::{local, record, reduce, region};

/// Lets gradients flow from values of the body of the innermost open loop. Returns the gradients of variables of the
/// body; `None` if there are no variables at all.
#[track_caller]
pub(super) fn flow(id: RegionId, seeds: &[(Var, Var)]) -> Result<Option<Vec<(Var, Var)>>, Error> {
    let is_end = |var: &Var| is_param(var, id) || var.region().get() < id.get();
    let roots: Vec<Vertex> = seeds.iter().map(|(var, _)| Vertex::of(var)).collect();
    let uses = Uses::begin(&roots);
    let vertices = order_from(roots, &is_end)?;
    let uses = uses.in_order(&vertices, &is_end)?;
    let ends = vertices.iter().filter_map(|vertex| match vertex {
        Vertex::Value(Value { var, .. }) if is_end(var) && carries(var) => Some(var.clone()),
        _ => None,
    });
    let ends: Vec<Var> = ends.collect();
    ends.iter().filter(|end| local::is_local(end)).try_for_each(refuse_local)?;
    let variables: Vec<&Var> = vertices.iter().filter_map(traversal::variable).filter(|var| !is_end(var)).collect();
    if ends.is_empty() && variables.is_empty() {
        return Ok(None);
    }
    let _suspended = Scope::begin(true);
    let width = seeds.iter().map(|(var, _)| var.width()).find(|width| *width != 1).unwrap_or(Size::from(1));
    let gathered = ends.iter().filter(|end| uses.is_gathered(end));
    let mut arrays: Vec<(&Var, Report)> = gathered.map(|array| (array, array_sum(array))).collect();
    // The body alone has them while gradients flow.
    let lent: Vec<(Var, Var)> =
        arrays.iter_mut().filter_map(|(array, sum)| Some(((*array).clone(), sum.arrays.pop()?))).collect();
    let mut body = Body::new(width, lent);
    body.ends = ends.iter().map(key_of).collect();
    let mut gradients = Gradients::in_body(body, &Rc::default());
    seeds.iter().for_each(|(var, seed)| gradients.add(var, seed.clone()));
    gradients.flow(&vertices)?;
    for (array, mut sum) in arrays {
        sum.arrays.extend(gradients.body.as_mut().and_then(|body| body.take_array(array)));
        region::add_report(sum);
    }
    for end in ends {
        if let Some(flow) = gradients.take(&end, None, width)? {
            add_to_lanes(end, id, flow);
        }
    }
    Ok(Some(variables.into_iter().filter_map(|var| Some((var.clone(), gradients.of(var)?))).collect()))
}

/// Returns whether a value is a state of a loop at the begin of an iteration.
fn is_param(var: &Var, id: RegionId) -> bool {
    var.op() == Op::Param && var.region() == id
}

/// Begins the sums of the gradients of an array's elements.
#[track_caller]
fn array_sum(array: &Var) -> Report {
    let (of, zeros) = (array.clone(), record::literal(array.ty(), 0, array.width()));
    Report::array_sum(zeros, array.region(), move |_, sum| flow_on(of, sum.clone()))
}

/// Adds a gradient of each lane to the sums of the lanes.
#[track_caller]
fn add_to_lanes(var: Var, id: RegionId, flow: Var) {
    let flow = on_lanes(&flow, flow.clone());
    let mut sum = Report::lane_sum(var.ty(), move |control, sum| match is_param(&var, id) {
        true => state_before(control, &var).into_iter().for_each(|init| flow_on(init, sum.clone())),
        false => flow_on(var, sum.clone()),
    });
    sum.arrays[0] = summed(&sum.arrays[0], &flow);
    region::add_report(sum);
}

/// Lets the sum of a complete loop flow on from a value outside.
#[track_caller]
fn flow_on(var: Var, sum: Var) {
    if !carries(&var) {
        return;
    }
    let is_inside = region::innermost_loop() != RegionId::NONE;
    let is_shared = !is_inside && var.width() == 1 && sum.width() != 1;
    let sum = if is_shared { reduce::reduce(ReduceOp::Add, &sum) } else { sum };
    traversal::flow_from(&[(var, sum)], Keep::Graph).unwrap_or_else(|error| misuse::panic_with(error));
}

/// Returns the value before the loop of a state that gradients have flowed to, if any flow there.
#[track_caller]
fn state_before(control: &Var, param: &Var) -> Option<Var> {
    let (init, is_changed, carries) = loops::state(control, param.position());
    if carries && is_changed {
        let what = "a traversal in a traced loop reaches a state that carries gradients from one iteration to the next";
        Misuse::new(what, param.site()).value("the state", init).hint(HINT).panic();
    }
    Some(init.clone()).filter(|_| !is_changed)
}

const HINT: &str = "differentiate after the loop, or use `ad::grad` in it";

#[cold]
fn refuse_local(var: &Var) -> Result<(), Error> {
    let what = "gradients of a traversal in a traced loop do not flow to per-lane local memory from before it";
    Err(Error::new(ErrorKind::InvalidArgument, what).at(var.site()).with_hint(HINT))
}
