//! Values that generated code uses more often than Rust's moves allow.

/// A value that operators of a `#[jit]` function take without moving it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the operand of an operator in a `#[jit]` function",
    label = "this operand has type `{Self}`, which is not `Clone`",
    note = "operands are cloned so that they can be used again; mark the statement with `#[host]` or take a reference \
        with `&`"
)]
pub trait Operand: Sized {
    /// Returns a clone.
    #[must_use]
    fn again(&self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Operand for T {
    #[inline(always)]
    fn again(&self) -> T {
        self.clone()
    }
}
