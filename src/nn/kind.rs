//! The kinds of the arrays in a module: parameters, buffers, and others.
//!
//! [`Parameter`](super::Parameter) and [`Buffer`](super::Buffer) mark their array in the traversal, so every visitor
//! sees the kind, and every container of them needs no more than `#[derive(Traverse)]`. The mark is a host value, so it
//! is part of the key of a frozen function: a parameter that is frozen or not leads to another recording.

use jit_core::graph::Var;
use jit_core::traverse::HostValue;
use smallvec::SmallVec;

use crate::{Leaf, LeafReader, Size, Traverse, Visitor};

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

    /// Reads the mark of the next array.
    pub(super) fn read(leaves: &mut LeafReader<'_>) -> crate::Result<Kind> {
        let mark = leaves.variant()?;
        Kind::of_mark(mark).ok_or_else(|| leaves.wrong(mark, "a parameter or buffer"))
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
    /// Whether it is behind a shared reference, so that it cannot be replaced.
    pub(crate) is_shared: bool,
}

/// Returns the arrays of a value that can be replaced, in order.
pub(crate) fn entries(tree: &(impl Traverse + ?Sized)) -> Vec<Entry> {
    let mut found = all_entries(tree);
    found.retain(|entry| !entry.is_shared);
    found
}

/// Returns all arrays of a value, in order: also those behind shared references.
pub(super) fn all_entries(tree: &(impl Traverse + ?Sized)) -> Vec<Entry> {
    let (mut found, mut kind, mut lengths) = (Vec::new(), Kind::Plain, ShapeBefore::None);
    tree.traverse(&mut Visitor::with_paths(&mut |path, leaf| match leaf {
        Leaf::Host(HostValue::Variant(name)) => kind = Kind::of_mark(name).unwrap_or(kind),
        Leaf::Host(HostValue::Lengths(shape)) => lengths = ShapeBefore::Lengths(shape),
        Leaf::Host(HostValue::Shape(length)) => lengths.push(length),
        Leaf::Host(_) => lengths = ShapeBefore::None,
        Leaf::Array(var) | Leaf::Shared(var) => {
            let is_shared = matches!(leaf, Leaf::Shared(_));
            let shape = std::mem::replace(&mut lengths, ShapeBefore::None).of(var);
            let kind = std::mem::replace(&mut kind, Kind::Plain);
            found.push(Entry { path: path.to_owned(), var: var.clone(), kind, shape, is_shared });
        }
    }));
    found
}

/// What a visitor was shown before an array that says its shape.
enum ShapeBefore {
    None,
    Lengths(SmallVec<[Size; 4]>),
    /// Numbers: behind a shared reference that of the axes and the length of each, after the lengths of lists.
    Numbers(SmallVec<[usize; 8]>),
}

impl ShapeBefore {
    fn push(&mut self, length: usize) {
        match self {
            ShapeBefore::Numbers(numbers) => numbers.push(length),
            _ => *self = ShapeBefore::Numbers(SmallVec::from_slice(&[length])),
        }
    }

    /// The lengths of the axes of an array; its width if it is no tensor.
    fn of(self, var: &Var) -> SmallVec<[Size; 4]> {
        let found = match self {
            ShapeBefore::Lengths(lengths) => Some(lengths),
            ShapeBefore::Numbers(numbers) => axes_at_end(&numbers, var.lanes()),
            ShapeBefore::None => None,
        };
        found.unwrap_or_else(|| SmallVec::from_elem(var.width(), 1))
    }
}

/// Returns the lengths of axes at the end of numbers, after their count, of an array with so many elements.
fn axes_at_end(numbers: &[usize], elements: usize) -> Option<SmallVec<[Size; 4]>> {
    let is_shape = |count: &usize| {
        let at = numbers.len() - count - 1;
        numbers[at] == *count && numbers[at + 1..].iter().product::<usize>() == elements
    };
    let count = (0..numbers.len()).find(is_shape)?;
    Some(numbers[numbers.len() - count..].iter().map(|&length| Size::from(length)).collect())
}

/// Returns which of the arrays of a value that can be replaced are trained, in order. If the value has parameters, they
/// are; if it has none, as a struct of plain arrays, all are.
pub(crate) fn are_trained(tree: &(impl Traverse + ?Sized)) -> Vec<bool> {
    kinds_of_parameters(tree).map(|(kind, wanted)| kind == wanted).collect()
}

/// Returns which of the arrays of a value that can be replaced are parameters, trained or not, in order; as
/// [`are_trained`], all if it has none.
pub(crate) fn are_parameters(tree: &(impl Traverse + ?Sized)) -> Vec<bool> {
    kinds_of_parameters(tree).map(|(kind, wanted)| kind == wanted || kind == Kind::FrozenParameter).collect()
}

/// Returns the kind of each array that can be replaced, and the kind of those that are trained.
fn kinds_of_parameters(tree: &(impl Traverse + ?Sized)) -> impl Iterator<Item = (Kind, Kind)> {
    let kinds: Vec<Kind> = entries(tree).into_iter().map(|entry| entry.kind).collect();
    let has_parameters = kinds.iter().any(|kind| matches!(kind, Kind::Parameter | Kind::FrozenParameter));
    let trained = if has_parameters { Kind::Parameter } else { Kind::Plain };
    kinds.into_iter().map(move |kind| (kind, trained))
}
