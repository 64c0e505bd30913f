//! `return`, `?`, `break` and `continue` leave for all lanes at once, so every region that they leave must be the host's.
//!
//! Generated code calls one of these functions for each such region, at the user's token. For a guard of the traced
//! world the trait is missing, and its message is the error. (Written out rather than by a macro of our own, which the
//! compiler would quote in each message.)

use super::branch::Branch;
use super::repeat::Repeat;
use super::world::Host;

/// Guards of an `if` that `return` may leave.
#[diagnostic::on_unimplemented(
    message = "`return` inside an `if` on a traced value",
    label = "whether this returns is known only when the kernel runs, lane by lane",
    note = "give every lane a value: use the `if` as an expression, or `mask.select(a, b)`"
)]
pub trait ReturnInIf {}

impl ReturnInIf for Branch<Host> {}

/// Checks that `return` may leave an `if`.
#[inline(always)]
pub fn return_in_if<G: ReturnInIf>(_: &G) {}

/// Guards of a `while` that `return` may leave.
#[diagnostic::on_unimplemented(
    message = "`return` inside a `while` on a traced value",
    label = "the body is recorded once, for all lanes and iterations",
    note = "assign to a variable, and end the loop by its condition"
)]
pub trait ReturnInWhile {}

impl ReturnInWhile for Repeat<Host> {}

/// Checks that `return` may leave a `while`.
#[inline(always)]
pub fn return_in_while<G: ReturnInWhile>(_: &G) {}

/// Guards of an `if` that `break` may leave.
#[diagnostic::on_unimplemented(
    message = "`break` inside an `if` on a traced value",
    label = "`break` leaves the loop for all lanes, but this `if` is decided lane by lane",
    note = "put the condition into the `while`, or keep a mask of the lanes that are done"
)]
pub trait BreakInIf {}

impl BreakInIf for Branch<Host> {}

/// Checks that `break` may leave an `if`.
#[inline(always)]
pub fn break_in_if<G: BreakInIf>(_: &G) {}

/// Guards of a `while` that `break` may leave.
#[diagnostic::on_unimplemented(
    message = "`break` inside a `while` on a traced value",
    label = "`break` leaves the loop for all lanes, but this `while` ends lane by lane",
    note = "put the condition into the `while`"
)]
pub trait BreakInWhile {}

impl BreakInWhile for Repeat<Host> {}

/// Checks that `break` may leave a `while`.
#[inline(always)]
pub fn break_in_while<G: BreakInWhile>(_: &G) {}

/// Guards of an `if` that `continue` may leave.
#[diagnostic::on_unimplemented(
    message = "`continue` inside an `if` on a traced value",
    label = "`continue` skips the rest for all lanes, but this `if` is decided lane by lane",
    note = "put the rest of the body into the other arm"
)]
pub trait ContinueInIf {}

impl ContinueInIf for Branch<Host> {}

/// Checks that `continue` may leave an `if`.
#[inline(always)]
pub fn continue_in_if<G: ContinueInIf>(_: &G) {}

/// Guards of a `while` that `continue` may leave.
#[diagnostic::on_unimplemented(
    message = "`continue` inside a `while` on a traced value",
    label = "the body is recorded once, for all lanes and iterations",
    note = "put the rest of the body into an `if`"
)]
pub trait ContinueInWhile {}

impl ContinueInWhile for Repeat<Host> {}

/// Checks that `continue` may leave a `while`.
#[inline(always)]
pub fn continue_in_while<G: ContinueInWhile>(_: &G) {}

/// Guards of an `if` that `?` may leave.
#[diagnostic::on_unimplemented(
    message = "`?` inside an `if` on a traced value",
    label = "`?` decides once, while tracing, but what it would skip differs by lane",
    note = "compute the value before, where the condition is not traced yet"
)]
pub trait TryInIf {}

impl TryInIf for Branch<Host> {}

/// Passes the operand of `?` through; checks that it may leave an `if`.
#[inline(always)]
pub fn try_in_if<G: TryInIf, T>(_: &G, operand: T) -> T {
    operand
}

/// Guards of a `while` that `?` may leave.
#[diagnostic::on_unimplemented(
    message = "`?` inside a `while` on a traced value",
    label = "`?` decides once, while tracing, but what it would skip differs by lane",
    note = "compute the value before, where the condition is not traced yet"
)]
pub trait TryInWhile {}

impl TryInWhile for Repeat<Host> {}

/// Passes the operand of `?` through; checks that it may leave a `while`.
#[inline(always)]
pub fn try_in_while<G: TryInWhile, T>(_: &G, operand: T) -> T {
    operand
}

/// Guards of an `if` in which what others share may be changed.
#[diagnostic::on_unimplemented(
    message = "shared state is changed inside an `if` on a traced value",
    label = "what lies behind a cell or a lock cannot be merged lane by lane",
    note = "take the value out before the `if`, and put the result back after it"
)]
pub trait SharedInIf {}

impl SharedInIf for Branch<Host> {}

/// Passes the receiver of `borrow_mut` or `lock` through; checks that it may be changed inside an `if`.
#[inline(always)]
pub fn shared_in_if<'a, G: SharedInIf, T: ?Sized>(_: &G, receiver: &'a T) -> &'a T {
    receiver
}

/// Guards of a `while` in which what others share may be changed.
#[diagnostic::on_unimplemented(
    message = "shared state is changed inside a `while` on a traced value",
    label = "what lies behind a cell or a lock cannot be merged lane by lane",
    note = "take the value out before the `while`, and put the result back after it"
)]
pub trait SharedInWhile {}

impl SharedInWhile for Repeat<Host> {}

/// Passes the receiver of `borrow_mut` or `lock` through; checks that it may be changed inside a `while`.
#[inline(always)]
pub fn shared_in_while<'a, G: SharedInWhile, T: ?Sized>(_: &G, receiver: &'a T) -> &'a T {
    receiver
}
