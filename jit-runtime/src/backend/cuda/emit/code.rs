//! The code of a function as it grows: its lines, registers, labels and variables. Kernels and library calls are
//! written with it.

use smallvec::SmallVec;

use super::super::Target;
use super::super::ptx::{Class, Function, Guard, Label, Line, Opcode, Operand, Parameter, Register, Symbol, Variable};

/// A function that is being written. Files of this folder add the code of families of operations.
pub(in crate::backend::cuda) struct Code {
    pub(in crate::backend::cuda) target: Target,
    pub(super) lines: Vec<Line>,
    pub(in crate::backend::cuda) variables: Vec<Variable>,
    /// The next free number of a register.
    registers: u32,
    labels: u32,
}

impl Code {
    /// A function without code, whose first registers are reserved for values of the kernel.
    pub(in crate::backend::cuda) fn new(target: Target, values: u32) -> Code {
        Code { target, lines: Vec::new(), variables: Vec::new(), registers: values, labels: 0 }
    }

    /// The function, whose code is complete.
    pub(in crate::backend::cuda) fn finish(
        self,
        name: String,
        parameters: Vec<Parameter>,
        threads: Option<u32>,
    ) -> Function {
        let Code { lines, variables, registers, .. } = self;
        Function { name, parameters, threads, variables, registers, lines }
    }

    // --- lines

    /// Appends an instruction without a result.
    pub(in crate::backend::cuda) fn effect(
        &mut self,
        guard: Option<Guard>,
        opcode: impl Into<Opcode>,
        operands: &[Operand],
    ) {
        self.lines.push(Line::Instruction { guard, opcode: opcode.into(), operands: SmallVec::from(operands) });
    }

    /// Appends an instruction that writes a register.
    pub(in crate::backend::cuda) fn write(&mut self, opcode: impl Into<Opcode>, result: Register, sources: &[Operand]) {
        self.write_if(None, opcode, result, sources);
    }

    /// As [`Code::write`], where the guard holds.
    pub(in crate::backend::cuda) fn write_if(
        &mut self,
        guard: Option<Guard>,
        opcode: impl Into<Opcode>,
        result: Register,
        sources: &[Operand],
    ) {
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        operands.push(result.into());
        operands.extend(sources.iter().cloned());
        self.lines.push(Line::Instruction { guard, opcode: opcode.into(), operands });
    }

    /// Appends an instruction with an intermediate result.
    pub(in crate::backend::cuda) fn compute(
        &mut self,
        opcode: impl Into<Opcode>,
        class: Class,
        sources: &[Operand],
    ) -> Operand {
        let result = self.register(class);
        self.write(opcode, result, sources);
        result.into()
    }

    /// As [`Code::write`], from one operand.
    pub(super) fn write_one(&mut self, opcode: impl Into<Opcode>, result: Register, source: &Operand) {
        self.write(opcode, result, std::slice::from_ref(source));
    }

    /// As [`Code::compute`], from one operand.
    pub(in crate::backend::cuda) fn compute_one(
        &mut self,
        opcode: impl Into<Opcode>,
        class: Class,
        source: &Operand,
    ) -> Operand {
        self.compute(opcode, class, std::slice::from_ref(source))
    }

    /// As [`Code::compute`] of a predicate.
    pub(in crate::backend::cuda) fn test(
        &mut self,
        opcode: impl Into<Opcode>,
        a: &Operand,
        b: impl Into<Operand>,
    ) -> Register {
        let result = self.register(Class::Predicate);
        self.write(opcode, result, &[a.clone(), b.into()]);
        result
    }

    pub(in crate::backend::cuda) fn move_to(&mut self, result: Register, source: &Operand) {
        self.write_one(format!("mov.{}", result.class.suffix()), result, source);
    }

    pub(in crate::backend::cuda) fn branch(&mut self, guard: Option<Guard>, label: Label) {
        self.effect(guard, "bra", &[Operand::Label(label)]);
    }

    pub(in crate::backend::cuda) fn place(&mut self, label: Label) {
        self.lines.push(Line::Label(label));
    }

    // --- names

    /// A register for an intermediate result.
    pub(in crate::backend::cuda) fn register(&mut self, class: Class) -> Register {
        self.registers += 1;
        Register { class, number: self.registers - 1 }
    }

    /// A fresh label.
    pub(in crate::backend::cuda) fn label(&mut self, name: &'static str) -> Label {
        self.labels += 1;
        Label { name, number: self.labels }
    }

    /// A register that describes the thread.
    pub(in crate::backend::cuda) fn special(&mut self, name: &'static str) -> Register {
        let register = self.register(Class::Word);
        self.move_to(register, &Operand::Special(name));
        register
    }
}

/// A variable of the function.
pub(in crate::backend::cuda) fn symbol(name: String) -> Symbol {
    Symbol(name.into())
}
