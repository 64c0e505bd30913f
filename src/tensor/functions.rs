//! Element-wise functions of tensors: those of arrays, under the same names.

use super::broadcast::{TensorOperand, common_shape};
use super::lengths::product;
use super::{Tensor, filled};
use crate::{FloatElement, Integer, Number, Signed};

macro_rules! functions {
    ($($bound:ident -> $result:ident: $($name:ident)*;)*) => {$(
        impl<T: $bound> Tensor<T> {
            $(
                #[doc = concat!("Applies [`Array::", stringify!($name), "`](crate::Array::", stringify!($name), ") to \
                    each element.")]
                #[must_use]
                #[track_caller]
                pub fn $name(&self) -> Tensor<$result> {
                    self.with_array(self.array.$name())
                }
            )*
        }
    )*};
}

macro_rules! functions_of_two {
    ($($bound:ident: $($name:ident)*;)*) => {$(
        impl<T: $bound> Tensor<T> {
            $(
                #[doc = concat!("Applies [`Array::", stringify!($name), "`](crate::Array::", stringify!($name), ") to \
                    the elements of two tensors, which broadcast.")]
                #[must_use]
                #[track_caller]
                pub fn $name(&self, other: impl TensorOperand<T>) -> Self {
                    let other = other.into_tensor();
                    let shape = common_shape([&*self.shape, &*other.shape]);
                    let array = self.lanes(&shape).$name(other.lanes(&shape));
                    Tensor::shaped(filled(array, product(&shape)), &shape)
                }
            )*
        }
    )*};
}

macro_rules! functions_of_three {
    ($($bound:ident: $($name:ident)*;)*) => {$(
        impl<T: $bound> Tensor<T> {
            $(
                #[doc = concat!("Applies [`Array::", stringify!($name), "`](crate::Array::", stringify!($name), ") to \
                    the elements of three tensors, which broadcast.")]
                #[must_use]
                #[track_caller]
                pub fn $name(&self, second: impl TensorOperand<T>, third: impl TensorOperand<T>) -> Self {
                    let (second, third) = (second.into_tensor(), third.into_tensor());
                    let shape = common_shape([&*self.shape, &*second.shape, &*third.shape]);
                    let array = self.lanes(&shape).$name(second.lanes(&shape), third.lanes(&shape));
                    Tensor::shaped(filled(array, product(&shape)), &shape)
                }
            )*
        }
    )*};
}

functions! {
    Number -> T: abs square;
    Signed -> T: sign;
    Integer -> T: count_ones count_zeros leading_zeros leading_ones trailing_zeros trailing_ones;
    Integer -> T: reverse_bits swap_bytes ilog2;
    FloatElement -> T: floor ceil trunc round round_ties_even fract sqrt rsqrt recip to_radians to_degrees;
    FloatElement -> T: sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh;
    FloatElement -> T: exp exp2 exp_m1 ln ln_1p log2 log10 cbrt sigmoid erf erfc erfinv lgamma tgamma;
    Integer -> bool: is_power_of_two;
    FloatElement -> bool: is_nan is_infinite is_finite is_sign_positive is_sign_negative;
}

functions_of_two! {
    Number: min max abs_diff step div_euclid rem_euclid;
    Signed: mul_sign;
    Integer: mul_hi div_ceil rotate_left rotate_right;
    FloatElement: fmin fmax copysign hypot atan2 powf;
}

functions_of_three! {
    Number: clamp mul_add;
    FloatElement: lerp smooth_step;
}

impl<T: FloatElement> Tensor<T> {
    /// Sine and cosine of each element.
    #[must_use]
    #[track_caller]
    pub fn sin_cos(&self) -> (Self, Self) {
        let (sine, cosine) = self.array.sin_cos();
        (self.with_array(sine), self.with_array(cosine))
    }

    /// Raises each element to a whole power: see [`Array::powi`](crate::Array::powi).
    #[must_use]
    #[track_caller]
    pub fn powi(&self, exponent: i32) -> Self {
        self.with_array(self.array.powi(exponent))
    }
}
