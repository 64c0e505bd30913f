//! The code of a tile.

use super::super::super::Target;
use super::super::super::ptx::Register;
use super::super::builder::Builder;
use super::super::matmul::body::share;
use super::super::matmul::panel::combined_bytes;
use super::super::matmul::sums::Sums;
use super::super::matmul::tile::Size;
use super::Convolve;
use super::class;
use super::digits::Digits;
use super::factors::{Factors, Tile};
use super::geometry::Geometry;
use crate::ir::Type;

pub(super) fn convolve(convolve: Convolve, target: Target) -> Builder {
    let (mut b, ty) = (Builder::new(target), convolve.ty);
    let size = convolve.tiles.size(ty);
    let tile = Tile::new(&mut b, size, convolve.has_classes);
    let factors = Factors::new(&mut b, ty, size, &tile);
    let thread = b.thread();
    let sides = [b.div(thread, size.side()), b.rem(thread, size.side())];
    let sums = Sums::new(&mut b, ty, size);
    let own = [0, 1].map(|factor| {
        let offset = b.mul(sides[factor], size.vector);
        b.at(factors.shared[factor], offset, combined_bytes(ty))
    });
    factors.load(&mut b, &tile);
    let depth = b.mul(tile.lanes, factors.depth());
    b.count(tile.first_product, tile.end, depth, |b, _| {
        factors.store(b);
        b.barrier();
        // What is loaded arrives while the panels are used.
        factors.load(b, &tile);
        (0..size.depth).for_each(|step| sums.add_products(b, own, step));
        b.barrier();
    });
    store(&sums, &mut b, &tile, sides, convolve.stored());
    b
}

impl Tile {
    fn new(b: &mut Builder, size: Size, has_classes: bool) -> Tile {
        let memory = ["factor", "source", "target"].map(|name| b.pointer(name));
        let [down, across, parts, lanes] = ["down", "across", "parts", "lanes"].map(|name| b.size(name));
        let mut geometry = Geometry::<()>::default().each(|name, ()| b.size(name));
        let [column, row, part, group, class] = {
            let mut rest = b.block();
            let all_parts = b.mul(parts, lanes);
            let limits = [across, down, all_parts, geometry.groups];
            let [column, row, part, group] = limits.map(|limit| {
                let digit = b.rem(rest, limit);
                rest = b.div(rest, limit);
                digit
            });
            [column, row, part, group, rest]
        };
        let distances = [geometry.factor_group, geometry.source_group, geometry.target_group];
        let mut offsets = distances.map(|distance| b.mul(group, distance));
        if has_classes {
            let [in_factor, in_target] = class::choose(b, &mut geometry, class);
            offsets[0] = b.add(offsets[0], in_factor);
            offsets[2] = b.add(offsets[2], in_target);
        }
        offsets[2] = b.mad(part, geometry.target_part, offsets[2]);
        // The first lane of each part comes first, then the next one of each.
        let (lane, part) = (b.div(part, parts), b.rem(part, parts));
        let next_part = b.add(part, 1);
        let [first_of_part, end] = [part, next_part].map(|part| {
            let line = share(b, geometry.lines, part, parts);
            b.mul(line, geometry.line_length)
        });
        let first_product = b.add(first_of_part, lane);
        let first = [row, column].map(|position| b.mul(position, size.items));
        Tile { geometry, memory, offsets, first, first_product, end, lanes }
    }
}

/// Stores the sums that are inside of the target.
fn store(sums: &Sums, b: &mut Builder, tile: &Tile, sides: [Register; 2], stored: Type) {
    let (geometry, Sums { size, registers, .. }) = (&tile.geometry, sums);
    let first = [0, 1].map(|side| b.mad(sides[side], size.vector, tile.first[side]));
    for number in 0..size.per_thread {
        let column = b.add(first[1], size.item(number));
        let has_column = b.is_less(column, geometry.columns);
        b.when(has_column, |b| {
            let digits = Digits::of(b, column, geometry.column_radices);
            let begin = digits.place(b, geometry.target_column, geometry.target_steps, tile.offsets[2]);
            for other in 0..size.per_thread {
                let row = b.add(first[0], size.item(other));
                let has_row = b.is_less(row, geometry.rows);
                let sum = registers[(other * size.per_thread + number) as usize];
                b.when(has_row, |b| {
                    let index = b.mad(row, geometry.target_row, begin);
                    let address = b.at(tile.memory[2], index, stored.size_bytes() as u32);
                    b.store_element("global", stored, address, sum);
                });
            }
        });
    }
}
