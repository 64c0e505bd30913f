//! Shared leaves of arguments that the body may change: arrays behind `&`, `Rc` and `Arc`.
//!
//! They are not lent, so replays cannot replace them. A body that replaces one is rejected. If other host values change
//! in the arguments, a replay makes the arguments from templates, which hold the shared leaves of the recorded call.
//! Such a recording fits only calls with these same arrays.

use super::argument::Arguments;
use crate::graph::node::Var;
use crate::traverse::{Leaf, Visitor};

/// An array that is read in place and never replaced.
pub(super) struct SharedLeaf {
    argument: usize,
    path: String,
    var: Var,
}

impl SharedLeaf {
    fn is_same(&self, other: &SharedLeaf) -> bool {
        (self.argument, &self.path) == (other.argument, &other.path) && self.var.is_same(&other.var)
    }

    /// Describes its place.
    pub(super) fn place(&self, names: &[&'static str]) -> String {
        let name = names.get(self.argument).copied().unwrap_or_default();
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        format!("{name}{dot}{}", self.path)
    }
}

/// Returns the shared leaves in the proxies of arguments that the body may change.
pub(super) fn in_proxies<A: Arguments>(proxies: &A::Proxies) -> Vec<SharedLeaf> {
    let (mut found, mut arguments) = (Vec::new(), 0..);
    A::show_proxies(proxies, &mut |is_exclusive, show| {
        let argument = arguments.next().unwrap_or_default();
        if is_exclusive {
            show(&mut Visitor::with_paths(&mut |path, leaf| {
                if let Leaf::Shared(var) = leaf {
                    found.push(SharedLeaf { argument, path: path.to_owned(), var: var.clone() });
                }
            }));
        }
    });
    found
}

/// Returns the place of the first shared leaf that the body replaced, added or removed.
pub(super) fn changed(before: &[SharedLeaf], after: &[SharedLeaf], names: &[&'static str]) -> Option<String> {
    let differs = (0..before.len().max(after.len())).find(|&at| match (before.get(at), after.get(at)) {
        (Some(before), Some(after)) => !before.is_same(after),
        _ => true,
    })?;
    before.get(differs).or(after.get(differs)).map(|array| array.place(names))
}

/// Returns whether the arguments of a call hold the same shared leaves.
pub(super) fn are_in(arguments: &impl Arguments, names: &[&'static str], shared: &[SharedLeaf]) -> bool {
    let (mut expected, mut is_same) = (shared.iter(), true);
    let mut compare = |_: &str, leaf: Leaf<'_>| {
        if let Leaf::Shared(var) = leaf {
            is_same &= expected.next().is_some_and(|shared| shared.var.is_same(var));
        }
    };
    arguments.show(names, &mut |is_exclusive, show| {
        if is_exclusive {
            show(&mut Visitor::new(&mut compare));
        }
    });
    is_same && expected.next().is_none()
}

/// Returns whether the arguments that the body may change have skipped fields, whose changes are not tracked.
pub(super) fn are_fields_skipped<A: Arguments>(proxies: &A::Proxies) -> bool {
    let mut are_skipped = false;
    A::show_proxies(proxies, &mut |is_exclusive, show| {
        let mut ignore = |_: &str, _: Leaf<'_>| {};
        let mut visitor = Visitor::new(&mut ignore);
        show(&mut visitor);
        are_skipped |= is_exclusive && visitor.has_skipped();
    });
    are_skipped
}
