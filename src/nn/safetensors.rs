//! States as files in the format safetensors, which other frameworks read and write, too.
//!
//! A file has a header of names, element types and shapes, and the elements in the byte order of this machine's
//! processors, little endian. Reading one runs no code.

use std::collections::HashSet;
use std::path::Path;

use half::{bf16, f16};
use jit_core::graph::Var;
use jit_runtime::ir::Type;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use super::StateDict;
use super::state::Saved;
use crate::io::files;
use crate::{Array, Element, Error, ErrorKind, Result, Site};

/// The element types, as they are called here and in files.
macro_rules! types {
    ($($ty:ident $name:ident $file:ident;)*) => {
        fn type_in_files(ty: Type) -> Dtype {
            match ty {
                $(Type::$name => Dtype::$file,)*
            }
        }

        /// Evaluates an array, and returns its elements as bytes.
        fn bytes_of(var: &Var) -> Result<Vec<u8>> {
            match var.ty() {
                $(Type::$name => Ok(<$ty>::as_bytes(&Array::<$ty>::from_var(var.clone()).to_vec()?).to_vec()),)*
            }
        }

        /// Returns an array of elements; `None` for types that arrays do not have.
        fn array_of(view: &TensorView<'_>) -> Option<Result<Var>> {
            match view.dtype() {
                $(Dtype::$file => Some(array_from::<$ty>(view)),)*
                _ => None,
            }
        }
    };
}

types! {
    bool Bool BOOL;
    i8 I8 I8;
    i16 I16 I16;
    i32 I32 I32;
    i64 I64 I64;
    u8 U8 U8;
    u16 U16 U16;
    u32 U32 U32;
    u64 U64 U64;
    f16 F16 F16;
    bf16 BF16 BF16;
    f32 F32 F32;
    f64 F64 F64;
}

fn array_from<T: Element>(view: &TensorView<'_>) -> Result<Var> {
    let count = view.shape().iter().product();
    let elements = T::read(count, |bytes| {
        bytes.copy_from_slice(view.data());
        Ok(())
    })?;
    Ok(Array::<T>::from(elements).into_var())
}

impl StateDict {
    /// Writes all arrays to a file in the format safetensors. They are evaluated first; a file of this name is replaced
    /// when the new one is complete.
    ///
    /// ```
    /// use jit::nn::{Linear, Model, StateDict};
    ///
    /// let path = std::env::temp_dir().join(format!("line-{}.safetensors", std::process::id()));
    /// let mut line: Linear = Linear::new(2, 1, &mut jit::random::rng(1));
    /// line.state_dict().save(&path)?;
    /// line.load_state_dict(&StateDict::open(&path)?)?;
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When two arrays have the same name, an array cannot be computed, or the file cannot be written.
    #[track_caller]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, site) = (path.as_ref(), Site::here());
        files::replace(path, &self.to_safetensors()?, site)
    }

    /// Reads all arrays of a file in the format safetensors.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is not in this format, or has elements of a type that arrays do not have.
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> Result<StateDict> {
        let (path, site) = (path.as_ref(), Site::here());
        let bytes = files::read(path, site)?;
        StateDict::parse(&bytes, &format!("`{}`", path.display()), site)
    }

    /// Returns all arrays in the format safetensors: see [`StateDict::save`].
    ///
    /// # Errors
    ///
    /// When two arrays have the same name, or an array cannot be computed.
    #[track_caller]
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        let site = Site::here();
        let mut names = HashSet::new();
        if let Some(twice) = self.names().find(|name| !names.insert(*name)) {
            let what = format!("two arrays of the state have the name `{twice}`");
            return Err(Error::new(ErrorKind::InvalidArgument, what).at(site));
        }
        crate::eval(self)?;
        let bytes = self.saved.iter().map(|saved| bytes_of(&saved.var)).collect::<Result<Vec<_>>>()?;
        let internal = |error| Error::new(ErrorKind::Internal, "a state is no file").at(site).caused_by(error);
        let views = self.saved.iter().zip(&bytes).map(|(saved, bytes)| {
            let view = TensorView::new(type_in_files(saved.var.ty()), saved.shape.clone(), bytes)?;
            Ok((saved.name.as_str(), view))
        });
        let views = views.collect::<Result<Vec<_>, safetensors::SafeTensorError>>().map_err(internal)?;
        serialize(views, None).map_err(internal)
    }

    /// Returns the arrays of a file in the format safetensors that was read: see [`StateDict::open`].
    ///
    /// # Errors
    ///
    /// As [`StateDict::open`].
    #[track_caller]
    pub fn from_safetensors(bytes: &[u8]) -> Result<StateDict> {
        StateDict::parse(bytes, "the memory", Site::here())
    }

    fn parse(bytes: &[u8], from: &str, site: Site) -> Result<StateDict> {
        let file = SafeTensors::deserialize(bytes).map_err(|error| {
            let what = format!("{from} is not in the format safetensors");
            let hint = "the file is of another kind, or not complete";
            Error::new(ErrorKind::Io, what).at(site).with_hint(hint).caused_by(error)
        })?;
        let mut views: Vec<(String, TensorView<'_>)> = file.tensors();
        // The order in memory, which does not depend on a hash.
        views.sort_by_key(|(name, view)| (view.data().as_ptr() as usize, name.clone()));
        let saved = views.into_iter().map(|(name, view)| match array_of(&view) {
            Some(var) => Ok(Saved { name, shape: view.shape().to_vec(), var: var? }),
            None => {
                let what = format!("`{name}` of {from} has elements of type {}", view.dtype());
                let hint = "arrays have bool, integers of 8 to 64 bits, f16, bf16, f32 or f64: convert it before";
                Err(Error::new(ErrorKind::Io, what).at(site).with_hint(hint))
            }
        });
        Ok(StateDict { saved: saved.collect::<Result<_>>()? })
    }
}
