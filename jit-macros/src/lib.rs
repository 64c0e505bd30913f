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
/// # What is rewritten
///
/// | Rust | becomes |
/// |---|---|
/// | operators on variables, fields and elements | the same, on clones: `x * x + y` moves nothing |
/// | comparisons | a `bool` or a mask, by the types |
/// | `&&`, `\|\|` | short circuits; on masks the right side counts, and reads memory, only on lanes where it is needed |
/// | `if`, `else if`, `else`, with or without a value | Rust's, or recorded |
/// | `let x; if c { x = a; } else { x = b; }` | the same, merged |
/// | `if c { return a; }` at the level of the function | the rest of the function is the other arm |
/// | `while` | Rust's, or recorded |
/// | `for`, `loop`, `match`, `if let`, `let else`, `?`, `return`, `break`, `continue` | Rust's |
/// | closures; the arguments of `println!`, `assert!`, `vec!` and their like | rewritten inside |
/// | functions inside of the function, types, constants, other macros | left alone |
///
/// What a recorded `if` or `while` changes must be `Traverse`: arrays, and tuples, lists and structures of them. It is found
/// by what is assigned, borrowed by `&mut`, or the receiver of a method and declared `mut`. A number of the host that changes
/// there is an error that names it. A `&mut` reference that a call returned is seen if the
/// call was given a `&mut` argument, if the name of a method in it ends in `_mut`, or if it is bound by `let mut`. Otherwise, bound by a
/// plain `let` and changed by nothing but its methods, it is *not* seen, and its change then holds for all lanes: write `let mut`.
/// `return`, `?`, `break` and `continue` out of a recorded `if` or `while` do not compile.
///
/// # Options
///
/// `#[jit(label = "name")]` names the function's kernels, `#[jit(crate = path)]` says where the `jit` crate is.
/// `#[jit(fast_math)]` computes the function, and those that it calls, faster and less exactly, as `jit::fast_math` does;
/// `#[jit(fast_math = false)]` computes it exactly wherever it is called.
/// On a parameter, `#[constexpr]` says that it is a host value which the trace is made for. On a statement, `#[host]`
/// leaves conditions and comparisons to Rust and `#[label("name")]` names what is traced in it.
///
/// On an `impl` block the attribute applies to each method.
#[proc_macro_attribute]
pub fn jit(options: TokenStream, item: TokenStream) -> TokenStream {
    jit::expand(options.into(), item.into()).into()
}
