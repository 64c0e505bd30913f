//! Derivatives of functions: nothing is stored, and they nest to any order.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use jit_runtime::{Error, ErrorKind, Site};

use super::earlier::{is_earlier, mark_captured};
use super::form::with_arrays;
use super::forward::Tangents;
use super::isolate::is_allowed;
use super::loss::Loss;
use super::reverse::Gradients;
use super::vertex::{Source, Value, Vertex, carries, leading_to, order_to};
use super::{traversal, weight};
use crate::graph::Var;
use crate::graph::gradients::{self, Scope};
use crate::graph::op::Op;
use crate::graph::tape::{self, Tape};
use crate::misuse;
use crate::trace::record;
use crate::traverse::{Traverse, VisitorMut, owned_arrays};

/// The number of functions that have been differentiated.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Begins a call with a copy of a value each of whose float arrays is an argument. Returns the copy and all its arrays.
#[track_caller]
fn arguments<X: Traverse + Clone>(x: &X) -> (X, Called, Vec<Var>) {
    let (called, mut arguments, mut copy) = (Called::begin(), Vec::new(), x.clone());
    copy.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
        if var.ty().is_float() {
            *var = called.argument(var, false);
        }
        arguments.push(var.clone());
    }));
    (copy, called, arguments)
}

/// Calls a function that is to be differentiated. Its values carry gradients also where others do not, as in operations
/// with derivatives of their own; its derivatives do not there.
pub(super) fn recorded<Y>(function: impl FnOnce() -> Y) -> Y {
    let _resumed = gradients::is_suspended().then(|| Scope::begin(false));
    function()
}

/// Calls a function that is to be differentiated, by the arrays of its argument and by others that it captures. Returns
/// what it returns, too.
#[track_caller]
pub(super) fn called_with<X, Y>(function: impl FnOnce(&X) -> Y, x: &X, captured: &[Var]) -> Result<(Y, Called), Error>
where
    X: Traverse + Clone,
    Y: Traverse,
{
    let (copy, mut called, arguments) = arguments(x);
    let result = recorded(|| function(&copy));
    drop(copy);
    called.has_older_arguments = !captured.is_empty();
    called.end(arguments.into_iter().chain(captured.iter().cloned()), owned_arrays(&result))?;
    Ok((result, called))
}

/// Returns the vertices between the results of a function and its arguments. States of a traced loop around it, and
/// values that are older than the call, cannot depend on the arguments: nothing behind them is among the vertices.
fn between(results: &[Var], arguments: &[Var], call: u64) -> Result<Vec<Vertex>, Error> {
    let is_argument = |var: &Var| arguments.iter().any(|argument| argument.is_same(var));
    order_to(results, &|var| is_state(var) || is_argument(var) || is_earlier(var, call))
}

fn is_state(var: &Var) -> bool {
    var.op() == Op::Param
}

fn without_states(mut vertices: Vec<Vertex>) -> Vec<Vertex> {
    vertices.retain(|vertex| match vertex {
        Vertex::Value(Value { source: Source::Operands(node), .. }) => !is_state(node),
        _ => true,
    });
    vertices
}

/// A function that has been called, to be differentiated.
pub(crate) struct Called {
    /// Functions that are called inside of this one have larger numbers.
    number: u64,
    arguments: Vec<Var>,
    results: Vec<Var>,
    pub(super) vertices: Vec<Vertex>,
    is_nested: bool,
    /// Whether there are arguments from before the call.
    has_older_arguments: bool,
    /// Where the host has read a value before the call.
    read_before: Option<Site>,
}

impl Called {
    /// Begins a call.
    pub(crate) fn begin() -> Called {
        let number = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        let (arguments, results, vertices) = (Vec::new(), Vec::new(), Vec::new());
        let read_before = gradients::replace_read(None);
        Called { number, arguments, results, vertices, is_nested: false, has_older_arguments: false, read_before }
    }

    /// Returns a value as an argument by which the function is differentiated. With `is_variable`, gradients of
    /// traversals in the function are stored behind it, and lost.
    #[track_caller]
    pub(crate) fn argument(&self, var: &Var, is_variable: bool) -> Var {
        let site = Site::here();
        let argument = Tape::Argument(self.number);
        match is_variable && !carries(var) {
            true => tape::taped(&tape::taped(var, Tape::Variable, site), argument, site),
            false => tape::taped(var, argument, site),
        }
    }

    /// Ends a call.
    ///
    /// # Errors
    ///
    /// When the results are computed through something that has no derivative, or by the host.
    #[track_caller]
    pub(crate) fn end(&mut self, arguments: impl Iterator<Item = Var>, results: Vec<Var>) -> Result<(), Error> {
        let read = gradients::replace_read(self.read_before.take());
        self.arguments = arguments.collect();
        let vertices = self.between(&results)?;
        if let Some(read) = read.filter(|_| vertices.is_empty() && !is_allowed()) {
            return Err(computed_by_host(read));
        }
        self.is_nested = self.is_nested_by(&vertices);
        self.vertices = without_states(vertices);
        if self.is_nested {
            mark_captured(&self.vertices, &self.arguments, CALLS.load(Ordering::Relaxed))?;
        }
        self.results = results;
        Ok(())
    }

    /// Adds results that are not differentiated by this function. A derivative around it may be; what has none is an
    /// error there.
    fn add_results(&mut self, results: impl Iterator<Item = Var>) {
        let before = self.results.len();
        self.results.extend(results);
        let more = &self.results[before..];
        self.is_nested |= !more.is_empty() && self.between(more).map_or(true, |vertices| self.is_nested_by(&vertices));
    }

    /// Returns the results; gradients flow through them only if they are used by another derivative.
    #[track_caller]
    fn results(&self) -> Vec<Var> {
        match self.is_nested {
            true => self.results.clone(),
            false => self.results.iter().map(record::detached).collect(),
        }
    }

    /// Returns the vertices between some results and the arguments.
    fn between(&self, results: &[Var]) -> Result<Vec<Vertex>, Error> {
        between(results, &self.arguments, self.younger_than())
    }

    /// Returns the number of the call for questions whether a value is older. No value is older than call 0.
    fn younger_than(&self) -> u64 {
        if self.has_older_arguments { 0 } else { self.number }
    }

    /// Returns whether derivatives of the function may be differentiated themselves: it uses variables, or arguments of
    /// a function around it, or is called with values that carry gradients.
    fn is_nested_by(&self, vertices: &[Vertex]) -> bool {
        let (own, youngest) = (self.number, self.younger_than());
        let is_outer = |vertex: &Vertex| match vertex {
            // It carries gradients, and not those of the arguments.
            Vertex::Value(Value { var, .. }) if is_earlier(var, youngest) => true,
            Vertex::Value(Value { source: Source::Variable, .. }) => true,
            Vertex::Value(Value { source: Source::Operands(node), .. }) => is_state(node),
            Vertex::Value(Value { source: Source::Argument(of, call), .. }) => {
                *call < own || *call == own && carries(of)
            }
            _ => false,
        };
        !gradients::is_suspended() && vertices.iter().any(is_outer)
    }

    /// Returns what gradients flow through. A value that was evaluated after the call has its operands on its tape.
    fn vertices(&self) -> Result<Cow<'_, [Vertex]>, Error> {
        let has_changed = |vertex: &Vertex| matches!(vertex, Vertex::Value(value) if value.is_evaluated_since());
        match self.vertices.iter().any(has_changed) {
            true => self.between(&self.results).map(without_states).map(Cow::Owned),
            false => Ok(Cow::Borrowed(&self.vertices)),
        }
    }

    /// Ends a call of a function with a result. Returns the gradients of the arguments; the result carries gradients
    /// from here on only if another derivative uses it.
    #[track_caller]
    pub(super) fn gradients_of(&mut self, result: &mut impl Loss, arguments: Vec<Var>) -> Result<Vec<Var>, Error> {
        self.end(arguments.into_iter(), vec![result.objective()])?;
        self.add_results(owned_arrays(result).into_iter().skip(1));
        let gradients = self.pull_back(&[weight::number(result.objective().ty(), 1.0)])?;
        with_arrays(result, self.results());
        Ok(gradients)
    }

    /// Returns whether gradients flow to the results.
    pub(super) fn has_flow(&self) -> bool {
        !self.vertices.is_empty()
    }

    /// Returns whether another derivative may use the results.
    pub(super) fn is_nested(&self) -> bool {
        self.is_nested
    }

    /// Checks that gradients are like the results.
    pub(super) fn check_seeds(&self, seeds: &[Var], site: Site) -> Result<(), Error> {
        check("gradient", &self.results, seeds, site)
    }

    /// Returns the gradients of the arguments; zeros for those that are no floats.
    #[track_caller]
    pub(crate) fn pull_back(&self, seeds: &[Var]) -> Result<Vec<Var>, Error> {
        let begin = Instant::now();
        let _scope = Scope::begin(gradients::is_suspended() || !(self.is_nested || seeds.iter().any(carries)));
        let mut gradients = Gradients::default();
        for (result, seed) in self.results.iter().zip(seeds).filter(|(result, _)| carries(result)) {
            gradients.add(result, seed.clone());
        }
        let vertices = self.vertices()?;
        gradients.wanted = self.is_nested.then(|| leading_to(&vertices, &self.arguments)).transpose()?;
        gradients.flow(&vertices)?;
        traversal::log("backward", &vertices, begin);
        Ok(self.arguments.iter().map(|argument| final_flow(gradients.of(argument), argument)).collect())
    }

    /// Returns the tangents of the results; zeros for those that are no floats.
    #[track_caller]
    pub(crate) fn push_forward(&self, seeds: &[Var]) -> Result<Vec<Var>, Error> {
        let begin = Instant::now();
        let _scope = Scope::begin(gradients::is_suspended() || !(self.is_nested || seeds.iter().any(carries)));
        let mut tangents = Tangents::default();
        for (argument, seed) in self.arguments.iter().zip(seeds).filter(|(argument, _)| carries(argument)) {
            tangents.set(argument, seed.clone());
        }
        let vertices = self.vertices()?;
        tangents.flow(&vertices)?;
        traversal::log("forward", &vertices, begin);
        Ok(self.results.iter().map(|result| final_flow(tangents.of(result), result)).collect())
    }
}

/// Returns a flow that has arrived; zeros if there is none. It may be a value of the program, through which gradients
/// flow.
#[track_caller]
fn final_flow(flow: Option<Var>, like: &Var) -> Var {
    match flow {
        Some(flow) if gradients::is_suspended() => record::detached(&flow),
        Some(flow) => flow,
        None => record::literal(like.ty(), 0, like.width()),
    }
}

/// Returns the error of a result without gradients, after the host has read a value with gradients.
#[cold]
#[track_caller]
fn computed_by_host(read: Site) -> Error {
    let message = format!("the result does not depend on the argument, but the host has read what does at {read}");
    let hint = "numbers that the host computes are constants: compute the result with arrays; \
        in `ad::allow_no_grad` its derivative is zero";
    Error::new(ErrorKind::InvalidArgument, message).at(Site::here()).with_hint(hint)
}

/// Checks that the arrays of a tangent or gradient are like those that it belongs to.
fn check(what: &str, like: &[Var], given: &[Var], site: Site) -> Result<(), Error> {
    let fits =
        |(like, given): (&Var, &Var)| like.ty() == given.ty() && (given.lanes() == 1 || given.width() == like.width());
    if like.len() == given.len() && like.iter().zip(given).all(fits) {
        return Ok(());
    }
    let shapes = |vars: &[Var]| {
        let each: Vec<String> = vars.iter().map(|var| format!("{} × {}", var.lanes(), var.ty())).collect();
        each.join(", ")
    };
    let message = format!("the {what} is [{}], and belongs to [{}]", shapes(given), shapes(like));
    let hint = "it has the same arrays: equal types, and equal widths or width 1";
    Err(Error::new(ErrorKind::InvalidArgument, message).at(site).with_hint(hint))
}

/// Returns a function that computes the gradient of another one: the derivative of its result, of width 1 or summed
/// over its elements, by each float array of the argument. Other arrays become zeros.
///
/// ```
/// # use jit_core as jit;
/// use jit::{Float, ad};
///
/// let slope = ad::grad(|x: &Float| (x * x * x).sum());
/// let x = Float::from([1.0, 2.0]);
/// assert_eq!(slope(&x)?.to_vec()?, [3.0, 12.0]);
/// // Derivatives are values like others, so they have derivatives.
/// let curvature = ad::grad(|x: &Float| slope(x).unwrap().sum());
/// assert_eq!(curvature(&x)?.to_vec()?, [6.0, 12.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// The function that is returned fails when the value is computed through something that has no derivative; or when it
/// does not depend on the argument, and the host has read a value that does: numbers of the host are constants. In
/// [`allow_no_grad`](super::allow_no_grad) its derivative is zero.
#[track_caller]
pub fn grad<X, L, F>(function: F) -> impl Fn(&X) -> Result<X, Error>
where
    X: Traverse + Clone,
    L: Loss,
    F: Fn(&X) -> L,
{
    let both = value_and_grad(function);
    move |x| both(x).map(|(_, gradient)| gradient)
}

/// Like [`grad`]; also returns the value. With a pair as its result, a function returns more than what is
/// differentiated: see [`Loss`].
///
/// # Errors
///
/// As [`grad`].
#[track_caller]
pub fn value_and_grad<X, L, F>(function: F) -> impl Fn(&X) -> Result<(L, X), Error>
where
    X: Traverse + Clone,
    L: Loss,
    F: Fn(&X) -> L,
{
    let site = Site::here();
    move |x| {
        let _line = site.enter(None);
        let (copy, mut called, arguments) = arguments(x);
        let mut result = recorded(|| function(&copy));
        drop(copy);
        let mut gradient = x.clone();
        with_arrays(&mut gradient, called.gradients_of(&mut result, arguments)?);
        Ok((result, gradient))
    }
}

/// Calls a function; returns its result, and a function from gradients of the result to gradients of the argument: the
/// product of a row vector and the Jacobian.
///
/// ```
/// # use jit_core as jit;
/// use jit::{Float, ad};
///
/// let (y, back) = ad::vjp(|x: &Float| x.sin(), &Float::from([0.0, 1.0]))?;
/// assert_eq!(y.len(), 2);
/// assert_eq!(back(&Float::from([2.0, 0.0]))?.to_vec()?, [2.0, 0.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`grad`], for the result. The function fails for gradients whose arrays are not like those of the result.
#[track_caller]
#[expect(clippy::type_complexity, reason = "the type of a closure has no name")]
pub fn vjp<X, Y, F>(function: F, x: &X) -> Result<(Y, impl Fn(&Y) -> Result<X, Error> + use<X, Y, F>), Error>
where
    X: Traverse + Clone,
    Y: Traverse + Clone,
    F: FnOnce(&X) -> Y,
{
    let site = Site::here();
    let _line = site.enter(None);
    let (copy, mut called, arguments) = arguments(x);
    let mut result = recorded(|| function(&copy));
    drop(copy);
    called.end(arguments.into_iter(), owned_arrays(&result))?;
    with_arrays(&mut result, called.results());
    let like = x.clone();
    let back = move |gradient: &Y| {
        let _line = site.enter(None);
        let seeds = owned_arrays(gradient);
        called.check_seeds(&seeds, site)?;
        let mut tree = like.clone();
        with_arrays(&mut tree, called.pull_back(&seeds)?);
        Ok(tree)
    };
    Ok((result, back))
}

/// Calls a function; returns its result, and the tangent of the result for a tangent of the argument: the product of
/// the Jacobian and a column vector.
///
/// ```
/// # use jit_core as jit;
/// use jit::{Float, ad};
///
/// let (y, tangent) = ad::jvp(|x: &Float| x * x, &Float::from([3.0]), &Float::from([1.0]))?;
/// assert_eq!((y.item()?, tangent.item()?), (9.0, 6.0));
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`grad`], for the result, and when the arrays of the tangent are not like those of the argument.
#[track_caller]
pub fn jvp<X, Y>(function: impl FnOnce(&X) -> Y, x: &X, tangent: &X) -> Result<(Y, Y), Error>
where
    X: Traverse + Clone,
    Y: Traverse + Clone,
{
    let _line = misuse::enter();
    let (copy, mut called, arguments) = arguments(x);
    let seeds = owned_arrays(tangent);
    check("tangent", &arguments, &seeds, Site::here())?;
    let mut result = recorded(|| function(&copy));
    drop(copy);
    called.end(arguments.into_iter(), owned_arrays(&result))?;
    let mut tangents = result.clone();
    with_arrays(&mut tangents, called.push_forward(&seeds)?);
    with_arrays(&mut result, called.results());
    Ok((result, tangents))
}

/// Returns the product of the Hessian of a function and a vector, by forward mode over reverse mode.
///
/// ```
/// # use jit_core as jit;
/// use jit::{Float, ad};
///
/// let x = Float::from([1.0, 2.0]);
/// let product = ad::hvp(|x: &Float| (x * x * x).sum(), &x, &Float::from([1.0, 10.0]))?;
/// assert_eq!(product.to_vec()?, [6.0, 120.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`jvp`].
#[track_caller]
pub fn hvp<X, L>(function: impl Fn(&X) -> L, x: &X, vector: &X) -> Result<X, Error>
where
    X: Traverse + Clone,
    L: Loss,
{
    let _line = misuse::enter();
    let gradient = grad(function);
    let mut failure = None;
    let (_, product) = jvp(
        |x: &X| {
            gradient(x).unwrap_or_else(|error| {
                failure = Some(error);
                x.clone()
            })
        },
        x,
        vector,
    )?;
    failure.map_or(Ok(product), Err)
}
