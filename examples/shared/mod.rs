//! What the examples share: their command line, and pictures in files.

pub(crate) mod arguments;
pub(crate) mod picture;
