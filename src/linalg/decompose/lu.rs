//! Triangular factors by Gaussian elimination with partial pivoting, and linear equations.
//!
//! G. Golub, C. Van Loan, “Matrix Computations”, 4th edition, §3.4.

use crate::linalg::vector::{Vec2, Vec3, Vec4, VectorOperand, for_each_vector};
use crate::linalg::{Matrix, is_half};
use crate::{Array, FloatElement};

impl<T: FloatElement, const N: usize> Matrix<T, N> {
    /// Returns matrices `(p, l, u)` with `p * self = l * u`. `p` exchanges rows so that the largest pivots are taken.
    /// `l` has ones on its diagonal, entries of at most one below it, and zeros above it. `u` has zeros below its
    /// diagonal.
    ///
    /// Singular matrices have zeros on the diagonal of `u`.
    #[must_use]
    #[track_caller]
    pub fn lu(&self) -> (Self, Self, Self) {
        if is_half::<T>() {
            let (p, l, u) = self.cast::<f32>().lu();
            return (p.cast(), l.cast(), u.cast());
        }
        let (mut u, mut p) = (self.clone(), Self::identity());
        let mut factors = Self::splat(T::default());
        for k in 0..N {
            for row in k + 1..N {
                let is_larger = u.rows[row][k].abs().gt(u.rows[k][k].abs());
                for matrix in [&mut u, &mut p, &mut factors] {
                    matrix.exchange_rows(&is_larger, k, row);
                }
            }
            for row in k + 1..N {
                factors.rows[row][k] = u.eliminate(k, row);
            }
        }
        (p, factors + T::ONE, u)
    }

    /// Subtracts a multiple of a row from another one so that its entry below the pivot becomes zero; returns the
    /// factor.
    #[track_caller]
    fn eliminate(&mut self, pivot: usize, row: usize) -> Array<T> {
        let divisor = &self.rows[pivot][pivot];
        // Where the pivot is zero, so are the entries below it.
        let factor = divisor.eq(T::default()).select(T::default(), &self.rows[row][pivot] / divisor);
        let negated = -&factor;
        self.rows[row][pivot] = T::default().into();
        for column in pivot + 1..N {
            self.rows[row][column] = negated.mul_add(&self.rows[pivot][column], &self.rows[row][column]);
        }
        factor
    }

    /// Returns the matrix `x` with `self * x = right`.
    ///
    /// See [`solve`](Matrix::solve).
    #[must_use]
    #[track_caller]
    pub fn solve_matrix(&self, right: &Self) -> Self {
        if is_half::<T>() {
            return self.cast::<f32>().solve_matrix(&right.cast()).cast();
        }
        let mut columns = right.transpose();
        self.solve_lines(&mut columns.rows);
        columns.transpose()
    }

    /// Replaces right-hand sides by solutions.
    #[track_caller]
    fn solve_lines(&self, lines: &mut [[Array<T>; N]]) {
        let mut u = self.clone();
        for k in 0..N {
            for row in k + 1..N {
                let is_larger = u.rows[row][k].abs().gt(u.rows[k][k].abs());
                u.exchange_rows(&is_larger, k, row);
                for line in &mut *lines {
                    let [first, second] = [line[k].clone(), line[row].clone()];
                    line[k] = is_larger.select(&second, &first);
                    line[row] = is_larger.select(first, second);
                }
            }
            for row in k + 1..N {
                let factor = -u.eliminate(k, row);
                for line in &mut *lines {
                    line[row] = factor.mul_add(&line[k], &line[row]);
                }
            }
        }
        for line in lines {
            u.substitute_back(line);
        }
    }

    /// Solves equations whose matrix has zeros below its diagonal.
    #[track_caller]
    fn substitute_back(&self, line: &mut [Array<T>; N]) {
        for row in (0..N).rev() {
            let mut rest = line[row].clone();
            for (column, known) in line.iter().enumerate().skip(row + 1) {
                rest = (-&self.rows[row][column]).mul_add(known, rest);
            }
            line[row] = rest / &self.rows[row][row];
        }
    }
}

macro_rules! solve {
    ($Vec:ident $n:literal [$($c:ident $index:literal),*]) => {
        impl<T: FloatElement> Matrix<T, $n> {
            /// Returns the vector `x` with `self * x = right`, by elimination with partial pivoting. The product
            /// `self * x` has an error of a few units in the last place of the largest products. Lanes whose matrix has
            /// no inverse yield infinities or NaN.
            #[must_use]
            #[track_caller]
            pub fn solve(&self, right: impl VectorOperand<$Vec<T>>) -> $Vec<T> {
                let right = right.into_vector();
                if is_half::<T>() {
                    return self.cast::<f32>().solve(right.cast::<f32>()).cast();
                }
                let mut line = [right.into()];
                self.solve_lines(&mut line);
                let [solution] = line;
                solution.into()
            }
        }
    };
}

for_each_vector!(solve);
