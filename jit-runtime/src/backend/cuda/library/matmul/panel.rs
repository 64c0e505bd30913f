//! Panels: parts of a factor in shared memory, in the order in which they are used: one element of each item, then the
//! next one of each. Items are rows of `a` or columns of `b`.
//!
//! Elements of the next panel are loaded into registers while the current one is used.

use super::super::super::ptx::{Class, Operand, Register};
use super::super::builder::Builder;
use super::super::element::{combined_type, literal};
use super::tile::Size;
use crate::ir::Type;

/// Items in shared memory that are not used: with them, the elements of neighbouring items and those of one item are in
/// different banks.
const PADDING: u32 = 4;

/// One factor, seen from a tile.
pub(super) struct Factor {
    /// The address of the first element of the matrix.
    pub(super) matrix: Register,
    /// The first item of the tile, and the number of items of the matrix.
    pub(super) first_item: Register,
    pub(super) items: Register,
    /// The first element of each item that the tile uses, and the one after the last.
    pub(super) first: Register,
    pub(super) end: Register,
    /// The number of elements between those of neighbouring items, or of one item, if they are not neighbours.
    pub(super) pitch: Register,
    /// Whether the elements of an item are neighbours in memory. Else those of neighbouring items are.
    pub(super) is_contiguous: bool,
    /// The bits of the elements behind the last one.
    pub(super) padding: u64,
}

/// The elements of a panel that a thread loads. From one to the next, item or position in the item grow by the same
/// number, so all follow from the first one.
pub(super) struct Panel {
    ty: Type,
    /// The address of the panel in shared memory.
    pub(super) shared: Register,
    /// The first element: its address in memory and in the panel, and its position in its item.
    address: Register,
    place: Register,
    position: Register,
    /// The bytes to the next element in memory and in the panel, and how far its position is.
    memory_step: Register,
    place_step: u32,
    position_step: u32,
    /// The bytes between elements of consecutive panels.
    advance: Register,
    /// Whether there are the items of the elements; one entry if they are all of one item.
    has_item: Vec<Register>,
    /// What was loaded last.
    elements: Vec<Register>,
    end: Register,
    padding: Operand,
}

/// The bytes between the elements of an item in a panel.
pub(in super::super) fn row_bytes(size: Size, ty: Type) -> u32 {
    (size.items + PADDING) * combined_bytes(ty)
}

/// The size of an element in shared memory. Small integers take 32 bits.
pub(in super::super) fn combined_bytes(ty: Type) -> u32 {
    (ty.size_bytes() as u32).max(4)
}

/// The type of an element in shared memory, and in registers.
pub(in super::super) fn wide_type(ty: Type) -> Type {
    match ty {
        Type::U8 | Type::U16 => Type::U32,
        _ => combined_type(ty),
    }
}

impl Panel {
    pub(super) fn new(b: &mut Builder, name: &str, ty: Type, size: Size, factor: &Factor) -> Panel {
        let shared = b.shared(name, row_bytes(size, ty) * size.depth);
        let bytes = ty.size_bytes() as u32;
        let count = size.items * size.depth / size.threads();
        // Neighbouring threads load neighbouring elements.
        let neighbours = if factor.is_contiguous { size.depth } else { size.items };
        let step = size.threads() / neighbours;
        let thread = b.thread();
        let (low, high) = (b.and(thread, neighbours - 1), b.shr(thread, neighbours.ilog2()));
        let (in_panel, item) = if factor.is_contiguous { (low, high) } else { (high, low) };
        let (position, first_item) = (b.add(factor.first, in_panel), b.add(factor.first_item, item));
        let index = match factor.is_contiguous {
            true => b.mad(first_item, factor.pitch, position),
            false => b.mad(position, factor.pitch, first_item),
        };
        let place = b.at(shared, in_panel, row_bytes(size, ty));
        let (items, place_step, position_step) = match factor.is_contiguous {
            true => (count, step * combined_bytes(ty), 0),
            false => (1, step * row_bytes(size, ty), step),
        };
        Panel {
            ty,
            shared,
            address: b.at(factor.matrix, index, bytes),
            place: b.at(place, item, combined_bytes(ty)),
            position: b.variable(position),
            memory_step: b.long_product(factor.pitch, step * bytes),
            place_step,
            position_step,
            advance: match factor.is_contiguous {
                true => b.long_product(size.depth, bytes),
                false => b.long_product(factor.pitch, size.depth * bytes),
            },
            has_item: (0..items).map(|number| b.is_inside(first_item, number * step, factor.items)).collect(),
            elements: (0..count).map(|_| b.register(Class::of(ty))).collect(),
            end: factor.end,
            padding: match Class::of(ty) {
                Class::Half => Operand::Integer(factor.padding.cast_signed()),
                _ => literal(ty, factor.padding),
            },
        }
    }

    /// Loads the elements of the next panel into registers.
    pub(super) fn load(&self, b: &mut Builder, depth: u32) {
        let mut address = self.address;
        for (element, number) in self.elements.iter().zip(0..) {
            let has_item = self.has_item[number as usize % self.has_item.len()];
            let is_inside = b.is_inside(self.position, number * self.position_step, self.end);
            let exists = b.both(is_inside, has_item);
            b.set(*element, &self.padding);
            let memory = Operand::Memory(address, 0);
            b.load_from("global.nc", Some((exists, true)), self.ty, memory, *element);
            address = b.long_sum(address, self.memory_step);
        }
        b.write("add.u64", self.address, &[self.address.into(), self.advance.into()]);
        b.write("add.u32", self.position, &[self.position.into(), depth.into()]);
    }

    /// Stores what was loaded to shared memory.
    pub(super) fn store(&self, b: &mut Builder) {
        for (element, number) in self.elements.iter().zip(0..) {
            let value = match element.class {
                Class::Half => b.widen_half(self.ty, &element.into()),
                _ => element.into(),
            };
            let memory = Operand::Memory(self.place, u64::from(number * self.place_step));
            b.store_to("shared", None, wide_type(self.ty), memory, &value);
        }
    }
}

impl Builder {
    /// Whether a number, increased by a distance, is below an end.
    pub(in super::super) fn is_inside(&mut self, number: Register, distance: u32, end: Register) -> Register {
        let number = if distance == 0 { number } else { self.add(number, distance) };
        self.is_less(number, end)
    }

    fn long_product(&mut self, a: impl Into<Operand>, b: u32) -> Register {
        let result = self.register(Class::Long);
        let a = self.variable(a);
        self.write("mul.wide.u32", result, &[a.into(), b.into()]);
        result
    }

    fn long_sum(&mut self, a: Register, b: Register) -> Register {
        let result = self.register(Class::Long);
        self.write("add.u64", result, &[a.into(), b.into()]);
        result
    }
}
