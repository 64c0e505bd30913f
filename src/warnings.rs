//! Compiler warnings for `#[jit]` functions: programs that compile, but almost certainly mean something else.
//!
//! The warnings appear at the user's tokens, through the deprecation lint. Each method of [`Suspicious`] is one of
//! them, and its documentation explains it. They are issued only for traced conditions and arrays, as determined by
//! type. `#[allow(deprecated)]` on the statement, or on the function, silences them.
//!
//! ```
//! use jit::prelude::*;
//!
//! #[jit]
//! fn steps(x: &Float) -> UInt {
//!     let mut x = x.clone();
//!     let mut n = UInt::from(0); // `let mut n = 0` is a number of the host: a warning
//!     while x > 1.0 {
//!         x *= 0.5; //              `let x = x * 0.5` would be another variable: a warning
//!         n += 1;
//!     }
//!     n
//! }
//!
//! assert_eq!(steps(&Float::from([0.5, 3.0])).to_vec()?, [0, 2]);
//! # Ok::<(), jit::Error>(())
//! ```

pub use jit_core::control::Suspicious;
