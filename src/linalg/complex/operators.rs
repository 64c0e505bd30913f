//! Operators of complex numbers, with arrays and numbers, which are real, on either side.

use super::Complex;
use crate::linalg::algebra::{algebra, left};
use crate::linalg::vector::{difference_of_products, operand_types};
use crate::{Array, Element, FloatElement, Operand};

/// The second operand of operations on a complex number: a complex number, a reference to one, or a real one: an array
/// or a number.
#[diagnostic::on_unimplemented(
    message = "complex numbers of elements `{T}` cannot be combined with `{Self}`",
    label = "expected `Complex<{T}>`, or an array or a number of its element type",
    note = "element types are not converted implicitly: write `.cast::<{T}>()`"
)]
pub trait ComplexOperand<T: Element> {
    /// Returns the real part, and the imaginary part unless the number is real.
    #[track_caller]
    fn into_parts(self) -> (Array<T>, Option<Array<T>>);
}

impl<T: Element> ComplexOperand<T> for Complex<T> {
    #[inline]
    fn into_parts(self) -> (Array<T>, Option<Array<T>>) {
        (self.re, Some(self.im))
    }
}

impl<T: Element> ComplexOperand<T> for &Complex<T> {
    #[inline]
    fn into_parts(self) -> (Array<T>, Option<Array<T>>) {
        self.clone().into_parts()
    }
}

macro_rules! real {
    ([$($generics:tt)*] $T:ty: $Real:ty) => {
        impl<$($generics)*> ComplexOperand<$T> for $Real {
            #[inline]
            #[track_caller]
            fn into_parts(self) -> (Array<$T>, Option<Array<$T>>) {
                (Operand::<$T>::into_array(self), None)
            }
        }
    };
}

operand_types!(real FloatElement);

algebra!(Complex ComplexOperand);

impl<T: FloatElement> Complex<T> {
    #[track_caller]
    fn plus(&self, (re, im): (Array<T>, Option<Array<T>>)) -> Self {
        let im = im.map_or_else(|| self.im.clone(), |im| &self.im + im);
        Complex { re: &self.re + re, im }
    }

    #[track_caller]
    fn minus(&self, (re, im): (Array<T>, Option<Array<T>>)) -> Self {
        let im = im.map_or_else(|| self.im.clone(), |im| &self.im - im);
        Complex { re: &self.re - re, im }
    }

    /// The error of each part is at most two units in the last place.
    #[track_caller]
    fn times(&self, (re, im): (Array<T>, Option<Array<T>>)) -> Self {
        let Some(im) = im else {
            return self.multiplied_by(&re);
        };
        Complex {
            re: difference_of_products(&self.re, &re, &self.im, &im),
            im: difference_of_products(&self.re, &im, &-&self.im, &re),
        }
    }

    #[track_caller]
    fn over(&self, (re, im): (Array<T>, Option<Array<T>>)) -> Self {
        match im {
            None => Complex { re: &self.re / &re, im: &self.im / &re },
            Some(im) => quotient(&self.re, &self.im, &re, &im),
        }
    }

    #[track_caller]
    fn added_to(&self, left: &Array<T>) -> Self {
        Complex { re: left + &self.re, im: self.im.clone() }
    }

    #[track_caller]
    fn taken_from(&self, left: &Array<T>) -> Self {
        Complex { re: left - &self.re, im: -&self.im }
    }

    #[track_caller]
    fn multiplied_by(&self, left: &Array<T>) -> Self {
        Complex { re: left * &self.re, im: left * &self.im }
    }

    #[track_caller]
    fn dividing(&self, left: &Array<T>) -> Self {
        quotient(left, &Array::default(), &self.re, &self.im)
    }

    /// `1 / self`
    #[must_use]
    #[track_caller]
    pub fn recip(&self) -> Self {
        self.dividing(&T::ONE.into())
    }

    /// `self * factor + addend`
    #[must_use]
    #[track_caller]
    pub fn mul_add(&self, factor: impl ComplexOperand<T>, addend: impl ComplexOperand<T>) -> Self {
        self * factor + addend
    }
}

/// `(a + ib) / (c + id)`, whose magnitude has an error of a few units in the last place, without overflow of `c² + d²`.
/// Infinite or NaN where the divisor is zero (R. Smith, “Algorithm 116: Complex division”, 1962; M. Baudin, R. Smith,
/// “A Robust Complex Division in Scilab”, 2012).
#[track_caller]
fn quotient<T: FloatElement>(a: &Array<T>, b: &Array<T>, c: &Array<T>, d: &Array<T>) -> Complex<T> {
    // If |d| > |c|, both numbers are divided by i first.
    let is_steep = d.abs().gt(c.abs());
    let (large, small) = (is_steep.select(d, c), is_steep.select(-c, d));
    let (re, im) = (is_steep.select(b, a), is_steep.select(-a, b));
    let zero = T::default();
    let ratio = large.eq(zero).select(zero, &small / &large);
    let divisor = small.mul_add(&ratio, &large);
    // A ratio that underflows would lose nonzero products.
    let is_lost = ratio.eq(zero) & small.ne(zero);
    let share = |x: &Array<T>| is_lost.select(&small * (x / &large), x * &ratio);
    Complex { re: (&re + share(&im)) / &divisor, im: (&im - share(&re)) / &divisor }
}

impl<T: FloatElement> Complex<T> {
    /// Returns the sum over all lanes, of width 1: see [`Array::sum`].
    #[must_use]
    #[track_caller]
    pub fn sum(&self) -> Self {
        self.at_full_width().map(Array::sum)
    }

    /// Returns the mean over all lanes, of width 1: see [`Array::mean`].
    #[must_use]
    #[track_caller]
    pub fn mean(&self) -> Self {
        self.map(Array::mean)
    }
}
