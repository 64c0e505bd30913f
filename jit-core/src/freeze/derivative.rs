//! The derivative of a call of a frozen function: a frozen function of its own.
//!
//! It takes the arguments of the call and the gradients of the results, runs the body again on variables, and returns
//! the gradients of the arguments; in forward mode it takes and returns tangents. So a differentiated program replays,
//! too: one recording for the call, and one for its derivative. The derivative may be differentiated itself, by the
//! same means.

use std::sync::{Arc, OnceLock};

use jit_runtime::ir::Type;
use jit_runtime::{Error, Site};
use parking_lot::Mutex;

use super::again::{Again, Body};
use super::argument::{Arguments, Visit};
use super::call;
use super::flows::{Flows, Status};
use super::function::{Function, Options};
use super::layout::Layout;
use crate::autodiff::Called;
use crate::capture::launches;
use crate::graph::Var;
use crate::graph::gradients::{self, Scope};
use crate::graph::tape::{self, Call, Flow, Rule};
use crate::trace::record;
use crate::traverse::{HostValue, Traverse, Visitor, VisitorMut};

/// The derivatives of a function.
pub(super) struct Derivatives {
    backward: Function,
    forward: Function,
}

impl Derivatives {
    /// Returns the derivatives of a function, which are made when they are wanted first.
    pub(super) fn of<'a>(place: &'a OnceLock<Arc<Derivatives>>, function: &Function) -> &'a Arc<Derivatives> {
        place.get_or_init(|| {
            let options = Options { budget: None, ..function.options };
            let [backward, forward] = [&["call", "gradients"], &["call", "tangents"]]
                .map(|names| Function::at(function.site, function.name, names, options).derived_from(function));
            Arc::new(Derivatives { backward, forward })
        })
    }

    /// Discards all recordings.
    pub(super) fn clear(&self) {
        self.backward.clear();
        self.forward.clear();
    }
}

/// Where the arrays of a call come from when it runs again.
#[derive(Clone, Copy)]
enum Source {
    /// The value that gradients flow to with this position.
    Input(u32),
    /// The saved value with this position.
    Saved(u32),
}

/// What is differentiated, by what.
struct Map {
    /// The source of each array of the arguments that can be replaced.
    sources: Vec<Source>,
    /// The number of arguments that gradients flow to.
    inputs: usize,
    /// The positions among the returned arrays of variables that the body makes, to which gradients flow, too.
    variables: Vec<u32>,
    /// The positions of the results.
    results: Vec<u32>,
    /// Whether traversals in the body store gradients.
    has_traversals: bool,
}

/// The derivative of one call.
pub(super) struct Derivative {
    derivatives: Arc<Derivatives>,
    call: Box<dyn Again>,
    map: Map,
    inputs: Vec<Var>,
    saved: Vec<Var>,
}

impl Derivative {
    /// Describes the derivative of a call with copies of its arguments.
    pub(super) fn new(
        derivatives: &Arc<Derivatives>,
        mut call: Box<dyn Again>,
        layout: &Layout,
        flows: &Flows,
    ) -> Self {
        let (mut inputs, mut saved) = (Vec::new(), Vec::new());
        let mut sources = vec![None; layout.inputs.len()];
        let source = |position: usize| {
            let input = &layout.inputs[position];
            *sources[position].get_or_insert_with(|| {
                let (list, source): (&mut Vec<Var>, fn(u32) -> Source) =
                    if input.carries { (&mut inputs, Source::Input) } else { (&mut saved, Source::Saved) };
                list.push(input.var.clone());
                source(list.len() as u32 - 1)
            })
        };
        let sources = layout.order.iter().map(|&position| position as usize).map(source).collect();
        // Arrays belong to the operation, which is freed without recursion.
        call.lend(&mut VisitorMut::new(&mut |_, var| *var = record::literal(var.ty(), 0, var.lanes())));
        let positions = |wanted: Status| {
            let all = (0..).zip(&flows.leaves).filter(move |(_, status)| **status == wanted);
            all.map(|(position, _)| position).collect()
        };
        let (variables, results) = (positions(Status::Variable), positions(Status::Result));
        let map = Map { sources, inputs: inputs.len(), variables, results, has_traversals: flows.has_traversals() };
        Derivative { derivatives: Arc::clone(derivatives), call, map, inputs, saved }
    }

    /// Gives the results of the call, among the returned arrays, their derivative.
    pub(super) fn attach(self, values: &mut [Var], site: Site) {
        let Derivative { derivatives, call, map, mut inputs, saved } = self;
        inputs.extend(map.variables.iter().map(|&position| values[position as usize].clone()));
        let places = map.results.clone();
        let results: Vec<Var> = places.iter().map(|&position| values[position as usize].clone()).collect();
        let types = results.iter().map(Var::ty).collect();
        let rule = || -> Box<dyn Rule> { Box::new(FrozenRule { derivatives, call, map: Arc::new(map), types }) };
        for (position, result) in places.into_iter().zip(tape::attach(&results, inputs, saved, rule, site)) {
            values[position as usize] = result;
        }
    }
}

/// The derivative of a call as the derivative of an operation.
struct FrozenRule {
    derivatives: Arc<Derivatives>,
    /// The call, with constants in place of its arrays.
    call: Box<dyn Again>,
    map: Arc<Map>,
    /// The types of the results.
    types: Vec<Type>,
}

impl FrozenRule {
    /// Returns the arguments of the derivative.
    fn arguments(&self, call: &Call, flows: Vec<Var>) -> Differentiated {
        let (mut again, mut sources) = (self.call.copy(), self.map.sources.iter());
        // Gradients flow through them only if those of the derivative are wanted.
        let is_final = gradients::is_suspended();
        again.lend(&mut VisitorMut::new(&mut |_, var| match sources.next() {
            Some(Source::Input(position)) if is_final => *var = record::detached(&call.inputs[*position as usize]),
            Some(Source::Input(position)) => *var = call.inputs[*position as usize].clone(),
            Some(Source::Saved(position)) => *var = call.saved[*position as usize].clone(),
            None => {}
        }));
        Differentiated { call: again, map: Arc::clone(&self.map), flows: Leaves(flows), failure: Arc::default() }
    }
}

impl Rule for FrozenRule {
    fn name(&self) -> &str {
        self.derivatives.backward.name
    }

    #[track_caller]
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let zero = |ty| record::literal(ty, 0, 1);
        let flows = gradients.iter().zip(&self.types).map(|(flow, ty)| flow.clone().unwrap_or_else(|| zero(*ty)));
        let arguments = self.arguments(call, flows.collect());
        let run = |arguments: &mut Differentiated| arguments.backward().unwrap_or_else(|error| arguments.fail(error));
        arguments.call(&self.derivatives.backward, run)
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let zero = |input: &Var| record::literal(input.ty(), 0, 1);
        let flows = tangents.iter().zip(&call.inputs).map(|(flow, input)| flow.clone().unwrap_or_else(|| zero(input)));
        let arguments = self.arguments(call, flows.collect());
        let run = |arguments: &mut Differentiated| arguments.forward().unwrap_or_else(|error| arguments.fail(error));
        arguments.call(&self.derivatives.forward, run)
    }
}

/// Arrays without names.
#[derive(Clone)]
struct Leaves(Vec<Var>);

impl Traverse for Leaves {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Shape(self.0.len()));
        self.0.iter().for_each(|var| visitor.array(var));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.0.iter_mut().for_each(|var| visitor.array(var));
    }
}

/// The arguments of a derivative: a call, and gradients of its results or tangents of its arguments.
struct Differentiated {
    call: Box<dyn Again>,
    map: Arc<Map>,
    flows: Leaves,
    /// Why the derivative could not be recorded.
    failure: Arc<Mutex<Option<Error>>>,
}

impl Differentiated {
    /// Calls the derivative.
    #[track_caller]
    fn call(self, function: &Function, run: fn(&mut Differentiated) -> Leaves) -> Result<Flow, Error> {
        let (of, failure, mut own) = (self.call.of(), Arc::clone(&self.failure), self.proxies());
        let found = call::call_of(function, of, self, (run, Some(Body::Function(run))), Site::here())?;
        let Leaves(found) = found.unwrap_or_else(|| run(&mut own));
        let failure = failure.lock().take();
        failure.map_or_else(|| Ok(found.into_iter().map(Some).collect()), Err)
    }

    /// Ends a derivative that cannot be computed.
    #[cold]
    fn fail(&self, error: Error) -> Leaves {
        launches::give_up(|| error.to_string());
        self.failure.lock().get_or_insert(error);
        Leaves(Vec::new())
    }

    /// Returns the gradients of what the call depends on.
    #[track_caller]
    fn backward(&mut self) -> Result<Leaves, Error> {
        let called = self.run()?;
        called.pull_back(&self.flows.0).map(Leaves)
    }

    /// Returns the tangents of the results.
    #[track_caller]
    fn forward(&mut self) -> Result<Leaves, Error> {
        let called = self.run()?;
        called.push_forward(&self.flows.0).map(Leaves)
    }

    /// Runs the body on arguments by which it is differentiated.
    #[track_caller]
    fn run(&mut self) -> Result<Called, Error> {
        let _recording = Scope::begin(false);
        let Map { sources, inputs, variables, results, has_traversals } = &*self.map;
        let mut called = Called::begin();
        let (mut arguments, mut sources) = (vec![None; *inputs], sources.iter());
        self.call.lend(&mut VisitorMut::new(&mut |_, var| {
            if let Some(Source::Input(position)) = sources.next() {
                let argument = &mut arguments[*position as usize];
                *var = argument.get_or_insert_with(|| called.argument(var, *has_traversals)).clone();
            }
        }));
        let leaves = self.call.run();
        let leaf = |position: &u32| leaves[*position as usize].clone();
        let arguments = arguments.into_iter().flatten().chain(variables.iter().map(leaf));
        called.end(arguments, results.iter().map(leaf).collect())?;
        Ok(called)
    }
}

impl Arguments for Differentiated {
    type Proxies = Differentiated;

    fn show(&self, names: &[&'static str], visit: &mut Visit<'_>) {
        visit(false, &mut |visitor| visitor.named(names[0], |visitor| Self::show_call(self, visitor)));
        visit(false, &mut |visitor| visitor.named(names[1], |visitor| self.flows.traverse(visitor)));
    }

    fn proxies(&self) -> Differentiated {
        Self::copies(self)
    }

    fn copies(proxies: &Differentiated) -> Differentiated {
        let Differentiated { call, map, flows, failure } = proxies;
        let (map, failure) = (Arc::clone(map), Arc::clone(failure));
        Differentiated { call: call.copy(), map, flows: flows.clone(), failure }
    }

    fn show_copies(proxies: &Differentiated, visitor: &mut Visitor<'_>) {
        Self::show_call(proxies, visitor);
        proxies.flows.traverse(visitor);
    }

    fn show_proxies(proxies: &Differentiated, visit: &mut Visit<'_>) {
        visit(false, &mut |visitor| Self::show_copies(proxies, visitor));
    }

    fn lend_proxies(proxies: &mut Differentiated, visitor: &mut VisitorMut<'_>) {
        proxies.call.lend(visitor);
        proxies.flows.traverse_mut(visitor);
    }

    fn lend_changed(_: &mut Differentiated, _: &mut VisitorMut<'_>) {}

    fn put(&mut self, _: &Differentiated, _: bool, _: &mut VisitorMut<'_>) {}
}

impl Differentiated {
    /// Visits the call, and what is differentiated by what.
    fn show_call(&self, visitor: &mut Visitor<'_>) {
        self.call.show(visitor);
        let Map { sources, inputs, variables, results, has_traversals } = &*self.map;
        let mut number = |number: usize| visitor.host(HostValue::Shape(number));
        for source in sources {
            number(match source {
                Source::Input(position) => *position as usize,
                Source::Saved(_) => usize::MAX,
            });
        }
        number(*inputs);
        for positions in [variables, results] {
            number(positions.len());
            positions.iter().for_each(|&position| number(position as usize));
        }
        number(usize::from(*has_traversals));
    }
}
