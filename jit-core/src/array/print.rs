//! Arrays as text.

use std::fmt;
use std::panic::Location;

use super::{Array, Element};
use crate::schedule;

/// Arrays that are longer are shortened to their ends.
const LONGEST: usize = 1000;
/// How many elements each end then shows.
const END: usize = 3;

impl<T: Element> fmt::Display for Array<T> {
    /// The elements, which evaluates the array; a long array is shortened to its ends. Where the evaluation fails, its
    /// error is printed in their place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shown() {
            Ok((first, last)) => write_elements(f, &first, last.as_deref()),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

impl<T: Element> Array<T> {
    /// All elements, or those at both ends.
    fn shown(&self) -> Result<(Vec<T>, Option<Vec<T>>), jit_runtime::Error> {
        // Formatting does not tell who asked for it: the line that made the value is the best there is.
        if self.var.known_bits().is_none() {
            schedule::evaluate(&[&self.var], self.var.site())?;
        }
        if self.len() <= LONGEST {
            return Ok((self.to_vec()?, None));
        }
        let range = |range: std::ops::Range<usize>| range.map(|index| self.get(index)).collect::<Result<Vec<T>, _>>();
        Ok((range(0..END)?, Some(range(self.len() - END..self.len())?)))
    }
}

fn write_elements<T: fmt::Display>(f: &mut fmt::Formatter<'_>, first: &[T], last: Option<&[T]>) -> fmt::Result {
    let mut separator = "";
    f.write_str("[")?;
    for element in first {
        f.write_str(separator)?;
        element.fmt(f)?;
        separator = ", ";
    }
    for (position, element) in last.unwrap_or_default().iter().enumerate() {
        f.write_str(if position == 0 { ", …, " } else { separator })?;
        element.fmt(f)?;
    }
    f.write_str("]")
}

impl<T: Element> fmt::Debug for Array<T> {
    /// Element type, width, state, name and the line that made the value; the elements too if they are there and few.
    /// Evaluates nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let site: &Location<'_> = self.var.site();
        write!(f, "Array<{}>(width {}, {}", T::TYPE, self.len(), schedule::state_name(&self.var))?;
        if let Some(label) = self.var.label() {
            write!(f, ", “{label}”")?;
        }
        write!(f, ", {}:{})", site.file(), site.line())?;
        if self.is_evaluated() && self.len() <= 16 {
            write!(f, " {self}")?;
        }
        Ok(())
    }
}
