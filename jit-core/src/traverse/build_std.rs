//! [`Build`] for host values, and for the containers of the standard library, which check for free stack space as
//! [`Traverse`](super::Traverse) does.

use std::any::type_name;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::ops::Range;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;

use jit_runtime::Error;
use jit_runtime::ir::Type;

use super::build::{Build, LeafReader};
use super::containers::deeper;
use super::tuples::for_each_tuple;
use crate::size::Size;

macro_rules! texts {
    ($($ty:ty),*) => {$(
        impl Build for $ty {
            fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
                let text = leaves.text()?;
                text.parse().map_err(|_| leaves.wrong(&format!("`{text}`"), concat!("a `", stringify!($ty), "`")))
            }
        }
    )*};
}

texts!(char, String, usize, isize, u128, i128);

impl Build for Size {
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        leaves.number(Type::U64).map(|value| Size::from(value as usize))
    }
}

impl Build for () {
    fn build(_: &mut LeafReader<'_>) -> Result<Self, Error> {
        Ok(())
    }
}

impl<T: ?Sized> Build for PhantomData<T> {
    fn build(_: &mut LeafReader<'_>) -> Result<Self, Error> {
        Ok(PhantomData)
    }
}

impl<T: Build> Build for Range<T> {
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        Ok(leaves.field("start", T::build)?..leaves.field("end", T::build)?)
    }
}

macro_rules! lists {
    ($($ty:ident)*) => {$(
        impl<T: Build> Build for $ty<T> {
            fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
                let length = leaves.length()?;
                deeper(|| (0..length).map(|index| leaves.element(format_args!("{index}"))).collect())
            }
        }
    )*};
}

lists!(Vec VecDeque);

impl<T: Build, const N: usize> Build for [T; N] {
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        let list = (0..N).map(|index| leaves.element(format_args!("{index}"))).collect::<Result<Vec<T>, Error>>()?;
        list.try_into().map_err(|_| leaves.wrong("another number of elements", type_name::<Self>()))
    }
}

/// Reads the entries of a map. Keys must be read back from their `Debug` form: numbers, and strings.
fn entries<K: MapKey, V: Build, M: Default + Extend<(K, V)>>(leaves: &mut LeafReader<'_>) -> Result<M, Error> {
    let (length, mut map) = (leaves.length()?, M::default());
    deeper(|| {
        for _ in 0..length {
            let text = leaves.text()?;
            let key = K::read(&text);
            let key = key.ok_or_else(|| leaves.wrong(&format!("the key `{text}`"), type_name::<K>()))?;
            map.extend([(key, leaves.element(format_args!("{text}"))?)]);
        }
        Ok(map)
    })
}

/// A key of a map that can be read back from its `Debug` form.
#[diagnostic::on_unimplemented(
    message = "a map with keys of type `{Self}` cannot be built from a file",
    note = "the keys must implement `FromStr`, and be numbers or strings"
)]
pub trait MapKey: Sized {
    /// Reads a key; none if that is not its form.
    fn read(text: &str) -> Option<Self>;
}

#[diagnostic::do_not_recommend]
impl<K: FromStr + Debug> MapKey for K {
    fn read(text: &str) -> Option<K> {
        let is_it = |key: &K| format!("{key:?}") == text;
        let plain = || text.parse::<K>().ok().filter(is_it);
        let quoted = || unquoted(text)?.parse::<K>().ok().filter(is_it);
        plain().or_else(quoted)
    }
}

/// The text whose `Debug` form this is. Escapes that `str` never writes are not read.
fn unquoted(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut read = String::new();
    while let Some(next) = rest.next() {
        let character = match next {
            '\\' => match rest.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                'u' => {
                    let digits: String = rest.by_ref().skip(1).take_while(|digit| *digit != '}').collect();
                    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
                }
                other => other,
            },
            other => other,
        };
        read.push(character);
    }
    Some(read)
}

impl<K: Ord + Debug + MapKey, V: Build> Build for BTreeMap<K, V> {
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        entries(leaves)
    }
}

impl<K: Ord + Debug + Hash + MapKey, V: Build, S: BuildHasher + Default> Build for HashMap<K, V, S> {
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        entries(leaves)
    }
}

impl<T: Build> Build for Option<T> {
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        match leaves.variant()? {
            "Some" => T::build(leaves).map(Some),
            "None" => Ok(None),
            other => Err(leaves.wrong(&format!("the variant `{other}`"), "an `Option`")),
        }
    }
}

impl<T: Build, E: Build> Build for Result<T, E> {
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        match leaves.variant()? {
            "Ok" => T::build(leaves).map(Ok),
            "Err" => E::build(leaves).map(Err),
            other => Err(leaves.wrong(&format!("the variant `{other}`"), "a `Result`")),
        }
    }
}

macro_rules! owners {
    ($($ty:ident)*) => {$(
        impl<T: Build> Build for $ty<T> {
            fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
                deeper(|| T::build(leaves)).map($ty::new)
            }
        }
    )*};
}

owners!(Box Rc Arc);

macro_rules! tuples {
    ($($($name:ident $index:tt),+;)*) => {$(
        impl<$($name: Build),+> Build for ($($name,)+) {
            fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
                Ok(($(leaves.field(stringify!($index), $name::build)?,)+))
            }
        }
    )*};
}

for_each_tuple!(tuples);
