//! Operations on arrays of two element types.

use std::any::TypeId;

use half::{bf16, f16};
use jit::prelude::*;
use jit::{Element, Promote};

use crate::devices::on_each_device;

/// The common type of two arrays, by the operators themselves, in both orders.
fn meet<A: Element + Promote<B>, B: Element + Promote<A>>() -> [TypeId; 2] {
    [TypeId::of::<<A as Promote<B>>::Output>(), TypeId::of::<<B as Promote<A>>::Output>()]
}

macro_rules! table {
    ($($a:ident: $($b:ident $both:ident),*;)*) => {
        $($(assert_eq!(
            meet::<$a, $b>(), [TypeId::of::<$both>(); 2],
            "{} and {}", stringify!($a), stringify!($b)
        );)*)*
    };
}

// rows: P28 P29
// no device: types are compared
#[test]
fn types_meet_as_the_table_says() {
    table! {
        bool: bool bool, i8 i8, i16 i16, i32 i32, i64 i64, u8 u8, u16 u16, u32 u32, u64 u64, f16 f16, bf16 bf16,
        f32 f32, f64 f64;
        i8: i8 i8, i16 i16, i32 i32, i64 i64, u8 i16, u16 i32, u32 i64, f16 f16, bf16 bf16, f32 f32, f64 f64;
        i16: i16 i16, i32 i32, i64 i64, u8 i16, u16 i32, u32 i64, f16 f16, bf16 bf16, f32 f32, f64 f64;
        i32: i32 i32, i64 i64, u8 i32, u16 i32, u32 i64, f16 f16, bf16 bf16, f32 f32, f64 f64;
        i64: i64 i64, u8 i64, u16 i64, u32 i64, f16 f16, bf16 bf16, f32 f32, f64 f64;
        u8: u8 u8, u16 u16, u32 u32, u64 u64, f16 f16, bf16 bf16, f32 f32, f64 f64;
        u16: u16 u16, u32 u32, u64 u64, f16 f16, bf16 bf16, f32 f32, f64 f64;
        u32: u32 u32, u64 u64, f16 f16, bf16 bf16, f32 f32, f64 f64;
        u64: u64 u64, f16 f16, bf16 bf16, f32 f32, f64 f64;
        f16: f16 f16, bf16 f32, f32 f32, f64 f64;
        bf16: bf16 bf16, f32 f32, f64 f64;
        f32: f32 f32, f64 f64;
        f64: f64 f64;
    }
}

#[test]
fn operators_convert_the_narrower_side() {
    on_each_device(|| {
        let (x, n) = (Float::from([0.5, 1.5]), Int::from([3, -4]));
        let sums: [Float; 4] = [&x + &n, x.clone() + &n, &x + n.clone(), x.clone() + n.clone()];
        assert!(sums.iter().all(|sum| sum.to_vec().unwrap() == [3.5, -2.5]));
        let difference: Float = &n - &x;
        assert_eq!(difference.to_vec().unwrap(), [2.5, -5.5]);
        let wide: Int64 = UInt::from([u32::MAX, 1]) * &n;
        assert_eq!(wide.to_vec().unwrap(), [3 * i64::from(u32::MAX), -4]);
        let count: Int = Mask::from([true, false]) + &n;
        assert_eq!(count.to_vec().unwrap(), [4, -4]);
        let double: Float64 = &x / Float64::from([3.0, 3.0]);
        assert_eq!(double.to_vec().unwrap(), [0.5 / 3.0, 0.5]);
        let mut sum = x.clone();
        sum += &n;
        sum *= Half::from(f16::from_f32(2.0));
        assert_eq!(sum.to_vec().unwrap(), [7.0, -5.0]);
        let small: Int16 = UInt8::from([200, 3]) % Int8::from([-7, 2]);
        assert_eq!(small.to_vec().unwrap(), [200 % -7, 1]);
    });
}

// rows: P28
#[test]
fn host_numbers_keep_the_class_of_the_array() {
    on_each_device(|| {
        let n = Int::from([3, -4]);
        let halves: Float = &n + 0.5;
        assert_eq!(halves.to_vec().unwrap(), [3.5, -3.5]);
        let quarter: Float = 0.25 * n.clone();
        assert_eq!(quarter.to_vec().unwrap(), [0.75, -1.0]);
        let h = Half::from([f16::from_f32(1.5)]);
        let product: Half = &h * 2.0 + 1 - 0.5;
        assert_eq!(product.to_vec().unwrap(), [f16::from_f32(3.5)]);
        let b: BFloat = 2.0 * BFloat::from([bf16::from_f32(1.5)]);
        assert_eq!(b.to_vec().unwrap(), [bf16::from_f32(3.0)]);
        let bytes: UInt8 = UInt8::from([250]) + 10;
        assert_eq!(bytes.to_vec().unwrap(), [4]);
        let double: Float64 = Float64::from([1.0]) / 3;
        assert_eq!(double.to_vec().unwrap(), [1.0 / 3.0]);
        let mask = Mask::from([true, false]);
        let ints: Int = &mask + 1;
        let floats: Float = 0.5 - &mask;
        assert_eq!((ints.to_vec().unwrap(), floats.to_vec().unwrap()), (vec![2, 1], vec![-0.5, 0.5]));
        assert_eq!(UInt64::from([7]).true_div(2).to_vec().unwrap(), [3.5_f32]);
        assert_eq!(Float64::from([7.0]).true_div(Int::from([2])).to_vec().unwrap(), [3.5_f64]);
    });
}

#[jit]
fn traced(x: &Float, n: &UInt, h: &Half) -> (Mask, Mask, Float) {
    let mut y = x + n;
    if x < n {
        y += h;
    }
    (x < n, n >= 1.5, y)
}

#[test]
fn comparisons_and_selections_convert() {
    on_each_device(|| {
        let (x, n) = (Float::from([0.5, 3.5]), UInt::from([1, 2]));
        assert_eq!(x.lt(&n).to_vec().unwrap(), [true, false]);
        assert_eq!(n.gt(x.clone()).to_vec().unwrap(), [true, false]);
        assert_eq!(n.lt(1.5).to_vec().unwrap(), [true, false]);
        // As `u32` and `i32`, the bits of -1 are the largest number.
        assert_eq!(UInt::from([u32::MAX]).eq(Int::from([-1])).to_vec().unwrap(), [false]);
        let mask = Mask::from([true, false]);
        let chosen: Float = mask.select(&n, &x);
        assert_eq!(chosen.to_vec().unwrap(), [1.0, 3.5]);
        assert_eq!(mask.select(&n, 0.5).to_vec().unwrap(), [1.0_f32, 0.5]);
        assert_eq!(jit::select(&mask, 2, &x).to_vec().unwrap(), [2.0, 3.5]);
        let both: Float = mask.select(1.0, 0.0);
        let half: Half = mask.select(1.0, 0);
        assert_eq!(both.to_vec().unwrap(), half.cast::<f32>().to_vec().unwrap());
        let h = Half::from([f16::from_f32(10.0)]);
        let (less, more, sum) = traced(&x, &n, &h);
        assert_eq!((less.to_vec().unwrap(), more.to_vec().unwrap()), (vec![true, false], vec![false, true]));
        assert_eq!(sum.to_vec().unwrap(), [11.5, 5.5]);
        assert_eq!(x.max(&n).to_vec().unwrap(), [1.0, 3.5]);
        assert_eq!(x.mul_add(&n, Mask::from(true)).to_vec().unwrap(), [1.5, 8.0]);
    });
}

#[test]
fn bits_and_masks_meet() {
    on_each_device(|| {
        let (bits, mask) = (UInt::from([5, 6]), Mask::from([true, false]));
        assert_eq!((&bits & &mask).to_vec().unwrap(), [5, 0]);
        assert_eq!((&mask | &bits).to_vec().unwrap(), [u32::MAX, 6]);
        let wide: UInt64 = &bits ^ UInt64::from([1 << 40]);
        assert_eq!(wide.to_vec().unwrap(), [1 << 40 | 5, 1 << 40 | 6]);
    });
}

#[test]
fn shifts_keep_the_left_type() {
    on_each_device(|| {
        let bytes = UInt8::from([1, 1, 1, 0x80]);
        let counts = UInt64::from([3, 1 << 40, 256, 7]);
        assert_eq!((&bytes << &counts).to_vec().unwrap(), [8, 0, 0, 0]);
        assert_eq!((&bytes >> Int::from([0, 1, 256, 7])).to_vec().unwrap(), [1, 0, 0, 1]);
        let wide = Int64::from([-8, i64::MIN]);
        let shifted: Int64 = &wide >> UInt8::from([1, 255]);
        assert_eq!(shifted.to_vec().unwrap(), [-4, -1]);
        // A negative count is beyond the width.
        assert_eq!((&wide << Int8::from([-1, -128])).to_vec().unwrap(), [0, 0]);
        let mut n = Int::from([3]);
        n <<= UInt16::from([2]);
        assert_eq!(n.to_vec().unwrap(), [12]);
    });
}

/// The counterpart of PyTorch's `x.to(y.dtype)`: a conversion to the type of another array.
fn to_type_of<A: Element, B: Element>(x: &Array<A>, _: &Array<B>) -> Array<B> {
    x.cast()
}

/// The result has exactly the type and the value.
fn is<T: Element>(x: Array<T>, value: f32) {
    assert_eq!(x.cast::<f32>().item().unwrap(), value);
}

macro_rules! half_precision_vectors {
    ($($name:ident $half:ident;)*) => {$(
        #[test]
        fn $name() {
            let (h, f) = (Array::<$half>::from($half::from_f32(1.5)), Float::from(2.25));
            is::<$half>(to_type_of(&h, &h) + &h, 3.0);
            is::<f32>(to_type_of(&h, &f) + &f, 3.75);
            is::<$half>(to_type_of(&f, &h) + &h, 3.75);
            is::<f32>(to_type_of(&f, &f) + &f, 4.5);
            is::<f32>(h.cast::<f32>() + &h, 3.0);
            is::<f32>(f.cast::<f32>() + &h, 3.75);
            is::<f32>(Float::zeros(1) + &h, 1.5);
            is::<f32>(Float::zeros(1) + &f, 2.25);
            is::<$half>(Array::<$half>::ones(1) + &h, 2.5);
            is::<f32>(Array::<$half>::ones(1) + &f, 3.25);
            is::<$half>(h.zeros_like() + &h, 1.5);
            is::<f32>(&h + &f, 3.75);
            is::<f32>(&f + &h, 3.75);
            is::<$half>(h.full_like($half::from_f64(1e39)), f32::INFINITY);
            is::<f32>(h.cast::<f32>(), 1.5);
            is::<$half>(h.cast::<$half>(), 1.5);
        }
    )*};
}

half_precision_vectors! {
    f16_meets_f32_as_in_pytorch f16;
    bf16_meets_f32_as_in_pytorch bf16;
}

/// The type of an array, and whether its elements have that type's precision and are where they should be.
fn drawn<T: Element>(x: Array<T>, wanted: impl Fn(f32) -> bool) -> TypeId {
    assert!(x.cast::<f32>().to_vec().unwrap().into_iter().all(wanted));
    TypeId::of::<T>()
}

macro_rules! random_vectors {
    ($($half:ident)*) => {$(
        let mut rng = jit::random::rng(7);
        let (h, f) = (Array::<$half>::from([$half::from_f32(1.5); 64]), Float::from([2.25; 64]));
        let [half, single] = [TypeId::of::<$half>(), TypeId::of::<f32>()];
        assert_eq!(drawn(rng.random::<f32>(64) + &h, |x| (1.5..2.5).contains(&x)), single);
        assert_eq!(drawn(rng.random::<f32>(64) + &f, |x| (2.25..3.25).contains(&x)), single);
        assert_eq!(drawn(rng.fill_like(&h), |x| (0.0..1.0).contains(&x)), half);
        assert_eq!(drawn(rng.fill_like(&f), |x| (0.0..1.0).contains(&x)), single);
        // Parameters of two types meet first, and what is drawn has their common type.
        let between = rng.uniform(&h, &f, 64);
        assert_eq!(drawn(&between + &h, |x| (3.0..3.75).contains(&x)), single);
        assert_eq!(drawn(between, |x| (1.5..2.25).contains(&x)), single);
        assert_eq!(drawn(rng.uniform(&h, 2.0, 64), |x| (1.5..=2.0).contains(&x)), half);
        assert_eq!(drawn(rng.normal(&h, 10.0, 64), |x| (-70.0..70.0).contains(&x)), half);
        assert_eq!(drawn(rng.normal(0.0, &h, 64), |x| (-12.0..12.0).contains(&x)), half);
        assert_eq!(drawn(rng.normal(&h, &f, 64), |x| (-18.0..18.0).contains(&x)), single);
        assert_eq!(drawn(rng.exponential(&h, 64), |x| x >= 0.0), half);
    )*};
}

// rows: P30
#[test]
fn parameters_of_distributions_are_promoted() {
    on_each_device(|| {
        random_vectors!(f16 bf16);
    });
}

#[test]
fn the_two_halves_meet_in_f32() {
    let (h, b) = (Half::from(f16::from_f32(1.5)), BFloat::from(bf16::from_f32(2.0)));
    is::<f32>(&h + &b, 3.5);
    is::<f32>(&b * h, 3.0);
}

/// Operators in generic code, where the two types are the same.
fn generic<T: jit::Number>(x: &Array<T>) -> Array<T> {
    let y = x * x + T::ONE;
    y.gt(x).select(&y - x, x)
}

#[test]
fn generic_code_sees_one_type() {
    assert_eq!(generic(&Int::from([3])).to_vec().unwrap(), [7]);
    assert_eq!(generic(&Float64::from([0.5])).to_vec().unwrap(), [0.75]);
}

#[test]
fn numbers_of_a_generic_element_have_arithmetic() {
    fn polynomial<T: jit::FloatElement>(x: &Array<T>, k: T) -> Array<T> {
        (x * (k * k) - (k + T::ONE)) / (k - T::ONE) + k * x + -k / x
    }
    fn remainder<T: jit::Number>(x: &Array<T>, k: T) -> Array<T> {
        x + k * k % (k - T::ONE)
    }
    let expected = |x: f64, k: f64| (x * k * k - (k + 1.0)) / (k - 1.0) + k * x - k / x;
    let values = polynomial(&Float64::from([1.0, 2.0]), 3.0).to_vec().unwrap();
    assert_eq!(values, [expected(1.0, 3.0), expected(2.0, 3.0)]);
    assert_eq!(
        polynomial(&Half::from(jit::f16::ONE), jit::f16::from_f32(3.0)).item().unwrap().to_f64(),
        expected(1.0, 3.0)
    );
    assert_eq!(remainder(&Int::from([1, 2]), 6).to_vec().unwrap(), [2, 3]);
}

#[test]
fn references_to_numbers_are_operands_of_methods() {
    let (x, limits) = (Float::from([1.0, 2.0, 3.0]), [1.5_f32, 2.5]);
    let least = limits.iter().map(|limit| x.max(limit).min(2.75)).sum::<Float>();
    assert_eq!(least.to_vec().unwrap(), [4.0, 4.5, 5.5]);
}
