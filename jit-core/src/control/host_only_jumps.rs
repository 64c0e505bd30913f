//! Jumps that affect all lanes at once while tracing, such as `?`: every region around one must be of the host stage.
//!
//! Generated code calls a method of one of these traits for each such region, at the user's token. Guards of the traced
//! stage do not implement the trait, and its message is the error. (Written out because the compiler would quote a
//! macro in each message.)

use super::branch::Branch;
use super::repeat::Repeat;
use super::stage::HostStage;

/// Guards that a jump on the right side of `&&` or `||` may exit.
#[diagnostic::on_unimplemented(
    message = "`break`, `continue` or `return` on the right side of `&&` or `||` under a traced condition",
    label = "the rest of this expression would also be computed for the lanes that have exited",
    note = "write a separate `if` for it"
)]
pub trait JumpsFromOperand {
    /// Checks that a jump on the right side of `&&` or `||` may exit the guard.
    #[inline(always)]
    fn jump(&self) {}
}

#[diagnostic::do_not_recommend]
impl JumpsFromOperand for Branch<HostStage> {}
#[diagnostic::do_not_recommend]
impl JumpsFromOperand for Repeat<HostStage> {}

/// Guards of an `if` that `?` may exit.
#[diagnostic::on_unimplemented(
    message = "`?` inside an `if` on a traced value",
    label = "`?` decides once, while tracing, but what it would skip differs by lane",
    note = "compute the value before the region"
)]
pub trait TryInIf {
    /// Passes the operand of `?` through; checks that it may exit an `if`.
    #[inline(always)]
    fn pass<T>(&self, operand: T) -> T {
        operand
    }
}

#[diagnostic::do_not_recommend]
impl TryInIf for Branch<HostStage> {}

/// Guards of a `while` that `?` may exit.
#[diagnostic::on_unimplemented(
    message = "`?` inside a `while` on a traced value",
    label = "`?` decides once, while tracing, but what it would skip differs by lane",
    note = "compute the value before the region"
)]
pub trait TryInWhile {
    /// Passes the operand of `?` through; checks that it may exit a `while`.
    #[inline(always)]
    fn pass<T>(&self, operand: T) -> T {
        operand
    }
}

#[diagnostic::do_not_recommend]
impl TryInWhile for Repeat<HostStage> {}

/// Guards of an `if` in which shared data may be changed.
#[diagnostic::on_unimplemented(
    message = "shared state is changed inside an `if` on a traced value",
    label = "the contents of a cell or lock cannot be merged lane by lane",
    note = "take the value out before the `if`, and put the result back after it"
)]
pub trait SharedInIf {
    /// Passes the receiver of `borrow_mut` or `lock` through; checks that it may be changed inside an `if`.
    #[inline(always)]
    fn pass<'a, T: ?Sized>(&self, receiver: &'a T) -> &'a T {
        receiver
    }
}

#[diagnostic::do_not_recommend]
impl SharedInIf for Branch<HostStage> {}

/// Guards of a `while` in which shared data may be changed.
#[diagnostic::on_unimplemented(
    message = "shared state is changed inside a `while` on a traced value",
    label = "the contents of a cell or lock cannot be merged lane by lane",
    note = "take the value out before the `while`, and put the result back after it"
)]
pub trait SharedInWhile {
    /// Passes the receiver of `borrow_mut` or `lock` through; checks that it may be changed inside a `while`.
    #[inline(always)]
    fn pass<'a, T: ?Sized>(&self, receiver: &'a T) -> &'a T {
        receiver
    }
}

#[diagnostic::do_not_recommend]
impl SharedInWhile for Repeat<HostStage> {}
