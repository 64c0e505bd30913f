//! The state of a module: its parameters and buffers, by name.

use std::fmt::Write as _;

use half::{bf16, f16};
use jit_core::graph::Var;
use jit_runtime::ir::Type;

use super::kind::{Entry, Kind, all_entries, entries};
use crate::tensor::Tensor;
use crate::{Array, Element, Error, ErrorKind, FloatElement, Result, Site, Traverse, Visitor, VisitorMut};

/// Returns the name of a path in the state: `layers[0].weight` is `layers.0.weight`, as in PyTorch.
pub(crate) fn path_of(path: &str) -> String {
    let mut name = String::with_capacity(path.len());
    for part in path.split(['.', '[', ']']).filter(|part| !part.is_empty()) {
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(part.trim_matches('"'));
    }
    name
}

/// An array of a state.
#[derive(Clone)]
pub(super) struct Saved {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) var: Var,
}

/// Arrays by name, in the order of the value that they belong to: the parameters and buffers of a module
/// ([`Model::state_dict`](super::Model::state_dict)), or all arrays of a value ([`StateDict::checkpoint`]).
///
/// The names are those of PyTorch: `encoder.0.weight`. Arrays stay lazy until they are read, and share their memory
/// with the module until either changes.
///
/// ```
/// use jit::nn::{Linear, Model};
/// use jit::prelude::*;
///
/// let mut rng = jit::random::rng(1);
/// let (net, mut other): (Linear, Linear) = (Linear::new(4, 3, &mut rng), Linear::new(4, 3, &mut rng));
/// let state = net.state_dict();
/// assert_eq!(state.names().collect::<Vec<_>>(), ["weight", "bias"]);
/// other.load_state_dict(&state)?;
/// assert_eq!(other.weight.to_vec()?, net.weight.to_vec()?);
///
/// let wrong: Linear = Linear::new(5, 3, &mut rng);
/// let error = other.load_state_dict(&wrong.without_bias().state_dict()).unwrap_err().to_string();
/// assert!(error.contains("`weight` has the shape [3, 5] instead of [3, 4]"));
/// assert!(error.contains("`bias` is missing"));
/// # Ok::<(), jit::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct StateDict {
    pub(super) saved: Vec<Saved>,
}

/// How a state is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Whether names that only one side has are no error.
    pub is_partial: bool,
    /// Whether floats are converted to the type that the module has, instead of being an error.
    pub casts: bool,
}

/// The names that were found on one side only, by a load that allows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Those that the state lacks: these arrays have not changed.
    pub missing: Vec<String>,
    /// Those that the module lacks.
    pub unexpected: Vec<String>,
}

impl StateDict {
    /// Returns the arrays of some kinds.
    pub(super) fn of(tree: &(impl Traverse + ?Sized), is_wanted: impl Fn(Kind) -> bool) -> StateDict {
        let wanted = all_entries(tree).into_iter().filter(|entry| is_wanted(entry.kind));
        let saved = wanted.map(|entry| {
            let shape = entry.shape.iter().map(|length| length.get()).collect();
            Saved { name: path_of(&entry.path), shape, var: detached(&entry.var) }
        });
        StateDict { saved: saved.collect() }
    }

    /// Returns all arrays of a value, whatever their kind: of a tuple of module, optimiser and generators of random
    /// numbers it is all that training needs to continue with the same bits.
    ///
    /// ```
    /// use jit::nn::{Linear, StateDict};
    /// use jit::optim::Adam;
    /// use jit::prelude::*;
    ///
    /// let mut rng = jit::random::rng(1);
    /// let net: Linear = Linear::new(4, 3, &mut rng);
    /// let adam = Adam::new(&net, 1e-3);
    /// let checkpoint = StateDict::checkpoint(&(&net, &adam, &rng));
    /// # let _ = checkpoint;
    /// ```
    #[must_use]
    pub fn checkpoint(tree: &(impl Traverse + ?Sized)) -> StateDict {
        StateDict::of(tree, |_| true)
    }

    /// Replaces all arrays of a value by those of its [`StateDict::checkpoint`].
    ///
    /// # Errors
    ///
    /// When names, shapes or element types differ; all differences are named, and nothing has changed.
    #[track_caller]
    pub fn restore(&self, tree: &mut (impl Traverse + ?Sized)) -> Result<()> {
        self.load(tree, LoadOptions::default(), |_| true).map(drop)
    }

    /// Returns the names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.saved.iter().map(|saved| saved.name.as_str())
    }

    /// Returns the number of arrays.
    #[must_use]
    pub fn len(&self) -> usize {
        self.saved.len()
    }

    /// Returns whether there are no arrays.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.saved.is_empty()
    }

    /// Returns the shape of an array.
    #[must_use]
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.find(name).map(|saved| &*saved.shape)
    }

    fn find(&self, name: &str) -> Option<&Saved> {
        let named = |name: &str| self.saved.iter().find(|saved| saved.name == name);
        named(name).or_else(|| named(&path_of(name)))
    }

    /// Returns an array of this element type.
    ///
    /// # Errors
    ///
    /// When there is none of this name, or it has another element type.
    #[track_caller]
    pub fn get<T: Element>(&self, name: &str) -> Result<Tensor<T>> {
        let Some(saved) = self.find(name) else {
            let names: Vec<String> = self.names().map(|name| format!("`{name}`")).collect();
            return Err(refused(format!("the state has no `{name}`")).with_hint(format!("it has {}", names.join(", "))));
        };
        if saved.var.ty() != T::TYPE {
            return Err(refused(format!("`{name}` is an array of {}, not {}", saved.var.ty(), T::TYPE)));
        }
        Ok(Tensor::from_array(Array::from_var(saved.var.clone()), saved.shape.as_slice()))
    }

    /// Adds an array at the end, or replaces the one of this name.
    #[track_caller]
    pub fn insert<T: Element>(&mut self, name: impl Into<String>, tensor: &Tensor<T>) {
        let shape = tensor.shape().to_vec();
        let saved = Saved { name: name.into(), shape, var: tensor.detach().into_array().into_var() };
        match self.saved.iter_mut().find(|other| other.name == saved.name) {
            Some(other) => *other = saved,
            None => self.saved.push(saved),
        }
    }

    /// Removes an array; returns whether there was one of this name.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.saved.len();
        let known = self.find(name).map(|saved| saved.name.clone());
        self.saved.retain(|saved| Some(&saved.name) != known.as_ref());
        self.saved.len() < before
    }

    /// Replaces the arrays of some kinds by those of the state.
    #[track_caller]
    pub(super) fn load(
        &self,
        tree: &mut (impl Traverse + ?Sized),
        options: LoadOptions,
        is_wanted: impl Fn(Kind) -> bool,
    ) -> Result<LoadReport> {
        let entries = entries(tree);
        let mut found = Matched::default();
        let new: Vec<Option<Var>> = entries
            .iter()
            .map(|entry| if is_wanted(entry.kind) { found.matching(self, entry, options) } else { None })
            .collect();
        for entry in all_entries(tree).into_iter().filter(|entry| entry.is_shared && is_wanted(entry.kind)) {
            found.refuse_shared(self, &entry);
        }
        found.report.unexpected =
            self.names().filter(|name| !found.names.iter().any(|found| found == name)).map(str::to_owned).collect();
        found.check(options)?;
        let mut new = new.into_iter();
        tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
            if let Some(Some(new)) = new.next() {
                *var = new;
            }
        }));
        Ok(found.report)
    }
}

/// What a load has found.
#[derive(Default)]
struct Matched {
    names: Vec<String>,
    report: LoadReport,
    /// Arrays that do not fit.
    wrong: Vec<String>,
}

impl Matched {
    /// Returns the array of the state for one of the module.
    fn matching(&mut self, state: &StateDict, entry: &Entry, options: LoadOptions) -> Option<Var> {
        let name = path_of(&entry.path);
        let saved = state.find(&name);
        self.names.push(name.clone());
        let Some(saved) = saved else {
            self.report.missing.push(name);
            return None;
        };
        let shape: Vec<usize> = entry.shape.iter().map(|length| length.get()).collect();
        let (ty, wanted) = (saved.var.ty(), entry.var.ty());
        if saved.shape != shape {
            self.wrong.push(format!("`{name}` has the shape {:?} instead of {shape:?}", saved.shape));
        } else if ty == wanted {
            return Some(saved.var.clone());
        } else if options.casts && ty.is_float() && wanted.is_float() {
            return Some(cast(&saved.var, wanted));
        } else {
            self.wrong.push(format!("`{name}` is an array of {ty} instead of {wanted}"));
        }
        None
    }

    /// An array of the state cannot be loaded to one behind a shared reference.
    fn refuse_shared(&mut self, state: &StateDict, entry: &Entry) {
        let name = path_of(&entry.path);
        if state.find(&name).is_some() {
            self.wrong.push(format!("`{name}` is behind a shared reference, so it cannot be replaced"));
            self.names.push(name);
        }
    }

    #[track_caller]
    fn check(&self, options: LoadOptions) -> Result<()> {
        let mut lines = self.wrong.clone();
        if !options.is_partial {
            lines.extend(self.report.missing.iter().map(|name| format!("`{name}` is missing")));
            lines.extend(self.report.unexpected.iter().map(|name| format!("`{name}` is unexpected")));
        }
        if lines.is_empty() {
            return Ok(());
        }
        let mut message = String::from("the state does not fit to the module");
        lines.iter().for_each(|line| _ = write!(message, "\n  {line}"));
        Err(refused(message).with_hint("nothing was loaded; `LoadOptions` allows other names and element types"))
    }
}

#[track_caller]
fn refused(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message).at(Site::here())
}

/// Returns an array without gradients.
fn detached(var: &Var) -> Var {
    #[derive(Clone)]
    struct One(Var);
    impl Traverse for One {
        fn traverse(&self, visitor: &mut Visitor<'_>) {
            visitor.array(&self.0);
        }

        fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
            visitor.array(&mut self.0);
        }
    }
    crate::ad::detach(&One(var.clone())).0
}

/// Converts an array of floats to another float type.
fn cast(var: &Var, to: Type) -> Var {
    fn from<T: FloatElement>(var: &Var, to: Type) -> Var {
        let array = Array::<T>::from_var(var.clone());
        match to {
            Type::F16 => array.cast::<f16>().into_var(),
            Type::BF16 => array.cast::<bf16>().into_var(),
            Type::F64 => array.cast::<f64>().into_var(),
            _ => array.cast::<f32>().into_var(),
        }
    }
    match var.ty() {
        Type::F16 => from::<f16>(var, to),
        Type::BF16 => from::<bf16>(var, to),
        Type::F64 => from::<f64>(var, to),
        _ => from::<f32>(var, to),
    }
}

impl Traverse for StateDict {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        for saved in &self.saved {
            visitor.text(format_args!("{} {:?}", saved.name, saved.shape));
            visitor.named(&saved.name, |visitor| visitor.array(&saved.var));
        }
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        for saved in &mut self.saved {
            visitor.named(&saved.name, |visitor| visitor.array(&mut saved.var));
        }
    }
}

impl std::fmt::Debug for StateDict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entries = self.saved.iter().map(|saved| (&saved.name, format!("{} {:?}", saved.var.ty(), saved.shape)));
        f.debug_map().entries(entries).finish()
    }
}
