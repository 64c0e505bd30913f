//! The derivatives of decompositions that are computed by iteration.
//!
//! M. Giles, “An extended collection of matrix derivative results for forward and reverse mode algorithmic
//! differentiation”, 2008; J. Townsend, “Differentiating the singular value decomposition”, 2016. Vectors of equal
//! values are not unique, and have no derivative: what would flow between them is zero. That leaves the derivative of
//! functions that do not depend on the choice.

use std::cmp::Ordering;
use std::marker::PhantomData;

use jit_core::ad::{CustomOp, custom};

use crate::linalg::Matrix;
use crate::{Array, FloatElement, Result};

type Values<T, const N: usize> = [Array<T>; N];

impl<T: FloatElement, const N: usize> Matrix<T, N> {
    fn has_gradients(&self) -> bool {
        self.rows.iter().flatten().any(Array::grad_enabled)
    }

    #[track_caller]
    pub(super) fn eigen_with_gradients(&self) -> (Values<T, N>, Self) {
        if self.has_gradients() { custom(Eigen(PhantomData), self) } else { self.eigen_in_full() }
    }

    #[track_caller]
    pub(super) fn singular_values_with_gradients(&self) -> (Self, Values<T, N>, Self) {
        if self.has_gradients() { custom(Singular(PhantomData), self) } else { self.singular_values_in_full() }
    }

    #[track_caller]
    pub(super) fn polar_with_gradients(&self) -> (Self, Self) {
        if self.has_gradients() { custom(Polar(PhantomData), self) } else { self.polar_in_full() }
    }

    /// Returns a matrix of a function of the position.
    fn of(mut entry: impl FnMut(usize, usize) -> Array<T>) -> Self {
        Matrix { rows: std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column))) }
    }

    /// Multiplies each entry by a function of the position, or by zero on the diagonal.
    #[track_caller]
    fn beside_diagonal(&self, factor: impl Fn(usize, usize) -> Array<T>) -> Self {
        Self::of(|row, column| match row == column {
            true => Array::from(T::default()),
            false => &self.rows[row][column] * factor(row, column),
        })
    }

    /// Multiplies columns.
    #[track_caller]
    fn with_columns(&self, factors: &Values<T, N>) -> Self {
        Self::of(|row, column| &self.rows[row][column] * &factors[column])
    }

    /// Multiplies rows.
    #[track_caller]
    fn with_rows(&self, factors: &Values<T, N>) -> Self {
        Self::of(|row, column| &self.rows[row][column] * &factors[row])
    }

    /// Returns the matrix plus a diagonal.
    #[track_caller]
    fn plus_diagonal(&self, diagonal: &Values<T, N>) -> Self {
        Self::of(|row, column| match row == column {
            true => &self.rows[row][column] + &diagonal[row],
            false => self.rows[row][column].clone(),
        })
    }
}

fn diagonal<T: FloatElement, const N: usize>(matrix: &Matrix<T, N>) -> Values<T, N> {
    std::array::from_fn(|k| matrix.rows[k][k].clone())
}

/// Returns one divided by a number, zero for zero.
#[track_caller]
fn inverse_or_zero<T: FloatElement>(x: &Array<T>) -> Array<T> {
    let is_zero = x.eq(T::default());
    is_zero.select(T::default(), is_zero.select(T::ONE, x).recip())
}

/// The derivative of eigenvalues and vectors. The results are saved, and computed again for derivatives of it.
struct Eigen<T, const N: usize>(PhantomData<T>);

impl<T: FloatElement, const N: usize> Eigen<T, N> {
    #[track_caller]
    fn results((matrix, results): &<Self as CustomOp>::Saved) -> (Values<T, N>, Matrix<T, N>) {
        if matrix.has_gradients() { matrix.eigen() } else { results.clone() }
    }
}

/// Returns the inverse of the difference of two values.
#[track_caller]
fn gap<T: FloatElement, const N: usize>(values: &Values<T, N>) -> impl Fn(usize, usize) -> Array<T> {
    |row, column| inverse_or_zero(&(&values[column] - &values[row]))
}

impl<T: FloatElement, const N: usize> CustomOp for Eigen<T, N> {
    type Input = Matrix<T, N>;
    type Output = (Values<T, N>, Matrix<T, N>);
    type Saved = (Matrix<T, N>, (Values<T, N>, Matrix<T, N>));

    fn name(&self) -> &str {
        "symmetric_eigen"
    }

    #[track_caller]
    fn forward(&self, matrix: &Matrix<T, N>) -> (Self::Output, Self::Saved) {
        let results = matrix.eigen_in_full();
        (results.clone(), (matrix.clone(), results))
    }

    #[track_caller]
    fn backward(&self, saved: &Self::Saved, (of_values, of_vectors): &Self::Output) -> Result<Matrix<T, N>> {
        let (values, v) = Self::results(saved);
        let turned = (v.transpose() * of_vectors).beside_diagonal(gap(&values));
        let whole = &v * turned.plus_diagonal(of_values) * v.transpose();
        // Entries below the diagonal are not read; those above it count twice.
        let read = Matrix::of(|row, column| match row.cmp(&column) {
            Ordering::Less => &whole.rows[row][column] + &whole.rows[column][row],
            Ordering::Equal => whole.rows[row][column].clone(),
            Ordering::Greater => Array::from(T::default()),
        });
        Ok(read)
    }

    #[track_caller]
    fn jvp(&self, saved: &Self::Saved, tangent: &Matrix<T, N>) -> Result<Self::Output> {
        let (values, v) = Self::results(saved);
        let symmetric = Matrix::of(|row, column| tangent.rows[row.min(column)][row.max(column)].clone());
        let turned = v.transpose() * symmetric * &v;
        Ok((diagonal(&turned), &v * turned.beside_diagonal(gap(&values))))
    }
}

/// The derivative of singular values and vectors.
struct Singular<T, const N: usize>(PhantomData<T>);

type SingularResults<T, const N: usize> = (Matrix<T, N>, Values<T, N>, Matrix<T, N>);

impl<T: FloatElement, const N: usize> Singular<T, N> {
    #[track_caller]
    fn results((matrix, results): &<Self as CustomOp>::Saved) -> SingularResults<T, N> {
        if matrix.has_gradients() { matrix.singular_values() } else { results.clone() }
    }
}

/// Returns the inverse of the difference of the squares of two values.
#[track_caller]
fn gap_of_squares<T: FloatElement, const N: usize>(values: &Values<T, N>) -> impl Fn(usize, usize) -> Array<T> {
    |row, column| {
        let (a, b) = (&values[column], &values[row]);
        inverse_or_zero(&((a - b) * (a + b)))
    }
}

impl<T: FloatElement, const N: usize> CustomOp for Singular<T, N> {
    type Input = Matrix<T, N>;
    type Output = SingularResults<T, N>;
    type Saved = (Matrix<T, N>, SingularResults<T, N>);

    fn name(&self) -> &str {
        "svd"
    }

    #[track_caller]
    fn forward(&self, matrix: &Matrix<T, N>) -> (Self::Output, Self::Saved) {
        let results = matrix.singular_values_in_full();
        (results.clone(), (matrix.clone(), results))
    }

    #[track_caller]
    fn backward(&self, saved: &Self::Saved, (of_u, of_values, of_v): &Self::Output) -> Result<Matrix<T, N>> {
        let (u, values, v) = Self::results(saved);
        let skew = |x: &Matrix<T, N>, of_x: &Matrix<T, N>| {
            let turned = x.transpose() * of_x;
            (&turned - turned.transpose()).beside_diagonal(gap_of_squares(&values))
        };
        let sum = skew(&u, of_u).with_columns(&values) + skew(&v, of_v).with_rows(&values);
        Ok(&u * sum.plus_diagonal(of_values) * v.transpose())
    }

    #[track_caller]
    fn jvp(&self, saved: &Self::Saved, tangent: &Matrix<T, N>) -> Result<Self::Output> {
        let (u, values, v) = Self::results(saved);
        let turned = u.transpose() * tangent * &v;
        let other = turned.transpose();
        let of_u = (turned.with_columns(&values) + other.with_rows(&values)).beside_diagonal(gap_of_squares(&values));
        let of_v = (turned.with_rows(&values) + other.with_columns(&values)).beside_diagonal(gap_of_squares(&values));
        Ok((&u * of_u, diagonal(&turned), &v * of_v))
    }
}

/// The derivative of the polar decomposition, which is smooth wherever the matrix has an inverse, even if singular
/// values are equal: the rotation `q` turns by `q ω`, where `ω p + p ω` is the skew part of the tangent in its frame.
struct Polar<T, const N: usize>(PhantomData<T>);

impl<T: FloatElement, const N: usize> Polar<T, N> {
    #[track_caller]
    fn results((matrix, results): &<Self as CustomOp>::Saved) -> (Matrix<T, N>, Matrix<T, N>) {
        if matrix.has_gradients() { matrix.polar() } else { results.clone() }
    }
}

impl<T: FloatElement, const N: usize> CustomOp for Polar<T, N> {
    type Input = Matrix<T, N>;
    type Output = (Matrix<T, N>, Matrix<T, N>);
    type Saved = (Matrix<T, N>, (Matrix<T, N>, Matrix<T, N>));

    fn name(&self) -> &str {
        "polar"
    }

    #[track_caller]
    fn forward(&self, matrix: &Matrix<T, N>) -> (Self::Output, Self::Saved) {
        let results = matrix.polar_in_full();
        (results.clone(), (matrix.clone(), results))
    }

    #[track_caller]
    fn backward(&self, saved: &Self::Saved, (of_q, of_p): &Self::Output) -> Result<Matrix<T, N>> {
        let (q, p) = Self::results(saved);
        let turned = sylvester(&p, &(q.transpose() * of_q - of_p * &p));
        Ok(&q * (&turned - turned.transpose() + of_p))
    }

    #[track_caller]
    fn jvp(&self, saved: &Self::Saved, tangent: &Matrix<T, N>) -> Result<Self::Output> {
        let (q, p) = Self::results(saved);
        let turned = q.transpose() * tangent;
        let omega = sylvester(&p, &(&turned - turned.transpose()));
        let of_p = turned - &omega * &p;
        Ok((q * omega, of_p))
    }
}

/// Solves `x p + p x = k` for a symmetric matrix `p`.
#[track_caller]
fn sylvester<T: FloatElement, const N: usize>(p: &Matrix<T, N>, k: &Matrix<T, N>) -> Matrix<T, N> {
    custom(Sylvester(PhantomData), &(p.clone(), k.clone()))
}

/// The solution of `x p + p x = k`. The equation is its own transpose.
struct Sylvester<T, const N: usize>(PhantomData<T>);

impl<T: FloatElement, const N: usize> Sylvester<T, N> {
    #[track_caller]
    fn solution((p, k, x): &<Self as CustomOp>::Saved) -> Matrix<T, N> {
        if p.has_gradients() || k.has_gradients() { sylvester(p, k) } else { x.clone() }
    }
}

impl<T: FloatElement, const N: usize> CustomOp for Sylvester<T, N> {
    type Input = (Matrix<T, N>, Matrix<T, N>);
    type Output = Matrix<T, N>;
    type Saved = (Matrix<T, N>, Matrix<T, N>, Matrix<T, N>);

    fn name(&self) -> &str {
        "Sylvester equation"
    }

    #[track_caller]
    fn forward(&self, (p, k): &Self::Input) -> (Matrix<T, N>, Self::Saved) {
        let (values, v) = p.eigen_in_full();
        let turned = v.transpose() * k * &v;
        let sum = |row: usize, column: usize| inverse_or_zero(&(&values[row] + &values[column]));
        let x = &v * Matrix::of(|row, column| &turned.rows[row][column] * sum(row, column)) * v.transpose();
        (x.clone(), (p.clone(), k.clone(), x))
    }

    #[track_caller]
    fn backward(&self, saved: &Self::Saved, gradient: &Matrix<T, N>) -> Result<Self::Input> {
        let x = Self::solution(saved).transpose();
        let of_k = sylvester(&saved.0, gradient);
        let of_p = -(&x * &of_k + &of_k * &x);
        Ok((of_p, of_k))
    }

    #[track_caller]
    fn jvp(&self, saved: &Self::Saved, (of_p, of_k): &Self::Input) -> Result<Matrix<T, N>> {
        let x = Self::solution(saved);
        Ok(sylvester(&saved.0, &(of_k - (&x * of_p + of_p * &x))))
    }
}
