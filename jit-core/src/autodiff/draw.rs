//! Drawings of the graph that gradients flow through.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::vertex::{Key, Source, Value, Vertex, carries};
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::payload::Payload;
use crate::traverse::{Traverse, arrays};

/// Returns the graph that gradients of some values flow through, in the language of Graphviz (`dot -Tsvg`). Evaluates
/// nothing.
///
/// A box is a value: its name, the operation that made it, element type and width (`[s]` for width 1), the number of
/// its uses in the graph, and the line. Arrows lead from a result to what it was computed from. Doubled octagons are
/// operations that move or combine elements, or have a derivative of their own. Blue are the values that were asked
/// for, green variables, salmon values with a name, yellow values in memory, red what has no derivative. Values of a
/// [`scope`](super::scope) are in a frame.
#[must_use]
pub fn graphviz(tree: &(impl Traverse + ?Sized)) -> String {
    let asked = arrays(tree);
    let drawing = Drawing::of(&asked);
    let mut text = String::from("digraph gradients {\n  node [shape=box, fontname=monospace];\n");
    drawing.frames().write(&drawing, "", &mut text);
    for (from, to) in &drawing.edges {
        let _ = writeln!(text, "  n{from} -> n{to};");
    }
    text.push_str("}\n");
    text
}

/// The vertices, numbered in the order of their discovery.
struct Drawing<'a> {
    asked: &'a [Var],
    vertices: Vec<Vertex>,
    edges: Vec<(usize, usize)>,
    /// The vertices that have no derivative.
    refused: Vec<usize>,
}

impl Drawing<'_> {
    fn of(asked: &[Var]) -> Drawing<'_> {
        let mut drawing = Drawing { asked, vertices: Vec::new(), edges: Vec::new(), refused: Vec::new() };
        let mut numbers: FxHashMap<Key, usize> = FxHashMap::default();
        let mut number = |vertex: Vertex, vertices: &mut Vec<Vertex>| {
            *numbers.entry(vertex.key()).or_insert_with(|| {
                vertices.push(vertex);
                vertices.len() - 1
            })
        };
        for var in asked.iter().filter(|var| carries(var)) {
            number(Vertex::of(var), &mut drawing.vertices);
        }
        let mut next = 0;
        while let Some(vertex) = drawing.vertices.get(next).cloned() {
            match vertex.behind() {
                Ok(behind) => {
                    for vertex in behind {
                        let to = number(vertex, &mut drawing.vertices);
                        drawing.edges.push((next, to));
                    }
                }
                Err(_) => drawing.refused.push(next),
            }
            next += 1;
        }
        drawing
    }

    /// Returns the vertices by the scopes that they are in.
    fn frames(&self) -> Frame {
        let mut root = Frame::default();
        for (number, vertex) in self.vertices.iter().enumerate() {
            let scope = match vertex {
                Vertex::Value(value) => value.var.scope(),
                // Where its results are.
                Vertex::Call(call) => call.results().into_iter().flatten().find_map(|result| result.scope()),
                Vertex::Loop(_) => None,
            };
            let names = scope.as_deref().into_iter().flat_map(|path| path.split('/'));
            let frame = names.fold(&mut root, |frame, name| frame.inner.entry(name.to_owned()).or_default());
            frame.vertices.push(number);
        }
        root
    }

    fn write_vertex(&self, number: usize, text: &mut String) {
        let uses = self.edges.iter().filter(|(_, to)| *to == number).count();
        let (label, is_special) = match &self.vertices[number] {
            Vertex::Call(call) => (format!("{}\n{}:{}", call.rule.name(), call.site.file(), call.site.line()), true),
            Vertex::Loop(control) => {
                let (lanes, site) = (control.lanes(), control.site());
                (format!("loop × {lanes}\n{}:{}", site.file(), site.line()), true)
            }
            Vertex::Value(Value { var, source }) => (label_of(var, source, uses), is_special(source)),
        };
        let shape = if is_special { ", shape=doubleoctagon" } else { "" };
        let colour = self.colour(number);
        let _ = writeln!(text, "  n{number} [label={label:?}, style=filled, fillcolor={colour}{shape}];");
    }

    fn colour(&self, number: usize) -> &'static str {
        let Vertex::Value(Value { var, source }) = &self.vertices[number] else { return "white" };
        match source {
            _ if self.refused.contains(&number) => "red",
            _ if self.asked.iter().any(|asked| asked.is_same(var)) => "cornflowerblue",
            Source::Variable => "palegreen",
            _ if var.label().is_some() => "salmon",
            _ if var.has_data() => "lightyellow",
            _ => "white",
        }
    }
}

/// The vertices of a scope, and the scopes in it.
#[derive(Default)]
struct Frame {
    vertices: Vec<usize>,
    inner: BTreeMap<String, Frame>,
}

impl Frame {
    fn write(&self, drawing: &Drawing<'_>, path: &str, text: &mut String) {
        self.vertices.iter().for_each(|&number| drawing.write_vertex(number, text));
        for (name, frame) in &self.inner {
            let path = format!("{path}/{name}");
            let _ = writeln!(text, "  subgraph {:?} {{\n  label={name:?};", format!("cluster{path}"));
            frame.write(drawing, &path, text);
            text.push_str("  }\n");
        }
    }
}

fn label_of(var: &Var, source: &Source, uses: usize) -> String {
    let name = var.label().map(|label| format!("“{label}” ")).unwrap_or_default();
    let what = match source {
        Source::Variable => "variable".into(),
        Source::Argument(..) => "argument".into(),
        Source::Result(call, _) => format!("result of {}", call.rule.name()),
        Source::Same(_) => "the value before an abandoned region".into(),
        Source::State(_, position) => format!("state {position} of a loop"),
        Source::Operands(node) => operation(node),
    };
    let scalar = if var.lanes() == 1 { " [s]" } else { "" };
    let (ty, lanes, site) = (var.ty(), var.lanes(), var.site());
    format!("{name}{what}\n{ty} × {lanes}{scalar}, uses: {uses}\n{}:{}", site.file(), site.line())
}

fn operation(node: &Var) -> String {
    match node.operand(0).as_ref().and_then(Var::payload) {
        Some(Payload::Scatter(scatter)) => format!("Scatter({:?})", scatter.how),
        _ => format!("{:?}", node.op()),
    }
}

/// Returns whether gradients do not pass an operation lane by lane.
fn is_special(source: &Source) -> bool {
    let Source::Operands(node) = source else { return false };
    let is_by_lane = matches!(
        node.op(),
        Op::Broadcast | Op::Identity | Op::Cast | Op::Bitcast | Op::Unary(_) | Op::Binary(_) | Op::Fma | Op::Select
    );
    !is_by_lane
}
