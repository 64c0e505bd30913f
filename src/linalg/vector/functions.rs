//! Functions of each component.

use super::{Vec2, Vec3, Vec4, VectorOperand, for_each_vector};
use crate::{Array, FloatElement, Number, Signed};

macro_rules! unary_function {
    ($Vec:ident [$($c:ident),*] $Bound:ident $(#[$doc:meta])* $name:ident) => {
        impl<T: $Bound> $Vec<T> {
            $(#[$doc])*
            #[must_use]
            #[track_caller]
            pub fn $name(&self) -> Self {
                $Vec { $($c: self.$c.$name()),* }
            }
        }
    };
}

macro_rules! unary {
    ($Vec:ident $components:tt $Bound:ident: $($(#[$doc:meta])* $name:ident;)*) => {
        $(unary_function!($Vec $components $Bound $(#[$doc])* $name);)*
    };
}

macro_rules! functions {
    ($Vec:ident $n:literal [$first:ident 0, $($c:ident $index:literal),*]) => {
        unary! { $Vec [$first, $($c),*] Number:
            /// Returns the absolute values: see [`Array::abs`].
            abs;
        }

        unary! { $Vec [$first, $($c),*] Signed:
            /// Returns 1 or -1, by the signs: see [`Array::sign`].
            sign;
        }

        unary! { $Vec [$first, $($c),*] FloatElement:
            /// Returns the largest whole numbers not above the components.
            floor;
            /// Returns the smallest whole numbers not below the components.
            ceil;
            /// Returns the nearest whole numbers: see [`Array::round`].
            round;
            /// Returns the components without their fractional parts.
            trunc;
            /// Returns the square roots.
            sqrt;
            /// Returns `1 / x` of each component.
            recip;
            /// Returns e to the power of each component.
            exp;
            /// Returns the natural logarithms.
            ln;
        }

        impl<T: Number> $Vec<T> {
            /// Returns the smaller components; NaN if either is NaN.
            #[must_use]
            #[track_caller]
            pub fn min(&self, other: impl VectorOperand<Self>) -> Self {
                let other = other.into_vector();
                $Vec { $first: self.$first.min(other.$first), $($c: self.$c.min(other.$c)),* }
            }

            /// Returns the larger components; NaN if either is NaN.
            #[must_use]
            #[track_caller]
            pub fn max(&self, other: impl VectorOperand<Self>) -> Self {
                let other = other.into_vector();
                $Vec { $first: self.$first.max(other.$first), $($c: self.$c.max(other.$c)),* }
            }

            /// Clamps the components between two bounds; `high` where the bounds are in the wrong order. NaN stays NaN.
            #[must_use]
            #[track_caller]
            pub fn clamp(&self, low: impl VectorOperand<Self>, high: impl VectorOperand<Self>) -> Self {
                self.max(low).min(high)
            }

            /// Returns `self * factor + addend`, rounded once for floats.
            #[must_use]
            #[track_caller]
            pub fn mul_add(&self, factor: impl VectorOperand<Self>, addend: impl VectorOperand<Self>) -> Self {
                let (factor, addend) = (factor.into_vector(), addend.into_vector());
                $Vec {
                    $first: self.$first.mul_add(factor.$first, addend.$first),
                    $($c: self.$c.mul_add(factor.$c, addend.$c)),*
                }
            }

            /// Returns, in each lane, the sum of the components.
            #[must_use]
            #[track_caller]
            pub fn component_sum(&self) -> Array<T> {
                let sum = self.$first.clone();
                $(let sum = sum + &self.$c;)*
                sum
            }

            /// Returns, in each lane, the product of the components.
            #[must_use]
            #[track_caller]
            pub fn component_product(&self) -> Array<T> {
                let product = self.$first.clone();
                $(let product = product * &self.$c;)*
                product
            }

            /// Returns, in each lane, the smallest component; NaN if any is NaN.
            #[must_use]
            #[track_caller]
            pub fn component_min(&self) -> Array<T> {
                let min = self.$first.clone();
                $(let min = min.min(&self.$c);)*
                min
            }

            /// Returns, in each lane, the largest component; NaN if any is NaN.
            #[must_use]
            #[track_caller]
            pub fn component_max(&self) -> Array<T> {
                let max = self.$first.clone();
                $(let max = max.max(&self.$c);)*
                max
            }
        }

        impl<T: FloatElement> $Vec<T> {
            /// Interpolates linearly: exactly `self` where `t` is 0, exactly `end` where it is 1, and the line through
            /// both elsewhere.
            #[must_use]
            #[track_caller]
            pub fn lerp(&self, end: impl VectorOperand<Self>, t: impl VectorOperand<Self>) -> Self {
                let (end, t) = (end.into_vector(), t.into_vector());
                let start = (-&t).mul_add(self, self);
                t.mul_add(end, start)
            }
        }
    };
}

for_each_vector!(functions);
