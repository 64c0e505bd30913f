//! Walking over the arrays in a value, and what is done with all of them at once.
//!
//! [`Traverse`] is implemented for arrays, for containers and tuples of what implements it, and for numbers of the host, which hold no
//! arrays. A visitor sees the arrays in the order of the fields, which is the same for equal shapes.

use std::panic::Location;

use jit_runtime::ir::Type;
use jit_runtime::{Error, memory};

use crate::array::{Array, Element};
use crate::schedule as scheduler;
use crate::trace::Var;

/// A value that may hold arrays.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be searched for arrays",
    label = "this is neither an array nor made of arrays",
    note = "derive `Traverse` for your own types"
)]
pub trait Traverse {
    /// Shows every array to a visitor, in the order of the fields.
    fn traverse(&self, visitor: &mut Visitor<'_>);

    /// Lends every array to a visitor, in the same order.
    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>);
}

/// Where a visitor is in a value: `scene.lights[3].color`.
#[derive(Default)]
struct Path {
    text: String,
    is_wanted: bool,
}

impl Path {
    fn within<R>(&mut self, name: std::fmt::Arguments<'_>, visit: impl FnOnce(&mut Self) -> R) -> R {
        use std::fmt::Write as _;
        let before = self.text.len();
        if self.is_wanted {
            let _ = self.text.write_fmt(name);
        }
        let result = visit(self);
        self.text.truncate(before);
        result
    }
}

/// Something in a value that is no array.
#[derive(Clone, PartialEq, Debug)]
pub enum HostValue {
    /// A number or truth value: its type and bits.
    Number(Type, u64),
    /// The length of a list, or which variant of an `Option` is there.
    Shape(usize),
    /// Text, or anything else that compares by its text.
    Text(String),
}

/// What a [`Visitor`] finds.
pub enum Leaf<'a> {
    /// An array.
    Array(&'a Var),
    /// Something that is no array.
    Host(HostValue),
}

/// Is shown arrays.
pub struct Visitor<'a> {
    visit: &'a mut dyn FnMut(&str, Leaf<'_>),
    path: Path,
}

/// Is lent arrays.
pub struct VisitorMut<'a> {
    visit: &'a mut dyn FnMut(&str, &mut Var),
    path: Path,
}

impl<'a> Visitor<'a> {
    /// A visitor that calls a function with each array.
    pub fn new(visit: &'a mut dyn FnMut(&str, Leaf<'_>)) -> Self {
        Visitor { visit, path: Path::default() }
    }

    /// A visitor that calls a function with each array and its path.
    pub fn with_paths(visit: &'a mut dyn FnMut(&str, Leaf<'_>)) -> Self {
        Visitor { visit, path: Path { text: String::new(), is_wanted: true } }
    }

    /// Shows an array.
    pub fn array(&mut self, var: &Var) {
        (self.visit)(&self.path.text, Leaf::Array(var));
    }

    /// Tells of something that is no array.
    pub fn host(&mut self, value: HostValue) {
        (self.visit)(&self.path.text, Leaf::Host(value));
    }

    /// Visits a field.
    pub fn field(&mut self, name: &str, value: &(impl Traverse + ?Sized)) {
        let Visitor { visit, path } = self;
        let separator = if path.text.is_empty() { "" } else { "." };
        path.within(format_args!("{separator}{name}"), |path| {
            let mut inner = Visitor { visit: &mut **visit, path: std::mem::take(path) };
            value.traverse(&mut inner);
            *path = inner.path;
        });
    }

    /// Visits an element of a list.
    pub fn index(&mut self, index: usize, value: &(impl Traverse + ?Sized)) {
        let Visitor { visit, path } = self;
        path.within(format_args!("[{index}]"), |path| {
            let mut inner = Visitor { visit: &mut **visit, path: std::mem::take(path) };
            value.traverse(&mut inner);
            *path = inner.path;
        });
    }
}

impl<'a> VisitorMut<'a> {
    /// A visitor that calls a function with each array.
    pub fn new(visit: &'a mut dyn FnMut(&str, &mut Var)) -> Self {
        VisitorMut { visit, path: Path::default() }
    }

    /// A visitor that calls a function with each array and its path.
    pub fn with_paths(visit: &'a mut dyn FnMut(&str, &mut Var)) -> Self {
        VisitorMut { visit, path: Path { text: String::new(), is_wanted: true } }
    }

    /// Lends an array.
    pub fn array(&mut self, var: &mut Var) {
        (self.visit)(&self.path.text, var);
    }

    /// Visits a field.
    pub fn field(&mut self, name: &str, value: &mut (impl Traverse + ?Sized)) {
        let VisitorMut { visit, path } = self;
        let separator = if path.text.is_empty() { "" } else { "." };
        path.within(format_args!("{separator}{name}"), |path| {
            let mut inner = VisitorMut { visit: &mut **visit, path: std::mem::take(path) };
            value.traverse_mut(&mut inner);
            *path = inner.path;
        });
    }

    /// Visits an element of a list.
    pub fn index(&mut self, index: usize, value: &mut (impl Traverse + ?Sized)) {
        let VisitorMut { visit, path } = self;
        path.within(format_args!("[{index}]"), |path| {
            let mut inner = VisitorMut { visit: &mut **visit, path: std::mem::take(path) };
            value.traverse_mut(&mut inner);
            *path = inner.path;
        });
    }
}

impl<T: Element> Traverse for Array<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.array(self.var());
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.array(self.var_mut());
    }
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Traverse for $ty {
            fn traverse(&self, visitor: &mut Visitor<'_>) {
                visitor.host(HostValue::Number(<$ty as Element>::TYPE, Element::to_bits(*self)));
            }

            fn traverse_mut(&mut self, _visitor: &mut VisitorMut<'_>) {}
        }
    )*};
}

numbers!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, half::f16, half::bf16);

macro_rules! texts {
    ($($ty:ty),*) => {$(
        impl Traverse for $ty {
            fn traverse(&self, visitor: &mut Visitor<'_>) {
                visitor.host(HostValue::Text(self.to_string()));
            }

            fn traverse_mut(&mut self, _visitor: &mut VisitorMut<'_>) {}
        }
    )*};
}

texts!(char, String, &str, usize, isize);

impl Traverse for () {
    fn traverse(&self, _visitor: &mut Visitor<'_>) {}

    fn traverse_mut(&mut self, _visitor: &mut VisitorMut<'_>) {}
}

impl<T: Traverse> Traverse for [T] {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Shape(self.len()));
        self.iter().enumerate().for_each(|(index, item)| visitor.index(index, item));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.iter_mut().enumerate().for_each(|(index, item)| visitor.index(index, item));
    }
}

impl<T: Traverse> Traverse for Vec<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        self.as_slice().traverse(visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.as_mut_slice().traverse_mut(visitor);
    }
}

impl<T: Traverse, const N: usize> Traverse for [T; N] {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        self.iter().enumerate().for_each(|(index, item)| visitor.index(index, item));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.iter_mut().enumerate().for_each(|(index, item)| visitor.index(index, item));
    }
}

impl<T: Traverse> Traverse for Option<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Shape(usize::from(self.is_some())));
        self.iter().for_each(|value| value.traverse(visitor));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.iter_mut().for_each(|value| value.traverse_mut(visitor));
    }
}

impl<T: Traverse + ?Sized> Traverse for Box<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        (**self).traverse(visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        (**self).traverse_mut(visitor);
    }
}

impl<T: Traverse + ?Sized> Traverse for &T {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        (**self).traverse(visitor);
    }

    /// What is behind a shared reference is not lent.
    fn traverse_mut(&mut self, _visitor: &mut VisitorMut<'_>) {}
}

impl<T: Traverse + ?Sized> Traverse for &mut T {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        (**self).traverse(visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        (**self).traverse_mut(visitor);
    }
}

macro_rules! tuples {
    ($($($name:ident $index:tt),+;)*) => {$(
        impl<$($name: Traverse),+> Traverse for ($($name,)+) {
            fn traverse(&self, visitor: &mut Visitor<'_>) {
                $(visitor.field(stringify!($index), &self.$index);)+
            }

            fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
                $(visitor.field(stringify!($index), &mut self.$index);)+
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11;
}

/// The arrays of a value, in order.
pub(crate) fn arrays(tree: &(impl Traverse + ?Sized)) -> Vec<Var> {
    let mut vars = Vec::new();
    tree.traverse(&mut Visitor::new(&mut |_, leaf| {
        if let Leaf::Array(var) = leaf {
            vars.push(var.clone());
        }
    }));
    vars
}

/// Computes all arrays of a value, in as few kernels as possible, and whatever [`schedule`] has marked on this thread. Returns when
/// the kernels are launched; reading an array waits for it.
///
/// # Errors
///
/// When a value is known only inside of a traced loop, depends on a placeholder, or a kernel cannot be compiled or launched. All arrays are
/// then as they were before.
#[track_caller]
pub fn eval(tree: &(impl Traverse + ?Sized)) -> Result<(), Error> {
    let site = Location::caller();
    let vars = arrays(tree);
    scheduler::evaluate(&vars.iter().collect::<Vec<_>>(), "`eval` asks for it", site)
}

/// Marks all arrays of a value to be computed together with the next evaluation of this thread, those that still live then.
pub fn schedule(tree: &(impl Traverse + ?Sized)) {
    arrays(tree).iter().for_each(scheduler::mark);
}

/// Waits until everything that was launched is done.
///
/// # Errors
///
/// When a launch failed and nobody has seen it yet.
pub fn sync() -> Result<(), Error> {
    scheduler::sync()
}

/// What is known about an array without looking at its elements.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LeafInfo {
    /// The element type.
    pub ty: Type,
    /// The number of elements.
    pub width: usize,
    /// `literal`, `opaque`, `placeholder`, `evaluated` or `unevaluated`.
    pub state: &'static str,
    /// The name.
    pub label: Option<String>,
}

/// The arrays of a value, each with its path: `scene.lights[3].color`.
pub fn leaves(tree: &(impl Traverse + ?Sized)) -> Vec<(String, LeafInfo)> {
    let mut found = Vec::new();
    tree.traverse(&mut Visitor::with_paths(&mut |path, leaf| {
        if let Leaf::Array(var) = leaf {
            let (ty, width, label) = (var.ty(), var.width(), var.label());
            found.push((path.to_owned(), LeafInfo { ty, width, state: scheduler::state_name(var), label }));
        }
    }));
    found
}

/// The graph behind the arrays of a value, in the language of Graphviz (`dot -Tsvg`). Evaluates nothing.
pub fn graphviz(tree: &(impl Traverse + ?Sized)) -> String {
    let vars = arrays(tree);
    scheduler::draw(&vars.iter().collect::<Vec<_>>())
}

/// Bytes of memory that an array takes.
pub(crate) fn bytes_of(var: &Var) -> usize {
    var.data().map_or(0, |buffer: std::sync::Arc<memory::Buffer>| buffer.size_bytes())
}
