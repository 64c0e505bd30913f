//! Values of `#[constexpr]` parameters: what a trace was made for, as a hash that reports of compilations compare.
//!
//! Each call traces again, so the values need no comparison that decides anything: a type qualifies if it is known on
//! the host. How its values are hashed is found by method lookup: by [`Hashed`] for types that are `Eq + Hash`, else by
//! [`Parts`] for floats, by their bits, and for what is made of them.

use std::hash::{BuildHasher as _, Hash};

use half::{bf16, f16};
use rustc_hash::FxBuildHasher;

/// A float, or a container of host values, that a `#[constexpr]` parameter takes though it is not `Eq + Hash`.
#[diagnostic::on_unimplemented(
    message = "a `#[constexpr]` parameter must be known while tracing; `{Self}` is not",
    label = "`{Self}` cannot be the key of a trace",
    note = "it takes numbers, texts, functions, and host values that are `Eq + Hash`; pass an array without \
        `#[constexpr]`"
)]
pub trait Constexpr {
    /// Returns a hash of the value.
    fn constexpr(&self) -> u64;
}

/// A value of a `#[constexpr]` parameter.
#[doc(hidden)]
pub struct ConstexprValue<'a, T: ?Sized>(pub &'a T);

#[diagnostic::do_not_recommend]
impl<T: Eq + Hash + ?Sized> Constexpr for ConstexprValue<'_, T> {
    #[inline]
    fn constexpr(&self) -> u64 {
        FxBuildHasher.hash_one(self.0)
    }
}

#[doc(hidden)]
pub trait Hashed: Sized {
    /// Returns the value, which is hashed as `Hash` says.
    fn key(&self) -> &Self;
}

impl<T: Eq + Hash + ?Sized> Hashed for ConstexprValue<'_, T> {
    #[inline]
    fn key(&self) -> &Self {
        self
    }
}

#[doc(hidden)]
pub trait Parts<'a, T: ?Sized> {
    /// Returns the value.
    fn key(&self) -> &'a T;
}

impl<'a, T: ?Sized> Parts<'a, T> for &ConstexprValue<'a, T> {
    #[inline]
    fn key(&self) -> &'a T {
        self.0
    }
}

/// Returns a hash of a function or closure: of its type.
#[doc(hidden)]
#[must_use]
pub fn hash_callable<F: ?Sized>(_: &F) -> u64 {
    FxBuildHasher.hash_one(std::any::type_name::<F>())
}

macro_rules! of_bits {
    ($($float:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl Constexpr for $float {
            #[inline]
            fn constexpr(&self) -> u64 {
                FxBuildHasher.hash_one(self.to_bits())
            }
        }
    )*};
}

macro_rules! of_hash {
    ($($plain:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl Constexpr for $plain {
            #[inline]
            fn constexpr(&self) -> u64 {
                FxBuildHasher.hash_one(self)
            }
        }
    )*};
}

of_bits!(f16, bf16, f32, f64);
of_hash!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, bool, char, str, String, ());

#[diagnostic::do_not_recommend]
impl<T: Constexpr + ?Sized> Constexpr for &T {
    fn constexpr(&self) -> u64 {
        (**self).constexpr()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Constexpr> Constexpr for Option<T> {
    fn constexpr(&self) -> u64 {
        FxBuildHasher.hash_one(self.as_ref().map(T::constexpr))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Constexpr> Constexpr for [T] {
    fn constexpr(&self) -> u64 {
        let mut hash = self.len() as u64;
        for element in self {
            hash = FxBuildHasher.hash_one((hash, element.constexpr()));
        }
        hash
    }
}

#[diagnostic::do_not_recommend]
impl<T: Constexpr, const N: usize> Constexpr for [T; N] {
    fn constexpr(&self) -> u64 {
        self.as_slice().constexpr()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Constexpr> Constexpr for Vec<T> {
    fn constexpr(&self) -> u64 {
        self.as_slice().constexpr()
    }
}

macro_rules! of_tuples {
    ($(($($name:ident),+))*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($name: Constexpr),+> Constexpr for ($($name,)+) {
            fn constexpr(&self) -> u64 {
                #[allow(non_snake_case, reason = "the variables have the names of their types")]
                let ($($name,)+) = self;
                FxBuildHasher.hash_one([$($name.constexpr()),+])
            }
        }
    )*};
}

of_tuples!((A)(A, B)(A, B, C)(A, B, C, D)(A, B, C, D, E)(A, B, C, D, E, F));
