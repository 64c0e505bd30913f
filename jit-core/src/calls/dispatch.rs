//! The runtime of `#[jit(dispatch)]` methods on a [`Ptr`]: only generated code calls it.
//!
//! A generated method opens a [`Call`], runs the trait's method on each instance that can occur, and takes the merged
//! result. The type of an argument decides whether it is made of arrays. Generated code tests this by method lookup
//! ([`Argument`]): the more special trait is found first.

use std::rc::Rc;

use jit_runtime::Site;

use super::guard::{Guard, call_width, emptied};
use super::instances::{Slots, alive, instance};
use super::ptr::Ptr;
use super::sorted::{Groups, sort, store};
use crate::array::UInt;
use crate::graph::Var;
use crate::misuse::Misuse;
use crate::size::Size;
use crate::trace::{local, record};
use crate::traverse::leaves::Leaves;
use crate::traverse::{Traverse, arrays, zero_like};

/// The instances that lanes may call.
pub struct Targets<'a, T: ?Sized> {
    slots: Slots<'a, T>,
    ids: Vec<u32>,
    index: Var,
    /// The lanes of each instance, if the instances are computed one by one.
    groups: Option<Groups>,
}

/// Rejects the call of a `#[host]` method on a pointer.
#[track_caller]
pub fn only_on_instances(method: &str) -> ! {
    Misuse::new(format!("`{method}` is called through a pointer"), Site::here())
        .hint(
            "the method is marked `#[host]`, so it is called on an instance itself: `instances.get(id)` or \
             `instances.get_mut(id)`",
        )
        .panic()
}

/// Returns the targets of a pointer.
#[must_use]
#[track_caller]
pub fn targets<T: ?Sized>(ptr: &Ptr<T>) -> Targets<'_, T> {
    let slots = ptr.shared().slots();
    let (index, groups) = match ptr.is_sorted() {
        true => sort(ptr.ids().var(), ptr.ids().var(), slots.len() + 1, WITHOUT, Site::here()),
        false => (ptr.ids().var().clone(), None),
    };
    let of_instances = |(id, _): &&(u32, UInt)| instance(&slots, *id).is_some();
    let groups = groups.map(|groups| groups.iter().filter(of_instances).cloned().collect::<Vec<_>>());
    if let Some(groups) = groups.filter(|groups| !groups.is_empty()) {
        let ids = groups.iter().map(|(id, _)| *id).collect();
        return Targets { slots, ids, index, groups: Some(Rc::new(groups)) };
    }
    let known = index.literal();
    let mut ids: Vec<u32> = alive(&slots).filter(|&id| known.is_none_or(|known| known == u64::from(id))).collect();
    // If no instance can be called, the first one is traced, only for the shape of its result.
    if ids.is_empty() {
        ids.extend(alive(&slots).next());
    }
    Targets { slots, ids, index, groups: None }
}

/// The advice to call without sorting.
const WITHOUT: &str = "lanes are known only when the kernel runs: call the pointer itself, without `sorted`";

impl<T: ?Sized> Targets<'_, T> {
    /// Begins a call.
    #[must_use]
    #[track_caller]
    pub fn call(&self, name: &'static str, arguments: Arguments) -> Call {
        let site = Site::here();
        let width = call_width(&self.index, None, &arguments.0, site);
        if self.groups.is_some() {
            store(&arguments.0, width, site);
        }
        let mut guard = Guard::begin(name, &self.index, self.ids.clone(), width, &arguments.0, site);
        match &self.groups {
            Some(groups) => guard.sort(Rc::clone(groups)),
            // Null is not an instance, but not an error either.
            None => guard.check("instance", &self.index, None, self.slots.len() + 1),
        }
        Call { name, width, guard, position: 0, site }
    }

    /// Begins the next instance.
    #[track_caller]
    pub fn next(&self, call: &mut Call) -> Option<&T> {
        let id = *self.ids.get(call.position)?;
        call.position += 1;
        call.guard.open();
        instance(&self.slots, id)
    }
}

/// The arrays in the arguments of a call.
#[derive(Default)]
pub struct Arguments(Vec<Var>);

impl Arguments {
    /// Creates an empty list of arguments.
    #[must_use]
    pub fn new() -> Self {
        Arguments::default()
    }
}

/// A call that is being traced.
pub struct Call {
    name: &'static str,
    width: Size,
    guard: Guard,
    position: usize,
    site: Site,
}

impl Call {
    /// Registers a place that the call may change.
    pub fn state<X: Traverse + ?Sized>(&mut self, name: &'static str, place: &X) {
        self.guard.state(name, Leaves::of(place));
    }

    /// Writes the target's initial value to a place.
    pub fn lend<X: Traverse + ?Sized>(&mut self, place: &mut X) {
        self.guard.lend(place);
    }

    /// Takes a place's value after the target ran.
    pub fn take<X: Traverse + ?Sized>(&mut self, place: &X) {
        self.guard.take(place);
    }

    /// Takes the result of a target.
    pub fn give<X: CallResult>(&mut self, result: &mut Option<X>, value: X) {
        self.guard.give(&value);
        result.get_or_insert_with(|| emptied(value));
    }

    /// Ends the call.
    #[must_use]
    pub fn merge(self) -> Merged {
        let Call { name, width, guard, site, .. } = self;
        let (result, states) = guard.finish();
        Merged { name, width, result, states: states.into_iter(), site }
    }
}

/// Types that a method can return.
#[diagnostic::on_unimplemented(
    message = "a dispatched method cannot return `{Self}`",
    label = "a value that differs by lane must consist of arrays",
    note = "results are arrays, tuples of them, and types that derive `Traverse`"
)]
pub trait CallResult: Traverse {}

#[diagnostic::do_not_recommend]
impl<T: Traverse> CallResult for T {}

/// The merged values of a call.
pub struct Merged {
    name: &'static str,
    width: Size,
    result: Leaves,
    states: std::vec::IntoIter<Leaves>,
    site: Site,
}

impl Merged {
    /// Writes a place that the call may have changed.
    pub fn restore<X: Traverse + ?Sized>(&mut self, place: &mut X) {
        if let Some(leaves) = self.states.next() {
            leaves.write(place);
        }
    }

    /// Returns the result, if there was an instance to call.
    pub fn result<X: Traverse>(&self, first: Option<X>) -> Option<X> {
        let mut value = first?;
        self.result.write(&mut value);
        Some(value)
    }
}

/// An argument that every target receives.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a dispatched method: it is passed to every instance",
    label = "this type is not `Clone`",
    note = "take it by reference"
)]
pub trait CloneArg: Sized {
    /// Returns a clone.
    #[must_use]
    fn clone_arg(&self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> CloneArg for T {
    #[inline(always)]
    fn clone_arg(&self) -> T {
        self.clone()
    }
}

/// Returns the argument for the next target.
#[inline(always)]
pub fn clone_arg<T: CloneArg>(value: &T) -> T {
    value.clone_arg()
}

/// An argument, tested for arrays by method lookup.
pub struct Argument<'a, T: ?Sized>(pub &'a T);

/// Arguments that are made of arrays.
pub trait ArrayArgument {
    /// Adds the arrays.
    fn note(&self, arguments: &mut Arguments);
}

impl<T: Traverse + ?Sized> ArrayArgument for Argument<'_, T> {
    fn note(&self, arguments: &mut Arguments) {
        arguments.0.extend(arrays(self.0));
    }
}

/// Arguments of any type.
pub trait OtherArgument {
    /// Adds nothing.
    fn note(&self, _arguments: &mut Arguments) {}
}

impl<T: ?Sized> OtherArgument for &Argument<'_, T> {}

/// The type of a result, for calls that have no instance.
pub struct ResultOf<T>(std::marker::PhantomData<T>);

impl<T> ResultOf<T> {
    /// Creates the type of a value that does not exist.
    #[must_use]
    pub fn of(_: &Option<T>) -> Self {
        ResultOf(std::marker::PhantomData)
    }
}

/// Types whose zero is known without a value.
pub trait DefaultResult {
    /// The type.
    type Value;
    /// Returns zero in each lane.
    fn zero(&self, merged: &Merged) -> Self::Value;
}

impl<T: Default + Traverse> DefaultResult for ResultOf<T> {
    type Value = T;
    #[track_caller]
    fn zero(&self, merged: &Merged) -> T {
        let mut value = T::default();
        let mut zeros = Leaves::of(&value);
        zeros.arrays.iter_mut().for_each(|array| {
            *array =
                if local::is_local(array) { zero_like(array) } else { record::literal(array.ty(), 0, merged.width) };
        });
        zeros.write(&mut value);
        value
    }
}

/// Types without a known zero.
pub trait OtherResult {
    /// The type.
    type Value;
    /// Rejects the call.
    fn zero(&self, merged: &Merged) -> Self::Value;
}

impl<T> OtherResult for &ResultOf<T> {
    type Value = T;
    fn zero(&self, merged: &Merged) -> T {
        Misuse::new(
            format!("`{}` is called, but there is no instance that determines its result", merged.name),
            merged.site,
        )
        .hint("add an instance before the call, or implement `Default` for the result's type")
        .panic()
    }
}
