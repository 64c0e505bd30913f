//! Programs from seeds.

use super::program::{Begin, Block, Condition, Float, FloatOp, Int, IntOp, Mode, Program, Range, Statement, VARIABLES};

/// Pseudo-random numbers (G. Steele, D. Lea and C. Flood, “Fast Splittable Pseudorandom Number Generators”, 2014).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 33) as usize % sides
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.roll(values.len())]
    }

    /// Mostly small, sometimes at the end of the range.
    fn number(&mut self) -> i32 {
        match self.roll(12) {
            0 => self.pick(&[i32::MIN, i32::MAX, 0x5555_5555, -65536]),
            _ => self.roll(17) as i32 - 8,
        }
    }

    fn begin(&mut self) -> Begin {
        match self.roll(5) {
            0 => Begin::Literal(self.number()),
            1 => Begin::Opaque(self.number()),
            _ => Begin::Lanes(std::array::from_fn(|_| self.number())),
        }
    }

    fn variable(&mut self) -> usize {
        self.roll(VARIABLES)
    }

    fn int(&mut self, depth: usize) -> Int {
        match self.roll(if depth == 0 { 6 } else { 16 }) {
            0 => Int::Literal(self.number()),
            1 => Int::Lane,
            2..6 => Int::Variable(self.variable()),
            6 => Int::Table(Box::new(self.int(depth - 1))),
            8 => {
                let targets = std::array::from_fn(|_| self.int(depth - 1));
                Int::Call(Box::new((self.int(depth - 1), targets)))
            }
            7 => Int::Choose(Box::new((self.condition(depth - 1), self.int(depth - 1), self.int(depth - 1)))),
            9 => Int::Method(Box::new((self.int(depth - 1), self.int(depth - 1)))),
            10 => Int::Scratch(Box::new(self.int(depth - 1))),
            _ => Int::Op(self.int_op(), Box::new((self.int(depth - 1), self.int(depth - 1)))),
        }
    }

    fn int_op(&mut self) -> IntOp {
        use IntOp::{Add, And, Div, Max, Min, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        self.pick(&[Add, Add, Sub, Mul, Div, Rem, Min, Max, And, Or, Xor, Shl, Shr])
    }

    fn float(&mut self, depth: usize) -> Float {
        match self.roll(if depth == 0 { 4 } else { 10 }) {
            0 => Float::Literal(self.pick(&[0.0, 1.0, -0.5, 3.25, 1e-3, -7.0, 1e20])),
            1..4 => Float::Variable(self.variable()),
            4 => Float::FromInt(self.int(depth - 1)),
            5 => Float::Choose(Box::new((self.condition(depth - 1), self.float(depth - 1), self.float(depth - 1)))),
            _ => Float::Op(self.float_op(), Box::new((self.float(depth - 1), self.float(depth - 1)))),
        }
    }

    fn float_op(&mut self) -> FloatOp {
        use FloatOp::{Add, Div, Larger, Mul, Smaller, Sub};
        self.pick(&[Add, Sub, Mul, Div, Smaller, Larger])
    }

    fn condition(&mut self, depth: usize) -> Condition {
        match self.roll(if depth == 0 { 6 } else { 9 }) {
            0 => Condition::Flag(self.variable()),
            1..4 => Condition::Less(self.int(depth), self.int(depth)),
            4 => Condition::Equal(self.int(depth), self.int(depth)),
            5 => Condition::Below(self.float(depth), self.float(depth)),
            6 => Condition::Not(Box::new(self.condition(depth - 1))),
            7 => Condition::And(Box::new((self.condition(depth - 1), self.condition(depth - 1)))),
            _ => Condition::Or(Box::new((self.condition(depth - 1), self.condition(depth - 1)))),
        }
    }

    /// A block of statements; it may contain evaluated loops if everything around it is evaluated, and all lanes are
    /// active.
    fn block(&mut self, depth: usize, can_evaluate: bool) -> Block {
        let length = 1 + self.roll(4);
        self.statements(length, depth, can_evaluate)
    }

    fn statements(&mut self, length: usize, depth: usize, mut can_evaluate: bool) -> Block {
        let mut block = Block::new();
        for _ in 0..length {
            let statement = self.statement(depth, can_evaluate);
            can_evaluate &= !leaves(&statement);
            block.push(statement);
        }
        block
    }

    fn statement(&mut self, depth: usize, can_evaluate: bool) -> Statement {
        match self.roll(if depth == 0 { 13 } else { 28 }) {
            0..3 => Statement::SetInt(self.variable(), self.int(2)),
            3..5 => Statement::SetFloat(self.variable(), self.float(2)),
            5 => Statement::SetFlag(self.variable(), self.condition(2)),
            6 => Statement::Store(self.int(2)),
            7 => Statement::Add { place: self.int(1), value: self.int(2) },
            8 => Statement::BreakIf(self.condition(1)),
            9 => Statement::ContinueIf(self.condition(1)),
            10 => Statement::ReturnIf(self.condition(1)),
            11 => Statement::Write { place: self.int(1), value: self.int(2) },
            12 => Statement::Hit { id: self.int(1), place: self.int(1), value: self.int(1) },
            13..17 => {
                let otherwise = if self.roll(3) == 0 { Vec::new() } else { self.block(depth - 1, false) };
                Statement::If(self.condition(1), self.block(depth - 1, false), otherwise)
            }
            17 => Statement::Loop(1 + self.roll(4) as u8, self.block(depth - 1, false)),
            18..20 => {
                let bounds = Box::new((self.int(1), self.int(1)));
                Statement::For(self.range(), self.variable(), bounds, self.block(depth - 1, false))
            }
            20 => Statement::Match(self.int(1), std::array::from_fn(|_| self.block(depth - 1, false))),
            21 => Statement::Run(self.int(1), std::array::from_fn(|_| self.block(depth - 1, false))),
            22..24 if can_evaluate => {
                let mode = self.pick(&[Mode::Evaluated, Mode::Compressed]);
                Statement::While(mode, 1 + self.roll(5) as u8, self.condition(1), self.block(depth - 1, true))
            }
            _ => {
                let iterations = 1 + self.roll(5) as u8;
                Statement::While(Mode::Recorded, iterations, self.condition(1), self.block(depth - 1, false))
            }
        }
    }

    fn range(&mut self) -> Range {
        use Range::{Down, DownFrom, DownSteps, Steps, StepsDown, Up, UpTo};
        self.pick(&[Up, Up, UpTo, Down, DownFrom, Steps, StepsDown, DownSteps])
    }
}

/// Whether lanes may continue elsewhere than at the next statement.
fn leaves(statement: &Statement) -> bool {
    match statement {
        Statement::BreakIf(_) | Statement::ContinueIf(_) | Statement::ReturnIf(_) => true,
        Statement::If(_, then, _) => then.iter().any(leaves),
        _ => false,
    }
}

/// The program of a seed.
pub(super) fn program(seed: u64) -> Program {
    let mut dice = Dice(seed.wrapping_mul(0xa076_1d64_78bd_642f));
    let ints = std::array::from_fn(|_| dice.begin());
    let floats = std::array::from_fn(|_| dice.begin());
    let table = std::array::from_fn(|_| dice.number());
    let length = 2 + dice.roll(11);
    let body = dice.statements(length, 3, true);
    Program { ints, floats, table, body }
}
