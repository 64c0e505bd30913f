//! The parts of PTX that kernels use, and their text ("Parallel Thread Execution ISA", NVIDIA).
//!
//! The register of the value `v7` has the number 7; the letters before it are those of its class. Registers of
//! intermediate results have numbers after those of the values.

use std::borrow::Cow;
use std::fmt;

use smallvec::SmallVec;

use crate::ir::Type;

/// A kind of register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// One bit: `bool`.
    Predicate,
    /// 16 bits: `f16` and `bf16`.
    Half,
    /// 32 bits: integers of up to 32 bits. Those of 8 and 16 bits are extended, by their sign or by zeros.
    Word,
    /// `f32`.
    Single,
    /// 64 bits: integers and addresses.
    Long,
    /// `f64`.
    Double,
}

impl Class {
    pub(super) const ALL: [Class; 6] =
        [Class::Predicate, Class::Half, Class::Word, Class::Single, Class::Long, Class::Double];

    /// The class of the values of an element type.
    pub(super) const fn of(ty: Type) -> Class {
        match ty {
            Type::Bool => Class::Predicate,
            Type::F16 | Type::BF16 => Class::Half,
            Type::F32 => Class::Single,
            Type::F64 => Class::Double,
            Type::I64 | Type::U64 => Class::Long,
            _ => Class::Word,
        }
    }

    const fn letters(self) -> &'static str {
        match self {
            Class::Predicate => "p",
            Class::Half => "h",
            Class::Word => "r",
            Class::Single => "f",
            Class::Long => "rd",
            Class::Double => "fd",
        }
    }

    /// The type of the declaration, which is also the suffix of instructions that move bits.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Class::Predicate => "pred",
            Class::Half => "b16",
            Class::Word => "b32",
            Class::Single => "f32",
            Class::Long => "b64",
            Class::Double => "f64",
        }
    }
}

/// A register of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Register {
    pub(super) class: Class,
    pub(super) number: u32,
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}{}", self.class.letters(), self.number)
    }
}

/// A position in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label {
    /// What is there.
    pub(super) name: &'static str,
    /// Distinguishes labels of one name.
    pub(super) number: u32,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.name, self.number)
    }
}

/// A variable of a function, or one of its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Symbol(pub(super) Cow<'static, str>);

/// An operand of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    Register(Register),
    /// An integer literal.
    Integer(i64),
    /// The bits of an `f32` literal.
    Single(u32),
    /// The bits of an `f64` literal.
    Double(u64),
    /// Memory at an address in a register and an offset in bytes.
    Memory(Register, u64),
    /// Memory at a symbol and an offset in bytes.
    Variable(Symbol, u64),
    /// The address of a variable.
    Address(Symbol),
    /// A register that describes the thread, such as `%tid.x`.
    Special(&'static str),
    /// A position to jump to.
    Label(Label),
    /// Registers of neighbouring elements in memory.
    Vector(Vec<Register>),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Operand::Register(register)
    }
}

impl From<&Operand> for Operand {
    fn from(operand: &Operand) -> Self {
        operand.clone()
    }
}

impl From<&Register> for Operand {
    fn from(register: &Register) -> Self {
        Operand::Register(*register)
    }
}

impl From<u32> for Operand {
    fn from(number: u32) -> Self {
        Operand::Integer(number.into())
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Register(register) => register.fmt(f),
            Operand::Integer(number) => number.fmt(f),
            Operand::Single(bits) => write!(f, "0f{bits:08X}"),
            Operand::Double(bits) => write!(f, "0d{bits:016X}"),
            Operand::Memory(register, 0) => write!(f, "[{register}]"),
            Operand::Memory(register, offset) => write!(f, "[{register}+{offset}]"),
            Operand::Variable(Symbol(name), 0) => write!(f, "[{name}]"),
            Operand::Variable(Symbol(name), offset) => write!(f, "[{name}+{offset}]"),
            Operand::Address(Symbol(name)) => f.write_str(name),
            Operand::Special(name) => f.write_str(name),
            Operand::Label(label) => label.fmt(f),
            Operand::Vector(registers) => {
                f.write_str("{")?;
                separated(f, registers)?;
                f.write_str("}")
            }
        }
    }
}

/// The condition of an instruction: a predicate, and whether the instruction is executed where it is true.
pub(super) type Guard = (Register, bool);

/// An opcode with its suffixes.
pub(super) type Opcode = Cow<'static, str>;

/// A line of code.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Label(Label),
    Comment(String),
    Instruction {
        guard: Option<Guard>,
        opcode: Opcode,
        operands: SmallVec<[Operand; 4]>,
    },
    /// The list of positions that an indirect branch chooses from.
    Targets(Label, Vec<Label>),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Label(label) => writeln!(f, "{label}:"),
            Line::Comment(text) => writeln!(f, "    // {text}"),
            Line::Targets(label, targets) => {
                write!(f, "{label}: .branchtargets ")?;
                separated(f, targets)?;
                f.write_str(";\n")
            }
            Line::Instruction { guard, opcode, operands } => {
                f.write_str("    ")?;
                if let Some((register, is_true)) = guard {
                    write!(f, "@{}{register} ", if *is_true { "" } else { "!" })?;
                }
                f.write_str(opcode)?;
                f.write_str(if operands.is_empty() { "" } else { " " })?;
                separated(f, operands)?;
                f.write_str(";\n")
            }
        }
    }
}

fn separated(f: &mut fmt::Formatter<'_>, items: &[impl fmt::Display]) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(index, item)| write!(f, "{}{item}", if index == 0 { "" } else { ", " }))
}

/// A parameter of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Parameter {
    pub(super) name: Symbol,
    /// `u32` and the like.
    pub(super) ty: &'static str,
    /// The comment behind it.
    pub(super) comment: String,
}

/// Memory that a function declares.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    /// `local` or `shared`.
    pub(super) space: &'static str,
    pub(super) name: Symbol,
    pub(super) size_bytes: u64,
}

/// A kernel: an entry point of a module.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) parameters: Vec<Parameter>,
    /// The number of threads in each block, if the code determines it.
    pub(super) threads: Option<u32>,
    pub(super) variables: Vec<Variable>,
    /// Numbers of registers are below this.
    pub(super) registers: u32,
    pub(super) lines: Vec<Line>,
}

impl Function {
    /// Whether an instruction uses a register of a class.
    fn uses(&self, class: Class) -> bool {
        let is_used = |operand: &Operand| match operand {
            Operand::Register(register) | Operand::Memory(register, _) => register.class == class,
            Operand::Vector(registers) => registers.iter().any(|register| register.class == class),
            _ => false,
        };
        self.lines.iter().any(|line| match line {
            Line::Instruction { guard, operands, .. } => {
                guard.is_some_and(|(register, _)| register.class == class) || operands.iter().any(is_used)
            }
            _ => false,
        })
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, ".visible .entry {}(", self.name)?;
        for (index, Parameter { name, ty, comment }) in self.parameters.iter().enumerate() {
            let comma = if index + 1 == self.parameters.len() { "" } else { "," };
            let comment = if comment.is_empty() { String::new() } else { format!("  // {comment}") };
            writeln!(f, "    .param .{ty} {}{comma}{comment}", name.0)?;
        }
        f.write_str(")\n")?;
        if let Some(threads) = self.threads {
            writeln!(f, ".reqntid {threads}")?;
        }
        f.write_str("{\n")?;
        for class in Class::ALL.into_iter().filter(|class| self.uses(*class)) {
            writeln!(f, "    .reg .{} %{}<{}>;", class.suffix(), class.letters(), self.registers)?;
        }
        for Variable { space, name, size_bytes } in &self.variables {
            writeln!(f, "    .{space} .align 16 .b8 {}[{size_bytes}];", name.0)?;
        }
        self.lines.iter().try_for_each(|line| line.fmt(f))?;
        f.write_str("}\n")
    }
}

/// The type of a value in memory, for loads, stores and parameters. Loads of small integers extend them.
pub(super) const fn memory_type(ty: Type) -> &'static str {
    match ty {
        Type::Bool | Type::U8 => "u8",
        Type::I8 => "s8",
        Type::I16 => "s16",
        Type::U16 => "u16",
        Type::F16 | Type::BF16 => "b16",
        Type::I32 => "s32",
        Type::U32 => "u32",
        Type::F32 => "f32",
        Type::I64 => "s64",
        Type::U64 => "u64",
        Type::F64 => "f64",
    }
}
