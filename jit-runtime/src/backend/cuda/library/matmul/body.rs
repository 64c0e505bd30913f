//! The code of a tile.

use super::super::super::Target;
use super::super::super::ptx::{Class, Register};
use super::super::builder::Builder;
use super::panel::{Factor, Panel, combined_bytes};
use super::sums::Sums;
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
    store(&sums, &mut b, &tile, sides);
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
pub(in super::super) fn share(b: &mut Builder, length: Register, part: Register, parts: Register) -> Register {
    let product = b.compute("mul.wide.u32", Class::Long, &[length.into(), part.into()]);
    let parts = b.compute("cvt.u64.u32", Class::Long, &[parts.into()]);
    let quotient = b.compute("div.u64", Class::Long, &[product, parts]);
    let result = b.register(Class::Word);
    b.write("cvt.u32.u64", result, &[quotient]);
    result
}

/// Stores the sums that are inside of the result.
fn store(sums: &Sums, b: &mut Builder, tile: &Tile, sides: [Register; 2]) {
    let Sums { ty, size, registers } = sums;
    let first = [0, 1].map(|side| b.mad(sides[side], size.vector, tile.first[side]));
    for number in 0..size.per_thread {
        let row = b.add(first[0], size.item(number));
        let has_row = b.is_less(row, tile.rows);
        b.when(has_row, |b| {
            let begin = b.mul(row, tile.columns);
            for other in 0..size.per_thread {
                let column = b.add(first[1], size.item(other));
                let has_column = b.is_less(column, tile.columns);
                let sum = registers[(number * size.per_thread + other) as usize];
                b.when(has_column, |b| {
                    let index = b.add(begin, column);
                    let address = b.at(tile.matrices[2], index, ty.size_bytes() as u32);
                    b.store_element("global", *ty, address, sum);
                });
            }
        });
    }
}
