//! Operators of matrices.
//!
//! `*` is the product of matrices, of a matrix and a column vector, and of a matrix and an array or a number. In sums,
//! an array or a number represents that multiple of the identity.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{Component, Matrix};
use crate::linalg::vector::{Vec2, Vec3, Vec4, for_each_vector, number_types, operand_types};
use crate::{Array, Element, Number, Operand, Signed};

/// An operand that is added to a matrix: a matrix, a reference to one, or an array or a number, which represents a
/// multiple of the identity.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be added to a matrix of {N} by {N} elements `{T}`",
    label = "expected a matrix of the same size and element type, or an array or a number of its element type"
)]
pub trait MatrixOperand<T: Element, const N: usize> {
    /// Returns the operand as a matrix.
    #[track_caller]
    fn into_matrix(self) -> Matrix<T, N>;
}

/// An operand that multiplies a matrix: a matrix, a vector, an array, or a number.
#[diagnostic::on_unimplemented(
    message = "a matrix of {N} by {N} elements `{T}` cannot be multiplied with `{Self}`",
    label = "expected a matrix or a vector of the same size and element type, or an array or a number of its element \
        type"
)]
pub trait MatrixFactor<T: Element, const N: usize> {
    /// The type of the product.
    type Product;

    /// `matrix * self`
    #[track_caller]
    fn multiplied_by(self, matrix: &Matrix<T, N>) -> Self::Product;
}

impl<T: Element, const N: usize> MatrixOperand<T, N> for Matrix<T, N> {
    fn into_matrix(self) -> Matrix<T, N> {
        self
    }
}

impl<T: Element, const N: usize> MatrixOperand<T, N> for &Matrix<T, N> {
    fn into_matrix(self) -> Matrix<T, N> {
        self.clone()
    }
}

impl<T: Number, const N: usize> MatrixFactor<T, N> for Matrix<T, N> {
    type Product = Matrix<T, N>;

    #[track_caller]
    fn multiplied_by(self, matrix: &Matrix<T, N>) -> Matrix<T, N> {
        (&self).multiplied_by(matrix)
    }
}

impl<T: Number, const N: usize> MatrixFactor<T, N> for &Matrix<T, N> {
    type Product = Matrix<T, N>;

    #[track_caller]
    fn multiplied_by(self, matrix: &Matrix<T, N>) -> Matrix<T, N> {
        let columns = self.transpose();
        let mut product = matrix.clone();
        for row in 0..N {
            for column in 0..N {
                product.rows[row][column] = dot(&matrix.rows[row], &columns.rows[column]);
            }
        }
        product
    }
}

/// Returns the sum of the products.
#[track_caller]
pub(in crate::linalg) fn dot<T: Number, const N: usize>(a: &[Array<T>; N], b: &[Array<T>; N]) -> Array<T> {
    let mut sum = &a[0] * &b[0];
    for k in 1..N {
        sum = a[k].mul_add(&b[k], sum);
    }
    sum
}

macro_rules! vector_factor {
    ($Vec:ident $n:literal [$($c:ident $index:literal),*]) => {
        impl<T: Number> MatrixFactor<T, $n> for $Vec<T> {
            type Product = $Vec<T>;

            #[track_caller]
            fn multiplied_by(self, matrix: &Matrix<T, $n>) -> $Vec<T> {
                let vector: [Array<T>; $n] = self.into();
                $Vec { $($c: dot(&matrix.rows[$index], &vector)),* }
            }
        }

        impl<T: Number> MatrixFactor<T, $n> for &$Vec<T> {
            type Product = $Vec<T>;

            #[track_caller]
            fn multiplied_by(self, matrix: &Matrix<T, $n>) -> $Vec<T> {
                self.clone().multiplied_by(matrix)
            }
        }
    };
}

for_each_vector!(vector_factor);

macro_rules! scalar {
    ([$($generics:tt)*] $T:ty: $Scalar:ty) => {
        impl<$($generics)* const N: usize> MatrixOperand<$T, N> for $Scalar {
            #[track_caller]
            fn into_matrix(self) -> Matrix<$T, N> {
                let factor: Array<$T> = Operand::<$T>::into_array(self);
                Matrix::scalar(factor)
            }
        }

        impl<$($generics)* const N: usize> MatrixFactor<$T, N> for $Scalar {
            type Product = Matrix<$T, N>;

            #[track_caller]
            fn multiplied_by(self, matrix: &Matrix<$T, N>) -> Matrix<$T, N> {
                let factor: Array<$T> = Operand::<$T>::into_array(self);
                let mut product = matrix.clone();
                for entry in product.rows.iter_mut().flatten() {
                    *entry *= &factor;
                }
                product
            }
        }
    };
}

operand_types!(scalar Number);

macro_rules! sum {
    ($Op:ident $op:ident $OpAssign:ident $op_assign:ident) => {
        impl<T: Number, R: MatrixOperand<T, N>, const N: usize> $Op<R> for Matrix<T, N> {
            type Output = Matrix<T, N>;

            #[track_caller]
            fn $op(mut self, right: R) -> Matrix<T, N> {
                self.$op_assign(right);
                self
            }
        }

        impl<T: Number, R: MatrixOperand<T, N>, const N: usize> $Op<R> for &Matrix<T, N> {
            type Output = Matrix<T, N>;

            #[track_caller]
            fn $op(self, right: R) -> Matrix<T, N> {
                let mut sum = self.clone();
                sum.$op_assign(right);
                sum
            }
        }

        impl<T: Number, R: MatrixOperand<T, N>, const N: usize> $OpAssign<R> for Matrix<T, N> {
            #[track_caller]
            fn $op_assign(&mut self, right: R) {
                let right = right.into_matrix();
                for (entry, right) in self.rows.iter_mut().flatten().zip(right.rows.iter().flatten()) {
                    entry.$op_assign(right);
                }
            }
        }
    };
}

sum!(Add add AddAssign add_assign);
sum!(Sub sub SubAssign sub_assign);

impl<T: Number, R: MatrixFactor<T, N>, const N: usize> Mul<R> for Matrix<T, N> {
    type Output = R::Product;

    #[track_caller]
    fn mul(self, right: R) -> R::Product {
        right.multiplied_by(&self)
    }
}

impl<T: Number, R: MatrixFactor<T, N>, const N: usize> Mul<R> for &Matrix<T, N> {
    type Output = R::Product;

    #[track_caller]
    fn mul(self, right: R) -> R::Product {
        right.multiplied_by(self)
    }
}

impl<T: Number, R: MatrixFactor<T, N, Product = Matrix<T, N>>, const N: usize> MulAssign<R> for Matrix<T, N> {
    #[track_caller]
    fn mul_assign(&mut self, right: R) {
        *self = right.multiplied_by(self);
    }
}

impl<T: Number, R: Component<T>, const N: usize> Div<R> for Matrix<T, N> {
    type Output = Matrix<T, N>;

    #[track_caller]
    fn div(mut self, right: R) -> Matrix<T, N> {
        self /= right;
        self
    }
}

impl<T: Number, R: Component<T>, const N: usize> Div<R> for &Matrix<T, N> {
    type Output = Matrix<T, N>;

    #[track_caller]
    fn div(self, right: R) -> Matrix<T, N> {
        let mut quotient = self.clone();
        quotient /= right;
        quotient
    }
}

impl<T: Number, R: Component<T>, const N: usize> DivAssign<R> for Matrix<T, N> {
    #[track_caller]
    fn div_assign(&mut self, right: R) {
        let divisor = right.into_component();
        for entry in self.rows.iter_mut().flatten() {
            *entry /= &divisor;
        }
    }
}

impl<T: Signed, const N: usize> Neg for Matrix<T, N> {
    type Output = Matrix<T, N>;

    #[track_caller]
    fn neg(mut self) -> Matrix<T, N> {
        for entry in self.rows.iter_mut().flatten() {
            *entry = -&*entry;
        }
        self
    }
}

impl<T: Signed, const N: usize> Neg for &Matrix<T, N> {
    type Output = Matrix<T, N>;

    #[track_caller]
    fn neg(self) -> Matrix<T, N> {
        -self.clone()
    }
}

/// An array or a number on the left.
macro_rules! left {
    ([$($generics:tt)*] $T:ty: $Left:ty) => {
        impl<$($generics)* const N: usize> Mul<Matrix<$T, N>> for $Left {
            type Output = Matrix<$T, N>;

            #[track_caller]
            fn mul(self, right: Matrix<$T, N>) -> Matrix<$T, N> {
                MatrixFactor::<$T, N>::multiplied_by(self, &right)
            }
        }

        impl<$($generics)* const N: usize> Mul<&Matrix<$T, N>> for $Left {
            type Output = Matrix<$T, N>;

            #[track_caller]
            fn mul(self, right: &Matrix<$T, N>) -> Matrix<$T, N> {
                MatrixFactor::<$T, N>::multiplied_by(self, right)
            }
        }
    };
}

left!([T: Number,] T: Array<T>);
left!([T: Number,] T: &Array<T>);
number_types!(left);
