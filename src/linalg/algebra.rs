//! The operators of complex numbers and quaternions, by the functions that compute them.
//!
//! Arrays and numbers, which are real, are allowed on either side. Each type has a trait for its operands: `into_parts`
//! passes the right operand to the functions `plus`, `minus`, `times` and `over`; `added_to`, `taken_from`,
//! `multiplied_by` and `dividing` take a real number on the left.

/// Implements the operators of a type with its trait of operands.
macro_rules! algebra {
    ($Type:ident $Operand:ident) => {
        $crate::linalg::algebra::operator!($Type $Operand Add add AddAssign add_assign plus added_to);
        $crate::linalg::algebra::operator!($Type $Operand Sub sub SubAssign sub_assign minus taken_from);
        $crate::linalg::algebra::operator!($Type $Operand Mul mul MulAssign mul_assign times multiplied_by);
        $crate::linalg::algebra::operator!($Type $Operand Div div DivAssign div_assign over dividing);

        impl<T: FloatElement> std::ops::Neg for $Type<T> {
            type Output = $Type<T>;

            #[track_caller]
            fn neg(self) -> $Type<T> {
                -&self
            }
        }

        impl<T: FloatElement> std::ops::Neg for &$Type<T> {
            type Output = $Type<T>;

            #[track_caller]
            fn neg(self) -> $Type<T> {
                self.map(|part| -part)
            }
        }

        impl<T: FloatElement> std::iter::Sum for $Type<T> {
            /// Returns the sum of numbers; zero for none.
            fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
                numbers.reduce(|sum, number| sum + number).unwrap_or_else(|| T::default().into())
            }
        }

        impl<T: FloatElement> std::iter::Product for $Type<T> {
            /// Returns the product of numbers, in order; one for none.
            fn product<I: Iterator<Item = Self>>(numbers: I) -> Self {
                numbers.reduce(|product, number| product * number).unwrap_or_else(|| T::ONE.into())
            }
        }

        $crate::linalg::algebra::equal! { $Type:
            $Type<T>, $Type<T>;
            $Type<T>, &$Type<T>;
            &$Type<T>, $Type<T>;
            &$Type<T>, &$Type<T>;
            $Type<T>, Array<T>;
            $Type<T>, &Array<T>;
            &$Type<T>, Array<T>;
            &$Type<T>, &Array<T>;
            $Type<T>, T;
            &$Type<T>, T;
        }

        $crate::linalg::algebra::from_real!($Type [T: FloatElement] T: Array<T>);
        $crate::linalg::algebra::from_real!($Type [T: FloatElement] T: &Array<T>);
        $crate::linalg::algebra::from_real!($Type [T: FloatElement] T: T);
    };
}

macro_rules! operator {
    ($Type:ident $Operand:ident $Op:ident $op:ident $OpAssign:ident $op_assign:ident $function:ident $reversed:ident) =>
        {
        impl<T: FloatElement, R: $Operand<T>> std::ops::$Op<R> for $Type<T> {
            type Output = $Type<T>;

            #[track_caller]
            fn $op(self, right: R) -> $Type<T> {
                self.$function(right.into_parts())
            }
        }

        impl<T: FloatElement, R: $Operand<T>> std::ops::$Op<R> for &$Type<T> {
            type Output = $Type<T>;

            #[track_caller]
            fn $op(self, right: R) -> $Type<T> {
                self.$function(right.into_parts())
            }
        }

        impl<T: FloatElement, R: $Operand<T>> std::ops::$OpAssign<R> for $Type<T> {
            #[track_caller]
            fn $op_assign(&mut self, right: R) {
                *self = self.$function(right.into_parts());
            }
        }

        $crate::linalg::algebra::left!($Type $Op $op $reversed [T: FloatElement] T: Array<T>);
        $crate::linalg::algebra::left!($Type $Op $op $reversed [T: FloatElement] T: &Array<T>);
        $crate::linalg::algebra::left_numbers!($Type $Op $op $reversed);
    };
}

/// An array or a number on the left.
macro_rules! left {
    ($Type:ident $Op:ident $op:ident $reversed:ident [$($generics:tt)*] $T:ty: $Left:ty) => {
        impl<$($generics)*> std::ops::$Op<$Type<$T>> for $Left {
            type Output = $Type<$T>;

            #[track_caller]
            fn $op(self, right: $Type<$T>) -> $Type<$T> {
                right.$reversed(&$crate::Operand::<$T>::into_array(self))
            }
        }

        impl<$($generics)*> std::ops::$Op<&$Type<$T>> for $Left {
            type Output = $Type<$T>;

            #[track_caller]
            fn $op(self, right: &$Type<$T>) -> $Type<$T> {
                right.$reversed(&$crate::Operand::<$T>::into_array(self))
            }
        }
    };
}

/// The numbers on the left.
macro_rules! left_numbers {
    ($Type:ident $Op:ident $op:ident $reversed:ident) => {
        $crate::linalg::vector::float_types!(left $Type $Op $op $reversed);
    };
}

/// The comparison operators of `#[jit]` functions.
macro_rules! equal {
    ($Type:ident: $($Left:ty, $Right:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: FloatElement> jit_core::control::Equal<$Right> for $Left {
            type Output = $crate::Mask;

            #[track_caller]
            fn eq(&self, other: &$Right) -> $crate::Mask {
                $Type::eq(self, other.clone())
            }

            #[track_caller]
            fn ne(&self, other: &$Right) -> $crate::Mask {
                $Type::ne(self, other.clone())
            }
        }
    )*};
}

/// Converts an array or a number to a number of a type.
macro_rules! from_real {
    ($Type:ident [$($generics:tt)*] $T:ty: $Real:ty) => {
        impl<$($generics)*> From<$Real> for $Type<$T> {
            #[track_caller]
            fn from(real: $Real) -> Self {
                $Type::from_real(real)
            }
        }
    };
}

pub(super) use {algebra, equal, from_real, left, left_numbers, operator};
