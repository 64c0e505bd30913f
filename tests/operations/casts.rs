//! Conversions between all element types, and reinterpretations of bits.

use half::{bf16, f16};
use jit::Element;
use jit::prelude::*;

use crate::agree::{on_each_device, resident, same};
use crate::corners::Corners;

/// A value converted to each type by the rules of Rust's `as`: a number of the widest type of its kind.
#[derive(Clone, Copy)]
enum Wide {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

trait Source: Corners {
    fn wide(self) -> Wide;
}

trait Target: Element {
    fn from_wide(value: Wide) -> Self;
}

macro_rules! sources {
    ($($ty:ident $kind:ident;)*) => {
        $(impl Source for $ty {
            fn wide(self) -> Wide {
                Wide::$kind(self.into())
            }
        })*
    };
}

sources! {
    bool Unsigned;
    i8 Signed;
    i16 Signed;
    i32 Signed;
    i64 Signed;
    u8 Unsigned;
    u16 Unsigned;
    u32 Unsigned;
    u64 Unsigned;
    f16 Float;
    bf16 Float;
    f32 Float;
    f64 Float;
}

macro_rules! targets {
    ($($ty:ident |$value:ident| $convert:expr;)*) => {
        $(impl Target for $ty {
            fn from_wide(value: Wide) -> Self {
                match value {
                    Wide::Signed($value) => $convert,
                    Wide::Unsigned($value) => $convert,
                    Wide::Float($value) => $convert,
                }
            }
        })*
    };
}

// Halves are converted through single precision, as documented.
targets! {
    i8 |v| v as i8;
    i16 |v| v as i16;
    i32 |v| v as i32;
    i64 |v| v as i64;
    u8 |v| v as u8;
    u16 |v| v as u16;
    u32 |v| v as u32;
    u64 |v| v as u64;
    f16 |v| f16::from_f32(v as f32);
    bf16 |v| bf16::from_f32(v as f32);
    f32 |v| v as f32;
    f64 |v| v as f64;
}

impl Target for bool {
    fn from_wide(value: Wide) -> Self {
        match value {
            Wide::Signed(v) => v != 0,
            Wide::Unsigned(v) => v != 0,
            Wide::Float(v) => v != 0.0,
        }
    }
}

/// Numbers at which the conversion to another type begins to round, wrap or saturate.
fn edges<S: Source + Target>() -> Vec<S> {
    let powers = [7, 8, 15, 16, 24, 31, 32, 53, 63].map(|bit| 1_u64 << bit);
    let near = powers.iter().flat_map(|power| [power - 1, *power, power + 1]).map(|v| S::from_wide(Wide::Unsigned(v)));
    let below = powers.iter().map(|power| S::from_wide(Wide::Signed((*power as i64).wrapping_neg())));
    let odd = [
        65_519.0,
        65_520.0,
        65_504.0,
        2049.0,
        -0.99,
        -1.01,
        3.0e-8,
        2.98e-8,
        1e-40,
        1e-46,
        18_446_744_073_709_551_615.0,
    ]
    .map(|v| S::from_wide(Wide::Float(v)));
    S::corners().into_iter().chain(near).chain(below).chain(odd).collect()
}

fn cast<S: Source + Target, D: Target>() {
    let values = edges::<S>();
    let wanted: Vec<D> = values.iter().map(|v| D::from_wide(v.wide())).collect();
    let call = |how: &'static str| {
        let values = &values;
        move |at: usize| format!("{:?}: {} cast to {}, {how},", values[at], S::TYPE, D::TYPE)
    };
    same(&resident(&values).cast::<D>().to_vec().unwrap(), &wanted, call("in memory"));
    let makers: [fn(S) -> Array<S>; 2] = [Array::opaque, Array::from];
    for (how, make) in ["opaque", "literal"].into_iter().zip(makers) {
        let results: Vec<Array<D>> = values.iter().map(|v| make(*v).cast()).collect();
        jit::eval(&results).unwrap();
        let got: Vec<D> = results.iter().map(|result| result.item().unwrap()).collect();
        same(&got, &wanted, call(how));
    }
}

macro_rules! casts_from {
    ($($name:ident: $ty:ident;)*) => {
        $(#[test]
        fn $name() {
            on_each_device(|| {
                cast::<$ty, bool>();
                cast::<$ty, i8>();
                cast::<$ty, i16>();
                cast::<$ty, i32>();
                cast::<$ty, i64>();
                cast::<$ty, u8>();
                cast::<$ty, u16>();
                cast::<$ty, u32>();
                cast::<$ty, u64>();
                cast::<$ty, f16>();
                cast::<$ty, bf16>();
                cast::<$ty, f32>();
                cast::<$ty, f64>();
            });
        })*
    };
}

casts_from! {
    casts_from_bool: bool;
    casts_from_i8: i8;
    casts_from_i16: i16;
    casts_from_i32: i32;
    casts_from_i64: i64;
    casts_from_u8: u8;
    casts_from_u16: u16;
    casts_from_u32: u32;
    casts_from_u64: u64;
    casts_from_f16: f16;
    casts_from_bf16: bf16;
    casts_from_f32: f32;
    casts_from_f64: f64;
}

/// The same bits as each type of a size.
macro_rules! reinterpretations {
    ($($from:ident: $($to:ident)*;)*) => {
        $($({
            let values: Vec<$from> = $from::corners().into_iter().filter(|v| v == v).collect();
            let wanted: Vec<u64> = values.iter().map(|v| Element::to_bits(*v)).collect();
            let resident = resident(&values).bitcast::<$to>().to_vec().unwrap();
            let literal = values.iter().map(|v| Array::from(*v).bitcast::<$to>().item().unwrap());
            assert!(resident.iter().map(|v| Element::to_bits(*v)).eq(wanted.iter().copied()));
            assert!(literal.map(Element::to_bits).eq(wanted.iter().copied()));
        })*)*
    };
}

#[test]
fn bits_stay_as_they_are() {
    on_each_device(|| {
        reinterpretations! {
            i8: i8 u8;
            u8: i8 u8;
            i16: i16 u16 f16 bf16;
            u16: i16 u16 f16 bf16;
            f16: i16 u16 f16 bf16;
            bf16: i16 u16 f16 bf16;
            i32: i32 u32 f32;
            u32: i32 u32 f32;
            f32: i32 u32 f32;
            i64: i64 u64 f64;
            u64: i64 u64 f64;
            f64: i64 u64 f64;
        }
    });
}
