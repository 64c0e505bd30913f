//! Bundles: functions that are compiled when a program is built, and called by it without a compiler.
//!
//! Three crates take part. One has the `#[jit]` functions; here it is called `filters`. A program depends on it in its
//! build script alone, where it compiles them:
//!
//! ```toml
//! [dependencies]
//! jit = { version = "0.1", default-features = false } # no LLVM in the program
//!
//! [build-dependencies]
//! filters = { path = "../filters" }
//! jit = "0.1"
//! ```
//!
//! ```no_run
//! // build.rs
//! # mod filters { use jit::prelude::*; #[jit] pub fn saxpy(a: f32, x: &Float, y: &Float) -> Float { a * x + y } }
//! use filters::saxpy;
//! use jit::prelude::*;
//!
//! fn main() -> Result<(), jit::Error> {
//!     let x = Float::placeholder(1000);
//!     jit::bundle::Builder::new("kernels").add("saxpy", || saxpy::compile(2.0, &x, &x)).write_to_out_dir()?;
//!     Ok(())
//! }
//! ```
//!
//! The program includes the bundle. It becomes a module with a function for each entry, of the same arguments as the
//! `#[jit]` function without its `#[constexpr]` ones:
//!
//! ```ignore
//! jit::include_bundle!(kernels);
//!
//! let z: Float = kernels::saxpy(2.0, &x, &y)?;
//! ```
//!
//! A call is that of an [`Executor`](crate::Executor): it traces nothing and compiles nothing, at every width that the
//! conditions of the executor admit. `kernels::saxpy::executor()` returns the executor. The page on
//! [shipping](crate::guide::shipping) describes which code runs where.
//!
//! | part | file |
//! |---|---|
//! | what a build script says | `builder`, `target` |
//! | the module that a program includes | `generate`; how it names types: `paths` |
//! | what that module uses at run time | `generated` |

mod builder;
mod generate;
#[doc(hidden)]
pub mod generated;
mod paths;
mod target;

pub use builder::{Builder, Built, BuiltEntry};
pub use target::Target;

/// Includes a bundle that the build script of the program has written: `include_bundle!(kernels);` is a module
/// `kernels` with a function for each entry. `include_bundle!(pub kernels);` makes it public.
///
/// `include_bundle!(kernels in "folder");` includes a bundle that
/// [`Builder::write_to`](crate::bundle::Builder::write_to) has written to a folder, which is found as those of
/// `include!` are.
///
/// The page of the module [`bundle`](crate::bundle) has an example.
#[macro_export]
macro_rules! include_bundle {
    ($visibility:vis $name:ident) => {
        $crate::include_bundle! {
            $visibility $name in env!(
                "OUT_DIR",
                "include_bundle! needs a `build.rs` that writes the bundle by `jit::bundle::Builder`"
            )
        }
    };
    ($visibility:vis $name:ident in $($folder:tt)+) => {
        #[allow(clippy::all, clippy::pedantic, missing_docs, non_snake_case, unreachable_pub, unused)]
        $visibility mod $name {
            use $crate::bundle::generated as __jit;
            use __jit::jit;
            include!(concat!($($folder)+, "/", stringify!($name), ".rs"));
        }
    };
}
