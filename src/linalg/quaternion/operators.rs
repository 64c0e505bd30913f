//! Operators of quaternions, with arrays and numbers, which are real, on either side.

use super::Quaternion;
use crate::linalg::Vec3;
use crate::linalg::algebra::{algebra, left};
use crate::linalg::matrix::dot;
use crate::linalg::vector::operand_types;
use crate::{Array, Element, FloatElement, Operand};

/// The second operand of operations on a quaternion: a quaternion, a reference to one, or a real one: an array or a
/// number.
#[diagnostic::on_unimplemented(
    message = "quaternions of elements `{T}` cannot be combined with `{Self}`",
    label = "expected `Quaternion<{T}>`, or an array or a number of its element type",
    note = "vectors are rotated by `q.rotate(&v)`; element types are not converted implicitly: write `.cast::<{T}>()`"
)]
pub trait QuaternionOperand<T: Element> {
    /// Returns the real part, and the imaginary part unless the operand is real.
    #[track_caller]
    fn into_parts(self) -> (Array<T>, Option<Vec3<T>>);
}

impl<T: Element> QuaternionOperand<T> for Quaternion<T> {
    #[inline]
    fn into_parts(self) -> (Array<T>, Option<Vec3<T>>) {
        let Quaternion { x, y, z, w } = self;
        (w, Some(Vec3 { x, y, z }))
    }
}

impl<T: Element> QuaternionOperand<T> for &Quaternion<T> {
    #[inline]
    fn into_parts(self) -> (Array<T>, Option<Vec3<T>>) {
        self.clone().into_parts()
    }
}

macro_rules! real {
    ([$($generics:tt)*] $T:ty: $Real:ty) => {
        impl<$($generics)*> QuaternionOperand<$T> for $Real {
            #[inline]
            #[track_caller]
            fn into_parts(self) -> (Array<$T>, Option<Vec3<$T>>) {
                (Operand::<$T>::into_array(self), None)
            }
        }
    };
}

operand_types!(real FloatElement);
algebra!(Quaternion QuaternionOperand);

impl<T: FloatElement> Quaternion<T> {
    #[track_caller]
    fn plus(&self, (real, vector): (Array<T>, Option<Vec3<T>>)) -> Self {
        let sum = vector.map_or_else(|| self.vector(), |vector| self.vector() + vector);
        Self::from_parts(sum, &self.w + real)
    }

    #[track_caller]
    fn minus(&self, (real, vector): (Array<T>, Option<Vec3<T>>)) -> Self {
        let difference = vector.map_or_else(|| self.vector(), |vector| self.vector() - vector);
        Self::from_parts(difference, &self.w - real)
    }

    /// Returns the Hamilton product.
    #[track_caller]
    fn times(&self, (w, vector): (Array<T>, Option<Vec3<T>>)) -> Self {
        let Some(Vec3 { x, y, z }) = vector else {
            return self.multiplied_by(&w);
        };
        let left = self.to_array();
        let [minus_x, minus_y, minus_z] = [&x, &y, &z].map(|part| -part);
        Quaternion {
            x: dot(&left, &[w.clone(), z.clone(), minus_y.clone(), x.clone()]),
            y: dot(&left, &[minus_z.clone(), w.clone(), x, y.clone()]),
            z: dot(&left, &[y, minus_x.clone(), w.clone(), z]),
            w: dot(&left, &[minus_x, minus_y, minus_z, w]),
        }
    }

    /// `self * (1 / right)`
    #[track_caller]
    fn over(&self, (real, vector): (Array<T>, Option<Vec3<T>>)) -> Self {
        match vector {
            None => self.map(|part| part / &real),
            Some(vector) => self * Self::from_parts(vector, real).recip(),
        }
    }

    #[track_caller]
    fn added_to(&self, left: &Array<T>) -> Self {
        Self::from_parts(self.vector(), left + &self.w)
    }

    #[track_caller]
    fn taken_from(&self, left: &Array<T>) -> Self {
        Self::from_parts(-self.vector(), left - &self.w)
    }

    #[track_caller]
    fn multiplied_by(&self, left: &Array<T>) -> Self {
        self.map(|part| left * part)
    }

    #[track_caller]
    fn dividing(&self, left: &Array<T>) -> Self {
        self.recip().multiplied_by(left)
    }
}
