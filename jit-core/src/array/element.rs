//! Element types of arrays, and the operations of each.

use std::fmt::{Debug, Display};
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use half::{bf16, f16};
use jit_runtime::Error;
use jit_runtime::ir::{Type, scalar};
use jit_runtime::memory;

use super::promote::{Promote, PromotesTo};
use super::{Array, Equal, Mask, Order};

mod sealed {
    pub trait Sealed {}
}

/// A type that arrays can hold: `bool`, the integers of 8 to 64 bits, [`struct@f16`], [`struct@bf16`], `f32` and `f64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of arrays",
    label = "arrays hold `bool`, `i8` … `i64`, `u8` … `u64`, `f16`, `bf16`, `f32` or `f64`"
)]
pub trait Element:
    Copy
    + Default
    + PartialEq
    + PartialOrd
    + Debug
    + Display
    + Send
    + Sync
    + 'static
    + sealed::Sealed
    + Promote<Self, Output = Self>
    + PromotesTo<Self>
    + Equal<Array<Self>, Output = Mask>
    + for<'a> Equal<&'a Array<Self>, Output = Mask>
    + Order<Array<Self>, Output = Mask>
    + for<'a> Order<&'a Array<Self>, Output = Mask>
{
    /// The corresponding type of the kernel IR.
    const TYPE: Type;

    /// Returns the value in the low bits of a `u64`.
    fn to_bits(self) -> u64;

    /// Returns the value with these bits.
    fn from_bits(bits: u64) -> Self;

    /// Returns the memory of values as bytes.
    fn as_bytes(values: &[Self]) -> &[u8];

    /// Returns aligned memory as values; `None` for `bool`, since not every byte is a valid one.
    #[doc(hidden)]
    fn in_place(bytes: &[u8]) -> Option<&[Self]>;

    /// Returns values whose memory the function fills.
    fn read(count: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> Result<Vec<Self>, Error>;
}

/// An element that can be added and multiplied: every type but `bool`.
///
/// In code that is generic over it, numbers of the host can be computed with, too, and combined with arrays on either
/// side:
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// fn scaled<T: jit::FloatElement>(x: &Array<T>, k: T) -> Array<T> {
///     k * x * (k * k - T::ONE)
/// }
///
/// assert_eq!(scaled(&Float::from([1.0, 2.0]), 2.0).to_vec()?, [6.0, 12.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "arrays of `{Self}` have no arithmetic")]
pub trait Number:
    Element
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Add<Array<Self>, Output = Array<Self>>
    + Sub<Array<Self>, Output = Array<Self>>
    + Mul<Array<Self>, Output = Array<Self>>
    + Div<Array<Self>, Output = Array<Self>>
    + Rem<Array<Self>, Output = Array<Self>>
    + for<'a> Add<&'a Array<Self>, Output = Array<Self>>
    + for<'a> Sub<&'a Array<Self>, Output = Array<Self>>
    + for<'a> Mul<&'a Array<Self>, Output = Array<Self>>
    + for<'a> Div<&'a Array<Self>, Output = Array<Self>>
    + for<'a> Rem<&'a Array<Self>, Output = Array<Self>>
{
    /// The type of [`Array::true_div`](super::Array::true_div): `f32` for integers, itself for floats.
    type Quotient: FloatElement;

    /// The number one.
    const ONE: Self;
}

/// An element with a sign: floats and signed integers.
#[diagnostic::on_unimplemented(message = "`{Self}` has no sign")]
pub trait Signed: Number + Neg<Output = Self> {}

/// A floating-point element: [`struct@f16`], [`struct@bf16`], `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "this operation is for arrays of floats, and `{Self}` is not a float type",
    note = "convert with `.cast::<f32>()`"
)]
pub trait FloatElement: Signed {
    /// Returns the value nearest to a number.
    fn from_f64(value: f64) -> Self;
}

/// An integer element.
#[diagnostic::on_unimplemented(
    message = "this operation is for arrays of integers, and `{Self}` is not an integer type",
    note = "a literal such as `2.0` has one type: in a function that is generic over `T: FloatElement` write \
        `T::from_f64(2.0)`; whole numbers may be literals, as in `x * 2`"
)]
pub trait Integer: Number + Logic {}

/// An element made of bits or truth values: the integers and `bool`.
#[diagnostic::on_unimplemented(message = "arrays of `{Self}` have no bitwise operations")]
pub trait Logic: Element {}

macro_rules! pod_element {
    ($($ty:ident $name:ident $to:expr, $from:expr;)*) => {$(
        impl sealed::Sealed for $ty {}

        impl Element for $ty {
            const TYPE: Type = Type::$name;

            #[inline]
            fn to_bits(self) -> u64 {
                let to: fn($ty) -> u64 = $to;
                to(self)
            }

            #[inline]
            fn from_bits(bits: u64) -> Self {
                let from: fn(u64) -> $ty = $from;
                from(bits)
            }

            fn as_bytes(values: &[Self]) -> &[u8] {
                bytemuck::cast_slice(values)
            }

            fn in_place(bytes: &[u8]) -> Option<&[Self]> {
                bytemuck::try_cast_slice(bytes).ok()
            }

            fn read(count: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> Result<Vec<Self>, Error> {
                let mut values: Vec<Self> = memory::zeroed_list(count)?;
                fill(bytemuck::cast_slice_mut(&mut values))?;
                Ok(values)
            }
        }
    )*};
}

pod_element! {
    i8 I8 |x| u64::from(x as u8), |bits| bits as i8;
    i16 I16 |x| u64::from(x as u16), |bits| bits as i16;
    i32 I32 |x| u64::from(x as u32), |bits| bits as i32;
    i64 I64 |x| x as u64, |bits| bits as i64;
    u8 U8 |x| u64::from(x), |bits| bits as u8;
    u16 U16 |x| u64::from(x), |bits| bits as u16;
    u32 U32 |x| u64::from(x), |bits| bits as u32;
    u64 U64 |x| x, |bits| bits;
    f16 F16 |x| u64::from(x.to_bits()), |bits| f16::from_bits(bits as u16);
    bf16 BF16 |x| u64::from(x.to_bits()), |bits| bf16::from_bits(bits as u16);
    f32 F32 |x| u64::from(x.to_bits()), |bits| f32::from_bits(bits as u32);
    f64 F64 |x| x.to_bits(), |bits| f64::from_bits(bits);
}

impl sealed::Sealed for bool {}

impl Element for bool {
    const TYPE: Type = Type::Bool;

    #[inline]
    fn to_bits(self) -> u64 {
        u64::from(self)
    }

    #[inline]
    fn from_bits(bits: u64) -> Self {
        bits & 1 != 0
    }

    fn as_bytes(values: &[Self]) -> &[u8] {
        bytemuck::cast_slice(values)
    }

    fn in_place(_bytes: &[u8]) -> Option<&[Self]> {
        None
    }

    fn read(count: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> Result<Vec<Self>, Error> {
        let mut bytes: Vec<u8> = memory::zeroed_list(count)?;
        fill(&mut bytes)?;
        Ok(bytes.into_iter().map(|byte| byte != 0).collect())
    }
}

macro_rules! numbers {
    ($quotient:ident: $($ty:ident = $one:expr),*) => {$(
        impl Number for $ty {
            type Quotient = $quotient;

            const ONE: Self = $one;
        }
    )*};
}

numbers!(f32: i8 = 1, i16 = 1, i32 = 1, i64 = 1, u8 = 1, u16 = 1, u32 = 1, u64 = 1, f32 = 1.0);
numbers!(f64: f64 = 1.0);
numbers!(f16: f16 = f16::ONE);
numbers!(bf16: bf16 = bf16::ONE);

macro_rules! mark {
    ($marker:ident: $($ty:ident),*) => {
        $(impl $marker for $ty {})*
    };
}

mark!(Signed: i8, i16, i32, i64, f16, bf16, f32, f64);
mark!(Integer: i8, i16, i32, i64, u8, u16, u32, u64);
mark!(Logic: bool, i8, i16, i32, i64, u8, u16, u32, u64);

impl FloatElement for f16 {
    fn from_f64(value: f64) -> Self {
        f16::from_f64(value)
    }
}

impl FloatElement for bf16 {
    fn from_f64(value: f64) -> Self {
        bf16::from_f64(value)
    }
}

impl FloatElement for f32 {
    fn from_f64(value: f64) -> Self {
        let near = value as f32;
        if f64::from(near).to_bits() == value.to_bits() {
            return near;
        }
        // The thread may use another rounding mode than literals.
        f32::from_bits(scalar::cast(Type::F64, Type::F32, value.to_bits()) as u32)
    }
}

impl FloatElement for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
}
