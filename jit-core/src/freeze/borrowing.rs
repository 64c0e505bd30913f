//! Arguments by value that contain references: `Option<&T>`, and tuples and arrays of references.
//!
//! The body is recorded on values of the same form, whose references point to copies.

use std::marker::PhantomData;

use super::argument::{Argument, FrozenInput, lend};
use crate::traverse::tuples::for_each_tuple;
use crate::traverse::{HostValue, Traverse, Visitor, VisitorMut};

/// A parameter that consists of references.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a `#[freeze]` function",
    label = "this borrows in a way that a recording cannot repeat",
    note = "references may be in `Option`s, tuples and arrays, with nothing else beside them; pass other parts as \
        parameters of their own"
)]
pub trait Borrowing {
    /// The copies, on which the body is recorded.
    type Proxy: Traverse + Send + Sync + 'static;
    /// The parameter, with references to copies.
    type Lent<'a>;

    /// Passes the arrays to a visitor in the order of the copies.
    fn show(&self, visitor: &mut Visitor<'_>);

    /// Returns copies.
    fn proxy(&self) -> Self::Proxy;

    /// Returns copies of copies.
    fn copy(proxy: &Self::Proxy) -> Self::Proxy;

    /// Returns the parameter with references to copies.
    fn lend(proxy: &Self::Proxy) -> Self::Lent<'_>;

    /// Returns the parameter itself.
    fn pass(&self) -> Self::Lent<'_>;
}

impl<T: FrozenInput + ?Sized + 'static> Borrowing for &T {
    type Proxy = T::Owned;
    type Lent<'a> = &'a T;

    fn show(&self, visitor: &mut Visitor<'_>) {
        (**self).traverse(visitor);
    }

    fn proxy(&self) -> T::Owned {
        (**self).to_own()
    }

    fn copy(proxy: &T::Owned) -> T::Owned {
        lend::<T, _>(proxy, PhantomData).to_own()
    }

    fn lend(proxy: &T::Owned) -> &T {
        lend(proxy, PhantomData)
    }

    fn pass(&self) -> &T {
        self
    }
}

impl<B: Borrowing> Borrowing for Option<B> {
    type Proxy = Option<B::Proxy>;
    type Lent<'a> = Option<B::Lent<'a>>;

    fn show(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Variant(if self.is_some() { "Some" } else { "None" }));
        self.iter().for_each(|value| value.show(visitor));
    }

    fn proxy(&self) -> Self::Proxy {
        self.as_ref().map(B::proxy)
    }

    fn copy(proxy: &Self::Proxy) -> Self::Proxy {
        proxy.as_ref().map(B::copy)
    }

    fn lend(proxy: &Self::Proxy) -> Self::Lent<'_> {
        proxy.as_ref().map(B::lend)
    }

    fn pass(&self) -> Self::Lent<'_> {
        self.as_ref().map(B::pass)
    }
}

impl<B: Borrowing, const N: usize> Borrowing for [B; N] {
    type Proxy = [B::Proxy; N];
    type Lent<'a> = [B::Lent<'a>; N];

    fn show(&self, visitor: &mut Visitor<'_>) {
        self.iter().enumerate().for_each(|(index, value)| visitor.index(index, &Shown(value)));
    }

    fn proxy(&self) -> Self::Proxy {
        self.each_ref().map(B::proxy)
    }

    fn copy(proxy: &Self::Proxy) -> Self::Proxy {
        proxy.each_ref().map(B::copy)
    }

    fn lend(proxy: &Self::Proxy) -> Self::Lent<'_> {
        proxy.each_ref().map(B::lend)
    }

    fn pass(&self) -> Self::Lent<'_> {
        self.each_ref().map(B::pass)
    }
}

macro_rules! tuples {
    ($($($name:ident $index:tt),+;)*) => {$(
        impl<$($name: Borrowing),+> Borrowing for ($($name,)+) {
            type Proxy = ($($name::Proxy,)+);
            type Lent<'a> = ($($name::Lent<'a>,)+);

            fn show(&self, visitor: &mut Visitor<'_>) {
                $(visitor.named(stringify!($index), |visitor| self.$index.show(visitor));)+
            }

            fn proxy(&self) -> Self::Proxy {
                ($(self.$index.proxy(),)+)
            }

            fn copy(proxy: &Self::Proxy) -> Self::Proxy {
                ($($name::copy(&proxy.$index),)+)
            }

            fn lend(proxy: &Self::Proxy) -> Self::Lent<'_> {
                ($($name::lend(&proxy.$index),)+)
            }

            fn pass(&self) -> Self::Lent<'_> {
                ($(self.$index.pass(),)+)
            }
        }
    )*};
}

for_each_tuple!(tuples);

/// A part as a visitor takes it.
struct Shown<'a, B>(&'a B);

impl<B: Borrowing> Traverse for Shown<'_, B> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        self.0.show(visitor);
    }

    fn traverse_mut(&mut self, _: &mut VisitorMut<'_>) {}
}

/// An argument that consists of references.
pub struct Lending<'a, B>(pub &'a B);

impl<B: Borrowing> Argument for Lending<'_, B> {
    type Proxy = B::Proxy;
    const IS_EXCLUSIVE: bool = false;

    fn show(&self, visitor: &mut Visitor<'_>) {
        self.0.show(visitor);
    }

    fn proxy(&self) -> B::Proxy {
        self.0.proxy()
    }

    fn copy(proxy: &B::Proxy) -> B::Proxy {
        B::copy(proxy)
    }

    fn put(&mut self, _: &B::Proxy, _: bool, _: &mut VisitorMut<'_>) {}
}

/// Lends copies to the body of a frozen function in the form of its parameter, which consists of references.
#[doc(hidden)]
pub fn lend_parts<B: Borrowing>(proxy: &B::Proxy, _: PhantomData<fn(&B)>) -> B::Lent<'_> {
    B::lend(proxy)
}
