//! What can be done with all parameters, buffers and settings of a module.

use super::convert::Convert;
use super::kind::{Kind, entries};
use super::mode::Mode;
use super::parameter::IsTrained;
use super::state::{LoadOptions, LoadReport, StateDict, path_of};
use super::summary::Summary;
use crate::{FloatElement, Result, Traverse, VisitorMut};

/// What every value with parameters can do, whatever its input: it is implemented for all that is `Traverse`.
pub trait Model: Traverse {
    /// Sets all layers to training mode.
    fn train(&mut self) {
        self.set_mode(Mode::Train);
    }

    /// Sets all layers to evaluation mode: dropout does nothing, normalisations use their running statistics.
    fn eval(&mut self) {
        self.set_mode(Mode::Eval);
    }

    /// Sets the mode of all layers.
    fn set_mode(&mut self, mode: Mode) {
        change_settings(self, |_, setting: &mut Mode| *setting = mode);
    }

    /// Stops the training of the parameters of a part. Its path names it, as in the [state](Model::state_dict):
    /// `encoder` has all that is in `encoder.0.weight`, or `encoder[0].weight`; an empty path has everything.
    /// They are constants for derivatives, and optimisers leave them as they are.
    ///
    /// ```
    /// use jit::nn::{Linear, Model};
    /// use jit::prelude::*;
    ///
    /// let mut rng = jit::random::rng(1);
    /// let mut net: (Linear, Linear) = (Linear::new(4, 3, &mut rng), Linear::new(3, 2, &mut rng));
    /// net.freeze("0");
    /// assert!(!net.0.weight.is_trained() && net.1.weight.is_trained());
    /// assert_eq!((net.parameter_count(), net.trained_count()), (23, 8));
    /// ```
    ///
    /// # Panics
    ///
    /// When the part has no parameters.
    #[track_caller]
    fn freeze(&mut self, part: &str) {
        set_trained(self, part, false);
    }

    /// Continues the training of the parameters of a part; see [`Model::freeze`].
    ///
    /// # Panics
    ///
    /// When the part has no parameters.
    #[track_caller]
    fn unfreeze(&mut self, part: &str) {
        set_trained(self, part, true);
    }

    /// Returns the parameters and buffers by name.
    #[must_use]
    fn state_dict(&self) -> StateDict {
        StateDict::of(self, Kind::is_state)
    }

    /// Replaces the parameters and buffers by those of a state.
    ///
    /// # Errors
    ///
    /// When names, shapes or element types differ; all differences are named, and nothing has changed.
    #[track_caller]
    fn load_state_dict(&mut self, state: &StateDict) -> Result<()> {
        state.load(self, LoadOptions::default(), Kind::is_state).map(drop)
    }

    /// Like [`Model::load_state_dict`], but names may differ, or types are converted. Returns the names that differ.
    ///
    /// A module of other floats is made so, for training or inference in halves:
    ///
    /// ```
    /// use jit::nn::{Linear, LoadOptions, Model};
    /// use jit::prelude::*;
    ///
    /// type Net<T> = (Linear<T>, Linear<T>);
    ///
    /// let mut rng = jit::random::rng(1);
    /// let net: Net<f32> = (Linear::new(4, 3, &mut rng), Linear::new(3, 2, &mut rng));
    /// let mut half: Net<half::f16> = (Linear::new(4, 3, &mut rng), Linear::new(3, 2, &mut rng));
    /// half.load_state_dict_with(&net.state_dict(), LoadOptions { casts: true, ..LoadOptions::default() })?;
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Model::load_state_dict`], for what the options do not allow.
    #[track_caller]
    fn load_state_dict_with(&mut self, state: &StateDict, options: LoadOptions) -> Result<LoadReport> {
        state.load(self, options, Kind::is_state)
    }

    /// Returns the module with parameters of another type, as [`Convert`] describes: a recorded conversion, through
    /// which gradients flow.
    #[must_use]
    #[track_caller]
    fn to<U: FloatElement>(&self) -> Self::Output
    where
        Self: Convert<U>,
    {
        self.convert()
    }

    /// Returns the module with parameters of 16 bits: see [`Model::to`].
    #[must_use]
    #[track_caller]
    fn half(&self) -> Self::Output
    where
        Self: Convert<half::f16>,
    {
        self.convert()
    }

    /// Takes over what another form of the module has changed in training: all arrays but the parameters, as running
    /// statistics and generators of random numbers. Floats are converted.
    ///
    /// # Errors
    ///
    /// When names or shapes differ; all differences are named, and nothing has changed.
    #[track_caller]
    fn adopt_state(&mut self, other: &impl Traverse) -> Result<()> {
        let is_state = |kind| !matches!(kind, Kind::Parameter | Kind::FrozenParameter);
        let options = LoadOptions { casts: true, ..LoadOptions::default() };
        StateDict::of(other, is_state).load(self, options, is_state).map(drop)
    }

    /// Returns a table of the parameters and buffers.
    #[must_use]
    fn summary(&self) -> Summary {
        Summary::of(self)
    }

    /// Returns the number of elements of all parameters.
    #[must_use]
    fn parameter_count(&self) -> usize {
        let is_parameter = |kind| matches!(kind, Kind::Parameter | Kind::FrozenParameter);
        entries(self).iter().filter(|entry| is_parameter(entry.kind)).map(|entry| entry.var.lanes()).sum()
    }

    /// Returns the number of elements of the parameters that are trained.
    #[must_use]
    fn trained_count(&self) -> usize {
        entries(self).iter().filter(|entry| entry.kind == Kind::Parameter).map(|entry| entry.var.lanes()).sum()
    }
}

impl<M: Traverse + ?Sized> Model for M {}

/// Changes all settings of a type.
pub(crate) fn change_settings<S: 'static>(tree: &mut (impl Traverse + ?Sized), mut change: impl FnMut(&str, &mut S)) {
    let mut settings = |path: &str, setting: &mut dyn std::any::Any| {
        if let Some(setting) = setting.downcast_mut() {
            change(path, setting);
        }
    };
    tree.traverse_mut(&mut VisitorMut::new(&mut |_, _| {}).and_settings(&mut settings));
}

#[track_caller]
fn set_trained(tree: &mut (impl Traverse + ?Sized), part: &str, is_trained: bool) {
    let mut names = Vec::new();
    let mut found = false;
    change_settings(tree, |path, setting: &mut IsTrained| {
        let path = path_of(path);
        if has(part, &path) {
            (setting.0, found) = (is_trained, true);
        }
        names.push(format!("`{path}`"));
    });
    if !found {
        jit_core::misuse::Misuse::new(format!("the module has no parameters in `{part}`"), crate::Site::here())
            .hint(&format!("its parameters are {}", names.join(", ")))
            .panic();
    }
}

/// Returns whether a part of a module has an array.
fn has(part: &str, path: &str) -> bool {
    let part = path_of(part);
    part.is_empty() || path.strip_prefix(&part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
