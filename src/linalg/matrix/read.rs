//! Reading and printing.

use std::fmt;

use jit_runtime::memory::filled_list;

use super::Matrix;
use crate::linalg::print::{is_symbolic, write_lanes};
use crate::{Array, Element, Error, eval};

impl<T: Element, const N: usize> Matrix<T, N> {
    /// Returns the entries, one matrix of rows for each lane. Evaluates, and waits for the result.
    ///
    /// # Errors
    ///
    /// See [`Array::to_vec`].
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<[[T; N]; N]>, Error> {
        eval(self)?;
        let mut lanes = filled_list(self.len(), [[T::default(); N]; N])?;
        for row in 0..N {
            for column in 0..N {
                let values = self.rows[row][column].to_vec()?;
                for (lane, matrix) in lanes.iter_mut().enumerate() {
                    matrix[row][column] = values[if values.len() == 1 { 0 } else { lane }];
                }
            }
        }
        Ok(lanes)
    }

    /// Returns the matrix of one lane. Evaluates, and waits for the result.
    ///
    /// # Errors
    ///
    /// See [`Array::get`].
    #[track_caller]
    pub fn get(&self, lane: usize) -> Result<[[T; N]; N], Error> {
        eval(self)?;
        let is_there = lane < self.len();
        self.read(|entry| entry.get(if is_there && entry.len() == 1 { 0 } else { lane }))
    }

    /// Returns the only matrix. Evaluates, and waits for the result.
    ///
    /// # Errors
    ///
    /// See [`Array::item`]: when there are more lanes, or none.
    #[track_caller]
    pub fn item(&self) -> Result<[[T; N]; N], Error> {
        eval(self)?;
        self.read(Array::item)
    }

    fn read(&self, value: impl Fn(&Array<T>) -> Result<T, Error>) -> Result<[[T; N]; N], Error> {
        let mut values = [[T::default(); N]; N];
        for (row, entries) in values.iter_mut().zip(&self.rows) {
            for (to, entry) in row.iter_mut().zip(entries) {
                *to = value(entry)?;
            }
        }
        Ok(values)
    }
}

/// The rows of one lane's matrix on one line: `[1, 2], [3, 4]`.
struct Rows<T, const N: usize>([[T; N]; N]);

impl<T: Element, const N: usize> fmt::Display for Rows<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut open = "[";
        for row in &self.0 {
            for value in row {
                f.write_str(open)?;
                fmt::Display::fmt(value, f)?;
                open = ", ";
            }
            open = "], [";
        }
        f.write_str("]")
    }
}

impl<T: Element, const N: usize> fmt::Display for Matrix<T, N> {
    /// Writes the matrices, one for each lane, on one line each, which evaluates them; if there are many, only those at
    /// both ends. If the evaluation fails, its error is printed in their place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match eval(self) {
            Err(_) if is_symbolic(self) => fmt::Debug::fmt(self, f),
            Ok(()) => write_lanes(f, self.len(), |lane| Ok(vec![Rows(self.get(lane)?)])),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

impl<T: Element, const N: usize> fmt::Debug for Matrix<T, N> {
    /// Writes the entries as [`Array`]s are debugged. Evaluates nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.rows).finish()
    }
}
