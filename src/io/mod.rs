//! Files of arrays and tensors.
//!
//! | format | reading and writing | feature |
//! |---|---|---|
//! | npy and npz, of NumPy | `io::npy` | `npy` |
//! | safetensors | [`nn::StateDict`](crate::nn::StateDict): `open`, `save` | `safetensors` |
//! | pictures | the crate `image`; [`interop`](crate::interop) converts its pictures | `image` |
//! | raw elements | [`Array::from_bytes`](crate::Array::from_bytes), [`Array::to_bytes`](crate::Array::to_bytes) | |
//!
//! A format is a part of the type that it stores: states of modules know their names and shapes, so files of the format
//! safetensors are read and written by methods of theirs. What belongs to no type is here.
//!
//! A file is written under another name first, which then replaces the old file: a reader never finds half of one.
//! Every malformed file is an error that names it; nothing in it is trusted, and memory is allocated only for what is
//! there.

#[cfg(any(feature = "npy", feature = "safetensors"))]
pub(crate) mod files;
#[cfg(feature = "npy")]
pub mod npy;
