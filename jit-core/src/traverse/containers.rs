//! [`Traverse`] for host values, and for the containers of the standard library.
//!
//! A container that owns another value on the heap may be part of a long chain, so it checks for free stack space
//! before it recurses.

use super::tuples::for_each_tuple;
use super::{HostValue, Traverse, Visitor, VisitorMut};
use crate::size::Size;
use std::borrow::Cow;
use std::char::ParseCharError;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::num::{ParseFloatError, ParseIntError, TryFromIntError};
use std::ops::Range;
use std::rc::Rc;
use std::str::{ParseBoolError, Utf8Error};
use std::string::FromUtf8Error;
use std::sync::Arc;
use std::time::SystemTimeError;
use std::{error, io};

use jit_runtime::ir::Type;

macro_rules! texts {
    ($($ty:ty),*) => {$(
        impl Traverse for $ty {
            fn traverse(&self, visitor: &mut Visitor<'_>) {
                visitor.text(format_args!("{self}"));
            }

            fn traverse_mut(&mut self, _visitor: &mut VisitorMut<'_>) {}
        }
    )*};
}

texts!(char, str, String, usize, isize, u128, i128);

/// A size belongs to the host.
impl Traverse for Size {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Number(Type::U64, self.here().value() as u64));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.size(self);
    }
}

/// Errors contain no arrays, so that a function which traces may return a `Result`.
macro_rules! errors {
    ($($ty:ty),*) => {$(
        impl Traverse for $ty {
            fn traverse(&self, _: &mut Visitor<'_>) {}

            fn traverse_mut(&mut self, _: &mut VisitorMut<'_>) {}
        }
    )*};
}

errors!(
    jit_runtime::Error,
    fmt::Error,
    io::Error,
    Infallible,
    ParseBoolError,
    ParseCharError,
    ParseFloatError,
    ParseIntError,
    TryFromIntError,
    Utf8Error,
    FromUtf8Error,
    SystemTimeError,
    dyn error::Error,
    dyn error::Error + Send,
    dyn error::Error + Send + Sync
);

impl Traverse for () {
    fn traverse(&self, _visitor: &mut Visitor<'_>) {}

    fn traverse_mut(&mut self, _visitor: &mut VisitorMut<'_>) {}
}

impl<T: ?Sized> Traverse for PhantomData<T> {
    fn traverse(&self, _visitor: &mut Visitor<'_>) {}

    fn traverse_mut(&mut self, _visitor: &mut VisitorMut<'_>) {}
}

impl<T: Traverse> Traverse for Range<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.field("start", &self.start);
        visitor.field("end", &self.end);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.field("start", &mut self.start);
        visitor.field("end", &mut self.end);
    }
}

/// Recurses, on a larger stack if little is left of this one, so that lists of any length can be visited.
#[inline]
pub(super) fn deeper<R>(walk: impl FnOnce() -> R) -> R {
    /// The stack space that frames between two checks may take.
    const RESERVE: usize = 128 << 10;
    /// The size of a new stack.
    const STACK: usize = 4 << 20;
    stacker::maybe_grow(RESERVE, STACK, walk)
}

macro_rules! lists {
    ($([$($generics:tt)*] $ty:ty, $length:expr;)*) => {$(
        impl<$($generics)*> Traverse for $ty {
            fn traverse(&self, visitor: &mut Visitor<'_>) {
                let length: fn(&Self) -> Option<usize> = $length;
                length(self).into_iter().for_each(|length| visitor.host(HostValue::Shape(length)));
                deeper(|| self.iter().enumerate().for_each(|(index, item)| visitor.index(index, item)));
            }

            fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
                deeper(|| self.iter_mut().enumerate().for_each(|(index, item)| visitor.index(index, item)));
            }
        }
    )*};
}

lists! {
    [T: Traverse] [T], |list| Some(list.len());
    [T: Traverse] Vec<T>, |list| Some(list.len());
    [T: Traverse] VecDeque<T>, |list| Some(list.len());
    // The length belongs to the type.
    [T: Traverse, const N: usize] [T; N], |_| None;
}

impl<K: Ord + Debug, V: Traverse> Traverse for BTreeMap<K, V> {
    /// Keys are host values and are compared by their `Debug` form.
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        entries(self.iter(), visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        deeper(|| self.iter_mut().for_each(|(key, value)| visitor.element(format_args!("{key:?}"), value)));
    }
}

impl<K: Ord + Debug, V: Traverse, S> Traverse for HashMap<K, V, S> {
    /// In the order of the keys, which are compared by their `Debug` form.
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        let mut sorted: Vec<_> = self.iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        entries(sorted.into_iter(), visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        let mut sorted: Vec<_> = self.iter_mut().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        deeper(|| sorted.into_iter().for_each(|(key, value)| visitor.element(format_args!("{key:?}"), value)));
    }
}

fn entries<'m, K: Debug + 'm, V: Traverse + 'm>(
    entries: impl ExactSizeIterator<Item = (&'m K, &'m V)>,
    visitor: &mut Visitor<'_>,
) {
    visitor.host(HostValue::Shape(entries.len()));
    deeper(|| {
        for (key, value) in entries {
            visitor.text(format_args!("{key:?}"));
            visitor.element(format_args!("{key:?}"), value);
        }
    });
}

impl<T: Traverse> Traverse for Option<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Variant(if self.is_some() { "Some" } else { "None" }));
        self.iter().for_each(|value| value.traverse(visitor));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.iter_mut().for_each(|value| value.traverse_mut(visitor));
    }
}

impl<T: Traverse, E: Traverse> Traverse for Result<T, E> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Variant(if self.is_ok() { "Ok" } else { "Err" }));
        match self {
            Ok(value) => value.traverse(visitor),
            Err(error) => error.traverse(visitor),
        }
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        match self {
            Ok(value) => value.traverse_mut(visitor),
            Err(error) => error.traverse_mut(visitor),
        }
    }
}

impl<T: Traverse + ?Sized> Traverse for Box<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        deeper(|| (**self).traverse(visitor));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        deeper(|| (**self).traverse_mut(visitor));
    }
}

impl<T: Traverse + ?Sized> Traverse for &mut T {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        (**self).traverse(visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        (**self).traverse_mut(visitor);
    }
}

macro_rules! shared {
    ($($ty:ty),*) => {$(
        impl<T: Traverse + ?Sized> Traverse for $ty {
            fn traverse(&self, visitor: &mut Visitor<'_>) {
                deeper(|| visitor.shared(&**self));
            }

            /// Shared values are not lent.
            fn traverse_mut(&mut self, _visitor: &mut VisitorMut<'_>) {}
        }
    )*};
}

shared!(&T, Rc<T>, Arc<T>);

impl<T: Traverse + ToOwned<Owned: Traverse> + ?Sized> Traverse for Cow<'_, T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        match self {
            Cow::Borrowed(value) => {
                visitor.host(HostValue::Variant("Borrowed"));
                visitor.shared(*value);
            }
            Cow::Owned(value) => {
                visitor.host(HostValue::Variant("Owned"));
                value.traverse(visitor);
            }
        }
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        if let Cow::Owned(value) = self {
            value.traverse_mut(visitor);
        }
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

for_each_tuple!(tuples);
