//! Numbers in nested brackets and aligned columns.

use std::fmt;

/// Lines end before this column.
const LINE_WIDTH: usize = 75;
/// Printed in place of elements that are left out.
const OMITTED: &str = "…";

/// The text of an element, and how much of it precedes the decimal point of its column.
pub(super) struct Cell {
    text: String,
    before_point: usize,
}

impl Cell {
    /// Creates the cell of an element. Floats are aligned by their decimal points, everything else by the last
    /// character.
    pub(super) fn new(text: String, is_float: bool) -> Self {
        let point = text.find(['.', 'e']).filter(|_| is_float);
        let before_point = point.unwrap_or(text.len());
        Cell { text, before_point }
    }

    fn after_point(&self) -> usize {
        self.text.len() - self.before_point
    }
}

/// Elements in the nested rows of their shape.
pub(super) struct Rows<'a> {
    cells: std::vec::IntoIter<Cell>,
    /// The positions shown along each axis; `None` where elements are left out.
    axes: &'a [Vec<Option<usize>>],
    /// The widths before and after the point; `None` if everything fits in one line.
    columns: Option<(usize, usize)>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(cells: Vec<Cell>, axes: &'a [Vec<Option<usize>>]) -> Self {
        let in_one_line = axes.len() <= 1 && cells.iter().map(|cell| cell.text.len() + 2).sum::<usize>() < LINE_WIDTH;
        let columns = (!in_one_line).then(|| {
            let widest = |width: fn(&Cell) -> usize| cells.iter().map(width).max().unwrap_or(0);
            (widest(|cell| cell.before_point), widest(Cell::after_point))
        });
        Rows { cells: cells.into_iter(), axes, columns }
    }

    pub(super) fn write(mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.axes.is_empty() && self.cells.len() == 0 {
            return f.write_str("[]");
        }
        self.write_axis(f, 0)
    }

    fn write_axis(&mut self, f: &mut fmt::Formatter<'_>, axis: usize) -> fmt::Result {
        match self.axes.len() - axis {
            0 => self.next_cell(f),
            1 => self.write_row(f, axis),
            rest => self.write_rows(f, axis, rest),
        }
    }

    /// Writes rows below one another, with empty lines between those of outer axes.
    fn write_rows(&mut self, f: &mut fmt::Formatter<'_>, axis: usize, rest: usize) -> fmt::Result {
        f.write_str("[")?;
        let axes = self.axes;
        for (number, shown) in axes[axis].iter().enumerate() {
            if number > 0 {
                write!(f, ",{}{:indent$}", "\n".repeat(rest - 1), "", indent = axis + 1)?;
            }
            match shown {
                Some(_) => self.write_axis(f, axis + 1)?,
                None => f.write_str(OMITTED)?,
            }
        }
        f.write_str("]")
    }

    /// Writes one row, on as many lines as it needs.
    fn write_row(&mut self, f: &mut fmt::Formatter<'_>, axis: usize) -> fmt::Result {
        f.write_str("[")?;
        let axes = self.axes;
        let mut column = axis + 1;
        for (number, shown) in axes[axis].iter().enumerate() {
            let width = self.next_width(shown.is_some());
            // A separator before it, and brackets or a comma after it.
            let separator = if number == 0 { 0 } else { 2 };
            if column + separator + width + self.axes.len() > LINE_WIDTH && number > 0 {
                write!(f, ",\n{:indent$}", "", indent = axis + 1)?;
                column = axis + 1;
            } else {
                f.write_str(&", "[..separator])?;
                column += separator;
            }
            match shown {
                Some(_) => self.next_cell(f)?,
                None => f.write_str(OMITTED)?,
            }
            column += width;
        }
        f.write_str("]")
    }

    /// Returns the width of the next item in a row.
    fn next_width(&self, is_cell: bool) -> usize {
        match (is_cell, self.columns) {
            (false, _) => 1,
            (true, Some((before, after))) => before + after,
            (true, None) => self.cells.as_slice().first().map_or(0, |cell| cell.text.len()),
        }
    }

    fn next_cell(&mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cell) = self.cells.next() else { return Ok(()) };
        match self.columns.filter(|_| !self.axes.is_empty()) {
            None => f.write_str(&cell.text),
            Some((before, after)) => {
                let (left, right) = (before - cell.before_point, after - cell.after_point());
                write!(f, "{:left$}{}{:right$}", "", cell.text, "")
            }
        }
    }
}
