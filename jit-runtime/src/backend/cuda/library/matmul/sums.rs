//! The sums of a thread: a few rows combined with a few columns, in registers.

use super::super::super::ptx::{Class, Operand, Register};
use super::super::builder::Builder;
use super::super::element::literal;
use super::panel::{combined_bytes, row_bytes, wide_type};
use super::tile::Size;
use crate::ir::Type;

/// The sums of a thread.
pub(in super::super) struct Sums {
    pub(in super::super) ty: Type,
    pub(in super::super) size: Size,
    /// Row by row.
    pub(in super::super) registers: Vec<Register>,
}

impl Sums {
    pub(in super::super) fn new(b: &mut Builder, ty: Type, size: Size) -> Sums {
        let wide = wide_type(ty);
        let zero = literal(wide, 0);
        let zeroed = |b: &mut Builder| {
            let sum = b.register(Class::of(wide));
            b.set(sum, zero.clone());
            sum
        };
        let registers = (0..size.per_thread * size.per_thread).map(|_| zeroed(b)).collect();
        Sums { ty, size, registers }
    }

    /// Adds the products of one element of each row and column.
    pub(in super::super) fn add_products(&self, b: &mut Builder, own: [Register; 2], step: u32) {
        let [rows, columns] = own.map(|panel| self.items(b, panel, step));
        let opcode = match wide_type(self.ty) {
            Type::F32 => "fma.rn.f32",
            Type::F64 => "fma.rn.f64",
            Type::U64 => "mad.lo.u64",
            _ => "mad.lo.u32",
        };
        for (number, sum) in self.registers.iter().enumerate() {
            let (row, column) = (number / columns.len(), number % columns.len());
            b.write(opcode, *sum, &[rows[row].into(), columns[column].into(), (*sum).into()]);
        }
    }

    /// Loads one element of each item of a thread.
    fn items(&self, b: &mut Builder, panel: Register, step: u32) -> Vec<Register> {
        let wide = wide_type(self.ty);
        let mut items = Vec::new();
        for first in (0..self.size.per_thread).step_by(self.size.vector as usize) {
            let vector: Vec<Register> = (0..self.size.vector).map(|_| b.register(Class::of(wide))).collect();
            let offset = step * row_bytes(self.size, self.ty) + self.size.item(first) * combined_bytes(self.ty);
            b.load_vector("shared", wide, &vector, panel, offset);
            items.extend(vector);
        }
        items
    }
}

impl Builder {
    /// Loads neighbouring elements at once.
    fn load_vector(&mut self, space: &str, ty: Type, registers: &[Register], address: Register, offset: u32) {
        let suffix = Class::of(ty).suffix();
        let opcode = format!("ld.{space}.v{}.{suffix}", registers.len());
        self.effect(None, opcode, &[Operand::Vector(registers.to_vec()), Operand::Memory(address, offset.into())]);
    }
}
