//! The C interface of `jit`: calls functions of files and bundles, from any language that calls C.
//!
//! `include/jit.h` is the interface, with its documentation; each function of it is here. The crate has no code
//! generator unless its feature `llvm` is on.
//!
//! | part | file |
//! |---|---|
//! | statuses, messages, and the boundary that no panic crosses | `failure` |
//! | open files and their functions | `open` |
//! | what functions take and return | `describe` |
//! | calls and their results | `call` |
//!
//! Handles are boxes, given out as pointers. A function is shared, so it outlives the bundle that it is from.

mod call;
mod describe;
mod failure;
mod open;

pub use call::{Argument, Results, jit_call, jit_results_copy, jit_results_free, jit_results_get, jit_results_shape};
pub use describe::{
    Description, jit_argument_count, jit_argument_describe, jit_fixed_count, jit_fixed_describe, jit_result_count,
    jit_result_describe,
};
pub use failure::{Status, jit_last_error};
pub use open::{
    Function, OpenBundle, jit_close, jit_count, jit_function_free, jit_lookup, jit_name, jit_open, jit_open_bytes,
    jit_recording, jit_recording_count,
};

/// The version of the interface: `JIT_ABI_VERSION` in the header.
const ABI_VERSION: u32 = 2;

/// Returns the version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn jit_abi_version() -> u32 {
    ABI_VERSION
}

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn jit_version() -> *const std::ffi::c_char {
    const VERSION: &[u8] = concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes();
    VERSION.as_ptr().cast()
}
