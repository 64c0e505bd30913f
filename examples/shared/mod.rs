//! Code that the examples share: their command line, and picture files.

pub(crate) mod arguments;
pub(crate) mod picture;
