//! Listings of variables, their gradients, and what is kept for gradients that have not flowed yet.

use std::fmt::Write as _;
use std::ptr::NonNull;

use jit_runtime::Site;
use rustc_hash::FxHashSet;

use crate::graph::Var;
use crate::graph::node::Node;
use crate::graph::tape::{self, Record, Tape};

/// Evaluated values of one line of the program that keep what they were computed from, since gradients may still flow
/// through them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Retained {
    /// The line that made them.
    pub site: Site,
    /// How many.
    pub values: usize,
    /// The bytes of memory that they keep. Memory that several lines keep counts for the first one.
    pub bytes: usize,
}

/// Returns the evaluated values of all threads that keep what they were computed from, by the lines that made them, the
/// most bytes first. Such values are released by a [`backward`](super::backward) that gradients pass them in, or when
/// the last array is dropped that depends on them. A list that grows from step to step is a leak: most often a result,
/// such as a running loss, that is kept without [`detach`](crate::Array::detach).
#[must_use]
pub fn retained() -> Vec<Retained> {
    let mut kept: Vec<(Var, Vec<Var>)> = tape::with_all(|records| {
        let all = records.living().map(|(var, record)| (kept_by(&var, record), var));
        all.filter_map(|(kept, var)| Some((var, kept?))).collect()
    });
    let place = |site: Site| (site.file(), site.line());
    kept.sort_by_key(|(var, _)| (place(var.site()), var.address()));
    let mut seen = FxHashSet::default();
    let mut lines: Vec<Retained> = Vec::new();
    for (var, operands) in &kept {
        let bytes = bytes_behind(operands, &mut seen);
        match lines.last_mut().filter(|line| place(line.site) == place(var.site())) {
            Some(line) => (line.values, line.bytes) = (line.values + 1, line.bytes + bytes),
            None => lines.push(Retained { site: var.site(), values: 1, bytes }),
        }
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.bytes));
    lines
}

/// Returns what an evaluated value keeps: the node with its operands, or the inputs of its operation.
fn kept_by(var: &Var, record: &Record) -> Option<Vec<Var>> {
    match &record.tape {
        Some(Tape::Evaluated(operands)) => Some(vec![operands.clone()]),
        Some(Tape::Result { call, .. }) if var.has_data() => {
            Some(call.inputs.iter().chain(&call.saved).cloned().collect())
        }
        _ => None,
    }
}

/// Returns the bytes of memory that nodes refer to, over expressions that are not evaluated. Nodes that were seen
/// before are not counted.
fn bytes_behind(nodes: &[Var], seen: &mut FxHashSet<NonNull<Node>>) -> usize {
    let (mut bytes, mut pending) = (0, nodes.to_vec());
    while let Some(var) = pending.pop() {
        if !seen.insert(var.address()) {
            continue;
        }
        bytes += bytes_of(&var);
        if !var.has_data() {
            var.for_each_input(|input| pending.push(input.clone()));
        }
    }
    bytes
}

fn bytes_of(var: &Var) -> usize {
    var.data().map_or(0, |buffer| buffer.size_bytes())
}

/// Returns a table of the variables of all threads, with their gradients, and of what is kept for gradients: see
/// [`retained`].
#[must_use]
pub fn whos() -> String {
    let mut variables: Vec<(Var, Option<Var>)> = tape::with_all(|records| {
        let all = records.living().filter(|(_, record)| matches!(record.tape, Some(Tape::Variable)));
        all.map(|(var, record)| (var, record.gradient.clone())).collect()
    });
    variables.sort_by_key(|(var, _)| (var.site().file(), var.site().line(), var.address()));
    let mut table = format!("{:>5} {:>10}  {:11} {:>12}  variable, origin\n", "type", "width", "gradient", "bytes");
    for (var, gradient) in &variables {
        let state = match gradient {
            None => "none",
            Some(gradient) if gradient.is_evaluated() => "evaluated",
            Some(_) => "unevaluated",
        };
        let bytes = gradient.as_ref().map_or(0, bytes_of);
        let (name, site) = (var.label().map(|label| format!("“{label}” ")).unwrap_or_default(), var.site());
        let (ty, lanes, line) = (var.ty().name(), var.lanes(), site.line());
        let _ = writeln!(table, "{ty:>5} {lanes:>10}  {state:11} {bytes:>12}  {name}{}:{line}", site.file());
    }
    let lines = retained();
    let (values, bytes) = lines.iter().fold((0, 0), |(values, bytes), line| (values + line.values, bytes + line.bytes));
    let _ =
        writeln!(table, "{} variables; {values} evaluated values keep {bytes} bytes for gradients", variables.len());
    for Retained { site, values, bytes } in &lines {
        let _ = writeln!(table, "{values:>16}  {:11} {bytes:>12}  {}:{}", "kept", site.file(), site.line());
    }
    table
}

/// Returns the names of gradients in memory: that of a variable `a` is `a.grad`.
pub(crate) fn names_of_gradients() -> Vec<(Var, String)> {
    let with_gradients: Vec<(Var, Var)> = tape::with_all(|records| {
        records.living().filter_map(|(var, record)| Some((var, record.gradient.clone()?))).collect()
    });
    let name = |var: &Var| var.label().map_or_else(|| "gradient".into(), |label| format!("{label}.grad"));
    with_gradients.iter().map(|(var, gradient)| (gradient.clone(), name(var))).collect()
}

/// Returns whether an array is a variable.
pub(crate) fn is_variable(var: &Var) -> bool {
    matches!(tape::of(var), Some(Tape::Variable))
}
