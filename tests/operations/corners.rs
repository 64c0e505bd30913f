//! Values at which operations are most likely to fail.

use half::{bf16, f16};
use jit::Element;

/// An element type with such values.
pub(crate) trait Corners: Element {
    /// The values, each once.
    fn corners() -> Vec<Self>;
}

macro_rules! integers {
    ($($ty:ident),*) => {$(
        impl Corners for $ty {
            fn corners() -> Vec<Self> {
                let bits = <$ty>::BITS as $ty;
                let mut values = vec![
                    0, 1, 2, 3, 7, 10, 100, bits - 1, bits, bits + 1, <$ty>::MAX, <$ty>::MAX - 1, <$ty>::MAX / 2,
                    <$ty>::MAX / 2 + 1, <$ty>::MIN, <$ty>::MIN + 1, <$ty>::MAX / 3, (0 as $ty).wrapping_sub(1),
                    (0 as $ty).wrapping_sub(2), (0 as $ty).wrapping_sub(7), (0 as $ty).wrapping_sub(100),
                ];
                values.sort_unstable();
                values.dedup();
                values
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Corners for bool {
    fn corners() -> Vec<Self> {
        vec![false, true]
    }
}

macro_rules! floats {
    ($($ty:ident: $from:expr;)*) => {$(
        impl Corners for $ty {
            fn corners() -> Vec<Self> {
                let from: fn(f64) -> $ty = $from;
                let tiny = <$ty>::from_bits(1);
                let plain = [
                    0.0, 0.1, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 7.25, 100.0, 250.5, 1e4, 3e9, 1e30,
                    std::f64::consts::PI,
                ];
                let extreme = [
                    <$ty>::MAX, <$ty>::MIN_POSITIVE, <$ty>::INFINITY, <$ty>::EPSILON, tiny,
                    <$ty>::from_bits(<$ty>::MIN_POSITIVE.to_bits() - 1), <$ty>::from_bits(from(1.0).to_bits() + 1),
                    <$ty>::from_bits(from(1.0).to_bits() - 1),
                ];
                let positive: Vec<$ty> = plain.map(from).into_iter().chain(extreme).collect();
                let negative = positive.iter().map(|v| -*v);
                let mut values: Vec<$ty> = positive.iter().copied().chain(negative).chain([<$ty>::NAN]).collect();
                values.sort_by_key(|v| v.to_bits());
                values.dedup_by_key(|v| v.to_bits());
                values
            }
        }
    )*};
}

floats! {
    f16: |v| f16::from_f32(v as f32);
    bf16: |v| bf16::from_f32(v as f32);
    f32: |v| v as f32;
    f64: |v| v;
}
