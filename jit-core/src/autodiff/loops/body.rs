//! Gradients that leave the body of a loop for arrays in memory.

use jit_runtime::ir::{ReduceOp, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::vertex::{Key, key_of};
use crate::graph::Var;
use crate::graph::payload::How;
use crate::size::Size;
use crate::trace::record;
use crate::trace::scatter::{self, Request};

/// The body of a loop in which gradients flow.
pub(in crate::autodiff) struct Body {
    /// The width of the loop.
    pub(in crate::autodiff) width: Size,
    /// The values at which gradients leave the body.
    pub(in crate::autodiff) ends: FxHashSet<Key>,
    /// The gradients of arrays that the body gathers from.
    arrays: Arrays,
}

enum Arrays {
    /// States of the loop, by the array.
    States(FxHashMap<Key, Var>),
    /// The body is only searched for what it reads: what would be added.
    Noted(Vec<Var>),
}

impl Body {
    /// Describes a body whose states include the gradients of the arrays that it gathers from.
    pub(in crate::autodiff) fn new(width: Size, arrays: impl IntoIterator<Item = (Var, Var)>) -> Body {
        let arrays = arrays.into_iter().map(|(array, state)| (key_of(&array), state)).collect();
        Body { width, ends: FxHashSet::default(), arrays: Arrays::States(arrays) }
    }

    /// Describes a body that is recorded to find out what it reads.
    pub(super) fn tried(width: Size) -> Body {
        let arrays = Arrays::Noted(Vec::new());
        Body { width, ends: FxHashSet::default(), arrays }
    }

    /// Adds gradients to elements of the gradient of an array.
    #[track_caller]
    pub(in crate::autodiff) fn add_elements(&mut self, array: &Var, index: &Var, mask: Option<&Var>, gradient: &Var) {
        match &mut self.arrays {
            Arrays::Noted(values) => values.extend([index.clone(), gradient.clone()].into_iter().chain(mask.cloned())),
            Arrays::States(states) => {
                let target = states.get_mut(&key_of(array)).expect("each array that is gathered from has a state");
                let how = How::Reduce(ReduceOp::Add);
                scatter::scatter(target, &Request { how, index, value: gradient, expected: None, mask });
            }
        }
    }

    /// Takes the gradient of an array, as a state of an inner loop.
    #[track_caller]
    pub(super) fn lend(&mut self, array: &Var) -> Var {
        let lent = match &mut self.arrays {
            // A constant in its place, so that the inner loop is its sole owner.
            Arrays::States(states) => {
                let state = states.get_mut(&key_of(array));
                state.map(|state| std::mem::replace(state, record::literal(Type::Bool, 0, 1)))
            }
            Arrays::Noted(_) => None,
        };
        lent.unwrap_or_else(|| record::literal(array.ty(), 0, array.width()))
    }

    /// Gives the gradient of an array back, after an inner loop.
    pub(super) fn give_back(&mut self, array: &Var, gradient: Var) {
        match &mut self.arrays {
            Arrays::States(states) => drop(states.insert(key_of(array), gradient)),
            Arrays::Noted(values) => values.push(gradient),
        }
    }

    /// Returns the gradient of an array after the body.
    pub(in crate::autodiff) fn take_array(&mut self, array: &Var) -> Option<Var> {
        match &mut self.arrays {
            Arrays::States(states) => states.remove(&key_of(array)),
            Arrays::Noted(_) => None,
        }
    }

    /// Returns what a body that was tried would add to arrays.
    pub(super) fn into_noted(self) -> Vec<Var> {
        match self.arrays {
            Arrays::Noted(values) => values,
            Arrays::States(_) => Vec::new(),
        }
    }
}
