//! Arrays as text: what is shown of an array of some shape.
//!
//! The rules are NumPy's: more than 1000 elements are shortened to three at the ends of each axis, lines end before
//! column 75, elements that are below one another are aligned, floats have as many digits as tell them from their
//! neighbours. Only what is shown is copied from the device. How it is put into lines is in `columns`.

use std::fmt;
use std::panic::Location;

use jit_runtime::ir::{Type, scalar};
use jit_runtime::{Error, ErrorKind};

use super::columns::{Cell, Rows};
use super::read::copy;
use super::{Array, Element};
use crate::graph::Var;
use crate::schedule;
use crate::schedule::read::{HostElements, read_for_host};
use crate::trace::region;

/// Arrays that are longer are shortened to their ends.
const LONGEST: usize = 1000;
/// How many elements each end of an axis then shows.
const END: usize = 3;

impl<T: Element> fmt::Display for Array<T> {
    /// The elements, which evaluates the array; a long array is shortened to its ends. Where the evaluation fails, its
    /// error is printed in their place; where the environment holds a wrong setting, such as `JIT_DEVICE=cuda`, it
    /// panics. What is computed inside of a traced loop or branch has no elements yet: there it is
    /// `<symbolic f32[1024] in the loop at file.rs:12>`, and nothing is evaluated.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_shaped(self, &[self.len()], f)
    }
}

/// Writes the elements of an array as those of a row-major shape.
#[doc(hidden)]
#[expect(clippy::panic, reason = "a setting that no evaluation can work with")]
pub fn fmt_shaped<T: Element>(array: &Array<T>, shape: &[usize], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if is_symbolic(array.var()) {
        return fmt_symbolic(array, shape, f);
    }
    let axes: Vec<Vec<Option<usize>>> = shape.iter().map(|&length| shown_of_axis(length, array.len())).collect();
    let mut positions = Vec::new();
    collect_positions(&axes, shape, 0, &mut positions);
    match array.at_positions(&positions) {
        Ok(elements) => {
            let cells = elements.iter().map(|element| Cell::new(text(*element, f.precision()), T::TYPE.is_float()));
            Rows::new(cells.collect(), &axes).write(f)
        }
        // Nothing that the program does can work then, and text that nobody may read must not hide it.
        Err(error) if error.kind() == ErrorKind::Configuration => panic!("{error}"),
        Err(error) => write!(f, "<{error}>"),
    }
}

/// Whether the elements are known when the kernel runs only. A literal is a number wherever it was made.
fn is_symbolic(var: &Var) -> bool {
    var.known_bits().is_none() && schedule::is_symbolic(var)
}

/// Writes what is known of an array whose elements are computed when the kernel runs.
fn fmt_symbolic<T: Element>(array: &Array<T>, shape: &[usize], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "<symbolic {}{shape:?}", T::TYPE)?;
    if let Some(label) = array.var().label() {
        write!(f, " “{label}”")?;
    }
    write!(f, " {}>", region::describe(array.var()))
}

/// The positions along an axis that are shown; `None` for those that are left out.
fn shown_of_axis(length: usize, elements: usize) -> Vec<Option<usize>> {
    if elements <= LONGEST || length <= 2 * END {
        return (0..length).map(Some).collect();
    }
    (0..END).map(Some).chain([None]).chain((length - END..length).map(Some)).collect()
}

/// The numbers of the elements that are shown, in their order.
fn collect_positions(axes: &[Vec<Option<usize>>], shape: &[usize], begin: usize, positions: &mut Vec<usize>) {
    let Some((axis, inner)) = axes.split_first() else {
        positions.push(begin);
        return;
    };
    let step: usize = shape[1..].iter().product();
    for at in axis.iter().flatten() {
        collect_positions(inner, &shape[1..], begin + at * step, positions);
    }
}

/// One element. Floats have as many digits behind the point as are asked for; else those that are very large or small
/// have an exponent.
fn text<T: Element>(element: T, precision: Option<usize>) -> String {
    if !T::TYPE.is_float() {
        return element.to_string();
    }
    if let Some(precision) = precision {
        return format!("{element:.precision$}");
    }
    let value = super::read::as_f64(T::TYPE, element.to_bits());
    let magnitude = value.abs();
    let is_plain = magnitude == 0.0 || (1e-5..1e16).contains(&magnitude) || !magnitude.is_finite();
    match T::TYPE {
        Type::F16 | Type::BF16 => {
            let short = shortest_of_half(element, value);
            if is_plain { short.to_string() } else { format!("{short:e}") }
        }
        _ if is_plain => element.to_string(),
        _ => format!("{element:?}"),
    }
}

/// The number of the fewest decimal digits that is nearer to a half than to its neighbours.
fn shortest_of_half<T: Element>(element: T, value: f64) -> f64 {
    let is_it = |short: &f64| scalar::cast(Type::F64, T::TYPE, short.to_bits()) == element.to_bits();
    (0..8).filter_map(|digits| format!("{value:.digits$e}").parse().ok()).find(is_it).unwrap_or(value)
}

impl<T: Element> Array<T> {
    /// The elements at some positions in ascending order, of which neighbours are copied together.
    fn at_positions(&self, positions: &[usize]) -> Result<Vec<T>, Error> {
        // Formatting does not know who asked for it: the line that made the value is the best there is.
        let buffer = match read_for_host(&self.var, "it is printed", self.var.site())? {
            HostElements::Same(bits) => return Ok(vec![T::from_bits(bits); positions.len()]),
            HostElements::Memory(buffer) => buffer,
        };
        let mut elements = Vec::with_capacity(positions.len());
        for run in positions.chunk_by(|a, b| a + 1 == *b) {
            elements.extend(copy::<T>(&buffer, run[0], run.len())?);
        }
        Ok(elements)
    }
}

impl<T: Element> fmt::Debug for Array<T> {
    /// Element type, width, state, name and the line that made the value; the elements too if they are there and few.
    /// Evaluates nothing. What is computed inside of a traced loop or branch is
    /// `<symbolic f32[1024] in the loop at file.rs:12>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_symbolic(&self.var) {
            return fmt_symbolic(self, &[self.len()], f);
        }
        let site: &Location<'_> = self.var.site();
        write!(f, "Array<{}>(width {}, {}", T::TYPE, self.var.lanes(), schedule::state_name(&self.var))?;
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
