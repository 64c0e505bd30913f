//! Warnings about programs that compile, but surely mean something else under a traced condition.
//!
//! Whether a condition is traced is known from types alone, so generated code calls a method of the guard:
//! [`Suspicious`] for guards of traced regions, whose methods are deprecated with our message, and [`Harmless`] a
//! borrow further for all others. The compiler then warns at the user's token, as for any deprecated item, and
//! `#[allow(deprecated)]` silences it. (Deprecated constants in the generated code would warn whatever the types are.)

use super::branch::Branch;
use super::repeat::Repeat;
use super::stage::TracedStage;
use crate::array::{Array, Element};

/// Code that a `#[jit]` function surely does not mean as it is written: the compiler warns of it at the token.
///
/// Each method represents one warning. Nothing calls them but what `#[jit]` writes. `#[allow(deprecated)]` on the
/// statement, on the function or around it silences them.
pub trait Suspicious {
    /// `panic!`, `todo!` or `unreachable!` under a traced condition.
    ///
    /// The body of a traced `if`, `while` or `for` is run once, while tracing, whatever the condition is in each lane.
    /// So the function always panics. `assert!(!condition)` is checked by lane with `JIT_DEBUG`.
    #[deprecated(
        note = "this code runs once, while tracing, whatever the condition is in each lane, and always panics; \
                         write `assert!(…)` on the condition in place of the `if`"
    )]
    #[inline(always)]
    fn panics_while_tracing(&self) {}

    /// `let x = …x…;` under a traced condition, where `x` changes outside of it and the new one is never used.
    ///
    /// A `let` makes a new variable, in traced code as in all of Rust.
    #[deprecated(
        note = "this is a new variable, which nothing uses, and the one outside does not change; assign to it without \
            `let`"
    )]
    #[inline(always)]
    fn shadows_state(&self) {}

    /// A number of the host that changes under a traced condition, as a counter begun by `let mut i = 0`.
    ///
    /// It has one value for all lanes and iterations, so its change is refused while tracing. Begun by `UInt::from(0)`
    /// it counts in each lane.
    #[deprecated(
        note = "this is a number of the host, the same for all lanes, and changes under a traced condition; begin with \
                         an array, as in `UInt::from(0)` or `Float::from(0.0)`"
    )]
    #[inline(always)]
    fn host_counter(&self) {}

    /// A comparison of arrays among the arguments of a macro that `#[jit]` does not know.
    ///
    /// What such a macro makes of its arguments is unknown, so they are not rewritten, and Rust's own comparisons do
    /// not compare arrays.
    #[deprecated(
        note = "`#[jit]` does not rewrite what is in this macro, and Rust's own comparisons do not compare arrays; \
                         compare before, and give the macro the mask"
    )]
    #[inline(always)]
    fn compared_in_macro(&self) {}
}

impl Suspicious for Branch<TracedStage> {}
impl Suspicious for Repeat<TracedStage> {}
impl<T: Element> Suspicious for Array<T> {}
impl<T: Element> Suspicious for &Array<T> {}
impl<T: Element> Suspicious for &mut Array<T> {}

/// Guards of the host's regions, and values that are no arrays: nothing is wrong with them.
pub trait Harmless {
    /// Panics where Rust says.
    #[inline(always)]
    fn panics_while_tracing(&self) {}
    /// A new variable.
    #[inline(always)]
    fn shadows_state(&self) {}
    /// A number that Rust changes.
    #[inline(always)]
    fn host_counter(&self) {}
    /// Something that Rust compares.
    #[inline(always)]
    fn compared_in_macro(&self) {}
}

impl<G> Harmless for &G {}
