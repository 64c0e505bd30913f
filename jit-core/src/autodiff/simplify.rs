//! Simplification of the graph behind evaluated values: fewer values are kept for gradients.
//!
//! An evaluated value keeps the values that its gradient flows to. Where a program evaluates each of many steps, they
//! pile up although only the graph holds them. If all operations between are by lane, the derivative of the last value
//! by those at the begin is one number for each lane: the product of the derivatives of all steps, which is what
//! eliminating the vertices between from the graph computes (A. Griewank, A. Walther: Evaluating Derivatives, 2008,
//! chapter 10). It is evaluated once there are some values to eliminate, and replaces them.
//!
//! Vertices are eliminated only if nothing else refers to them. Derivatives of derivatives need the operations
//! themselves, so nothing is replaced behind functions that are differentiated.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jit_runtime::{Error, Site};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::loops::Body;
use super::node::summed;
use super::recompute;
use super::reverse::Gradients;
use super::traversal::Flowing;
use super::vertex::{Key, Source, Value, Vertex, key_of, key_of_call, order, order_from};
use super::weight::{self, scaled};
use crate::capture::{host_call, launches};
use crate::graph::Var;
use crate::graph::gradients::Scope;
use crate::graph::op::Op;
use crate::graph::tape::{self, Call, Flow, Rule, Tape};
use crate::graph::weak::Weak;
use crate::schedule;
use crate::trace::{record, region};

static IS_ON: AtomicBool = AtomicBool::new(true);

/// Sets whether the values that evaluated ones keep for gradients are replaced by fewer where that is possible, each
/// time that there are some more of them. It is on from the start.
///
/// Gradients are the same but for rounding: products are computed in another order.
pub fn set_graph_simplification(is_on: bool) {
    IS_ON.store(is_on, Ordering::Relaxed);
}

/// Replaces the values that evaluated ones keep for gradients by fewer where that is possible, now.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let mut x = Float::full(1.001, 1000);
/// x.enable_grad();
/// let mut y = x.clone();
/// for _ in 0..5 {
///     y = &y * &y;
///     jit::eval(&y)?;
/// }
/// // Instead of five arrays, one that has the derivative of `y` by `x`.
/// jit::ad::simplify_graph();
/// y.backward()?;
/// assert!((x.grad().get(0)? - 32.0 * 1.001_f32.powi(31)).abs() < 1e-3);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
pub fn simplify_graph() {
    simplify();
}

/// Makes evaluations simplify the graph.
pub(super) fn enable() {
    tape::set_simplification(|| {
        if !IS_ON.load(Ordering::Relaxed) {
            // The program may simplify what is alive then.
            return tape::forget_freed();
        }
        if !is_possible() {
            return;
        }
        let is_full = recompute::release(&tape::take_newly_kept());
        if tape::is_simplification_due(is_full) {
            simplify();
        }
    });
}

/// What a frozen function records, and what a region contains, stays as it is; so does everything while gradients flow.
fn is_possible() -> bool {
    !launches::is_recording() && !host_call::is_inside() && !region::is_open() && !Flowing::is_under_way()
}

/// Replaces what evaluated values keep.
fn simplify() {
    if !is_possible() {
        return;
    }
    let kept = tape::take_kept();
    let (left, helped) = replace(&kept);
    tape::give_back_kept(left.into_iter(), helped);
}

/// Replaces what some values keep; returns those that keep it, and whether there are others.
fn replace(kept: &[Weak]) -> (Vec<Weak>, bool) {
    let is_kept = |weak: &&Weak| weak.upgrade().is_some_and(|var| matches!(tape::of(&var), Some(Tape::Evaluated(_))));
    let alive: Vec<Weak> = kept.iter().filter(is_kept).copied().collect();
    let nested = behind_arguments(&alive);
    let mut eliminated: FxHashSet<Key> = FxHashSet::default();
    let mut parts = Vec::new();
    for weak in alive.iter().rev() {
        let is_free = |var: &Var| !eliminated.contains(&key_of(var)) && !nested.contains(&key_of(var));
        let Some(head) = weak.upgrade().filter(is_free) else { continue };
        if let Some(part) = Part::of(head).filter(Part::is_smaller) {
            eliminated.extend(part.between.iter().map(key_of));
            parts.push(part);
        }
    }
    let heads: FxHashSet<Key> = parts.iter().map(|part| key_of(&part.head)).collect();
    if evaluate(parts).is_err() {
        return (alive, false);
    }
    let is_left = |weak: &Weak| weak.upgrade().is_some_and(|var| !heads.contains(&key_of(&var)));
    (alive.into_iter().filter(is_left).collect(), !heads.is_empty())
}

/// Returns the values that are computed from arguments of a function that is differentiated, or from something that has
/// no derivative, among some and behind them.
fn behind_arguments(of: &[Weak]) -> FxHashSet<Key> {
    let mut found: FxHashSet<Key> = FxHashSet::default();
    let vars: Vec<Var> = of.iter().filter_map(Weak::upgrade).collect();
    let sorted = order(&vars, &[]).unwrap_or_else(|_| {
        let (with, without): (Vec<Var>, Vec<Var>) =
            vars.into_iter().partition(|var| order(std::slice::from_ref(var), &[]).is_ok());
        found.extend(without.iter().map(key_of));
        order(&with, &[]).unwrap_or_default()
    });
    for vertex in sorted {
        let is_argument = matches!(&vertex, Vertex::Value(Value { source: Source::Argument(..), .. }));
        let behind = vertex.behind().unwrap_or_default();
        if is_argument || behind.iter().any(|behind| found.contains(&behind.key())) {
            found.insert(vertex.key());
        }
    }
    found
}

/// A part of the graph all of whose operations are by lane.
pub(super) struct Part {
    /// The value at its end.
    head: Var,
    /// The values that only it refers to.
    between: Vec<Var>,
    /// Those at its begin.
    sources: Vec<Var>,
    /// The head and what is between, in order.
    vertices: Vec<Vertex>,
}

impl Part {
    /// Returns the largest part before a value.
    pub(super) fn of(head: Var) -> Option<Part> {
        let root = Vertex::of(&head);
        let is_inside = |var: &Var| is_by_lane(var, &head);
        if !is_inside(&head) {
            return None;
        }
        let mut all = order_from([root], &|var| !is_inside(var)).ok()?;
        let mut refers: FxHashMap<Key, u32> = FxHashMap::default();
        let mut calls: FxHashSet<Key> = FxHashSet::default();
        let (mut between, mut sources, mut inside) = (Vec::new(), Vec::new(), FxHashSet::default());
        for vertex in all.iter().rev() {
            let is_accepted = match vertex {
                Vertex::Loop(_) => false,
                Vertex::Call(call) => calls.contains(&key_of_call(call)),
                Vertex::Value(value) if value.var.is_same(&head) => true,
                Vertex::Value(value) => {
                    let own = refers.get(&vertex.key()).copied().unwrap_or(0);
                    own > 0 && is_inside(&value.var) && value.var.count() == own + handles(value)
                }
            };
            if !is_accepted {
                if let Vertex::Value(value) = vertex
                    && refers.contains_key(&vertex.key())
                {
                    sources.push(value.var.clone());
                }
                continue;
            }
            inside.insert(vertex.key());
            match vertex {
                Vertex::Call(call) => {
                    call.inputs.iter().for_each(|input| *refers.entry(key_of(input)).or_default() += 1)
                }
                Vertex::Value(Value { var, source }) => {
                    if !var.is_same(&head) {
                        between.push(var.clone());
                    }
                    match source {
                        Source::Operands(node) => (0..node.op().slots())
                            .filter_map(|slot| node.operand(slot))
                            .for_each(|operand| *refers.entry(key_of(&operand)).or_default() += 1),
                        Source::Result(call, _) => drop(calls.insert(key_of_call(call))),
                        _ => {}
                    }
                }
                Vertex::Loop(_) => {}
            }
        }
        all.retain(|vertex| inside.contains(&vertex.key()));
        Some(Part { head, between, sources, vertices: all })
    }

    /// Returns the head and what is between, each after those behind it.
    pub(super) fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// Returns whether fewer arrays are kept without it.
    fn is_smaller(&self) -> bool {
        let evaluated = self.between.iter().filter(|var| var.has_data()).count();
        evaluated > 0 && evaluated >= self.sources.len()
    }

    /// Returns the derivative of the head by each source, lane by lane.
    fn weights(&self) -> Result<Vec<Var>, Error> {
        let _suspended = Scope::begin(true);
        let mut body = Body::new(self.head.width(), []);
        body.ends = self.sources.iter().map(key_of).collect();
        let mut gradients = Gradients::in_body(body, &Rc::default());
        gradients.add(&self.head, weight::number(self.head.ty(), 1.0));
        gradients.flow(&self.vertices)?;
        let weight = |source: &Var| {
            let found = gradients.take(source, None, self.head.width())?;
            let found = found.unwrap_or_else(|| weight::number(source.ty(), 0.0));
            let width = if found.width() == 1 { self.head.width() } else { found.width() };
            Ok(record::detached(&record::broadcast(&found, width)))
        };
        self.sources.iter().map(weight).collect()
    }
}

/// Returns the number of references to a value that its vertex holds.
fn handles(Value { var, source }: &Value) -> u32 {
    1 + u32::from(matches!(source, Source::Operands(node) if node.is_same(var)))
}

/// Returns whether a value is computed from others lane by lane, in the type and width of another one.
fn is_by_lane(var: &Var, like: &Var) -> bool {
    if var.ty() != like.ty() || var.width() != like.width() {
        return false;
    }
    match Vertex::of(var) {
        Vertex::Value(Value { source: Source::Operands(node), .. }) => {
            matches!(node.op(), Op::Identity | Op::Unary(_) | Op::Binary(_) | Op::Fma | Op::Select)
        }
        Vertex::Value(Value { source: Source::Result(call, _), .. }) => {
            call.rule.name() == PRODUCT
                && call.inputs.iter().all(|input| input.width() == 1 || input.width() == like.width())
        }
        _ => false,
    }
}

/// Evaluates the derivatives of parts, and replaces these by them.
fn evaluate(parts: Vec<Part>) -> Result<(), Error> {
    let weights = parts.iter().map(Part::weights).collect::<Result<Vec<_>, _>>()?;
    let all: SmallVec<[&Var; 8]> = weights.iter().flatten().collect();
    if all.is_empty() {
        return Ok(());
    }
    schedule::evaluate(&all, "fewer values are then kept for gradients", Site::here())?;
    drop(all);
    for (part, weights) in parts.into_iter().zip(weights) {
        tape::replace_kept(&part.head, part.sources, weights, Arc::new(ProductRule));
    }
    Ok(())
}

/// The name of the rule.
const PRODUCT: &str = "product of derivatives";

/// The result is, for gradients, the sum of the inputs, each multiplied by a derivative that is saved.
struct ProductRule;

impl Rule for ProductRule {
    fn name(&self) -> &str {
        PRODUCT
    }

    #[track_caller]
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let Some(gradient) = &gradients[0] else { return Ok(call.inputs.iter().map(|_| None).collect()) };
        Ok(call.saved.iter().map(|weight| Some(scaled(gradient, weight))).collect())
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        let parts = tangents.iter().zip(&call.saved).filter_map(|(tangent, weight)| {
            let tangent = tangent.as_ref()?;
            Some(scaled(&record::broadcast(tangent, weight.width()), weight))
        });
        let sum = parts.reduce(|sum, part| summed(&sum, &part));
        Ok(SmallVec::from_iter([sum]))
    }
}
