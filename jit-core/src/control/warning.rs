//! Warnings about programs that compile, but almost certainly mean something else under a traced condition.
//!
//! Whether a condition is traced is known only from types, so generated code calls a method of the guard. Method lookup
//! finds [`Suspicious`] for guards of traced regions, whose methods are deprecated with our message, and [`Harmless`],
//! one borrow further, for all others. The compiler then warns at the user's token, as for any deprecated item, and
//! `#[allow(deprecated)]` silences it. (Deprecated constants in the generated code would warn regardless of the types.)

use super::branch::Branch;
use super::repeat::Repeat;
use super::stage::TracedStage;
use crate::array::{Array, Element};

/// Code that a `#[jit]` function almost certainly does not intend: the compiler warns about it at the token.
///
/// Each method represents one warning. Only code that `#[jit]` generates calls them. `#[allow(deprecated)]` on the
/// statement, on the function or around it silences them.
pub trait Suspicious {
    /// `panic!`, `todo!` or `unreachable!` under a traced condition.
    ///
    /// The body of a traced `if`, `while` or `for` runs once, while tracing, whatever the condition is in each lane. So
    /// the function always panics. `assert!(!condition)` is checked by lane with `JIT_DEBUG`.
    #[deprecated(
        note = "this code runs once, while tracing, regardless of the condition in each lane, and always panics; write \
            `assert!(…)` on the condition instead of the `if`"
    )]
    #[inline(always)]
    fn panics_while_tracing(&self) {}

    /// `println!`, `print!`, `eprintln!`, `eprint!` or `dbg!` under a traced condition.
    ///
    /// The body of a traced `if`, `while` or `for` runs once, while tracing, whatever the condition is in each lane:
    /// the text is printed even if no lane takes the branch, and not again in a replay. `jit::print!` prints for the
    /// lanes on which the condition holds. Where the host is to decide, the condition is a number:
    /// `loss.item()? < 0.1`.
    #[deprecated(
        note = "this prints once, while tracing, regardless of the condition in each lane; write `jit::print!`, which \
            prints for the lanes on which it holds, or let the host decide by a number, as in `loss.item()? < 0.1`"
    )]
    #[inline(always)]
    fn prints_while_tracing(&self) {}

    /// `let x = …x…;` under a traced condition, where `x` is assigned outside it and the new variable is never used.
    ///
    /// A `let` makes a new variable, in traced code as anywhere in Rust.
    #[deprecated(
        note = "this is a new variable, which is unused, and the outer one does not change; assign to it without `let`"
    )]
    #[inline(always)]
    fn shadows_state(&self) {}

    /// A host number that changes under a traced condition, such as a counter initialised by `let mut i = 0`.
    ///
    /// It has one value for all lanes and iterations, so its change is rejected while tracing. Initialised by
    /// `UInt::from(0)` it counts in each lane.
    #[deprecated(
        note = "this is a host number, the same for all lanes, that changes under a traced condition; start with an \
            array, as in `UInt::from(0)` or `Float::from(0.0)`"
    )]
    #[inline(always)]
    fn host_counter(&self) {}

    /// A comparison of arrays among the arguments of a macro that `#[jit]` does not know.
    ///
    /// The use that such a macro makes of its arguments is unknown, so they are not rewritten, and Rust's own
    /// comparisons do not compare arrays.
    #[deprecated(
        note = "`#[jit]` does not rewrite the arguments of this macro, and Rust's own comparisons do not compare \
            arrays; compare before, and pass the mask to the macro"
    )]
    #[inline(always)]
    fn compared_in_macro(&self) {}
}

impl Suspicious for Branch<TracedStage> {}
impl Suspicious for Repeat<TracedStage> {}
impl<T: Element> Suspicious for Array<T> {}
impl<T: Element> Suspicious for &Array<T> {}
impl<T: Element> Suspicious for &mut Array<T> {}

/// Guards of host regions, and values that are not arrays, for which there is no warning.
pub trait Harmless {
    /// Rust panics.
    #[inline(always)]
    fn panics_while_tracing(&self) {}
    /// Rust prints.
    #[inline(always)]
    fn prints_while_tracing(&self) {}
    /// A new variable.
    #[inline(always)]
    fn shadows_state(&self) {}
    /// A number that Rust changes.
    #[inline(always)]
    fn host_counter(&self) {}
    /// A comparison that Rust executes.
    #[inline(always)]
    fn compared_in_macro(&self) {}
}

impl<G> Harmless for &G {}
