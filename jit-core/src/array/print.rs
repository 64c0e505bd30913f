//! Formatting of arrays of any shape.
//!
//! The rules are NumPy's. More than 1000 elements are shortened to three at the ends of each axis. Lines end before
//! column 75, and elements below one another are aligned. Floats have the fewest digits that distinguish them from
//! their neighbours. Only the elements shown are copied from the device. `columns` breaks them into lines.

use std::fmt;

use jit_runtime::ir::{Type, scalar};
use jit_runtime::{Error, ErrorKind, Site};

use super::columns::{Cell, Rows};
use super::read::copy;
use super::{Array, Element};
use crate::capture::launches;
use crate::graph::Var;
use crate::schedule;
use crate::schedule::read::{HostElements, read_for_host};
use crate::trace::region;

/// Longer arrays are shortened to their ends.
const LONGEST: usize = 1000;
/// The number of elements that are then shown at each end of an axis.
const END: usize = 3;

impl<T: Element> fmt::Display for Array<T> {
    /// Writes the elements, which evaluates the array; a long array is shortened to its ends. If the evaluation fails,
    /// its error is printed in their place. If the environment holds an invalid setting, such as `JIT_DEVICE=cuda`, it
    /// panics. Values computed inside a traced loop or branch have no elements yet: they are printed as `<symbolic
    /// f32[1024] in the loop at file.rs:12>`, and nothing is evaluated; while a module is traced, as `<recorded
    /// f32[1024], sin at file.rs:12>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Unread::when_displayed(&self.var) {
            // Not `len`: printing is no decision by the width.
            Some(unread) => unread.write(self, &[self.var.lanes()], f),
            None => fmt_shaped(self, &[self.len()], f),
        }
    }
}

/// Writes the elements of an array as those of a row-major shape.
#[doc(hidden)]
#[expect(clippy::panic, reason = "an invalid setting or a device that cannot be used make every evaluation fail")]
pub fn fmt_shaped<T: Element>(array: &Array<T>, shape: &[usize], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(unread) = Unread::when_displayed(array.var()) {
        return unread.write(array, shape, f);
    }
    let axes: Vec<Vec<Option<usize>>> = shape.iter().map(|&length| shown_of_axis(length, array.len())).collect();
    let mut positions = Vec::new();
    collect_positions(&axes, shape, 0, &mut positions);
    match array.at_positions(&positions) {
        Ok(elements) => {
            let cells = elements.iter().map(|element| Cell::new(text(*element, f.precision()), T::TYPE.is_float()));
            Rows::new(cells.collect(), &axes).write(f)
        }
        // No further operation could succeed, so text that may go unread must not hide the error.
        Err(error) if matches!(error.kind(), ErrorKind::Configuration | ErrorKind::NoDevice) => panic!("{error}"),
        Err(error) => write!(f, "<{error}>"),
    }
}

/// Why the elements of an array are not printed.
#[derive(Clone, Copy)]
enum Unread {
    /// They are known only when the kernel runs.
    Symbolic,
    /// They differ from one replay of what is recorded to the next.
    Recorded,
}

impl Unread {
    fn when_displayed(var: &Var) -> Option<Unread> {
        Unread::when_debugged(var).filter(|unread| match unread {
            Unread::Symbolic => true,
            Unread::Recorded => launches::prints_no_contents(),
        })
    }

    /// A literal is a number wherever it was made.
    fn when_debugged(var: &Var) -> Option<Unread> {
        if var.known_bits().is_none() && schedule::is_symbolic(var) {
            return Some(Unread::Symbolic);
        }
        launches::may_differ(var).then_some(Unread::Recorded)
    }

    /// Writes the known properties of an array in place of its elements.
    fn write<T: Element>(self, array: &Array<T>, shape: &[usize], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Unread::Symbolic => "symbolic",
            Unread::Recorded => "recorded",
        };
        write!(f, "<{what} {}{shape:?}", T::TYPE)?;
        if let Some(label) = array.var().label() {
            write!(f, " “{label}”")?;
        }
        match self {
            Unread::Symbolic => write!(f, " {}>", region::describe(array.var())),
            Unread::Recorded => {
                let (name, site) = (array.var().operation_name(), array.var().site());
                write!(f, ", {name} at {}:{}>", site.file(), site.line())
            }
        }
    }
}

/// Writes the known properties of an array that has no elements now, as [`fmt::Debug`] does; `None` if it may have
/// some.
#[doc(hidden)]
pub fn fmt_unread<T: Element>(array: &Array<T>, shape: &[usize], f: &mut fmt::Formatter<'_>) -> Option<fmt::Result> {
    Unread::when_debugged(array.var()).map(|unread| unread.write(array, shape, f))
}

/// Returns the positions shown along an axis; `None` for those left out.
fn shown_of_axis(length: usize, elements: usize) -> Vec<Option<usize>> {
    if elements <= LONGEST || length <= 2 * END {
        return (0..length).map(Some).collect();
    }
    (0..END).map(Some).chain([None]).chain((length - END..length).map(Some)).collect()
}

/// Collects the numbers of the elements that are shown, in their order.
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

/// Returns the text of an element. Floats have the requested number of digits after the point; without a request, very
/// large and very small ones have an exponent.
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

/// Returns the decimal number with the fewest digits that is nearer to a half than to its neighbours.
fn shortest_of_half<T: Element>(element: T, value: f64) -> f64 {
    let is_it = |short: &f64| scalar::cast(Type::F64, T::TYPE, short.to_bits()) == element.to_bits();
    (0..8).filter_map(|digits| format!("{value:.digits$e}").parse().ok()).find(is_it).unwrap_or(value)
}

impl<T: Element> Array<T> {
    /// Returns the elements at some positions, which ascend; neighbours are copied together.
    fn at_positions(&self, positions: &[usize]) -> Result<Vec<T>, Error> {
        // Formatting has no caller location: the line that made the value is the best available.
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
    /// Writes element type, width, state, name and the line that made the value; also the elements, if they are
    /// available and few. Evaluates nothing. Values computed inside a traced loop or branch are printed as `<symbolic
    /// f32[1024] in the loop at file.rs:12>`, those of a function or module that is recorded as `<recorded f32[1024],
    /// sin at file.rs:12>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(written) = fmt_unread(self, &[self.var.lanes()], f) {
            return written;
        }
        let site: Site = self.var.site();
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
