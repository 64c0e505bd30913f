//! Loops whose lanes are the elements of short rows, against the interpreter: packets with the end of one row and the
//! beginning of the next one, and packets that are as short as the rows.

use super::super::analysis::Analysis;
use super::super::hints::Hint;
use super::super::narrow;
use super::*;
use crate::ir::{Access, BinaryOp, Builder, CompareOp, Op, Type};

/// How a lane reads the elements of its column in the rows that its list names.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    /// At any row, which may be out of range.
    Any,
    /// At a row that is brought into range.
    InRange,
    /// Where a mask is on.
    Masked,
    /// In the opposite direction: neighbours are read from the end of a row.
    Mirrored,
}

/// Each lane adds elements of one column of a table: those of the rows in the list of its own row.
/// The parameters are the beginnings of lists, the lists, the table, masks, and the result.
fn kernel(form: Form, columns: u64, element: Type, index: Type) -> Kernel {
    let mut b = Builder::new();
    let [begins, lists] = [(); 2].map(|()| b.buffer(index, Access::Read));
    let table = b.buffer(element, Access::Read);
    let masks = b.buffer(Type::Bool, Access::Read);
    let output = b.buffer(element, Access::Write);
    let lane = b.lane_index();
    let lane = b.cast(index, lane);
    let [length, one, last] = [columns, 1, 63].map(|number| b.constant(index, number));
    let [row, column] = [BinaryOp::Div, BinaryOp::Rem].map(|op| b.binary(op, lane, length));
    let next = b.binary(BinaryOp::Add, row, one);
    let [first, end] = [row, next].map(|at| b.gather(begins, at, None));
    let mask = b.load(masks);
    let zero = b.constant(element, 0);
    let (condition, params) = b.open_region(&[index, element]);
    let (at, sum) = (params[0], params[1]);
    let goes_on = b.compare(CompareOp::Lt, at, end);
    b.close_region(vec![goes_on]);
    let (body, _) = b.open_region(&[]);
    let found = b.gather(lists, at, None);
    let found = if form == Form::InRange { b.binary(BinaryOp::And, found, last) } else { found };
    let start = b.binary(BinaryOp::Mul, found, length);
    let op = if form == Form::Mirrored { BinaryOp::Sub } else { BinaryOp::Add };
    let place = b.binary(op, start, column);
    let read = b.gather(table, place, (form == Form::Masked).then_some(mask));
    let doubled = b.binary(BinaryOp::Add, sum, sum);
    let next_sum = b.binary(BinaryOp::Add, doubled, read);
    let next_at = b.binary(BinaryOp::Add, at, one);
    b.close_region(vec![next_at, next_sum]);
    let sum = b.loop_(vec![first, zero], condition, body)[1];
    b.store(output, sum);
    b.finish()
}

const WIDTH: usize = 390;

/// Lists of 0 to 11 rows, some of which do not exist, in a buffer that ends before the last list does.
fn case(kernel: &Kernel, columns: u64, seed: u64) -> Case {
    let ty = |param: usize| kernel.params[param].ty();
    let rows = WIDTH.div_ceil(columns as usize) + 1;
    let length = |row: u64| (row * 7 + seed * 3) % 12;
    let begins = (0..rows as u64).scan(0, |at, row| Some(std::mem::replace(at, *at + length(row))));
    let begins: Vec<u64> = begins.collect();
    let entries = begins.last().map_or(0, |end| end.saturating_sub(seed % 4));
    let row = |entry: u64| match (entry * 31 + seed) % 23 {
        0 => ty(1).bit_mask() - entry % 3,
        1 => ty(1).bit_mask() >> 1,
        other => other * 13 % 64,
    };
    let inputs = vec![
        bytes(begins.into_iter(), ty(0)),
        bytes((0..entries).map(row), ty(1)),
        bytes((0..60 * columns + seed % 5).map(|at| at * 3 + 1), ty(2)),
        bytes((0..WIDTH as u64).map(|lane| u64::from((lane + seed) % 5 != 1)), Type::Bool),
        bytes(std::iter::repeat_n(0, WIDTH), ty(2)),
    ];
    Case { seed, kernel: kernel.clone(), width: WIDTH, inputs }
}

fn check_all(form: Form, columns: u64, element: Type, index: Type) {
    let kernel = kernel(form, columns, element, index);
    crate::ir::verify(&kernel).unwrap_or_else(|error| panic!("{form:?}: {error}\n{kernel}"));
    let cases: Vec<Case> = (0..4).map(|seed| case(&kernel, columns, seed)).collect();
    check_on_each_target(&cases, CodeOptions::default())
        .unwrap_or_else(|error| panic!("{form:?}, {columns} columns of {element} at {index}: {error}"));
}

#[test]
fn lanes_of_short_rows_read_what_their_lists_name() {
    for columns in [3, 4, 7, 8, 9, 10, 12, 16, 17, 20, 33, 50, 100] {
        check_all(Form::Any, columns, Type::U32, Type::U32);
    }
    for form in [Form::InRange, Form::Masked, Form::Mirrored] {
        for columns in [8, 10, 20, 33] {
            check_all(form, columns, Type::U32, Type::U32);
        }
    }
    for (element, index) in
        [(Type::I64, Type::I32), (Type::U8, Type::U64), (Type::I16, Type::U32), (Type::U32, Type::I64)]
    {
        for columns in [8, 9, 30] {
            check_all(Form::Any, columns, element, index);
            check_all(Form::Masked, columns, element, index);
        }
    }
}

/// A processor with packets of 16 lanes.
fn wide_target() -> Target {
    let features = "+sse4.2,+avx2,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd";
    Target::new(Architecture::X86_64, "x86-64-v4".into(), features.into())
}

#[test]
fn packets_are_as_short_as_rows_where_loops_are_then_shared() {
    for (columns, lanes) in [(4, 4), (8, 8), (12, 4), (16, 16), (24, 8), (9, 16), (3, 16), (48, 16)] {
        let kernel = kernel(Form::Any, columns, Type::F32, Type::U32);
        assert_eq!(narrow::target_for(&kernel, &wide_target()).lanes, lanes, "{columns} columns");
    }
}

#[test]
fn positions_in_the_lists_of_rows_are_expected_to_be_shared() {
    for (columns, is_expected) in [(9, true), (30, true), (7, false), (3, false)] {
        let kernel = kernel(Form::Any, columns, Type::U32, Type::U32);
        let analysis = Analysis::new(&kernel, 16);
        let gathers = kernel.regions.iter().skip(1).flat_map(|region| &region.insts);
        let hints: Vec<_> = gathers
            .filter_map(|inst| match inst.op {
                Op::Gather { index, .. } => {
                    Some(analysis.index_hint(&kernel, index).filter(|_| analysis.in_rows[index.index()]))
                }
                _ => None,
            })
            .collect();
        let expected = [Some(Hint::Shared), Some(Hint::Consecutive)].map(|hint| hint.filter(|_| is_expected));
        assert_eq!(hints, expected, "{columns} columns");
    }
}
