//! Code that the examples share: their command line, picture files, and curves of losses.

pub(crate) mod arguments;
pub(crate) mod curve;
pub(crate) mod picture;
