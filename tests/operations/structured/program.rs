//! Programs as data, and their final states.

use std::fmt::{self, Display, Write as _};

/// The number of lanes that a program runs on: not a multiple of a vector's width, and more than `#[compress]` always
/// keeps.
pub(super) const LANES: usize = 37;
/// Variables of each type.
pub(super) const VARIABLES: usize = 4;
/// The number of functions that a call selects from.
pub(super) const TARGETS: usize = 3;
/// The length of the memory that all lanes read.
pub(super) const TABLE: usize = 8;
/// Elements of the memory that all lanes add to.
pub(super) const SHARED: usize = 16;
/// The length of the local memory of each lane.
pub(super) const SCRATCH: usize = 5;
/// The id of the instance that was removed, among those of [`INSTANCES`].
pub(super) const REMOVED: u32 = 3;
/// The fields of the instances that methods are called on, by their ids from 1 on.
pub(super) const INSTANCES: [i32; 5] = [7, -3, 0, 21, 5];

#[derive(Clone, Copy, Debug)]
pub(super) enum IntOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    Smaller,
    Larger,
}

#[derive(Clone, Debug)]
pub(super) enum Int {
    Literal(i32),
    Variable(usize),
    Lane,
    /// An element of memory that is only read.
    Table(Box<Int>),
    Op(IntOp, Box<(Int, Int)>),
    Choose(Box<(Condition, Int, Int)>),
    /// A call of one of several functions, by number; zero if there is none of that number.
    Call(Box<(Int, [Int; TARGETS])>),
    /// A method of the instance of an id; zero if there is none.
    Method(Box<(Int, Int)>),
    /// An element of the per-lane local memory; zero if it does not exist.
    Scratch(Box<Int>),
}

#[derive(Clone, Debug)]
pub(super) enum Float {
    Literal(f32),
    Variable(usize),
    FromInt(Int),
    Op(FloatOp, Box<(Float, Float)>),
    Choose(Box<(Condition, Float, Float)>),
}

#[derive(Clone, Debug)]
pub(super) enum Condition {
    Flag(usize),
    Less(Int, Int),
    Equal(Int, Int),
    Below(Float, Float),
    Not(Box<Condition>),
    And(Box<(Condition, Condition)>),
    Or(Box<(Condition, Condition)>),
}

pub(super) type Block = Vec<Statement>;

/// How a loop runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Mode {
    Recorded,
    Evaluated,
    Compressed,
}

/// Which numbers a `for` counts over, of two bounds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Range {
    Up,
    UpTo,
    Down,
    DownFrom,
    Steps,
    StepsDown,
    DownSteps,
}

#[derive(Clone, Debug)]
pub(super) enum Statement {
    SetInt(usize, Int),
    SetFloat(usize, Float),
    SetFlag(usize, Condition),
    /// Writes the lane's own element of memory.
    Store(Int),
    /// Adds to an element of the memory that all lanes share.
    Add {
        place: Int,
        value: Int,
    },
    /// Writes an element of the per-lane local memory, if the position exists.
    Write {
        place: Int,
        value: Int,
    },
    /// A method, of the instance of an id, that adds to an element of the memory that all lanes share.
    Hit {
        id: Int,
        place: Int,
        value: Int,
    },
    If(Condition, Block, Block),
    /// The blocks of 0, of 1 and 2, and of 3 to 5, of three bits of a number.
    Match(Int, [Block; 3]),
    /// A loop of at most this many iterations.
    While(Mode, u8, Condition, Block),
    /// A `loop` that ends after this many iterations.
    Loop(u8, Block),
    /// A loop that counts a variable, between bounds of few bits of two numbers.
    For(Range, usize, Box<(Int, Int)>, Block),
    /// Runs the block of a number, as a method of one of several instances.
    Run(Int, [Block; 2]),
    /// Exits the loop whose body contains this, directly or in an `if`. Elsewhere it does nothing, like the next one.
    BreakIf(Condition),
    ContinueIf(Condition),
    /// Exits the block that contains this, which is a function of the interpreter.
    ReturnIf(Condition),
}

/// How a variable begins.
#[derive(Clone, Debug)]
pub(super) enum Begin {
    /// The same in all lanes, and part of the code.
    Literal(i32),
    /// The same in all lanes.
    Opaque(i32),
    Lanes([i32; LANES]),
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) ints: [Begin; VARIABLES],
    pub(super) floats: [Begin; VARIABLES],
    pub(super) table: [i32; TABLE],
    pub(super) body: Block,
}

impl Begin {
    pub(super) fn at(&self, lane: usize) -> i32 {
        match self {
            Begin::Literal(value) | Begin::Opaque(value) => *value,
            Begin::Lanes(values) => values[lane],
        }
    }
}

impl Program {
    /// The number of statements.
    pub(super) fn size(&self) -> usize {
        size(&self.body)
    }
}

fn size(block: &Block) -> usize {
    let inner = |statement: &Statement| match statement {
        Statement::If(_, then, otherwise) => size(then) + size(otherwise),
        Statement::While(.., body) | Statement::Loop(_, body) | Statement::For(.., body) => size(body),
        Statement::Match(_, blocks) => blocks.iter().map(size).sum(),
        Statement::Run(_, blocks) => blocks.iter().map(size).sum(),
        _ => 0,
    };
    block.iter().map(|statement| 1 + inner(statement)).sum()
}

/// The final state of a program: everything as bits, variables by lane.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Outcome {
    pub(super) variables: Vec<(String, [u32; LANES])>,
    pub(super) shared: [u32; SHARED],
}

impl Outcome {
    pub(super) fn lane(&self, lane: usize) -> Vec<u32> {
        self.variables.iter().map(|(_, values)| values[lane]).collect()
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = Vec<u32>> {
        (0..LANES).map(|lane| self.lane(lane))
    }

    /// The first difference from the expected state.
    pub(super) fn difference_from(&self, expected: &Outcome) -> Option<String> {
        for ((name, got), (_, wanted)) in self.variables.iter().zip(&expected.variables) {
            if let Some(lane) = (0..LANES).find(|&lane| got[lane] != wanted[lane]) {
                return Some(format!("{name} of lane {lane} is {:#x} and not {:#x}", got[lane], wanted[lane]));
            }
        }
        let place = (0..SHARED).find(|&place| self.shared[place] != expected.shared[place])?;
        Some(format!("shared[{place}] is {} and not {}", self.shared[place] as i32, expected.shared[place] as i32))
    }
}

/// The bits of a float; all NaNs are equal.
pub(super) fn float_bits(value: f32) -> u32 {
    if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }
}

impl Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, begin) in self.ints.iter().enumerate() {
            writeln!(f, "let mut i{i} = {begin:?};")?;
        }
        for (i, begin) in self.floats.iter().enumerate() {
            writeln!(f, "let mut x{i} = {begin:?};")?;
        }
        writeln!(f, "let table = {:?};", self.table)?;
        let mut text = String::new();
        show_block(&self.body, 0, &mut text)?;
        f.write_str(&text)
    }
}

fn show_block(block: &Block, depth: usize, text: &mut String) -> fmt::Result {
    block.iter().try_for_each(|statement| show(statement, depth, text))
}

fn show(statement: &Statement, depth: usize, text: &mut String) -> fmt::Result {
    let indent = "    ".repeat(depth);
    match statement {
        Statement::SetInt(to, value) => writeln!(text, "{indent}i{to} = {value};"),
        Statement::SetFloat(to, value) => writeln!(text, "{indent}x{to} = {value};"),
        Statement::SetFlag(to, value) => writeln!(text, "{indent}b{to} = {value};"),
        Statement::Store(value) => writeln!(text, "{indent}own = {value};"),
        Statement::Add { place, value } => writeln!(text, "{indent}shared[{place} & {}] += {value};", SHARED - 1),
        Statement::If(condition, then, otherwise) => {
            writeln!(text, "{indent}if {condition} {{")?;
            show_block(then, depth + 1, text)?;
            if !otherwise.is_empty() {
                writeln!(text, "{indent}}} else {{")?;
                show_block(otherwise, depth + 1, text)?;
            }
            writeln!(text, "{indent}}}")
        }
        Statement::Write { place, value } => writeln!(text, "{indent}scratch[{place}] = {value};"),
        Statement::Hit { id, place, value } => {
            writeln!(text, "{indent}instances.at({id} & 7).hit(&mut shared, {place} & {}, {value});", SHARED - 1)
        }
        Statement::Match(value, [a, b, c]) => {
            writeln!(text, "{indent}match {value} & 7 {{")?;
            for (pattern, block) in [("0", a), ("1 | 2", b), ("3..=5", c)] {
                writeln!(text, "{indent}    {pattern} => {{")?;
                show_block(block, depth + 2, text)?;
                writeln!(text, "{indent}    }}")?;
            }
            writeln!(text, "{indent}    _ => {{}}\n{indent}}}")
        }
        Statement::Run(index, blocks) => {
            for (number, block) in blocks.iter().enumerate() {
                writeln!(text, "{indent}the instance of {index} & 3 being {number}: {{")?;
                show_block(block, depth + 1, text)?;
                writeln!(text, "{indent}}}")?;
            }
            Ok(())
        }
        Statement::While(mode, iterations, condition, body) => {
            writeln!(text, "{indent}{mode:?} while iteration < {iterations} && {condition} {{")?;
            show_block(body, depth + 1, text)?;
            writeln!(text, "{indent}}}")
        }
        Statement::Loop(iterations, body) => {
            writeln!(text, "{indent}loop {{ // {iterations} iterations at most")?;
            show_block(body, depth + 1, text)?;
            writeln!(text, "{indent}}}")
        }
        Statement::For(range, to, bounds, body) => {
            let (start, end) = &**bounds;
            writeln!(text, "{indent}for i{to} in {range:?} from ({start} & 3) - 2 to {end} & 3 {{")?;
            show_block(body, depth + 1, text)?;
            writeln!(text, "{indent}}}")
        }
        Statement::BreakIf(condition) => writeln!(text, "{indent}if {condition} {{ break; }}"),
        Statement::ContinueIf(condition) => writeln!(text, "{indent}if {condition} {{ continue; }}"),
        Statement::ReturnIf(condition) => writeln!(text, "{indent}if {condition} {{ return; }}"),
    }
}

impl Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Int::Literal(value) => write!(f, "{value}"),
            Int::Variable(index) => write!(f, "i{index}"),
            Int::Lane => f.write_str("lane"),
            Int::Table(place) => write!(f, "table[{place} & {}]", TABLE - 1),
            Int::Op(op, operands) => write!(f, "{op:?}({}, {})", operands.0, operands.1),
            Int::Method(parts) => write!(f, "instances.at({} & 7).apply({})", parts.0, parts.1),
            Int::Scratch(place) => write!(f, "scratch[{place}]"),
            Int::Call(parts) => {
                let [a, b, c] = &parts.1;
                write!(f, "switch({}, [{a}, {b}, {c}])", parts.0)
            }
            Int::Choose(parts) => write!(f, "(if {} {{ {} }} else {{ {} }})", parts.0, parts.1, parts.2),
        }
    }
}

impl Display for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Float::Literal(value) => write!(f, "{value:?}"),
            Float::Variable(index) => write!(f, "x{index}"),
            Float::FromInt(value) => write!(f, "{value} as f32"),
            Float::Op(op, operands) => write!(f, "{op:?}({}, {})", operands.0, operands.1),
            Float::Choose(parts) => write!(f, "(if {} {{ {} }} else {{ {} }})", parts.0, parts.1, parts.2),
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Flag(index) => write!(f, "b{index}"),
            Condition::Less(a, b) => write!(f, "{a} < {b}"),
            Condition::Equal(a, b) => write!(f, "{a} == {b}"),
            Condition::Below(a, b) => write!(f, "{a} < {b}"),
            Condition::Not(condition) => write!(f, "!({condition})"),
            Condition::And(sides) => write!(f, "({} && {})", sides.0, sides.1),
            Condition::Or(sides) => write!(f, "({} || {})", sides.0, sides.1),
        }
    }
}
