//! Conversions by value.
//!
//! Every source type widens exactly to `i64`, `u64` or `f64`. Each of those converts with Rust's `as`, which truncates
//! and saturates from floats, wraps from integers, and rounds to nearest even to floats. Halves are converted through
//! `f32`.

use half::{bf16, f16};

use super::UnaryFn;
use super::element::Element;
use crate::ir::types::Type;

/// The widest type of a kind, from which every conversion starts.
pub(super) trait Wide: Copy {
    fn to_bool(self) -> bool;
    fn to_i8(self) -> i8;
    fn to_i16(self) -> i16;
    fn to_i32(self) -> i32;
    fn to_i64(self) -> i64;
    fn to_u8(self) -> u8;
    fn to_u16(self) -> u16;
    fn to_u32(self) -> u32;
    fn to_u64(self) -> u64;
    fn to_f16(self) -> f16;
    fn to_bf16(self) -> bf16;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
}

macro_rules! wide {
    ($wide:ty: $($name:ident -> $ty:ty),*) => {
        impl Wide for $wide {
            $(
                #[inline]
                fn $name(self) -> $ty {
                    self as $ty
                }
            )*

            #[inline]
            fn to_bool(self) -> bool {
                self != 0 as $wide
            }

            #[inline]
            fn to_f16(self) -> f16 {
                f16::from_f32(self as f32)
            }

            #[inline]
            fn to_bf16(self) -> bf16 {
                bf16::from_f32(self as f32)
            }
        }
    };
    ($($wide:ty),*) => {$(
        wide!($wide: to_i8 -> i8, to_i16 -> i16, to_i32 -> i32, to_i64 -> i64, to_u8 -> u8, to_u16 -> u16,
            to_u32 -> u32, to_u64 -> u64, to_f32 -> f32, to_f64 -> f64);
    )*};
}

wide!(i64, u64, f64);

fn from_element<S: Element>(to: Type) -> UnaryFn {
    macro_rules! to {
        ($convert:ident) => {
            |a| S::from_carrier(a).widen().$convert().to_carrier()
        };
    }
    match to {
        Type::Bool => to!(to_bool),
        Type::I8 => to!(to_i8),
        Type::I16 => to!(to_i16),
        Type::I32 => to!(to_i32),
        Type::I64 => to!(to_i64),
        Type::U8 => to!(to_u8),
        Type::U16 => to!(to_u16),
        Type::U32 => to!(to_u32),
        Type::U64 => to!(to_u64),
        Type::F16 => to!(to_f16),
        Type::BF16 => to!(to_bf16),
        Type::F32 => to!(to_f32),
        Type::F64 => to!(to_f64),
    }
}

/// The function that converts by value from one type to another.
#[must_use]
pub fn cast_function(from: Type, to: Type) -> UnaryFn {
    match from {
        Type::Bool => from_element::<bool>(to),
        Type::I8 => from_element::<i8>(to),
        Type::I16 => from_element::<i16>(to),
        Type::I32 => from_element::<i32>(to),
        Type::I64 => from_element::<i64>(to),
        Type::U8 => from_element::<u8>(to),
        Type::U16 => from_element::<u16>(to),
        Type::U32 => from_element::<u32>(to),
        Type::U64 => from_element::<u64>(to),
        Type::F16 => from_element::<f16>(to),
        Type::BF16 => from_element::<bf16>(to),
        Type::F32 => from_element::<f32>(to),
        Type::F64 => from_element::<f64>(to),
    }
}
