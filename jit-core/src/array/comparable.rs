//! The comparison operators of `#[jit]` functions: traits like Rust's, whose result may be a mask.
//!
//! They are defined here because every element type is compared with its arrays, also in generic code.

/// Types that `==` and `!=` compare in a `#[jit]` function.
#[diagnostic::on_unimplemented(
    message = "cannot compare `{Self}` with `{B}` in a `#[jit]` function",
    label = "no comparison `{Self}` == `{B}`",
    note = "arrays are compared with arrays and numbers that share a common element type (otherwise convert with \
        `.cast::<T>()`), and in code generic over `T: FloatElement` with `T::from_f64(0.5)`; host types are compared \
        as in Rust, or in a statement marked `#[host]`"
)]
pub trait Equal<B: ?Sized> {
    /// `bool` or a mask.
    type Output;
    /// `self == other`
    #[track_caller]
    fn eq(&self, other: &B) -> Self::Output;
    /// `self != other`
    #[track_caller]
    fn ne(&self, other: &B) -> Self::Output;
}

/// Types that `<`, `<=`, `>` and `>=` compare in a `#[jit]` function.
#[diagnostic::on_unimplemented(
    message = "cannot compare `{Self}` with `{B}` in a `#[jit]` function",
    label = "no order between `{Self}` and `{B}`",
    note = "arrays are compared with arrays and numbers that share a common element type (otherwise convert with \
        `.cast::<T>()`), and in code generic over `T: FloatElement` with `T::from_f64(0.5)`; host types are compared \
        as in Rust, or in a statement marked `#[host]`"
)]
pub trait Order<B: ?Sized> {
    /// `bool` or a mask.
    type Output;
    /// `self < other`
    #[track_caller]
    fn lt(&self, other: &B) -> Self::Output;
    /// `self <= other`
    #[track_caller]
    fn le(&self, other: &B) -> Self::Output;
    /// `self > other`
    #[track_caller]
    fn gt(&self, other: &B) -> Self::Output;
    /// `self >= other`
    #[track_caller]
    fn ge(&self, other: &B) -> Self::Output;
}
