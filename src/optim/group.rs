//! Groups of an optimiser: parts of the parameters with settings of their own.

use jit_core::misuse::Misuse;
use jit_core::trees::owned_with_paths;

use super::{Method, Setting};
use crate::nn::{change_settings, path_of};
use crate::{Site, Traverse};

/// Parameters with settings of their own.
#[derive(Clone, Traverse)]
pub(super) struct Group<M: Method> {
    pub(super) path: String,
    pub(super) settings: M,
}

impl<M: Method> Group<M> {
    /// Makes a group whose settings follow those of all parameters, until they are replaced.
    pub(super) fn new(path: String, of_all: &M) -> Self {
        let mut settings = of_all.clone();
        change_settings(&mut settings, |_, setting: &mut Setting| setting.follow());
        Group { path, settings }
    }

    /// Returns the settings, after those that follow have got the values of all parameters.
    #[track_caller]
    pub(super) fn updated(&mut self, of_all: &M) -> &mut M {
        let _line = crate::enter();
        let mut all = Vec::new();
        change_settings(&mut of_all.clone(), |path, setting: &mut Setting| {
            all.push((path.to_owned(), setting.clone()));
        });
        change_settings(&mut self.settings, |path, setting: &mut Setting| {
            // One that is not there any more, as a momentum that is `None` now, stays in the group as it was.
            if let Some((_, of_all)) = all.iter().find(|(other, _)| other == path) {
                setting.update(of_all);
            }
        });
        &mut self.settings
    }

    /// Returns whether the group has an array.
    pub(super) fn has(&self, leaf: &str) -> bool {
        has(&self.path, leaf)
    }
}

/// Returns whether a part of a value has an array.
fn has(part: &str, leaf: &str) -> bool {
    path_of(leaf).strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Panics if a value has no part of this path.
#[track_caller]
pub(super) fn check_part(part: &str, tree: &impl Traverse) {
    let all = owned_with_paths(tree);
    if !all.iter().any(|(path, _)| has(part, path)) {
        let names = all.iter().map(|(path, _)| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        Misuse::new(format!("the parameters have no part `{part}`"), Site::here())
            .hint(&format!("their arrays are {names}"))
            .panic();
    }
}
