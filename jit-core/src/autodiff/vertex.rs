//! The graph as differentiation sees it: values and operations with a derivative of their own, and the values that
//! gradients flow to from each.

use std::borrow::Cow;
use std::sync::Arc;

use jit_runtime::{Error, ErrorKind};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use super::loops;
use crate::graph::Var;
use crate::graph::node::flag;
use crate::graph::op::Op;
use crate::graph::payload::Payload;
use crate::graph::tape::{self, Call, Tape};
use crate::trace::local;

/// A value, an operation with a derivative of its own, or a recorded loop.
#[derive(Clone)]
pub(super) enum Vertex {
    Value(Value),
    Call(Arc<Call>),
    /// The node of the loop.
    Loop(Var),
}

/// A value with what its gradient flows through.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) var: Var,
    pub(super) source: Source,
}

/// What the gradient of a value flows through.
#[derive(Clone)]
pub(super) enum Source {
    /// The value is a variable.
    Variable,
    /// The value of another one: an argument of a function that is differentiated, with the number of its call.
    Argument(Var, u64),
    /// The value of another one.
    Same(Var),
    /// The operands of this node.
    Operands(Var),
    /// A result of an operation with a derivative of its own.
    Result(Arc<Call>, usize),
    /// The state of a recorded loop, by the loop's node and the position of the state.
    State(Var, usize),
}

/// Identifies a vertex.
pub(super) type Key = usize;

pub(super) fn key_of(var: &Var) -> Key {
    var.address().addr().get()
}

pub(super) fn key_of_call(call: &Arc<Call>) -> Key {
    Arc::as_ptr(call).addr()
}

/// Returns whether gradients flow through a value.
pub(super) fn carries(var: &Var) -> bool {
    var.flags() & flag::GRAD != 0
}

impl Source {
    fn of_operands(node: Var) -> Source {
        match node.original() {
            // The region that it was recorded in was aborted.
            Some(original) => Source::Same(original),
            None => match (node.op(), node.operand(0)) {
                (Op::LoopResult, Some(control)) => Source::State(control, node.position()),
                _ => Source::Operands(node),
            },
        }
    }
}

impl Value {
    /// Returns whether the value has been evaluated since the vertex was made: its operands are on its tape then.
    pub(super) fn is_evaluated_since(&self) -> bool {
        matches!(&self.source, Source::Operands(node) if node.is_same(&self.var) && self.var.has_data())
    }

    /// Returns the value with what its gradient flows through now: the program may evaluate it while gradients flow, in
    /// the derivative of an operation.
    pub(super) fn current(&self) -> Cow<'_, Value> {
        match self.is_evaluated_since() {
            true => Cow::Owned(Value::of(&self.var)),
            false => Cow::Borrowed(self),
        }
    }

    fn of(var: &Var) -> Value {
        let source = match tape::of(var) {
            Some(Tape::Variable) => Source::Variable,
            Some(Tape::Argument(call)) => var.operand(0).map_or(Source::Variable, |of| Source::Argument(of, call)),
            Some(Tape::Result { call, position }) => Source::Result(call, position),
            Some(Tape::Evaluated(operands)) => Source::of_operands(operands),
            None => Source::of_operands(var.clone()),
        };
        Value { var: var.clone(), source }
    }
}

impl Vertex {
    pub(super) fn of(var: &Var) -> Vertex {
        Vertex::Value(Value::of(var))
    }

    pub(super) fn key(&self) -> Key {
        match self {
            Vertex::Value(value) => key_of(&value.var),
            Vertex::Call(call) => key_of_call(call),
            Vertex::Loop(control) => key_of(control),
        }
    }

    /// Returns the vertices that gradients flow to.
    pub(super) fn behind(&self) -> Result<SmallVec<[Vertex; 3]>, Error> {
        let values = |vars: &mut dyn Iterator<Item = Var>| vars.filter(carries).map(|var| Vertex::of(&var)).collect();
        Ok(match self {
            Vertex::Call(call) => values(&mut call.inputs.iter().cloned()),
            Vertex::Value(Value { source: Source::Variable, .. }) => SmallVec::new(),
            Vertex::Loop(control) => values(&mut loops::inputs(control)?.into_iter()),
            Vertex::Value(Value { source: Source::Argument(var, _) | Source::Same(var), .. }) => {
                values(&mut [var.clone()].into_iter())
            }
            Vertex::Value(Value { source: Source::State(control, _), .. }) => {
                smallvec![Vertex::Loop(control.clone())]
            }
            Vertex::Value(Value { source: Source::Result(call, _), .. }) => smallvec![Vertex::Call(Arc::clone(call))],
            Vertex::Value(Value { source: Source::Operands(node), var }) => {
                values(&mut inputs(node, var)?.into_iter().flatten())
            }
        })
    }
}

/// The values that a node's gradient may flow to, by the position that its derivative uses.
pub(super) type Inputs = SmallVec<[Option<Var>; 3]>;

/// Returns the values that the gradient of a node may flow to.
pub(super) fn inputs(node: &Var, value: &Var) -> Result<Inputs, Error> {
    let slots = |slots: &[usize]| slots.iter().map(|&slot| node.operand(slot)).collect();
    let payload = || node.operand(0);
    Ok(match node.op() {
        Op::Literal | Op::Scalar | Op::Data | Op::Placeholder | Op::LaneIndex | Op::Compare(_) => SmallVec::new(),
        Op::Broadcast | Op::Identity | Op::Cast | Op::Bitcast | Op::Unary(_) | Op::Reduce(_) | Op::Gather => {
            slots(&[0])
        }
        Op::Binary(_) => slots(&[0, 1]),
        Op::Local => slots(&[0]),
        // The index comes first.
        Op::LocalRead => smallvec![None, node.operand(local::VERSION)],
        Op::LocalWrite => smallvec![node.operand(local::VALUE), None, node.operand(local::PREVIOUS)],
        Op::Fma => slots(&[0, 1, 2]),
        // The first operand is the mask.
        Op::Select => smallvec![None, node.operand(1), node.operand(2)],
        Op::BranchResult => match payload().as_ref().and_then(Var::payload) {
            Some(Payload::Branch(branch)) => branch.results[node.position()].iter().cloned().map(Some).collect(),
            _ => SmallVec::new(),
        },
        Op::SwitchResult => match payload().as_ref().and_then(Var::payload) {
            Some(Payload::Switch(switch)) => switch.results[node.position()].iter().cloned().map(Some).collect(),
            _ => SmallVec::new(),
        },
        Op::ScatterResult if node.position() == crate::trace::scatter::ARRAY => {
            match payload().as_ref().and_then(Var::payload) {
                Some(Payload::Scatter(scatter)) => smallvec![Some(scatter.target.clone()), Some(scatter.value.clone())],
                _ => SmallVec::new(),
            }
        }
        _ => return Err(unsupported(node, value)),
    })
}

#[cold]
fn unsupported(node: &Var, value: &Var) -> Error {
    let (what, hint) = match node.op() {
        Op::Param => ("the state of a traced loop to values before it", "differentiate after the loop"),
        Op::ScatterResult => ("previous elements of a scatter", "use `scatter` or `scatter_add`, and gather before"),
        _ => ("a library call without a derivative", "compute on `detach()`ed values"),
    };
    let site = value.site();
    Error::new(ErrorKind::InvalidArgument, format!("gradients do not flow through {what}")).at(site).with_hint(hint)
}

/// Returns the vertices behind some values through which gradients flow, each after those behind it. Nothing behind the
/// arguments of a function is among them.
pub(super) fn order(of: &[Var], arguments: &[Var]) -> Result<Vec<Vertex>, Error> {
    order_to(of, &|var| arguments.iter().any(|argument| argument.is_same(var)))
}

/// Like [`order`], for the values of which a function says that they are arguments.
pub(super) fn order_to(of: &[Var], is_argument: &dyn Fn(&Var) -> bool) -> Result<Vec<Vertex>, Error> {
    order_from(of.iter().filter(|var| carries(var)).map(Vertex::of), is_argument)
}

/// Like [`order_to`], for vertices.
pub(super) fn order_from(
    roots: impl IntoIterator<Item = Vertex>,
    is_argument: &dyn Fn(&Var) -> bool,
) -> Result<Vec<Vertex>, Error> {
    let behind_of = |vertex: &Vertex| match vertex {
        Vertex::Value(value) if is_argument(&value.var) => Ok(SmallVec::new()),
        _ => vertex.behind(),
    };
    let mut sorted = Vec::new();
    let mut seen = FxHashSet::default();
    let mut stack: Vec<(Vertex, SmallVec<[Vertex; 3]>)> = Vec::new();
    for root in roots {
        if seen.insert(root.key()) {
            let behind = behind_of(&root)?;
            stack.push((root, behind));
        }
        while let Some((_, behind)) = stack.last_mut() {
            match behind.pop() {
                Some(next) if seen.insert(next.key()) => {
                    let behind = behind_of(&next)?;
                    stack.push((next, behind));
                }
                Some(_) => {}
                None => sorted.extend(stack.pop().map(|(vertex, _)| vertex)),
            }
        }
    }
    Ok(sorted)
}

/// Returns which of sorted vertices lead to the arguments of a function, and not only to what it captures.
pub(super) fn leading_to(sorted: &[Vertex], arguments: &[Var]) -> Result<FxHashSet<Key>, Error> {
    let mut leading: FxHashSet<Key> = arguments.iter().map(key_of).collect();
    for vertex in sorted {
        if !leading.contains(&vertex.key()) && vertex.behind()?.iter().any(|next| leading.contains(&next.key())) {
            leading.insert(vertex.key());
        }
    }
    Ok(leading)
}
