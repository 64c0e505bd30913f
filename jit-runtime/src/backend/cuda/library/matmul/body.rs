//! The code of a tile.

use super::super::super::Target;
use super::super::super::ptx::{Class, Operand, Register};
use super::super::builder::Builder;
use super::super::element::literal;
use super::panel::{Factor, Panel, combined_bytes, row_bytes, wide_type};
use super::tile::Size;
use crate::ir::Type;

/// The tile of a block.
struct Tile {
    /// The matrices of the factors and of the result.
    matrices: [Register; 3],
    /// The first row and column.
    first: [Register; 2],
    rows: Register,
    inner: Register,
    columns: Register,
    /// The first product of each sum, and the one after the last.
    first_product: Register,
    end: Register,
}

pub(super) fn multiply(ty: Type, size: Size, is_transposed: [bool; 2], target: Target) -> Builder {
    let mut b = Builder::new(target);
    let tile = Tile::new(&mut b, ty, size);
    let [a, bb] = tile.factors(ty, is_transposed);
    let panels = [Panel::new(&mut b, "panel_a", ty, size, &a), Panel::new(&mut b, "panel_b", ty, size, &bb)];
    let thread = b.thread();
    let sides = [b.div(thread, size.side()), b.rem(thread, size.side())];
    let sums = Sums::new(&mut b, ty, size);
    let own = [0, 1].map(|factor| {
        let offset = b.mul(sides[factor], size.vector);
        b.at(panels[factor].shared, offset, combined_bytes(ty))
    });
    panels.iter().for_each(|panel| panel.load(&mut b, size.depth));
    b.count(tile.first_product, tile.end, size.depth, |b, _| {
        panels.iter().for_each(|panel| panel.store(b));
        b.barrier();
        // What is loaded arrives while the panels are used.
        panels.iter().for_each(|panel| panel.load(b, size.depth));
        (0..size.depth).for_each(|step| sums.add_products(b, own, step));
        b.barrier();
    });
    sums.store(&mut b, &tile, sides);
    b
}

impl Tile {
    fn new(b: &mut Builder, ty: Type, size: Size) -> Tile {
        let [a, bb, c] = ["a", "b", "c"].map(|name| b.pointer(name));
        let [rows, inner, columns, batch, parts, down, across, a_stride, b_stride] =
            ["rows", "inner", "columns", "batch", "parts", "down", "across", "a_stride", "b_stride"]
                .map(|name| b.size(name));
        let block = b.block();
        let (matrix, in_matrix) = split(b, block, down, across);
        let (number, part) = (b.div(matrix, parts), b.rem(matrix, parts));
        let first = in_matrix.map(|position| b.mul(position, size.items));
        let next_part = b.add(part, 1);
        let [first_product, end] = [part, next_part].map(|part| share(b, inner, part, parts));
        let result = b.mad(part, batch, number);
        let results = b.mul(rows, columns);
        let matrices =
            [(a, number, a_stride), (bb, number, b_stride), (c, result, results)].map(|(all, number, stride)| {
                let offset = b.mul(number, stride);
                b.at(all, offset, ty.size_bytes() as u32)
            });
        Tile { matrices, first, rows, inner, columns, first_product, end }
    }

    /// The factors as panels see them. Products behind the last one are those of -0 and 0, which change no sum: that of
    /// zeros of equal sign would turn a sum of -0 into one of +0.
    fn factors(&self, ty: Type, [is_a_transposed, is_b_transposed]: [bool; 2]) -> [Factor; 2] {
        let (first, end) = (self.first_product, self.end);
        let negative_zero = if ty.is_float() { 1 << (ty.bits() - 1) } else { 0 };
        let a = Factor {
            matrix: self.matrices[0],
            first_item: self.first[0],
            items: self.rows,
            first,
            end,
            pitch: if is_a_transposed { self.rows } else { self.inner },
            is_contiguous: !is_a_transposed,
            padding: negative_zero,
        };
        let b = Factor {
            matrix: self.matrices[1],
            first_item: self.first[1],
            items: self.columns,
            pitch: if is_b_transposed { self.inner } else { self.columns },
            is_contiguous: is_b_transposed,
            padding: 0,
            ..a
        };
        [a, b]
    }
}

/// The matrix of a block, and the position of its tile down and across.
fn split(b: &mut Builder, block: Register, down: Register, across: Register) -> (Register, [Register; 2]) {
    let (line, column) = (b.div(block, across), b.rem(block, across));
    (b.div(line, down), [b.rem(line, down), column])
}

/// Where a part of a length begins: `length * part / parts`.
fn share(b: &mut Builder, length: Register, part: Register, parts: Register) -> Register {
    let product = b.compute("mul.wide.u32", Class::Long, &[length.into(), part.into()]);
    let parts = b.compute("cvt.u64.u32", Class::Long, &[parts.into()]);
    let quotient = b.compute("div.u64", Class::Long, &[product, parts]);
    let result = b.register(Class::Word);
    b.write("cvt.u32.u64", result, &[quotient]);
    result
}

/// The sums of a thread.
struct Sums {
    ty: Type,
    size: Size,
    /// Row by row.
    registers: Vec<Register>,
}

impl Sums {
    fn new(b: &mut Builder, ty: Type, size: Size) -> Sums {
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
    fn add_products(&self, b: &mut Builder, own: [Register; 2], step: u32) {
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

    /// Stores the sums that are inside of the result.
    fn store(&self, b: &mut Builder, tile: &Tile, sides: [Register; 2]) {
        let first = [0, 1].map(|side| b.mad(sides[side], self.size.vector, tile.first[side]));
        for number in 0..self.size.per_thread {
            let row = b.add(first[0], self.size.item(number));
            let has_row = b.is_less(row, tile.rows);
            b.when(has_row, |b| {
                let begin = b.mul(row, tile.columns);
                for other in 0..self.size.per_thread {
                    let column = b.add(first[1], self.size.item(other));
                    let has_column = b.is_less(column, tile.columns);
                    let sum = self.registers[(number * self.size.per_thread + other) as usize];
                    b.when(has_column, |b| {
                        let index = b.add(begin, column);
                        let address = b.at(tile.matrices[2], index, self.ty.size_bytes() as u32);
                        b.store_element("global", self.ty, address, sum);
                    });
                }
            });
        }
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
