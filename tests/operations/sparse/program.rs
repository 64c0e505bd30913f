//! Programs as data, and those of random seeds.

use crate::dice::Dice;
use jit_runtime::ir::{BinaryOp, Type, scalar};

/// Elements of the arrays that all lanes add to.
pub(super) const SHARED: usize = 24;
/// Elements of the memory of each lane, of each type.
pub(super) const SCRATCH: usize = 6;
/// The number of types.
pub(super) const KINDS: usize = 8;
pub(super) const TYPES: [Type; KINDS] =
    [Type::U8, Type::I16, Type::I32, Type::I64, Type::U64, Type::F16, Type::F32, Type::F64];
const DEEPEST: usize = 3;
/// The iterations of loops that end by a condition.
pub(super) const FEW: u32 = 9;

/// A position in a table.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// The counter of the loop, times a number, plus a number that may be negative.
    Counter(u32, i32),
    /// A number minus the counter.
    Down(u32),
    /// The element of the list of positions at a position.
    Listed(Box<Place>),
    Lane(u32, u32),
    /// The lane number plus the counter times a number.
    LaneAndCounter(u32),
    /// A number of the state, of some type, as a 32-bit integer.
    State(usize),
}

#[derive(Clone, Debug)]
pub(super) enum Source {
    Literal(i32),
    Cast(usize),
    Table(Place),
    /// An element of the lane's own memory of the type.
    Scratch(Place),
    Place(Place),
}

#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// Two numbers of the state, one of them cast to the type of the other.
    Less(usize, usize),
    Bit(u32),
    Flag,
    NotFlag,
}

#[derive(Clone, Debug)]
pub(super) enum Bounds {
    /// From an element of the list of starts to the next one.
    Row(Place),
    /// From a number to another one.
    Numbers(u32, u32),
    /// As many as the low bits of a number of the state say.
    Few(usize),
}

/// How a loop runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    Recorded,
    Evaluated,
    Compressed,
}

#[derive(Clone, Debug)]
pub(super) enum Statement {
    Set(usize, BinaryOp, Source),
    Flag(Condition),
    If(Condition, Vec<Statement>, Vec<Statement>),
    For(Mode, Bounds, Vec<Statement>),
    While(Condition, Vec<Statement>),
    /// Adds to an element of the array that all lanes share, of a type of integers.
    Add(usize, Place, Source),
    Store(usize),
    /// Writes an element of the lane's own memory of a type.
    Write(usize, Place),
    BreakIf(Condition),
    ContinueIf(Condition),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Begin {
    Literal,
    Opaque,
    Lanes,
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) width: usize,
    pub(super) begins: [Begin; KINDS],
    /// The elements of each table, and whether the program reads an expression of it.
    pub(super) tables: Vec<Vec<u64>>,
    pub(super) is_expression: [bool; KINDS],
    /// The start of each row, and the positions that rows list.
    pub(super) starts: Vec<u32>,
    pub(super) list: Vec<u32>,
    pub(super) state: Vec<Vec<u64>>,
    pub(super) body: Vec<Statement>,
}

const WIDTHS: &[usize] = &[1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 100, 129, 257, 500, 1000, 3001];

impl Program {
    pub(super) fn new(seed: u64) -> Program {
        Program::on(seed, 0)
    }

    /// The program of a seed on other data, of other sizes.
    pub(super) fn on(seed: u64, variant: u64) -> Program {
        let mut dice = Dice(seed.wrapping_mul(0xa076_1d64_78bd_642f));
        dice.roll(2);
        let is_expression = [(); KINDS].map(|()| dice.roll(3) == 0);
        let begins = [(); KINDS].map(|()| [Begin::Literal, Begin::Opaque, Begin::Lanes][dice.roll(3)]);
        let mut body = block(&mut dice, 0, 2);
        // At least one loop over rows of the lane.
        let place = if dice.roll(2) == 0 { Place::Lane(1, 0) } else { Place::Listed(Box::new(Place::Lane(1, 0))) };
        let inner = block(&mut dice, 1, 6);
        let mode = [Mode::Recorded, Mode::Recorded, Mode::Recorded, Mode::Evaluated, Mode::Compressed][dice.roll(5)];
        body.push(Statement::For(mode, Bounds::Row(place), inner));
        body.extend(block(&mut dice, 0, 2));
        let mut dice = Dice(dice.0 ^ variant.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        dice.roll(2);
        let width = if dice.roll(30) == 0 { 20_011 } else { WIDTHS[dice.roll(WIDTHS.len())] };
        let (starts, list, table) = lists(&mut dice, width);
        let tables = TYPES.map(|ty| (0..table).map(|_| element(&mut dice, ty)).collect()).to_vec();
        let state = { begins.iter().zip(TYPES) }.map(|(begin, ty)| {
            let count = if let Begin::Lanes = begin { width } else { 1 };
            (0..count).map(|_| element(&mut dice, ty)).collect()
        });
        let state = state.collect();
        Program { width, begins, tables, is_expression, starts, list, state, body }
    }
}

/// The starts of rows, the positions that they list, and the length of the tables.
fn lists(dice: &mut Dice, width: usize) -> (Vec<u32>, Vec<u32>, usize) {
    let rows = [width, width, width / 2 + 1, 5][dice.roll(4)];
    let (longest, is_ragged) = ([1, 3, 9, 20, 60][dice.roll(5)], dice.roll(5) == 0);
    let longest = if width > 5000 { longest.min(9) } else { longest };
    let mut starts = vec![dice.roll(3) as u32];
    for _ in 0..rows {
        let last = starts[starts.len() - 1];
        let length = if dice.roll(4) == 0 { 0 } else { dice.roll(longest) as u32 };
        // Rows may end before they begin.
        starts.push(if is_ragged && dice.roll(9) == 0 { last.saturating_sub(3) } else { last + length });
    }
    let entries = starts[starts.len() - 1] as usize + dice.roll(3);
    let table = [8, 60, 1000, entries.max(1), width][dice.roll(5)];
    let order = dice.roll(3);
    let list = (0..entries.max(1)).map(|entry| match (order, dice.roll(20)) {
        (_, 0) => u32::MAX - dice.roll(9) as u32,
        (0, _) => dice.roll(table + 2) as u32,
        (1, _) => (entry % table) as u32,
        _ => (entry / 3 % table) as u32,
    });
    (starts, list.collect(), table)
}

/// Numbers that are mostly small.
fn element(dice: &mut Dice, ty: Type) -> u64 {
    let small = scalar::cast(Type::I64, ty, (dice.roll(50) as i64 - 12) as u64);
    match dice.roll(12) {
        0 => ty.bit_mask() >> 1,
        1 if ty.is_float() => scalar::cast(Type::F64, ty, (dice.roll(1000) as f64 * 0.37).to_bits()),
        1 => (dice.roll(1 << 31) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) & ty.bit_mask(),
        _ => small,
    }
}

fn place(dice: &mut Dice, depth: usize) -> Place {
    match dice.roll(10) {
        0..3 => Place::Counter([1, 1, 1, 2, 3][dice.roll(5)], dice.roll(7) as i32 - 3),
        3 => Place::Down(dice.roll(90) as u32),
        4..7 if depth < 2 => Place::Listed(Box::new(place(dice, depth + 1))),
        7 => Place::Lane([1, 1, 2, 3][dice.roll(4)], dice.roll(5) as u32),
        8 => Place::LaneAndCounter([1, 2, 7, 100][dice.roll(4)]),
        9 => Place::State(dice.roll(KINDS)),
        _ => Place::Counter(1, 0),
    }
}

fn source(dice: &mut Dice) -> Source {
    match dice.roll(8) {
        0 => Source::Literal(dice.roll(12) as i32 - 3),
        1 | 2 => Source::Cast(dice.roll(KINDS)),
        3 => Source::Place(place(dice, 0)),
        4 => Source::Scratch(place(dice, 0)),
        _ => Source::Table(place(dice, 0)),
    }
}

fn condition(dice: &mut Dice) -> Condition {
    match dice.roll(5) {
        0 => Condition::Bit(dice.roll(3) as u32),
        1 => Condition::Flag,
        2 => Condition::NotFlag,
        _ => Condition::Less(dice.roll(KINDS), dice.roll(KINDS)),
    }
}

fn block(dice: &mut Dice, depth: usize, most: usize) -> Vec<Statement> {
    let count = 1 + dice.roll(most);
    (0..count).map(|_| statement(dice, depth)).collect()
}

const OPS: [BinaryOp; 7] =
    [BinaryOp::Add, BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max, BinaryOp::Div];

fn statement(dice: &mut Dice, depth: usize) -> Statement {
    match dice.roll(21) {
        9 => Statement::Write(dice.roll(KINDS), place(dice, 0)),
        10 => Statement::Flag(condition(dice)),
        11 | 12 if depth < DEEPEST => {
            Statement::If(condition(dice), block(dice, depth + 1, 3), block(dice, depth + 1, 2))
        }
        13 | 14 if depth < DEEPEST => {
            let bounds = match dice.roll(4) {
                0 | 1 => Bounds::Row(place(dice, 1)),
                2 => Bounds::Numbers(dice.roll(4) as u32, dice.roll(12) as u32),
                _ => Bounds::Few(dice.roll(KINDS)),
            };
            Statement::For(Mode::Recorded, bounds, block(dice, depth + 1, 4))
        }
        15 if depth < DEEPEST => Statement::While(condition(dice), block(dice, depth + 1, 3)),
        16 => Statement::Add(dice.roll(5), place(dice, 0), source(dice)),
        17 => Statement::Store(dice.roll(KINDS)),
        18 => Statement::BreakIf(condition(dice)),
        19 => Statement::ContinueIf(condition(dice)),
        _ => Statement::Set(dice.roll(KINDS), OPS[dice.roll(OPS.len())], source(dice)),
    }
}
