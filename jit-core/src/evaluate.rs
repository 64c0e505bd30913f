//! What arrays there are.

use std::fmt::Write as _;

use crate::graph::node::Node;
use crate::graph::{Var, pool};
use crate::schedule::state_name;
use crate::traverse::bytes_of;

/// A table of the arrays that take memory or have a name: number, type, width, state, bytes, name, and the line that made them.
/// Arrays of all threads are listed.
#[must_use]
pub fn whos() -> String {
    let mut rows = Vec::new();
    pool::for_each(|number, node| {
        if let Some(var) = Node::revive(node).filter(|var| var.has_data() || var.label().is_some()) {
            rows.push(row(number, &var));
        }
    });
    let bytes: usize = rows.iter().map(|(bytes, _)| bytes).sum();
    let mut table =
        format!("{:>8}  {:5} {:>10}  {:12} {:>12}  name, origin\n", "id", "type", "width", "state", "bytes");
    rows.iter().for_each(|(_, text)| table.push_str(text));
    let _ = writeln!(table, "{} arrays, {bytes} bytes", rows.len());
    table
}

fn row(number: usize, var: &Var) -> (usize, String) {
    let (bytes, site) = (bytes_of(var), var.site());
    let (ty, width, state) = (var.ty().name(), var.width(), state_name(var));
    let label = var.label().map(|label| format!("“{label}” ")).unwrap_or_default();
    let text =
        format!("{number:>8}  {ty:5} {width:>10}  {state:12} {bytes:>12}  {label}{}:{}\n", site.file(), site.line());
    (bytes, text)
}
