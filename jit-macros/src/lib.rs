//! The attribute macros of `jit`.
//!
//! First step on the way of the data: the tokens of a function become Rust calls that record a graph. The crate depends
//! on no sibling; what it writes refers to `::jit::__private`. Everything it finds wrong is reported at once, at the
//! user's own tokens.

mod jit;
mod options;
mod sink;

use proc_macro::TokenStream;

/// Makes a function traceable: operators, comparisons, `&&`, `||`, `if` and `while` work on arrays as they do on numbers.
///
/// A condition that is a `bool` is decided while tracing, by Rust itself. A condition that is a mask is recorded: both
/// arms of an `if`, or the body of a `while` once, and the variables that change there become its state.
///
/// Options: `#[jit(label = "name")]` names the function's kernels, `#[jit(crate = path)]` says where the `jit` crate is.
/// On a parameter, `#[constexpr]` says that it is a host value which the trace is made for. On a statement, `#[host]`
/// leaves an `if` or `while` to Rust and `#[label("name")]` names what is traced in it.
///
/// On an `impl` block the attribute applies to each method.
#[proc_macro_attribute]
pub fn jit(options: TokenStream, item: TokenStream) -> TokenStream {
    jit::expand(options.into(), item.into()).into()
}
