//! The kinds of the arrays in a module: parameters, buffers, and others.
//!
//! [`Parameter`](super::Parameter) and [`Buffer`](super::Buffer) mark their array in the traversal, so every visitor
//! sees the kind, and every container of them needs no more than `#[derive(Traverse)]`. The mark is a host value, so it
//! is part of the key of a frozen function: a parameter that is frozen or not leads to another recording.

use jit_core::graph::Var;
use jit_core::traverse::HostValue;
use smallvec::SmallVec;

use crate::{Leaf, Size, Traverse, Visitor};

/// What an array in a module is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is trained.
    Parameter,
    /// A parameter that is not trained at present.
    FrozenParameter,
    /// It is state that is no parameter and belongs to the module, as the running mean of a normalisation.
    Buffer,
    /// Any other array: one that is in no [`Parameter`](super::Parameter) and no [`Buffer`](super::Buffer).
    Plain,
}

impl Kind {
    /// All kinds that are marked. The names are no identifiers, so they are no variants of a type of the program.
    const MARKS: [(Kind, &'static str); 3] =
        [(Kind::Parameter, "a parameter"), (Kind::FrozenParameter, "a frozen parameter"), (Kind::Buffer, "a buffer")];

    /// Passes the mark of the next array to a visitor.
    pub(super) fn mark(self, visitor: &mut Visitor<'_>) {
        if let Some((_, name)) = Kind::MARKS.iter().find(|(kind, _)| *kind == self) {
            visitor.host(HostValue::Variant(name));
        }
    }

    fn of_mark(mark: &str) -> Option<Kind> {
        Kind::MARKS.iter().find(|(_, name)| *name == mark).map(|(kind, _)| *kind)
    }

    /// Returns whether arrays of this kind are in the state of a module.
    pub(super) fn is_state(self) -> bool {
        self != Kind::Plain
    }
}

/// An array of a module.
pub(crate) struct Entry {
    /// The names that lead to it.
    pub(crate) path: String,
    pub(crate) var: Var,
    pub(crate) kind: Kind,
    /// The lengths of its axes; the width of an array that is no tensor.
    pub(crate) shape: SmallVec<[Size; 4]>,
}

/// Returns the arrays of a value that can be replaced, in order.
pub(crate) fn entries(tree: &(impl Traverse + ?Sized)) -> Vec<Entry> {
    let (mut found, mut kind, mut lengths) = (Vec::new(), Kind::Plain, None);
    tree.traverse(&mut Visitor::with_paths(&mut |path, leaf| match leaf {
        Leaf::Host(HostValue::Variant(name)) => kind = Kind::of_mark(name).unwrap_or(kind),
        Leaf::Host(HostValue::Lengths(shape)) => lengths = Some(shape),
        Leaf::Host(_) => {}
        Leaf::Array(var) => {
            let shape = lengths.take().unwrap_or_else(|| SmallVec::from_elem(var.width(), 1));
            let kind = std::mem::replace(&mut kind, Kind::Plain);
            found.push(Entry { path: path.to_owned(), var: var.clone(), kind, shape });
        }
        Leaf::Shared(_) => (kind, lengths) = (Kind::Plain, None),
    }));
    found
}

/// Returns which of the arrays of a value that can be replaced are trained, in order. If the value has parameters, they
/// are; if it has none, as a struct of plain arrays, all are.
pub(crate) fn are_trained(tree: &(impl Traverse + ?Sized)) -> Vec<bool> {
    let kinds: Vec<Kind> = entries(tree).into_iter().map(|entry| entry.kind).collect();
    let has_parameters = kinds.iter().any(|kind| matches!(kind, Kind::Parameter | Kind::FrozenParameter));
    let trained = if has_parameters { Kind::Parameter } else { Kind::Plain };
    kinds.into_iter().map(|kind| kind == trained).collect()
}
