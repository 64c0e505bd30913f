//! Code that the examples share: their command line, picture files, curves of losses, and trainings in files.

pub(crate) mod arguments;
#[cfg(feature = "safetensors")]
pub(crate) mod checkpoint;
pub(crate) mod curve;
pub(crate) mod picture;
