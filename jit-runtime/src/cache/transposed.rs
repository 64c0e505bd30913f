//! Transposed reads, and the order of lanes in which they cost least.
//!
//! Where rows become columns, neighbouring lanes read elements that are a whole row apart, and the lanes of the next
//! row read their neighbours. In the order of the lanes, a cache line is loaded for one element and gone when the next
//! one is wanted; sooner if rows have a power of two as length, since then their elements share few places in the
//! caches. So the lanes of such launches run in tiles: some columns of as many rows as a cache line has elements.

use std::ops::Range;

use crate::backend::RawArgument;
use crate::ir::{Access, BinaryOp, Inst, Kernel, Op, Param, TOP, Type, Value};

/// The bytes of a cache line.
const LINE: i64 = 64;
/// The columns of a tile: their lines stay in the caches, even if they share some places there …
const COLUMNS: u64 = 64;
/// … unless their distance is a multiple of so many bytes, which leaves a cache of the first level one place or two for
/// all of them. The next level then has places for so many.
const CONFLICT: i64 = 2048;
const FEW_COLUMNS: u64 = 16;
/// The most rows of a tile.
const MOST_ROWS: u64 = 16;

/// Reads of a kernel that may be transposed, by the instructions that compute their indices.
pub(crate) struct Transposed {
    insts: Box<[Inst]>,
    /// The index and the bytes of an element.
    reads: Box<[(Value, i64)]>,
    /// The number of values in the kernel.
    values: usize,
}

/// How lanes are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tiles {
    /// The number of lanes in a row.
    row: u64,
    /// The number of rows in a tile.
    rows: u64,
    /// The number of columns in a tile.
    columns: u64,
}

/// How a value changes from lane to lane, as far as rows do not end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Constant(i64),
    /// The number of the lane.
    Lane,
    /// By so much with the lane in its row, and with the row.
    Place {
        column: i64,
        row: i64,
    },
}

impl Transposed {
    /// Finds the reads of a kernel whose lanes are independent of one another.
    pub(super) fn of(kernel: &Kernel) -> Option<Transposed> {
        let top = &kernel.region(TOP).insts;
        if !kernel.locals.is_empty() || !top.iter().all(|inst| is_independent(kernel, &inst.op)) {
            return None;
        }
        let size = |buffer| kernel.param(buffer).ty().size_bytes() as i64;
        let reads: Box<[(Value, i64)]> = top
            .iter()
            .filter_map(|inst| match inst.op {
                Op::Gather { buffer, index, .. } => Some((index, size(buffer))),
                _ => None,
            })
            .collect();
        if reads.is_empty() {
            return None;
        }
        let mut wanted: Vec<bool> = vec![false; kernel.types.len()];
        reads.iter().for_each(|(index, _)| wanted[index.index()] = true);
        let mut insts = Vec::new();
        for inst in top.iter().rev().filter(|inst| inst.results == 1 && kernel.ty(inst.first).is_integer()) {
            if std::mem::take(&mut wanted[inst.first.index()]) {
                inst.op.for_each_operand(|operand| wanted[operand.index()] = true);
                insts.push(inst.clone());
            }
        }
        insts.reverse();
        let divides = |inst: &Inst| division(&inst.op).is_some();
        insts.iter().any(divides).then(|| Transposed { insts: insts.into(), reads, values: kernel.types.len() })
    }

    /// Returns how the lanes of a launch are ordered; none for the usual order.
    pub(crate) fn tiles(&self, arguments: &[RawArgument], width: u64) -> Option<Tiles> {
        let mut forms = vec![None; self.values];
        let lengths = self.insts.iter().filter_map(|inst| {
            let form = form(inst, &forms, arguments, None);
            forms[inst.first.index()] = form;
            let (lane, operand) = division(&inst.op)?;
            let is_of_lanes = forms[lane.index()] == Some(Form::Lane);
            length(&inst.op, constant(&forms, operand)?).filter(|_| is_of_lanes)
        });
        let row = lengths.min()?;
        forms.fill(None);
        for inst in &self.insts {
            forms[inst.first.index()] = form(inst, &forms, arguments, Some(row));
        }
        let tiles = self.reads.iter().filter_map(|&(index, size)| tile(forms[index.index()]?, size));
        let (rows, columns) = tiles.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))?;
        let tiles = Tiles { row: row as u64, rows, columns };
        // There are more rows of tiles than threads.
        (tiles.row > COLUMNS && tiles.lanes() <= width / 8).then_some(tiles)
    }
}

/// Whether lanes may run in any order.
fn is_independent(kernel: &Kernel, op: &Op) -> bool {
    match *op {
        Op::Gather { buffer, .. } => matches!(kernel.param(buffer), Param::Buffer { access: Access::Read, .. }),
        _ => {
            !op.has_regions()
                && !matches!(
                    op,
                    Op::Scatter { .. } | Op::Atomic { .. } | Op::CompareExchange { .. } | Op::Reduce { .. }
                )
        }
    }
}

/// The operands of an operation that divides lanes into rows.
fn division(op: &Op) -> Option<(Value, Value)> {
    match *op {
        Op::Binary(BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shr | BinaryOp::And, lane, by) => Some((lane, by)),
        _ => None,
    }
}

/// The length of the rows into which such an operation divides lanes.
fn length(op: &Op, operand: i64) -> Option<i64> {
    match op {
        Op::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => Some(operand),
        Op::Binary(BinaryOp::Shr, ..) => (0..31).contains(&operand).then(|| 1 << operand),
        Op::Binary(BinaryOp::And, ..) => Some(operand + 1).filter(|length| length.count_ones() == 1),
        _ => None,
    }
    .filter(|length| *length > 1)
}

fn constant(forms: &[Option<Form>], value: Value) -> Option<i64> {
    match forms[value.index()] {
        Some(Form::Constant(number)) => Some(number),
        _ => None,
    }
}

/// The form of a result. While the length of rows is not known, only lanes and constants have one.
fn form(inst: &Inst, forms: &[Option<Form>], arguments: &[RawArgument], row: Option<i64>) -> Option<Form> {
    let of = |value: Value| forms[value.index()];
    match inst.op {
        Op::LaneIndex => Some(Form::Lane),
        Op::Const(ty, bits) => Some(Form::Constant(number(ty, bits))),
        Op::Scalar(param) => Some(Form::Constant(arguments[param.index()].word as i64)),
        Op::Cast(_, a) | Op::Bitcast(_, a) => of(a),
        Op::Select(_, a, b) => of(a).filter(|form| Some(*form) == of(b)),
        Op::Binary(op, a, b) => binary(op, &inst.op, (of(a)?, of(b)?), row),
        _ => None,
    }
}

/// The value of a constant.
fn number(ty: Type, bits: u64) -> i64 {
    let unused = 64 - ty.bits();
    if ty.is_signed_integer() { (bits as i64) << unused >> unused } else { bits as i64 }
}

fn binary(op: BinaryOp, whole: &Op, (a, b): (Form, Form), row: Option<i64>) -> Option<Form> {
    if let (Form::Constant(a), Form::Constant(b)) = (a, b) {
        return Some(Form::Constant(match op {
            BinaryOp::Add => a.checked_add(b)?,
            BinaryOp::Sub => a.checked_sub(b)?,
            BinaryOp::Mul => a.checked_mul(b)?,
            BinaryOp::Max => a.max(b),
            BinaryOp::Min => a.min(b),
            _ => return None,
        }));
    }
    let row = row?;
    if let (Form::Lane, Form::Constant(operand)) = (a, b)
        && let Some(length) = length(whole, operand)
    {
        let is_position = matches!(op, BinaryOp::Rem | BinaryOp::And);
        return match (length == row, length % row == 0) {
            (true, _) if is_position => Some(Form::Place { column: 1, row: 0 }),
            (true, _) => Some(Form::Place { column: 0, row: 1 }),
            (_, true) if is_position => Some(Form::Lane),
            (_, true) => Some(Form::Place { column: 0, row: 0 }),
            _ => None,
        };
    }
    let [(ca, ra), (cb, rb)] = [a, b].map(|form| match form {
        Form::Constant(_) => (0, 0),
        Form::Lane => (1, row),
        Form::Place { column, row } => (column, row),
    });
    let place = |column, row| Some(Form::Place { column, row });
    let scaled = |factor: i64, column: i64, row: i64| place(column.checked_mul(factor)?, row.checked_mul(factor)?);
    match (op, a, b) {
        (BinaryOp::Add, ..) => place(ca.checked_add(cb)?, ra.checked_add(rb)?),
        (BinaryOp::Sub, ..) => place(ca.checked_sub(cb)?, ra.checked_sub(rb)?),
        (BinaryOp::Mul, _, Form::Constant(factor)) => scaled(factor, ca, ra),
        (BinaryOp::Mul, Form::Constant(factor), _) => scaled(factor, cb, rb),
        (BinaryOp::Shl, _, Form::Constant(bits @ 0..32)) => scaled(1 << bits, ca, ra),
        // Where nothing is cut.
        (BinaryOp::Min | BinaryOp::Max, _, Form::Constant(_)) => place(ca, ra),
        (BinaryOp::Min | BinaryOp::Max, Form::Constant(_), _) => place(cb, rb),
        // Rows that are divided again.
        (BinaryOp::Rem | BinaryOp::And, _, Form::Constant(_)) if ca == 0 => place(0, ra),
        (BinaryOp::Div | BinaryOp::Shr, _, Form::Constant(_)) if ca == 0 => place(0, 0),
        _ => None,
    }
}

/// The rows whose elements are in one cache line, if those of one row are not, and the columns of a tile.
fn tile(index: Form, size: i64) -> Option<(u64, u64)> {
    let Form::Place { column, row } = index else { return None };
    let [column, row] = [column, row].map(|distance| distance.saturating_mul(size).saturating_abs());
    let is_transposed = column >= LINE && (1..LINE).contains(&row);
    let rows = is_transposed.then(|| ((LINE / row) as u64).min(MOST_ROWS)).filter(|rows| *rows > 1)?;
    Some((rows, if column % CONFLICT == 0 { FEW_COLUMNS } else { COLUMNS }))
}

impl Tiles {
    /// The number of lanes in the rows of a tile.
    pub(crate) fn lanes(self) -> u64 {
        self.rows.saturating_mul(self.row)
    }

    /// Calls a function with the parts of some lanes, in the order of the tiles. They begin at multiples of a step, if
    /// the lanes do.
    pub(crate) fn for_each_part(self, lanes: Range<u64>, step: u64, mut run: impl FnMut(Range<u64>)) {
        let at = |lane: u64| if lane >= lanes.end { lanes.end } else { (lane / step * step).max(lanes.start) };
        let [first, end] = [lanes.start / self.row, lanes.end.div_ceil(self.row)];
        for top in (first..end).step_by(self.rows as usize) {
            for left in (0..self.row).step_by(self.columns as usize) {
                for row in top..(top + self.rows).min(end) {
                    let begin = row * self.row;
                    let part = at(begin + left)..at(begin + (left + self.columns).min(self.row));
                    if !part.is_empty() {
                        run(part);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Builder;

    /// A kernel that reads the element at `place(lane % height, lane / height)` of a matrix, with the height as a
    /// parameter.
    fn reads(ty: Type, place: impl FnOnce(&mut Builder, Value, Value) -> Value) -> Kernel {
        let mut b = Builder::new();
        let table = b.buffer(ty, Access::Read);
        let height = b.scalar_param(Type::U32);
        let lane = b.lane_index();
        let height = b.scalar(height);
        let [y, x] = [BinaryOp::Rem, BinaryOp::Div].map(|op| b.binary(op, lane, height));
        let index = place(&mut b, y, x);
        let found = b.gather(table, index, None);
        let output = b.buffer(ty, Access::Write);
        b.store(output, found);
        b.finish()
    }

    fn scaled(b: &mut Builder, value: Value, factor: u64) -> Value {
        let factor = b.constant(Type::U32, factor);
        b.binary(BinaryOp::Mul, value, factor)
    }

    /// The tiles of a launch of 2000 rows with `height` lanes.
    fn tiles_of(kernel: &Kernel, height: u64) -> Option<Tiles> {
        let arguments = [0, height, 0].map(|word| RawArgument { word, length: 0 });
        Transposed::of(kernel)?.tiles(&arguments, 2000 * height)
    }

    #[test]
    fn rows_that_become_columns_are_read_in_tiles() {
        let transposed = |ty: Type, width: u64| {
            reads(ty, |b, y, x| {
                let row = scaled(b, y, width);
                b.binary(BinaryOp::Add, row, x)
            })
        };
        let tiles = |row, rows| Some(Tiles { row, rows, columns: 64 });
        assert_eq!(tiles_of(&transposed(Type::F32, 1000), 300), tiles(300, 16));
        assert_eq!(tiles_of(&transposed(Type::F64, 1000), 300), tiles(300, 8));
        assert_eq!(tiles_of(&transposed(Type::U8, 1000), 300), tiles(300, 16));
        // Whose elements would share few places in the caches.
        for (ty, width) in [(Type::F32, 512), (Type::F32, 4096), (Type::F64, 768)] {
            let tiles = tiles_of(&transposed(ty, width), 300).unwrap();
            assert_eq!((tiles.row, tiles.columns), (300, 16), "{ty} {width}");
        }
        // All of a few short rows stays in the caches.
        assert_eq!(tiles_of(&transposed(Type::F32, 1000), 64), None);
        assert_eq!(tiles_of(&transposed(Type::F32, 10), 300), None);
    }

    #[test]
    fn other_reads_are_in_the_order_of_the_lanes() {
        let of_a_row = |b: &mut Builder, y: Value, x: Value| {
            let row = scaled(b, x, 1000);
            b.binary(BinaryOp::Add, row, y)
        };
        assert_eq!(tiles_of(&reads(Type::F32, of_a_row), 300), None);
        let of_a_column = |b: &mut Builder, y: Value, _: Value| scaled(b, y, 1000);
        assert_eq!(tiles_of(&reads(Type::F32, of_a_column), 300), None);
        let anywhere = |b: &mut Builder, y: Value, x: Value| b.binary(BinaryOp::Xor, y, x);
        assert_eq!(tiles_of(&reads(Type::F32, anywhere), 300), None);
    }

    #[test]
    fn matrices_one_after_another_are_read_in_tiles() {
        let mut b = Builder::new();
        let table = b.buffer(Type::F32, Access::Read);
        let lane = b.lane_index();
        let [height, width, size] = [300, 500, 150_000].map(|number| b.constant(Type::U32, number));
        let [y, row] = [BinaryOp::Rem, BinaryOp::Div].map(|op| b.binary(op, lane, height));
        let (x, matrix) = (b.binary(BinaryOp::Rem, row, width), b.binary(BinaryOp::Div, lane, size));
        let (first, row) = (b.binary(BinaryOp::Mul, matrix, size), b.binary(BinaryOp::Mul, y, width));
        let place = b.binary(BinaryOp::Add, row, x);
        let index = b.binary(BinaryOp::Add, first, place);
        let found = b.gather(table, index, None);
        let output = b.buffer(Type::F32, Access::Write);
        b.store(output, found);
        assert_eq!(tiles_of(&b.finish(), 300), Some(Tiles { row: 300, rows: 16, columns: 64 }));
    }

    #[test]
    fn lanes_that_depend_on_one_another_keep_their_order() {
        let mut b = Builder::new();
        let (table, sums) = (b.buffer(Type::F32, Access::Read), b.buffer(Type::F32, Access::ReadWrite));
        let lane = b.lane_index();
        let [height, width] = [300, 1000].map(|number| b.constant(Type::U32, number));
        let [y, x] = [BinaryOp::Rem, BinaryOp::Div].map(|op| b.binary(op, lane, height));
        let row = b.binary(BinaryOp::Mul, y, width);
        let index = b.binary(BinaryOp::Add, row, x);
        let found = b.gather(table, index, None);
        b.scatter(Some(crate::ir::ReduceOp::Add), sums, x, found, None);
        assert!(Transposed::of(&b.finish()).is_none());
    }

    #[test]
    fn tiles_have_each_lane_once() {
        for (row, rows, step, columns) in
            [(100, 16, 64, 64), (65, 4, 16, 16), (1000, 2, 32, 64), (128, 8, 64, 16), (130, 8, 8, 16)]
        {
            let tiles = Tiles { row, rows, columns };
            for lanes in [0..10 * row, 64..7 * row + 3, 3 * row..3 * row + 1, 128..192] {
                let mut seen = vec![0; lanes.end as usize];
                tiles.for_each_part(lanes.clone(), step, |part| {
                    assert!(part.start % step == 0 || part.start == lanes.start, "{part:?}");
                    part.for_each(|lane| seen[lane as usize] += 1);
                });
                assert!((0..).zip(&seen).all(|(lane, &count)| count == u32::from(lanes.contains(&lane))), "{lanes:?}");
            }
        }
    }
}
