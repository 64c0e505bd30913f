//! A tracing just-in-time compiler for functions over arrays.
extern crate self as jit;
pub use jit_macros::jit;
pub use jit_core::*;
pub use jit_runtime::{Error, device::*, stats::*};
pub mod prelude { pub use crate::*; }
#[doc(hidden)]
pub mod __private { pub use jit_core::control::*; }
