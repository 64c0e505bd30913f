//! Gathers of bytes at numbers below 256.
//!
//! Pictures and text are mapped by tables of 256 bytes. Where the processor selects bytes from registers by bytes, the
//! table is in four of them, zeros after its end, and no index is checked: what is out of range selects a zero. If the
//! index is a byte that was converted, that byte selects, and the index is not needed.

use super::analysis::{Analysis, Shape};
use super::bound::Bounds;
use super::interval::{Folded, Folding, Interval, Unknown};
use crate::backend::target::Target;
use crate::ir::{Access, Inst, Kernel, Op, Param, Type, Value};

/// The gathers of a kernel that select from a table.
pub(super) struct Tables {
    /// By result: a number whose lowest byte selects.
    selectors: Vec<Option<Value>>,
    /// By value: whether it is a converted byte, and nothing else needs it.
    is_unneeded: Vec<bool>,
}

impl Tables {
    /// Finds the gathers; none on a processor that has no such instruction.
    pub(super) fn of(kernel: &Kernel, analysis: &Analysis, target: &Target) -> Tables {
        let none = || vec![None; kernel.types.len()];
        let mut tables = Tables { selectors: none(), is_unneeded: vec![false; kernel.types.len()] };
        let insts = || kernel.regions.iter().flat_map(|region| &region.insts);
        if !target.selects_bytes() || !insts().any(|inst| reads_byte(kernel, &inst.op)) {
            return tables;
        }
        let bounds = Bounds::new(kernel, analysis);
        for inst in insts() {
            let Op::Gather { index, .. } = inst.op else { continue };
            if reads_byte(kernel, &inst.op) && analysis.shape(index) == Shape::Varying {
                tables.selectors[inst.first.index()] = selector(kernel, &bounds, index);
            }
        }
        tables.find_unneeded(kernel);
        tables
    }

    /// The number that selects the element of a gather, if the gather selects from a table.
    pub(super) fn selector(&self, result: Value) -> Option<Value> {
        self.selectors[result.index()]
    }

    /// Whether a value is the index of such gathers, and nothing needs it.
    pub(super) fn is_unneeded(&self, value: Value) -> bool {
        self.is_unneeded[value.index()]
    }

    fn find_unneeded(&mut self, kernel: &Kernel) {
        let mut is_needed = vec![false; kernel.types.len()];
        let mut need = |value: Value| is_needed[value.index()] = true;
        for region in &kernel.regions {
            region.yields.iter().copied().for_each(&mut need);
            for inst in &region.insts {
                match (&inst.op, self.selector_of(inst)) {
                    (Op::Gather { mask, .. }, Some(selector)) => {
                        need(selector);
                        mask.iter().copied().for_each(&mut need);
                    }
                    (op, _) => op.for_each_operand(&mut need),
                }
            }
        }
        for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
            let is_converted = matches!(inst.op, Op::Cast(_, a) if kernel.ty(a) == Type::U8);
            self.is_unneeded[inst.first.index()] |= is_converted && !is_needed[inst.first.index()];
        }
    }

    fn selector_of(&self, inst: &Inst) -> Option<Value> {
        if inst.results == 1 { self.selector(inst.first) } else { None }
    }
}

/// Whether an operation gathers bytes from memory that is only read.
fn reads_byte(kernel: &Kernel, op: &Op) -> bool {
    let Op::Gather { buffer, .. } = *op else { return false };
    matches!(kernel.param(buffer), Param::Buffer { ty, access: Access::Read } if ty.size_bytes() == 1)
}

/// The byte that an index is converted from, or the index itself if it is below 256.
fn selector(kernel: &Kernel, bounds: &Bounds<'_>, index: Value) -> Option<Value> {
    match bounds.definition(index) {
        Some(&Op::Cast(_, byte)) if kernel.ty(byte) == Type::U8 => Some(byte),
        _ if kernel.ty(index) == Type::U8 => Some(index),
        _ => {
            let interval = bounds.of(index).interval(&Folding(Unknown), &|_| Folded::Computed(()));
            let is_byte = matches!(interval, Interval { least: Folded::Known(0..), most: Folded::Known(..=255) });
            is_byte.then_some(index)
        }
    }
}
