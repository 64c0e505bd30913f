//! Floating-point arithmetic: IEEE 754, round to nearest even. Halves compute in `f32` and round each result.

use half::{bf16, f16};

use super::element::Element;
use super::{BinaryFn, TernaryFn, UnaryFn};
use crate::ir::op::{BinaryOp, UnaryOp};

/// A float type: the conversion to the type that it computes in, and the operations on its bits.
pub(super) trait Float: Element {
    /// `f32` for the halves and itself, `f64` for itself.
    type Compute: Compute;

    fn compute(self) -> Self::Compute;
    fn round_from(value: Self::Compute) -> Self;
}

/// Operations of the types that arithmetic is done in.
pub(super) trait Compute: Copy {
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn round(self) -> Self;
    fn trunc(self) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn div(self, b: Self) -> Self;
    fn rem(self, b: Self) -> Self;
    /// IEEE 754-2019 `minimum`.
    fn minimum(self, b: Self) -> Self;
    /// IEEE 754-2019 `maximum`.
    fn maximum(self, b: Self) -> Self;
    /// IEEE 754-2019 `minimumNumber`.
    fn minimum_number(self, b: Self) -> Self;
    /// IEEE 754-2019 `maximumNumber`.
    fn maximum_number(self, b: Self) -> Self;
    fn copysign(self, b: Self) -> Self;
    fn fma(self, b: Self, c: Self) -> Self;
}

macro_rules! compute {
    ($($ty:ident),*) => {$(
        impl Compute for $ty {
            fn neg(self) -> Self {
                -self
            }

            fn abs(self) -> Self {
                <$ty>::abs(self)
            }

            fn sqrt(self) -> Self {
                <$ty>::sqrt(self)
            }

            fn floor(self) -> Self {
                <$ty>::floor(self)
            }

            fn ceil(self) -> Self {
                <$ty>::ceil(self)
            }

            fn round(self) -> Self {
                self.round_ties_even()
            }

            fn trunc(self) -> Self {
                <$ty>::trunc(self)
            }

            fn add(self, b: Self) -> Self {
                self + b
            }

            fn sub(self, b: Self) -> Self {
                self - b
            }

            fn mul(self, b: Self) -> Self {
                self * b
            }

            fn div(self, b: Self) -> Self {
                self / b
            }

            fn rem(self, b: Self) -> Self {
                self % b
            }

            fn minimum(self, b: Self) -> Self {
                if self.is_nan() || b.is_nan() {
                    self + b
                } else if self < b || (self == b && self.is_sign_negative()) {
                    self
                } else {
                    b
                }
            }

            fn maximum(self, b: Self) -> Self {
                if self.is_nan() || b.is_nan() {
                    self + b
                } else if self > b || (self == b && self.is_sign_positive()) {
                    self
                } else {
                    b
                }
            }

            fn minimum_number(self, b: Self) -> Self {
                if self.is_nan() {
                    b
                } else if b.is_nan() {
                    self
                } else {
                    Compute::minimum(self, b)
                }
            }

            fn maximum_number(self, b: Self) -> Self {
                if self.is_nan() {
                    b
                } else if b.is_nan() {
                    self
                } else {
                    Compute::maximum(self, b)
                }
            }

            fn copysign(self, b: Self) -> Self {
                <$ty>::copysign(self, b)
            }

            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
        }

        impl Float for $ty {
            type Compute = $ty;

            fn compute(self) -> $ty {
                self
            }

            fn round_from(value: $ty) -> Self {
                value
            }
        }
    )*};
}

compute!(f32, f64);

macro_rules! half {
    ($($ty:ident),*) => {$(
        impl Float for $ty {
            type Compute = f32;

            fn compute(self) -> f32 {
                self.to_f32()
            }

            fn round_from(value: f32) -> Self {
                <$ty>::from_f32(value)
            }
        }
    )*};
}

half!(f16, bf16);

fn operand<T: Float>(bits: u64) -> T::Compute {
    T::from_carrier(bits).compute()
}

fn result<T: Float>(value: T::Compute) -> u64 {
    T::round_from(value).to_carrier()
}

/// The operations on one float, except the transcendental ones.
pub(super) fn unary<T: Float>(op: UnaryOp) -> Option<UnaryFn> {
    macro_rules! function {
        ($name:ident) => {
            Some(|a| result::<T>(operand::<T>(a).$name()))
        };
    }
    match op {
        UnaryOp::Neg => function!(neg),
        UnaryOp::Abs => function!(abs),
        UnaryOp::Sqrt => function!(sqrt),
        UnaryOp::Floor => function!(floor),
        UnaryOp::Ceil => function!(ceil),
        UnaryOp::Round => function!(round),
        UnaryOp::Trunc => function!(trunc),
        _ => None,
    }
}

/// The operations on two floats.
pub(super) fn binary<T: Float>(op: BinaryOp) -> Option<BinaryFn> {
    macro_rules! function {
        ($name:ident) => {
            Some(|a, b| result::<T>(operand::<T>(a).$name(operand::<T>(b))))
        };
    }
    match op {
        BinaryOp::Add => function!(add),
        BinaryOp::Sub => function!(sub),
        BinaryOp::Mul => function!(mul),
        BinaryOp::Div => function!(div),
        BinaryOp::Rem => function!(rem),
        BinaryOp::Min => function!(minimum),
        BinaryOp::Max => function!(maximum),
        BinaryOp::FMin => function!(minimum_number),
        BinaryOp::FMax => function!(maximum_number),
        BinaryOp::CopySign => function!(copysign),
        _ => None,
    }
}

/// `a * b + c`, rounded once in the type that it is computed in.
pub(super) fn fma<T: Float>() -> Option<TernaryFn> {
    Some(|a, b, c| result::<T>(operand::<T>(a).fma(operand::<T>(b), operand::<T>(c))))
}
