//! Visitors: the position in a value, and the leaves found there.

use std::any::Any;

use super::Traverse;
use super::lent::Lent;
use crate::graph::Var;
use crate::size::Size;
use jit_runtime::ir::Type;
use smallvec::SmallVec;

/// The path of a visitor in a value: `scene.lights[3].color`.
#[derive(Default)]
pub(super) struct Path {
    text: String,
    is_wanted: bool,
}

impl Path {
    pub(super) fn wanted() -> Self {
        Path { text: String::new(), is_wanted: true }
    }

    /// Enters a field; returns the length of the path before. A field without a name adds nothing to the path.
    pub(super) fn enter_field(&mut self, name: &str) -> usize {
        let before = self.text.len();
        if self.is_wanted && !name.is_empty() {
            if before > 0 {
                self.text.push('.');
            }
            self.text.push_str(name);
        }
        before
    }

    /// Enters an element; returns the length of the path before.
    pub(super) fn enter_element(&mut self, key: std::fmt::Arguments<'_>) -> usize {
        use std::fmt::Write as _;
        let before = self.text.len();
        if self.is_wanted {
            let _ = write!(self.text, "[{key}]");
        }
        before
    }
}

impl Path {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns to the path of this length.
    pub(super) fn truncate(&mut self, length: usize) {
        self.text.truncate(length);
    }
}

/// A leaf that is not an array.
#[derive(Clone, Debug)]
pub enum HostValue {
    /// A number or truth value: its type and bits.
    Number(Type, u64),
    /// The length of a list.
    Shape(usize),
    /// The lengths of the axes of the next array. A frozen function is recorded once for all lengths, except for
    /// decisions by them.
    Lengths(SmallVec<[Size; 4]>),
    /// The variant of an `enum`.
    Variant(&'static str),
    /// A number that matters only if a decision depends on it: its type and bits.
    Parameter(Type, u64),
    /// Text, or any other value that is compared by its text.
    Text(String),
    /// An array behind a shared reference: it is not replaced, and compares by identity.
    Shared(Var),
}

impl PartialEq for HostValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (HostValue::Number(ty, bits), HostValue::Number(other_ty, other))
            | (HostValue::Parameter(ty, bits), HostValue::Parameter(other_ty, other)) => {
                (ty, bits) == (other_ty, other)
            }
            (HostValue::Shape(length), HostValue::Shape(other)) => length == other,
            (HostValue::Lengths(lengths), HostValue::Lengths(other)) => lengths == other,
            (HostValue::Variant(name), HostValue::Variant(other)) => name == other,
            (HostValue::Text(text), HostValue::Text(other)) => text == other,
            (HostValue::Shared(var), HostValue::Shared(other)) => var.address() == other.address(),
            _ => false,
        }
    }
}

/// A field that is compared as a host value: `#[traverse(constexpr)]`.
#[diagnostic::on_unimplemented(
    message = "a `#[traverse(constexpr)]` field must be known while tracing; `{Self}` is not",
    label = "`{Self}` cannot be compared as a value of the host",
    note = "it takes host values that are `Eq + Hash + Debug`; remove `constexpr` from an array or a float"
)]
pub trait Constant {
    /// Returns the value in a comparable form.
    fn host_value(&self) -> HostValue;
}

#[diagnostic::do_not_recommend]
impl<T: Eq + std::hash::Hash + std::fmt::Debug + ?Sized> Constant for T {
    fn host_value(&self) -> HostValue {
        HostValue::Text(format!("{self:?}"))
    }
}

/// A leaf that a [`Visitor`] finds.
pub enum Leaf<'a> {
    /// An array.
    Array(&'a Var),
    /// An array behind `&`, `Rc` or `Arc`: it can be read and evaluated, but not replaced.
    Shared(&'a Var),
    /// A leaf that is not an array.
    Host(HostValue),
}

/// A visitor that reads arrays.
pub struct Visitor<'a> {
    visit: &'a mut dyn FnMut(&str, Leaf<'_>),
    path: Path,
    is_shared: bool,
    has_skipped: bool,
    /// The sets of instances that were visited, for visitors that follow pointers.
    instances: Option<Vec<u64>>,
    /// Receives texts, instead of separate host values.
    texts: Option<&'a dyn Fn(std::fmt::Arguments<'_>)>,
}

/// Called with a size, and whether it is the length of an axis.
pub(crate) type Resize<'a> = dyn FnMut(&mut Size, bool) + 'a;

/// A visitor that may replace arrays.
pub struct VisitorMut<'a> {
    visit: &'a mut dyn FnMut(&str, &mut Var),
    /// Called for sizes, if requested.
    sizes: Option<&'a mut Resize<'a>>,
    /// Called for settings, if requested.
    settings: Option<&'a mut Set<'a>>,
    path: Path,
}

/// Called with the path of a setting, and the setting.
type Set<'a> = dyn FnMut(&str, &mut dyn Any) + 'a;

impl<'a> Visitor<'a> {
    /// Creates a visitor that calls a function with each array.
    pub fn new(visit: &'a mut dyn FnMut(&str, Leaf<'_>)) -> Self {
        Visitor { visit, path: Path::default(), is_shared: false, has_skipped: false, instances: None, texts: None }
    }

    /// Creates a visitor that calls a function with each array and its path.
    pub fn with_paths(visit: &'a mut dyn FnMut(&str, Leaf<'_>)) -> Self {
        Visitor { path: Path::wanted(), ..Visitor::new(visit) }
    }

    /// Makes the visitor also visit the instances of pointers, whose arrays are [`Leaf::Shared`].
    pub(crate) fn and_instances(self) -> Self {
        Visitor { instances: Some(Vec::new()), ..self }
    }

    /// Makes the visitor pass texts to another function as format arguments, without allocation.
    pub(crate) fn and_texts(self, texts: &'a dyn Fn(std::fmt::Arguments<'_>)) -> Self {
        Visitor { texts: Some(texts), ..self }
    }

    /// Visits a set of instances, unless it was visited before.
    pub(crate) fn instances(&mut self, serial: u64, show: impl FnOnce(&mut Self)) {
        let Some(shown) = self.instances.as_mut().filter(|shown| !shown.contains(&serial)) else { return };
        shown.push(serial);
        let before = std::mem::replace(&mut self.is_shared, true);
        show(self);
        self.is_shared = before;
    }

    /// Visits an array.
    pub fn array(&mut self, var: &Var) {
        let leaf = if self.is_shared { Leaf::Shared(var) } else { Leaf::Array(var) };
        (self.visit)(&self.path.text, leaf);
    }

    /// Notes that some fields are skipped.
    pub fn skipped(&mut self) {
        self.has_skipped = true;
    }

    /// Returns whether fields were skipped.
    pub(crate) fn has_skipped(&self) -> bool {
        self.has_skipped
    }

    /// Visits a leaf that is not an array.
    pub fn host(&mut self, value: HostValue) {
        // Shared leaves stay unchanged, including their shapes.
        if let (true, HostValue::Lengths(lengths)) = (self.is_shared, &value) {
            let each = lengths.iter().map(|length| length.value());
            return [lengths.len()].into_iter().chain(each).for_each(|length| self.show_host(HostValue::Shape(length)));
        }
        self.show_host(value);
    }

    fn show_host(&mut self, value: HostValue) {
        (self.visit)(&self.path.text, Leaf::Host(value));
    }

    /// Visits text, or any other value that is compared by its text.
    pub fn text(&mut self, text: std::fmt::Arguments<'_>) {
        match self.texts {
            Some(show) => show(text),
            None => self.host(HostValue::Text(text.to_string())),
        }
    }

    /// Visits a field.
    pub fn field(&mut self, name: &str, value: &(impl Traverse + ?Sized)) {
        self.named(name, |visitor| value.traverse(visitor));
    }

    /// Visits an element of a list.
    pub fn index(&mut self, index: usize, value: &(impl Traverse + ?Sized)) {
        self.element(format_args!("{index}"), value);
    }

    /// Visits an element of a collection.
    pub fn element(&mut self, key: std::fmt::Arguments<'_>, value: &(impl Traverse + ?Sized)) {
        let before = self.path.enter_element(key);
        value.traverse(self);
        self.path.text.truncate(before);
    }

    /// Visits the parts of a name by a custom function.
    pub fn named(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        let before = self.path.enter_field(name);
        visit(self);
        self.path.text.truncate(before);
    }

    /// Visits a value with other owners: its arrays are [`Leaf::Shared`].
    pub fn shared(&mut self, value: &(impl Traverse + ?Sized)) {
        let before = std::mem::replace(&mut self.is_shared, true);
        value.traverse(self);
        self.is_shared = before;
    }
}

impl<'a> VisitorMut<'a> {
    /// Creates a visitor that calls a function with each array.
    pub fn new(visit: &'a mut dyn FnMut(&str, &mut Var)) -> Self {
        VisitorMut { visit, sizes: None, settings: None, path: Path::default() }
    }

    /// Creates a visitor that calls a function with each array, and another one with each size.
    pub(crate) fn with_sizes(visit: &'a mut dyn FnMut(&str, &mut Var), sizes: &'a mut Resize<'a>) -> Self {
        VisitorMut { visit, sizes: Some(sizes), settings: None, path: Path::default() }
    }

    /// Creates a visitor that calls a function with each array and its path.
    pub fn with_paths(visit: &'a mut dyn FnMut(&str, &mut Var)) -> Self {
        VisitorMut { visit, sizes: None, settings: None, path: Path::wanted() }
    }

    /// Makes the visitor call another function with each setting and its path.
    #[must_use]
    pub fn and_settings(self, settings: &'a mut (dyn FnMut(&str, &mut dyn Any) + 'a)) -> Self {
        VisitorMut { settings: Some(settings), path: Path::wanted(), ..self }
    }

    /// Lends a setting: a host value that is changed in whole values, as whether the layers of a network train. Its
    /// type says what it is. [`Traverse::traverse`] passes its value to [`Visitor::host`], because what is recorded
    /// depends on it.
    pub fn setting(&mut self, setting: &mut dyn Any) {
        if let Some(visit) = &mut self.settings {
            visit(&self.path.text, setting);
        }
    }

    /// Lends a size. A frozen function that returns a size returns the right one for each call.
    pub fn size(&mut self, size: &mut Size) {
        if let Some(visit) = &mut self.sizes {
            visit(size, false);
        }
    }

    /// Returns whether sizes are visited.
    #[must_use]
    pub fn wants_sizes(&self) -> bool {
        self.sizes.is_some()
    }

    /// Lends the length of an axis, after the array: those in [`HostValue::Lengths`], in the same order.
    pub fn length(&mut self, length: &mut Size) {
        if let Some(visit) = &mut self.sizes {
            visit(length, true);
        }
    }

    /// Lends an array.
    ///
    /// # Panics
    ///
    /// When the visitor stores an array of another element type, or per-lane local memory in place of an array.
    pub fn array(&mut self, var: &mut Var) {
        let mut lent = Lent::new(var);
        (self.visit)(&self.path.text, lent.var());
        lent.check(&self.path.text);
    }

    /// Visits a field.
    pub fn field(&mut self, name: &str, value: &mut (impl Traverse + ?Sized)) {
        self.named(name, |visitor| value.traverse_mut(visitor));
    }

    /// Visits an element of a list.
    pub fn index(&mut self, index: usize, value: &mut (impl Traverse + ?Sized)) {
        self.element(format_args!("{index}"), value);
    }

    /// Visits an element of a collection.
    pub fn element(&mut self, key: std::fmt::Arguments<'_>, value: &mut (impl Traverse + ?Sized)) {
        let before = self.path.enter_element(key);
        value.traverse_mut(self);
        self.path.text.truncate(before);
    }

    /// Visits the parts of a name by a custom function.
    pub fn named(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        let before = self.path.enter_field(name);
        visit(self);
        self.path.text.truncate(before);
    }
}
