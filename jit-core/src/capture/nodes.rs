//! The nodes that a recording has made, and the values among them that are sizes.

use std::ptr::NonNull;

use jit_runtime::ir::Type;
use jit_runtime::recording::SizeId;
use rustc_hash::FxHashMap;

use super::launches::{self, with};
use crate::graph::node::{Node, Var, flag};
use crate::graph::weak::Weak;
use crate::size::{Size, table};

/// The nodes of a recording.
#[derive(Default)]
pub(super) struct Nodes {
    /// The recorded nodes, which become ordinary ones when the recording ends.
    made: Vec<Weak>,
    /// How many of them host calls may hold.
    hosted: usize,
    /// Values that are sizes; they live on, so that their addresses are not reused.
    size_values: FxHashMap<NonNull<Node>, (Var, SizeId)>,
    /// The values that represent sizes as numbers of a type.
    values_of_sizes: FxHashMap<(SizeId, Type), Var>,
}

impl Nodes {
    /// Ends the recording: its nodes become ordinary ones.
    pub(super) fn end(&self) {
        for var in self.made.iter().filter_map(Weak::upgrade) {
            var.forget_recording();
        }
    }

    /// Suspends the recording: running code may hold the nodes recorded so far.
    pub(super) fn pause(&mut self) {
        for var in self.made[self.hosted..].iter().filter_map(Weak::upgrade) {
            var.add_flag(flag::HOSTED);
        }
        self.hosted = self.made.len();
    }
}

/// Remembers a node that was recorded.
#[cold]
pub(super) fn note(var: &Var) {
    var.for_each_input(|operand| launches::check_operand(operand, var));
    with(|session| session.nodes.made.push(var.downgrade()));
    var.add_flag(flag::RECORDED);
}

/// Registers the size that a value represents.
#[cold]
pub(crate) fn note_size(var: &Var, size: Size) {
    let Some(id) = table::known_id_of(size) else { return };
    with(|session| {
        session.nodes.size_values.insert(var.address(), (var.clone(), id));
        session.nodes.values_of_sizes.insert((id, var.ty()), var.clone());
    });
}

/// Returns the value that represents a size as a number of a type.
pub(crate) fn value_of(size: Size, ty: Type) -> Option<Var> {
    let id = table::known_id_of(size)?;
    with(|session| session.nodes.values_of_sizes.get(&(id, ty)).cloned()).flatten()
}

/// Returns the size that a value represents, if any.
pub(super) fn size_of_value(var: &Var) -> Option<SizeId> {
    with(|session| session.nodes.size_values.get(&var.address()).map(|(_, id)| *id)).flatten()
}
