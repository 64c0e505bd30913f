//! Sharing of equal expressions, constants, and conversions.

use jit::Device;
use jit::prelude::*;

use crate::{on_each_device, resident};

// rows: C317
#[test]
fn masks_are_made_from_lane_numbers() {
    on_each_device(|| {
        let lane = UInt::arange(10);
        let odd = (&lane & 1).eq(1);
        let low = lane.lt(4);
        assert_eq!((&odd & &low).to_vec().unwrap(), std::array::from_fn::<bool, 10, _>(|i| i % 2 == 1 && i < 4));
        assert_eq!((odd ^ !low).to_vec().unwrap(), std::array::from_fn::<bool, 10, _>(|i| (i % 2 == 1) != (i >= 4)));
    });
}

// rows: C194 C316
#[test]
fn arrays_of_width_one_combine_with_arrays_of_any_width() {
    on_each_device(|| {
        let (wide, one) = (resident([1.0_f32, 2.0]), resident([10.0_f32]));
        assert_eq!((&wide + &one).to_vec().unwrap(), [11.0, 12.0]);
        assert_eq!((&one * &one - &wide).to_vec().unwrap(), [99.0, 98.0]);
    });
}

/// Casts a value to every type, literal and from memory, and compares with the host.
macro_rules! casts {
    ($from:ident: $($value:expr),* => $($to:ident),*) => {
        let is_on_gpu = matches!(UInt::zeros(1).device(), Device::Cuda(_));
        for value in [$($value),*] {
            $({
                let expected = value as $to;
                let literal = Array::<$from>::from(value).cast::<$to>().item().unwrap();
                let computed = resident([value, value]).cast::<$to>().to_vec().unwrap();
                assert_eq!(literal.to_bits(), expected.to_bits(), "{value} as {}", stringify!($to));
                // Which NaN it is, is not specified on GPUs.
                #[allow(clippy::eq_op, reason = "a NaN differs from itself")]
                let are_nan = expected != expected && computed[1] != computed[1];
                let is_right = computed[1].to_bits() == expected.to_bits() || (is_on_gpu && are_nan);
                assert!(is_right, "{value} as {} in memory: {}", stringify!($to), computed[1]);
            })*
        }
    };
}

/// Bits of integers, so that numbers of all types are compared as the same words.
trait ToBits {
    fn to_bits(self) -> u64;
}

macro_rules! integers {
    ($($ty:ident),*) => {
        $(impl ToBits for $ty {
            fn to_bits(self) -> u64 {
                self as u64
            }
        })*
    };
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

// rows: C320
#[test]
fn casts_agree_with_the_host() {
    on_each_device(|| {
        casts!(f32: 0.0, -0.0, 1.5, -1.5, 127.9, 128.0, -129.0, 255.5, 65_536.0, 3e9, -3e9, 1e20, f32::NAN,
            f32::INFINITY, f32::NEG_INFINITY => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
        casts!(f64: -0.0, 2.5, -2.5, 1e-320, 4_294_967_295.5, 1e300, f64::NAN, f64::NEG_INFINITY
            => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
        casts!(i32: 0, -1, 127, 128, i32::MIN, i32::MAX => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
        casts!(u64: 0, 255, 256, u64::MAX, 1 << 53 | 1 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
        casts!(i8: -128, -1, 0, 127 => i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
    });
}

// rows: C320
#[test]
fn bits_are_reinterpreted() {
    on_each_device(|| {
        assert_eq!(resident([1.0_f32, -0.0]).bitcast::<u32>().to_vec().unwrap(), [0x3f80_0000, 0x8000_0000]);
        assert_eq!(resident([u64::MAX, 0]).bitcast::<i64>().to_vec().unwrap(), [-1, 0]);
        assert_eq!(UInt16::from(0x3c00).bitcast::<half::f16>().item().unwrap().to_f32(), 1.0);
    });
}

// rows: C315
#[test]
fn equal_expressions_are_one_node() {
    on_each_device(|| {
        let x = resident([1.0_f32, 2.0]);
        assert!((&x * 2.0 + 1.0).var().is_same((&x * 2.0 + 1.0).var()));
        assert!(Float::full(1.5, 3).var().is_same(Float::full(1.5, 3).var()));
        assert!(!resident([1.0_f32]).var().is_same(resident([1.0_f32]).var()));
        assert!(!Float::opaque(1.0).var().is_same(Float::opaque(1.0).var()));
    });
}

// rows: C318
#[test]
fn floats_of_every_width_are_stored() {
    use half::{bf16, f16};
    on_each_device(|| {
        let values = [0.0, -0.0, 1.5, -65504.0, 1e-7, f64::INFINITY];
        let halves = values.map(f16::from_f64);
        assert_eq!(resident(halves).to_vec().unwrap(), halves);
        assert_eq!((resident(halves) * 1.0).cast::<f32>().to_vec().unwrap(), halves.map(f16::to_f32));
        let brains = values.map(bf16::from_f64);
        assert_eq!((resident(brains) + f32::from(brains[0])).to_vec().unwrap(), brains);
        let singles = values.map(|x| x as f32);
        assert_eq!((resident(singles) * 1.0).to_vec().unwrap(), singles);
        assert_eq!((resident(values) / 1.0).to_vec().unwrap(), values);
    });
}
