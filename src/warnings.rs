//! What the compiler warns of in `#[jit]` functions: programs that compile, and surely mean something else.
//!
//! The warnings are at the user's tokens, as those about deprecated methods do; each method of [`Suspicious`] is one of
//! them, and says what it is about. They are given for traced conditions and for arrays only, which is known from the
//! types. `#[allow(deprecated)]` on the statement, or on the function, silences them.
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
