//! Copies of both factors to shared memory, in the order of the panels of matrix products: one element of each row or
//! column, then the next one of each.
//!
//! Each thread copies elements of one row of the factor, and of one column of the source, which have the same numbers
//! as products. Those of the next step are loaded into registers while the current ones are used.

use super::super::super::ptx::{Class, Operand, Register};
use super::super::builder::Builder;
use super::super::element::literal;
use super::super::matmul::panel::{combined_bytes, row_bytes, wide_type};
use super::super::matmul::tile::Size;
use super::digits::Digits;
use super::geometry::Geometry;
use crate::backend::library::AXES;
use crate::ir::Type;

/// Where a tile is.
pub(super) struct Tile {
    pub(super) geometry: Geometry<Register>,
    /// The addresses of the factor, of the source, and of the target.
    pub(super) memory: [Register; 3],
    /// The distances of the first elements of the group in them.
    pub(super) offsets: [Register; 3],
    /// The first row and column.
    pub(super) first: [Register; 2],
    /// The first product of each sum, and the first one behind all.
    pub(super) first_product: Register,
    pub(super) end: Register,
    /// The distance from a product of a sum to the next.
    pub(super) lanes: Register,
}

/// What a thread loads.
pub(super) struct Factors {
    ty: Type,
    size: Size,
    /// The addresses of both panels in shared memory, and of the first elements of the thread there.
    pub(super) shared: [Register; 2],
    own: [Register; 2],
    /// The distances from one element to the next in products and in the panels.
    step: Register,
    step_bytes: u32,
    /// The number of the next product, as a number and in digits, and those of the distance.
    product: Register,
    digits: Digits,
    distance: Digits,
    /// Whether there are the row and the column.
    exists: [Register; 2],
    /// The places of the first products of the row, and of the column; the places of the column in the source.
    first: [Register; 2],
    places: [Register; AXES],
    /// What was loaded last: of the row, and of the column.
    elements: [Vec<Register>; 2],
}

impl Factors {
    pub(super) fn new(b: &mut Builder, ty: Type, size: Size, tile: &Tile) -> Factors {
        let geometry = &tile.geometry;
        let shared = ["factor_panel", "source_panel"].map(|name| b.shared(name, row_bytes(size, ty) * size.depth));
        let count = size.items * size.depth / size.threads();
        let step = size.threads() / size.items;
        let thread = b.thread();
        let (item, in_panel) = (b.and(thread, size.items - 1), b.shr(thread, size.items.ilog2()));
        let own = shared.map(|panel| {
            let row = b.at(panel, in_panel, row_bytes(size, ty));
            b.at(row, item, combined_bytes(ty))
        });
        let [row, column] = tile.first.map(|first| b.add(first, item));
        let of_column = Digits::of(b, column, geometry.column_radices);
        let [factor, source, _] = tile.offsets;
        let first = [b.mad(row, geometry.factor_row, factor), b.mad(of_column.first, geometry.source_column, source)];
        let places = std::array::from_fn(|axis| {
            b.mad(of_column.places[axis], geometry.column_steps[axis], geometry.origins[axis])
        });
        let product = b.mad(in_panel, tile.lanes, tile.first_product);
        let digits = Digits::of(b, product, geometry.product_radices).variable(b);
        let distance = b.mul(tile.lanes, step);
        Factors {
            ty,
            size,
            shared,
            own,
            step: distance,
            step_bytes: step * row_bytes(size, ty),
            product: b.variable(product),
            digits,
            distance: Digits::of(b, distance, geometry.product_radices),
            exists: [b.is_less(row, geometry.rows), b.is_less(column, geometry.columns)],
            first,
            places,
            elements: [0, 1].map(|_| (0..count).map(|_| b.register(Class::of(ty))).collect()),
        }
    }

    /// Loads the next elements into registers. Products behind the last one are those of -0 and 0, which change no sum;
    /// elements outside of the source are zeros.
    pub(super) fn load(&self, b: &mut Builder, tile: &Tile) {
        let geometry = &tile.geometry;
        for (factor, source) in self.elements[0].iter().zip(&self.elements[1]) {
            let has_product = b.is_less(self.product, tile.end);
            let [has_factor, has_source] = self.exists.map(|exists| b.both(exists, has_product));
            let place = self.digits.place(b, geometry.factor_product, geometry.factor_steps, self.first[0]);
            self.load_one(b, (tile.memory[0], place), has_factor, 1 << (self.ty.bits() - 1), *factor);
            let (place, is_inside) = self.place_in_source(b, geometry);
            let has_source = b.both(has_source, is_inside);
            self.load_one(b, (tile.memory[1], place), has_source, 0, *source);
            b.write("add.u32", self.product, &[self.product.into(), self.step.into()]);
            self.digits.advance(b, &self.distance, geometry.product_radices);
        }
    }

    /// The place of the next element of the column, and whether it is inside of the source. Places before the source
    /// are large numbers.
    fn place_in_source(&self, b: &mut Builder, geometry: &Geometry<Register>) -> (Register, Register) {
        let places: [Register; AXES] = std::array::from_fn(|axis| {
            b.mad(self.digits.places[axis], geometry.product_steps[axis], self.places[axis])
        });
        let inside: [Register; AXES] = std::array::from_fn(|axis| b.is_less(places[axis], geometry.lengths[axis]));
        let is_inside = b.both(inside[0], inside[1]);
        let is_inside = b.both(is_inside, inside[2]);
        let [z, y, x] = places;
        let line = b.mad(z, geometry.lengths[1], y);
        let in_channel = b.mad(line, geometry.lengths[2], x);
        let channel = b.mad(self.digits.first, geometry.source_product, self.first[1]);
        (b.add(channel, in_channel), is_inside)
    }

    fn load_one(
        &self,
        b: &mut Builder,
        (memory, place): (Register, Register),
        exists: Register,
        otherwise: u64,
        target: Register,
    ) {
        let otherwise = match Class::of(self.ty) {
            Class::Half => Operand::Integer(otherwise.cast_signed()),
            _ => literal(self.ty, otherwise),
        };
        b.set(target, otherwise);
        let address = b.at(memory, place, self.ty.size_bytes() as u32);
        b.load_from("global.nc", Some((exists, true)), self.ty, Operand::Memory(address, 0), target);
    }

    /// Stores what was loaded to shared memory.
    pub(super) fn store(&self, b: &mut Builder) {
        for (elements, own) in self.elements.iter().zip(self.own) {
            for (element, number) in elements.iter().zip(0..) {
                let value = match element.class {
                    Class::Half => b.widen_half(self.ty, &element.into()),
                    _ => element.into(),
                };
                let memory = Operand::Memory(own, u64::from(number * self.step_bytes));
                b.store_to("shared", None, wide_type(self.ty), memory, &value);
            }
        }
    }

    /// The products of each sum between two barriers.
    pub(super) fn depth(&self) -> u32 {
        self.size.depth
    }
}
