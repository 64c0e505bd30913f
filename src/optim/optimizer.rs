//! Optimisers: a method, its state, and which parts of the parameters it changes.

use jit_core::ad;
use jit_core::graph::Var;
use jit_core::misuse::Misuse;
use jit_core::trees::{map_floats, owned_with_paths};

use jit_runtime::ir::Type;

use super::Method;
use super::group::{Group, check_part};
use super::leaf::{LeafStep, Masks, Zeros};
use crate::nn::{are_trained, path_of};
use crate::{Float64, Mask, Site, Traverse, VisitorMut};

/// An optimiser of parameters of a type, by a method: see [`Sgd`](super::Sgd), [`RmsProp`](super::RmsProp),
/// [`Adam`](super::Adam) and [`AdamW`](super::AdamW).
#[derive(Clone, Traverse)]
pub struct Optimizer<P: Traverse, M: Method> {
    /// The settings of all parameters; of those in a group, where the group has none of its own.
    pub settings: M,
    groups: Vec<Group<M>>,
    skip: Skip,
    states: Vec<P>,
    /// The counters of each array of the parameters.
    counters: Vec<Vec<Float64>>,
}

/// What a step leaves out because nothing flowed to it: parameters, and their state, stay as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Traverse)]
pub enum Skip {
    /// Nothing.
    #[default]
    Nothing,
    /// Arrays all of whose gradients are zero: parameters that were unused in this step.
    ZeroArrays,
    /// Elements whose gradient is zero, as those of a table that nobody has read. Methods that count steps then count
    /// them for each element.
    ZeroElements,
}

impl<P: Traverse + Clone, M: Method> Optimizer<P, M> {
    /// Creates an optimiser, whose state is as wide as the parameters. Of a [module](crate::nn), the parameters that
    /// are not frozen are trained; of a value without such parameters, all float arrays are.
    #[must_use]
    pub fn with_method(parameters: &P, settings: M) -> Self {
        let mut zeros = Zeros { count: M::STATES, are_trained: are_trained(parameters) };
        let mut states = ad::suspend(|| map_floats(&mut zeros, &[parameters], M::STATES));
        let nothing = ad::grad_of(&ad::detach(parameters));
        states.iter_mut().for_each(|state| keep_others(state, &nothing));
        let count = |(_, var): (String, Var)| if var.ty().is_float() { M::COUNTERS } else { 0 };
        let counts = owned_with_paths(parameters).into_iter().map(count);
        // One array each: the same array in several places would be another key than that of all later steps.
        let counters = counts.map(|count| (0..count).map(|_| Float64::opaque(0.0)).collect()).collect();
        Optimizer { settings, groups: Vec::new(), skip: Skip::Nothing, states, counters }
    }

    /// Gives a part of the parameters settings of its own. The part is named by its path, as
    /// [`leaves`](crate::leaves) returns it, or by its name in a state: `encoder` has all that is in
    /// `encoder.layers[0].weights`, which is `encoder.layers.0.weights`, too. Of groups that have an array in common,
    /// the one with the longest path has it.
    ///
    /// A [`Setting`](super::Setting) that the group does not replace follows that of all parameters, whenever it
    /// changes; one that is [`scaled`](super::Setting::scaled) follows at this ratio. So a schedule of the rate is that
    /// of all groups. A setting that is replaced by a number or an array stays that, and what is no `Setting` (whether
    /// a momentum is Nesterov's, or there is one at all) stays as it was when the group was made.
    ///
    /// ```
    /// use jit::optim::Sgd;
    /// use jit::prelude::*;
    ///
    /// #[derive(Clone, Traverse)]
    /// struct Line {
    ///     slope: Float,
    ///     offset: Float,
    /// }
    ///
    /// let mut line = Line { slope: Float::from(1.0), offset: Float::from(1.0) };
    /// let mut sgd = Sgd::new(&line, 0.5).with_group("offset", |offset| offset.rate = 0.25.into());
    /// let gradient = Line { slope: Float::from(1.0), offset: Float::from(1.0) };
    /// sgd.step(&mut line, &gradient);
    /// assert_eq!((line.slope.item()?, line.offset.item()?), (0.5, 0.75));
    /// sgd.group("offset").rate = 0.125.into();
    ///
    /// // A tenth of the rate of all, whatever that is.
    /// let mut sgd = Sgd::new(&line, 0.5).with_group("offset", |offset| offset.rate = offset.rate.scaled(0.1));
    /// sgd.settings.rate = 2.0.into();
    /// assert_eq!(sgd.group("offset").rate.values().item()?, 0.2);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the parameters have no such part.
    #[must_use]
    #[track_caller]
    pub fn with_group(mut self, path: &str, change: impl FnOnce(&mut M)) -> Self {
        change(self.group(path));
        self
    }

    /// Returns the settings of a part of the parameters, with the present values of those that follow; see
    /// [`Optimizer::with_group`].
    ///
    /// # Panics
    ///
    /// As [`Optimizer::with_group`].
    #[track_caller]
    pub fn group(&mut self, path: &str) -> &mut M {
        let path = path_of(path);
        let position = match self.groups.iter().position(|group| group.path == path) {
            Some(position) => position,
            None => {
                if let Some(form) = self.states.first() {
                    check_part(&path, form);
                }
                self.groups.push(Group::new(path, &self.settings));
                self.groups.len() - 1
            }
        };
        self.groups[position].updated(&self.settings)
    }

    /// Sets what steps leave out because nothing flowed to it.
    #[must_use]
    pub fn with_skip(self, skip: Skip) -> Self {
        Optimizer { skip, ..self }
    }

    /// Changes parameters by their gradients. Variables among them are new variables then, without a gradient. If there
    /// are none, gradients flow through the step: a function that is differentiated may take steps.
    ///
    /// ```
    /// use jit::optim::Sgd;
    /// use jit::prelude::*;
    ///
    /// let mut x = Float::from(4.0);
    /// x.enable_grad();
    /// let mut sgd = Sgd::new(&x, 0.25);
    /// for _ in 0..3 {
    ///     (&x * &x).backward()?;
    ///     let gradient = x.grad();
    ///     sgd.step(&mut x, &gradient);
    /// }
    /// assert_eq!(x.item()?, 0.5);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the arrays of the values differ in number, type or width (gradients may have width 1), or a setting has
    /// neither width 1 nor that of a parameter.
    #[track_caller]
    pub fn step(&mut self, parameters: &mut P, gradients: &P) {
        self.step_all(parameters, gradients, Masks::None);
    }

    /// Like [`Optimizer::step`] where masks are true. Elsewhere parameters and their state stay as they are: a mask of
    /// width 1 leaves out whole arrays, and one as wide as a parameter elements.
    ///
    /// `masks` is one mask for all parameters, or a value with one for each array of them, in the same order: a tuple,
    /// a list, or a struct.
    ///
    /// ```
    /// use jit::optim::Adam;
    /// use jit::prelude::*;
    ///
    /// let mut pair = (Float::from([1.0, 1.0]), Float::from(1.0));
    /// let mut adam = Adam::new(&pair, 0.5);
    /// let gradient = (Float::from([3.0, 3.0]), Float::from(3.0));
    /// adam.step_masked(&mut pair, &gradient, &(Mask::from([true, false]), Mask::from(false)));
    /// assert_eq!((pair.0.to_vec()?, pair.1.item()?), (vec![0.5, 1.0], 1.0));
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Optimizer::step`], and when the masks are of another number, type or width.
    #[track_caller]
    pub fn step_masked(&mut self, parameters: &mut P, gradients: &P, masks: &impl Traverse) {
        let vars = owned_with_paths(masks).into_iter().map(|(_, var)| var).collect::<Vec<_>>();
        let wanted = self.counters.len();
        let is_mask = |var: &Var| var.ty() == Type::Bool;
        if !(vars.len() == 1 || vars.len() == wanted) || !vars.iter().all(is_mask) {
            let what = format!("{} arrays do not select among {wanted} parameters", vars.len());
            let hint = "pass one `Mask` for all of them, or a value with a `Mask` for each";
            Misuse::new(what, Site::here()).hint(hint).panic();
        }
        let mut masks: Vec<Mask> = vars.into_iter().map(Mask::from_var).collect();
        let masks = if masks.len() == 1 { Masks::All(masks.swap_remove(0)) } else { Masks::Each(masks) };
        self.step_all(parameters, gradients, masks);
    }

    #[track_caller]
    fn step_all(&mut self, parameters: &mut P, gradients: &P, masks: Masks) {
        let settings = self.settings_of_each(parameters);
        let (are_trained, skip) = (are_trained(parameters), self.skip);
        let mut step =
            LeafStep { settings: &settings, are_trained: &are_trained, skip, masks, counters: &mut self.counters };
        let variables = ad::Variables::of(parameters);
        let trees: Vec<&P> = [&*parameters, gradients].into_iter().chain(&self.states).collect();
        let site = Site::here();
        step.check(site, &trees);
        let mut change = || map_floats(&mut step, &trees, 1 + M::STATES);
        let mut results = if variables.any() { ad::suspend(change) } else { change() };
        let mut states = results.split_off(1);
        states.iter_mut().zip(&self.states).for_each(|(state, before)| keep_others(state, before));
        self.states = states;
        results.into_iter().for_each(|changed| *parameters = changed);
        variables.enable(parameters);
    }

    /// Returns the settings of each array of the parameters.
    #[track_caller]
    fn settings_of_each(&self, parameters: &P) -> Vec<M> {
        if self.groups.is_empty() {
            return vec![self.settings.clone(); self.counters.len()];
        }
        for group in &self.groups {
            check_part(&group.path, parameters);
        }
        let mut groups = self.groups.clone();
        groups.iter_mut().for_each(|group| {
            group.updated(&self.settings);
        });
        let of = |leaf: &str| {
            let groups = groups.iter().filter(|group| group.has(leaf));
            groups.max_by_key(|group| group.path.len()).map_or(&self.settings, |group| &group.settings).clone()
        };
        owned_with_paths(parameters).iter().map(|(path, _)| of(path)).collect()
    }
}

/// Takes the arrays that are no floats from another value of the same form.
fn keep_others(tree: &mut impl Traverse, other: &impl Traverse) {
    let mut others = owned_with_paths(other).into_iter();
    tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
        if let Some((_, other)) = others.next()
            && !var.ty().is_float()
        {
            *var = other;
        }
    }));
}
