//! The arguments and results of frozen functions.
//!
//! A recorded body runs on *proxies* of the arguments: copies whose arrays are the inputs of the recording. The final
//! values of the proxies of `&mut` arguments, and the result, are stored as templates, into which each replay puts its
//! arrays. So the caller's values change all at once at the end, or not at all if anything fails.

use std::borrow::{Borrow, BorrowMut};
use std::marker::PhantomData;

use crate::traverse::tuples::for_each_tuple;
use crate::traverse::{Traverse, Visitor, VisitorMut};

/// A value that a frozen function may change or return.
///
/// Implemented for all types that are `Traverse`, `Clone`, `Send` and `Sync`, and borrow nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument or the result of a `#[freeze]` function",
    label = "later calls could not construct a `{Self}`",
    note = "a later call constructs it from a copy of the first one, with other arrays: it must be `Traverse` (derive \
        it) and `Clone`, be `Send` and `Sync` (with `Arc` and `Mutex` instead of `Rc` and `RefCell`), and borrow \
        nothing"
)]
pub trait Recordable: Copied + ThreadSafe + 'static {}

impl<T: Copied + ThreadSafe + 'static> Recordable for T {}

/// Types whose values all threads may use, because recordings are shared between threads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument or the result of a `#[freeze]` function, as it is not `Send` and `Sync`",
    label = "a part of `{Self}` belongs to one thread",
    note = "recordings are shared by all threads, with copies of arguments and results: write `Arc` instead of `Rc`, \
            `Mutex` instead of `RefCell`, an atomic instead of `Cell`, and no raw pointers"
)]
pub trait ThreadSafe: Send + Sync {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync> ThreadSafe for T {}

/// A value that a later call can make from a copy of the first call's value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument or the result of a `#[freeze]` function",
    label = "later calls could not construct a `{Self}`",
    note = "a later call constructs it from a copy of the first one, with other arrays: it must be `Traverse` (derive \
        it) and `Clone`, be `Send` and `Sync`, and borrow nothing"
)]
pub trait Copied: Traverse + Clone {}

#[diagnostic::do_not_recommend]
impl<T: Traverse + Clone> Copied for T {}

/// A value that a frozen function may receive by reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a `#[freeze]` function",
    label = "the function is recorded on a copy of it, with other arrays",
    note = "it must be `Traverse` (derive it) and `Clone`; lists and strings may be passed as `&[T]` and `&str`"
)]
pub trait FrozenInput: Lent<Owned: ThreadSafe + 'static> {}

impl<T: Lent<Owned: ThreadSafe + 'static> + ?Sized> FrozenInput for T {}

/// A value behind a reference of which a frozen function can record a copy.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a `#[freeze]` function",
    label = "the function is recorded on a copy of it, with other arrays",
    note = "it must be `Traverse` (derive it) and `Clone`; lists and strings may be passed as `&[T]` and `&str`"
)]
pub trait Lent: Traverse + Owning<Owned: Traverse> {}

#[diagnostic::do_not_recommend]
impl<T: Traverse + Owning<Owned: Traverse> + ?Sized> Lent for T {}

/// As `ToOwned`, for the types that are `Traverse`. For that trait the compiler would answer that `Clone` is missing,
/// and not what for.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a `#[freeze]` function",
    label = "the function is recorded on a copy of it, with other arrays",
    note = "it must be `Traverse` (derive it) and `Clone`; lists and strings may be passed as `&[T]` and `&str`, \
            `Instances` as a pointer, `shapes.at(&ids)`"
)]
pub trait Owning {
    /// The type of copies.
    type Owned: Borrow<Self>;

    /// Returns a copy.
    fn to_own(&self) -> Self::Owned;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Owning for T {
    type Owned = T;

    fn to_own(&self) -> T {
        self.clone()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Owning for [T] {
    type Owned = Vec<T>;

    fn to_own(&self) -> Vec<T> {
        self.to_vec()
    }
}

impl Owning for str {
    type Owned = String;

    fn to_own(&self) -> String {
        self.to_owned()
    }
}

/// An argument as it is passed to a frozen function.
pub trait Argument {
    /// The type on which the body is recorded.
    type Proxy: Traverse + Send + Sync + 'static;

    /// Whether the body may change it.
    const IS_EXCLUSIVE: bool;

    /// Passes its arrays to a visitor.
    fn show(&self, visitor: &mut Visitor<'_>);

    /// Returns a copy.
    fn proxy(&self) -> Self::Proxy;

    /// Returns a copy of a copy.
    fn copy(proxy: &Self::Proxy) -> Self::Proxy;

    /// Passes the arrays of a copy to a visitor, as [`Argument::show`] does.
    fn show_proxy(proxy: &Self::Proxy, visitor: &mut Visitor<'_>) {
        proxy.traverse(visitor);
    }

    /// Makes it equal to the template, with arrays that the visitor provides. With `is_unchanged` it differs from the
    /// template in arrays alone.
    fn put(&mut self, template: &Self::Proxy, is_unchanged: bool, visitor: &mut VisitorMut<'_>);
}

/// An argument of type `T`.
pub struct ByValue<'a, T>(pub &'a T);

/// An argument of type `&T`.
pub struct Shared<'a, T: ?Sized>(pub &'a T);

/// An argument of type `&mut T`.
pub struct Exclusive<'a, T: ?Sized>(pub &'a mut T);

impl<T: Recordable> Argument for ByValue<'_, T> {
    type Proxy = T;
    const IS_EXCLUSIVE: bool = false;

    fn show(&self, visitor: &mut Visitor<'_>) {
        self.0.traverse(visitor);
    }

    fn proxy(&self) -> T {
        self.0.clone()
    }

    fn copy(proxy: &T) -> T {
        proxy.clone()
    }

    fn put(&mut self, _: &T, _: bool, _: &mut VisitorMut<'_>) {}
}

impl<T: FrozenInput + ?Sized> Argument for Shared<'_, T> {
    type Proxy = T::Owned;
    const IS_EXCLUSIVE: bool = false;

    fn show(&self, visitor: &mut Visitor<'_>) {
        self.0.traverse(visitor);
    }

    fn proxy(&self) -> T::Owned {
        self.0.to_own()
    }

    fn copy(proxy: &T::Owned) -> T::Owned {
        Borrow::<T>::borrow(proxy).to_own()
    }

    fn put(&mut self, _: &T::Owned, _: bool, _: &mut VisitorMut<'_>) {}
}

impl<T: Recordable> Argument for Exclusive<'_, T> {
    type Proxy = T;
    const IS_EXCLUSIVE: bool = true;

    fn show(&self, visitor: &mut Visitor<'_>) {
        self.0.traverse(visitor);
    }

    fn proxy(&self) -> T {
        self.0.clone()
    }

    fn copy(proxy: &T) -> T {
        proxy.clone()
    }

    fn put(&mut self, template: &T, is_unchanged: bool, visitor: &mut VisitorMut<'_>) {
        if !is_unchanged {
            self.0.clone_from(template);
        }
        self.0.traverse_mut(visitor);
    }
}

impl<T: Recordable> Argument for Exclusive<'_, [T]> {
    type Proxy = Vec<T>;
    const IS_EXCLUSIVE: bool = true;

    fn show(&self, visitor: &mut Visitor<'_>) {
        self.0.traverse(visitor);
    }

    fn proxy(&self) -> Vec<T> {
        self.0.to_vec()
    }

    fn copy(proxy: &Vec<T>) -> Vec<T> {
        proxy.clone()
    }

    fn put(&mut self, template: &Vec<T>, is_unchanged: bool, visitor: &mut VisitorMut<'_>) {
        if !is_unchanged {
            self.0.clone_from_slice(template);
        }
        self.0.traverse_mut(visitor);
    }
}

/// Lends a proxy to the body of a frozen function in the form of its parameter.
#[doc(hidden)]
pub fn lend<T: ?Sized, O: Borrow<T>>(proxy: &O, _: PhantomData<fn(&T)>) -> &T {
    proxy.borrow()
}

/// Like [`lend`], but mutably.
#[doc(hidden)]
pub fn lend_mut<T: ?Sized, O: BorrowMut<T>>(proxy: &mut O, _: PhantomData<fn(&T)>) -> &mut T {
    proxy.borrow_mut()
}

/// Copies a proxy for the body of a frozen function that takes it by value.
#[doc(hidden)]
pub fn copied<T: Recordable>(proxy: &T) -> T {
    proxy.clone()
}

/// Returns the type of an argument, behind the reference if it is one; it may have no name: `&impl Trait`.
#[doc(hidden)]
pub fn type_behind<T: ?Sized>(_: &T) -> PhantomData<fn(&T)> {
    PhantomData
}

/// Tells the compiler that an argument of the body has the type of the function's.
#[doc(hidden)]
pub const fn is_of_type<T: ?Sized>(_: &T, _: PhantomData<fn(&T)>) {}

/// Called for each argument with a function that visits its arrays, and with whether the body may change it.
pub type Visit<'a> = dyn FnMut(bool, &mut dyn FnMut(&mut Visitor<'_>)) + 'a;

/// All arguments of a frozen function.
pub trait Arguments {
    /// The type on which the body is recorded.
    type Proxies: Send + Sync + 'static;

    /// Visits the arrays of all arguments; for each, reports whether the body may change it.
    fn show(&self, names: &[&'static str], visit: &mut Visit<'_>);

    /// Returns copies of all arguments.
    fn proxies(&self) -> Self::Proxies;

    /// Whether the copies have all arrays that the body uses, so that it can run on copies of them later.
    const ARE_COPIES_COMPLETE: bool = true;

    /// Returns copies of the copies.
    fn copies(proxies: &Self::Proxies) -> Self::Proxies;

    /// Visits the arrays of the copies, as [`Arguments::show`] does those of the arguments.
    fn show_copies(proxies: &Self::Proxies, visitor: &mut Visitor<'_>);

    /// Visits the arrays of the copies; for each, reports whether the body may have changed it.
    fn show_proxies(proxies: &Self::Proxies, visit: &mut Visit<'_>);

    /// Passes the arrays of the copies to a mutable visitor.
    fn lend_proxies(proxies: &mut Self::Proxies, visitor: &mut VisitorMut<'_>);

    /// Passes the arrays of those copies that the body may have changed to a mutable visitor.
    fn lend_changed(proxies: &mut Self::Proxies, visitor: &mut VisitorMut<'_>);

    /// Makes the arguments that the body may change equal to the templates.
    fn put(&mut self, templates: &Self::Proxies, is_unchanged: bool, visitor: &mut VisitorMut<'_>);
}

macro_rules! tuples {
    ($($($name:ident $index:tt),*;)*) => {$(
        impl<$($name: Argument),*> Arguments for ($($name,)*) {
            type Proxies = ($($name::Proxy,)*);

            #[allow(unused_variables)]
            fn show(&self, names: &[&'static str], visit: &mut Visit<'_>) {
                $(visit($name::IS_EXCLUSIVE, &mut |visitor| visitor.named(names[$index],
                    |visitor| self.$index.show(visitor)));)*
            }

            #[allow(clippy::unused_unit)]
            fn proxies(&self) -> Self::Proxies {
                ($(self.$index.proxy(),)*)
            }

            #[allow(clippy::unused_unit, unused_variables)]
            fn copies(proxies: &Self::Proxies) -> Self::Proxies {
                ($($name::copy(&proxies.$index),)*)
            }

            #[allow(unused_variables)]
            fn show_copies(proxies: &Self::Proxies, visitor: &mut Visitor<'_>) {
                $($name::show_proxy(&proxies.$index, visitor);)*
            }

            #[allow(unused_variables)]
            fn show_proxies(proxies: &Self::Proxies, visit: &mut Visit<'_>) {
                $(visit($name::IS_EXCLUSIVE, &mut |visitor| proxies.$index.traverse(visitor));)*
            }

            #[allow(unused_variables)]
            fn lend_proxies(proxies: &mut Self::Proxies, visitor: &mut VisitorMut<'_>) {
                $(proxies.$index.traverse_mut(visitor);)*
            }

            #[allow(unused_variables)]
            fn lend_changed(proxies: &mut Self::Proxies, visitor: &mut VisitorMut<'_>) {
                $(if $name::IS_EXCLUSIVE {
                    proxies.$index.traverse_mut(visitor);
                })*
            }

            #[allow(unused_variables)]
            fn put(&mut self, templates: &Self::Proxies, is_unchanged: bool, visitor: &mut VisitorMut<'_>) {
                $(self.$index.put(&templates.$index, is_unchanged, visitor);)*
            }
        }
    )*};
}

tuples! { ; }
for_each_tuple!(tuples);
