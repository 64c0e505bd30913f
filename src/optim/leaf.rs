//! The step of an optimiser on one array.

use jit_core::graph::Var;
use jit_core::misuse::Misuse;
use jit_core::trees::{FloatRule, owned_with_paths};

use super::optimizer::Skip;
use super::{Method, Setting};
use crate::{Array, Float64, FloatElement, Mask, Site, Size, Traverse};

/// Zeros as wide as an array, the state before the first step; a single one for arrays that are not trained.
pub(super) struct Zeros {
    /// How many of them.
    pub(super) count: usize,
    /// Which arrays are trained.
    pub(super) are_trained: Vec<bool>,
}

impl FloatRule for Zeros {
    fn apply<T: FloatElement>(&mut self, position: usize, arrays: Vec<Array<T>>) -> Vec<Array<T>> {
        let zeros = if self.are_trained[position] { arrays[0].zeros_like() } else { Array::zeros(1) };
        vec![zeros; self.count]
    }
}

/// Which elements a step changes.
pub(super) enum Masks {
    /// All.
    None,
    /// Those of one mask, for every array.
    All(Mask),
    /// Those of a mask for each array.
    Each(Vec<Mask>),
}

impl Masks {
    fn at(&self, position: usize) -> Option<&Mask> {
        match self {
            Masks::None => None,
            Masks::All(mask) => Some(mask),
            Masks::Each(masks) => Some(&masks[position]),
        }
    }
}

/// The step of a method on one array: of the parameters, their gradients and the states.
pub(super) struct LeafStep<'a, M> {
    /// The settings of each array.
    pub(super) settings: &'a [M],
    /// Which arrays are trained; others stay as they are.
    pub(super) are_trained: &'a [bool],
    pub(super) skip: Skip,
    pub(super) masks: Masks,
    pub(super) counters: &'a mut [Vec<Float64>],
}

impl<M: Method> LeafStep<'_, M> {
    /// Panics if an array does not fit to its parameter.
    pub(super) fn check<P: Traverse>(&self, site: Site, trees: &[&P]) {
        let parameters = owned_with_paths(trees[0]);
        if parameters.len() != self.counters.len() {
            let what = format!("an optimiser of {} arrays got {}", self.counters.len(), parameters.len());
            Misuse::new(what, site).hint("create the optimiser with parameters of this form").panic();
        }
        let gradients = owned_with_paths(trees[1]);
        let states: Vec<Vec<(String, Var)>> = trees[2..].iter().map(|tree| owned_with_paths(*tree)).collect();
        for (position, (path, parameter)) in parameters.iter().enumerate().filter(|(_, (_, var))| var.ty().is_float()) {
            let width = parameter.width();
            let fits = |what: &str, other: Size| {
                if other != 1 && other != width {
                    let what = format!("the {what} of `{path}` has width {}, and it has {}", other.get(), width.get());
                    Misuse::new(what, site).hint("widths are 1, or that of the parameter").panic();
                }
            };
            if let Some((_, gradient)) = gradients.get(position) {
                fits("gradient", gradient.width());
            }
            states.iter().for_each(|state| fits("state", state[position].1.width()));
            let settings = self.settings[position].settings();
            settings.into_iter().map(Setting::values).for_each(|values| fits("setting", values.width()));
            self.masks.at(position).into_iter().for_each(|mask| fits("mask", mask.width()));
        }
    }

    /// Returns the mask of the elements that change; none if all do.
    fn changes<T: FloatElement>(&self, position: usize, gradient: &Array<T>) -> Option<Mask> {
        let flows = match self.skip {
            Skip::Nothing => None,
            Skip::ZeroArrays => Some(gradient.ne(T::from_f64(0.0)).any()),
            Skip::ZeroElements => Some(gradient.ne(T::from_f64(0.0))),
        };
        [self.masks.at(position).cloned(), flows].into_iter().flatten().reduce(|a, b| a & b)
    }
}

impl<M: Method> FloatRule for LeafStep<'_, M> {
    fn apply<T: FloatElement>(&mut self, position: usize, arrays: Vec<Array<T>>) -> Vec<Array<T>> {
        let [p, g, states @ ..] = &arrays[..] else { return Vec::new() };
        if !self.are_trained[position] {
            return [p].into_iter().chain(states).cloned().collect();
        }
        let changes = self.changes(position, g);
        let (mut new_states, mut counters) = (states.to_vec(), self.counters[position].clone());
        let new = self.settings[position].step(p, g, &mut new_states, &mut counters);
        let mut results = vec![new];
        results.extend(new_states);
        if let Some(mask) = changes {
            for (new, old) in results.iter_mut().zip([p].into_iter().chain(states)) {
                *new = mask.select(&*new, old);
            }
            for (new, old) in counters.iter_mut().zip(&self.counters[position]) {
                *new = mask.select(&*new, old);
            }
        }
        self.counters[position] = counters;
        results
    }
}
