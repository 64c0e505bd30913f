//! `return`, `?`, `break` and `continue` leave for all lanes at once, so every region that they leave must be the host's.
//!
//! Generated code calls one of these functions for each such region, at the user's token. For a guard of the traced
//! world the trait is missing, and its message is the error.

use super::branch::Branch;
use super::repeat::Repeat;
use super::world::Host;

macro_rules! leaving {
    ($(($trait_name:ident, $function:ident, $guard:ident, $message:literal, $label:literal, $note:literal);)*) => {$(
        #[doc = concat!("Guards that may be left so; the error otherwise: ", $message, ".")]
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $note)]
        pub trait $trait_name {}

        impl $trait_name for $guard<Host> {}

        #[doc = "Compiles for guards of the host only."]
        #[inline(always)]
        pub fn $function<G: $trait_name>(_: &G) {}
    )*};
}

leaving! {
    (ReturnInIf, return_in_if, Branch,
        "`return` inside an `if` on a traced value",
        "whether this returns is known only when the kernel runs, lane by lane",
        "give every lane a value: use the `if` as an expression, or `mask.select(a, b)`");
    (ReturnInWhile, return_in_while, Repeat,
        "`return` inside a `while` on a traced value",
        "the body is recorded once, for all lanes and iterations",
        "assign to a variable, and end the loop by its condition");
    (BreakInIf, break_in_if, Branch,
        "`break` inside an `if` on a traced value",
        "`break` leaves the loop for all lanes, but this `if` is decided lane by lane",
        "put the condition into the `while`, or keep a mask of the lanes that are done");
    (BreakInWhile, break_in_while, Repeat,
        "`break` inside a `while` on a traced value",
        "`break` leaves the loop for all lanes, but this `while` ends lane by lane",
        "put the condition into the `while`");
    (ContinueInIf, continue_in_if, Branch,
        "`continue` inside an `if` on a traced value",
        "`continue` skips the rest for all lanes, but this `if` is decided lane by lane",
        "put the rest of the body into the other arm");
    (ContinueInWhile, continue_in_while, Repeat,
        "`continue` inside a `while` on a traced value",
        "the body is recorded once, for all lanes and iterations",
        "put the rest of the body into an `if`");
}

macro_rules! trying {
    ($(($trait_name:ident, $function:ident, $guard:ident, $message:literal);)*) => {$(
        #[doc = concat!("Guards that `?` may leave; the error otherwise: ", $message, ".")]
        #[diagnostic::on_unimplemented(
            message = $message,
            label = "`?` decides once, while tracing, but what it would skip differs by lane",
            note = "compute the value before, where the condition is not traced yet"
        )]
        pub trait $trait_name {}

        impl $trait_name for $guard<Host> {}

        #[doc = "Passes the operand of `?` through; compiles for guards of the host only."]
        #[inline(always)]
        pub fn $function<G: $trait_name, T>(_: &G, operand: T) -> T {
            operand
        }
    )*};
}

trying! {
    (TryInIf, try_in_if, Branch, "`?` inside an `if` on a traced value");
    (TryInWhile, try_in_while, Repeat, "`?` inside a `while` on a traced value");
}
