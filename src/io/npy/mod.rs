//! The formats npy and npz of NumPy: a tensor in a file, and several by name in an archive. Needs the feature `npy`.
//!
//! ```
//! use jit::io::npy;
//! use jit::prelude::*;
//!
//! let path = std::env::temp_dir().join(format!("jit-doc-{}.npy", std::process::id()));
//! npy::write(&path, &Tensor::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]))?; //   np.load(path) reads it
//! let table = npy::read::<f32>(&path)?;
//! assert_eq!((table.shape(), table.array().sum().item()?), (&[2, 3][..], 21.0));
//! # std::fs::remove_file(&path).unwrap();
//!
//! let mut archive = npy::NpzWriter::new();
//! archive.add("weights", &table)?.add("count", &Tensor::from(7u32))?;
//! let archive = npy::Npz::from_bytes(archive.to_bytes()?)?; //                    or `write(path)`, `Npz::open(path)`
//! assert_eq!(archive.names().collect::<Vec<_>>(), ["weights", "count"]);
//! assert_eq!(archive.get::<u32>("count")?.item()?, 7);
//! # Ok::<(), jit::Error>(())
//! ```
//!
//! Arrays have one axis: write `Tensor::from(&array)`, and read `into_array()`. All versions of the format,
//! both byte orders, and both orders of elements are read; what is written is in row-major order and little endian. An
//! element type is never converted silently: reading `float64` as `f32` is an error that says what to do.
//!
//! NumPy has no `bf16`. It is written as NumPy stores the type of the package `ml_dtypes`, as two bytes without a
//! meaning (`|V2`), and such files are read as `bf16` only: `np.load(path).view(ml_dtypes.bfloat16)`.
//!
//! The header is parsed here: the crates for it bring a parser of all of Python's literals, or know no halves.

mod archive;
mod header;

use std::io::Read;
use std::path::Path;

pub use archive::{Npz, NpzWriter};
pub use header::Header;

use super::files;
use crate::tensor::Tensor;
use crate::{Array, Element, Error, ErrorKind, Result, Site};

/// What is read, for errors.
#[derive(Clone, Copy)]
struct Source<'a> {
    name: &'a str,
    site: Site,
}

impl Source<'_> {
    fn error(self, what: impl std::fmt::Display) -> Error {
        Error::new(ErrorKind::Io, format!("{} {what}", self.name)).at(self.site)
    }

    fn malformed(self, what: impl std::fmt::Display) -> Error {
        let hint = "the file is of another kind, or damaged; `numpy.save` writes this format";
        self.error(format_args!("is not in the format npy: {what}")).with_hint(hint)
    }
}

/// Reads a tensor from a file in the format npy.
///
/// # Errors
///
/// When the file cannot be read, is malformed, or has elements of another type.
#[track_caller]
pub fn read<T: Element>(path: impl AsRef<Path>) -> Result<Tensor<T>> {
    let (path, site) = (path.as_ref(), Site::here());
    let bytes = files::read(path, site)?;
    parse(&bytes, Source { name: &format!("`{}`", path.display()), site })
}

/// Reads a tensor from the contents of a file in the format npy.
///
/// # Errors
///
/// When they are malformed, or have elements of another type.
#[track_caller]
pub fn from_bytes<T: Element>(bytes: &[u8]) -> Result<Tensor<T>> {
    parse(bytes, Source { name: "the memory", site: Site::here() })
}

/// Reads what a file in the format npy contains, without its elements.
///
/// # Errors
///
/// When the file cannot be read, or is malformed.
#[track_caller]
pub fn header(path: impl AsRef<Path>) -> Result<Header> {
    let (path, site) = (path.as_ref(), Site::here());
    let name = format!("`{}`", path.display());
    let source = Source { name: &name, site };
    let mut file = std::fs::File::open(path).map_err(|error| source.error("cannot be read").caused_by(error))?;
    Header::read(&mut file, source)
}

/// Evaluates a tensor, and writes it to a file in the format npy. A file of this name is replaced when the new one is
/// complete.
///
/// # Errors
///
/// When the tensor cannot be computed, or the file cannot be written.
#[track_caller]
pub fn write<T: Element>(path: impl AsRef<Path>, tensor: &Tensor<T>) -> Result<()> {
    let site = Site::here();
    files::replace(path.as_ref(), &to_bytes(tensor)?, site)
}

/// Evaluates a tensor, and returns the contents of a file in the format npy.
///
/// # Errors
///
/// When the tensor cannot be computed.
#[track_caller]
pub fn to_bytes<T: Element>(tensor: &Tensor<T>) -> Result<Vec<u8>> {
    let elements = tensor.to_vec()?;
    let mut bytes = Header::of(T::TYPE, tensor.shape()).to_bytes();
    let begin = bytes.len();
    bytes.extend_from_slice(T::as_bytes(&elements));
    if cfg!(target_endian = "big") {
        bytes[begin..].chunks_mut(size_of::<T>()).for_each(<[u8]>::reverse);
    }
    Ok(bytes)
}

fn parse<T: Element>(mut bytes: &[u8], source: Source<'_>) -> Result<Tensor<T>> {
    let tensor = parse_next(&mut bytes, source)?;
    match bytes.len() {
        0 => Ok(tensor),
        rest => Err(source.malformed(format_args!("{rest} bytes follow the elements"))),
    }
}

/// Reads a tensor from a stream that may go on.
fn parse_next<T: Element>(stream: &mut dyn Read, source: Source<'_>) -> Result<Tensor<T>> {
    let header = Header::read(stream, source)?;
    if header.ty != T::TYPE {
        let what = format!("has elements of type {}, and not {}", header.ty, T::TYPE);
        let hint = format!("read them as {}, and convert them by `cast::<{}>()`", header.ty, T::TYPE);
        return Err(source.error(what).with_hint(hint));
    }
    let count = header.count(source)?;
    let size_bytes = count * size_of::<T>();
    let mut data = Vec::new();
    // Grows with what is there, whatever the header claims.
    let failed = |error| source.malformed("its elements cannot be read").caused_by(error);
    Read::take(&mut *stream, size_bytes as u64).read_to_end(&mut data).map_err(failed)?;
    if data.len() != size_bytes {
        let (shape, found) = (&header.shape, data.len());
        return Err(source.malformed(format_args!("shape {shape:?} takes {size_bytes} bytes, {found} are there")));
    }
    if header.is_big_endian != cfg!(target_endian = "big") {
        data.chunks_mut(size_of::<T>()).for_each(<[u8]>::reverse);
    }
    let elements = Array::<T>::from_bytes(&data).map_err(|error| error.at(source.site))?;
    Ok(match header.is_fortran_order {
        false => Tensor::from_array(elements, &header.shape[..]),
        true => {
            let shape: Vec<usize> = header.shape.iter().rev().copied().collect();
            Tensor::from_array(elements, &shape[..]).transpose()
        }
    })
}
