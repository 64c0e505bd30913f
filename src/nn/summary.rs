//! A table of what a module consists of.

use std::fmt;

use super::kind::{Kind, entries};
use super::state::path_of;
use crate::Traverse;

/// The parameters and buffers of a module, printed as a table: [`Model::summary`](super::Model::summary).
///
/// ```
/// use jit::nn::{Linear, Model, Relu};
/// use jit::prelude::*;
///
/// let mut rng = jit::random::rng(1);
/// let mut net: (Linear, Relu, Linear) = (Linear::new(4, 8, &mut rng), Relu, Linear::new(8, 2, &mut rng));
/// net.freeze("0");
/// assert_eq!(net.summary().to_string(), "\
/// | name     | shape  | type | elements | kind             |
/// |----------|--------|------|---------:|------------------|
/// | 0.weight | [8, 4] | f32  |       32 | frozen parameter |
/// | 0.bias   | [8]    | f32  |        8 | frozen parameter |
/// | 2.weight | [2, 8] | f32  |       16 | parameter        |
/// | 2.bias   | [2]    | f32  |        2 | parameter        |
/// 58 parameters, 18 of them trained; 232 bytes with buffers
/// ");
/// ```
#[derive(Clone, Debug)]
pub struct Summary {
    rows: Vec<Row>,
    /// The bytes of all rows.
    bytes: usize,
}

/// A parameter or buffer.
#[derive(Clone, Debug)]
struct Row {
    name: String,
    shape: String,
    ty: &'static str,
    elements: usize,
    kind: Kind,
}

impl Row {
    fn cells(&self) -> [String; 5] {
        let kind = match self.kind {
            Kind::Parameter => "parameter",
            Kind::FrozenParameter => "frozen parameter",
            Kind::Buffer => "buffer",
            Kind::Plain => "array",
        };
        [self.name.clone(), self.shape.clone(), self.ty.to_owned(), self.elements.to_string(), kind.to_owned()]
    }
}

impl Summary {
    pub(super) fn of(tree: &(impl Traverse + ?Sized)) -> Summary {
        let mut summary = Summary { rows: Vec::new(), bytes: 0 };
        for entry in entries(tree).into_iter().filter(|entry| entry.kind.is_state()) {
            let elements = entry.var.lanes();
            summary.bytes += elements * entry.var.ty().bits() as usize / 8;
            let (name, shape) = (path_of(&entry.path), format!("{:?}", entry.shape));
            summary.rows.push(Row { name, shape, ty: entry.var.ty().name(), elements, kind: entry.kind });
        }
        summary
    }

    /// Returns the number of elements of rows.
    fn elements(&self, is_counted: impl Fn(Kind) -> bool) -> usize {
        self.rows.iter().filter(|row| is_counted(row.kind)).map(|row| row.elements).sum()
    }
}

/// Which column is aligned at its right.
const NUMBERS: usize = 3;

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["name", "shape", "type", "elements", "kind"].map(str::to_owned);
        let cells: Vec<[String; 5]> = std::iter::once(head).chain(self.rows.iter().map(Row::cells)).collect();
        let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        for (number, row) in cells.iter().enumerate() {
            for (column, cell) in row.iter().enumerate() {
                match column == NUMBERS {
                    true => write!(f, "| {cell:>0$} ", width(column))?,
                    false => write!(f, "| {cell:<0$} ", width(column))?,
                }
            }
            writeln!(f, "|")?;
            if number == 0 {
                for column in 0..row.len() {
                    let (line, end) = ("-".repeat(width(column) + 1), if column == NUMBERS { ":" } else { "-" });
                    write!(f, "|{line}{end}")?;
                }
                writeln!(f, "|")?;
            }
        }
        let all = self.elements(|kind| kind != Kind::Buffer);
        let trained = self.elements(|kind| kind == Kind::Parameter);
        writeln!(f, "{all} parameters, {trained} of them trained; {} bytes with buffers", self.bytes)
    }
}
