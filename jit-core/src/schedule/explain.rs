//! Explanations of evaluations, in readable form.

use std::fmt::Write;

use jit_runtime::Site;

use super::group::Group;
use super::order::Graph;
use crate::graph::{Op, Var};

/// Describes the values of an evaluation, its cause, and the other values that are written to memory for it.
pub(super) fn evaluation(graph: &Graph<'_>, groups: &[Group], wanted: &[&Var], why: &str, site: Site) -> String {
    let mut text = format!("evaluation at {}:{}, since {why}: ", site.file(), site.line());
    let described: Vec<String> = wanted.iter().map(|var| describe(var)).collect();
    let _ = write!(text, "{} in {} kernels", described.join(", "), groups.len());
    for &root in groups.iter().flat_map(|group| &group.roots) {
        let var = graph.entries[root as usize].var;
        if !wanted.iter().any(|wanted| wanted.is_same(var)) {
            let _ = write!(text, "; with {}, {}", describe(var), reason(graph, root));
        }
    }
    text
}

fn describe(var: &Var) -> String {
    let label = var.label().map(|label| format!(" “{label}”")).unwrap_or_default();
    format!("{}[{}]{label} of {}:{}", var.ty(), var.lanes(), var.site().file(), var.site().line())
}

/// Returns why a value that was not requested is written to memory.
fn reason(graph: &Graph<'_>, root: u32) -> &'static str {
    let entry = &graph.entries[root as usize];
    let is_source = |other: &super::order::Entry<'_>| other.op == Op::Gather && other.operands[0] == root;
    match entry.op {
        Op::Reduce(_) if entry.var.position() != 0 => "a reduction over blocks of lanes",
        Op::Reduce(_) => "a reduction over all lanes",
        _ if graph.entries.iter().any(is_source) => "the source of a gather",
        _ => "which other kernels read",
    }
}
