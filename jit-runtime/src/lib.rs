//! The machine beneath `jit`: kernels in, results out.
//!
//! | step | module |
//! |---|---|
//! | describe what one lane computes | [`ir`] |
//! | turn it into code, or interpret it | [`backend`] |

pub mod backend;
mod error;
pub mod ir;

pub use error::{Error, ErrorKind};
