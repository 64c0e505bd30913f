//! `x as T`: Rust's own cast of host values, a conversion of each element of arrays.
//!
//! ```text
//! x as T   →   match probe(&x).__jit_cast() { k => k.finish(k.host() as T) }
//! ```
//! A host value goes through Rust's cast, a [`Size`] as its number, which fixes it in a recording. For an array a zero
//! goes through Rust's cast, and the array is converted to the resulting type.

use super::index::{Indexed, Probe};
use super::operand::Operand;
use crate::array::{Array, Element};
use crate::size::Size;

/// Pairs of element types that `as` converts in arrays: the same as in Rust.
#[diagnostic::on_unimplemented(
    message = "an array of `{Self}` cannot be cast to `{U}` by `as`",
    label = "arrays of `{Self}` are not cast to `{U}`",
    note = "arrays hold `bool`, `i8` … `i64`, `u8` … `u64`, `f16`, `bf16`, `f32` or `f64`; use `u32` or `u64` instead \
        of `usize`, and `x != 0` instead of `as bool`"
)]
pub trait CastsTo<U>: Element {
    /// An array of the target type.
    type Converted;
    /// Converts the elements of the array.
    #[track_caller]
    fn cast(array: &Array<Self>) -> Self::Converted;
}

macro_rules! casts {
    ($($from:ty => $($to:ty),*;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl CastsTo<$to> for $from {
            type Converted = Array<$to>;
            fn cast(array: &Array<Self>) -> Array<$to> {
                array.cast()
            }
        }
    )*)*};
}

casts! {
    bool => bool, i8, i16, i32, i64, u8, u16, u32, u64;
    i8 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    i16 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    i32 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    i64 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    u8 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    u16 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    u32 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    u64 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    half::f16 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    half::bf16 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    f32 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
    f64 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
}

/// Method lookup finds this trait for arrays, and references to them.
pub trait CastsTraced {
    /// The element type.
    type Element: Element;
    /// Begins the cast of an array.
    fn __jit_cast(self) -> TracedCast<Self::Element>;
}

impl<T: Element, A: Indexed<Base = Array<T>> + ?Sized> CastsTraced for Probe<'_, A> {
    type Element = T;
    fn __jit_cast(self) -> TracedCast<T> {
        TracedCast(self.0.base().clone())
    }
}

/// Method lookup finds this trait for sizes.
pub trait CastsSize {
    /// Begins the cast of a size.
    fn __jit_cast(self) -> SizeCast;
}

impl CastsSize for Probe<'_, Size> {
    #[track_caller]
    fn __jit_cast(self) -> SizeCast {
        SizeCast(self.0.get())
    }
}

/// Method lookup finds this trait for all other types.
pub trait CastsHost<'a> {
    /// The type.
    type Value;
    /// Begins the cast of a host value.
    fn __jit_cast(self) -> HostCast<'a, Self::Value>;
}

impl<'a, X> CastsHost<'a> for &Probe<'a, X> {
    type Value = X;
    #[inline(always)]
    fn __jit_cast(self) -> HostCast<'a, X> {
        HostCast(self.0)
    }
}

/// A host value to be cast.
pub struct HostCast<'a, X>(&'a X);

impl<X> HostCast<'_, X> {
    /// Returns the value that Rust casts.
    #[inline(always)]
    pub fn host(&self) -> X
    where
        X: Operand,
    {
        self.0.again()
    }

    /// Returns the value that Rust casts to `bool`.
    #[inline(always)]
    pub fn host_bool(&self) -> X
    where
        X: Operand,
    {
        self.0.again()
    }

    /// Returns the result of Rust's cast.
    #[inline(always)]
    pub fn finish<T>(&self, value: T) -> T {
        value
    }
}

/// A size to be cast.
#[derive(Debug)]
pub struct SizeCast(usize);

impl SizeCast {
    /// Returns the value that Rust casts: of a type to which nobody casts it, as clippy warns of casts to the same one.
    pub fn host(&self) -> u128 {
        self.0 as u128
    }

    /// Returns the same, for a cast to `bool`, which Rust refuses.
    pub fn host_bool(&self) -> u128 {
        self.host()
    }

    /// Returns the result of Rust's cast.
    pub fn finish<T>(&self, value: T) -> T {
        value
    }
}

/// An array to be cast.
#[derive(Debug)]
pub struct TracedCast<T: Element>(Array<T>);

impl<T: Element> TracedCast<T> {
    /// Returns the value that Rust casts.
    pub fn host(&self) -> u8 {
        0
    }

    /// Returns the value that Rust casts to `bool`.
    pub fn host_bool(&self) -> bool {
        false
    }

    /// Returns the converted array.
    #[track_caller]
    pub fn finish<U>(&self, _: U) -> T::Converted
    where
        T: CastsTo<U>,
    {
        T::cast(&self.0)
    }
}

/// Returns the result of a cast, as an expression that can be anywhere.
#[inline(always)]
pub fn converted<T>(value: T) -> T {
    value
}
