//! Products, lengths and directions.
//!
//! Sums of products are chains of fused multiplications and additions, each of which rounds once. Squares of lengths
//! overflow and underflow where the squares of components do: in `f32` beyond about 1e19 and below 1e-19.

use jit_core::root_of_squares;

use super::{Component, Vec2, Vec3, Vec4, VectorOperand, for_each_vector};
use crate::{Array, FloatElement, Number, Signed};

macro_rules! geometry {
    ($Vec:ident $n:literal [$first:ident 0, $($c:ident $index:literal),*]) => {
        impl<T: Number> $Vec<T> {
            /// Returns the dot product in each lane: the sum of the products of the components.
            #[must_use]
            #[track_caller]
            pub fn dot(&self, other: impl VectorOperand<Self>) -> Array<T> {
                let other = other.into_vector();
                let sum = &self.$first * &other.$first;
                $(let sum = self.$c.mul_add(&other.$c, sum);)*
                sum
            }

            /// Returns the absolute value of the dot product.
            #[must_use]
            #[track_caller]
            pub fn abs_dot(&self, other: impl VectorOperand<Self>) -> Array<T> {
                self.dot(other).abs()
            }

            /// Returns the square of the length.
            #[must_use]
            #[track_caller]
            pub fn squared_norm(&self) -> Array<T> {
                self.dot(self)
            }
        }

        impl<T: FloatElement> $Vec<T> {
            /// Returns, in each lane, the length. Where it is zero, so is its derivative.
            #[must_use]
            #[track_caller]
            pub fn norm(&self) -> Array<T> {
                root_of_squares(&self.squared_norm())
            }

            /// Returns the unit vector in the same direction. Lanes with the zero vector, which has no direction, yield
            /// NaN; see [`normalize_or`](Self::normalize_or).
            #[must_use]
            #[track_caller]
            pub fn normalize(&self) -> Self {
                self * self.norm().recip()
            }

            /// Returns the unit vector in the same direction, or another vector where the length is zero or NaN.
            #[must_use]
            #[track_caller]
            pub fn normalize_or(&self, fallback: impl VectorOperand<Self>) -> Self {
                let norm = self.norm();
                let (unit, fallback) = (self * norm.recip(), fallback.into_vector());
                let has_direction = norm.gt(T::default());
                $Vec {
                    $first: has_direction.select(unit.$first, fallback.$first),
                    $($c: has_direction.select(unit.$c, fallback.$c)),*
                }
            }

            /// Returns the distance of two points.
            #[must_use]
            #[track_caller]
            pub fn distance(&self, other: impl VectorOperand<Self>) -> Array<T> {
                (self - other).norm()
            }

            /// Returns the square of the distance of two points.
            #[must_use]
            #[track_caller]
            pub fn squared_distance(&self, other: impl VectorOperand<Self>) -> Array<T> {
                (self - other).squared_norm()
            }

            /// Returns the projection onto another vector; NaN where that is zero.
            #[must_use]
            #[track_caller]
            pub fn project_onto(&self, other: impl VectorOperand<Self>) -> Self {
                let other = other.into_vector();
                let share = self.dot(&other) / other.squared_norm();
                other * share
            }

            /// Returns the direction of a reflected ray. `self` is its direction towards the mirror; `normal` has
            /// length one and may be on either side. (OpenGL Shading Language 4.60, §8.5)
            #[must_use]
            #[track_caller]
            pub fn reflect(&self, normal: impl VectorOperand<Self>) -> Self {
                let normal = normal.into_vector();
                let along = self.dot(&normal) * T::from_f64(-2.0);
                normal.mul_add(along, self)
            }

            /// Returns the direction of a refracted ray. `self` is its direction towards the surface, of length one.
            /// `normal` has length one and is on the side of the incoming ray. `eta` is the ratio of the indices of
            /// refraction, that of the incoming side over that of the other. The result is zero for total reflection.
            /// (OpenGL Shading Language 4.60, §8.5)
            #[must_use]
            #[track_caller]
            pub fn refract(&self, normal: impl VectorOperand<Self>, eta: impl Component<T>) -> Self {
                let (normal, eta) = (normal.into_vector(), eta.into_component());
                let cosine = self.dot(&normal);
                let sine_squared = (-&cosine).mul_add(&cosine, T::ONE);
                let cosine_behind_squared = (-(&eta * &eta)).mul_add(sine_squared, T::ONE);
                let passes = cosine_behind_squared.ge(T::default());
                let along = eta.mul_add(cosine, cosine_behind_squared.max(T::default()).sqrt());
                let behind = self * &eta - normal * along;
                $Vec {
                    $first: passes.select(behind.$first, T::default()),
                    $($c: passes.select(behind.$c, T::default())),*
                }
            }
        }
    };
}

for_each_vector!(geometry);

impl<T: Signed> Vec2<T> {
    /// Returns the vector rotated by a right angle, from x to y.
    #[must_use]
    #[track_caller]
    pub fn perpendicular(&self) -> Self {
        Vec2 { x: -&self.y, y: self.x.clone() }
    }

    /// Returns the area of the parallelogram between two vectors, positive if the rotation from the first to the second
    /// is from x to y.
    #[must_use]
    #[track_caller]
    pub fn perpendicular_dot(&self, other: impl VectorOperand<Self>) -> Array<T> {
        let other = other.into_vector();
        difference_of_products(&self.x, &other.y, &self.y, &other.x)
    }
}

impl<T: Signed> Vec3<T> {
    /// Returns the cross product, which is perpendicular to both vectors.
    #[must_use]
    #[track_caller]
    pub fn cross(&self, other: impl VectorOperand<Self>) -> Self {
        let other = other.into_vector();
        Vec3 {
            x: difference_of_products(&self.y, &other.z, &self.z, &other.y),
            y: difference_of_products(&self.z, &other.x, &self.x, &other.z),
            z: difference_of_products(&self.x, &other.y, &self.y, &other.x),
        }
    }
}

/// `a * b - c * d`, without cancellation for floats: at most 1.5 units in the last place (C.-P. Jeannerod, N. Louvet,
/// J.-M. Muller, “Further analysis of Kahan's algorithm for the accurate computation of 2 × 2 determinants”, 2013).
#[track_caller]
pub(in crate::linalg) fn difference_of_products<T: Signed>(
    a: &Array<T>,
    b: &Array<T>,
    c: &Array<T>,
    d: &Array<T>,
) -> Array<T> {
    let product = c * d;
    if !T::TYPE.is_float() {
        return a * b - product;
    }
    let error = (-c).mul_add(d, &product);
    a.mul_add(b, -product) + error
}
