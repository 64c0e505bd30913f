//! The way back: a value from its signature and its arrays.
//!
//! [`Traverse`] takes a value apart, [`Build`] puts one together: results of functions that were loaded from files.
//! A [`Signature`] has all leaves of a value except the contents of its arrays. It may come from a file, so it is not
//! trusted: a leaf that does not fit the type is an error that names its path.

use std::any::type_name;
use std::fmt::Debug;
use std::str::FromStr;

use jit_runtime::ir::Type;
use jit_runtime::{Error, ErrorKind};

use super::leaves::describe;
use super::visitor::Path;
use super::{HostValue, Leaf, Traverse, Visitor};
use crate::graph::Var;

/// A value that can be built from its [`Signature`] and its arrays.
///
/// `#[derive(Traverse)]` implements it if all fields are `Build`; a field with `#[traverse(skip)]` must be `Default`,
/// and is the default value then; one with `#[traverse(constexpr)]` must be read back by `FromStr` from its `Debug`
/// form, as numbers are. A type may contain itself in `Box`, `Vec`, `Option` and other containers of the standard
/// library.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit::traverse::{Build, Signature};
///
/// let pair = (Float::from([1.0, 2.0]), vec![UInt::from([3])]);
/// let signature = Signature::of(&pair)?;
/// let (x, list): (Float, Vec<UInt>) = signature.build(signature.zeros())?;
/// assert_eq!((x.to_vec()?, list[0].to_vec()?), (vec![0.0, 0.0], vec![0]));
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be built from a file",
    label = "it is not known how to construct a `{Self}` from its leaves",
    note = "`#[derive(Traverse)]` implements `Build` for types whose fields are; `#[traverse(skip)]` fields must be \
        `Default`, `#[traverse(constexpr)]` ones `FromStr`; a type may contain itself in `Box`, `Vec` and `Option` \
        alone; values behind `&`, pointers to instances and closures are never built"
)]
pub trait Build: Traverse + Sized {
    /// Builds a value of the next leaves, in the order of [`Traverse::traverse`].
    ///
    /// # Errors
    ///
    /// Leaves that are not those of a value of this type.
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error>;
}

/// A `#[traverse(constexpr)]` field that can be read back from the text by which it is compared.
#[diagnostic::on_unimplemented(
    message = "a `#[traverse(constexpr)]` field of type `{Self}` cannot be built from a file",
    note = "`{Self}` must implement `FromStr`, and read its `Debug` form"
)]
pub trait BuildConstant: Sized {
    /// Builds the value of the next leaf.
    ///
    /// # Errors
    ///
    /// Another leaf, or text that is not the `Debug` form of a value.
    fn build_constant(leaves: &mut LeafReader<'_>) -> Result<Self, Error>;
}

#[diagnostic::do_not_recommend]
impl<T: FromStr + Debug> BuildConstant for T {
    fn build_constant(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        let text = leaves.text()?;
        let value = text.parse::<T>().ok().filter(|value| format!("{value:?}") == text);
        value.ok_or_else(|| leaves.wrong(&format!("`{text}`"), &format!("a `{}`", type_name::<T>())))
    }
}

/// A leaf of a [`Signature`].
#[derive(Clone, PartialEq, Debug)]
pub enum SignatureLeaf {
    /// An array: its element type and width.
    Array(Type, usize),
    /// A leaf that is not an array.
    Host(HostValue),
}

/// All leaves of a value, except the contents of its arrays.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Signature {
    leaves: Vec<SignatureLeaf>,
}

impl Signature {
    /// Returns the signature of a value.
    ///
    /// # Errors
    ///
    /// An array behind `&`, `Rc` or `Arc`, which other values share.
    pub fn of(tree: &(impl Traverse + ?Sized)) -> Result<Signature, Error> {
        let (mut leaves, mut shared) = (Vec::new(), None);
        tree.traverse(&mut Visitor::with_paths(&mut |path, leaf| match leaf {
            Leaf::Array(var) => leaves.push(SignatureLeaf::Array(var.ty(), var.lanes())),
            Leaf::Host(value) => leaves.push(SignatureLeaf::Host(value)),
            Leaf::Shared(_) => _ = shared.get_or_insert_with(|| path.to_owned()),
        }));
        match shared {
            None => Ok(Signature { leaves }),
            Some(path) => {
                let message =
                    format!("the array at `{path}` is behind a shared reference, so it has no copy in a file");
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }

    /// Makes a signature of leaves.
    #[must_use]
    pub fn new(leaves: Vec<SignatureLeaf>) -> Signature {
        Signature { leaves }
    }

    /// Returns the leaves, in order.
    #[must_use]
    pub fn leaves(&self) -> &[SignatureLeaf] {
        &self.leaves
    }

    /// Returns an array of zeros for each array.
    #[must_use]
    pub fn zeros(&self) -> Vec<Var> {
        let zero = |leaf: &SignatureLeaf| match leaf {
            SignatureLeaf::Array(ty, width) => Some(crate::trace::record::literal(*ty, 0, *width)),
            SignatureLeaf::Host(_) => None,
        };
        self.leaves.iter().filter_map(zero).collect()
    }

    /// Builds a value with these arrays.
    ///
    /// # Errors
    ///
    /// A signature of another type, with the path of the first leaf that differs; arrays of other number or types.
    pub fn build<T: Build>(&self, arrays: Vec<Var>) -> Result<T, Error> {
        let mut reader = LeafReader { leaves: self.leaves.iter(), arrays: arrays.into_iter(), path: Path::wanted() };
        let value = T::build(&mut reader)?;
        if reader.leaves.next().is_some() || reader.arrays.next().is_some() {
            return Err(reader.wrong("more leaves", &format!("the end of a `{}`", type_name::<T>())));
        }
        Ok(value)
    }
}

/// The leaves from which values are built, in order.
pub struct LeafReader<'a> {
    leaves: std::slice::Iter<'a, SignatureLeaf>,
    arrays: std::vec::IntoIter<Var>,
    path: Path,
}

impl LeafReader<'_> {
    /// Takes an array of an element type.
    ///
    /// # Errors
    ///
    /// Another leaf.
    pub fn array(&mut self, ty: Type) -> Result<Var, Error> {
        let expected = || format!("an array of {ty}");
        match self.leaves.next() {
            Some(SignatureLeaf::Array(..)) => {}
            Some(SignatureLeaf::Host(value)) => return Err(self.wrong(&describe(value), &expected())),
            None => return Err(self.wrong("nothing more", &expected())),
        }
        match self.arrays.next() {
            Some(var) if var.ty() == ty => Ok(var),
            Some(var) => Err(self.wrong(&format!("an array of {}", var.ty()), &expected())),
            None => Err(self.wrong("no array", &expected())),
        }
    }

    /// Takes a leaf that is not an array; `expected` names it in messages.
    ///
    /// # Errors
    ///
    /// An array, or the end.
    pub fn host(&mut self, expected: &str) -> Result<HostValue, Error> {
        match self.leaves.next() {
            Some(SignatureLeaf::Host(value)) => Ok(value.clone()),
            Some(SignatureLeaf::Array(ty, _)) => Err(self.wrong(&format!("an array of {ty}"), expected)),
            None => Err(self.wrong("nothing more", expected)),
        }
    }

    /// Takes a number of a type; returns its bits.
    ///
    /// # Errors
    ///
    /// Another leaf.
    pub fn number(&mut self, ty: Type) -> Result<u64, Error> {
        let expected = format!("a number of type {ty}");
        match self.host(&expected)? {
            HostValue::Number(own, bits) | HostValue::Parameter(own, bits) if own == ty => Ok(bits),
            other => Err(self.wrong(&describe(&other), &expected)),
        }
    }

    /// Takes text.
    ///
    /// # Errors
    ///
    /// Another leaf.
    pub fn text(&mut self) -> Result<String, Error> {
        match self.host("text")? {
            HostValue::Text(text) => Ok(text),
            other => Err(self.wrong(&describe(&other), "text")),
        }
    }

    /// Takes the length of a list. It is at most as large as the number of leaves that remain, or small, so a list of
    /// this length can be built one by one.
    ///
    /// # Errors
    ///
    /// Another leaf.
    pub fn length(&mut self) -> Result<usize, Error> {
        const SMALL: usize = 1 << 16;
        match self.host("the length of a list")? {
            HostValue::Shape(length) if length <= self.leaves.len().max(SMALL) => Ok(length),
            other => Err(self.wrong(&describe(&other), "the length of a list")),
        }
    }

    /// Takes the name of a variant.
    ///
    /// # Errors
    ///
    /// Another leaf.
    pub fn variant(&mut self) -> Result<&'static str, Error> {
        match self.host("a variant")? {
            HostValue::Variant(name) => Ok(name),
            other => Err(self.wrong(&describe(&other), "a variant")),
        }
    }

    /// Builds a field.
    ///
    /// # Errors
    ///
    /// As the function that builds it.
    pub fn field<T>(&mut self, name: &str, build: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let before = self.path.enter_field(name);
        let value = build(self)?;
        self.path.truncate(before);
        Ok(value)
    }

    /// Builds an element of a list or collection.
    ///
    /// # Errors
    ///
    /// As [`Build::build`].
    pub fn element<T: Build>(&mut self, key: std::fmt::Arguments<'_>) -> Result<T, Error> {
        let before = self.path.enter_element(key);
        let value = T::build(self)?;
        self.path.truncate(before);
        Ok(value)
    }

    /// Returns the error of a leaf that is not the expected one.
    #[must_use]
    pub fn wrong(&self, found: &str, expected: &str) -> Error {
        let place = match self.path.text() {
            "" => String::new(),
            path => format!(" at `{path}`"),
        };
        let message = format!("a value cannot be built: it has {found}{place}, where the type has {expected}");
        Error::new(ErrorKind::InvalidArgument, message)
            .with_hint("the type has changed since the value was saved: save it anew")
    }
}
