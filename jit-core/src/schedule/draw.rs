//! The graph in readable form: as a list, and as a drawing for Graphviz.

use std::fmt::Write as _;

use super::effect::Held;
use super::group::{Group, groups};
use super::order::{Graph, uses};
use super::state_name;
use crate::graph::payload::Payload;
use crate::graph::{Op, Var, edges};

/// Lists the entries of a graph, with the kernels that they belong to.
pub(super) fn list(graph: &Graph<'_>, groups: &[Group]) -> String {
    let mut text = String::new();
    for (number, entry) in graph.entries.iter().enumerate() {
        let operands: Vec<String> = uses(graph, number as u32).iter().map(|operand| format!("n{operand}")).collect();
        let _ = write!(text, "n{number}: {} × {} = {}", entry.var.ty(), entry.var.lanes(), describe(entry.var));
        let _ = write!(text, "({})", operands.join(", "));
        let site = entry.var.site();
        let _ = writeln!(text, "    stage {} {}:{}", entry.stage, site.file(), site.line());
    }
    for group in groups {
        let roots: Vec<String> = group.roots.iter().map(|root| format!("n{root}")).collect();
        let _ =
            writeln!(text, "kernel: stage {}, {} lanes, writes {}", group.stage, group.lanes.lanes, roots.join(", "));
    }
    text
}

fn describe(var: &Var) -> String {
    match var.known_bits() {
        Some(bits) => format!("{:?} {}", var.op(), value(var, bits)),
        None if var.has_data() => "memory".into(),
        None if let Some(Payload::LibraryCall(payload)) = var.payload() => payload.call.name().into(),
        None => format!("{:?}", var.op()),
    }
}

fn value(var: &Var, bits: u64) -> String {
    use jit_runtime::ir::{Type, scalar};
    match var.ty() {
        Type::Bool => (bits != 0).to_string(),
        ty if ty.is_float() => f64::from_bits(scalar::cast(ty, Type::F64, bits)).to_string(),
        ty if ty.is_signed_integer() => (scalar::cast(ty, Type::I64, bits) as i64).to_string(),
        _ => bits.to_string(),
    }
}

/// Returns the graph of some values, in the language of Graphviz (`dot -Tsvg`). Evaluates nothing.
pub(crate) fn draw(wanted: &[&Var]) -> String {
    let edges = edges::read();
    let mut text = String::from("digraph trace {\n  node [shape=box, fontname=monospace];\n");
    let held = Held::search(&edges, wanted);
    match Graph::of(&edges, wanted, &held, None) {
        Ok(mut graph) => {
            // A graph that cannot be evaluated can still be drawn.
            let _ = groups(&mut graph);
            (0..graph.entries.len() as u32).for_each(|number| draw_entry(&graph, number, &mut text));
        }
        Err(error) => {
            let _ = writeln!(text, "  error [label={:?}];", error.to_string());
        }
    }
    text.push_str("}\n");
    text
}

fn draw_entry(graph: &Graph<'_>, number: u32, text: &mut String) {
    let entry = &graph.entries[number as usize];
    let (var, site) = (entry.var, entry.var.site());
    let mut label = format!("{}\n{} × {}", describe(var), var.ty(), var.lanes());
    if let Some(name) = var.label() {
        let _ = write!(label, "\n“{name}”");
    }
    let _ = write!(label, "\n{}:{}", site.file(), site.line());
    let colour = match (entry.op, entry.is_root) {
        (Op::Literal | Op::Scalar, _) => "lightyellow",
        _ if state_name(var) == "evaluated" => "lightblue",
        (_, true) => "lightpink",
        _ => "white",
    };
    let _ = writeln!(text, "  n{number} [label={label:?}, style=filled, fillcolor={colour}];");
    for operand in uses(graph, number) {
        let _ = writeln!(text, "  n{operand} -> n{number};");
    }
}
